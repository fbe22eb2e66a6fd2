//! Divergence analysis of random programs, compared with concrete runs.

use smallvec::SmallVec;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Dependence, LaunchContext};
use warpbound_base::CodeAddr;
use warpbound_ir::{
    Cell, Code, ControlEffect, ControlTarget, ExecCondition, Op, OpIndex, OpScope, ValueDependence,
};
use warpbound_isa::instr::{MemorySpace, StackToken};
use warpbound_query::KernelFlow;
use warpbound_simt::warp::WarpModel;
use warpbound_testkit::divergence::DivergenceClaims;
use warpbound_testkit::execute::{RunSeed, mix};
use warpbound_testkit::generate::{exotic, structured, unstructured};

/// Totals of a campaign.
#[derive(Debug, Default)]
struct Found {
    /// Numbers of programs: all, with tested claims about values, with tested claims about presence.
    programs: [usize; 3],
    /// Number of tested claims.
    tested: usize,
    /// Contradicted claims about values, and about presence, in programs whose lanes reconverge as assumed.
    broken: [Vec<String>; 2],
    /// Numbers of runs that contradict a claim in other programs, for which the claims do not hold.
    elsewhere: [usize; 2],
}

/// Makes most data constant, so that values often differ only by the path of a lane.
fn mostly_constant(code: &mut Code, rng: &mut fastrand::Rng) {
    for op in &mut code.ops {
        let is_plain = op.control == ControlEffect::Next && op.meaning.is_none();
        // Keeps chains, which end loops: operations that read what they write, and the predicates computed from them.
        let is_chain = op.reads.iter().any(|cell| *cell == Cell::gpr(7));
        if is_plain && !is_chain && rng.u8(0..10) < 7 {
            op.reads.clear();
            op.value = ValueDependence::Function;
            op.condition = ExecCondition::ALWAYS;
        }
    }
}

/// Runs random programs. For planted faults, `change` modifies the code that the analysis reads, and `plant` the
/// control dependences.
fn campaign(
    programs: u64,
    change: Option<&dyn Fn(&mut Code)>,
    plant: &dyn Fn(&mut Dependence),
) -> Found {
    let mut total = Found::default();
    for program in 0..programs {
        let seed = mix(&[17, program]);
        let mut rng = fastrand::Rng::with_seed(seed);
        let (kind, mut code) = match rng.u8(0..4) {
            0 => ("unstructured", unstructured(&mut rng)),
            1 => ("exotic", exotic(&mut rng)),
            _ => ("structured", structured(&mut rng)),
        };
        if rng.bool() {
            mostly_constant(&mut code, &mut rng);
        }
        let launch = LaunchContext {
            warp_width: 8,
            ..LaunchContext::default()
        };
        let model = WarpModel {
            may_diverge: true,
            ..WarpModel::default()
        };
        let Ok(flow) = KernelFlow::analyse(&code, &launch, &model, &Limits::default()) else {
            continue;
        };
        let analysed_code = change.map(|change| {
            let mut changed = code.clone();
            change(&mut changed);
            changed
        });
        let claims = DivergenceClaims::run(&code, launch, &flow, analysed_code.as_ref(), plant);
        let (values, presence) = claims.has_reconvergence_as_assumed();
        for (count, holds) in total.programs.iter_mut().zip([true, values, presence]) {
            *count += usize::from(holds);
        }
        for run in 0..6 {
            let run = RunSeed {
                seed: mix(&[seed, run]),
                lanes: 255,
                first_thread: 0,
                fall_through_first: None,
                max_steps: 1_500,
                fault: None,
            };
            let broken = claims.check(run);
            total.tested += broken.tested;
            let parts = [(values, broken.values), (presence, broken.presence)];
            for (i, (claimed, found)) in parts.into_iter().enumerate() {
                let name =
                    |claim: &String| format!("{kind} {seed:#x} run {:#x}: {claim}", run.seed);
                match claimed {
                    true => total.broken[i].extend(found.iter().take(2).map(name)),
                    false => total.elsewhere[i] += usize::from(!found.is_empty()),
                }
            }
        }
    }
    total
}

#[test]
fn claims_hold_where_lanes_reconverge() {
    let found = campaign(1_000, None, &|_| {});
    let counts = (found.programs, found.tested, found.elsewhere);
    println!("{counts:?}");
    for broken in &found.broken {
        let shown = &broken[..broken.len().min(10)];
        assert!(broken.is_empty(), "{} problems: {shown:#?}", broken.len());
    }
    let [all, values, presence] = found.programs;
    assert!(values * 3 > all && presence * 3 > all, "{counts:?}");
    assert!(found.tested > 10_000, "{counts:?}");
    // The restriction is necessary.
    assert!(found.elsewhere[1] > 0, "{counts:?}");
}

#[test]
fn missing_gates_are_caught() {
    let plant = |dependence: &mut Dependence| {
        let parts = [
            &mut dependence.controllers,
            &mut dependence.live_controllers,
        ];
        parts.into_iter().flatten().for_each(Vec::clear);
    };
    let found = campaign(300, None, &plant);
    assert!(
        found.broken.iter().all(|broken| !broken.is_empty()),
        "{found:?}"
    );
}

#[test]
fn a_lane_number_taken_for_a_constant_is_caught() {
    let change = |code: &mut Code| {
        for op in &mut code.ops {
            if op.value == ValueDependence::Lane {
                op.value = ValueDependence::Uniform;
            }
        }
    };
    let found = campaign(300, Some(&change), &|_| {});
    assert!(!found.broken[0].is_empty(), "{found:?}");
}

#[test]
fn forgotten_conditions_of_writes_are_caught() {
    let change = |code: &mut Code| {
        for op in &mut code.ops {
            if op.control == ControlEffect::Next {
                op.condition = ExecCondition::ALWAYS;
            }
        }
    };
    let found = campaign(300, Some(&change), &|_| {});
    assert!(!found.broken[0].is_empty(), "{found:?}");
}

/// Lanes leave a loop at a uniform predicate, but only some lanes reach it in each round.
#[test]
#[allow(clippy::too_many_lines, reason = "one program, operation by operation")]
fn values_of_different_rounds_are_found_after_a_loop() {
    let (r, p) = (Cell::gpr, Cell::pred);
    let mut code = Code {
        group_bytes: 32,
        ..Code::default()
    };
    let mut op = |guard: Option<u8>, reads: &[Cell], writes: &[Cell], value, control| {
        let at = code.ops.len() as u32;
        code.ops.push(Op {
            addr: CodeAddr(at / 3 * 32 + at % 3 * 8 + 8),
            condition: ExecCondition {
                guard: guard.map(p),
                ..ExecCondition::ALWAYS
            },
            reads: SmallVec::from_slice(reads),
            writes: SmallVec::from_slice(writes),
            value,
            control,
            barrier: false,
            scope: OpScope::Lane,
            meaning: None,
        });
    };
    let to = |at| ControlTarget::Op(OpIndex(at));
    let (function, next) = (ValueDependence::Function, ControlEffect::Next);
    op(None, &[], &[r(2)], ValueDependence::Lane, next.clone());
    op(None, &[], &[r(1)], function, next.clone());
    op(
        None,
        &[],
        &[],
        function,
        ControlEffect::Push(StackToken::Brk, to(12)),
    );
    op(None, &[r(1)], &[r(1)], function, next.clone()); // 3, header
    op(None, &[r(1)], &[p(1)], function, next.clone());
    op(None, &[r(1), r(2)], &[p(0)], function, next.clone());
    op(
        None,
        &[],
        &[],
        function,
        ControlEffect::Push(StackToken::Sync, to(11)),
    );
    op(Some(0), &[], &[], function, ControlEffect::Jump(to(9)));
    op(
        None,
        &[],
        &[],
        function,
        ControlEffect::Pop(StackToken::Sync),
    );
    op(
        Some(1),
        &[],
        &[],
        function,
        ControlEffect::Pop(StackToken::Brk),
    ); // 9
    op(
        None,
        &[],
        &[],
        function,
        ControlEffect::Pop(StackToken::Sync),
    );
    op(None, &[], &[], function, ControlEffect::Jump(to(3))); // 11
    op(
        None,
        &[r(1)],
        &[r(3)],
        ValueDependence::Load(MemorySpace::Shared),
        next,
    ); // 12
    op(None, &[], &[], function, ControlEffect::Exit);

    let launch = LaunchContext {
        warp_width: 8,
        ..LaunchContext::default()
    };
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    let flow =
        KernelFlow::analyse(&code, &launch, &model, &Limits::default()).expect("it is followed");
    let claims = DivergenceClaims::run(&code, launch, &flow, None, |_| {});
    assert_eq!(
        claims.has_reconvergence_as_assumed(),
        (true, true),
        "{:?}",
        claims.missed_reconvergence
    );
    let blind = DivergenceClaims::run(&code, launch, &flow, None, |dependence| {
        dependence.controllers.iter_mut().for_each(Vec::clear);
    });
    let mut missed = 0;
    for seed in 0..50 {
        let run = RunSeed {
            seed,
            lanes: 255,
            first_thread: 0,
            fall_through_first: None,
            max_steps: 1_500,
            fault: None,
        };
        let broken = claims.check(run);
        assert!(
            broken.values.is_empty() && broken.presence.is_empty(),
            "{broken:?}"
        );
        missed += blind.check(run).values.len();
    }
    assert!(
        missed > 0,
        "looking at the exits of the loop alone would be wrong"
    );
}
