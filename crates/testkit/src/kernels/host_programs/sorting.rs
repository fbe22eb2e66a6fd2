//! A sort that first splits keys into buckets and then merges runs.

use warpbound_base::Diagnostic;

use super::super::TestLaunch;
use super::{HostDevice, HostProgram, check_equal, groups, input};

pub(super) const HYBRIDSORT: HostProgram = HostProgram {
    name: "hybridsort",
    source: "hybrid_sort_program",
    inputs: [
        input("16 elements", 16),
        input("128 elements", 128),
        input("1024 elements", 1024),
    ],
    choices: "16 buckets by quantiles of a sample; groups of 128",
    run: sort,
};

const BUCKETS: usize = 16;
const GROUP: usize = 128;

fn sort(count: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    let mut rng = fastrand::Rng::with_seed(6);
    let keys: Vec<f32> = (0..count).map(|_| rng.f32() * 20.0 - 10.0).collect();
    let mut sorted = keys.clone();
    sorted.sort_by(f32::total_cmp);
    // Quantiles of every second key: buckets of about equal size, not exactly.
    let mut sample: Vec<f32> = keys.iter().copied().step_by(2).collect();
    sample.sort_by(f32::total_cmp);
    let pivots: Vec<f32> = (1..BUCKETS)
        .map(|bucket| sample[bucket * sample.len() / BUCKETS])
        .collect();
    let blocks = count.div_ceil(GROUP);
    let mut counts = vec![0u32; blocks * BUCKETS];
    // The kernel adds to the counts of all groups, so one launch for each group gives the counts of the group.
    for (block, keys) in keys.chunks(GROUP).enumerate() {
        let end = device.launch(
            TestLaunch::of("bucket_count", [1; 3], [GROUP as u32, 1, 1])
                .input("keys", keys)
                .input("pivots", &pivots)
                .scratch("counts", &[0u32; BUCKETS])
                .value("count", keys.len() as i32),
        )?;
        counts[block * BUCKETS..][..BUCKETS].copy_from_slice(&end.read::<u32>("counts")?);
    }
    let end = device.launch(
        TestLaunch::of("bucket_starts", [1; 3], [BUCKETS as u32, 1, 1])
            .input("counts", &counts)
            .scratch("starts", &vec![0u32; blocks * BUCKETS])
            .value("groups", blocks as i32),
    )?;
    let starts: Vec<u32> = end.read("starts")?;
    let end = device.launch(
        TestLaunch::of("bucket_split", groups(count, GROUP), [GROUP as u32, 1, 1])
            .input("keys", &keys)
            .input("pivots", &pivots)
            .input("starts", &starts)
            .scratch("split", &vec![0f32; count])
            .value("count", count as i32),
    )?;
    let split: Vec<f32> = end.read("split")?;
    let end = device.launch(
        TestLaunch::of("sort_quads", groups(count / 4, GROUP), [GROUP as u32, 1, 1])
            .scratch("keys", &split)
            .value("quads", (count / 4) as i32),
    )?;
    let mut keys: Vec<f32> = end.read("keys")?;
    let mut run = 4;
    while run < count {
        let end = device.launch(
            TestLaunch::of("merge_runs", groups(count, GROUP), [GROUP as u32, 1, 1])
                .input("keys", &keys)
                .scratch("merged", &vec![0f32; count])
                .value("run", run as i32)
                .value("count", count as i32),
        )?;
        keys = end.read("merged")?;
        run *= 2;
    }
    check_equal("keys", &keys, &sorted)
}
