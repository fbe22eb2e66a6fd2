//! Guarded indirect jump to the next instruction, which does not diverge.

use smallvec::SmallVec;
use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::CodeAddr;
use warpbound_ir::{
    Cell, Code, ControlEffect, ControlTarget, ExecCondition, Expr, Meaning, Op, OpIndex, OpScope,
    ValueDependence,
};
use warpbound_simt::warp::WarpModel;
use warpbound_testkit::audit::Analysed;
use warpbound_testkit::execute::RunSeed;

fn address(op: u32) -> u32 {
    op / 3 * 32 + op % 3 * 8 + 8
}

/// Builds a program in which `P0` differs between lanes: `@P0 BRX` to the next operation, then `@P0 BRA` to the second
/// of two sides.
fn program() -> Code {
    let p0 = ExecCondition {
        guard: Some(Cell::pred(0)),
        ..ExecCondition::ALWAYS
    };
    let mut code = Code {
        group_bytes: 32,
        ..Code::default()
    };
    let mut op = |condition, writes: &[Cell], value, control, meaning| {
        code.ops.push(Op {
            addr: CodeAddr(address(code.ops.len() as u32)),
            condition,
            reads: SmallVec::new(),
            writes: SmallVec::from_slice(writes),
            value,
            control,
            barrier: false,
            scope: OpScope::Lane,
            meaning,
        });
    };
    let zero = Meaning::set(Cell::gpr(0), Expr::Const(0));
    let next = ControlEffect::Indirect {
        base: Some(Cell::gpr(0)),
        anchor: address(3).into(),
        relative: true,
    };
    let always = ExecCondition::ALWAYS;
    op(
        always,
        &[Cell::pred(0)],
        ValueDependence::Lane,
        ControlEffect::Next,
        None,
    );
    op(
        always,
        &[Cell::gpr(0)],
        ValueDependence::Function,
        ControlEffect::Next,
        Some(zero),
    );
    op(p0, &[], ValueDependence::Function, next, None);
    op(
        p0,
        &[],
        ValueDependence::Function,
        ControlEffect::Jump(ControlTarget::Op(OpIndex(25))),
        None,
    );
    for _ in 0..2 {
        for _ in 0..20 {
            op(
                always,
                &[],
                ValueDependence::Function,
                ControlEffect::Next,
                None,
            );
        }
        op(
            always,
            &[],
            ValueDependence::Function,
            ControlEffect::Exit,
            None,
        );
    }
    code
}

#[test]
fn both_sides_after_it_are_counted() {
    let code = program();
    let launch = LaunchContext {
        warp_width: 8,
        ..LaunchContext::default()
    };
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    let analysed = Analysed::run(&code, launch, &model, &Limits::default()).expect("followed");
    let bound = analysed.claims.flow.bound(&[]);
    assert_eq!(bound.map(|bound| bound.limit().0), Some(4 + 2 * 21));
    for seed in 0..8 {
        let run = RunSeed {
            seed,
            lanes: 255,
            first_thread: 0,
            fall_through_first: None,
            max_steps: 1000,
            fault: None,
        };
        let findings = analysed.audit(run, 4, true);
        assert!(findings.violations.is_empty(), "{:#?}", findings.violations);
    }
}
