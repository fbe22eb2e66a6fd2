//! Kernels for GPUs from Volta on: their runs have the expected results, and keep the claims.

use std::path::{Path, PathBuf};

use warpbound_audit::audit::{AuditOptions, PathOrder, audit};
use warpbound_base::Diagnostic;
use warpbound_ir::{ControlEffect, Expr, Meaning, Op, OpIndex, WarpReduction};
use warpbound_launch::LaunchFile;
use warpbound_measure::{PredictOptions, Prediction, count_intervals, predict};
use warpbound_query::{BoundOptions, Contents, Session};
use warpbound_runs::{RunOptions, execute, execute_prepared};
use warpbound_testkit::kernels::{self, KernelReference};
use warpbound_testkit::predictions::{ComparedCounts, compare, counts_of_run};

/// Chips whose cubins are in the repository.
const CHIPS: [&str; 4] = ["sm_75", "sm_87", "sm_90", "sm_120"];

/// Launches of each kernel: three fixed ones, and random ones.
const LAUNCHES: u64 = 6;

/// Kernels that are not run as a whole, with the reason that the run states.
const REFUSED: [(&str, &str); 1] = [("external_call", "external")];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/wide")
}

fn session(reference: &KernelReference, chip: &str) -> Option<Session> {
    let file = format!("{}.{chip}.cubin", reference.source);
    let contents = std::fs::read(folder().join(&file)).ok()?;
    Some(Session::open(&file, &contents).expect("it loads"))
}

/// Calls `check` for each kernel with a reference, chip and launch.
fn for_each_launch(mut check: impl FnMut(&str, &Session, &KernelReference, &LaunchFile)) -> usize {
    let mut launches = 0;
    for reference in kernels::all() {
        if REFUSED
            .iter()
            .any(|(source, _)| *source == reference.source)
        {
            continue;
        }
        for chip in CHIPS {
            let Some(session) = session(&reference, chip) else {
                continue;
            };
            for number in 0..LAUNCHES {
                let launch = (reference.launch)(number);
                let name = format!(
                    "{}.{chip} {} launch {number}",
                    reference.source, reference.kernel
                );
                check(&name, &session, &reference, &launch);
                launches += 1;
            }
        }
    }
    launches
}

#[test]
fn runs_have_the_expected_results_in_both_orders() {
    let launches = for_each_launch(|name, session, reference, launch| {
        let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
        let kernel = kernel.expect("the kernel");
        for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
            let options = RunOptions {
                order,
                ..RunOptions::default()
            };
            let run = execute(session, kernel, launch, &options, &mut |_| ());
            let run = run.unwrap_or_else(|why| panic!("{name}: {why}"));
            let unexpected = run.unexpected.map(|diagnostic| diagnostic.to_string());
            assert_eq!(unexpected, None, "{name}");
        }
    });
    assert!(launches > 500, "only {launches} launches");
}

#[test]
fn runs_keep_the_claims() {
    let mut ran = 0;
    let launches = for_each_launch(|name, session, reference, launch| {
        let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
        let options = BoundOptions::default();
        let runs = AuditOptions {
            runs: 2,
            // Random contents make some kernels wait for ever.
            max_instructions: Some(100_000),
            ..AuditOptions::default()
        };
        let report = audit(
            session,
            kernel.expect("the kernel"),
            launch,
            &options,
            &runs,
            |_| (),
        );
        let report = report.unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(report.violations, 0, "{name}: {:?}", report.findings);
        ran += usize::from(report.warp_instructions > 0);
    });
    assert!(ran * 10 > launches * 9, "{ran} of {launches}");
}

#[test]
fn runs_have_the_predicted_counts() {
    let mut all = ComparedCounts::default();
    for_each_launch(|name, session, reference, launch| {
        let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
        let prepared = session.prepare(kernel.expect("the kernel"));
        let prepared = prepared.expect("it decodes");
        for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
            let counts = counts_of_run(session, &prepared, launch, order, u64::MAX);
            let counts = counts.unwrap_or_else(|why| panic!("{name}: {why}"));
            for contents in [Contents::Any, Contents::AsGiven] {
                let options = PredictOptions {
                    contents,
                    ..PredictOptions::default()
                };
                let prediction = match predict(session, &prepared, launch, &options) {
                    Ok(prediction) => prediction,
                    // Recursion is refused by every analysis of these GPUs.
                    Err(_) if reference.source == "recursion" => return,
                    Err(why) => panic!("{name}: {why}"),
                };
                let mut compared = compare(&prediction, &counts);
                for wrong in &mut compared.wrong {
                    *wrong = format!("{name}, {contents:?}, {order:?}: {wrong}");
                }
                all.append(compared);
            }
        }
    });
    assert!(all.wrong.is_empty(), "{:?}", all.wrong.first());
    let ComparedCounts { right, unknown, .. } = all;
    assert!(right > 10_000 && right > unknown, "{right} {unknown}");
}

/// Kernels with unknown counts whose ranges are computed in moments.
const SHORT: [&str; 4] = ["goto_flow", "nested_loops", "switch_table", "vote"];

/// Compares the ranges of unknown counts, after a change of the prediction, with runs. Returns the number of ranges, and those
/// that do not have the count of a run.
fn ranges(change: impl Fn(&mut Prediction)) -> (usize, Vec<String>) {
    let (mut compared, mut missed) = (0, Vec::new());
    for_each_launch(|name, session, reference, launch| {
        if !SHORT.contains(&reference.source) {
            return;
        }
        let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
        let prepared = session.prepare(kernel.expect("the kernel"));
        let prepared = prepared.expect("it decodes");
        let prediction = predict(session, &prepared, launch, &PredictOptions::default());
        let mut prediction = prediction.expect(name);
        change(&mut prediction);
        let found = count_intervals(session, &prepared, launch, &prediction);
        let found = found.expect(name);
        for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
            let counts = counts_of_run(session, &prepared, launch, order, u64::MAX);
            let counts = counts.expect(name);
            for (&first, limits) in &found.blocks {
                let of_run = [&counts.issues, &counts.active];
                let of_run = of_run.map(|all| all.get(first.index()).copied().unwrap_or(0));
                for (limit, count) in limits.iter().zip(of_run) {
                    compared += 1;
                    if count < limit.least || limit.most.is_some_and(|most| count > most) {
                        missed.push(format!("{name} {first:?}: {count} in {limit:?}"));
                    }
                }
            }
        }
    });
    (compared, missed)
}

#[test]
fn ranges_have_the_counts_of_all_runs() {
    let (compared, missed) = ranges(|_| ());
    assert_eq!(missed, Vec::<String>::new());
    assert!(compared > 500, "{compared}");
}

/// Groups that wait apart at one BAR may go on together. Without its WARPSYNC, only the BAR of the kernel lets them.
#[test]
fn executions_after_a_barrier_for_parts_of_a_warp_are_unknown() {
    let limits = folder().join("../limits");
    let cubin = std::fs::read(limits.join("apart_at_barrier.sm_90.cubin")).expect("the cubin");
    let session = Session::open("apart_at_barrier", &cubin).expect("it loads");
    let kernel = session.kernels(None).expect("kernels")[0];
    let mut prepared = session.prepare(kernel).expect("it decodes");
    for op in &mut prepared.code.ops {
        if op.control == ControlEffect::Release {
            (op.control, op.meaning) = (ControlEffect::Next, Some(Meaning::nothing()));
        }
        // The lanes stay apart.
        if matches!(
            op.control,
            ControlEffect::OpenBarrier(..) | ControlEffect::JoinBarrier(_)
        ) {
            op.control = ControlEffect::Next;
        }
    }
    let text = std::fs::read_to_string(limits.join("apart_at_barrier.toml")).expect("the launch");
    let launch = LaunchFile::parse("apart_at_barrier", &text, &|file| {
        Err(Diagnostic::new(format!("no file {file}")))
    });
    let options = PredictOptions {
        contents: Contents::AsGiven,
        ..PredictOptions::default()
    };
    let prediction = predict(&session, &prepared, &launch.expect("a launch"), &options);
    let prediction = prediction.expect("it is predicted");
    let barrier = prepared.code.ops.iter().position(|op| op.barrier);
    let barrier = barrier.expect("a barrier");
    let mut before = prediction.counts.range(..=OpIndex(barrier as u32));
    let (_, count) = before.next_back().expect("its block");
    assert_eq!((count.issues, count.lanes), (None, Some(256)));
    let names = prediction
        .assumptions
        .iter()
        .map(|assumption| assumption.id);
    assert!(!names.collect::<Vec<_>>().contains(&"joins-only-there"));
}

/// Returns the faults and differences of the launches that have other results, or none, after a change of the instructions
/// of their kernel.
fn shown_by_launches(plant: impl Fn(&mut Op) -> bool) -> Vec<String> {
    let mut shown = Vec::new();
    for_each_launch(|_, session, reference, launch| {
        let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
        let mut prepared = session
            .prepare_run(kernel.expect("the kernel"))
            .expect("it is lifted");
        let planted = prepared
            .code
            .ops
            .iter_mut()
            .filter_map(|op| plant(op).then_some(()));
        if planted.count() > 0 {
            let options = RunOptions::default();
            let run = execute_prepared(session, &prepared, launch, &options, &mut |_| ());
            shown.extend(match run {
                Err(fault) => Some(fault.to_string()),
                Ok(run) => run.unexpected.map(|difference| difference.to_string()),
            });
        }
    });
    shown
}

/// Lanes pass BSYNC without waiting, so that votes after it miss some, and barriers of the block are reached apart, where a
/// run ends.
#[test]
fn planted_barriers_that_do_not_wait_are_found() {
    let shown = shown_by_launches(|op| {
        let is_planted = matches!(op.control, ControlEffect::JoinBarrier(_));
        if is_planted {
            op.control = ControlEffect::Next;
        }
        is_planted
    });
    let apart = "lanes arrive at a barrier without others of their warp";
    let count = |ends: bool| {
        shown
            .iter()
            .filter(|what| what.contains(apart) == ends)
            .count()
    };
    assert!(count(true) > 0 && count(false) > 0, "{shown:?}");
}

/// A barrier for two warps waits for a third.
#[test]
fn planted_thread_counts_of_barriers_are_found() {
    let shown = shown_by_launches(|op| match &mut op.meaning {
        Some(Meaning::Barrier { threads, .. }) if *threads == Expr::Const(64) => {
            *threads = Expr::Const(96);
            true
        }
        _ => false,
    });
    assert!(!shown.is_empty());
}

/// REDUX adds where it takes the minimum.
#[test]
fn planted_reductions_of_warps_are_found() {
    let shown = shown_by_launches(|op| match &mut op.meaning {
        Some(Meaning::Reduce { op: reduction, .. }) => {
            *reduction = WarpReduction::Sum;
            true
        }
        _ => false,
    });
    assert!(!shown.is_empty());
}

/// Code that repeats for each texture object leaves lanes out, or reads with a wrong object.
#[test]
fn planted_first_lanes_are_found() {
    let faults: [fn(&mut Op) -> bool; 3] = [
        // Lanes with another object count as done.
        |op| match &mut op.meaning {
            Some(Meaning::FirstLane { value, .. }) => {
                *value = Expr::Const(1);
                true
            }
            _ => false,
        },
        // What the low word found is forgotten.
        |op| match &mut op.meaning {
            Some(Meaning::FirstLane { accumulates, .. }) => std::mem::take(accumulates),
            _ => false,
        },
        // The loop ends although lanes are left.
        |op| match &mut op.meaning {
            Some(Meaning::AnyLane(holds)) => {
                *holds = Expr::Const(0);
                true
            }
            _ => false,
        },
    ];
    for (number, plant) in faults.into_iter().enumerate() {
        assert!(!shown_by_launches(plant).is_empty(), "fault {number}");
    }
}
