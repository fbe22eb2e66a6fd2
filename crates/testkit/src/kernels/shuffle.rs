//! Reference of values exchanged between the lanes of a warp.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("shuffle", "shuffle", shuffle)];

fn shuffle(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, warps) = match number {
        0 => (1, 1),
        1 => (3, 3),
        2 => (2, 1),
        _ => (rng.usize(1..4), rng.usize(1..4)),
    };
    let factor = rng.i32(..);
    let numbers: Vec<i32> = (0..blocks * warps * 32).map(|_| rng.i32(..)).collect();
    let ends: Vec<i32> = numbers
        .chunks(32)
        .flat_map(|warp| {
            let prefix: Vec<i32> = warp
                .iter()
                .scan(0i32, |sum, &value| {
                    *sum = sum.wrapping_add(value);
                    Some(*sum)
                })
                .collect();
            let lanes = warp.iter().enumerate().map(|(lane, &value)| {
                // The last lane of each half has no successor and receives its own value.
                let next = if lane % 16 == 15 {
                    value
                } else {
                    warp[lane + 1]
                };
                let picked = prefix[value.rem_euclid(32) as usize];
                prefix[31]
                    .wrapping_add(prefix[lane].wrapping_mul(factor))
                    .wrapping_add(next ^ picked)
            });
            lanes.collect::<Vec<i32>>()
        })
        .collect();
    TestLaunch::of("shuffle", [blocks as u32, 1, 1], [warps as u32 * 32, 1, 1])
        .input("in", &numbers)
        .output("out", &vec![0; ends.len()], &ends)
        .value("n", factor)
        .finish()
}
