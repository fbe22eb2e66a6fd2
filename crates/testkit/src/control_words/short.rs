//! Programs of a few instructions, most of one kind: their blocks end while units, queues and windows are still busy,
//! and before others start in their place.

use fastrand::Rng;

use super::ControlWordProgram;
use super::generate::{BUFFERS, GLOBAL, LANE, SCRATCH, SHARED};
use super::listing::Listing;
use super::slot::Slot;
use super::words::{self, Operand};
use crate::execute::mix;

/// Kind of an instruction, by the unit that executes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Half,
    Float,
    Shift,
    Double,
    Special,
    SharedAtomic,
    SharedLoad,
    Load,
    Store,
    Atomic,
    Reduction,
    WideLoad,
    WideSharedLoad,
    SharedStore,
    LocalLoad,
    LocalStore,
    ConstantOperand,
    ConstantLoad,
    Shuffle,
    Fence,
    /// Fills the rest of a line of code.
    Line,
    Add,
}

/// Kinds of instructions of a program. One kind alone shows what a unit leaves, and others would hide it.
const POOLS: [&[Kind]; 22] = [
    &[Kind::Half],
    &[Kind::Float],
    &[Kind::Shift],
    &[Kind::Double],
    &[Kind::Special],
    &[Kind::SharedAtomic],
    &[Kind::SharedLoad],
    &[Kind::Load],
    &[Kind::Store],
    &[Kind::Load, Kind::Store, Kind::Atomic],
    &[Kind::SharedAtomic, Kind::SharedLoad, Kind::Half],
    &[Kind::Reduction],
    &[Kind::WideLoad, Kind::Store],
    &[Kind::WideSharedLoad, Kind::SharedStore],
    &[Kind::LocalLoad, Kind::LocalStore],
    &[Kind::ConstantOperand],
    &[Kind::ConstantLoad, Kind::ConstantOperand],
    &[Kind::Shuffle, Kind::SharedLoad],
    &[Kind::Line],
    &[Kind::Line, Kind::ConstantOperand, Kind::Load],
    &[Kind::Store, Kind::Load, Kind::Fence],
    &[
        Kind::Half,
        Kind::Float,
        Kind::Double,
        Kind::Special,
        Kind::SharedAtomic,
        Kind::SharedLoad,
        Kind::Load,
        Kind::Store,
        Kind::WideLoad,
        Kind::LocalStore,
        Kind::ConstantLoad,
        Kind::Shuffle,
        Kind::Line,
        Kind::Add,
    ],
];

/// Scoreboard of most results, and of others.
const SCOREBOARDS: [u8; 2] = [5, 4];

/// Frequencies of a program.
struct Style {
    /// Stall of each instruction, in cycles.
    stall: u8,
    /// Percentage of instructions that wait for a scoreboard, and that raise one.
    waits: u8,
    raises: u8,
    /// Distance of accesses to global memory with the same address registers, in bytes.
    stride: u32,
}

/// Generates the program of a seed.
pub fn short_program(seed: u64) -> ControlWordProgram {
    let mut rng = Rng::with_seed(mix(&[0x5407, seed]));
    let pool = POOLS[rng.usize(..POOLS.len())];
    let is_global = |kind: &Kind| {
        matches!(
            kind,
            Kind::Load | Kind::WideLoad | Kind::Store | Kind::Atomic | Kind::Reduction
        )
    };
    let mut l = Listing::default();
    if pool.iter().any(is_global) {
        // Accesses of 128 bits are aligned.
        let least = if pool.contains(&Kind::WideLoad) { 4 } else { 2 };
        address(&mut l, [2, 2, 5, 7][rng.usize(..4)].max(least));
    }
    let style = Style {
        stall: [1, 1, 2, 6][rng.usize(..4)],
        waits: [0, 0, 20, 60][rng.usize(..4)],
        raises: [0, 70, 100][rng.usize(..3)],
        stride: [0, 128, 512, 4096][rng.usize(..4)],
    };
    let barriers = [0, 0, 0, 1, 2, 4][rng.usize(..6)];
    let mut body: Vec<Option<Kind>> = (0..rng.usize(1..15))
        .map(|_| Some(pool[rng.usize(..pool.len())]))
        .collect();
    for _ in 0..barriers {
        body.insert(rng.usize(..=body.len()), None);
    }
    let mut write = |l: &mut Listing| {
        for kind in &body {
            instruction(l, *kind, &style, &mut rng);
        }
    };
    match seed % 7 {
        0 => l.repeat(3, write),
        _ => write(&mut l),
    }
    let end = Slot {
        code: [1, 15][rng.usize(..2)],
        waits: [0, 0, 0b11_0000][rng.usize(..3)],
        ..Slot::PLAIN
    };
    ControlWordProgram {
        seed,
        ..l.finish_with(end)
    }
}

/// Generates a program of segments between barriers. In each segment some warps do more than others, so that the warp
/// that a block waits for is in another sub-partition in each segment. One segment may be long, with delays that let
/// its warps follow the warps of another block from one sub-partition to the next.
pub fn segment_program(seed: u64) -> ControlWordProgram {
    let mut rng = Rng::with_seed(mix(&[0x5e63, seed]));
    let pool = [
        [Kind::Add, Kind::Add],
        [Kind::Half, Kind::Half],
        [Kind::Double, Kind::Add],
        [Kind::Shift, Kind::Float],
        [Kind::SharedLoad, Kind::Add],
    ][rng.usize(..5)];
    let style = Style {
        stall: 1,
        waits: 0,
        raises: [0, 50][rng.usize(..2)],
        stride: 0,
    };
    let mut l = Listing::default();
    l.op(words::special(LANE, words::THREAD_X));
    let segments = rng.u32(2..8);
    let long = rng.u32(..segments + 1);
    for segment in 0..segments {
        let issues = match segment == long {
            true => rng.usize(8..40),
            false => rng.usize(1..4),
        };
        for warp in 0..4 {
            let delay = match (segment == long, warp == segment % 4) {
                // As long as the warps before it issue, at 15 cycles for an instruction.
                (true, _) => warp as usize * (issues + 10) / 15,
                (false, true) => rng.usize(1..8),
                (false, false) => 0,
            };
            if delay > 0 {
                l.unless_warp((words::NOT_EQUAL, warp), |l| l.chain(delay, 15));
            }
        }
        for _ in 0..issues {
            instruction(&mut l, Some(pool[rng.usize(..2)]), &style, &mut rng);
        }
        if segment + 1 < segments || rng.bool() {
            instruction(&mut l, None, &style, &mut rng);
        }
    }
    ControlWordProgram {
        seed,
        ..l.finish_with(Slot::PLAIN)
    }
}

/// Sets the address of accesses to global memory: `1 << shift` bytes from thread to thread of a block.
pub(super) fn address(l: &mut Listing, shift: u32) {
    let [base, _] = BUFFERS;
    l.op(words::special(LANE, words::THREAD_X)).write = Some(0);
    l.op(words::mov(base, Operand::Constant(0, 0x140)));
    l.op(words::mov(base + 1, Operand::Constant(0, 0x144))).code = 6;
    let slot = l.op(words::shift_left(SCRATCH, LANE, shift));
    (slot.code, slot.waits) = (6, 1);
    l.op(words::add_low(GLOBAL, base, SCRATCH)).code = 6;
    l.op(words::add_high(GLOBAL + 1, base + 1, words::RZ)).code = 6;
}

/// Bytes of a line of the second constant cache, and lines of the bank that are read.
const LINE: u32 = 256;
const CONSTANT_LINES: u32 = 18;

/// Draws a constant of the bank of the program.
fn constant(rng: &mut Rng) -> Operand {
    Operand::Constant(words::BANK, LINE * rng.u32(..CONSTANT_LINES))
}

/// Appends an instruction; a barrier without a kind.
fn instruction(l: &mut Listing, kind: Option<Kind>, style: &Style, rng: &mut Rng) {
    let offset = style.stride * rng.u32(..2);
    let word = match kind {
        None => words::BARRIER,
        Some(Kind::Half) => words::half(1, 20, 10, 11, 12),
        Some(Kind::Float) => words::plain3(0, 20, 21, Operand::Register(22), 23),
        Some(Kind::Shift) => words::shift_left(24, 25, 1),
        Some(Kind::Double) => words::double(0, 26, 28, 30, 32),
        Some(Kind::Special) => words::special_function(0, 34, 35),
        Some(Kind::SharedAtomic) => words::shared_atomic(0, 20, words::RZ, 4 * rng.u32(..2), 40),
        Some(Kind::SharedLoad) => words::load_shared(21, words::RZ, 64 * rng.u32(..2), 4),
        Some(Kind::Load) => words::load_global(36, GLOBAL, offset, 4, 0),
        Some(Kind::Store) => words::store_global(40, GLOBAL, offset, 4),
        Some(Kind::Atomic) => words::atomic(0, 37, GLOBAL, offset, 40),
        Some(Kind::Reduction) => words::reduction(0, GLOBAL, offset, 40),
        Some(Kind::WideLoad) => words::load_global(36, GLOBAL, offset, 16, 0),
        Some(Kind::WideSharedLoad) => words::load_shared(20, words::RZ, 64 * rng.u32(..2), 16),
        Some(Kind::SharedStore) => words::store_shared(20, words::RZ, 64 * rng.u32(..2), 4),
        Some(Kind::LocalLoad) => words::load_local(20, words::RZ, 4 * rng.u32(..2), 4),
        Some(Kind::LocalStore) => words::store_local(20, words::RZ, 16 * rng.u32(..2), 16),
        Some(Kind::ConstantOperand) => words::mov(41, constant(rng)),
        Some(Kind::ConstantLoad) => {
            words::load_constant(20, words::RZ, LINE * rng.u32(..CONSTANT_LINES), 4)
        }
        Some(Kind::Shuffle) => words::shuffle(0, 22, 20, 3),
        Some(Kind::Fence) => words::memory_barrier(rng.u64(..2)),
        Some(Kind::Line) => {
            (0..rng.usize(1..25)).for_each(|_| {
                l.op(words::NOP);
            });
            words::NOP
        }
        Some(Kind::Add) => words::add_number(SHARED, SHARED, 1),
    };
    let mut percent = |percent: u8| rng.u8(..100) < percent;
    let (waits, raises) = (percent(style.waits), percent(style.raises));
    let number = SCOREBOARDS[usize::from(percent(30))];
    let slot = l.op(word);
    slot.code = style.stall;
    if waits {
        slot.waits = 1 << number;
    }
    match kind {
        // Of fixed latency.
        None
        | Some(
            Kind::Float
            | Kind::Shift
            | Kind::Add
            | Kind::ConstantOperand
            | Kind::Fence
            | Kind::Line,
        ) => {}
        // Without a result.
        Some(Kind::Store | Kind::SharedStore | Kind::LocalStore | Kind::Reduction) => {
            if raises {
                slot.read = Some(4);
            }
        }
        Some(_) if raises => slot.write = Some(number),
        Some(_) => {}
    }
}
