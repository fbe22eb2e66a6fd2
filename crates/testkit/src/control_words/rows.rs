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
    for part in 0..rng.u32(1..6) {
        match rng.u32(..3) {
            0 => part_of_loads(&mut l, &mut rng),
            _ => l.unless_warp((words::NOT_EQUAL, part % 4), |l| {
                part_of_loads(l, &mut rng);
            }),
        }
        if rng.u32(..4) > 0 {
            l.op(words::BARRIER);
        }
    }
    ControlWordProgram { seed, ..l.finish() }
}

/// Appends a loop over a few accesses.
fn part_of_loads(l: &mut Listing, rng: &mut Rng) {
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
            // Loads that look up the first cache, and others.
            (offset, rng.u64(..4), rng.u32(..8))
        })
        .collect();
    let waits = rng.u32(..3) > 0;
    l.repeat(rng.u32(2..7), |l| {
        for &(offset, policy, kind) in &accesses {
            match kind {
                0 => {
                    l.op(words::store_global(40, GLOBAL, offset, 4));
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
