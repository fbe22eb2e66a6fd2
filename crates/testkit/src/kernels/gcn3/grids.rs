//! References of kernels with grids and groups of three dimensions.

use warpbound_launch::LaunchFile;

use super::super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("grid_3d", "grid_3d", grid_3d),
    ("grid_3d", "grid_sizes", grid_sizes),
];

/// Draws a grid in groups and a group.
fn shape(number: u64, rng: &mut fastrand::Rng) -> ([u32; 3], [u32; 3]) {
    let mut draw = |most: u32| [0; 3].map(|_| rng.u32(1..most));
    match number {
        0 => ([1, 1, 1], [4, 4, 4]),
        1 => ([2, 3, 2], [5, 3, 2]),
        2 => ([3, 1, 4], [7, 9, 2]),
        _ => (draw(4), draw(7)),
    }
}

fn grid_3d(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (grid, group) = shape(number, &mut rng);
    let field = [0, 1, 2].map(|axis| {
        let items = grid[axis] * group[axis];
        rng.u32(1..=items + 2) as usize
    });
    let [width, height, depth] = field;
    let start = vec![-1i32; width * height * depth];
    let end: Vec<i32> = (0..start.len())
        .map(|i| {
            let at = [i % width, i / width % height, i / width / height];
            let is_inside = (0..3).all(|axis| (at[axis] as u32) < grid[axis] * group[axis]);
            if !is_inside {
                return -1;
            }
            let split = [0, 1, 2].map(|axis| {
                let at = at[axis] as u32;
                (at / group[axis], at % group[axis])
            });
            let [(gx, x), (gy, y), (gz, z)] = split;
            let item = (z * group[1] + y) * group[0] + x;
            let number = gx + 16 * gy + 256 * gz;
            (item + 1024 * number).wrapping_add(grid[0] << 24) as i32
        })
        .collect();
    TestLaunch::of("grid_3d", grid, group)
        .output("out", &start, &end)
        .value("width", width as i32)
        .value("height", height as i32)
        .value("depth", depth as i32)
        .finish()
}

fn grid_sizes(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (grid, group) = shape(number, &mut rng);
    let items = (0..3).map(|axis| grid[axis] * group[axis]).product::<u32>() as usize;
    let size = (grid[0] * group[0] + 1000 * group[2] + 100_000 * grid[1]) as i32;
    TestLaunch::of("grid_sizes", grid, group)
        .output("out", &vec![-1; items], &vec![size; items])
        .finish()
}
