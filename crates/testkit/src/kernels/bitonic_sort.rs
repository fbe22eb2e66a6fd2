//! Reference of sorted blocks, and of one step of a bitonic sort.

use warpbound_launch::LaunchFile;

use super::{LaunchNumber, Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("bitonic_sort", "void bitonic::block<int>(int*)", |number| {
        block_int("void bitonic::block<int>(int*)", number)
    }),
    (
        "bitonic_sort",
        "void bitonic::block<double>(double*)",
        |number| {
            block(
                number,
                "void bitonic::block<double>(double*)",
                // No NaN, and zeros of one sign: the order is total.
                |rng, few| match few {
                    true => rng.i32(1..5).into(),
                    false => (rng.f64() - 0.5) * f64::powi(2.0, rng.i32(-1040..1000)) + 0.0,
                },
                f64::total_cmp,
            )
        },
    ),
    (
        "bitonic_sort",
        "bitonic::step(float*, int, int)",
        |number| step("bitonic::step(float*, int, int)", number),
    ),
];

/// Returns a launch of a kernel that sorts the integers of each block.
pub(super) fn block_int(kernel: &str, number: u64) -> LaunchFile {
    // Some launches have few distinct keys.
    let key = |rng: &mut fastrand::Rng, few| if few { rng.i32(-3..3) } else { rng.i32(..) };
    block(number, kernel, key, i32::cmp)
}

fn block<N: LaunchNumber>(
    number: u64,
    kernel: &str,
    key: fn(&mut fastrand::Rng, bool) -> N,
    order: fn(&N, &N) -> std::cmp::Ordering,
) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(2, 64), (1, 1), (1, 512)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..4), 1 << rng.usize(0..8)));
    let few = number.is_multiple_of(3);
    let keys: Vec<N> = (0..blocks * threads).map(|_| key(&mut rng, few)).collect();
    let mut sorted = keys.clone();
    for block in sorted.chunks_mut(threads) {
        block.sort_by(order);
    }
    TestLaunch::of(kernel, [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .output("data", &keys, &sorted)
        .finish()
}

/// Keys with special comparisons: zeros, infinities, NaN, a subnormal number.
const SPECIAL: [f32; 6] = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40];

/// Returns a launch of a kernel that compares and exchanges each key with its partner.
pub(super) fn step(kernel: &str, number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(2, 32, 3), (1, 1, 0), (3, 45, 7)].get(number as usize);
    let (blocks, threads, size_bit) =
        (shape.copied()).unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..100), rng.usize(1..9)));
    let (size, stride) = (1 << size_bit, 1 << rng.usize(0..size_bit.max(1)));
    let all: usize = blocks * threads;
    // The last threads have partners beyond the number of threads.
    let mut keys: Vec<f32> = (0..all.next_multiple_of(2 * stride))
        .map(|_| match rng.usize(0..8) {
            0 => SPECIAL[rng.usize(0..SPECIAL.len())],
            1 => rng.i32(-2..3) as f32,
            _ => f32::from_bits(rng.u32(..)),
        })
        .collect();
    let start = keys.clone();
    for t in (0..all).filter(|t| t & stride == 0) {
        // Equal keys and NaNs are not greater, so descending pairs swap them.
        let greater = keys[t] > keys[t + stride];
        if greater == (t & size == 0) {
            keys.swap(t, t + stride);
        }
    }
    TestLaunch::of(kernel, [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .output("data", &start, &keys)
        .value("size", size as i32)
        .value("stride", stride as i32)
        .finish()
}
