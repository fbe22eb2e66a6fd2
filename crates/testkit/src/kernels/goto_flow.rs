//! Reference of jumps into loops and of crossing jumps.

use warpbound_launch::LaunchFile;

use super::writes::{UnorderedWrites, uncontested};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("goto_flow", "goto_irreducible", irreducible),
    ("goto_flow", "goto_cross", cross),
];

/// Maximum number of steps of a thread.
const MAX_STEPS: usize = 200;

fn irreducible(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(1, 1), (1, 32), (3, 37)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..60)));
    let all: usize = blocks * threads;
    let n = rng.i32(3..200);
    loop {
        let mut values: Vec<i32> = (0..all.max(64)).map(|_| rng.i32(-9..300)).collect();
        let start: Vec<i32> = (0..=all).map(|_| rng.i32(-100..100)).collect();
        // A thread on the right side writes what the next thread reads, so only the last thread may take it: the others
        // have even numbers that exceed the limit after one step.
        let index = 2 * rng.i32(0..32);
        values[index as usize] = 64 * rng.i32(5..9) + index;
        for (i, value) in values.iter_mut().enumerate().take(all - 1) {
            if i != index as usize {
                *value = 64 * rng.i32(-2..3) + index;
            }
        }
        let mut out = start.clone();
        let ends = (0..all).map(|i| run_thread(&values, &mut out, i, n));
        let sides: Option<Vec<bool>> = ends.collect();
        if sides.is_some_and(|sides| !sides[..all - 1].contains(&true)) {
            return TestLaunch::of(
                "goto_irreducible",
                [blocks as u32, 1, 1],
                [threads as u32, 1, 1],
            )
            .input("in", &values)
            .output("out", &start, &out)
            .value("n", n)
            .finish();
        }
    }
}

/// Runs a thread; returns whether it took the right side, or `None` if it does not end within [`STEPS`].
fn run_thread(values: &[i32], out: &mut [i32], i: usize, n: i32) -> Option<bool> {
    let mut value = values[i];
    let mut is_right = value % 2 != 0;
    let mut was_right = is_right;
    for _ in 0..MAX_STEPS {
        let is_done;
        if is_right {
            value = value.checked_mul(3)?.checked_add(out[i + 1])?;
            out[i + 1] = value % n;
            is_done = value >= 5 * n;
        } else {
            value = values[(value & 63) as usize] + out[i];
            out[i] = value / n;
            is_done = value > n;
        }
        if is_done {
            out[i] = value;
            return Some(was_right);
        }
        is_right = !is_right;
        was_right |= is_right;
    }
    None
}

fn cross(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let most = [1, 2, 40].get(number as usize).copied();
    let most: usize = most.unwrap_or_else(|| rng.usize(1..70));
    // Each thread writes cells of following threads; few distinct numbers make equal writes likely.
    let (threads, (values, n), writes) = uncontested(most, |threads| {
        let n = rng.i32(2..9);
        let few: Vec<i32> = (0..rng.usize(2..4)).map(|_| rng.i32(-9..30)).collect();
        let values: Vec<i32> = (0..threads.max(64))
            .map(|_| match threads {
                1 => rng.i32(-300..300),
                _ => few[rng.usize(0..few.len())],
            })
            .collect();
        let writes = cross_writes(&values, threads, n);
        ((values, n), writes)
    });
    let start = vec![-77; threads + 2];
    TestLaunch::of("goto_cross", [1; 3], [threads as u32, 1, 1])
        .input("in", &values)
        .output("out", &start, &writes.final_contents(&start))
        .value("n", n)
        .finish()
}

fn cross_writes(values: &[i32], threads: usize, n: i32) -> UnorderedWrites {
    let mut writes = UnorderedWrites::default();
    let low = |number: i32, bits: u32| values[(number & ((1 << bits) - 1)) as usize];
    for (i, &first) in values.iter().enumerate().take(threads) {
        let mut value = first;
        if first % 2 == 0 {
            value = low(first, 6) / n;
        }
        let is_middle = first % 2 != 0 || value & 2 == 0;
        if is_middle {
            value += low(value, 5) % n;
            writes.write(i, i + 1, value);
        }
        if !is_middle || value & 4 == 0 {
            value -= low(value, 4) / (n + 1);
            writes.write(i, i + 2, value);
        }
        writes.write(i, i, value);
    }
    writes
}
