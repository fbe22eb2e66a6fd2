//! Operations in the form in which a warp executes them.

use std::collections::HashMap;

use warpbound_ir::float::FloatOp;
use warpbound_ir::{
    AtomicKind, AtomicOp, BinaryOp, Code, ImageKind, OpIndex, Outside, Question, ShuffleMode,
    TernaryOp, TextureWhat, UnaryOp, VoteMode, Width,
};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::Tag;

use super::Launch;
use super::compile::Compiler;
use super::lanes::LaneValues;

/// Where a row is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ValueSlot {
    /// A row of the warp: general registers, then those of [`Own`].
    Warp(u16),
    /// The same in all warps of the grid.
    Grid(u16),
    /// The same in all warps of a block: its place in the grid along an axis, then what it is [`Told`].
    Block(u8),
    /// What a step before in the same operation made.
    Scratch(u16),
}

/// The rows of a warp behind its general registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExtraRegister {
    /// The condition code.
    Cc,
    /// The thread's place in its block along an axis.
    ThreadIndex(u8),
}

impl ExtraRegister {
    pub(super) const COUNT: usize = 4;

    pub(super) fn index(self) -> usize {
        match self {
            ExtraRegister::Cc => 0,
            ExtraRegister::ThreadIndex(axis) => 1 + usize::from(axis),
        }
    }
}

/// What only a run with time can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClockRegister {
    /// SR_VIRTCFG: how many SMs there are, in bits 28:20.
    VirtCfg,
    /// SR_VIRTID: the SM in bits 28:20, the warp's slot there in bits 14:8.
    VirtId,
    /// The low word of the clock.
    ClockLow,
    /// Its high word.
    ClockHigh,
    /// The low word of the time in nanoseconds.
    TimeLow,
    /// Its high word.
    TimeHigh,
}

impl ClockRegister {
    pub(super) const COUNT: usize = 6;

    /// The special register that tells it (numbers: fact table of S2R; fields: what compilers make of `%smid`, `%nsmid` and
    /// `%warpid`).
    pub(super) fn from_number(register: u8) -> Option<ClockRegister> {
        Some(match register {
            2 => ClockRegister::VirtCfg,
            3 => ClockRegister::VirtId,
            80 => ClockRegister::ClockLow,
            81 => ClockRegister::ClockHigh,
            82 => ClockRegister::TimeLow,
            83 => ClockRegister::TimeHigh,
            _ => return None,
        })
    }
}

/// One step on rows, and the scratch row that gets what it makes.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A row as it is.
    Copy(ValueSlot),
    /// 1 where a predicate holds, else 0.
    Predicate(u8),
    Unary(UnaryOp, ValueSlot),
    Binary(BinaryOp, ValueSlot, ValueSlot),
    Ternary(TernaryOp, ValueSlot, ValueSlot, ValueSlot),
    /// The low words; and the high ones into the next row.
    Float {
        op: FloatOp,
        words: [ValueSlot; FloatOp::MOST_WORDS],
        wide: bool,
    },
    /// Words of a constant bank, by its place among those of the launch, at addresses that lanes compute.
    Constant(u16, ValueSlot),
}

/// What gets a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dest {
    /// A row of the warp.
    Register(u16),
    /// A predicate: it holds where the row is not 0.
    Predicate(u8),
}

/// What is done with the rows once all steps are.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// Rows are written one after the other.
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
        dests: Vec<Option<u16>>,
        op: AtomicOp,
        kind: AtomicKind,
        operands: Vec<ValueSlot>,
        access: MemoryOperand,
    },
    Shuffle {
        dest: Option<Dest>,
        in_range: Option<Dest>,
        mode: ShuffleMode,
        value: ValueSlot,
        lane: ValueSlot,
        limit: ValueSlot,
    },
    Vote {
        ballot: Option<Dest>,
        result: Option<Dest>,
        mode: VoteMode,
        predicate: ValueSlot,
    },
    Texture(Box<TextureEffect>),
    /// The object, and which components of the size go where.
    TextureSize(ValueSlot, Vec<(u8, u16)>),
    Surface(Box<SurfaceEffect>),
    /// Barrier number, threads (`None`: all of the block), whether the warp waits, what is asked of which predicate.
    Barrier {
        number: ValueSlot,
        threads: Option<ValueSlot>,
        waits: bool,
        question: Option<(Question, ValueSlot)>,
    },
    /// What the last question at a barrier was answered with: as a number, and whether it is not 0.
    BarrierResult(Option<Dest>, Option<Dest>),
    Trap,
    /// It reads what a run without time cannot know.
    NeedsTime,
    /// What it means is not known.
    Unsupported,
}

/// A read of a texture.
#[derive(Clone, Debug)]
pub(super) struct TextureEffect {
    pub(super) operation: TextureWhat,
    pub(super) kind: ImageKind,
    pub(super) handle: ValueSlot,
    pub(super) coordinates: Vec<ValueSlot>,
    pub(super) layer: Option<ValueSlot>,
    pub(super) offsets: Vec<ValueSlot>,
    /// Components and rows.
    pub(super) dests: Vec<(u8, u16)>,
}

/// An access to a surface.
#[derive(Clone, Debug)]
pub(super) struct SurfaceEffect {
    pub(super) operation: SurfaceOperation,
    pub(super) width: Width,
    pub(super) size: usize,
    pub(super) kind: ImageKind,
    pub(super) handle: ValueSlot,
    pub(super) coordinates: Vec<ValueSlot>,
    pub(super) layer: Option<ValueSlot>,
    pub(super) outside: Outside,
}

/// What is done with a place of a surface.
#[derive(Clone, Debug)]
pub(super) enum SurfaceOperation {
    Load(Vec<Option<u16>>),
    Store(Vec<ValueSlot>),
    Reduce(AtomicOp, AtomicKind, Vec<ValueSlot>),
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryOperand {
    pub(super) space: MemorySpace,
    pub(super) width: Width,
    pub(super) low: ValueSlot,
    pub(super) high: Option<ValueSlot>,
}

#[derive(Clone, Debug)]
pub(super) enum Flow {
    Next,
    Jump(u32),
    /// To the row's value and the anchor: an address of the code.
    Indirect(ValueSlot, i64),
    Push(Tag, u32),
    Call(u32),
    Unwind(Tag),
    Exit,
    /// Leaves the file.
    External(String),
    Unsupported,
}

#[derive(Clone, Debug)]
pub(super) struct CompiledOp {
    /// `None`: always. Else the predicate and whether it must not hold.
    pub(super) guard: Option<(u8, bool)>,
    /// The guard is `!PT`.
    pub(super) never: bool,
    /// The steps that make a row from the condition code, and the row: lanes with 0 do not take part.
    pub(super) cc_test: Option<(Vec<(u16, Step)>, ValueSlot)>,
    /// Each with the scratch row that gets what it makes.
    pub(super) steps: Vec<(u16, Step)>,
    pub(super) effect: Effect,
    pub(super) flow: Flow,
}

/// A kernel, ready to be launched.
pub(crate) struct Program<'a> {
    pub(super) code: &'a Code,
    pub(super) ops: Vec<CompiledOp>,
    /// Rows that all warps share.
    pub(super) grid_values: Vec<LaneValues>,
    /// General registers of a thread.
    pub(super) registers: usize,
    /// The most scratch rows of an operation.
    pub(super) scratch: usize,
    /// Some operation reads what a block is [`Told`].
    pub(crate) reads_clock: bool,
}

impl<'a> Program<'a> {
    pub(super) fn untimed(code: &'a Code, launch: &Launch) -> Program<'a> {
        Program::compile(code, launch, false)
    }

    /// For a run with time.
    pub(crate) fn timed(code: &'a Code, launch: &Launch) -> Program<'a> {
        Program::compile(code, launch, true)
    }

    fn compile(code: &'a Code, launch: &Launch, timed: bool) -> Program<'a> {
        let mut compiler = Compiler {
            launch,
            timed,
            registers: Compiler::register_count(code),
            grid_values: Vec::new(),
            constant_slots: HashMap::new(),
            scratch: 0,
            reads_clock: false,
        };
        let ops = code.ops.iter().map(|op| compiler.compile_op(op)).collect();
        Program {
            code,
            ops,
            scratch: compiler.scratch,
            reads_clock: compiler.reads_clock,
            grid_values: compiler.grid_values,
            registers: compiler.registers,
        }
    }

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
