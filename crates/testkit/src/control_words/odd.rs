//! Programs for machines with odd numbers: lines of constants and of code that conflict in one cache and fit in
//! another, warps that request lines which are on their way for others, and blocks that leave work unfinished when
//! they end.

use fastrand::Rng;

use super::ControlWordProgram;
use super::generate::{GLOBAL, LANE, SCRATCH};
use super::listing::Listing;
use super::short::address;
use super::slot::Slot;
use super::words::{self, Operand};
use crate::execute::mix;

/// Registers of results.
const RESULTS: std::ops::Range<u8> = 20..36;

/// Bytes between the lines of constants that a program reads: parts of a line of the second cache, lines of one set.
const STRIDES: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// Generates the program of a seed.
pub fn odd_program(seed: u64) -> ControlWordProgram {
    let mut rng = Rng::with_seed(mix(&[0x0dd, seed]));
    let mut l = Listing::default();
    l.op(words::special(LANE, words::THREAD_X)).write = Some(0);
    l.wait(1);
    match rng.u32(..10) {
        0..=2 => constants(&mut l, &mut rng),
        3 => meetings(&mut l, &mut rng),
        4..=5 => code(&mut l, &mut rng),
        6..=7 => unfinished(&mut l, &mut rng),
        _ => {
            constants(&mut l, &mut rng);
            code(&mut l, &mut rng);
            unfinished(&mut l, &mut rng);
        }
    }
    let end = Slot {
        waits: [0, 0, 0b11_1111][rng.usize(..3)],
        ..Slot::PLAIN
    };
    ControlWordProgram {
        seed,
        ..l.finish_with(end)
    }
}

/// Instructions in a line of code of 128 bytes: four groups of a control word and three instructions.
const OF_LINE: usize = 12;

/// Generates straight code of some lines, and then a loop of others.
pub fn lines_before_a_loop(before: usize, in_loop: usize) -> ControlWordProgram {
    let mut l = Listing::default();
    let fill = |l: &mut Listing, lines: usize| {
        (0..OF_LINE * lines).for_each(|_| {
            l.op(words::NOP);
        });
    };
    fill(&mut l, before);
    l.repeat(50, |l| fill(l, in_loop));
    l.finish()
}

/// Generates a loop of a number of barriers, each in a line of its own and far from the others, so that lines that are
/// prefetched are not needed.
pub fn barriers_in_lines(count: usize) -> ControlWordProgram {
    let mut l = Listing::default();
    l.repeat(20, |l| {
        for _ in 0..count {
            let next = l.place();
            l.op(words::BARRIER);
            l.op_to(words::BRANCH, next);
            (2..5 * OF_LINE).for_each(|_| {
                l.op(words::NOP);
            });
            l.bind(next);
        }
    });
    l.finish()
}

/// Appends a loop, if it has more than one iteration.
fn repeat(l: &mut Listing, count: u32, body: impl FnOnce(&mut Listing)) {
    match count {
        1 => body(l),
        _ => l.repeat(count, body),
    }
}

/// Reads lines of constants again and again, by operands and by loads.
fn constants(l: &mut Listing, rng: &mut Rng) {
    let count = [1, 3, 20, 40][rng.usize(..4)];
    let stride = STRIDES[rng.usize(..STRIDES.len())];
    let lines = words::CONSTANT_BYTES / stride;
    let first = rng.u32(..lines) * stride;
    let known = 1 + rng.u32(..4);
    let reads = rng.usize(1..6);
    let delays = rng.bool();
    // An address of each thread, or the same of all: the load may then be of any line of the bank.
    let computed = rng.u32(..4);
    if computed == 0 {
        l.op(words::shift_left(SCRATCH, LANE, rng.u32(2..9))).code = 6;
        l.op(words::and(SCRATCH, SCRATCH, words::CONSTANT_BYTES / 2 - 4))
            .code = 6;
    }
    repeat(l, count, |l| {
        if delays {
            let warp = rng.u32(..4);
            l.unless_warp((words::NOT_EQUAL, warp), |l| l.chain(rng.usize(1..4), 15));
        }
        for number in 0..reads {
            let offset = (first + rng.u32(..known) * stride) % words::CONSTANT_BYTES / 4 * 4;
            let scoreboard = number as u8 % 6;
            match rng.u32(..5) {
                0 | 1 => {
                    l.op(words::mov(41, Operand::Constant(words::BANK, offset)));
                }
                2 if computed == 0 => {
                    l.op(words::load_constant(20, SCRATCH, offset / 2 / 4 * 4, 4))
                        .write = Some(scoreboard);
                }
                _ => {
                    let bytes = [4, 8][rng.usize(..2)];
                    let load = words::load_constant(20, words::RZ, offset / bytes * bytes, bytes);
                    l.op(load).write = Some(scoreboard);
                }
            }
            if rng.bool() {
                l.wait(1 << scoreboard);
            }
        }
        if rng.u32(..3) == 0 {
            l.op(words::BARRIER);
        }
    });
}

/// Lets all warps of a block request the same line at the same time, again and again: of constants or of code.
fn meetings(l: &mut Listing, rng: &mut Rng) {
    let count = [10, 40][rng.usize(..2)];
    let stride = STRIDES[rng.usize(..STRIDES.len())];
    let lines = rng.u32(1..8);
    let of_code = rng.bool();
    l.repeat(count, |l| {
        for number in 0..lines {
            l.op(words::BARRIER);
            match of_code {
                true => {
                    let next = l.place();
                    l.op_to(words::BRANCH, next);
                    (2..OF_LINE * rng.usize(1..6)).for_each(|_| {
                        l.op(words::NOP);
                    });
                    l.bind(next);
                }
                false => {
                    let offset = number * stride % words::CONSTANT_BYTES;
                    match rng.bool() {
                        true => l.op(words::mov(41, Operand::Constant(words::BANK, offset))),
                        false => l.op(words::load_constant(20, words::RZ, offset, 4)),
                    }
                    .write = Some(0);
                    l.wait(1);
                }
            }
        }
    });
}

/// Executes code of many lines, in a loop or once; some warps skip a part of it.
fn code(l: &mut Listing, rng: &mut Rng) {
    let count = [1, 2, 5, 12][rng.usize(..4)];
    let parts = rng.usize(1..4);
    repeat(l, count, |l| {
        for _ in 0..parts {
            let fill = rng.usize(1..60);
            let body = |l: &mut Listing| {
                (0..fill).for_each(|_| {
                    l.op(words::NOP);
                });
            };
            match rng.bool() {
                true => body(l),
                false => l.unless_warp((words::EQUAL, rng.u32(..4)), body),
            }
        }
        if rng.u32(..4) == 0 {
            l.op(words::BARRIER);
        }
    });
}

/// Keeps the first blocks busy, while others leave instructions without a wait for them, and end.
fn unfinished(l: &mut Listing, rng: &mut Rng) {
    let busy = [1, 2, 3, 7][rng.usize(..4)];
    let rounds = [3, 30, 100][rng.usize(..3)];
    let kind = rng.u32(..10);
    let waits = rng.u32(..4) == 0;
    let code = [1, 1, 0][rng.usize(..3)];
    if kind > 6 {
        address(l, [2, 5, 7][rng.usize(..3)]);
    }
    beside_busy_blocks(l, (busy, rounds), |l| {
        for number in 0..rng.usize(1..30) {
            let to = RESULTS.start + number as u8 % 16;
            let word = match kind {
                0 | 1 => words::shuffle(0, to, 20, 3),
                2 => words::ARRIVAL,
                // No lane takes part.
                3 => words::guarded(words::BARRIER, 2, false),
                4 => words::shared_atomic(0, to, words::RZ, 4 * rng.u32(..2), 40),
                5 => words::load_shared(to, words::RZ, 64 * rng.u32(..2), 4),
                6 => words::half(1, to, 10, 11, 12),
                7 => words::store_global(40, GLOBAL, 0, 4),
                8 => words::reduction(0, GLOBAL, 0, 40),
                _ => words::load_global(to, GLOBAL, 0, 4, 0),
            };
            let raises = !matches!(kind, 2 | 3 | 7 | 8) && rng.bool();
            let slot = l.op(word);
            slot.code = code;
            if raises {
                slot.write = Some(5);
            }
            if waits && rng.bool() {
                l.wait(1 << 5);
            }
        }
    });
}

/// Keeps the first blocks busy in a loop of some rounds; the others execute something else.
fn beside_busy_blocks(
    l: &mut Listing,
    (busy, rounds): (i32, u32),
    others: impl FnOnce(&mut Listing),
) {
    let (few, end) = (l.place(), l.place());
    l.op(words::special(SCRATCH, words::BLOCK_X)).write = Some(0);
    l.wait(1);
    l.op(words::compare(words::LESS, 2, SCRATCH, busy)).code = 13;
    l.op_to(words::guarded(words::BRANCH, 2, true), few);
    l.repeat(rounds, |l| l.chain(2, 15));
    l.op_to(words::BRANCH, end);
    l.bind(few);
    others(l);
    l.bind(end);
}

/// Generates a program whose first 99 blocks are busy, while each other one shuffles without a scoreboard and ends.
/// Each shuffle drains, or the next instruction follows it at once.
pub fn shuffles_without_scoreboards(drain: bool) -> ControlWordProgram {
    let mut l = Listing::default();
    beside_busy_blocks(&mut l, (99, 600), |l| {
        for number in 0..24 {
            l.op(words::shuffle(0, RESULTS.start + number % 16, 20, 3))
                .code = if drain { 0 } else { 1 };
        }
    });
    l.finish()
}

/// Generates a program whose first 99 blocks are busy, while each other one stores to 32 lines and ends.
pub fn stores_of_ended_blocks() -> ControlWordProgram {
    let mut l = Listing::default();
    address(&mut l, 7);
    beside_busy_blocks(&mut l, (99, 600), |l| {
        l.op(words::store_global(40, GLOBAL, 0, 4));
    });
    l.finish()
}

/// Generates a program that reads the parts, of 32 bytes each, of two lines of constants of a kilobyte in turn.
pub fn parts_of_constant_lines() -> ControlWordProgram {
    let mut l = Listing::default();
    for part in 0..32 {
        for line in 1..3 {
            let at = 1024 * line + 32 * part;
            l.op(words::mov(41, Operand::Constant(words::BANK, at)));
        }
    }
    l.finish()
}
