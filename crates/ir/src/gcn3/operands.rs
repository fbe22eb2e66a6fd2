//! Operands of an instruction as cells and expressions. For example, the source `s[4:5]` has the words `S4` and `S5`,
//! and the inline constant -1 of 64 bits has two words of all ones.

use smallvec::SmallVec;
use warpbound_isa::amd::{GcnOperand, GcnValue, GcnView, OperandAccess, scalar};
use warpbound_isa::{Reg, RegisterKind, SpecialReg};

use super::expressions::{WordPair, constant, eq, low_bits, or, shr64, unary};
use super::vector::lanes::Exchange;
use super::vector::sdwa;
use crate::{Cell, Expr, Meaning, UnaryOp};

/// Operands of an instruction, with destinations and sources apart. An operand that is both is in both lists.
#[derive(Debug)]
pub(super) struct Operands<'a> {
    dests: Vec<&'a GcnOperand>,
    sources: Vec<&'a GcnOperand>,
    view: &'a GcnView,
}

impl<'a> Operands<'a> {
    pub(super) fn new(view: &'a GcnView) -> Operands<'a> {
        let all = view.operands.iter();
        let (reads, writes) = (OperandAccess::Read, OperandAccess::Write);
        Operands {
            dests: all.clone().filter(|o| o.access != reads).collect(),
            sources: all.filter(|o| o.access != writes).collect(),
            view,
        }
    }

    /// Destination with an index.
    pub(super) fn dest(&self, index: usize) -> Option<&'a GcnOperand> {
        self.dests.get(index).copied()
    }

    /// Source with an index.
    pub(super) fn source(&self, index: usize) -> Option<&'a GcnOperand> {
        self.sources.get(index).copied()
    }

    /// Cell of a word of a destination.
    pub(super) fn dest_cell(&self, index: usize, word: u8) -> Option<Cell> {
        register(self.dest(index)?, word)
    }

    /// Word of a source, without negation and absolute value: the selected part with SDWA, or the word of another
    /// lane with DPP. `None` if it is no register or constant, or past its words.
    pub(super) fn word(&self, index: usize, word: u8) -> Option<Expr> {
        let operand = self.source(index)?;
        let value = word_of(operand, word)?;
        let modifiers = &self.view.modifiers;
        // A destination that is also read has no selection of its own.
        if operand.access != OperandAccess::Read {
            return Some(value);
        }
        // The only 64-bit values of instructions with these modifiers are masks, which are later sources.
        let single = || (word == 0).then(|| value.clone());
        match (modifiers.sdwa, modifiers.dpp, self.position(index)) {
            (Some(sdwa), _, 0) => sdwa::selected(single()?, sdwa.src0_sel, operand.sext),
            (Some(sdwa), _, 1) => sdwa::selected(single()?, sdwa.src1_sel, operand.sext),
            (_, Some(dpp), 0) => {
                single()?;
                Exchange::of(&dpp)?.source(register(operand, word)?)
            }
            _ => Some(value),
        }
    }

    /// Position of a source among the sources that are only read.
    fn position(&self, index: usize) -> usize {
        let before = self.sources.iter().take(index);
        before
            .filter(|operand| operand.access == OperandAccess::Read)
            .count()
    }

    /// Both words of a source of 64 bits.
    pub(super) fn pair(&self, index: usize) -> Option<WordPair> {
        Some([self.word(index, 0)?, self.word(index, 1)?])
    }

    /// Low half of a source, extended to a word. `None` for inline floating-point constants, whose value is not
    /// defined there.
    pub(super) fn half(&self, index: usize, is_signed: bool) -> Option<Expr> {
        if matches!(self.source(index)?.value, GcnValue::InlineFloat(_)) {
            return None;
        }
        let word = self.word(index, 0)?;
        Some(match is_signed {
            true => unary(UnaryOp::SignExtend16, word),
            false => low_bits(word, 16),
        })
    }

    /// Bit in the own lane of a source that is a mask.
    pub(super) fn mask_bit(&self, index: usize) -> Option<Expr> {
        let source = self.source(index)?;
        if let (Some(low), Some(high)) = (register(source, 0), register(source, 1)) {
            // A mask in vector registers would have other words in each lane.
            return (!low.is_per_lane()).then(|| Expr::own_bit([low, high]));
        }
        let [bit, _] = shr64(self.pair(index)?, Expr::Special(SpecialReg::LaneId));
        Some(low_bits(bit, 1))
    }

    /// Whether no source is negated or replaced by its absolute value.
    pub(super) fn has_plain_sources(&self) -> bool {
        self.sources.iter().all(|source| !source.neg && !source.abs)
    }

    /// Whether modifiers change sources and results at most by selecting parts and lanes.
    pub(super) fn is_plain(&self) -> bool {
        let modifiers = &self.view.modifiers;
        !modifiers.clamp && modifiers.omod == 0 && self.has_plain_sources()
    }

    /// Constant in a field of its own.
    pub(super) fn immediate(&self, index: usize) -> Option<u32> {
        match self.source(index)?.value {
            GcnValue::Immediate(value) => Some(value),
            _ => None,
        }
    }

    /// Assignment of words to the first destination, and of further values to their cells.
    pub(super) fn set(
        &self,
        words: impl IntoIterator<Item = Expr>,
        further: impl IntoIterator<Item = (Cell, Expr)>,
    ) -> Option<Meaning> {
        let words = words.into_iter().zip(0u8..);
        let words = words.map(|(value, word)| Some((self.dest_cell(0, word)?, value)));
        let words: Option<Vec<(Cell, Expr)>> = words.collect();
        assign(words?.into_iter().chain(further))
    }
}

/// Assignment of values to cells; `None` if a cell is given two values.
pub(super) fn assign(values: impl IntoIterator<Item = (Cell, Expr)>) -> Option<Meaning> {
    let mut writes: SmallVec<[(Cell, Expr); 2]> = SmallVec::new();
    for (cell, value) in values {
        match writes.iter().find(|(known, _)| *known == cell) {
            None => writes.push((cell, value)),
            Some((_, known)) if *known == value => {}
            // Which of two different results a register keeps is not documented.
            Some(_) => return None,
        }
    }
    Some(Meaning::Set(writes))
}

/// Cell of a word of a register operand.
pub(super) fn register(operand: &GcnOperand, word: u8) -> Option<Cell> {
    if word >= operand.dwords {
        return None;
    }
    let (kind, first) = match operand.value {
        GcnValue::Scalar(first) => (RegisterKind::Scalar, first),
        GcnValue::Vector(first) => (RegisterKind::Vector, first),
        _ => return None,
    };
    let number = first.checked_add(word)?;
    Some(Cell::of(Reg { kind, number }))
}

/// Word of an operand that is an integer or has no type. Inline integers are sign-extended to 64 bits; inline
/// floating-point constants have the size of the operand. Sources differ on how a literal is extended to 64 bits, so
/// its high word is `None` if that matters.
pub(super) fn word_of(operand: &GcnOperand, word: u8) -> Option<Expr> {
    Some(match operand.value {
        GcnValue::Scalar(_) | GcnValue::Vector(_) => Expr::Cell(register(operand, word)?),
        // Constants have at most 64 bits.
        _ if word > 1 => return None,
        GcnValue::Int(value) if word == 0 => constant(value as u32),
        GcnValue::Int(value) => constant((value >> 31) as u32),
        GcnValue::InlineFloat(number) if operand.dwords == 1 => {
            constant(inline_single(number).filter(|_| word == 0)?)
        }
        GcnValue::InlineFloat(number) => {
            constant((inline_double(number)? >> (32 * u32::from(word))) as u32)
        }
        GcnValue::Literal(value) if word == 0 => constant(value),
        GcnValue::Literal(value) if value >> 31 == 0 => constant(0),
        GcnValue::Scc if word == 0 => Expr::Cell(Cell::of(Reg::SCC)),
        GcnValue::Vccz if word == 0 => is_zero(scalar::VCC),
        GcnValue::Execz if word == 0 => is_zero(scalar::EXEC),
        _ => return None,
    })
}

/// Whether a pair of scalar registers is 0.
fn is_zero(first: u8) -> Expr {
    let words = [first, first + 1].map(|number| Expr::Cell(Cell::scalar(number)));
    let [low, high] = words;
    eq(or(low, high), constant(0))
}

/// Inline floating-point constant in single precision.
pub(super) fn inline_single(number: u8) -> Option<u32> {
    Some(match number {
        240 => 0.5f32.to_bits(),
        241 => (-0.5f32).to_bits(),
        242 => 1f32.to_bits(),
        243 => (-1f32).to_bits(),
        244 => 2f32.to_bits(),
        245 => (-2f32).to_bits(),
        246 => 4f32.to_bits(),
        247 => (-4f32).to_bits(),
        // 1/(2 pi), rounded (LLVM, `AMDGPU::OPERAND_REG_INLINE_C_FP32`).
        248 => 0x3e22_f983,
        _ => return None,
    })
}

/// Inline floating-point constant in double precision.
fn inline_double(number: u8) -> Option<u64> {
    Some(match number {
        // 1/(2 pi), rounded down (LLVM, `isInlinableLiteral64`).
        248 => 0x3fc4_5f30_6dc9_c882,
        _ => f64::from(f32::from_bits(inline_single(number)?)).to_bits(),
    })
}
