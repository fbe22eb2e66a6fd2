//! Bounds of code with convergence barriers hold on a machine whose groups run in any order and merge (SOUNDNESS 21).

use warpbound_ir::{Code, ControlEffect, FurtherTest, OpIndex, text};
use warpbound_isa::instr::StackToken;
use warpbound_testkit::convergence::{
    BarrierMeaning, BarrierProgram, BoundCheck, GroupMachine, PredictionCheck, ProfileCheck,
    ProfileFault, Shapes, check, check_prediction, check_profile, executions_of_code,
    with_demotions, without_barriers,
};

const INSTANCES: GroupMachine = GroupMachine {
    barriers: BarrierMeaning::Instances,
    merges: true,
};

/// Programs of the tests.
const PROGRAMS: u64 = 400;

/// Runs of each.
const RUNS: u64 = 4;

/// Whether one of the programs contradicts its bounds after `planted` has planted a fault.
fn finds(shapes: Shapes, machine: GroupMachine, planted: impl Fn(&Code) -> Code) -> bool {
    (0..PROGRAMS).any(|seed| {
        let program = BarrierProgram::random(seed, shapes);
        let found = check(&program, &planted(&program.code), machine, RUNS);
        matches!(found, BoundCheck::Violated(_))
    })
}

/// Checks programs of some shapes; `analysed` changes the code that the analyses see.
fn violated(shapes: Shapes, machine: GroupMachine, analysed: impl Fn(&Code) -> Code) -> Counts {
    let mut counts = Counts::default();
    for seed in 0..PROGRAMS {
        let program = BarrierProgram::random(seed, shapes);
        match check(&program, &analysed(&program.code), machine, RUNS) {
            BoundCheck::Holds(slowest, bound) => {
                counts.held += 1;
                counts.attained += usize::from(u128::from(slowest) == bound);
            }
            BoundCheck::Violated(what) => counts.violated.push(format!("program {seed}: {what}")),
            BoundCheck::Refused(why) => counts.refused.push(format!("program {seed}: {why}")),
            BoundCheck::Unbounded => counts.refused.push(format!("program {seed}: no bound")),
        }
    }
    counts
}

#[derive(Default, Debug)]
struct Counts {
    held: usize,
    attained: usize,
    violated: Vec<String>,
    refused: Vec<String>,
}

fn unchanged(code: &Code) -> Code {
    code.clone()
}

/// Replaces control effects.
fn with(code: &Code, change: impl Fn(&ControlEffect) -> Option<ControlEffect>) -> Code {
    let mut code = code.clone();
    for op in &mut code.ops {
        if let Some(other) = change(&op.control) {
            op.control = other;
        }
    }
    code
}

#[test]
fn no_run_exceeds_its_bound() {
    for machine in [
        INSTANCES,
        GroupMachine {
            merges: false,
            ..INSTANCES
        },
    ] {
        let counts = violated(Shapes::ALL, machine, unchanged);
        assert_eq!(counts.violated, Vec::<String>::new());
        assert_eq!(counts.refused, Vec::<String>::new());
        // Bounds that no run comes near would hide faults.
        assert!(
            counts.attained > 5,
            "{} of {}",
            counts.attained,
            counts.held
        );
    }
}

/// One mask of the warp for each barrier, to which BSSY adds its lanes, waits longer and joins more.
#[test]
fn no_run_exceeds_its_bound_with_masks_of_the_warp() {
    let shapes = Shapes {
        spills: false,
        calls: false,
        yields: false,
        ..Shapes::ALL
    };
    let machine = GroupMachine {
        barriers: BarrierMeaning::AddedMask,
        merges: true,
    };
    let counts = violated(shapes, machine, unchanged);
    assert_eq!(counts.violated, Vec::<String>::new());
    assert_eq!(counts.refused, Vec::<String>::new());
}

/// The machine that `bsync-joins` excludes shows that the programs can contradict a bound.
#[test]
fn planted_masks_that_are_overwritten_are_found() {
    let shapes = Shapes {
        spills: false,
        calls: false,
        yields: false,
        ..Shapes::ALL
    };
    let machine = GroupMachine {
        barriers: BarrierMeaning::OverwrittenMask,
        merges: true,
    };
    assert!(finds(shapes, machine, unchanged));
}

#[test]
fn planted_yields_that_are_not_demoted_are_found() {
    let without_yields = |code: &Code| {
        with(code, |control| {
            matches!(control, ControlEffect::Release).then_some(ControlEffect::Next)
        })
    };
    assert!(finds(Shapes::ALL, INSTANCES, without_yields));
}

/// A BREAK that is ignored leaves lists of barriers that differ where paths meet.
#[test]
fn planted_breaks_that_are_ignored_are_refused() {
    let without_breaks = |code: &Code| {
        with(code, |control| {
            matches!(control, ControlEffect::BreakBarrier(_)).then_some(ControlEffect::Next)
        })
    };
    let counts = violated(Shapes::ALL, INSTANCES, without_breaks);
    assert!(counts.refused.iter().any(|why| why.contains("not nested")));
    assert_eq!(counts.violated, Vec::<String>::new());
}

/// A return that joins lanes, as on Maxwell, joins lanes that the hardware keeps apart.
#[test]
fn planted_calls_that_join_lanes_are_found() {
    let with_stack = |code: &Code| {
        with(code, |control| match control {
            ControlEffect::LinkedCall(to) => Some(ControlEffect::Call(to.clone())),
            ControlEffect::Return { .. } => Some(ControlEffect::Pop(StackToken::Ret)),
            _ => None,
        })
    };
    assert!(finds(Shapes::ALL, INSTANCES, with_stack));
}

/// Checks programs with barriers that were changed at random; those that the analyses refuse are left out. Some regions
/// of the others are demoted without need.
fn violated_when_mutated(shapes: Shapes, machine: GroupMachine) -> Counts {
    let mut counts = Counts::default();
    for seed in 0..PROGRAMS {
        let program = BarrierProgram::random(seed, shapes).mutated(seed);
        let Some(analysed) = with_demotions(&program.code, seed) else {
            continue;
        };
        for analysed in [&program.code, &analysed] {
            match check(&program, analysed, machine, RUNS) {
                BoundCheck::Holds(..) => counts.held += 1,
                BoundCheck::Violated(what) => {
                    counts.violated.push(format!("program {seed}: {what}"));
                }
                BoundCheck::Refused(why) => counts.refused.push(why),
                BoundCheck::Unbounded => {}
            }
        }
    }
    counts
}

#[test]
fn demotions_without_need_are_sound() {
    let mut held = 0;
    for seed in 0..PROGRAMS {
        let program = BarrierProgram::random(seed, Shapes::ALL);
        let analysed = with_demotions(&program.code, seed).expect("regions are nested");
        match check(&program, &analysed, INSTANCES, RUNS) {
            BoundCheck::Holds(..) => held += 1,
            other => panic!("program {seed}: {other:?}"),
        }
    }
    assert_eq!(held, PROGRAMS);
}

#[test]
fn mutated_programs_that_are_accepted_keep_their_bounds() {
    let counts = violated_when_mutated(Shapes::ALL, INSTANCES);
    assert_eq!(counts.violated, Vec::<String>::new());
    assert!(counts.held > 300, "{}", counts.held);
}

/// One mask of the warp for each barrier, YIELD, and barriers that were changed at random.
#[test]
fn mutated_programs_keep_their_bounds_with_masks_of_the_warp() {
    let shapes = Shapes {
        spills: false,
        calls: false,
        ..Shapes::ALL
    };
    let machine = GroupMachine {
        barriers: BarrierMeaning::AddedMask,
        merges: true,
    };
    let counts = violated_when_mutated(shapes, machine);
    assert_eq!(counts.violated, Vec::<String>::new());
    assert!(counts.held > 300, "{}", counts.held);
}

/// Demoting each barrier of a program whose regions are not nested does not help: a wait splits lanes that the stack keeps
/// together.
#[test]
fn planted_programs_without_nesting_that_are_accepted_are_found() {
    let mut refused = 0;
    let is_found = (0..4 * PROGRAMS).any(|seed| {
        let program = BarrierProgram::random(seed, Shapes::ALL).mutated(seed);
        if with_demotions(&program.code, seed).is_some() {
            return false;
        }
        refused += 1;
        let accepted = without_barriers(&program.code);
        let found = check(&program, &accepted, INSTANCES, RUNS);
        matches!(found, BoundCheck::Violated(_))
    });
    assert!(is_found, "{refused} programs without nesting");
}

#[test]
fn planted_yields_are_found_with_masks_of_the_warp() {
    let shapes = Shapes {
        spills: false,
        calls: false,
        ..Shapes::ALL
    };
    let machine = GroupMachine {
        barriers: BarrierMeaning::AddedMask,
        merges: true,
    };
    let without_yields = |code: &Code| {
        with(code, |control| {
            matches!(control, ControlEffect::Release).then_some(ControlEffect::Next)
        })
    };
    assert!(finds(shapes, machine, without_yields));
}

#[test]
fn planted_choices_on_which_lanes_agree_are_found() {
    let agreed = |code: &Code| {
        let mut code = code.clone();
        for op in &mut code.ops {
            if let ControlEffect::FreeJump(to) = op.control.clone() {
                op.control = ControlEffect::Jump(to);
                op.condition.further = Some(FurtherTest::Group);
            }
        }
        code
    };
    assert!(finds(Shapes::ALL, INSTANCES, agreed));
}

/// Results of the profiles of random programs whose launch decides some branches.
#[derive(Default, Debug)]
struct Profiles {
    held: usize,
    exact: usize,
    attained: usize,
    violated: Vec<String>,
}

fn profiles(shapes: Shapes, fault: ProfileFault) -> Profiles {
    let mut found = Profiles::default();
    for seed in 0..PROGRAMS {
        let program = BarrierProgram::random(seed, shapes).with_values();
        match check_profile(&program, INSTANCES, 2 * RUNS, fault) {
            ProfileCheck::None => {}
            ProfileCheck::Holds {
                slowest,
                issues,
                is_exact,
            } => {
                found.held += 1;
                found.exact += usize::from(is_exact);
                found.attained += usize::from(slowest == issues);
            }
            ProfileCheck::Violated(what) => {
                found.violated.push(format!("program {seed}: {what}"));
                // One is enough to find a planted fault.
                if fault != ProfileFault::None {
                    break;
                }
            }
        }
    }
    found
}

#[test]
fn no_run_exceeds_its_profile() {
    for shapes in [Shapes::WITH_VALUES, Shapes::DECIDED] {
        let found = profiles(shapes, ProfileFault::None);
        assert_eq!(found.violated, Vec::<String>::new());
        assert!(found.held > 150 && found.attained > 30, "{found:?}");
        assert!(found.exact > 20, "{found:?}");
    }
}

/// A vote whose result is taken from the lanes of a group alone, where another group may have joined.
#[test]
fn planted_groups_that_never_meet_are_found_in_profiles() {
    let found = profiles(Shapes::DECIDED, ProfileFault::GroupsStayApart);
    assert!(!found.violated.is_empty(), "{found:?}");
}

#[test]
fn planted_regions_that_are_not_demoted_are_found_in_profiles() {
    let found = profiles(Shapes::DECIDED, ProfileFault::NothingDemoted);
    assert!(!found.violated.is_empty(), "{found:?}");
}

#[test]
fn planted_lanes_that_keep_a_uniform_register_are_found_in_profiles() {
    let found = profiles(Shapes::DECIDED, ProfileFault::UniformKeptByLanes);
    assert!(!found.violated.is_empty(), "{found:?}");
}

#[test]
fn planted_lanes_that_are_never_missing_are_found_in_profiles() {
    let found = profiles(Shapes::DECIDED, ProfileFault::NoneMissing);
    assert!(!found.violated.is_empty(), "{found:?}");
}

/// A branch by which some lanes skip operations, and all lanes execute them together with what follows.
#[test]
fn planted_skips_on_which_lanes_need_not_agree_are_found_in_profiles() {
    let found = profiles(Shapes::WITH_VALUES, ProfileFault::AllSkipsAgreed);
    assert!(!found.violated.is_empty(), "{found:?}");
}

/// A branch that only the launch decides, with the values of one of its sides.
#[test]
fn planted_skips_that_never_happen_are_found_in_profiles() {
    let found = profiles(Shapes::DECIDED, ProfileFault::NothingSkipped);
    assert!(!found.violated.is_empty(), "{found:?}");
}

/// Predictions of random programs.
#[derive(Default, Debug)]
struct Predictions {
    known: u64,
    apart: u64,
    lanes_only: u64,
    unknown: u64,
    violated: Vec<String>,
}

fn predictions(shapes: Shapes, fault: ProfileFault) -> Predictions {
    let mut found = Predictions::default();
    for seed in 0..PROGRAMS {
        let program = BarrierProgram::random(seed, shapes).with_values();
        match check_prediction(&program, RUNS, fault) {
            PredictionCheck::None => {}
            PredictionCheck::Holds {
                known,
                apart,
                lanes_only,
                unknown,
            } => {
                found.known += known;
                found.apart += apart;
                found.lanes_only += lanes_only;
                found.unknown += unknown;
            }
            PredictionCheck::Violated(what) => {
                found.violated.push(format!("program {seed}: {what}"));
                // One is enough to find a planted fault.
                if fault != ProfileFault::None {
                    break;
                }
            }
        }
    }
    found
}

#[test]
fn every_run_has_the_predicted_counts() {
    for shapes in [Shapes::WITH_VALUES, Shapes::DECIDED] {
        let found = predictions(shapes, ProfileFault::None);
        assert_eq!(found.violated, Vec::<String>::new());
        assert!(found.known > 1000 && found.apart > 100, "{found:?}");
        assert!(found.lanes_only > 100 && found.unknown > 1000, "{found:?}");
    }
}

#[test]
fn planted_faults_are_found_in_predictions() {
    for (shapes, fault) in [
        (Shapes::DECIDED, ProfileFault::GroupsStayApart),
        (Shapes::DECIDED, ProfileFault::NothingDemoted),
        (Shapes::DECIDED, ProfileFault::UniformKeptByLanes),
        (Shapes::DECIDED, ProfileFault::NoneMissing),
        (Shapes::WITH_VALUES, ProfileFault::AllSkipsAgreed),
        (Shapes::DECIDED, ProfileFault::NothingSkipped),
    ] {
        let found = predictions(shapes, fault);
        assert!(!found.violated.is_empty(), "{fault:?}: {found:?}");
    }
}

/// Of a warp whose lanes have parted, some may be at a barrier before the others have ended, whichever side the stack runs
/// first. So no part of it ends at the barrier.
#[test]
fn parts_end_only_at_barriers_of_whole_groups() {
    let text = |branch: &str| {
        format!(
            "family volta\n0x0000: P0 = lt_u(special.lane, 4)\n0x0010: {branch}\n0x0020: R2 = 1\n\
             0x0030: barrier.wait number(0) threads(0)\n0x0040: exit\n0x0050: exit\n"
        )
    };
    for (branch, is_known) in [
        ("if P0 jump 0x0050", false),
        ("if !P0 jump 0x0050", false),
        ("R3 = 1", true),
    ] {
        let code = text::parse("program", &text(branch)).expect("a program");
        let executions = executions_of_code(&code).expect("a profile");
        assert_eq!(executions.of_chain.is_some(), is_known, "{branch}");
    }
}

/// A group that has left others votes alone or together with them, so only what holds for both is known. The block of a launch
/// without clusters is the first of its cluster.
#[test]
fn votes_of_parts_and_places_in_clusters() {
    let text = |test: &str| {
        format!(
            "family volta\n0x0000: P0 = lt_u(special.lane, 4)\n0x0010: if !P0 jump 0x0050\n0x0020: {test}\n\
             0x0030: if !P1 jump 0x0060\n0x0040: R2 = 1\n0x0050: exit\n0x0060: R3 = 2\n0x0070: exit\n"
        )
    };
    for (test, may_fail) in [
        ("_, P1 = vote.all(P0)", true),
        ("_, P1 = vote.any(P0)", false),
        ("P1 = lt_u(special.block_in_cluster, 1)", false),
    ] {
        let code = text::parse("program", &text(test)).expect("a program");
        let executions = executions_of_code(&code).expect("a profile");
        let jumps = executions.of_warp.contains_key(&OpIndex(6));
        assert_eq!(jumps, may_fail, "{test}");
    }
}

/// Lanes that have parted may be together where some of them write a uniform register, so that the others read it, too. Fails if
/// only lanes whose guard holds count: the campaign `audit-convergence` found these two programs.
#[test]
fn uniform_registers_are_unknown_where_groups_may_meet() {
    for seed in [8_800_239, 8_800_263] {
        for shapes in [Shapes::WITH_VALUES, Shapes::DECIDED] {
            let program = BarrierProgram::random(seed, shapes).with_values();
            let found = check_profile(&program, INSTANCES, 4 * RUNS, ProfileFault::None);
            assert!(
                !matches!(found, ProfileCheck::Violated(_)),
                "{seed}: {found:?}"
            );
        }
    }
}
