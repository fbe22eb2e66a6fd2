//! Reference of a histogram of bytes.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("histogram", "histogram", histogram)];

fn histogram(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, block, count) = match number {
        0 => (1, 256, 256),
        1 => (3, 96, 1001),
        2 => (2, 300, 3),
        _ => (rng.u32(1..5), rng.u32(1..400), rng.usize(1..3000)),
    };
    // Odd launches have few distinct bytes, so that many lanes add to one counter.
    let mask = match number % 2 {
        0 => u32::MAX,
        _ => 0x0303_0303,
    };
    let words: Vec<u32> = (0..count).map(|_| rng.u32(..) & mask).collect();
    let before: Vec<u32> = (0..256).map(|_| rng.u32(..)).collect();
    let mut after = before.clone();
    for byte in words.iter().flat_map(|word| word.to_be_bytes()) {
        let bin = &mut after[usize::from(byte)];
        *bin = bin.wrapping_add(1);
    }
    TestLaunch::of("histogram", [blocks, 1, 1], [block, 1, 1])
        .input("words", &words)
        .output("bins", &before, &after)
        .value("word_count", count as i32)
        .finish()
}
