//! Templates prepared for printing.
//!
//! Most operands are a register, a predicate or a number with at most a sign and a reuse mark. A [`BriefOperand`] keeps
//! the few conditions that the text of such an operand depends on. For example, `-R4.reuse` depends on a register field
//! and two bits. A word that asks for more is printed from the full item.

use super::dialect::Dialect;
use super::field::{Cond, Field};
use super::line::{ShortText, Spelling};
use super::names::NamesId;
use super::template::{Item, ItemKind, Piece, Template};

/// Template as steps of printing.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    /// Name of the opcode.
    pub(crate) mnemonic: Spelling,
    /// One for each piece of the opcode.
    pub(crate) opcode: Box<[Step]>,
    /// One for each operand.
    pub(crate) operands: Box<[Step]>,
}

/// Piece of the opcode, or whole operand.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Text of all words.
    Text(ShortText),
    /// Text chosen by a field.
    Listed {
        list: NamesId,
        field: Field,
        hide: Cond,
    },
    Operand(BriefOperand),
    /// Text of words with a bit.
    Flag {
        bit: u128,
        text: ShortText,
    },
    /// Anything else, which is printed from the template.
    Other,
}

/// Register, predicate or number.
#[derive(Clone, Debug)]
pub(crate) struct BriefOperand {
    pub(crate) kind: BriefKind,
    pub(crate) hide: Cond,
    /// If none of these bits is set, the text has no sign.
    pub(crate) sign_bits: u128,
    /// If one of these bits is set, the text may have more parts.
    pub(crate) others: u128,
    /// Apart, because few words need them and the rest of an operand fits into two lines of a cache.
    pub(crate) rare: Box<RareParts>,
    /// Bit that keeps a register in the reuse cache; 0 if the operand has none.
    pub(crate) reuse_bit: u128,
    /// Whether a list hides the operand for some words.
    pub(crate) is_hidden_by_list: bool,
    /// Place of the selected part in the text; `None` if the operand has none.
    pub(crate) select: Option<SelectPlace>,
    /// Combined with the number by XOR: 7 for a predicate that is stored inverted, otherwise 0.
    pub(crate) flip: u8,
}

/// Conditions of a brief operand that are rarely asked for.
#[derive(Clone, Debug)]
pub(crate) struct RareParts {
    /// The text begins with a sign: `-R0`, `!P0`.
    pub(crate) sign: Cond,
    /// The text begins with `~`.
    pub(crate) invert: Cond,
    /// RZ, PT or the number 0 is not printed.
    pub(crate) optional: Cond,
}

/// Place of a selected part in the text of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SelectPlace {
    BeforeReuse,
    AfterReuse,
}

/// Kind of a brief operand.
#[derive(Clone, Debug)]
pub(crate) enum BriefKind {
    /// Register or predicate.
    Named(BriefName),
    /// Unsigned number of less than 64 bits.
    Unsigned(Box<Field>),
    Signed(Box<Field>),
}

/// Field and texts of a register or predicate. The texts are data, because a branch on the kind of register is often
/// predicted wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BriefName {
    /// Text before the number.
    pub(crate) prefix: ShortText,
    /// Text instead of the last number, whose register is a constant.
    pub(crate) constant: ShortText,
    pub(crate) is_predicate: bool,
    /// The last number; for a register of the uniform datapath, as in the fields of eight bits.
    pub(crate) last: u8,
    /// Bits of the last number that all architectures have.
    pub(crate) fixed: u8,
    pub(crate) low_bit: u8,
}

impl BriefName {
    fn of(kind: &ItemKind) -> Option<BriefName> {
        let (prefix, field) = match kind {
            ItemKind::Reg(field) => (const { ShortText::of("R") }, field),
            ItemKind::Uniform(field) => (const { ShortText::of("UR") }, field),
            ItemKind::Pred(field) => (const { ShortText::of("P") }, field),
            ItemKind::UniformPred(field) => (const { ShortText::of("UP") }, field),
            _ => return None,
        };
        let is_predicate = matches!(kind, ItemKind::Pred(_) | ItemKind::UniformPred(_));
        let range = field.range(if is_predicate { 3 } else { 8 })?;
        Some(BriefName {
            prefix,
            constant: match is_predicate {
                true => const { ShortText::of("T") },
                false => const { ShortText::of("Z") },
            },
            is_predicate,
            last: if is_predicate { 7 } else { 255 },
            fixed: if matches!(kind, ItemKind::Uniform(_)) {
                0
            } else {
                255
            },
            low_bit: range.lo,
        })
    }
}

impl Steps {
    /// Steps of a template.
    pub(crate) fn of(mnemonic: &'static str, template: &Template, dialect: &Dialect) -> Steps {
        let of_opcode = template.opcode.iter().map(|piece| match piece {
            // Operands inside an opcode are rare, and have no separator.
            Piece::Item(_) => Step::Other,
            other => Step::of(other, dialect),
        });
        let of_operand = template
            .operands
            .iter()
            .map(|pieces| match pieces.as_slice() {
                [single] => Step::of(single, dialect),
                _ => Step::Other,
            });
        Steps {
            mnemonic: Spelling::new(mnemonic),
            opcode: of_opcode.collect(),
            operands: of_operand.collect(),
        }
    }
}

#[cfg(test)]
impl Steps {
    /// Steps that print everything from the template.
    pub(crate) fn unprepared(mnemonic: &'static str, template: &Template) -> Steps {
        Steps {
            mnemonic: Spelling::new(mnemonic),
            opcode: template.opcode.iter().map(|_| Step::Other).collect(),
            operands: template.operands.iter().map(|_| Step::Other).collect(),
        }
    }
}

impl Step {
    fn of(piece: &Piece, dialect: &Dialect) -> Step {
        let step = match piece {
            Piece::Literal(text) => ShortText::new(text).map(Step::Text),
            Piece::Name {
                names, field, hide, ..
            } => Some(Step::Listed {
                list: *names,
                field: field.clone(),
                hide: *hide,
            }),
            Piece::Item(item) => BriefOperand::of(item, dialect).map(Step::Operand),
            Piece::Flag { text, bit, .. } => ShortText::new(text).map(|text| Step::Flag {
                bit: 1 << bit,
                text,
            }),
            Piece::ImadAlias(_) => None,
        };
        step.unwrap_or(Step::Other)
    }
}

impl BriefOperand {
    /// The operand's brief form; `None` for other kinds, and for attributes that are rare.
    fn of(item: &Item, dialect: &Dialect) -> Option<BriefOperand> {
        let kind = match &item.kind {
            ItemKind::Unsigned(field) if field.width() < 64 => {
                BriefKind::Unsigned(Box::new(field.clone()))
            }
            ItemKind::Signed(field) if !item.next => BriefKind::Signed(Box::new(field.clone())),
            other => BriefKind::Named(BriefName::of(other)?),
        };
        let is_number = !matches!(kind, BriefKind::Named(_));
        let is_rare = item.omit.is_some()
            || is_number && item.select.is_some()
            || !item.suffix.is_empty()
            || item.no_zero.required().is_some()
            || item.needs_uniform_zero
            || item.blank
            || item.plus != 0
            || item.scale != 1;
        if is_rare {
            // Each of these would be one more test for every operand of a listing.
            return None;
        }
        let mut others = item.abs.set_bits()? | item.cc.set_bits()?;
        let (sign, invert) = match &kind {
            BriefKind::Named(name) if name.is_predicate => (item.not, Cond::default()),
            BriefKind::Named(_) => (item.neg, item.inv),
            // The signs of a number are words of their own, such as `.NEG`.
            BriefKind::Unsigned(_) | BriefKind::Signed(_) => {
                others |= item.neg.set_bits()? | item.inv.set_bits()?;
                (Cond::default(), Cond::default())
            }
        };
        Some(BriefOperand {
            kind,
            hide: item.hide,
            sign_bits: sign.set_bits()? | invert.set_bits()?,
            others,
            rare: Box::new(RareParts {
                sign,
                invert,
                optional: match item.optional {
                    true => item.optional_if,
                    false => Cond::default(),
                },
            }),
            reuse_bit: item.reuse.map_or(0, |bit| 1 << bit),
            is_hidden_by_list: item.hide_by.is_some(),
            select: item.select.is_some().then_some(match item.inside {
                false if dialect.word_bits > 64 => SelectPlace::AfterReuse,
                _ => SelectPlace::BeforeReuse,
            }),
            flip: if item.flip { 7 } else { 0 },
        })
    }
}
