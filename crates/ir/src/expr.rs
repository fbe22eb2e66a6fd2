//! Expressions: values as functions of the state before an operation. For example, `add(R2, c[0][0x140])` is the sum of a
//! register and a word of a constant bank.

use warpbound_isa::SpecialReg;

use crate::Cell;
use crate::float::FloatOp;

/// Unary operation on a 32-bit value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// Wrapping negation.
    Neg,
    /// Bitwise complement.
    Not,
    /// Wrapping magnitude of a signed number; the smallest number is its own magnitude.
    AbsS,
    /// Number of ones.
    Popc,
    /// Position of the highest one; all ones if there is none.
    HighestOne,
    /// Position of the highest bit that differs from the sign; all ones if there is none.
    HighestNonSign,
    /// Bits in reverse order.
    Reverse,
    /// Sign extension of the lowest 8 bits.
    SignExtend8,
    /// Sign extension of the lowest 16 bits.
    SignExtend16,
}

impl UnaryOp {
    /// Computes the result.
    #[inline(always)]
    pub fn apply(self, a: u32) -> u32 {
        match self {
            UnaryOp::Neg => a.wrapping_neg(),
            UnaryOp::Not => !a,
            UnaryOp::AbsS => (a as i32).unsigned_abs(),
            UnaryOp::Popc => a.count_ones(),
            // Without a one there are 32 leading zeros, and the difference wraps to all ones.
            UnaryOp::HighestOne => 31u32.wrapping_sub(a.leading_zeros()),
            UnaryOp::HighestNonSign => {
                let other = if (a as i32) < 0 { !a } else { a };
                31u32.wrapping_sub(other.leading_zeros())
            }
            UnaryOp::Reverse => a.reverse_bits(),
            UnaryOp::SignExtend8 => a as i8 as u32,
            UnaryOp::SignExtend16 => a as i16 as u32,
        }
    }
}

/// Ternary operation on 32-bit values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TernaryOp {
    /// Second operand if the first is not 0, else the third.
    Select,
    /// Bitwise look-up table. Each result bit is the table's bit with index (a, b, c), where the bit of a is most
    /// significant.
    Lut(u8),
    /// Carry out of the sum of three: 0, 1 or 2.
    Carry,
    /// Funnel shift right: low word of (b:a) >> c, where b is the high word. Shifts by 64 and more give 0.
    FunnelRight,
    /// Funnel shift left: high word of (b:a) << c, where b is the high word. Shifts by 64 and more give 0.
    FunnelLeft,
    /// Byte permutation: the four digits of b select bytes of (c:a), where a is the low word. A digit of 8 or more
    /// replicates the sign of the byte (PTX manual, `prmt`).
    Permute,
}

impl TernaryOp {
    /// Computes the result.
    #[inline(always)]
    pub fn apply(self, a: u32, b: u32, c: u32) -> u32 {
        let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        match self {
            TernaryOp::Select => {
                if a != 0 {
                    b
                } else {
                    c
                }
            }
            TernaryOp::Lut(table) => {
                let mut result = 0;
                for number in 0..8u32 {
                    if table >> number & 1 == 1 {
                        let pick = |value: u32, bit: u32| {
                            if number >> bit & 1 == 1 {
                                value
                            } else {
                                !value
                            }
                        };
                        result |= pick(a, 2) & pick(b, 1) & pick(c, 0);
                    }
                }
                result
            }
            // Three words sum to less than 3 * 2^32, so the carry is at most 2.
            TernaryOp::Carry => ((u64::from(a) + u64::from(b) + u64::from(c)) >> 32) as u32,
            // Rust refuses shifts by 64 and more, for which all bits are shifted out.
            TernaryOp::FunnelRight => wide(a, b).checked_shr(c).unwrap_or(0) as u32,
            TernaryOp::FunnelLeft => (wide(a, b).checked_shl(c).unwrap_or(0) >> 32) as u32,
            TernaryOp::Permute => {
                let bytes = wide(a, c).to_le_bytes();
                let mut result = 0;
                for index in 0..4 {
                    let digit = b >> (4 * index) & 15;
                    let byte = bytes[(digit & 7) as usize];
                    let byte = if digit & 8 == 0 {
                        byte
                    } else {
                        (byte as i8 >> 7) as u8
                    };
                    result |= u32::from(byte) << (8 * index);
                }
                result
            }
        }
    }
}

/// Binary operation on 32-bit values. Signed numbers are two's complement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// Wrapping sum.
    Add,
    /// Wrapping difference.
    Sub,
    /// Low word of the product.
    Mul,
    /// Signed quotient, truncated towards zero. Undefined for a divisor of 0.
    DivS,
    /// Signed remainder with the sign of the dividend. Undefined for a divisor of 0.
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
    /// Arithmetic right shift; amounts of 32 and more give the sign in all bits.
    Sar,
    /// High word of the product of unsigned numbers.
    MulHighU,
    /// High word of the product of signed numbers.
    MulHighS,
    /// 1 if a < b as unsigned numbers, else 0.
    LtU,
    /// 1 if a <= b as unsigned numbers, else 0.
    LeU,
    /// 1 if a < b as signed numbers, else 0.
    LtS,
    /// 1 if a <= b as signed numbers, else 0.
    LeS,
    /// 1 if a = b, else 0.
    Eq,
    /// 1 if a and b differ, else 0.
    Ne,
    /// Minimum of unsigned numbers.
    MinU,
    /// Maximum of unsigned numbers.
    MaxU,
    /// Minimum of signed numbers.
    MinS,
    /// Maximum of signed numbers.
    MaxS,
}

impl BinaryOp {
    /// Computes the result; `None` for a division by zero.
    #[inline(always)]
    pub fn apply(self, a: u32, b: u32) -> Option<u32> {
        let (sa, sb) = (a as i32, b as i32);
        Some(match self {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            // A division by zero has no result, so interpreters must handle it.
            BinaryOp::DivS if b == 0 => return None,
            // Wrapping, because the smallest number divided by -1 is out of range.
            BinaryOp::DivS => sa.wrapping_div(sb) as u32,
            BinaryOp::RemS if b == 0 => return None,
            BinaryOp::RemS => sa.wrapping_rem(sb) as u32,
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            // Amounts of 32 and more shift out all bits (PTX manual, `shl`, `shr`).
            BinaryOp::Shl => a.checked_shl(b).unwrap_or(0),
            BinaryOp::Shr => a.checked_shr(b).unwrap_or(0),
            // A shift by 31 already leaves only copies of the sign.
            BinaryOp::Sar => (sa >> b.min(31)) as u32,
            BinaryOp::MulHighU => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            BinaryOp::MulHighS => ((i64::from(sa) * i64::from(sb)) >> 32) as u32,
            BinaryOp::LtU => (a < b).into(),
            BinaryOp::LeU => (a <= b).into(),
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

/// Expression: a 32-bit value as a function of the lane's cells, its position in the block and constant memory.
///
/// Every interpreter must treat an operation without a meaning as writing an unknown value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// Constant.
    Const(u32),
    /// Value of a cell.
    Cell(Cell),
    /// Number of the thread in its block.
    ThreadId,
    /// Word of constant memory, `c[bank][address]`, with the address in bytes.
    Constant(u8, Box<Expr>),
    /// Special register.
    Special(SpecialReg),
    /// Unary operation.
    Unary(UnaryOp, Box<Expr>),
    /// Binary operation.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Ternary operation.
    Ternary(TernaryOp, Box<Expr>, Box<Expr>, Box<Expr>),
    /// One word of the result of a floating-point operation on [`FloatOp::words`] words.
    Float(FloatOp, Box<[Expr]>, WordHalf),
    /// Word of the mask of active lanes whose value is not 0; the same in all lanes. Only in operations of scope
    /// [`crate::OpScope::Lane`], and not below another expression.
    Ballot(Box<Expr>, WordHalf),
    /// Value of a register of another lane, active or not. Lane numbers are taken modulo the lanes of the warp.
    FromLane(Cell, Box<Expr>),
}

/// Word of a 64-bit value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WordHalf {
    /// Low word, or the whole of a 32-bit result.
    Low,
    /// High word.
    High,
}

impl WordHalf {
    /// Extracts the word from a value.
    #[inline(always)]
    pub fn of(self, value: u64) -> u32 {
        match self {
            WordHalf::Low => value as u32,
            WordHalf::High => (value >> 32) as u32,
        }
    }
}

impl Expr {
    /// Makes a unary operation.
    pub fn unary(op: UnaryOp, a: Expr) -> Expr {
        Expr::Unary(op, a.into())
    }

    /// Bit of a mask in a lane, 0 or 1. The mask is two words of the warp, the lane a number below 64.
    pub fn lane_bit(words: [Cell; 2], lane: Expr) -> Expr {
        let [low, high] = words.map(Expr::Cell);
        let shifted = Expr::ternary(TernaryOp::FunnelRight, low, high, lane);
        Expr::binary(BinaryOp::And, shifted, Expr::Const(1))
    }

    /// Bit of a mask in the own lane, 0 or 1.
    pub fn own_bit(words: [Cell; 2]) -> Expr {
        Expr::lane_bit(words, Expr::Special(SpecialReg::LaneId))
    }

    /// Words of the mask whose bit in the own lane is this expression; `None` unless [`Expr::own_bit`] made it.
    pub fn as_own_bit(&self) -> Option<[Cell; 2]> {
        let Expr::Binary(BinaryOp::And, shifted, one) = self else {
            return None;
        };
        match (&**shifted, &**one) {
            // The form that `lane_bit` builds for the own lane.
            (Expr::Ternary(TernaryOp::FunnelRight, low, high, lane), Expr::Const(1)) => {
                match (&**low, &**high, &**lane) {
                    (Expr::Cell(low), Expr::Cell(high), Expr::Special(SpecialReg::LaneId)) => {
                        Some([*low, *high])
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Makes a ternary operation.
    pub fn ternary(op: TernaryOp, a: Expr, b: Expr, c: Expr) -> Expr {
        Expr::Ternary(op, a.into(), b.into(), c.into())
    }

    /// Makes a floating-point operation whose result has at most 32 bits.
    pub fn float(op: FloatOp, words: impl Into<Vec<Expr>>) -> Expr {
        Expr::Float(op, words.into().into_boxed_slice(), WordHalf::Low)
    }

    /// Makes a binary operation.
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, a.into(), b.into())
    }
}
