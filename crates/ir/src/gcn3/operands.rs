//! Operands of an instruction as cells and expressions.

use warpbound_isa::amd::{GcnOperand, GcnValue, GcnView, OperandAccess};
use warpbound_isa::{Reg, RegisterKind};

use crate::{Cell, Expr};

/// Operands of an instruction, destinations and sources apart. An operand that is both is in both lists.
#[derive(Debug)]
pub(super) struct Operands<'a> {
    dests: Vec<&'a GcnOperand>,
    sources: Vec<&'a GcnOperand>,
}

impl<'a> Operands<'a> {
    pub(super) fn new(view: &'a GcnView) -> Operands<'a> {
        let all = view.operands.iter();
        let (reads, writes) = (OperandAccess::Read, OperandAccess::Write);
        Operands {
            dests: all.clone().filter(|o| o.access != reads).collect(),
            sources: all.filter(|o| o.access != writes).collect(),
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

    /// Word of a source, without its modifiers. `None` for what is no register or constant, and past its words.
    pub(super) fn word(&self, index: usize, word: u8) -> Option<Expr> {
        word_of(self.source(index)?, word)
    }
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

/// Word of an operand that is an integer or has no type: constants are extended by their sign to 64 bits.
pub(super) fn word_of(operand: &GcnOperand, word: u8) -> Option<Expr> {
    let constant = |value: i32| match word {
        0 => Expr::Const(value as u32),
        _ => Expr::Const((value >> 31) as u32),
    };
    Some(match operand.value {
        GcnValue::Scalar(_) | GcnValue::Vector(_) => Expr::Cell(register(operand, word)?),
        GcnValue::Int(value) => constant(value),
        GcnValue::Scc if word == 0 => Expr::Cell(Cell::of(Reg::SCC)),
        GcnValue::Literal(value) if word == 0 => Expr::Const(value),
        GcnValue::InlineFloat(number) if word == 0 && operand.dwords == 1 => {
            Expr::Const(inline_single(number)?)
        }
        _ => return None,
    })
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
