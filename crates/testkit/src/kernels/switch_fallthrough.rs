//! Reference of a switch with fall-through: a thread executes the last steps of a sequence.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("switch_fallthrough", "switch_fallthrough", launch)];

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
    let mut numbers: Vec<i32> = (0..64.max(n + count)).map(|_| rng.i32(-500..500)).collect();
    // A thread with steps writes its own cell and the next one, a thread without steps (0) only the next one, any other
    // nothing. Each cell is written by one thread, so that the order of threads does not matter.
    let mut is_taken = false;
    for choice in &mut numbers[n..n + count] {
        let choices: &[i32] = match is_taken {
            true => &[0, -1, 7],
            false => &[0, 1, 2, 3, 4, 5, 6, 6, i32::MIN],
        };
        *choice = choices[rng.usize(..choices.len())];
        is_taken = (0..=6).contains(choice);
    }
    let start: Vec<i32> = (0..=count).map(|_| rng.i32(..)).collect();
    let mut end = start.clone();
    for i in 0..count {
        let steps = numbers[i + n];
        if !(0..=6).contains(&steps) {
            continue;
        }
        let value = (1..=steps).rev().fold(numbers[i], |value, step| {
            let masked = |mask: i32| numbers[(value & mask) as usize];
            match step {
                6 => value.wrapping_add(masked(63)),
                5 => value.wrapping_mul(n as i32 + 5),
                4 => value ^ masked(31),
                3 => value / n as i32,
                2 => value.wrapping_add(value.wrapping_mul(n as i32)),
                _ => value.wrapping_sub(masked(15)),
            }
        });
        if steps > 0 {
            end[i] = value;
        }
        end[i + 1] = value;
    }
    TestLaunch::of(
        "switch_fallthrough",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &numbers)
    .output("out", &start, &end)
    .value("n", n as i32)
    .finish()
}
