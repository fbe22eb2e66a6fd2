//! Reference of arithmetic on parts of words, and of many predicates at once.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("rare_instructions", "rare_video", video),
    ("rare_instructions", "many_predicates", predicates),
];

/// Numbers of blocks and of threads of a block.
fn sizes(number: u64, rng: &mut Rng) -> (usize, usize) {
    match number {
        0 => (1, 32),
        1 => (3, 77),
        2 => (1, 1),
        _ => (rng.usize(1..4), rng.usize(1..100)),
    }
}

fn byte(word: i32, number: usize) -> u8 {
    word.to_le_bytes()[number]
}

fn half(word: i32, number: usize) -> u16 {
    (word as u32 >> (16 * number)) as u16
}

fn video(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, threads) = sizes(number, &mut rng);
    let count = blocks * threads;
    let numbers: Vec<i32> = (0..3 * count).map(|_| rng.i32(..)).collect();
    let ends: Vec<i32> = (0..count)
        .map(|i| video_of(numbers[i], numbers[i + count], numbers[i + 2 * count]))
        .collect();
    TestLaunch::of("rare_video", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", &numbers)
        .output("out", &vec![0; count], &ends)
        .value("n", count as i32)
        .finish()
}

/// Result of the kernel's video instructions for one thread.
///
/// Source: PTX ISA, "Scalar Video Instructions": parts are extended by their type, and saturation precedes the second
/// operation.
fn video_of(a: i32, b: i32, c: i32) -> i32 {
    let signed_byte = |word, number| i32::from(byte(word, number) as i8);
    let signed_half = |word, number| i32::from(half(word, number) as i16);
    let add = signed_byte(a, 1).saturating_add(signed_half(b, 1));
    let subtract = i32::from(half(a, 0)).saturating_sub(signed_byte(b, 3));
    let subtract = subtract.wrapping_add(c);
    let multiply = signed_half(a, 0)
        .wrapping_mul(signed_half(b, 1))
        .wrapping_add(c);
    let larger = i32::from(byte(b, 0).max(byte(c, 2)));
    let is_less = i32::from(signed_byte(a, 1) < i32::from(byte(c, 1)));
    let left = (a as u32).checked_shl(byte(b, 0).into()).unwrap_or(0) as i32;
    let right = b >> (byte(c, 1) % 32);
    let sum = (add ^ subtract).wrapping_add(multiply) ^ larger;
    (sum.wrapping_add(is_less) ^ left).wrapping_add(right)
}

/// The function `scramble` of the source.
fn scramble(x: i32, y: i32) -> i32 {
    (x / (y + 1)) ^ y
}

/// Values that a thread writes to its own cell and the next three; `None` where it writes nothing.
fn writes(a: i32, b: i32, n: i32, numbers: &[i32]) -> [Option<i32>; 4] {
    let r = scramble(a, b);
    let own = [
        if a > b { r } else { a },
        match a % 2 {
            0 => 3,
            _ => numbers[r.rem_euclid(64) as usize],
        },
        if b & 2 != 0 { r.wrapping_mul(r) } else { b },
        if a < n { 5 } else { r },
        if b == n { a } else { 7 },
        if a ^ b > 9 { b } else { r },
    ];
    let own = own.into_iter().fold(0i32, i32::wrapping_add);
    let r = scramble(r, n);
    let fourth = || {
        let odd = if a % 2 == 0 { 2 } else { 1 };
        scramble(r, b)
            .wrapping_add(odd)
            .wrapping_add(if a ^ b > 9 { r } else { b })
    };
    [
        Some(own),
        (a + b < 0).then_some(r),
        (a * b > n).then(|| scramble(r, a)),
        (a - b > 3 * n && a > b).then(fourth),
    ]
}

fn predicates(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, threads) = match number {
        // A single thread may write the following cells without conflict.
        _ if number > 2 && number.is_multiple_of(2) => (1, 1),
        _ => sizes(number, &mut rng),
    };
    let count = blocks * threads;
    // The second numbers follow the first ones.
    let n = (count + rng.usize(0..50)) as i32;
    let mut numbers: Vec<i32> = (0..64.max(count + n as usize))
        .map(|_| rng.i32(-9..100))
        .collect();
    for i in 0..count {
        // Only the last thread writes cells after its own, so that the order of threads does not matter. No divisor is
        // zero.
        let (a, b) = loop {
            let (a, b) = (rng.i32(-4 * n..4 * n), rng.i32(-4 * n..4 * n));
            let is_last = i + 1 == count;
            if a != -1 && b != -1 && (is_last || a + b >= 0 && a * b <= n && a - b <= 3 * n) {
                break (a, b);
            }
        };
        numbers[i] = a;
        numbers[i + n as usize] = b;
    }
    let start: Vec<i32> = (0..count + 3).map(|_| rng.i32(..)).collect();
    let mut end = start.clone();
    for i in 0..count {
        let written = writes(numbers[i], numbers[i + n as usize], n, &numbers);
        for (to, written) in end[i..].iter_mut().zip(written) {
            *to = written.unwrap_or(*to);
        }
    }
    TestLaunch::of(
        "many_predicates",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &numbers)
    .output("out", &start, &end)
    .value("n", n)
    .finish()
}
