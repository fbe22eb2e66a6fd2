//! Reference of nested branches on bits.

use warpbound_launch::LaunchFile;

use super::writes::UnorderedWrites;
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("if_else_nested", "if_else_nested", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(1, 32), (3, 15), (1, 1)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..40)));
    let all: usize = blocks * threads;
    let divisor = rng.i32(10..40);
    // Small quotients and summands, so that threads which write one cell often write the same.
    let mut values: Vec<i32> = (0..all.max(64)).map(|_| rng.i32(0..80)).collect();
    let mut writes = all_writes(&values, all, divisor);
    while let Some(threads) = writes.contesting_threads() {
        // The first of them writes outside its own cell; with another number it may not, or may write the same.
        values[threads[0]] = rng.i32(-80..80);
        writes = all_writes(&values, all, divisor);
    }
    let start = vec![-77; all + 2];
    TestLaunch::of(
        "if_else_nested",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &values)
    .output("out", &start, &writes.final_contents(&start))
    .value("divisor", divisor)
    .finish()
}

fn all_writes(values: &[i32], all: usize, divisor: i32) -> UnorderedWrites {
    let mut writes = UnorderedWrites::default();
    let low = |number: i32, bits: u32| values[(number & ((1 << bits) - 1)) as usize];
    for (i, &value) in values.iter().enumerate().take(all) {
        let result = match value & 0b1111 {
            bits if bits & 0b11 == 0b01 => {
                let rest = value % (divisor + 2);
                rest + low(rest, 5)
            }
            bits if bits & 1 == 1 => {
                let quotient = match bits & 0b100 {
                    0 => low(value, 6) / (divisor + 1),
                    _ => value / divisor,
                };
                writes.write(i, i + 1, quotient);
                quotient + low(quotient, 5)
            }
            bits => {
                let result = match bits & 0b1000 {
                    0 => 7 + value / (divisor + 4),
                    _ => low(value, 4) % (divisor + 3),
                };
                writes.write(i, i + 2, result);
                result
            }
        };
        writes.write(i, i, result);
    }
    writes
}
