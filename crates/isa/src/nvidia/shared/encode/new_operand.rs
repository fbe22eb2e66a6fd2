//! Operands of words that are built. For example, `-c[0x3][0x10]` is `NewOperand::constant(3, 16).negated()`.

use super::super::address::BracketOperand;
use super::super::modifier::{OperandWord, Part};
use super::super::operand::{Operand, OperandValue};
use crate::instr::{BranchTarget, CcTest};
use crate::{RegisterKind, SpecialReg};
use warpbound_base::CodeAddr;

/// Operand of a word that is built: its value and its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewOperand {
    /// Value before modifiers. Fixed words are compared by their text, not by their meaning.
    pub value: OperandValue,
    /// Whether it is negated.
    pub negate: bool,
    /// Whether its absolute value is taken.
    pub absolute: bool,
    /// Whether its bits are inverted.
    pub invert: bool,
    /// Whether writing it sets the condition code.
    pub sets_cc: bool,
    /// Whether the reuse cache keeps it.
    pub reuse: bool,
    /// Text of the selected part; `None` for a part without a text.
    pub(super) select: Option<&'static str>,
}

/// Number of a register; `None` for 255, which is RZ or URZ.
const fn unless_zero(number: u8) -> Option<u8> {
    match number {
        255 => None,
        number => Some(number),
    }
}

impl NewOperand {
    /// Operand without modifiers.
    pub const fn new(value: OperandValue) -> NewOperand {
        NewOperand {
            value,
            negate: false,
            absolute: false,
            invert: false,
            sets_cc: false,
            reuse: false,
            select: Some(""),
        }
    }

    /// General register, or the first one of a group; 255 is RZ.
    pub const fn reg(number: u8) -> NewOperand {
        NewOperand::new(OperandValue::Reg(unless_zero(number)))
    }

    /// RZ.
    pub const fn zero() -> NewOperand {
        NewOperand::new(OperandValue::Reg(None))
    }

    /// Predicate; `None` is PT.
    pub const fn pred(pred: Option<u8>) -> NewOperand {
        NewOperand::new(OperandValue::Pred {
            pred,
            negated: false,
        })
    }

    /// Negated predicate; `None` is `!PT`.
    pub const fn not_pred(pred: Option<u8>) -> NewOperand {
        NewOperand::new(OperandValue::Pred {
            pred,
            negated: true,
        })
    }

    /// All predicates (`PR`).
    pub const fn all_preds() -> NewOperand {
        NewOperand::new(OperandValue::AllPreds(RegisterKind::Predicate))
    }

    /// Integer immediate.
    pub const fn int(number: i64) -> NewOperand {
        NewOperand::new(OperandValue::Int(number))
    }

    /// Single-precision immediate, as its bits.
    pub const fn single(bits: u32) -> NewOperand {
        NewOperand::new(OperandValue::Single(bits))
    }

    /// Word of a constant bank; the offset is in bytes.
    pub const fn constant(bank: u8, offset: i32) -> NewOperand {
        NewOperand::new(OperandValue::Const { bank, offset })
    }

    /// Word of a constant bank with an address register (255 is RZ); the offset is in bytes.
    pub const fn constant_at(bank: u8, base: u8, offset: i32) -> NewOperand {
        let base = unless_zero(base);
        NewOperand::new(OperandValue::ConstIndexed { bank, base, offset })
    }

    /// Memory at a register (255 is RZ) plus an offset in bytes.
    pub const fn memory(base: u8, offset: i64) -> NewOperand {
        let base = unless_zero(base);
        NewOperand::new(OperandValue::Memory { base, offset })
    }

    /// Uniform register, or the first one of a group; 255 is URZ on every architecture.
    pub const fn uniform(number: u8) -> NewOperand {
        NewOperand::new(OperandValue::Uniform(unless_zero(number)))
    }

    /// Predicate of the uniform datapath; `None` is UPT.
    pub const fn uniform_pred(pred: Option<u8>) -> NewOperand {
        NewOperand::new(OperandValue::UniformPred {
            pred,
            negated: false,
        })
    }

    /// Negated predicate of the uniform datapath; `None` is `!UPT`.
    pub const fn not_uniform_pred(pred: Option<u8>) -> NewOperand {
        NewOperand::new(OperandValue::UniformPred {
            pred,
            negated: true,
        })
    }

    /// Convergence barrier.
    pub const fn barrier(number: u8) -> NewOperand {
        NewOperand::new(OperandValue::ConvergenceBarrier(number))
    }

    /// Address, constant or descriptor in brackets, of 128-bit instructions. [`NewOperand::memory`] and
    /// [`NewOperand::constant`] fit there as well if they have all parts.
    pub const fn brackets(operand: BracketOperand) -> NewOperand {
        NewOperand::new(OperandValue::Address(operand))
    }

    /// Code address in the same section.
    pub const fn target(addr: CodeAddr) -> NewOperand {
        NewOperand::new(OperandValue::Target(BranchTarget::Code(addr)))
    }

    /// Test of the condition code.
    pub const fn cc_test(test: CcTest) -> NewOperand {
        NewOperand::new(OperandValue::CcTest(test))
    }

    /// Special register. [`SpecialReg::Other`] has no name here, so no word fits it.
    pub fn special(register: SpecialReg) -> NewOperand {
        NewOperand::word(register.mnemonic().unwrap_or_default())
    }

    /// Fixed word, such as the dimension of a texture, as it is printed.
    pub fn word(text: &'static str) -> NewOperand {
        NewOperand::new(OperandValue::Word {
            word: OperandWord::parse(text),
            text,
        })
    }

    /// The operand negated.
    pub const fn negated(mut self) -> NewOperand {
        self.negate = true;
        self
    }

    /// The operand with its bits inverted.
    pub const fn inverted(mut self) -> NewOperand {
        self.invert = true;
        self
    }

    /// The destination, setting the condition code as well.
    pub const fn setting_cc(mut self) -> NewOperand {
        self.sets_cc = true;
        self
    }

    /// The source, kept in the reuse cache.
    pub const fn reused(mut self) -> NewOperand {
        self.reuse = true;
        self
    }

    /// Part of the operand.
    pub fn part(mut self, part: Part) -> NewOperand {
        self.select = part.text();
        self
    }

    /// Text after the general register of an address; empty for all other operands.
    pub(super) fn suffix(&self) -> Option<&'static str> {
        Some(as_brackets(self.value).map_or("", |brackets| brackets.suffix))
    }

    /// Whether the operand is a fixed text or stands for it.
    pub(super) fn is_fixed(&self, fixed: &str) -> bool {
        match self.value {
            OperandValue::Word { text, .. } => text == fixed,
            OperandValue::Reg(None) => fixed == "RZ",
            OperandValue::Uniform(None) => fixed == "URZ",
            _ => false,
        }
    }

    /// Whether the operand is a register and a decoded value its fixed text.
    pub(super) fn stands_for(&self, decoded: OperandValue) -> bool {
        match (self.value, decoded) {
            (OperandValue::Word { .. }, _) => false,
            (_, OperandValue::Word { text, .. }) => self.is_fixed(text),
            _ => false,
        }
    }

    /// Whether a decoded operand is this one, apart from its reuse.
    pub(super) fn is(&self, decoded: &Operand) -> bool {
        let same_value = match (self.value, decoded.value) {
            // Different words may parse to the same value, so the text decides.
            (OperandValue::Word { text, .. }, OperandValue::Word { text: other, .. }) => {
                text == other
            }
            (value, OperandValue::Address(other)) => as_brackets(value) == Some(other),
            (value, other) => value == other,
        };
        same_value
            && self.negate == decoded.negate
            && self.absolute == decoded.absolute
            && self.invert == decoded.invert
            && self.sets_cc == decoded.sets_cc
            // Reuse is left out because `decoded` has the slot, not whether the word sets it.
            && self.select == Some(decoded.select)
    }
}

/// Value of an operand in brackets; constants and plain addresses of 64-bit instructions are such operands from Volta
/// on. `None` for any other value.
pub(super) fn as_brackets(value: OperandValue) -> Option<BracketOperand> {
    Some(match value {
        OperandValue::Address(brackets) => brackets,
        OperandValue::Const { bank, offset } => BracketOperand {
            bank: Some(bank),
            offset: offset.into(),
            ..BracketOperand::new("c")
        },
        OperandValue::ConstIndexed { bank, base, offset } => BracketOperand {
            bank: Some(bank),
            base: Some(base),
            offset: offset.into(),
            ..BracketOperand::new("c")
        },
        OperandValue::Memory { base, offset } => BracketOperand {
            base: Some(base),
            offset,
            ..BracketOperand::new("")
        },
        _ => return None,
    })
}

impl From<Operand> for NewOperand {
    /// Operand as decoded, without its reuse.
    fn from(decoded: Operand) -> NewOperand {
        NewOperand {
            value: decoded.value,
            negate: decoded.negate,
            absolute: decoded.absolute,
            invert: decoded.invert,
            sets_cc: decoded.sets_cc,
            // Reuse belongs to the control slot, which the caller states separately.
            reuse: false,
            select: Some(decoded.select),
        }
    }
}
