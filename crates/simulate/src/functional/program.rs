//! Operations compiled to the form that a warp executes: steps on lane values, then one effect.

use std::collections::HashMap;

use warpbound_ir::float::FloatOp;
use warpbound_ir::{
    AtomicKind, AtomicOp, BarrierReduction, BinaryOp, Cell, Code, ImageKind, MatchMode,
    MatrixProduct, Op, OpIndex, OpScope, OutOfBounds, ShuffleMode, TernaryOp, TextureOp, UnaryOp,
    VoteMode, WarpReduction, Width,
};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::{RegisterKind, SpecialReg};
use warpbound_launch::PathOrder;
use warpbound_simt::ControlTransfer;
use warpbound_simt::warp::DivergenceOrder;

use super::Launch;
use super::compile::Compiler;
use super::lanes::LaneValues;

/// Location of a value of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ValueSlot {
    /// Of the warp: general registers, then [`ExtraRegister`]s.
    Warp(u16),
    /// Common to all warps of the grid.
    Grid(u16),
    /// Common to all warps of a block: the block index along three axes, then [`ClockRegister`]s.
    Block(u8),
    /// Result of an earlier step of the same operation.
    Scratch(u16),
    /// Word of the warp, in operations that are executed once for the warp.
    Word(u8),
}

/// Rows of the registers that a code names: vector registers, then registers of the uniform datapath. Each lane
/// has a copy of the latter (SOUNDNESS 21.2, `uniform-private`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct RegisterRows {
    vectors: usize,
    uniforms: usize,
}

impl RegisterRows {
    /// Rows for all registers of a code.
    pub(super) fn of(code: &Code) -> RegisterRows {
        let mut rows = RegisterRows::default();
        for op in &code.ops {
            for register in op
                .reads
                .iter()
                .chain(&op.writes)
                .map(|cell| cell.register())
            {
                let count = match register.kind {
                    RegisterKind::Vector => &mut rows.vectors,
                    RegisterKind::Uniform => &mut rows.uniforms,
                    _ => continue,
                };
                *count = (*count).max(usize::from(register.number) + 1);
            }
        }
        rows
    }

    /// Number of vector registers.
    pub(super) fn vectors(self) -> usize {
        self.vectors
    }

    /// Number of rows.
    pub(super) fn count(self) -> usize {
        self.vectors + self.uniforms
    }

    /// Row of a cell, with the [`ExtraRegister`]s after the rows of registers; `None` for cells without a row.
    #[inline]
    pub(super) fn row_of(self, cell: Cell) -> Option<usize> {
        // The cells of vector registers come first.
        if cell.index() < self.vectors {
            return Some(cell.index());
        }
        if let Some(number) = cell.number_in(RegisterKind::Uniform) {
            let number = usize::from(number);
            return (number < self.uniforms).then_some(self.vectors + number);
        }
        let flag = cell.number_in(RegisterKind::Flag);
        flag.map(|_| self.extra(ExtraRegister::Cc))
    }

    /// Row of an extra register.
    #[inline]
    pub(super) fn extra(self, register: ExtraRegister) -> usize {
        self.count() + register.index()
    }
}

/// Number of a predicate among the masks of a warp: predicates of lanes, then of the uniform datapath; `None` for other
/// cells.
#[inline]
pub(super) fn predicate_mask(cell: Cell) -> Option<u8> {
    if let Some(number) = cell.predicate_number() {
        return Some(number);
    }
    let number = cell.number_in(RegisterKind::UniformPredicate)?;
    Some(UNIFORM_PREDICATES + number)
}

/// Number of the first mask of a uniform predicate.
const UNIFORM_PREDICATES: u8 = 8;

/// Masks of predicates of a warp.
pub(super) const PREDICATE_MASKS: usize = 2 * UNIFORM_PREDICATES as usize;

/// Values of a warp that are stored after its general registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExtraRegister {
    /// The condition code.
    Cc,
    /// The thread index along an axis.
    ThreadIndex(u8),
}

impl ExtraRegister {
    /// Number of extra registers.
    pub(super) const COUNT: usize = 4;

    /// Index after the general registers.
    pub(super) fn index(self) -> usize {
        match self {
            ExtraRegister::Cc => 0,
            ExtraRegister::ThreadIndex(axis) => 1 + usize::from(axis),
        }
    }
}

/// Special registers that only a simulation with time can define.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClockRegister {
    /// SR_VIRTCFG: number of SMs in bits 28:20.
    VirtCfg,
    /// SR_VIRTID: index of the SM in bits 28:20, of the warp's slot in bits 14:8.
    VirtId,
    /// Low word of the clock in cycles.
    ClockLow,
    /// High word of the clock.
    ClockHigh,
    /// Low word of the global timer in nanoseconds.
    TimeLow,
    /// High word of the global timer.
    TimeHigh,
}

impl ClockRegister {
    /// Number of clock registers.
    pub(super) const COUNT: usize = 6;

    /// Returns the clock register that a special register stands for (bit fields: code that compilers emit for
    /// `%smid`, `%nsmid` and `%warpid`).
    pub(super) fn of_special(register: SpecialReg) -> Option<ClockRegister> {
        Some(match register {
            SpecialReg::VirtualConfig => ClockRegister::VirtCfg,
            SpecialReg::VirtualId => ClockRegister::VirtId,
            SpecialReg::ClockLow => ClockRegister::ClockLow,
            SpecialReg::ClockHigh => ClockRegister::ClockHigh,
            SpecialReg::TimerLow => ClockRegister::TimeLow,
            SpecialReg::TimerHigh => ClockRegister::TimeHigh,
            _ => return None,
        })
    }
}

/// A computation on lane values, whose result is stored in a scratch slot.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The value of a slot.
    Copy(ValueSlot),
    /// 1 in lanes where a predicate is true, else 0.
    Predicate(u8),
    Unary(UnaryOp, ValueSlot),
    Binary(BinaryOp, ValueSlot, ValueSlot),
    Ternary(TernaryOp, ValueSlot, ValueSlot, ValueSlot),
    /// Low words; if `wide`, also high words, stored in the next slot.
    Float {
        op: FloatOp,
        words: [ValueSlot; FloatOp::MAX_WORDS],
        wide: bool,
    },
    /// Words of the launch's constant bank with this index, at per-lane byte addresses.
    Constant(u16, ValueSlot),
    /// A word of the warp, in all lanes.
    Splat(u8),
    /// 1 in the lanes of the mask in two words of the warp, else 0.
    OwnBit([u8; 2]),
    /// Values of a register in the lanes that a slot numbers, modulo the lanes of the warp.
    FromLane(u16, ValueSlot),
}

/// Destination of a value of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dest {
    /// A register of the warp.
    Register(u16),
    /// A predicate: true in lanes where the value is not 0.
    Predicate(u8),
    /// A word of the warp, in operations that are executed once for the warp.
    Word(u8),
    /// Words of the warp, low and high: the mask of the taken lanes where the value is not 0.
    Ballot([Option<u8>; 2]),
}

/// Condition of an operation, without its test of the condition code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Guard {
    /// True.
    Always,
    /// `!PT`: no lane takes part.
    Never,
    /// A predicate of the lanes, negated or not.
    Predicate(u8, bool),
    /// Whether one of two words of the warp is not 0, negated or not.
    Words([u8; 2], bool),
}

/// Lanes where an operation takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// The active lanes for which the condition holds.
    Lanes,
    /// The same lanes; words of the warp are written even if there are none.
    LanesAndWords,
    /// All lanes of the warp, active or not, if the condition holds.
    AllLanes,
    /// Once for the warp if the condition holds: all values are words.
    Once,
}

/// Effect of an operation on the warp and on memory, after all its steps.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// Writes slots to destinations, in order.
    Write(Vec<(Dest, ValueSlot)>),
    Load {
        dests: Vec<Option<u16>>,
        access: MemoryOperand,
    },
    Store {
        values: Vec<ValueSlot>,
        access: MemoryOperand,
    },
    Atomic {
        dests: Vec<Option<Dest>>,
        op: AtomicOp,
        kind: AtomicKind,
        operands: Vec<ValueSlot>,
        access: MemoryOperand,
    },
    /// An access of a wave of AMD's machines to memory.
    Wave(Box<WaveAccess>),
    Shuffle(ShuffleEffect),
    Vote(VoteEffect),
    Match(MatchEffect),
    FirstLane(FirstLaneEffect),
    MatrixProduct(Box<ProductEffect>),
    /// Destination and value of a transposition.
    MatrixTranspose(Option<Dest>, ValueSlot),
    MatrixAccess(Box<MatrixAccessEffect>),
    MemoryCopy(Box<CopyEffect>),
    /// Reduction of a value over the active lanes.
    Reduce(WarpReduction, Option<Dest>, ValueSlot),
    Texture(Box<TextureEffect>),
    /// Texture handle; components of the size and their destination registers.
    TextureSize(ValueSlot, Vec<(u8, u16)>),
    Surface(Box<SurfaceEffect>),
    Barrier(BarrierEffect),
    /// Writes the result of the last barrier reduction: the number, and whether it is not 0.
    BarrierResult(Option<Dest>, Option<Dest>),
    Trap,
    /// Reads a [`ClockRegister`] in a simulation without time.
    NeedsTime,
    /// The meaning of the operation is not modelled.
    Unsupported,
}

/// An exchange of values between lanes (PTX `shfl`).
#[derive(Clone, Copy, Debug)]
pub(super) struct ShuffleEffect {
    pub(super) dest: Option<Dest>,
    pub(super) in_range: Option<Dest>,
    pub(super) mode: ShuffleMode,
    pub(super) value: ValueSlot,
    pub(super) lane: ValueSlot,
    pub(super) limit: ValueSlot,
}

/// A reduction of a predicate over the active lanes (PTX `vote`).
#[derive(Clone, Copy, Debug)]
pub(super) struct VoteEffect {
    pub(super) ballot: Option<Dest>,
    pub(super) result: Option<Dest>,
    pub(super) mode: VoteMode,
    pub(super) predicate: ValueSlot,
}

/// A comparison of a value with the other active lanes (PTX `match`).
#[derive(Clone, Debug)]
pub(super) struct MatchEffect {
    /// Words of the value, the low one first.
    pub(super) words: Vec<ValueSlot>,
    pub(super) mask: Option<Dest>,
    pub(super) all_equal: Option<Dest>,
    pub(super) mode: MatchMode,
}

/// The value of the first active lane, and the lanes whose value differs.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstLaneEffect {
    pub(super) value: ValueSlot,
    pub(super) dest: Option<Dest>,
    pub(super) differs: Dest,
    /// Lanes that count as different in any case; `None` if there are none.
    pub(super) kept: Option<ValueSlot>,
}

/// A product of matrices, with the slots of its words.
#[derive(Clone, Debug)]
pub(super) struct ProductEffect {
    /// Shape, formats and arithmetic.
    pub(super) product: MatrixProduct,
    pub(super) a: Vec<ValueSlot>,
    pub(super) b: Vec<ValueSlot>,
    pub(super) c: Vec<ValueSlot>,
    pub(super) dests: Vec<Option<Dest>>,
}

/// A load or store of matrices in shared memory.
#[derive(Clone, Debug)]
pub(super) struct MatrixAccessEffect {
    pub(super) transposes: bool,
    pub(super) access: MemoryOperand,
    pub(super) registers: FragmentSlots,
}

/// Registers of fragments, one for each matrix.
#[derive(Clone, Debug)]
pub(super) enum FragmentSlots {
    Load(Vec<Option<Dest>>),
    Store(Vec<ValueSlot>),
}

impl FragmentSlots {
    /// Number of matrices.
    pub(super) fn matrices(&self) -> usize {
        match self {
            FragmentSlots::Load(dests) => dests.len(),
            FragmentSlots::Store(values) => values.len(),
        }
    }
}

/// A copy from global to shared memory.
#[derive(Clone, Debug)]
pub(super) struct CopyEffect {
    /// Bytes that are written: 4, 8 or 16.
    pub(super) bytes: usize,
    pub(super) to: MemoryOperand,
    pub(super) from: MemoryOperand,
    /// 0 in lanes that read nothing, and write zeros.
    pub(super) reads: ValueSlot,
    /// Number of bytes at the end that receive zeros.
    pub(super) padding: Option<ValueSlot>,
}

/// A barrier of the block: PTX `barrier.sync`, `barrier.arrive` (not `waits`) or `barrier.red` (with a question).
#[derive(Clone, Copy, Debug)]
pub(super) struct BarrierEffect {
    pub(super) number: ValueSlot,
    /// Expected number of threads; `None` for all of the block.
    pub(super) threads: Option<ValueSlot>,
    pub(super) waits: bool,
    /// Reduction over all threads at the barrier, and its predicate.
    pub(super) question: Option<(BarrierReduction, ValueSlot)>,
}

/// A texture read.
#[derive(Clone, Debug)]
pub(super) struct TextureEffect {
    pub(super) operation: TextureOp,
    pub(super) kind: ImageKind,
    pub(super) handle: ValueSlot,
    pub(super) coordinates: Vec<ValueSlot>,
    pub(super) layer: Option<ValueSlot>,
    pub(super) offsets: Vec<ValueSlot>,
    /// Components of the result and their destination registers.
    pub(super) dests: Vec<(u8, u16)>,
}

/// A surface access.
#[derive(Clone, Debug)]
pub(super) struct SurfaceEffect {
    pub(super) operation: SurfaceOperation,
    pub(super) width: Width,
    pub(super) size: usize,
    pub(super) kind: ImageKind,
    pub(super) handle: ValueSlot,
    pub(super) coordinates: Vec<ValueSlot>,
    pub(super) layer: Option<ValueSlot>,
    pub(super) outside: OutOfBounds,
}

/// Operation on one element of a surface.
#[derive(Clone, Debug)]
pub(super) enum SurfaceOperation {
    Load(Vec<Option<u16>>),
    Store(Vec<ValueSlot>),
    Reduce(AtomicOp, AtomicKind, Vec<ValueSlot>),
}

/// Address operand of a memory access: `high` is `None` for 32-bit addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryOperand {
    pub(super) space: MemorySpace,
    pub(super) width: Width,
    pub(super) low: ValueSlot,
    pub(super) high: Option<ValueSlot>,
}

/// A memory access of a wave.
#[derive(Clone, Debug)]
pub(super) struct WaveAccess {
    pub(super) operation: WaveOperation,
    pub(super) operand: MemoryOperand,
    /// Buffer into which the low word of the address is an offset.
    pub(super) buffer: Option<BufferSlots>,
    /// Distance in bytes from the first half of the words to the second; `None` if they are contiguous.
    pub(super) second_half: Option<u32>,
    /// Whether the word M0 limits addresses of shared memory.
    pub(super) is_limited: bool,
}

/// Kind of a memory access of a wave, with its values; destinations of accesses that are executed once are words of the
/// warp.
#[derive(Clone, Debug)]
pub(super) enum WaveOperation {
    Load(Vec<Option<u16>>),
    Store(Vec<ValueSlot>),
    Atomic {
        dests: Vec<Option<u16>>,
        op: AtomicOp,
        kind: AtomicKind,
        operands: Vec<ValueSlot>,
    },
}

/// Values of a buffer operand ([`warpbound_ir::BufferOperand`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferSlots {
    pub(super) descriptor: [ValueSlot; 4],
    pub(super) index: Option<ValueSlot>,
    pub(super) scalar_offset: ValueSlot,
}

/// Control flow of an operation.
#[derive(Clone, Debug)]
pub(super) enum Flow {
    Transfer(ControlTransfer<'static, u32>),
    /// The active mask becomes the mask in two words of the warp.
    SetActive([u8; 2]),
    /// To the code address slot value + anchor.
    Indirect(ValueSlot, i64),
    /// A barrier register goes to a row, if any, and names no barrier any longer.
    SaveBarrier(u8, Option<u16>),
    /// A barrier register receives the barriers of a slot, if any; another one may be cleared.
    WriteBarrier {
        register: u8,
        from: BarrierSource,
        cleared: Option<u8>,
    },
    /// Lanes wait for the lanes of a mask, or for all.
    Meet(Option<ValueSlot>),
    /// All active lanes go to a point if a slot is not 0 in one of them.
    JumpIfAny(ValueSlot, u32),
    /// Lanes wait as for `Meet`, and then execute the code up to a point as one group.
    Gather {
        lanes: Option<ValueSlot>,
        after: u32,
    },
    /// To the named code outside the file.
    External(String),
    Unsupported,
}

/// Where a barrier register takes its barriers from.
#[derive(Clone, Copy, Debug)]
pub(super) enum BarrierSource {
    /// A constant: no barrier.
    Nothing,
    /// A slot with a barrier for each lane.
    Slot(ValueSlot),
    /// Another barrier register.
    Register(u8),
}

/// Lanes for which a branch asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AskedLanes {
    /// The lanes of a mask, whether they have exited or not.
    OfMask,
    /// All lanes that have not exited.
    Live,
}

/// Test of the condition code, of another predicate or of the lanes that execute an operation together.
#[derive(Clone, Debug)]
pub(super) struct CompiledTest {
    /// Steps, each with the scratch slot of its result.
    pub(super) steps: Vec<(u16, Step)>,
    /// Slot of the result; lanes with 0 do not take part.
    pub(super) result: ValueSlot,
    /// Lanes that the test asks for, if the result is a mask of lanes: all lanes take part if one of them is not among them, or
    /// none.
    pub(super) asks: Option<AskedLanes>,
}

/// A compiled operation.
#[derive(Clone, Debug)]
pub(super) struct CompiledOp {
    pub(super) guard: Guard,
    pub(super) extent: Extent,
    /// Test that must hold besides the guard.
    pub(super) further: Option<CompiledTest>,
    /// Steps, each with the scratch slot of its result.
    pub(super) steps: Vec<(u16, Step)>,
    pub(super) effect: Effect,
    pub(super) flow: Flow,
}

/// A kernel compiled for one launch with warps of `W` lanes.
pub(crate) struct Program<'a, const W: usize> {
    pub(super) code: &'a Code,
    pub(super) ops: Vec<CompiledOp>,
    /// Values of [`ValueSlot::Grid`].
    pub(super) grid_values: Vec<LaneValues<W>>,
    /// Number of general registers of a thread.
    pub(super) registers: RegisterRows,
    /// Number of words of the warp: all, or none if no operation names one.
    pub(super) words: usize,
    /// Largest number of scratch slots of an operation.
    pub(super) scratch: usize,
    /// Whether some operation reads a [`ClockRegister`].
    pub(crate) reads_clock: bool,
    /// Order of the sides of a divergent jump.
    pub(super) order: DivergenceOrder,
}

impl<'a, const W: usize> Program<'a, W> {
    /// Compiles a kernel for a simulation without time, where clock registers fault.
    pub(super) fn untimed(code: &'a Code, launch: &Launch) -> Self {
        Self::compile(code, launch, false)
    }

    /// Compiles a kernel for a simulation with time.
    pub(crate) fn timed(code: &'a Code, launch: &Launch) -> Self {
        Self::compile(code, launch, true)
    }

    fn compile(code: &'a Code, launch: &Launch, timed: bool) -> Self {
        // Most programs for NVIDIA's GPUs name no words of the warp, and need no memory for them.
        let names_words = |op: &Op| {
            let cells = op.reads.iter().chain(&op.writes).copied();
            op.scope == OpScope::Warp
                || cells
                    .chain(op.condition.cells())
                    .any(|cell| !cell.is_per_lane())
        };
        let mut compiler = Compiler {
            launch,
            timed,
            has_waves: code.family.has_exec_mask(),
            registers: RegisterRows::of(code),
            grid_values: Vec::new(),
            constant_slots: HashMap::new(),
            scratch: 0,
            reads_clock: false,
        };
        let ops = code.ops.iter().map(|op| compiler.compile_op(op)).collect();
        Program {
            code,
            // Waves begin with values in their words, even in words that no operation names.
            words: match code.family.has_exec_mask() || code.ops.iter().any(names_words) {
                true => usize::from(RegisterKind::Scalar.capacity()),
                false => 0,
            },
            ops,
            scratch: compiler.scratch,
            reads_clock: compiler.reads_clock,
            grid_values: compiler.grid_values,
            registers: compiler.registers,
            order: match launch.order {
                PathOrder::TakenFirst => DivergenceOrder::TakenFirst,
                PathOrder::FallThroughFirst => DivergenceOrder::FallThroughFirst,
            },
        }
    }

    /// Operations that fault when executed, ascending.
    pub(super) fn unsupported_ops(&self) -> Vec<OpIndex> {
        let is_unknown = |op: &CompiledOp| {
            matches!(op.effect, Effect::NeedsTime | Effect::Unsupported)
                || matches!(op.flow, Flow::Unsupported | Flow::External(_))
        };
        (0u32..)
            .zip(&self.ops)
            .filter(|(_, op)| is_unknown(op))
            .map(|(at, _)| OpIndex(at))
            .collect()
    }
}
