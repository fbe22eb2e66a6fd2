//! Reference of the parts of a hybrid bucket and merge sort.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("hybrid_sort", "bucket_count", count),
    ("hybrid_sort", "bucket_split", split),
    ("hybrid_sort", "sort_quads", quads),
    ("hybrid_sort", "merge_runs", merge),
];

const BUCKETS: usize = 16;
const BLOCK: usize = 128;

fn keys(number: u64, rng: &mut fastrand::Rng) -> Vec<f32> {
    let count = match number {
        0 => 256,
        1 => 3,
        2 => 1000,
        _ => rng.usize(1..1500),
    };
    // Few distinct keys in some launches; no negative zero, which equals zero.
    let step = if number.is_multiple_of(2) { 0.25 } else { 1e-4 };
    (0..count)
        .map(|_| ((rng.f32() * 20.0 - 10.0) / step).round() * step + 0.0)
        .collect()
}

fn pivots(rng: &mut fastrand::Rng) -> Vec<f32> {
    let mut pivots: Vec<f32> = (1..BUCKETS).map(|_| rng.f32() * 20.0 - 10.0).collect();
    pivots.sort_by(f32::total_cmp);
    pivots
}

/// Whether a key belongs to a bucket: at least its pivot and below the next one.
fn is_in(bucket: usize, pivots: &[f32], key: f32) -> bool {
    let from = bucket.checked_sub(1).map(|at| pivots[at]);
    let below = pivots.get(bucket);
    from.is_none_or(|from| from <= key) && below.is_none_or(|&below| key < below)
}

fn launch(kernel: &str, threads: usize) -> TestLaunch {
    let blocks = threads.div_ceil(BLOCK) as u32;
    TestLaunch::of(kernel, [blocks, 1, 1], [BLOCK as u32, 1, 1])
}

fn count(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (keys, pivots) = (keys(number, &mut rng), pivots(&mut rng));
    let counts: Vec<u32> = (0..BUCKETS)
        .map(|bucket| {
            keys.iter()
                .filter(|&&key| is_in(bucket, &pivots, key))
                .count() as u32
        })
        .collect();
    launch("bucket_count", keys.len())
        .input("keys", &keys)
        .input("pivots", &pivots)
        .output("counts", &[0; BUCKETS], &counts)
        .value("count", keys.len() as i32)
        .finish()
}

fn split(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (keys, pivots) = (keys(number, &mut rng), pivots(&mut rng));
    let (mut starts, mut end) = (Vec::new(), Vec::new());
    for bucket in 0..BUCKETS {
        for block in keys.chunks(BLOCK) {
            starts.push(end.len() as u32);
            end.extend(
                block
                    .iter()
                    .copied()
                    .filter(|&key| is_in(bucket, &pivots, key)),
            );
        }
    }
    assert_eq!(end.len(), keys.len());
    launch("bucket_split", keys.len())
        .input("keys", &keys)
        .input("pivots", &pivots)
        .input("starts", &starts)
        .output("split", &vec![-99.0; keys.len()], &end)
        .value("count", keys.len() as i32)
        .finish()
}

fn quads(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let mut keys = keys(number, &mut rng);
    keys.resize(keys.len().next_multiple_of(4), 1.5);
    let mut end = keys.clone();
    for quad in end.chunks_mut(4) {
        quad.sort_by(f32::total_cmp);
    }
    launch("sort_quads", keys.len() / 4)
        .output("keys", &keys, &end)
        .value("quads", (keys.len() / 4) as i32)
        .finish()
}

fn merge(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let mut keys = keys(number, &mut rng);
    let run = match number {
        0 => 4,
        1 => 2,
        2 => 128,
        _ => rng.usize(1..200),
    };
    for run in keys.chunks_mut(run) {
        run.sort_by(f32::total_cmp);
    }
    let mut end = keys.clone();
    for pair in end.chunks_mut(2 * run) {
        pair.sort_by(f32::total_cmp);
    }
    launch("merge_runs", keys.len())
        .input("keys", &keys)
        .output("merged", &vec![-99.0; keys.len()], &end)
        .value("run", run as i32)
        .value("count", keys.len() as i32)
        .finish()
}
