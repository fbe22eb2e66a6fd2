//! Reference of a switch with eight cases.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("switch_table", "switch_table", launch)];

/// Number of cells that threads add to atomically. They follow the cells of the threads.
const SUMS: usize = 5;

fn launch(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, threads) = match number {
        0 => (1, 32),
        1 => (3, 77),
        2 => (1, 1),
        _ => (rng.usize(1..4), rng.usize(1..100)),
    };
    let count = blocks * threads;
    let n = count + rng.usize(0..20);
    let mut numbers: Vec<i32> = vec![0; n + count];
    let mut was_pair = false;
    for i in 0..count {
        // A thread that writes two cells is followed by one that does not write its own: only the sums are written by
        // several threads, and they do not depend on the order.
        let choice = match was_pair {
            true => 5,
            false => rng.i32(-2..12),
        };
        was_pair = choice == 4;
        numbers[i + n] = choice;
        numbers[i] = match choice {
            2 => rng.usize(0..n + count - 1) as i32,
            5 => (count + 1 + rng.usize(0..SUMS)) as i32,
            _ => rng.i32(..) >> rng.u32(0..31),
        };
    }
    let start: Vec<i32> = (0..count + 1 + SUMS).map(|_| rng.i32(..)).collect();
    let mut end = start.clone();
    let factor = n as i32;
    for i in 0..count {
        let value = numbers[i];
        end[i] = match numbers[i + n] {
            0 => value.wrapping_mul(factor).wrapping_add(3),
            1 => value / factor,
            2 => numbers[value as usize].wrapping_add(numbers[value as usize + 1]),
            3 => value % (factor + 1),
            4 => {
                end[i + 1] = value ^ 7;
                factor
            }
            5 => {
                end[value as usize] = end[value as usize].wrapping_add(factor);
                continue;
            }
            6 => (value.count_ones() << 3) as i32,
            // The root of a negative number is NaN, which converts to 0.
            7 => (value as f32).sqrt() as i32,
            _ => -1,
        };
    }
    TestLaunch::of(
        "switch_table",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &numbers)
    .output("out", &start, &end)
    .value("n", factor)
    .finish()
}
