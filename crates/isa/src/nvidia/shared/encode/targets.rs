//! Words with other code targets, for code that moves. For example, if instrumentation moves a `BRA` by 32 bytes and
//! its target by 96, the relative offset grows by 64.

use super::super::arch::Arch;
use super::super::field::Field;
use super::super::form::Form;
use super::super::template::ItemKind;
use super::error::EncodeError;
use super::place::relative_offset;
use crate::nvidia::tables::table;
use warpbound_base::CodeAddr;

/// Word of a direct control transfer at `addr`, with another target: BRA, CAL, SSY, PBK, PCNT, PRET, PLONGJMP and
/// PEXIT with relative targets, JMP and JCAL with absolute ones. All other bits are kept.
///
/// # Errors
///
/// Fails for a word that is no instruction, has no target, or has its target in a register or a constant, and if the
/// field cannot hold the distance.
pub fn with_target(
    arch: Arch,
    word: u128,
    addr: CodeAddr,
    target: CodeAddr,
) -> Result<u128, EncodeError> {
    let form = form_of(arch, word)?;
    for item in form.template.items() {
        match &item.kind {
            ItemKind::Relative(field) => {
                let offset = relative_offset(form.dialect, addr, target);
                // A distance that is no multiple of the unit has no code.
                let offset = offset.ok_or(EncodeError::TargetRange {
                    word,
                    value: target.0.into(),
                })?;
                return put_signed(word, field, offset);
            }
            ItemKind::Absolute(field) => {
                return match u64::from(target.0) <= u64::MAX >> (64 - field.width()) {
                    true => Ok(field.put(word, target.0.into())),
                    false => Err(EncodeError::TargetRange {
                        word,
                        value: target.0.into(),
                    }),
                };
            }
            _ => {}
        }
    }
    Err(EncodeError::NoTarget { word })
}

/// Word of a jump through a register (BRX, JMX) with another offset. The target of BRX is the register, plus the
/// offset, plus the address after the instruction.
///
/// # Errors
///
/// Fails for all other words, and if the field cannot hold the offset.
pub fn with_register_target_offset(
    arch: Arch,
    word: u128,
    offset: i64,
) -> Result<u128, EncodeError> {
    let form = form_of(arch, word)?;
    let mut items = form.template.items();
    let field = items.find_map(|item| match &item.kind {
        ItemKind::RegTarget { offset, .. } => Some(offset),
        _ => None,
    });
    put_signed(word, field.ok_or(EncodeError::NoTarget { word })?, offset)
}

fn form_of(arch: Arch, word: u128) -> Result<&'static Form, EncodeError> {
    let table = table(arch);
    let form = table.find(arch, word).and_then(|id| table.form(id));
    form.ok_or(EncodeError::NoInstruction { word })
}

/// Puts a number in two's complement into a field of a word.
fn put_signed(word: u128, field: &Field, value: i64) -> Result<u128, EncodeError> {
    // A field of n bits holds -2^(n-1) to 2^(n-1) - 1.
    let high = i64::MAX >> (64 - field.width());
    match (-high - 1..=high).contains(&value) {
        true => Ok(field.put(word, value as u64)),
        false => Err(EncodeError::TargetRange { word, value }),
    }
}
