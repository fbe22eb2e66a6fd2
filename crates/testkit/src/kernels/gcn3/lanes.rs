//! References of kernels whose lanes exchange values.

use warpbound_launch::LaunchFile;

use super::super::{Row, TestLaunch};
use super::LANES;

pub(super) const KERNELS: &[Row] = &[
    ("aggregated_atomics", "aggregated_atomics", aggregated),
    ("bpermute_scan", "bpermute_scan", bpermute_scan),
    ("dpp_reduction", "dpp_reduction", dpp_reduction),
    ("dpp_reduction", "dpp_row_maximum", dpp_row_maximum),
    ("dpp_reduction", "dpp_wave_shifts", dpp_wave_shifts),
    ("lane_exchange", "lane_exchange", lane_exchange),
    ("partial_waves", "partial_waves", partial_waves),
    ("swizzle_reduction", "swizzle_reduction", swizzle_reduction),
];

/// Draws numbers of groups and of full waves of a group.
fn full_waves(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (1, 1),
        1 => (2, 3),
        2 => (3, 4),
        _ => (rng.usize(1..4), rng.usize(1..5)),
    }
}

/// Draws numbers for full waves, 0 from the returned count on, which the kernel takes as given.
fn numbers(groups: usize, waves: usize, rng: &mut fastrand::Rng) -> (Vec<i32>, usize) {
    let all = groups * waves * LANES;
    let count = rng.usize(1..=all);
    let mut numbers: Vec<i32> = (0..all).map(|_| rng.i32(..)).collect();
    numbers[count..].fill(0);
    (numbers, count)
}

fn launch(kernel: &str, groups: usize, waves: usize) -> TestLaunch {
    TestLaunch::of(
        kernel,
        [groups as u32, 1, 1],
        [(waves * LANES) as u32, 1, 1],
    )
}

fn running_sums(wave: &[i32]) -> Vec<i32> {
    let mut sum = 0i32;
    wave.iter()
        .map(|&x| {
            sum = sum.wrapping_add(x);
            sum
        })
        .collect()
}

fn dpp_reduction(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, waves) = full_waves(number, &mut rng);
    let (numbers, count) = numbers(groups, waves, &mut rng);
    let running: Vec<i32> = numbers.chunks(LANES).flat_map(running_sums).collect();
    let totals: Vec<i32> = running.chunks(LANES).map(|wave| wave[LANES - 1]).collect();
    launch("dpp_reduction", groups, waves)
        .input("in", &numbers)
        .output("running", &vec![-1; running.len()], &running)
        .output("totals", &vec![-1; totals.len()], &totals)
        .value("count", count as i32)
        .finish()
}

fn dpp_row_maximum(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, waves) = full_waves(number, &mut rng);
    let (numbers, count) = numbers(groups, waves, &mut rng);
    let end: Vec<i32> = numbers
        .chunks(16)
        .flat_map(|row| vec![row.iter().copied().max().unwrap_or(0); 16])
        .collect();
    launch("dpp_row_maximum", groups, waves)
        .input("in", &numbers)
        .output("out", &vec![-1; end.len()], &end)
        .value("count", count as i32)
        .finish()
}

fn dpp_wave_shifts(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, waves) = full_waves(number, &mut rng);
    let (numbers, _) = numbers(groups, waves, &mut rng);
    let of_lane = |wave: &[i32], lane: usize| {
        let (row, place) = (lane / 16, lane % 16);
        let from = |lane: Option<usize>, old: i32| {
            let found = lane.and_then(|lane| wave.get(lane));
            found.copied().unwrap_or(old)
        };
        // A row shift leaves its row at the end, and only rows 0 and 2 are written.
        let shifted = (row % 2 == 0 && place + 2 < 16).then_some(lane + 2);
        [
            (1, from(Some(lane + 1), -1)),
            (3, from(lane.checked_sub(1), -2)),
            (5, from(Some((lane + 1) % LANES), -3)),
            (7, from(Some((lane + LANES - 1) % LANES), -4)),
            (11, from(Some(16 * row + (place + 13) % 16), -5)),
            (13, from(shifted, -6)),
        ]
        .into_iter()
        .fold(0i32, |sum, (factor, value)| {
            sum.wrapping_add(value.wrapping_mul(factor))
        })
    };
    let end: Vec<i32> = numbers
        .chunks(LANES)
        .flat_map(|wave| (0..LANES).map(move |lane| of_lane(wave, lane)))
        .collect();
    launch("dpp_wave_shifts", groups, waves)
        .input("in", &numbers)
        .output("out", &vec![-1; end.len()], &end)
        .finish()
}

fn swizzle_reduction(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, waves) = full_waves(number, &mut rng);
    let (numbers, count) = numbers(groups, waves, &mut rng);
    let sums: Vec<i32> = numbers
        .chunks(LANES / 2)
        .flat_map(|half| {
            let sum = half.iter().fold(0i32, |sum, &x| sum.wrapping_add(x));
            vec![sum; half.len()]
        })
        .collect();
    let turned: Vec<i32> = numbers
        .chunks(4)
        .flat_map(|quad| (0..4).map(|lane| quad[(lane + 1) % 4]))
        .collect();
    launch("swizzle_reduction", groups, waves)
        .input("in", &numbers)
        .output("sums", &vec![-1; sums.len()], &sums)
        .output("turned", &vec![-1; turned.len()], &turned)
        .value("count", count as i32)
        .finish()
}

fn bpermute_scan(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, waves) = full_waves(number, &mut rng);
    let (numbers, _) = numbers(groups, waves, &mut rng);
    let (mut places, mut sent) = (Vec::new(), Vec::new());
    for wave in numbers.chunks(LANES) {
        let mut order: Vec<usize> = (0..LANES).collect();
        rng.shuffle(&mut order);
        let mut received = vec![0; LANES];
        for (&place, &x) in order.iter().zip(wave) {
            received[place] = x;
        }
        places.extend(order.into_iter().map(|place| place as i32));
        sent.extend(received);
    }
    let running: Vec<i32> = numbers.chunks(LANES).flat_map(running_sums).collect();
    launch("bpermute_scan", groups, waves)
        .input("in", &numbers)
        .input("places", &places)
        .output("running", &vec![-1; running.len()], &running)
        .output("sent", &vec![-1; sent.len()], &sent)
        .finish()
}

fn lane_exchange(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, waves) = full_waves(number, &mut rng);
    let (mut numbers, _) = numbers(groups, waves, &mut rng);
    numbers.iter_mut().for_each(|x| *x %= 1000);
    let (lane, value) = (rng.usize(..LANES), rng.i32(-1000..1000));
    let end: Vec<i32> = numbers
        .chunks(LANES)
        .enumerate()
        .flat_map(|(number, wave)| {
            let first = wave.iter().copied().find(|&own| own > value);
            wave.iter().enumerate().map(move |(at, &own)| {
                let changed = if at == lane { value } else { own };
                let more = match first {
                    Some(first) if own > value => first ^ (number * LANES + at) as i32,
                    _ => 0,
                };
                3 * changed + wave[lane] + more
            })
        })
        .collect();
    launch("lane_exchange", groups, waves)
        .input("in", &numbers)
        .output("out", &vec![-1; end.len()], &end)
        .value("lane", lane as i32)
        .value("value", value)
        .finish()
}

/// Draws numbers of groups and of work-items of a group, with partial waves.
fn partial(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (1, 1),
        1 => (2, 65),
        2 => (1, 127),
        _ => (rng.usize(1..4), rng.usize(1..200)),
    }
}

fn partial_waves(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = partial(number, &mut rng);
    let of_item = |i: usize| {
        let item = i % items;
        let lanes = (items - item / LANES * LANES).min(LANES);
        (lanes, item % LANES)
    };
    let all = groups * items;
    let lanes: Vec<i32> = (0..all).map(|i| of_item(i).0 as i32).collect();
    let ranks: Vec<i32> = (0..all).map(|i| of_item(i).1 as i32).collect();
    let odd: Vec<i64> = (0..all)
        .map(|i| match of_item(i) {
            (lanes, lane) if lane % 2 == 1 => (0..lanes)
                .filter(|other| other % 2 == 1)
                .fold(0, |mask, other| mask | 1 << other),
            _ => -7,
        })
        .collect();
    let nothing = vec![-1; all];
    TestLaunch::of("partial_waves", [groups as u32, 1, 1], [items as u32, 1, 1])
        .output("lanes", &nothing, &lanes)
        .output("ranks", &nothing, &ranks)
        .output("odd", &vec![-7i64; all], &odd)
        .finish()
}

fn aggregated(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = partial(number, &mut rng);
    let count = rng.usize(1..=groups * items);
    let different = rng.i32(1..40);
    let keys: Vec<i32> = (0..count).map(|_| rng.i32(0..different)).collect();
    let start: Vec<u32> = (0..8).map(|_| rng.u32(0..100)).collect();
    let mut end = start.clone();
    for key in &keys {
        end[(key & 7) as usize] += 1;
    }
    TestLaunch::of(
        "aggregated_atomics",
        [groups as u32, 1, 1],
        [items as u32, 1, 1],
    )
    .input("keys", &keys)
    .output("counts", &start, &end)
    .value("count", count as i32)
    .finish()
}
