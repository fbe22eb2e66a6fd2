//! Bounds of code with convergence barriers hold on a machine whose groups run in any order and merge (SOUNDNESS 21).

use warpbound_ir::{Code, ControlEffect};
use warpbound_isa::instr::StackToken;
use warpbound_testkit::convergence::{
    BarrierMeaning, BarrierProgram, BoundCheck, GroupMachine, Shapes, check,
};

const INSTANCES: GroupMachine = GroupMachine {
    barriers: BarrierMeaning::Instances,
    merges: true,
};

/// Programs of the tests.
const PROGRAMS: u64 = 400;

/// Runs of each.
const RUNS: u64 = 4;

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
    assert!(!violated(shapes, machine, unchanged).violated.is_empty());
}

#[test]
fn planted_yields_that_are_not_demoted_are_found() {
    let without_yields = |code: &Code| {
        with(code, |control| {
            matches!(control, ControlEffect::Release).then_some(ControlEffect::Next)
        })
    };
    let counts = violated(Shapes::ALL, INSTANCES, without_yields);
    assert!(!counts.violated.is_empty());
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
            ControlEffect::Return => Some(ControlEffect::Pop(StackToken::Ret)),
            _ => None,
        })
    };
    let counts = violated(Shapes::ALL, INSTANCES, with_stack);
    assert!(!counts.violated.is_empty());
}
