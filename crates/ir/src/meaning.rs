//! Meanings: the effect of an operation as data. For example, `IADD R0.CC, R1, R2` is a
//! [`Meaning::Set`] with two assignments, the sum to R0 and the flags to CC; both read the state before it, so the
//! order does not matter.

use smallvec::{SmallVec, smallvec};
use warpbound_isa::instr::MemorySpace;

use crate::atomic::{AtomicKind, AtomicOp};
use crate::{
    Cell, Expr, MatrixAccess, MatrixProduct, MatrixRegisters, MatrixTranspose, MemoryCopy,
    SurfaceAccess, TextureRead,
};

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
    /// Value of the first active lane, and whether a lane has another one (`R2UR` with a predicate). Compilers repeat code for
    /// one value after the other with it.
    FirstLane {
        /// Destination of the value of the first lane.
        dest: Option<Cell>,
        /// Destination of the truth in each lane: 1 if its value differs, else 0.
        differs: Cell,
        /// Whether a lane whose destination was 1 keeps it (`.OR`).
        accumulates: bool,
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
    /// Product of matrices in the registers of the warp.
    MatrixProduct(Box<MatrixProduct>),
    /// Transposition of a matrix in the registers of the warp.
    MatrixTranspose(Box<MatrixTranspose>),
    /// Load or store of matrices in shared memory.
    MatrixAccess(Box<MatrixAccess>),
    /// Copy from global to shared memory.
    MemoryCopy(Box<MemoryCopy>),
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
    /// Predicate that a branch tests: all active lanes take it if it holds in one of them (`BRA.ANY`; compilers' code).
    AnyLane(Expr),
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

/// Access of memory at an address.
#[derive(Clone, Copy, Debug)]
pub struct AddressedAccess<'a> {
    /// Memory space that the operation names.
    pub space: MemorySpace,
    /// Address in each lane.
    pub address: &'a Address,
    /// Whether memory is read.
    pub loads: bool,
    /// Whether memory is written.
    pub stores: bool,
}

impl Meaning {
    /// Accesses of memory at addresses, as many as the operation makes. Textures, surfaces and words of constant banks that an
    /// expression reads are not among them.
    pub fn accesses(&self) -> SmallVec<[AddressedAccess<'_>; 2]> {
        let access = |space: MemorySpace, address, loads, stores| AddressedAccess {
            space,
            address,
            loads,
            stores,
        };
        match self {
            Meaning::Load { space, address, .. } => smallvec![access(*space, address, true, false)],
            Meaning::Store { space, address, .. } => {
                smallvec![access(*space, address, false, true)]
            }
            Meaning::Atomic { space, address, .. } => {
                smallvec![access(*space, address, true, true)]
            }
            // LDSM and STSM name shared memory, so no generic address reaches another space.
            Meaning::MatrixAccess(matrix) => {
                let loads = matches!(matrix.registers, MatrixRegisters::Load(_));
                smallvec![access(MemorySpace::Shared, &matrix.address, loads, !loads)]
            }
            // One operation with two accesses: callers that know only one of them must refuse it.
            Meaning::MemoryCopy(copy) => smallvec![
                access(MemorySpace::Global, &copy.from, true, false),
                access(MemorySpace::Shared, &copy.to, false, true),
            ],
            _ => SmallVec::new(),
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
