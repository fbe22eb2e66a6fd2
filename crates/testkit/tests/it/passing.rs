//! Limits on the lanes that pass a branch on the thread index: random programs in blocks of many shapes, planted
//! faults, and the effect of the count rows on the bound of a kernel.

use std::fs;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_ir::{BinaryOp, Code, Expr, Meaning};
use warpbound_query::{BoundOptions, Session};
use warpbound_simt::counts::RowFamily;
use warpbound_simt::warp::WarpModel;
use warpbound_testkit::audit::Analysed;
use warpbound_testkit::execute::{RunSeed, mix};
use warpbound_testkit::generate::by_thread_index;
use warpbound_testkit::random::live_lanes_of_warp;

/// Block shapes with rows narrower than a warp, equal to it, wider, and unaligned; several warps, the last one partial.
const BLOCKS: [[u32; 3]; 9] = [
    [8, 1, 1],
    [40, 1, 1],
    [1, 20, 1],
    [3, 5, 2],
    [8, 4, 1],
    [16, 2, 2],
    [5, 7, 1],
    [2, 2, 9],
    [33, 1, 1],
];

const PROGRAMS: u64 = 150;

/// Planted faults.
#[derive(Default)]
struct Plant<'a> {
    /// Change of the code that is analysed; the code that runs is unchanged.
    code: Option<&'a dyn Fn(&mut Code)>,
    /// Change of the results of the analyses.
    results: Option<&'a dyn Fn(&mut Analysed<'_>)>,
    /// Block shape that is analysed, if not the one that runs.
    block: Option<[u32; 3]>,
}

/// Observations that contradict the analyses.
#[derive(Debug, Default)]
struct Caught {
    /// Number of guards that fewer lanes than a warp's may pass according to the analysis.
    limits: usize,
    /// Number of runs in which more lanes pass.
    lanes: usize,
    /// Number of runs with more instructions than the bound.
    bounds: usize,
    others: Vec<String>,
}

fn audit(plant: &Plant<'_>) -> Caught {
    let mut caught = Caught::default();
    for program in 0..PROGRAMS {
        let mut rng = fastrand::Rng::with_seed(mix(&[31, program]));
        let code = by_thread_index(&mut rng);
        let mut analysed_code = code.clone();
        if let Some(change) = plant.code {
            change(&mut analysed_code);
        }
        let block = BLOCKS[program as usize % BLOCKS.len()];
        let launch = |block| LaunchContext {
            warp_width: [8, 32, 4][rng_of(program) % 3],
            block: Some(block),
            ..LaunchContext::default()
        };
        let model = WarpModel {
            may_diverge: true,
            ..WarpModel::default()
        };
        let claimed = launch(plant.block.unwrap_or(block));
        let limits = Limits {
            contexts: if program % 5 == 0 { 1 } else { 2_000 },
            ..Limits::default()
        };
        let Ok(mut analysed) = Analysed::run(&analysed_code, claimed, &model, &limits) else {
            continue;
        };
        analysed.claims.code = &code;
        if let Some(change) = plant.results {
            change(&mut analysed);
        }
        caught.limits += analysed.claims.flow.lane_limits.len();
        let launch = launch(block);
        analysed.claims.launch = launch;
        let threads: u32 = block.iter().product();
        for number in 0..threads.div_ceil(launch.warp_width).min(4) {
            for run in 0..2 {
                let all = live_lanes_of_warp(&launch, number);
                let run = RunSeed {
                    seed: mix(&[37, program, number.into(), run]),
                    lanes: all,
                    first_thread: number * launch.warp_width,
                    fall_through_first: None,
                    max_steps: 1_500,
                    fault: None,
                };
                let findings = analysed.audit(run, 2, true);
                for found in findings.violations.into_iter().chain(findings.mismatches) {
                    if found.contains("lanes pass") {
                        caught.lanes += 1;
                    } else if found.contains("bound Some") {
                        caught.bounds += 1;
                    } else {
                        caught.others.push(format!("program {program}: {found}"));
                    }
                }
            }
        }
    }
    caught
}

fn rng_of(program: u64) -> usize {
    mix(&[41, program]) as usize
}

/// Fails if a step is limited that a lane takes twice, a table is not invalidated with its inputs, or lanes are counted
/// in too few warps.
#[test]
fn no_more_lanes_pass_a_guard_than_the_block_has_in_a_warp() {
    let caught = audit(&Plant::default());
    assert!(caught.limits > 60, "{caught:?}");
    assert_eq!((caught.lanes, caught.bounds), (0, 0), "{caught:?}");
    assert_eq!(caught.others, [""; 0]);
}

#[test]
fn limit_one_lane_too_low() {
    let less = |analysed: &mut Analysed<'_>| {
        for limit in &mut analysed.claims.flow.lane_limits {
            limit.lanes = limit.lanes.saturating_sub(1);
        }
        for row in &mut analysed.claims.flow.counts.rows {
            if row.family == RowFamily::GuardedLanes {
                row.constant = (row.constant - 1).max(0);
            }
        }
    };
    let caught = audit(&Plant {
        results: Some(&less),
        ..Plant::default()
    });
    assert!(caught.lanes > 0 && caught.bounds > 0, "{caught:?}");
}

/// The fault is not caught if the guard's value is not tracked.
#[test]
fn comparisons_inverted() {
    let turn = |code: &mut Code| {
        for op in &mut code.ops {
            if let Some(Meaning::Set(writes)) = &mut op.meaning {
                for (_, value) in writes {
                    match value {
                        Expr::Binary(op @ BinaryOp::Eq, ..) => *op = BinaryOp::Ne,
                        Expr::Binary(op @ BinaryOp::Ne, ..) => *op = BinaryOp::Eq,
                        _ => {}
                    }
                }
            }
        }
    };
    let caught = audit(&Plant {
        code: Some(&turn),
        ..Plant::default()
    });
    assert!(caught.lanes > 0 && caught.bounds > 0, "{caught:?}");
}

/// In a block of one row each lane of a warp has a distinct x, in a block of many rows it does not.
#[test]
fn lanes_of_a_warp_claimed_to_differ_in_x() {
    let caught = audit(&Plant {
        block: Some([90, 1, 1]),
        ..Plant::default()
    });
    assert!(caught.lanes > 0 && caught.bounds > 0, "{caught:?}");
}

fn bound(file: &str, kernel: &str, block: Option<[u32; 3]>) -> Option<u128> {
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = fs::read(path).expect("the cubin is in the repository");
    let session = Session::open(file, &contents).expect("it loads");
    let kernels = session.kernels(Some(kernel)).expect("it has it");
    let kernel = kernels.first().expect("it has it");
    let options = BoundOptions {
        block,
        derive: false,
        loop_default: Some(10),
        ..BoundOptions::default()
    };
    let report = warpbound_bounds::bound(&session, kernel, &options).expect("it suits");
    report.verdict.bound()
}

/// The first thread of each row of a block works: one lane of a warp, or one in eight. Without a known block shape
/// there is no limit, and in a block of one column all lanes are first. (In rows of whole warps, lanes of `row_leader`
/// agree on their data without a row about lanes, because the compiler writes 0 for x there; those of
/// `row_leader_shared` do not.)
#[test]
fn lanes_that_pass_a_guard_are_limited() {
    for (kernel, least, difference) in [("row_leader", 1403, 0), ("row_leader_shared", 1384, 19)] {
        for chip in ["sm_50", "sm_61", "sm_62"] {
            let file = format!("row_leader.{chip}.cubin");
            let bound = |block| bound(&file, kernel, block);
            let all = Some(4783 - difference);
            assert_eq!(bound(None), all, "{kernel} {chip}");
            assert_eq!(bound(Some([1, 32, 1])), all, "{kernel} {chip}");
            assert_eq!(bound(Some([8, 4, 1])), Some(2513 - difference));
            assert_eq!(bound(Some([32, 4, 1])), Some(least));
            assert_eq!(bound(Some([256, 1, 1])), Some(least));
        }
    }
}
