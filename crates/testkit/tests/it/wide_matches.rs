//! MATCH, REDUX of signed numbers, and atomic operations on 64 bits: results of a kernel that aggregates keys, against a
//! reference.

use fastrand::Rng;
use warpbound_audit::audit::{AuditOptions, PathOrder, audit};
use warpbound_ir::{AtomicKind, MatchMode, Meaning, Op, WarpReduction};
use warpbound_launch::LaunchFile;
use warpbound_query::{BoundOptions, Session};
use warpbound_runs::{RunOptions, execute_prepared};
use warpbound_testkit::kernels::TestLaunch;

/// `warp_matches.cu`, built for Turing, Hopper and Blackwell.
const CUBINS: [(&str, &[u8]); 3] = [
    (
        "warp_matches.sm_75.cubin",
        include_bytes!("../data/warp_matches.sm_75.cubin"),
    ),
    (
        "warp_matches.sm_90.cubin",
        include_bytes!("../data/warp_matches.sm_90.cubin"),
    ),
    (
        "warp_matches.sm_120.cubin",
        include_bytes!("../data/warp_matches.sm_120.cubin"),
    ),
];

const LANES: usize = 32;

/// Words of `totals`.
const TOTALS: usize = 12;

/// Number of random launches.
const LAUNCHES: u64 = 12;

/// Lanes of a warp with the value of a lane.
fn peers<V: PartialEq>(values: &[V], lane: usize) -> u32 {
    let equal = (0..values.len()).filter(|&other| values[other] == values[lane]);
    equal.map(|other| 1 << other).sum()
}

/// Mask of all lanes if they have one value, and whether they do.
fn agreement<V: PartialEq>(values: &[V]) -> (u32, u32) {
    match values.iter().all(|value| *value == values[0]) {
        true => (peers(values, 0), 1),
        false => (0, 0),
    }
}

/// Launch of two blocks. The last warps have no thread, or only some.
fn launch(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let threads = LANES * rng.usize(1..4);
    let count = match number % 3 {
        0 => 2 * threads,
        _ => rng.usize(1..=2 * threads),
    };
    // Few values, so that lanes agree; at times all of a warp do.
    let kinds = [1, 2, 3, 40][rng.usize(..4)];
    let keys: Vec<i32> = (0..count).map(|_| rng.i32(0..kinds) - 1).collect();
    let wide: Vec<u64> = (0..count)
        .map(|_| {
            let words = [rng.u32(0..2), rng.u32(0..2) << 31];
            u64::from(words[1]) << 32 | u64::from(words[0])
        })
        .collect();
    let mut any = vec![0u32; count];
    let mut any_wide = vec![0u32; count];
    let mut all = vec![0u32; count];
    let mut sums = vec![0i32; count];
    let mut olds = vec![7u64; count];
    let mut totals = [5u64; TOTALS];
    let starts = totals;
    for first in (0..count).step_by(LANES) {
        let lanes = first..(first + LANES).min(count);
        let (keys, wide) = (&keys[lanes.clone()], &wide[lanes]);
        let odd: Vec<i32> = keys.iter().map(|key| key & 1).collect();
        let high: Vec<u64> = wide.iter().map(|value| value >> 63).collect();
        let ((agreed, same), (agreed_wide, same_wide)) = (agreement(&odd), agreement(&high));
        for lane in 0..keys.len() {
            let at = first + lane;
            any[at] = peers(keys, lane);
            any_wide[at] = peers(wide, lane);
            let wrapped = agreed.wrapping_add(agreed_wide.wrapping_mul(3));
            all[at] = wrapped.wrapping_add(5 * same + 7 * same_wide);
            sums[at] = keys.iter().sum();
            if any[at].trailing_zeros() as usize == lane {
                totals[(keys[lane] & 7) as usize] += u64::from(any[at].count_ones()) << 20;
                olds[at] = 0;
                totals[8] += 0x1_0000_0001;
                totals[9] = totals[9].max(wide[lane]);
                totals[10] |= wide[lane];
            }
        }
    }
    olds[0] = starts[11];
    totals[11] = wide[0];
    TestLaunch::of("warp_matches", [2, 1, 1], [threads as u32, 1, 1])
        .input("keys", &keys)
        .input("wide", &wide)
        .output("any", &vec![0u32; count], &any)
        .output("any_wide", &vec![0u32; count], &any_wide)
        .output("all", &vec![0u32; count], &all)
        .output("sums", &vec![0i32; count], &sums)
        .output("totals", &starts, &totals)
        .output("olds", &vec![7u64; count], &olds)
        .value("n", count as i32)
        .finish()
}

/// Runs launches after a change of the operations; returns what differs from what is expected.
fn differences(plant: impl Fn(&mut Op)) -> Vec<String> {
    let mut found = Vec::new();
    for (name, bytes) in CUBINS {
        let session = Session::open(name, bytes).expect("it loads");
        let kernel = session.launched_kernel(Some("warp_matches"), None);
        let kernel = kernel.expect("the kernel");
        for number in 0..LAUNCHES {
            for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
                let mut prepared = session.prepare_run(kernel).expect("it is lifted");
                prepared.code.ops.iter_mut().for_each(&plant);
                let options = RunOptions {
                    order,
                    ..RunOptions::default()
                };
                let launch = launch(number);
                let run = execute_prepared(&session, &prepared, &launch, &options, &mut |_| ());
                found.extend(match run {
                    Err(fault) => Some(fault.to_string()),
                    Ok(run) => run.unexpected.map(|difference| difference.to_string()),
                });
            }
        }
    }
    found
}

#[test]
fn lanes_are_compared_and_counted() {
    assert_eq!(differences(|_| ()), Vec::<String>::new());
}

#[test]
fn planted_comparisons_are_found() {
    let faults: [fn(&mut Op); 5] = [
        |op| {
            if let Some(Meaning::Match { words, .. }) = &mut op.meaning {
                words.truncate(1);
            }
        },
        |op| {
            if let Some(Meaning::Match { mode, .. }) = &mut op.meaning {
                *mode = MatchMode::Any;
            }
        },
        |op| {
            if let Some(Meaning::Match { all_equal, .. }) = &mut op.meaning {
                *all_equal = None;
            }
        },
        |op| {
            if let Some(Meaning::Reduce { op, .. }) = &mut op.meaning
                && *op == WarpReduction::Sum
            {
                *op = WarpReduction::MaxSigned;
            }
        },
        |op| {
            if let Some(Meaning::Atomic { kind, operands, .. }) = &mut op.meaning
                && *kind == AtomicKind::U64
            {
                *kind = AtomicKind::U32;
                operands.truncate(1);
            }
        },
    ];
    for (number, plant) in faults.into_iter().enumerate() {
        assert!(!differences(plant).is_empty(), "fault {number}");
    }
}

#[test]
fn runs_keep_the_claims() {
    for (name, bytes) in CUBINS {
        let session = Session::open(name, bytes).expect("it loads");
        let kernel = session.launched_kernel(Some("warp_matches"), None);
        let kernel = kernel.expect("the kernel");
        for number in 0..6 {
            let options = AuditOptions {
                runs: 2,
                ..AuditOptions::default()
            };
            let bound = BoundOptions::default();
            let report = audit(&session, kernel, &launch(number), &bound, &options, |_| ());
            let report = report.unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(report.violations, 0, "{name}: {:?}", report.findings);
        }
    }
}
