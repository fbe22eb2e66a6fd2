//! Operands in brackets placed into the fields of their terms. For example, `desc[UR4][R2.64+0x10]` puts 4 into the
//! field of the descriptor, 2 into the one of the general register and 16 into the one of the offset.

use super::super::address::{BracketOperand, Brackets, Suffix, Term, TermKind};
use super::error::OperandMismatch;
use super::place::{Context, PartialWord, register, scaled, signed, uniform};

/// Places an operand in brackets. A text that a field chooses was placed before.
pub(super) fn place(
    brackets: &Brackets,
    given: &BracketOperand,
    word: PartialWord,
    context: &Context<'_>,
) -> Result<PartialWord, OperandMismatch> {
    if brackets.name != given.space {
        return Err(OperandMismatch::Kind);
    }
    // Parts of the given operand that no term takes.
    let mut rest = *given;
    let mut placed = word;
    let last = brackets.groups.len().saturating_sub(1);
    for (at, group) in brackets.groups.iter().enumerate() {
        for term in group {
            let number = match term.kind {
                TermKind::Register => rest.base.take(),
                // The same order as in the decoder: the first uniform register of the address is the one that is added.
                TermKind::Uniform if at == last && rest.uniform.is_some() => rest.uniform.take(),
                TermKind::Uniform => rest.descriptor.take(),
                TermKind::Unsigned if at < last => Some(rest.bank.take()),
                TermKind::Signed | TermKind::Unsigned => Some(None),
            };
            let number = number.ok_or(OperandMismatch::Kind)?;
            placed = match term.kind {
                TermKind::Register => {
                    fixed_suffix(term, given)?;
                    register(&term.field, number, placed, context)?
                }
                TermKind::Uniform => uniform(&term.field, number, brackets.plus, placed, context)?,
                TermKind::Unsigned if at < last => {
                    let bank = number.ok_or(OperandMismatch::Kind)?;
                    scaled(&term.field, bank.into(), term.scale, placed)?
                }
                TermKind::Signed | TermKind::Unsigned => {
                    rest.offset = 0;
                    offset(brackets, group, term, given, placed)?
                }
            };
        }
    }
    let is_empty = rest
        == BracketOperand {
            suffix: given.suffix,
            ..BracketOperand::new(brackets.name)
        };
    is_empty.then_some(placed).ok_or(OperandMismatch::Kind)
}

/// Compares the text after a register that is the same for all words of the row.
fn fixed_suffix(term: &Term, given: &BracketOperand) -> Result<(), OperandMismatch> {
    match term.suffix {
        Suffix::Fixed(text) if text != given.suffix => Err(OperandMismatch::Modifier),
        _ => Ok(()),
    }
}

/// Places an offset. After RZ alone, an address is absolute and therefore unsigned.
fn offset(
    brackets: &Brackets,
    group: &[Term],
    term: &Term,
    given: &BracketOperand,
    word: PartialWord,
) -> Result<PartialWord, OperandMismatch> {
    let has = |kind| group.iter().any(|other| other.kind == kind);
    let is_absolute = brackets.name.is_empty()
        && !brackets.signed
        && has(TermKind::Register)
        && !has(TermKind::Uniform)
        && given.base == Some(None)
        && given.suffix.is_empty();
    match term.kind {
        TermKind::Signed if !is_absolute => signed(&term.field, given.offset, term.scale, word),
        _ => scaled(&term.field, given.offset, term.scale, word),
    }
}
