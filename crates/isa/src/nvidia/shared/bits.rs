//! Bits of a form's operands and modifiers, for generators that enumerate the words of a form. For example, a
//! generator takes a form, puts random registers into its operand bits, and tries all values of its modifier bits.

use super::address::TermKind;
use super::field::Field;
use super::form::Form;
use super::template::{Item, ItemKind, Piece, RegisterCount};

/// Content of an operand's bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandKind {
    /// Number of a general register; 255 is RZ.
    Register,
    /// Number of a uniform register; 63 or 255 is URZ.
    Uniform,
    /// Number of a predicate; 7 is PT.
    Predicate,
    /// Immediate: an integer or the top bits of a float.
    Immediate,
    /// Bank of a constant.
    Bank,
    /// Offset of a constant or an address.
    Offset,
    /// Code address.
    Target,
}

/// Bits of one operand, or of a part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperandBits {
    /// Content of the bits.
    pub kind: OperandKind,
    /// Whether the operand is written.
    pub written: bool,
    /// Whether the text leaves the operand out if it is RZ or PT.
    pub optional: bool,
    field: Field,
}

impl OperandBits {
    /// Returns `word` with these bits set to `value`, truncated to their width.
    pub fn put(&self, word: u128, value: u64) -> u128 {
        self.field.put(word, value)
    }

    /// Number of bits.
    pub fn width(&self) -> u32 {
        self.field.width()
    }
}

impl Form {
    /// Bits of all operands in order of printing, written ones last. If two operands share bits, putting values in
    /// this order keeps the value of the written one.
    pub fn operand_bits(&self) -> Vec<OperandBits> {
        let mut out = Vec::new();
        for item in self.template.items() {
            let mut push = |kind, field: &Field| {
                out.push(OperandBits {
                    kind,
                    written: item.writes,
                    optional: item.optional,
                    field: field.clone(),
                });
            };
            match &item.kind {
                ItemKind::Reg(field) | ItemKind::RegPair(field) => {
                    push(OperandKind::Register, field)
                }
                ItemKind::Pred(field) => push(OperandKind::Predicate, field),
                ItemKind::PredSet(_) | ItemKind::PredSetOrCc(_) | ItemKind::CcTest(_) => {}
                ItemKind::Unsigned(field)
                | ItemKind::Signed(field)
                | ItemKind::Mixed(field)
                | ItemKind::Float(_, field) => push(OperandKind::Immediate, field),
                ItemKind::Const { bank, offset } | ItemKind::ConstTarget { bank, offset } => {
                    push(OperandKind::Bank, bank);
                    push(OperandKind::Offset, offset);
                }
                ItemKind::ConstIndexed { bank, base, offset } => {
                    push(OperandKind::Bank, bank);
                    push(OperandKind::Register, base);
                    push(OperandKind::Offset, offset);
                }
                ItemKind::Memory { base, offset } | ItemKind::Address { base, offset } => {
                    push(OperandKind::Register, base);
                    if let Some(offset) = offset {
                        push(OperandKind::Offset, offset);
                    }
                }
                ItemKind::Relative(field) | ItemKind::Absolute(field) => {
                    push(OperandKind::Target, field)
                }
                ItemKind::Uniform(field) => push(OperandKind::Uniform, field),
                ItemKind::UniformPred(field) => push(OperandKind::Predicate, field),
                ItemKind::ConvergenceBarrier(field) => push(OperandKind::Immediate, field),
                ItemKind::Brackets(brackets) => {
                    for term in brackets.terms() {
                        let kind = match term.kind {
                            TermKind::Register => OperandKind::Register,
                            TermKind::Uniform => OperandKind::Uniform,
                            TermKind::Signed | TermKind::Unsigned => OperandKind::Offset,
                        };
                        push(kind, &term.field);
                    }
                }
                ItemKind::RegTarget { base, offset } => {
                    push(OperandKind::Register, base);
                    push(OperandKind::Target, offset);
                }
            }
        }
        // The sort is stable, so the order of printing stays within both groups.
        out.sort_by_key(|bits| bits.written);
        out
    }

    /// Bits that select modifiers, signs, parts of operands and tests of the condition code, without the guard.
    pub fn modifier_bits(&self) -> u128 {
        let mut bits = 0u128;
        for piece in self.template.pieces() {
            bits |= match piece {
                // Its fields belong to operands.
                Piece::Literal(_) | Piece::ImadAlias(_) => 0,
                Piece::Flag { bit, .. } => 1 << bit,
                Piece::Name { field, .. } => field.bits(),
                Piece::Item(item) => item_bits(item),
            };
        }
        let guard = match self.effects.unguarded {
            true => 0,
            false => self.dialect.guard_bits(),
        };
        let operands = self
            .operand_bits()
            .iter()
            .fold(0, |all, operand| all | operand.field.bits());
        // A modifier may share bits with an operand or the mask; enumerating those would change the operand or the
        // form.
        bits & self.dialect.word_mask() & !self.mask & !guard & !operands
    }
}

fn item_bits(item: &Item) -> u128 {
    let conditions = [
        item.neg,
        item.abs,
        item.inv,
        item.not,
        item.cc,
        item.rmw,
        item.wide,
        item.signed,
    ];
    let mut bits = conditions.iter().fold(0, |all, cond| all | cond.bits());
    if let Some((_, field)) = &item.select {
        bits |= field.bits();
    }
    if let Some(field) = &item.format {
        bits |= field.bits();
    }
    if let RegisterCount::Listed(_, field) = &item.count {
        bits |= field.bits();
    }
    match &item.kind {
        ItemKind::PredSetOrCc(bit) => bits | 1 << bit,
        ItemKind::CcTest(field) => bits | field.bits(),
        ItemKind::Brackets(brackets) => {
            let lists = brackets.lists();
            lists.fold(bits, |bits, (_, field)| bits | field.bits())
        }
        _ => bits,
    }
}
