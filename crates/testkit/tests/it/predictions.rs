//! Predicted counts are those of functional runs: random programs, the repository's kernels, and planted faults.

use warpbound_audit::audit::variation;
use warpbound_ir::{ControlEffect, Expr, Meaning, Op, OpIndex};
use warpbound_isa::SpecialReg;
use warpbound_launch::{LaunchFile, PathOrder};
use warpbound_measure::predict::paper::RuleCount;
use warpbound_measure::{PredictOptions, Prediction, count_intervals, predict, predict_by_paper};
use warpbound_query::{Contents, Prepared, Session};
use warpbound_simulate::functional::Counts;
use warpbound_testkit::launch_profiles::ProgramLaunch;
use warpbound_testkit::launch_profiles::programs::ProfiledProgram;
use warpbound_testkit::predictions::{ComparedCounts, compare, compare_program, counts_of_run};

use crate::launch_profiles::committed_launches;

const ORDERS: [PathOrder; 2] = [PathOrder::TakenFirst, PathOrder::FallThroughFirst];

const MOST_INSTRUCTIONS: u64 = 400_000;

/// Buffer that random programs only read, and the one that they write.
const READ: Option<usize> = Some(1);
const WRITTEN: Option<usize> = Some(0);

/// Compares the predictions of random programs, as `seen` shows them to the predictor, with runs.
fn random_programs(
    seeds: std::ops::Range<u64>,
    readable: Option<usize>,
    seen: impl Fn(&ProfiledProgram) -> ProfiledProgram,
) -> ComparedCounts {
    let mut outcome = ComparedCounts::default();
    for seed in seeds {
        let program = ProfiledProgram::random(seed);
        let seen = seen(&program);
        for order in ORDERS {
            let launch = ProgramLaunch::random(seed, order);
            let mut compared = compare_program(&program, &seen, &launch, readable);
            for wrong in &mut compared.wrong {
                *wrong = format!("seed {seed}, {order:?}: {wrong}");
            }
            outcome.append(compared);
        }
    }
    outcome
}

#[test]
fn predictions_of_random_programs_are_exact() {
    for readable in [None, READ] {
        let outcome = random_programs(0..400, readable, ProfiledProgram::clone);
        assert!(outcome.wrong.is_empty(), "{:?}", outcome.wrong.first());
        let ComparedCounts { right, unknown, .. } = outcome;
        // Each kind occurs often enough to be tested.
        assert!(right > 2000 && unknown > 500, "{right} {unknown}");
    }
}

/// Whether random programs show that a predictor which sees them changed is wrong.
fn is_found(seeds: std::ops::Range<u64>, change: impl Fn(&mut Op)) -> bool {
    let outcome = random_programs(seeds, None, |program| program.changed(&change));
    !outcome.wrong.is_empty()
}

#[test]
fn planted_loaded_words_taken_for_known_are_found() {
    assert!(is_found(0..60, |op| {
        if let Some(Meaning::Load { dests, .. }) = &op.meaning {
            let sets = dests.iter().flatten().map(|&cell| (cell, Expr::Const(3)));
            op.meaning = Some(Meaning::Set(sets.collect()));
        }
    }));
}

#[test]
fn planted_exits_that_are_not_taken_are_found() {
    assert!(is_found(0..60, |op| {
        if op.control == ControlEffect::Exit && !op.condition.is_always() {
            op.control = ControlEffect::Next;
        }
    }));
}

#[test]
fn planted_writes_left_out_of_regions_are_found() {
    // A conditional write is taken for one that never happens, so that the old value stays known.
    assert!(is_found(0..200, |op| {
        if op.control == ControlEffect::Next && !op.condition.is_always() {
            op.writes.clear();
            op.meaning = Some(Meaning::Set([].into_iter().collect()));
        }
    }));
}

#[test]
fn planted_blocks_taken_for_equal_are_found() {
    assert!(is_found(0..200, |op| {
        if let Some(Meaning::Set(sets)) = &mut op.meaning {
            for (_, value) in sets {
                if matches!(value, Expr::Special(SpecialReg::BlockIndex(_))) {
                    *value = Expr::Const(0);
                }
            }
        }
    }));
}

#[test]
fn planted_lanes_taken_for_threads_are_found() {
    assert!(is_found(0..200, |op| {
        if let Some(Meaning::Set(sets)) = &mut op.meaning {
            for (_, value) in sets {
                if matches!(value, Expr::Special(SpecialReg::ThreadIndex(_))) {
                    *value = Expr::Special(SpecialReg::LaneId);
                }
            }
        }
    }));
}

#[test]
fn planted_contents_of_a_written_buffer_are_found() {
    let outcome = random_programs(0..300, WRITTEN, ProfiledProgram::clone);
    assert!(!outcome.wrong.is_empty(), "{outcome:?}");
}

/// Compares the prediction of a launch with runs of it; contents as given, only with the contents given.
fn compare_launch(
    (name, launch, cubin): &(String, LaunchFile, Vec<u8>),
    seeds: std::ops::Range<u64>,
) -> ComparedCounts {
    let session = Session::open(name, cubin).expect("it loads");
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let kernel = kernel.expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let mut outcome = ComparedCounts::default();
    let mut runs: Vec<(LaunchFile, PathOrder)> = ORDERS
        .iter()
        .map(|&order| (launch.clone(), order))
        .collect();
    runs.extend(seeds.map(|seed| {
        let varied = variation(launch, seed);
        (varied.launch, varied.order)
    }));
    for (run, order) in runs {
        // Other contents may make a kernel fault.
        let counts = counts_of_run(&session, &prepared, &run, order, MOST_INSTRUCTIONS);
        let Ok(counts) = counts else { continue };
        for contents in [Contents::Any, Contents::AsGiven] {
            let options = PredictOptions {
                contents,
                ..PredictOptions::default()
            };
            let prediction = predict(&session, &prepared, &run, &options);
            let prediction = prediction.expect("the launch suits the kernel");
            let mut compared = compare(&prediction, &counts);
            for wrong in &mut compared.wrong {
                *wrong = format!("{name}, {contents:?}, {order:?}: {wrong}");
            }
            outcome.append(compared);
        }
    }
    outcome
}

#[test]
fn predictions_of_the_repositorys_launches_are_exact() {
    let mut outcome = ComparedCounts::default();
    for launch in committed_launches(".0.toml") {
        outcome.append(compare_launch(&launch, 0..1));
    }
    assert!(outcome.wrong.is_empty(), "{:?}", outcome.wrong);
    assert!(
        outcome.right > outcome.unknown,
        "{} {}",
        outcome.right,
        outcome.unknown
    );
}

/// Runs of a launch as given in both orders, with the prediction for any contents.
fn with_runs(
    (name, launch, cubin): &(String, LaunchFile, Vec<u8>),
    mut check: impl FnMut(&Session, &Prepared<'_>, &Prediction, &[Counts]),
) {
    let session = Session::open(name, cubin).expect("it loads");
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let prepared = session.prepare(kernel.expect("it has it"));
    let prepared = prepared.expect("it decodes");
    let prediction = predict(&session, &prepared, launch, &PredictOptions::default());
    let prediction = prediction.expect("the launch suits the kernel");
    let runs = ORDERS.iter().filter_map(|&order| {
        counts_of_run(&session, &prepared, launch, order, MOST_INSTRUCTIONS).ok()
    });
    check(&session, &prepared, &prediction, &runs.collect::<Vec<_>>());
}

/// Kernels with unknown counts whose ranges are computed in moments.
const SHORT: [&str; 8] = [
    "break_loop.",
    "early_exit.",
    "goto_flow.",
    "if_else",
    "lud_diagonal.",
    "nested_loops.",
    "recursion.",
    "switch_table.",
];

/// Counts of a block in a run.
fn counted(counts: &Counts, first: OpIndex) -> [u64; 2] {
    let of = |counts: &[u64]| counts.get(first.index()).copied().unwrap_or(0);
    [of(&counts.issues), of(&counts.active)]
}

#[test]
fn ranges_have_the_counts_of_all_runs() {
    let (mut ranges, mut limited) = (0, 0);
    for launched in committed_launches(".0.toml") {
        if !SHORT.iter().any(|start| launched.0.starts_with(start)) {
            continue;
        }
        with_runs(&launched, |session, prepared, prediction, runs| {
            let found = count_intervals(session, prepared, &launched.1, prediction);
            let found = found.unwrap_or_else(|why| panic!("{}: {why}", launched.0));
            for (&first, limits) in &found.blocks {
                for counts in runs {
                    for (limit, count) in limits.iter().zip(counted(counts, first)) {
                        let is_in =
                            limit.least <= count && limit.most.is_none_or(|most| count <= most);
                        assert!(is_in, "{} {first:?}: {count} in {limit:?}", launched.0);
                        ranges += 1;
                        limited += u32::from(limit.most.is_some());
                    }
                }
            }
        });
    }
    assert!(
        ranges > 200 && limited * 2 > ranges,
        "{limited} of {ranges}"
    );
}

#[test]
fn planted_counts_contradict_the_rows_of_ranges() {
    let (mut planted, mut found) = (0, 0);
    for launched in committed_launches(".0.toml") {
        if !launched.0.starts_with("lud_diagonal.") {
            continue;
        }
        with_runs(&launched, |session, prepared, prediction, _| {
            let known = prediction.counts.iter();
            let known = known.filter_map(|(&first, count)| Some((first, count.issues?)));
            for (first, issues) in known.filter(|&(_, issues)| issues > 0).take(12) {
                let mut changed = prediction.clone();
                let count = changed.counts.get_mut(&first).expect("it is there");
                count.issues = Some(issues * 40);
                planted += 1;
                found +=
                    u32::from(count_intervals(session, prepared, &launched.1, &changed).is_err());
            }
        });
    }
    assert!(planted > 8 && found * 2 > planted, "{found} of {planted}");
}

/// The rule of the paper is right for most blocks that it states, and wrong for some.
#[test]
fn rule_of_the_paper_is_wrong_somewhere() {
    let (mut right, mut wrong, mut ours) = (0, 0, 0);
    for launched in committed_launches(".0.toml") {
        with_runs(&launched, |session, prepared, prediction, runs| {
            let options = PredictOptions::default();
            let Ok(paper) = predict_by_paper(session, prepared, &launched.1, &options) else {
                return;
            };
            ours += paper.wrong(prediction).count();
            let Some(counts) = runs.first() else { return };
            for (&first, rule) in &paper.blocks {
                if let RuleCount::Stated { issues, lanes } = *rule {
                    match counted(counts, first) == [issues, lanes] {
                        true => right += 1,
                        false => wrong += 1,
                    }
                }
            }
        });
    }
    // Most wrong statements show without a run.
    assert!(
        right > 200 && wrong > 0 && ours > 0,
        "{right} {wrong} {ours}"
    );
}
