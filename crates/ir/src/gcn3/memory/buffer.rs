//! MUBUF and MTBUF: accesses through a resource descriptor. For example, `buffer_load_dword v0, v1, s[4:7], s3 offen
//! offset:8` adds v1, s3 and 8 to the base in `s[4:7]`.

use warpbound_isa::amd::{GcnOpcode, GcnValue, GcnView, OperandAccess};
use warpbound_isa::instr::MemorySpace;

use super::{atomic, load, load_width, plus, store, store_width, words};
use crate::gcn3::operands::{self, Operands};
use crate::{Address, BufferOperand, Expr, Meaning, Width};

/// Returns the meaning of an untyped access; `None` if it is unknown.
pub(super) fn meaning(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    if matches!(
        view.opcode,
        GcnOpcode::BufferWbinvl1 | GcnOpcode::BufferWbinvl1Vol
    ) {
        // Meanings describe values, which caches do not change.
        return Some(Meaning::nothing());
    }
    let address = address(view)?;
    let name = view.opcode.name().strip_prefix("buffer_")?;
    if let Some(width) = name.strip_prefix("load_") {
        return load(o, load_width(width)?, MemorySpace::Generic, address);
    }
    if let Some(width) = name.strip_prefix("store_") {
        let width = store_width(width)?;
        return Some(store(words(o, 0)?, width, MemorySpace::Generic, address));
    }
    let name = name.strip_prefix("atomic_")?;
    atomic::in_memory(name, o, words(o, 0)?, MemorySpace::Generic, address)
}

/// Returns the meaning of a typed access if its format keeps the words of the registers: 32 bits for each component,
/// integers or floats. Other formats convert numbers, and have no meaning.
pub(super) fn typed(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    let name = view.opcode.name().strip_prefix("tbuffer_")?;
    let (data, number) = (view.modifiers.format & 0xf, view.modifiers.format >> 4);
    let components = match name.rsplit_once('_')?.1 {
        "x" => 4,
        "xy" => 11,
        "xyz" => 13,
        "xyzw" => 14,
        _ => return None,
    };
    const UNSIGNED: u8 = 4;
    const SIGNED: u8 = 5;
    const FLOAT: u8 = 7;
    if data != components || !matches!(number, UNSIGNED | SIGNED | FLOAT) || name.contains("d16") {
        return None;
    }
    let address = address(view)?;
    match name.starts_with("load_") {
        true => load(o, Width::Words, MemorySpace::Generic, address),
        false => Some(store(
            words(o, 0)?,
            Width::Words,
            MemorySpace::Generic,
            address,
        )),
    }
}

/// Address from the operands vaddr, srsrc and soffset, which are the last three.
fn address(view: &GcnView) -> Option<Address> {
    let [.., registers, resource, scalar_offset] = view.operands.as_slice() else {
        return None;
    };
    if [registers, resource, scalar_offset]
        .iter()
        .any(|operand| operand.access != OperandAccess::Read)
    {
        return None;
    }
    let modifiers = &view.modifiers;
    let count = u8::from(modifiers.idxen) + u8::from(modifiers.offen);
    let register = |word| match registers.value {
        GcnValue::Vector(_) if count == registers.dwords => operands::word_of(registers, word),
        _ => None,
    };
    // If both are present, the index comes first.
    let index = match modifiers.idxen {
        true => Some(register(0)?),
        false => None,
    };
    let low = match modifiers.offen {
        true => plus(register(count - 1)?, modifiers.offset),
        false => Expr::Const(modifiers.offset),
    };
    let GcnValue::Scalar(_) = resource.value else {
        return None;
    };
    let word = |word| operands::word_of(resource, word);
    Some(Address {
        low,
        high: None,
        buffer: Some(Box::new(BufferOperand {
            descriptor: [word(0)?, word(1)?, word(2)?, word(3)?],
            index,
            scalar_offset: operands::word_of(scalar_offset, 0)?,
        })),
        second_half: None,
    })
}
