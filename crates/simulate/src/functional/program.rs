//! Operations in the form in which a warp executes them.

use std::collections::HashMap;

use warpbound_ir::float::FloatOp;
use warpbound_ir::{
    AtomicKind, AtomicOp, BinaryOp, Code, ImageKind, OpIndex, Outside, Question, ShuffleMode,
    TernaryOp, TextureWhat, UnaryOp, VoteMode, Width,
};
use warpbound_isa::instr::Space;
use warpbound_simt::Tag;

use super::Launch;
use super::compile::Compiler;
use super::lanes::Row;

/// Where a row is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum At {
    /// A row of the warp: general registers, then those of [`Own`].
    Own(u16),
    /// The same in all warps of the grid.
    Shared(u16),
    /// The same in all warps of a block: its place in the grid along an axis, then what it is [`Told`].
    Block(u8),
    /// What a step before in the same operation made.
    Scratch(u16),
}

/// The rows of a warp behind its general registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Own {
    /// The condition code.
    Cc,
    /// The thread's place in its block along an axis.
    Thread(u8),
}

impl Own {
    pub(super) const COUNT: usize = 4;

    pub(super) fn index(self) -> usize {
        match self {
            Own::Cc => 0,
            Own::Thread(axis) => 1 + usize::from(axis),
        }
    }
}

/// What only a run with time can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// The low word of the clock.
    ClockLow,
    /// The high word.
    ClockHigh,
    /// The SM of the block.
    Sm,
    /// The warp's slot on its SM.
    Slot,
}

impl Told {
    pub(super) const COUNT: usize = 4;

    /// The special register that tells it (numbers: fact table of S2R).
    pub(super) fn of(register: u8) -> Option<Told> {
        Some(match register {
            80 => Told::ClockLow,
            81 => Told::ClockHigh,
            _ => return None,
        })
    }
}

/// One step on rows, and the scratch row that gets what it makes.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A row as it is.
    Copy(At),
    /// 1 where a predicate holds, else 0.
    Predicate(u8),
    Unary(UnaryOp, At),
    Binary(BinaryOp, At, At),
    Ternary(TernaryOp, At, At, At),
    /// The low words; and the high ones into the next row.
    Float {
        op: FloatOp,
        words: [At; FloatOp::MOST_WORDS],
        wide: bool,
    },
    /// Words of a constant bank, by its place among those of the launch, at addresses that lanes compute.
    Constant(u16, At),
}

/// What gets a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dest {
    /// A row of the warp.
    Own(u16),
    /// A predicate: it holds where the row is not 0.
    Predicate(u8),
}

/// What is done with the rows once all steps are.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// Rows are written one after the other.
    Write(Vec<(Dest, At)>),
    Load {
        dests: Vec<Option<u16>>,
        access: Access,
    },
    Store {
        values: Vec<At>,
        access: Access,
    },
    Atomic {
        dests: Vec<Option<u16>>,
        op: AtomicOp,
        kind: AtomicKind,
        operands: Vec<At>,
        access: Access,
    },
    Shuffle {
        dest: Option<Dest>,
        in_range: Option<Dest>,
        mode: ShuffleMode,
        value: At,
        lane: At,
        limit: At,
    },
    Vote {
        ballot: Option<Dest>,
        result: Option<Dest>,
        mode: VoteMode,
        predicate: At,
    },
    Texture(Box<TextureEffect>),
    /// The object, and which components of the size go where.
    TextureSize(At, Vec<(u8, u16)>),
    Surface(Box<SurfaceEffect>),
    /// Barrier number, threads (`None`: all of the block), whether the warp waits, what is asked of which predicate.
    Barrier {
        number: At,
        threads: Option<At>,
        waits: bool,
        question: Option<(Question, At)>,
    },
    /// What the last question at a barrier was answered with: as a number, and whether it is not 0.
    BarrierResult(Option<Dest>, Option<Dest>),
    Trap,
    /// It reads what a run without time cannot know.
    NeedsTime,
    /// What it means is not known.
    Unknown,
}

/// A read of a texture.
#[derive(Clone, Debug)]
pub(super) struct TextureEffect {
    pub(super) what: TextureWhat,
    pub(super) kind: ImageKind,
    pub(super) handle: At,
    pub(super) coordinates: Vec<At>,
    pub(super) layer: Option<At>,
    pub(super) offsets: Vec<At>,
    /// Components and rows.
    pub(super) dests: Vec<(u8, u16)>,
}

/// An access to a surface.
#[derive(Clone, Debug)]
pub(super) struct SurfaceEffect {
    pub(super) what: SurfaceStep,
    pub(super) width: Width,
    pub(super) size: usize,
    pub(super) kind: ImageKind,
    pub(super) handle: At,
    pub(super) coordinates: Vec<At>,
    pub(super) layer: Option<At>,
    pub(super) outside: Outside,
}

/// What is done with a place of a surface.
#[derive(Clone, Debug)]
pub(super) enum SurfaceStep {
    Load(Vec<Option<u16>>),
    Store(Vec<At>),
    Reduce(AtomicOp, AtomicKind, Vec<At>),
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) space: Space,
    pub(super) width: Width,
    pub(super) low: At,
    pub(super) high: Option<At>,
}

#[derive(Clone, Debug)]
pub(super) enum Flow {
    Next,
    Jump(u32),
    /// To the row's value and the anchor: an address of the code.
    Indirect(At, i64),
    Push(Tag, u32),
    Call(u32),
    Unwind(Tag),
    Exit,
    /// Leaves the file.
    Outside(String),
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct Compiled {
    /// `None`: always. Else the predicate and whether it must not hold.
    pub(super) guard: Option<(u8, bool)>,
    /// The guard is `!PT`.
    pub(super) never: bool,
    /// The steps that make a row from the condition code, and the row: lanes with 0 do not take part.
    pub(super) test: Option<(Vec<(u16, Step)>, At)>,
    /// Each with the scratch row that gets what it makes.
    pub(super) steps: Vec<(u16, Step)>,
    pub(super) effect: Effect,
    pub(super) flow: Flow,
}

/// A kernel, ready to be launched.
pub(crate) struct Program<'a> {
    pub(super) code: &'a Code,
    pub(super) ops: Vec<Compiled>,
    /// Rows that all warps share.
    pub(super) shared: Vec<Row>,
    /// General registers of a thread.
    pub(super) registers: usize,
    /// The most scratch rows of an operation.
    pub(super) scratch: usize,
    /// Some operation reads what a block is [`Told`].
    pub(crate) is_told: bool,
}

impl<'a> Program<'a> {
    pub(super) fn of(code: &'a Code, launch: &Launch) -> Program<'a> {
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
            registers: Compiler::registers_of(code),
            shared: Vec::new(),
            known: HashMap::new(),
            scratch: 0,
            is_told: false,
        };
        let ops = code.ops.iter().map(|op| compiler.op(op)).collect();
        Program {
            code,
            ops,
            scratch: compiler.scratch,
            is_told: compiler.is_told,
            shared: compiler.shared,
            registers: compiler.registers,
        }
    }

    pub(super) fn unknown(&self) -> Vec<OpIndex> {
        let is_unknown = |op: &Compiled| {
            matches!(op.effect, Effect::NeedsTime | Effect::Unknown)
                || matches!(op.flow, Flow::Unknown | Flow::Outside(_))
        };
        (0u32..)
            .zip(&self.ops)
            .filter(|(_, op)| is_unknown(op))
            .map(|(at, _)| OpIndex(at))
            .collect()
    }
}
