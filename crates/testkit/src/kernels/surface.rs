//! Images through the surface path.

use fastrand::Rng;
use warpbound_load::{GridFile, GridKind};

use super::{Launch, Row};

pub(super) const KERNELS: &[Row] = &[("surface", "surface_copy", surface_copy)];

fn surface_copy(number: u64) -> GridFile {
    let mut rng = Rng::with_seed(number);
    let (block, grid, width) = match number {
        0 => ([8, 4], [2, 2], 16),
        1 => ([11, 11], [2, 1], 13),
        2 => ([32, 1], [1, 1], 1),
        _ => {
            let (block, blocks) = (rng.u32(1..33), rng.u32(1..4));
            let width = rng.u32(1..=block * blocks);
            ([block, rng.u32(1..9)], [blocks, rng.u32(1..3)], width)
        }
    };
    let height = block[1] * grid[1];
    let from: Vec<i32> = (0..width * height).map(|_| rng.i32(..)).collect();
    // The target is wider: what is behind the copy stays.
    let wide = width as usize + 2;
    let before: Vec<i32> = (0..wide * height as usize).map(|_| rng.i32(..)).collect();
    let mut after = before.clone();
    for (row, numbers) in after.chunks_mut(wide).zip(from.chunks(width as usize)) {
        for (to, number) in row.iter_mut().zip(numbers) {
            *to = number.wrapping_mul(2);
        }
    }
    Launch::of(
        "surface_copy",
        [grid[0], grid[1], 1],
        [block[0], block[1], 1],
    )
    .surface("from", GridKind::D2, &[width, height], 1, &from, &from)
    .surface(
        "to",
        GridKind::D2,
        &[wide as u32, height],
        1,
        &before,
        &after,
    )
    .value("width", width as i32)
    .done()
}
