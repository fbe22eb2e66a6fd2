//! The seams of execution models, with a third model: wavefronts whose lanes an EXEC mask switches.

use warpbound_simt::lowest_lanes;
use warpbound_testkit::exec_mask::audit::{MaskCampaign, MaskFindings, audit_program, campaign};
use warpbound_testkit::exec_mask::simulated::simulate;
use warpbound_testkit::exec_mask::waves::{ClaimFault, WaveFindings, audit_waves};
use warpbound_testkit::exec_mask::{
    BranchCondition, LaneComparison, LaneOp, LaneOperand, MaskFault, MaskInstr, MaskOp,
    MaskProgram, MaskReg,
};

const SEED: u64 = 20261122;

#[test]
fn wavefronts_do_what_their_lanes_do_alone_and_what_is_claimed() {
    let found = campaign(MaskCampaign {
        seed: SEED,
        programs: 2_500,
        inputs: 4,
        fault: None,
    });
    println!(
        "{} runs, {} lanes, {} steps ({} partial, {} empty), EXEC grew {} times, {} claims, {} rows, \
         {} bounds, {:?} loops",
        found.runs,
        found.lanes,
        found.steps,
        found.partial_steps,
        found.empty_steps,
        found.grown,
        found.claims,
        found.rows,
        found.bounds,
        found.loops
    );
    assert_eq!(found.problems, [""; 0]);
    assert!(found.runs >= 10_000 && found.lanes > 200_000);
    assert!(found.partial_steps > 100_000 && found.empty_steps > 10_000 && found.grown > 50_000);
    assert!(found.loops.1 > 1_000);
    assert!(found.claims > 1_000_000 && found.rows > 1_000_000 && found.bounds > 50);
}

/// The functional simulator executes the same programs: each step, and the registers at the end.
#[test]
fn the_simulator_executes_masks_as_the_machine_of_the_tests() {
    let found = simulate(SEED, 2_500, 4);
    println!("{found:?}");
    assert_eq!((found.runs, found.differences), (10_000, 0));
    assert!(found.steps > 800_000 && found.empty_steps > 10_000);
}

/// Results of a shorter campaign with a planted fault.
fn planted(fault: MaskFault) -> MaskFindings {
    campaign(MaskCampaign {
        seed: SEED,
        programs: 300,
        inputs: 2,
        fault: Some(fault),
    })
}

#[test]
fn an_else_mask_that_is_not_complemented() {
    assert!(planted(MaskFault::ElseNotComplemented).lane_differences > 0);
}

#[test]
fn restores_that_make_ended_lanes_active() {
    assert!(planted(MaskFault::EndedLanesReturn).lane_differences > 0);
}

#[test]
fn restores_that_make_lanes_active_after_a_break() {
    assert!(planted(MaskFault::BrokenLanesReturn).lane_differences > 0);
}

#[test]
fn a_skip_that_some_lanes_should_not_take() {
    assert!(planted(MaskFault::SkipsOnPartialMask).lane_differences > 0);
}

#[test]
fn agreement_kept_by_a_write_under_a_partial_mask() {
    let found = planted(MaskFault::PartialWriteKeepsAgreement);
    assert_eq!(found.lane_differences, 0);
    assert!(found.wrong_claims > 0);
}

#[test]
fn agreement_kept_by_a_union_of_masks() {
    let found = planted(MaskFault::UnionKeepsAgreement);
    assert_eq!(found.lane_differences, 0);
    assert!(found.wrong_claims > 0);
}

#[test]
fn a_skip_that_the_graph_lacks() {
    let found = planted(MaskFault::SkipDropped);
    assert_eq!(found.lane_differences, 0);
    assert!(found.missing_steps > 0);
}

#[test]
fn lanes_that_wait_after_a_loop_forgotten() {
    let found = planted(MaskFault::WaitingForgotten);
    assert_eq!((found.lane_differences, found.wrong_claims), (0, 0));
    assert!(found.broken_rows > 0);
}

/// A loop that serves the lanes of one value after the other. The first active lane decides which lanes go on, so a lane
/// alone iterates once and the wavefront as often as there are values: thread flow and lockstep do not hold. A machine
/// with such instructions needs other rows for these loops, or a refusal.
#[test]
fn count_rows_do_not_cover_a_loop_over_the_values_of_the_lanes() {
    let [rest, value, same] = [1, 2, 3];
    let mask = |dest, op, a, b| MaskInstr::Mask { dest, op, a, b };
    let (exec, and) = (MaskReg::Exec, MaskOp::And);
    let [rest_mask, same_mask] = [rest, same].map(MaskReg::Scalar);
    let instrs = vec![
        mask(rest_mask, and, exec, exec),
        MaskInstr::ReadFirst {
            dest: value,
            from: 0,
        },
        MaskInstr::Compare {
            dest: same,
            comparison: LaneComparison::Equal,
            a: LaneOperand::Vector(0),
            b: LaneOperand::Scalar(value),
        },
        mask(exec, and, exec, same_mask),
        MaskInstr::Lane {
            dest: 1,
            op: LaneOp::Add,
            a: LaneOperand::Vector(0),
            b: LaneOperand::Const(1),
        },
        mask(rest_mask, MaskOp::AndNot, rest_mask, same_mask),
        mask(exec, and, rest_mask, rest_mask),
        MaskInstr::Branch {
            condition: BranchCondition::ExecNotZero,
            target: 1,
        },
        MaskInstr::End,
    ];
    let program = MaskProgram {
        statements: vec![None; instrs.len()],
        instrs,
        loops: vec![(1, 7)],
    };
    let vectors = std::array::from_fn(|register| {
        std::array::from_fn(|lane| if register == 0 { lane as u32 } else { 0 })
    });
    let found = audit_program(&program, lowest_lanes(64), &vectors);
    assert_eq!((found.missing_steps, found.wrong_claims), (0, 0));
    assert!(found.broken_rows > 0);
}

/// Claims of the product's analyses about masks, values of lanes, loops and bounds hold in runs of the simulator.
#[test]
fn waves_do_what_the_analyses_claim() {
    let found = audit_waves(SEED, 1_000, 4, None);
    println!("{found:?}");
    assert_eq!(found.problems, [""; 0]);
    assert_eq!(found.waves, 4_000);
    assert!(found.mask_claims > 1_000_000 && found.lane_values > 100_000);
    assert!(found.loops.1 > 100 && found.reached > 10);
}

fn with_claim_fault(fault: ClaimFault) -> WaveFindings {
    audit_waves(SEED, 100, 2, Some(fault))
}

#[test]
fn cells_that_are_claimed_to_be_fresh_in_lanes_that_become_active() {
    assert!(
        !with_claim_fault(ClaimFault::NothingStale)
            .problems
            .is_empty()
    );
}

#[test]
fn masks_that_are_claimed_to_contain_more() {
    assert!(
        !with_claim_fault(ClaimFault::SubsetReversed)
            .problems
            .is_empty()
    );
}

#[test]
fn loops_of_waves_with_a_bound_that_is_one_too_small() {
    assert!(
        !with_claim_fault(ClaimFault::BoundTooSmall)
            .problems
            .is_empty()
    );
}
