//! WARPSYNC.COLLECTIVE: lanes that come in several groups exchange values as one, and go on apart.

use fastrand::Rng;
use warpbound_audit::audit::{AuditOptions, PathOrder, audit};
use warpbound_ir::{ControlEffect, Meaning, Op};
use warpbound_launch::LaunchFile;
use warpbound_query::{BoundOptions, Session};
use warpbound_runs::{RunOptions, execute_prepared};
use warpbound_testkit::kernels::TestLaunch;

/// `collective_exchange.cu`, built for Hopper and Blackwell.
const CUBINS: [(&str, &[u8]); 2] = [
    (
        "collective_exchange.sm_90.cubin",
        include_bytes!("../data/collective_exchange.sm_90.cubin"),
    ),
    (
        "collective_exchange.sm_120.cubin",
        include_bytes!("../data/collective_exchange.sm_120.cubin"),
    ),
];

const LANES: usize = 32;

/// Number of rounds of a launch.
fn rounds(number: u64) -> usize {
    number as usize % 4
}

/// Launch of one block. Unless `even`, the lanes of a warp exchange their values in two groups.
fn launch(number: u64, even: bool) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let warps = rng.usize(1..4);
    let (count, by) = (warps * LANES, rng.usize(1..LANES));
    let values: Vec<i32> = (0..count).map(|_| rng.i32(..)).collect();
    let kind = |lane: usize| match even {
        true => 0,
        // Both sides of the branch have lanes, and no lane leaves the loop.
        false if lane.is_multiple_of(LANES) => 1,
        false if lane % LANES == 1 => 0,
        false => [0, 1, 4, 5, 9][rng.usize(..5)],
    };
    let kinds: Vec<i32> = (0..count).map(kind).collect();
    let mut end = values.clone();
    for (end, kinds) in end.chunks_mut(LANES).zip(kinds.chunks(LANES)) {
        for _ in 0..rounds(number) {
            let odd = end
                .iter_mut()
                .zip(kinds)
                .filter(|(_, kind)| **kind & 1 == 1);
            odd.for_each(|(value, _)| *value ^= 5);
            let before = end.to_vec();
            for (lane, value) in end.iter_mut().enumerate() {
                *value = value.wrapping_add(before[lane ^ by].wrapping_mul(3));
            }
            let before = end.to_vec();
            for (lane, value) in end.iter_mut().enumerate() {
                // The last lane has no lane after it, and receives its own value.
                *value ^= before[(lane + 1).min(LANES - 1)];
            }
        }
        let before = end.to_vec();
        for (lane, value) in end.iter_mut().enumerate() {
            *value = value.wrapping_add(before[lane ^ 2]);
        }
    }
    TestLaunch::of("collective_exchange", [1, 1, 1], [count as u32, 1, 1])
        .output("out", &vec![0; count], &end)
        .input("in", &values)
        .input("kinds", &kinds)
        .value("by", by as i32)
        .value("n", rounds(number) as i32)
        .finish()
}

/// Places of the code that lanes execute as one group: of each WARPSYNC.COLLECTIVE, and of the operation after its end.
fn bodies(ops: &[Op]) -> Vec<[usize; 2]> {
    let body = |(at, op): (usize, &Op)| match op.control {
        ControlEffect::Collective(_) => {
            let length = ops[at..]
                .iter()
                .position(|op| op.meaning == Some(Meaning::Part))?;
            Some([at, at + length + 1])
        }
        _ => None,
    };
    ops.iter().enumerate().filter_map(body).collect()
}

/// Runs launches after a change of the operations; returns what differs from what is expected.
fn differences(plant: impl Fn(&mut Op)) -> Vec<String> {
    let mut found = Vec::new();
    for (name, bytes) in CUBINS {
        let session = Session::open(name, bytes).expect("it loads");
        let kernel = session.launched_kernel(Some("collective_exchange"), None);
        let kernel = kernel.expect("the kernel");
        for number in 0..12 {
            for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
                let mut prepared = session.prepare_run(kernel).expect("it is lifted");
                let bodies = bodies(&prepared.code.ops);
                assert_eq!(bodies.len(), 2, "{name}");
                prepared.code.ops.iter_mut().for_each(&plant);
                let options = RunOptions {
                    order,
                    ..RunOptions::default()
                };
                let launch = launch(number, false);
                let run = execute_prepared(&session, &prepared, &launch, &options, &mut |_| ());
                let exchanges = launch.block[0] as usize / LANES * rounds(number);
                found.extend(match run {
                    Err(fault) => Some(fault.to_string()),
                    Ok(run) => match run.unexpected {
                        Some(difference) => Some(difference.to_string()),
                        None => other_counts(&run.counts.issues, bodies[0], exchanges),
                    },
                });
            }
        }
    }
    found
}

/// Compares the executions of the first collective code, to which the lanes of a warp come in two groups.
fn other_counts(issues: &[u64], [begin, end]: [usize; 2], exchanges: usize) -> Option<String> {
    let executed = [begin, begin + 1, end].map(|at| issues[at]);
    let expected = [2, 1, 2].map(|times| times * exchanges as u64);
    (executed != expected).then(|| format!("{executed:?} executions, and not {expected:?}"))
}

#[test]
fn groups_exchange_values_as_one_and_go_on_apart() {
    assert_eq!(differences(|_| ()), Vec::<String>::new());
}

/// Each group executes the shuffle alone.
#[test]
fn planted_groups_that_do_not_gather_are_found() {
    let found = differences(|op| {
        if matches!(op.control, ControlEffect::Collective(_)) {
            op.control = ControlEffect::Next;
        }
    });
    assert!(
        found.iter().any(|what| what.contains("executions")),
        "{found:?}"
    );
    assert!(
        found.iter().any(|what| !what.contains("executions")),
        "{found:?}"
    );
}

/// The lanes of several groups remain one.
#[test]
fn planted_groups_that_do_not_part_are_found() {
    let found = differences(|op| {
        if op.meaning == Some(Meaning::Part) {
            op.meaning = Some(Meaning::nothing());
        }
    });
    assert!(
        found.iter().any(|what| what.contains("executions")),
        "{found:?}"
    );
}

#[test]
fn runs_with_collective_code_keep_the_claims() {
    for (name, bytes) in CUBINS {
        let session = Session::open(name, bytes).expect("it loads");
        let kernel = session.launched_kernel(Some("collective_exchange"), None);
        let kernel = kernel.expect("the kernel");
        for number in 0..6 {
            let launch = launch(number, number % 3 == 2);
            let options = AuditOptions {
                runs: 1,
                ..AuditOptions::default()
            };
            let bound = BoundOptions::default();
            let report = audit(&session, kernel, &launch, &bound, &options, |_| ());
            let report = report.unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(report.violations, 0, "{name}: {:?}", report.findings);
        }
    }
}
