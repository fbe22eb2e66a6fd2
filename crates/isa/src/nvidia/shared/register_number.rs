//! Numbers of registers in fields of a word. For example, 255 in the field of a general register is RZ.

use super::super::REGISTERS;
use super::dialect::Dialect;
use super::field::Field;
use super::names::Names;
use crate::Reg;

/// Decodes a predicate number; `None` for PT.
pub(crate) fn pred_number(code: u64) -> Option<u8> {
    u8::try_from(code & 7)
        .ok()
        .filter(|&p| REGISTERS.has(Reg::predicate(p)))
}

/// Decodes a register number; `None` for RZ.
pub(crate) fn reg_number(field: &Field, word: u128) -> Option<u8> {
    u8::try_from(field.get(word) & 0xff)
        .ok()
        .filter(|&r| REGISTERS.has(Reg::vector(r)))
}

/// Number of URZ. Before sm_100 fields of uniform registers have 6 bits, and the disassembler ignores the two bits above
/// them.
pub(crate) fn uniform_zero(dialect: &Dialect, names: &Names) -> u8 {
    match names.sm(dialect) {
        ..100 => 63,
        _ => 255,
    }
}

/// Decodes the number of a uniform register and adds `plus`; `None` for URZ.
pub(crate) fn uniform_number(
    field: &Field,
    plus: u8,
    dialect: &Dialect,
    names: &Names,
    word: u128,
) -> Option<u8> {
    let zero = u64::from(uniform_zero(dialect, names));
    let number = field.get(word) & zero;
    u8::try_from(number + u64::from(plus))
        .ok()
        .filter(|&sum| number != zero && u64::from(sum) != zero)
}
