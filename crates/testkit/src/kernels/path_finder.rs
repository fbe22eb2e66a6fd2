//! Reference of some rows of cheapest paths through a grid: each step goes straight or diagonally down.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("path_finder", "path_finder", rows)];

/// Threads of a block; each row leaves out two more of them.
const BLOCK: usize = 256;

fn rows(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (columns, rows, first) = match number {
        0 => (254, 1, 0),
        1 => (700, 20, 3),
        2 => (3, 5, 0),
        _ => (rng.usize(1..900), rng.usize(1..30), rng.usize(0..4)),
    };
    let wall: Vec<i32> = (0..columns * (first + rows))
        .map(|_| rng.i32(0..100))
        .collect();
    let before: Vec<i32> = (0..columns).map(|_| rng.i32(0..1000)).collect();
    let mut after = before.clone();
    for row in first..first + rows {
        let above = after.clone();
        for (column, cost) in after.iter_mut().enumerate() {
            let low = column.saturating_sub(1);
            let high = (column + 1).min(columns - 1);
            let cheapest = above[low..=high].iter().min().copied().unwrap_or(0);
            *cost = cheapest + wall[columns * row + column];
        }
    }
    let blocks = columns.div_ceil(BLOCK - 2 * rows) as u32;
    TestLaunch::of("path_finder", [blocks, 1, 1], [BLOCK as u32, 1, 1])
        .input("wall", &wall)
        .input("before", &before)
        .output("after", &vec![0; columns], &after)
        .value("rows", rows as i32)
        .value("columns", columns as i32)
        .value("start", first as i32)
        .finish()
}
