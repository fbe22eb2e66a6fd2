//! Pairs of guarded writes of one cell, under a predicate and under its complement, which replace the old value of the
//! cell.

use smallvec::SmallVec;
use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::CodeAddr;
use warpbound_ir::{
    Cell, Code, ControlEffect, ControlTarget, ExecCondition, Op, OpIndex, OpScope, ValueDependence,
};
use warpbound_isa::instr::CcTest;
use warpbound_simt::warp::WarpModel;
use warpbound_testkit::audit::Analysed;
use warpbound_testkit::execute::RunSeed;

/// Cell that both write and that no operation wrote before.
const CELL: u8 = 5;
const GUARD: u8 = 0;

fn when(negated: bool) -> ExecCondition {
    ExecCondition {
        guard: Some(Cell::pred(GUARD)),
        negated,
        ..ExecCondition::ALWAYS
    }
}

fn data(condition: ExecCondition, write: Cell, value: ValueDependence) -> Op {
    Op {
        addr: CodeAddr::default(),
        condition,
        reads: SmallVec::new(),
        writes: SmallVec::from_slice(&[write]),
        value,
        control: ControlEffect::Next,
        barrier: false,
        scope: OpScope::Lane,
        meaning: None,
    }
}

fn control(condition: ExecCondition, control: ControlEffect) -> Op {
    Op {
        writes: SmallVec::new(),
        control,
        ..data(condition, Cell::CC, ValueDependence::Function)
    }
}

/// Builds a program of the predicate's write, the operations, and a branch on a function of the cell.
fn program(predicate: ValueDependence, operations: Vec<Op>) -> Code {
    let cell = Cell::gpr(CELL);
    let mut ops = vec![data(ExecCondition::ALWAYS, Cell::pred(GUARD), predicate)];
    ops.extend(operations);
    ops.push(Op {
        reads: SmallVec::from_slice(&[cell]),
        ..data(
            ExecCondition::ALWAYS,
            Cell::pred(1),
            ValueDependence::Function,
        )
    });
    let end = OpIndex(ops.len() as u32 + 2);
    let branch = ExecCondition {
        guard: Some(Cell::pred(1)),
        ..ExecCondition::ALWAYS
    };
    ops.push(control(branch, ControlEffect::Jump(ControlTarget::Op(end))));
    ops.push(data(
        ExecCondition::ALWAYS,
        Cell::gpr(1),
        ValueDependence::Function,
    ));
    ops.push(control(ExecCondition::ALWAYS, ControlEffect::Exit));
    for (number, op) in (0..).zip(&mut ops) {
        op.addr = CodeAddr(number / 3 * 32 + number % 3 * 8 + 8);
    }
    Code {
        ops,
        group_bytes: 32,
        ..Code::default()
    }
}

/// Whether the branch on the cell may diverge according to the analysis, which no run may contradict.
fn may_diverge(code: &Code) -> bool {
    let launch = LaunchContext {
        warp_width: 8,
        ..LaunchContext::default()
    };
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    let analysed = Analysed::run(code, launch, &model, &Limits::default()).expect("followed");
    for seed in 0..40 {
        let run = RunSeed {
            seed,
            lanes: 255,
            first_thread: 0,
            fall_through_first: None,
            max_steps: 100,
            fault: None,
        };
        let findings = analysed.audit(run, 4, true);
        assert!(findings.violations.is_empty(), "{:#?}", findings.violations);
    }
    !analysed.claims.flow.warp.divergent.is_empty()
}

fn write(negated: bool) -> Op {
    data(when(negated), Cell::gpr(CELL), ValueDependence::Function)
}

fn other(cell: Cell) -> Op {
    data(ExecCondition::ALWAYS, cell, ValueDependence::Function)
}

#[test]
fn complementary_writes_replace_the_old_value() {
    for first in [false, true] {
        let pair = || vec![write(first), write(!first)];
        assert!(!may_diverge(&program(ValueDependence::Function, pair())));
        let apart = vec![write(first), other(Cell::gpr(7)), write(!first)];
        assert!(!may_diverge(&program(ValueDependence::Function, apart)));
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "one program, operation by operation")]
fn writes_are_complementary_only_without_a_write_between_them() {
    let lane = ValueDependence::Lane;
    let cc = CcTest(1);
    let tested = |mut op: Op| {
        op.condition.cc_test = cc;
        op
    };
    let differing = |op: Op| Op { value: lane, ..op };
    let cell = Cell::gpr(CELL);
    let to_next = control(
        when(false),
        ControlEffect::Jump(ControlTarget::Op(OpIndex(4))),
    );
    let kinds: [(&str, ValueDependence, Vec<Op>); 10] = [
        (
            "the same side twice",
            ValueDependence::Function,
            vec![write(false), write(false)],
        ),
        (
            "one side only",
            ValueDependence::Function,
            vec![write(false)],
        ),
        (
            "the predicate is written between them",
            ValueDependence::Function,
            vec![write(false), other(Cell::pred(GUARD)), write(true)],
        ),
        (
            "the predicate may be written between them",
            ValueDependence::Function,
            vec![
                write(false),
                data(when(false), Cell::pred(GUARD), ValueDependence::Function),
                write(true),
            ],
        ),
        (
            "another guard",
            ValueDependence::Function,
            vec![
                write(false),
                Op {
                    condition: ExecCondition {
                        guard: Some(Cell::pred(2)),
                        ..when(true)
                    },
                    ..write(true)
                },
            ],
        ),
        (
            "the first tests the condition code",
            ValueDependence::Function,
            vec![other(Cell::CC), tested(write(false)), write(true)],
        ),
        (
            "the second tests the condition code",
            ValueDependence::Function,
            vec![other(Cell::CC), write(false), tested(write(true))],
        ),
        (
            "the first differs from lane to lane",
            ValueDependence::Function,
            vec![differing(write(false)), write(true)],
        ),
        (
            "the cell is lost between them",
            ValueDependence::Function,
            vec![
                write(false),
                Op {
                    condition: ExecCondition {
                        guard: Some(Cell::pred(2)),
                        ..when(false)
                    },
                    ..data(when(false), cell, lane)
                },
                write(true),
            ],
        ),
        (
            "lanes may leave between them",
            ValueDependence::Function,
            vec![write(false), to_next, other(Cell::gpr(7)), write(true)],
        ),
    ];
    for (name, predicate, operations) in kinds {
        assert!(may_diverge(&program(predicate, operations)), "{name}");
    }
    let pair = vec![write(false), write(true)];
    assert!(may_diverge(&program(lane, pair)), "the predicate differs");
}

/// Planted fault: the analysis does not see that the predicate is written between the halves.
#[test]
fn halves_of_different_predicates_are_caught() {
    let seen = program(
        ValueDependence::Function,
        vec![write(false), other(Cell::gpr(7)), write(true)],
    );
    let mut real = seen.clone();
    // Another uninterpreted value of the predicate: both halves may be executed, or none.
    real.ops[2].writes = SmallVec::from_slice(&[Cell::pred(GUARD)]);
    let launch = LaunchContext {
        warp_width: 8,
        ..LaunchContext::default()
    };
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    let mut analysed = Analysed::run(&seen, launch, &model, &Limits::default()).expect("followed");
    analysed.claims.code = &real;
    let caught = (0..200).any(|seed| {
        let run = RunSeed {
            seed,
            lanes: 255,
            first_thread: 0,
            fall_through_first: None,
            max_steps: 100,
            fault: None,
        };
        let findings = analysed.audit(run, 4, true);
        let agreement = |violation: &String| violation.contains("claimed to agree");
        findings.violations.iter().any(agreement)
    });
    assert!(caught);
}
