//! Programs whose warps access the same lines of global memory again and again: they wait for DRAM only where a line,
//! or a sector of it, is new, and for what other warps have requested.

use fastrand::Rng;

use super::ControlWordProgram;
use super::generate::{GLOBAL, LANE};
use super::listing::Listing;
use super::words;
use crate::execute::mix;

/// Distances of the addresses of two lanes, as powers of two: all have one, a row of words, a sector for each.
const SHIFTS: [u32; 4] = [UNIFORM, 2, 2, 5];

/// Stands for the address of the first lane in all of them.
const UNIFORM: u32 = 31;

/// Generates the program of a seed: parts that some or all warps execute, mostly with barriers between them.
pub fn row_program(seed: u64) -> ControlWordProgram {
    let mut rng = Rng::with_seed(mix(&[0x505, seed]));
    let mut l = Listing::new();
    l.op(words::special(LANE, words::THREAD_X)).write = Some(0);
    l.wait(1);
    let accesses = [
        RowAccesses::Any,
        RowAccesses::Kept,
        RowAccesses::KeptAndAtomic,
    ][rng.usize(..3)];
    for part in 0..rng.u32(1..6) {
        match rng.u32(..3) {
            0 => part_of_loads(&mut l, &mut rng, accesses),
            _ => l.unless_warp((words::NOT_EQUAL, part % 4), |l| {
                part_of_loads(l, &mut rng, accesses);
            }),
        }
        if rng.u32(..4) > 0 {
            l.op(words::BARRIER);
        }
    }
    ControlWordProgram { seed, ..l.finish() }
}

/// Kinds of accesses of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowAccesses {
    /// Loads of any policy, and stores.
    Any,
    /// Loads whose lines the L1 cache may keep, and stores.
    Kept,
    /// These, and atomic operations, which make lines of the L1 cache stale.
    KeptAndAtomic,
}

/// Appends a loop over a few accesses.
fn part_of_loads(l: &mut Listing, rng: &mut Rng, kinds: RowAccesses) {
    let shift = SHIFTS[rng.usize(..SHIFTS.len())];
    match shift {
        // The addresses of a line begin with its own: the words of a row are less than it.
        UNIFORM => {
            l.global_of_lane(0, 2);
            l.op(words::and(GLOBAL, GLOBAL, !0x7f));
        }
        _ => l.global_of_lane(0, shift),
    }
    let accesses: Vec<(u32, u64, u32)> = (0..rng.usize(1..5))
        .map(|_| {
            let sector = if rng.bool() { 32 * rng.u32(..4) } else { 0 };
            let offset = 128 * rng.u32(..24) + sector;
            // Loads that look up the first cache, and others. An even policy lets the cache keep the line.
            let policy = match kinds {
                RowAccesses::Any => rng.u64(..4),
                RowAccesses::Kept | RowAccesses::KeptAndAtomic => 2 * rng.u64(..2),
            };
            (offset, policy, rng.u32(..8))
        })
        .collect();
    let waits = rng.u32(..3) > 0;
    l.repeat(rng.u32(2..7), |l| {
        for &(offset, policy, kind) in &accesses {
            match kind {
                0 => {
                    l.op(words::store_global(40, GLOBAL, offset, 4));
                }
                1 if kinds == RowAccesses::KeptAndAtomic => {
                    l.op(words::reduction(0, GLOBAL, offset, 40));
                }
                _ => {
                    let load = words::load_global(20, GLOBAL, offset, 4, policy);
                    l.op(load).write = Some(0);
                }
            }
            if waits {
                l.wait(1);
            }
        }
    });
    l.wait(1);
}
