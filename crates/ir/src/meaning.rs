use warpbound_isa::instr::Space;

use crate::Cell;

/// What two 32-bit values are combined to. Signed numbers are two's complement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// Wrapping sum.
    Add,
    /// Wrapping difference.
    Sub,
    /// The low half of the product.
    Mul,
    /// Signed quotient, truncated towards zero; none where the divisor is 0.
    DivS,
    /// Signed remainder with the sign of the dividend; none where the divisor is 0.
    RemS,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Left shift; amounts of 32 and more give 0.
    Shl,
    /// Logical right shift; amounts of 32 and more give 0.
    Shr,
    /// 1 where the first is smaller as a signed number, else 0.
    LtS,
    /// 1 where the first is not larger as a signed number, else 0.
    LeS,
    /// 1 where both are equal, else 0.
    Eq,
    /// 1 where they differ, else 0.
    Ne,
    /// The smaller, as unsigned numbers.
    MinU,
    /// The larger, as unsigned numbers.
    MaxU,
    /// The smaller, as signed numbers.
    MinS,
    /// The larger, as signed numbers.
    MaxS,
}

impl BinaryOp {
    /// The result; `None` for a division by zero.
    #[inline(always)]
    pub fn apply(self, a: u32, b: u32) -> Option<u32> {
        let (sa, sb) = (a as i32, b as i32);
        Some(match self {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            BinaryOp::DivS if b == 0 => return None,
            BinaryOp::DivS => sa.wrapping_div(sb) as u32,
            BinaryOp::RemS if b == 0 => return None,
            BinaryOp::RemS => sa.wrapping_rem(sb) as u32,
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            BinaryOp::Shl => a.checked_shl(b).unwrap_or(0),
            BinaryOp::Shr => a.checked_shr(b).unwrap_or(0),
            BinaryOp::LtS => (sa < sb).into(),
            BinaryOp::LeS => (sa <= sb).into(),
            BinaryOp::Eq => (a == b).into(),
            BinaryOp::Ne => (a != b).into(),
            BinaryOp::MinU => a.min(b),
            BinaryOp::MaxU => a.max(b),
            BinaryOp::MinS => sa.min(sb) as u32,
            BinaryOp::MaxS => sa.max(sb) as u32,
        })
    }
}

/// A 32-bit value as a function of the lane's cells, its place in the block and constant memory.
///
/// Grows with the instructions that have a meaning; every interpreter must treat an operation
/// without one as writing an unknown value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// A constant.
    Const(u32),
    /// A general register.
    Cell(Cell),
    /// The number of the thread in its block.
    ThreadId,
    /// `c[bank][address]`, address in bytes.
    Constant(u8, Box<Expr>),
    /// Wrapping negation.
    Neg(Box<Expr>),
    /// Two values combined.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// Two values combined.
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, a.into(), b.into())
    }
}

/// What an operation does to data, over the state before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A cell gets a value.
    Set {
        /// The cell written.
        dest: Cell,
        /// Its new value.
        value: Expr,
    },
    /// A cell gets a word of memory.
    Load {
        /// The cell written.
        dest: Cell,
        /// Which memory.
        space: Space,
        /// The address, in the units of the memory.
        address: Expr,
    },
    /// A word of memory gets a value.
    Store {
        /// Which memory.
        space: Space,
        /// The address, in the units of the memory.
        address: Expr,
        /// The value.
        value: Expr,
    },
    /// The warp waits until enough threads of the block are at the barrier.
    Barrier {
        /// Which barrier.
        number: Expr,
        /// How many threads.
        threads: Expr,
    },
}
