//! Reference of searches in a table that ends with a negative entry.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("break_loop", "break_loop", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(1, 32), (3, 37), (1, 1)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..80)));
    let all: usize = blocks * threads;
    // At least as long as the number of threads, so that no two threads write one cell.
    let n = all + rng.usize(0..40);
    let mut table: Vec<i32> = (0..n).map(|_| rng.i32(0..200)).collect();
    // A sentinel in most tables.
    if let Some(entry) = table.get_mut(rng.usize(0..3 * n / 2)) {
        *entry = -1 - rng.i32(0..3);
    }
    let keys: Vec<i32> = (0..all)
        .map(|_| match rng.i32(-3..250) {
            0 => 1,
            key => key,
        })
        .collect();
    let start = vec![-77; n + all];
    let mut out = start.clone();
    for (i, &key) in keys.iter().enumerate() {
        let end = table.iter().position(|&entry| entry == key || entry < 0);
        out[i] = match end {
            Some(at) if table[at] == key => {
                out[i + n] = key;
                at as i32
            }
            Some(at) => -2 - at as i32 / key,
            None => -1,
        };
    }
    TestLaunch::of("break_loop", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("table", &table)
        .input("keys", &keys)
        .output("out", &start, &out)
        .value("n", n as i32)
        .finish()
}
