//! Expressions and meanings: the effect of an operation as data. For example, `IADD R0.CC, R1, R2` is a
//! [`Meaning::Set`] with two assignments, the sum to R0 and the flags to CC; both read the state before it, so the
//! order does not matter.

use smallvec::{SmallVec, smallvec};
use warpbound_isa::SpecialReg;
use warpbound_isa::instr::MemorySpace;

use crate::Cell;
use crate::atomic::{AtomicKind, AtomicOp};
use crate::float::FloatOp;
use crate::{SurfaceAccess, TextureRead};

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

/// Source lane of a shuffle (PTX manual, `shfl`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShuffleMode {
    /// Lane with the given number in the segment.
    Index,
    /// Own lane minus the given number.
    Up,
    /// Own lane plus the given number.
    Down,
    /// Own lane XOR the given number.
    Butterfly,
}

impl ShuffleMode {
    /// Source lane of lane `own`, and whether it is in range. Out of range it is `own`.
    ///
    /// `limit` has the clamp in bits 4:0 and the segment mask in bits 12:8 (PTX manual, `shfl`, operand c).
    #[inline]
    pub fn source(self, own: u32, lane: u32, limit: u32) -> (u32, bool) {
        let (lane, bound, segment) = (lane & 31, limit & 31, limit >> 8 & 31);
        // `maxLane` in the PTX manual; for `Up` it is the lowest lane instead.
        let last = own & segment | bound & !segment;
        let (source, in_range) = match self {
            ShuffleMode::Up => {
                let source = own.wrapping_sub(lane);
                // The difference is negative below lane 0, which counts as out of range.
                (source, source as i32 >= last as i32)
            }
            ShuffleMode::Down => (own + lane, own + lane <= last),
            ShuffleMode::Butterfly => (own ^ lane, own ^ lane <= last),
            ShuffleMode::Index => {
                // Bits of the segment mask keep the lane's own segment.
                let source = own & segment | lane & !segment;
                (source, source <= last)
            }
        };
        (if in_range { source & 31 } else { own }, in_range)
    }
}

/// Vote over a predicate in the active lanes (PTX manual, `vote`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VoteMode {
    /// Whether the predicate holds in all lanes.
    All,
    /// Whether the predicate holds in some lane.
    Any,
    /// Whether the predicate is the same in all lanes.
    Same,
}

/// Comparison of the values of the active lanes (PTX manual, `match`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchMode {
    /// The lanes with the same value as the own lane.
    Any,
    /// All active lanes if all have one value, else none.
    All,
}

impl MatchMode {
    /// Mask that lane `own` receives, if `value` gives the values of the `active` lanes.
    pub fn mask<V: PartialEq>(self, own: usize, active: u32, value: impl Fn(usize) -> V) -> u32 {
        let is_active = |lane: &usize| active >> lane & 1 == 1;
        let of_own = value(own);
        let lanes = (0..u32::BITS as usize).filter(is_active);
        let equal = lanes.filter(|&lane| value(lane) == of_own);
        let equal = equal.fold(0, |mask, lane| mask | 1 << lane);
        match self {
            MatchMode::All if equal != active => 0,
            MatchMode::Any | MatchMode::All => equal,
        }
    }
}

/// Reduction of a word over the active lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarpReduction {
    /// Value of the active lane with the lowest number.
    First,
    /// Wrapping sum.
    Sum,
    /// Minimum of unsigned numbers.
    MinUnsigned,
    /// Maximum of unsigned numbers.
    MaxUnsigned,
    /// Minimum of signed numbers.
    MinSigned,
    /// Maximum of signed numbers.
    MaxSigned,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl WarpReduction {
    /// Combines the values of two lanes, the lower lane first.
    pub fn combine(self, a: u32, b: u32) -> u32 {
        match self {
            WarpReduction::First => a,
            WarpReduction::Sum => a.wrapping_add(b),
            WarpReduction::MinUnsigned => a.min(b),
            WarpReduction::MaxUnsigned => a.max(b),
            WarpReduction::MinSigned => (a as i32).min(b as i32) as u32,
            WarpReduction::MaxSigned => (a as i32).max(b as i32) as u32,
            WarpReduction::And => a & b,
            WarpReduction::Or => a | b,
            WarpReduction::Xor => a ^ b,
        }
    }
}

/// Width of a memory access and extension of loaded values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// Byte, zero-extended.
    U8,
    /// Byte, sign-extended.
    S8,
    /// Two bytes, zero-extended.
    U16,
    /// Two bytes, sign-extended.
    S16,
    /// One or more whole words, one for each cell.
    Words,
}

/// Meaning of an operation: its effect on cells and memory, over the state before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// Assignment of values to cells, all at once.
    Set(SmallVec<[(Cell, Expr); 2]>),
    /// Load from memory.
    Load {
        /// Destination cells, in the order of the words; the word of a `None` is discarded.
        dests: SmallVec<[Option<Cell>; 4]>,
        /// Width of the access.
        width: Width,
        /// Memory space.
        space: MemorySpace,
        /// Address.
        address: Address,
    },
    /// Store to memory.
    Store {
        /// Values, in the order of the words.
        values: SmallVec<[Expr; 4]>,
        /// Width of the access.
        width: Width,
        /// Memory space.
        space: MemorySpace,
        /// Address.
        address: Address,
    },
    /// Exchange of values between lanes (`SHFL`; PTX manual, `shfl`).
    Shuffle {
        /// Destination of the source lane's value.
        dest: Option<Cell>,
        /// Destination of the range predicate: 1 if the source lane is in range, else 0.
        in_range: Option<Cell>,
        /// Selection of the source lane.
        mode: ShuffleMode,
        /// Value that each lane provides.
        value: Expr,
        /// Lane number or distance, depending on the mode.
        lane: Expr,
        /// Limit of the lane in bits 4:0, mask of the segment in bits 12:8.
        limit: Expr,
    },
    /// Vote of the active lanes over a predicate (`VOTE`; PTX manual, `vote`).
    Vote {
        /// Destination of the ballot: the mask of the lanes whose predicate holds.
        ballot: Option<Cell>,
        /// Destination of the result, 0 or 1.
        result: Option<Cell>,
        /// Vote.
        mode: VoteMode,
        /// Predicate, 0 or 1.
        predicate: Expr,
    },
    /// Reduction of a value over the active lanes (`REDUX`, `R2UR`; PTX manual, `redux.sync`). All of them receive the
    /// result.
    Reduce {
        /// Destination.
        dest: Option<Cell>,
        /// Operation.
        op: WarpReduction,
        /// Value that each lane provides.
        value: Expr,
    },
    /// Comparison of a value with the other active lanes (`MATCH`; PTX manual, `match`).
    Match {
        /// Destination of the mask.
        mask: Option<Cell>,
        /// Destination of the truth: 1 if all active lanes have one value, else 0.
        all_equal: Option<Cell>,
        /// Comparison.
        mode: MatchMode,
        /// Words of the value that each lane provides, one or two, the low one first.
        words: SmallVec<[Expr; 2]>,
    },
    /// Atomic read-modify-write of memory (`ATOM`, `ATOMS`, `RED`; PTX manual, `atom`).
    Atomic {
        /// Destination cells of the old value, the low word first; none for RZ and RED.
        dests: SmallVec<[Option<Cell>; 2]>,
        /// Operation.
        op: AtomicOp,
        /// Type of the number in memory.
        kind: AtomicKind,
        /// Memory space.
        space: MemorySpace,
        /// Address.
        address: Address,
        /// Operands, each of one word or two. A compare-and-swap has the compared value first, then the new one.
        operands: SmallVec<[Expr; 4]>,
    },
    /// Texture read.
    Texture(Box<TextureRead>),
    /// Query of the size of a texture in texels (`TXQ`; PTX manual, `txq`).
    TextureSize {
        /// Low word of the texture object.
        handle: Expr,
        /// Level of detail.
        level: Expr,
        /// Components and their destination cells: width, height, depth or layers, levels.
        dests: SmallVec<[(u8, Cell); 4]>,
    },
    /// Surface access.
    Surface(Box<SurfaceAccess>),
    /// Arrival of the warp at a barrier, which opens when enough threads of the block have arrived.
    Barrier {
        /// Barrier number.
        number: Expr,
        /// Expected number of threads; on GPUs 0 stands for all threads of the block.
        threads: Expr,
        /// Kind of arrival.
        arrival: BarrierArrival,
    },
    /// Result of the warp's last barrier with a reduction (`B2R.RESULT`; experiment: it follows
    /// `BAR.RED` where PTX's `bar.red` has a result).
    BarrierResult {
        /// Destination of the result: a number of threads, or 1 or 0.
        dest: Option<Cell>,
        /// Destination of its truth: 1 if the result is not 0, else 0.
        truth: Option<Cell>,
    },
    /// Lanes that wait until all lanes of a mask have come, or all that have not exited (`WARPSYNC`; PTX manual,
    /// `bar.warp.sync`).
    Meet(Option<Expr>),
    /// Lanes that met to execute some code as one group go on apart (`ENDCOLLECTIVE`; compilers' code).
    Part,
    /// Lanes for which a branch asks (`BRA.DIV`; compilers' code): it is taken if some of them do not execute it with the
    /// others. Without a mask it asks for all that have not exited. The condition of the operation has
    /// [`FurtherTest::Group`](crate::FurtherTest::Group).
    Ask(Option<Expr>),
    /// End of the launch with an error (`BPT.TRAP`; PTX manual, `trap`).
    Trap,
}

/// Kind of arrival at a barrier (PTX manual, `bar`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BarrierArrival {
    /// The warp waits until the barrier opens (`bar.sync`).
    Wait,
    /// The warp's threads count as arrived, and it continues (`bar.arrive`).
    Arrive,
    /// The warp waits, and a predicate is reduced over all threads at the barrier (`bar.red`).
    Reduce(BarrierReduction, Expr),
}

/// Reduction of a predicate over the threads at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierReduction {
    /// Number of threads whose predicate holds.
    Count,
    /// Whether the predicate holds in all threads.
    All,
    /// Whether the predicate holds in some thread.
    Any,
}

/// Memory address, in the unit of the memory: bytes on GPUs, words in mini-SIMT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// Low 32 bits.
    pub low: Expr,
    /// High 32 bits of an address of 64 bits.
    pub high: Option<Expr>,
    /// Buffer to which the offset `low` refers; `None` for plain addresses.
    pub buffer: Option<Box<BufferOperand>>,
    /// Distance in bytes from the first half of the words to the second half, modulo 2^32 (AMD's ds_read2 and
    /// ds_write2). `None` if one follows the other.
    pub second_half: Option<u32>,
}

/// Buffer of an access (AMD's MUBUF and MTBUF; GCN3 manual, "Memory buffer addressing").
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferOperand {
    /// Words of the resource descriptor: base, stride, number of records, layout.
    pub descriptor: [Expr; 4],
    /// Index of the record; `None` if the instruction has none.
    pub index: Option<Expr>,
    /// Offset that is neither swizzled nor compared with the size of the buffer (SOFFSET).
    pub scalar_offset: Expr,
}

impl Meaning {
    /// Meaning of an operation without an effect on data.
    pub fn nothing() -> Meaning {
        Meaning::Set(SmallVec::new())
    }

    /// Assignment of a value to one cell.
    pub fn set(dest: Cell, value: Expr) -> Meaning {
        Meaning::Set(smallvec![(dest, value)])
    }

    /// Value that the operation computes for a cell. `None` if the operation does not write the cell, loads it, or
    /// receives it from another lane.
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
    /// Makes an address of 32 bits.
    pub fn short(low: Expr) -> Address {
        Address {
            low,
            high: None,
            buffer: None,
            second_half: None,
        }
    }

    /// Whether the words follow one another from an address in a memory space.
    pub fn is_plain(&self) -> bool {
        self.buffer.is_none() && self.second_half.is_none()
    }
}
