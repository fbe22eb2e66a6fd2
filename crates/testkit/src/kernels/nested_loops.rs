//! Reference of sums in nested loops.

use warpbound_launch::LaunchFile;

use super::writes::{UnorderedWrites, uncontested};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("nested_loops", "nested_fixed", fixed),
    ("nested_loops", "nested_triangular", triangular),
    ("nested_loops", "nested_divergent", divergent),
];

fn shape(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    let shape = [(1, 32), (3, 37), (1, 1)].get(number as usize).copied();
    shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..80)))
}

fn fixed(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads) = shape(number, &mut rng);
    let all: usize = blocks * threads;
    let values: Vec<i32> = (0..all + 6 * 4).map(|_| rng.i32(..)).collect();
    let offsets: Vec<usize> = (0..7).flat_map(|a| (0..5).map(move |b| a * b)).collect();
    let results: Vec<i32> = (0..all)
        .map(|i| {
            offsets.iter().fold(0i32, |sum, offset| {
                sum.wrapping_add(values[i + offset] ^ sum)
            })
        })
        .collect();
    TestLaunch::of(
        "nested_fixed",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &values)
    .output("out", &vec![0; all], &results)
    .finish()
}

fn triangular(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (mut blocks, mut threads) = shape(number, &mut rng);
    // The threads of a warp run the loops in lockstep, since no branch diverges. Warps are unordered, so with several
    // warps each thread writes one cell only (n = 1).
    let n = match number {
        0 => 6,
        1 => 1,
        _ => match rng.bool() {
            true => 1,
            false => {
                (blocks, threads) = (1, threads.min(32));
                rng.usize(0..12)
            }
        },
    };
    let all: usize = blocks * threads;
    let values: Vec<i32> = (0..n * n + 1).map(|_| rng.i32(..)).collect();
    let start = vec![-77; all + n];
    let mut out = start.clone();
    let mut sum = 0i32;
    for a in 0..n {
        let column = (a..n).map(|b| values[b * n + a]);
        sum = column.fold(sum, |sum, value| sum.wrapping_add(value));
        for i in 0..all {
            out[i + a] = sum.wrapping_mul(i as i32);
        }
    }
    TestLaunch::of(
        "nested_triangular",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &values)
    .output("out", &start, &out)
    .value("n", n as i32)
    .finish()
}

fn divergent(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let most = [2, 14, 45].get(number as usize).copied();
    let most: usize = most.unwrap_or_else(|| rng.usize(1..50));
    let (threads, (values, n), writes) = uncontested(most, |threads| {
        let n = rng.usize(1..9);
        let mut values: Vec<i32> = (0..n.max(8) + 1).map(|_| rng.i32(-2..4)).collect();
        values[0] = rng.i32(1..7);
        let writes = divergent_writes(&values, threads, n);
        ((values, n), writes)
    });
    let start = vec![-77; threads + 7];
    TestLaunch::of("nested_divergent", [1; 3], [threads as u32, 1, 1])
        .input("in", &values)
        .output("out", &start, &writes.final_contents(&start))
        .value("n", n as i32)
        .finish()
}

fn divergent_writes(values: &[i32], threads: usize, n: usize) -> UnorderedWrites {
    let mut writes = UnorderedWrites::default();
    for i in 0..threads {
        let mut sum = 0;
        for a in 0..=i % 8 {
            for b in 0..values[a] {
                let mut c = n as i32;
                while c > b {
                    sum += values[c as usize] - b;
                    c -= 1 + sum.rem_euclid(4);
                }
            }
            writes.write(i, i + a, sum);
        }
    }
    writes
}
