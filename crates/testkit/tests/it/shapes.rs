//! Program shapes that exercise one rule of the analyses each: without the rule, or with an unsound one, runs
//! contradict the claims.

use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_ir::Code;
use warpbound_simt::warp::WarpModel;
use warpbound_testkit::audit::{Analysed, CALL_COST};
use warpbound_testkit::execute::{Ending, RunSeed};
use warpbound_testkit::generate::{
    divergent_external_call, jump_or_call, selected_targets, two_calls, two_headers,
    unwound_from_outside,
};
use warpbound_testkit::random::{WarpCampaign, live_lanes_of_first_warp};

const WARP: LaunchContext = LaunchContext {
    warp_width: 32,
    block: None,
    global_is_stable: true,
};

fn divergent() -> WarpModel {
    WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    }
}

fn analyse(code: &Code) -> Analysed<'_> {
    Analysed::run(code, WARP, &divergent(), &Limits::default()).expect("followed")
}

/// Audits 80 programs of a shape.
fn audit(shape: fn(&mut fastrand::Rng) -> Code, seed: u64) -> WarpCampaign {
    let mut total = WarpCampaign::default();
    for number in 0..80 {
        let mut rng = fastrand::Rng::with_seed(seed + number);
        let code = shape(&mut rng);
        total.audit_program(&format!("program {number}"), &code, &mut rng, 12);
    }
    let shown: Vec<&String> = total.problems.iter().take(5).collect();
    assert!(
        shown.is_empty(),
        "{} problems: {shown:#?}",
        total.problems.len()
    );
    assert!(total.runs > 600 && total.bounded * 2 > total.runs);
    total
}

/// Fails if lockstep is decided by the first header alone.
#[test]
fn lockstep_needs_every_header() {
    let total = audit(two_headers, 100);
    assert!(total.diverged > 300);
    let apart = (100..180).filter(|&seed| {
        let code = two_headers(&mut fastrand::Rng::with_seed(seed));
        let flow = &analyse(&code).claims.flow;
        let mut loops = flow.loops.loops.iter().zip(&flow.counts.lockstep);
        loops.any(|(counted, together)| counted.headers.len() > 1 && !together)
    });
    assert!(apart.count() > 40);
}

/// Fails if only entries that were pushed outside a loop count as entering it.
#[test]
fn an_entry_unwound_to_from_outside_enters_the_loop() {
    audit(unwound_from_outside, 200);
}

/// Fails if a join keeps the values of one side only, or a guarded write is assumed to take effect.
#[test]
fn all_targets_that_guards_and_joins_choose_are_followed() {
    let total = audit(selected_targets, 300);
    assert!(total.diverged > 200);
}

/// Fails if the nodes remain that a jump led to before it turned out to be a call, or if a lane that arrives without a
/// return entry leaves the graph.
#[test]
fn a_jump_that_some_lanes_call_by_is_followed_for_all() {
    let total = audit(jump_or_call, 500);
    assert!(total.diverged > 200);
}

/// Fails if merged contexts are not marked as shared: a return to the other caller would close a loop, which needs a
/// fact.
#[test]
fn calls_that_share_a_context_do_not_close_a_loop() {
    let code = two_calls();
    let limits = Limits {
        contexts: 1,
        ..Limits::default()
    };
    let analysed = Analysed::run(&code, WARP, &divergent(), &limits).expect("followed");
    let flow = &analysed.claims.flow;
    assert_eq!(flow.thread.space.shared_calls.len(), 2);
    assert_eq!(flow.loops.sites, []);
    // Two calls of a function of 3 operations, and an exit.
    let bound = flow.bound(&[]).map(|bound| bound.limit().0);
    assert_eq!(bound, Some(2 + 2 * 3 + 1));
    audit(|_| two_calls(), 400);
}

/// Fails if a call of several functions outside the file is counted once.
#[test]
fn every_function_that_lanes_call_outside_the_file_is_counted() {
    let code = divergent_external_call();
    let analysed = analyse(&code);
    let run = RunSeed {
        seed: 7,
        lanes: live_lanes_of_first_warp(&WARP),
        first_thread: 0,
        fall_through_first: None,
        max_steps: 100,
        fault: None,
    };
    let findings = analysed.audit(run, 0, true);
    assert_eq!(findings.violations, [""; 0]);
    assert_eq!(findings.ending, Some(Ending::Finished));
    let own = code.ops.len() as u64 - 1;
    let executed = own + 32 * CALL_COST;
    assert_eq!(
        findings.executed_and_bound,
        Some((executed, Some(u128::from(executed))))
    );
}

/// Fails if the live lanes of a block are its threads modulo the warp.
#[test]
fn a_block_of_several_warps_has_a_full_one() {
    for (block, lanes) in [
        ([1, 1, 1], 1),
        ([31, 1, 1], 31),
        ([32, 1, 1], 32),
        ([33, 1, 1], 32),
        ([40, 2, 1], 32),
        ([8, 8, 8], 32),
    ] {
        let launch = LaunchContext {
            block: Some(block),
            ..WARP
        };
        assert_eq!(launch.live_lanes(), lanes, "{block:?}");
        assert_eq!(
            u64::from(live_lanes_of_first_warp(&launch).count_ones()),
            lanes
        );
    }
    assert_eq!(WARP.live_lanes(), 32);
}
