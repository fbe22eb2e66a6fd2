use smallvec::{SmallVec, smallvec};
use warpbound_isa::instr::MemorySpace;

use crate::Cell;
use crate::atomic::{AtomicKind, AtomicOp};
use crate::float::FloatOp;
use crate::{SurfaceAccess, TextureRead};

/// What a 32-bit value is made to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// Wrapping negation.
    Neg,
    /// All bits turned round.
    Not,
    /// The magnitude of a signed number; that of the smallest is itself.
    AbsS,
    /// The number of ones.
    Popc,
    /// The position of the highest one; all ones when there is none.
    HighestOne,
    /// The position of the highest bit that differs from the sign; all ones when there is none.
    HighestOther,
    /// The bits in reverse order.
    Reverse,
    /// The sign bit of the lowest 8 bits in all bits above them.
    SignExtend8,
    /// The sign bit of the lowest 16 bits in all bits above them.
    SignExtend16,
}

impl UnaryOp {
    /// The result.
    #[inline(always)]
    pub fn apply(self, a: u32) -> u32 {
        match self {
            UnaryOp::Neg => a.wrapping_neg(),
            UnaryOp::Not => !a,
            UnaryOp::AbsS => (a as i32).unsigned_abs(),
            UnaryOp::Popc => a.count_ones(),
            UnaryOp::HighestOne => 31u32.wrapping_sub(a.leading_zeros()),
            UnaryOp::HighestOther => {
                let other = if (a as i32) < 0 { !a } else { a };
                31u32.wrapping_sub(other.leading_zeros())
            }
            UnaryOp::Reverse => a.reverse_bits(),
            UnaryOp::SignExtend8 => a as i8 as u32,
            UnaryOp::SignExtend16 => a as i16 as u32,
        }
    }
}

/// What three 32-bit values are combined to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TernaryOp {
    /// The second where the first is not 0, else the third.
    Select,
    /// Bit by bit, the bit of the table whose number the three bits spell, that of the first highest.
    Lut(u8),
    /// The carry of the sum: 0, 1 or 2.
    Carry,
    /// The second is the high half of 64 bits, the first the low one: the low half after a shift to the right
    /// by the third; shifts by 64 and more give 0.
    FunnelRight,
    /// The first is the low half of 64 bits, the second the high one: the high half after a shift to the left
    /// by the third; shifts by 64 and more give 0.
    FunnelLeft,
    /// The bytes of the third and first (the first lowest) that the four digits of the second choose; a digit
    /// of 8 and more repeats the sign of the byte.
    Permute,
}

impl TernaryOp {
    /// The result.
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
            TernaryOp::Carry => ((u64::from(a) + u64::from(b) + u64::from(c)) >> 32) as u32,
            TernaryOp::FunnelRight => wide(a, b).checked_shr(c).unwrap_or(0) as u32,
            TernaryOp::FunnelLeft => (wide(a, b).checked_shl(c).unwrap_or(0) >> 32) as u32,
            TernaryOp::Permute => {
                let bytes = wide(a, c).to_le_bytes();
                let mut result = 0;
                for place in 0..4 {
                    let digit = b >> (4 * place) & 15;
                    let byte = bytes[(digit & 7) as usize];
                    let byte = if digit & 8 == 0 {
                        byte
                    } else {
                        (byte as i8 >> 7) as u8
                    };
                    result |= u32::from(byte) << (8 * place);
                }
                result
            }
        }
    }
}

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
    /// Arithmetic right shift; amounts of 32 and more give the sign in all bits.
    Sar,
    /// The high half of the product of unsigned numbers.
    MulHighU,
    /// The high half of the product of signed numbers.
    MulHighS,
    /// 1 where the first is smaller as an unsigned number, else 0.
    LtU,
    /// 1 where the first is not larger as an unsigned number, else 0.
    LeU,
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
    /// A special register, by its number.
    Special(u8),
    /// A value changed.
    Unary(UnaryOp, Box<Expr>),
    /// Two values combined.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Three values combined.
    Ternary(TernaryOp, Box<Expr>, Box<Expr>, Box<Expr>),
    /// A floating-point operation on [`FloatOp::words`] words.
    Float(FloatOp, Box<[Expr]>, Half),
}

/// Which word of a result of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Half {
    /// The low one: all of a shorter result.
    Low,
    /// The high one.
    High,
}

impl Half {
    /// That word.
    #[inline(always)]
    pub fn of(self, value: u64) -> u32 {
        match self {
            Half::Low => value as u32,
            Half::High => (value >> 32) as u32,
        }
    }
}

impl Expr {
    /// A value changed.
    pub fn unary(op: UnaryOp, a: Expr) -> Expr {
        Expr::Unary(op, a.into())
    }

    /// Three values combined.
    pub fn ternary(op: TernaryOp, a: Expr, b: Expr, c: Expr) -> Expr {
        Expr::Ternary(op, a.into(), b.into(), c.into())
    }

    /// A floating-point operation whose result has 32 bits at most.
    pub fn float(op: FloatOp, words: impl Into<Vec<Expr>>) -> Expr {
        Expr::Float(op, words.into().into_boxed_slice(), Half::Low)
    }

    /// Two values combined.
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, a.into(), b.into())
    }
}

/// Which lane a value is taken from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShuffleMode {
    /// The one of this number in the segment.
    Index,
    /// So many below.
    Up,
    /// So many above.
    Down,
    /// The one whose number differs in these bits.
    Butterfly,
}

impl ShuffleMode {
    /// The lane that `own` takes from, and whether it is in range; out of range it is `own`.
    #[inline]
    pub fn source(self, own: u32, lane: u32, limit: u32) -> (u32, bool) {
        let (lane, bound, segment) = (lane & 31, limit & 31, limit >> 8 & 31);
        let last = own & segment | bound & !segment;
        let (source, in_range) = match self {
            ShuffleMode::Up => {
                let source = own.wrapping_sub(lane);
                (source, source as i32 >= last as i32)
            }
            ShuffleMode::Down => (own + lane, own + lane <= last),
            ShuffleMode::Butterfly => (own ^ lane, own ^ lane <= last),
            ShuffleMode::Index => {
                let source = own & segment | lane & !segment;
                (source, source <= last)
            }
        };
        (if in_range { source & 31 } else { own }, in_range)
    }
}

/// What is asked of a predicate in the active lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VoteMode {
    /// Does it hold in all?
    All,
    /// Does it hold in some?
    Any,
    /// Is it the same in all?
    Same,
}

/// How much of memory a register or two take, and what becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// A byte, zeros above it.
    U8,
    /// A byte, its sign above it.
    S8,
    /// Two bytes, zeros above them.
    U16,
    /// Two bytes, their sign above them.
    S16,
    /// One or more whole words, one for each cell.
    Words,
}

/// What an operation does to data, over the state before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// Cells get values.
    Set(SmallVec<[(Cell, Expr); 2]>),
    /// Cells get what is in memory.
    Load {
        /// The cells, those of the first words first; `None` takes a word that nobody wants.
        dests: SmallVec<[Option<Cell>; 4]>,
        /// How much.
        width: Width,
        /// Which memory.
        space: MemorySpace,
        /// Where.
        address: Address,
    },
    /// Values go to memory.
    Store {
        /// The values, that of the first word first.
        values: SmallVec<[Expr; 4]>,
        /// How much of each.
        width: Width,
        /// Which memory.
        space: MemorySpace,
        /// Where.
        address: Address,
    },
    /// Each lane gets a value of another one (`SHFL`; PTX manual, `shfl`).
    Shuffle {
        /// The cell that gets it.
        dest: Option<Cell>,
        /// Gets 1 where the other lane is in range, else 0.
        in_range: Option<Cell>,
        /// Which lane.
        mode: ShuffleMode,
        /// The value that lanes offer.
        value: Expr,
        /// The lane, or how far it is.
        lane: Expr,
        /// Limit of the lane in bits 4:0, mask of the segment in bits 12:8.
        limit: Expr,
    },
    /// What the active lanes say of a predicate (`VOTE`; PTX manual, `vote`).
    Vote {
        /// The cell that gets the lanes in which it holds, as bits.
        ballot: Option<Cell>,
        /// Gets 1 where the question is answered with yes, else 0.
        result: Option<Cell>,
        /// The question.
        mode: VoteMode,
        /// The predicate: 0 or 1.
        predicate: Expr,
    },
    /// A cell of memory is read and written without anything in between (`ATOM`, `ATOMS`, `RED`; PTX manual, `atom`).
    Atomic {
        /// The cells that get the old value, the low word first; none for RZ and RED.
        dests: SmallVec<[Option<Cell>; 2]>,
        /// What is done.
        op: AtomicOp,
        /// What kind of number is in memory.
        kind: AtomicKind,
        /// Which memory.
        space: MemorySpace,
        /// Where.
        address: Address,
        /// The operands, each of one word or two: the value; for compare-and-swap what is compared, then the new one.
        operands: SmallVec<[Expr; 4]>,
    },
    /// A texture is read.
    Texture(Box<TextureRead>),
    /// Cells get the size of a texture in texels (`TXQ`; PTX manual, `txq`).
    TextureSize {
        /// The low word of the texture object.
        handle: Expr,
        /// The level of detail.
        level: Expr,
        /// Components and the cells that get them: width, height, depth or layers, levels.
        dests: SmallVec<[(u8, Cell); 4]>,
    },
    /// A surface is read or written.
    Surface(Box<SurfaceAccess>),
    /// The warp is at a barrier, which opens when enough threads of the block are.
    Barrier {
        /// Which barrier.
        number: Expr,
        /// How many threads; on GPUs 0 stands for all of the block.
        threads: Expr,
        /// What it does there.
        arrival: BarrierArrival,
    },
    /// What the last barrier with a question that the warp was at has found (`B2R.RESULT`; experiment: it follows
    /// `BAR.RED` where PTX's `bar.red` has a result).
    BarrierResult {
        /// The cell that gets the answer: a number of threads, or 1 or 0.
        dest: Option<Cell>,
        /// Gets 1 where the answer is not 0, else 0.
        truth: Option<Cell>,
    },
    /// The launch ends with an error (`BPT.TRAP`; PTX manual, `trap`).
    Trap,
}

/// What a warp does at a barrier (PTX manual, `bar`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BarrierArrival {
    /// It waits.
    Wait,
    /// It goes on: its threads are counted.
    Pass,
    /// It waits, and a question about a predicate is answered over all threads at the barrier.
    Ask(Question, Expr),
}

/// What is asked of a predicate in the threads at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// In how many does it hold?
    Count,
    /// Does it hold in all?
    All,
    /// Does it hold in some?
    Any,
}

/// An address, in the units of the memory: bytes of GPUs, words of mini-SIMT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// The low 32 bits.
    pub low: Expr,
    /// The high ones, where addresses have 64.
    pub high: Option<Expr>,
}

impl Meaning {
    /// One cell gets a value.
    pub fn set(dest: Cell, value: Expr) -> Meaning {
        Meaning::Set(smallvec![(dest, value)])
    }

    /// The value that the operation computes for a cell; `None` when it does not write it, or takes it from
    /// elsewhere.
    pub fn value_of(&self, cell: Cell) -> Option<&Expr> {
        match self {
            Meaning::Set(writes) => {
                let found = writes.iter().find(|(dest, _)| *dest == cell);
                found.map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

impl Address {
    /// An address of 32 bits.
    pub fn short(low: Expr) -> Address {
        Address { low, high: None }
    }
}
