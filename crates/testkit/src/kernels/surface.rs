//! Reference of images read and written as surfaces.

use fastrand::Rng;
use warpbound_launch::{LaunchFile, TexelLayout};

use super::{LaunchNumber, Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("surface", "surface_copy", surface_copy),
    ("surface", "load_widths", load_widths),
];

fn surface_copy(number: u64) -> LaunchFile {
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
    // The target is wider than the copy; the rest of each row is unchanged.
    let wide = width as usize + 2;
    let before: Vec<i32> = (0..wide * height as usize).map(|_| rng.i32(..)).collect();
    let mut after = before.clone();
    for (row, numbers) in after.chunks_mut(wide).zip(from.chunks(width as usize)) {
        for (to, number) in row.iter_mut().zip(numbers) {
            *to = number.wrapping_mul(2);
        }
    }
    TestLaunch::of(
        "surface_copy",
        [grid[0], grid[1], 1],
        [block[0], block[1], 1],
    )
    .surface("from", TexelLayout::D2, &[width, height], 1, &from, &from)
    .surface(
        "to",
        TexelLayout::D2,
        &[wide as u32, height],
        1,
        &before,
        &after,
    )
    .value("width", width as i32)
    .finish()
}

/// Threads write bytes that other threads of the warp read with an earlier instruction; so there is a single warp,
/// whose lanes execute each instruction together.
fn load_widths(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let threads = match number {
        0 => 32,
        1 => 19,
        2 => 1,
        _ => rng.usize(1..33),
    };
    let wide: Vec<u32> = (0..4 * threads).map(|_| rng.u32(..)).collect();
    let narrow: Vec<i16> = (0..threads).map(|_| rng.i16(..)).collect();
    let bytes: Vec<u8> = (0..threads).map(|_| rng.u8(..)).collect();
    let flags: Vec<i32> = (0..threads).map(|_| rng.i32(..)).collect();
    let sums: Vec<i32> = (0..threads)
        .map(|i| flags[i].wrapping_add(i32::from(narrow[i]) + i32::from(bytes[i])))
        .collect();
    // Four words of the thread's own, and words 2 (i + 1) and 2 (i + 1) + 1.
    let out: Vec<i32> = (0..threads)
        .flat_map(|i| {
            let own = &wide[4 * i..];
            let sum = sums[i] as u32;
            [
                own[0].wrapping_add(sum),
                own[1].wrapping_add(wide[2 * i + 2]),
                own[2].wrapping_add(wide[2 * i + 3]),
                own[3],
            ]
        })
        .map(|word| word as i32)
        .collect();
    // The low halves of the sums, then the low bytes.
    let mut after: Vec<u8> = flags.iter().flat_map(|flag| flag.to_le_bytes()).collect();
    for (to, sum) in after.chunks_mut(2).zip(&sums) {
        to.copy_from_slice(&sum.to_le_bytes()[..2]);
    }
    for (to, sum) in after.iter_mut().zip(&sums) {
        *to = *sum as u8;
    }
    let after: Vec<i32> = after.chunks(4).map(i32::from_bytes).collect();
    TestLaunch::of("load_widths", [1; 3], [threads as u32, 1, 1])
        .input("wide", &wide)
        .input("narrow", &narrow)
        .input("bytes", &bytes)
        .output("out", &vec![0; 4 * threads], &out)
        .output("flag", &flags, &after)
        .finish()
}
