//! Relevant cells: values are followed exactly where they may decide the target of an indirect jump.

use smallvec::SmallVec;
use warpbound_analyse::ThreadCfg;
use warpbound_analyse::indirect::IndirectTargets;
use warpbound_analyse::relevant::RelevantCells;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::values::{AbstractValue, Values};
use warpbound_base::CodeAddr;
use warpbound_ir::{
    BinaryOp, Cell, Code, ControlEffect, ControlTarget, ExecCondition, Expr, Meaning, Op, OpIndex,
    OpScope, ValueDependence,
};
use warpbound_simt::warp::CellSet;

const COUNTER: u8 = 1;
const INDEX: u8 = 2;
const OFFSET: u8 = 3;
const TARGET: u8 = 4;

/// Operation that writes one register, or has a control effect.
fn op(at: u32, guard: Option<u8>, control: ControlEffect, write: Option<(u8, Expr)>) -> Op {
    let condition = ExecCondition {
        guard: guard.map(Cell::pred),
        ..ExecCondition::ALWAYS
    };
    let cell = write.as_ref().map(|(register, _)| Cell::gpr(*register));
    Op {
        addr: CodeAddr(at * 8),
        condition,
        reads: SmallVec::new(),
        writes: cell.into_iter().collect(),
        value: ValueDependence::Function,
        control,
        barrier: false,
        scope: OpScope::Lane,
        meaning: write.map(|(register, value)| Meaning::set(Cell::gpr(register), value)),
    }
}

/// Program with a jump table: `OFFSET` holds a constant word of the table over a loop that counts in `COUNTER`; after
/// the loop a clamped `INDEX` and the word give the address of the jump.
fn program() -> Code {
    let cell = |register| Expr::Cell(Cell::gpr(register));
    let with = |op, register, value| Expr::binary(op, cell(register), Expr::Const(value));
    let data = |at, register, value| op(at, None, ControlEffect::Next, Some((register, value)));
    let jump = |to| ControlEffect::Jump(ControlTarget::Op(OpIndex(to)));
    let mut code = Code {
        constants: vec![(
            2,
            [64u32, 72].iter().flat_map(|w| w.to_le_bytes()).collect(),
        )],
        ..Code::default()
    };
    let table = Expr::binary(BinaryOp::Add, cell(INDEX), cell(OFFSET));
    let indirect = ControlEffect::Indirect {
        base: Some(Cell::gpr(TARGET)),
        anchor: 0,
        relative: true,
    };
    code.ops = vec![
        data(0, OFFSET, Expr::Const(0)),
        data(1, COUNTER, Expr::Const(0)),
        data(2, COUNTER, with(BinaryOp::Add, COUNTER, 4)),
        op(3, Some(0), jump(2), None),
        data(4, INDEX, with(BinaryOp::MinU, INDEX, 1)),
        data(5, INDEX, with(BinaryOp::Shl, INDEX, 2)),
        data(6, TARGET, Expr::Constant(2, table.into())),
        op(7, None, indirect, None),
        // Back edge: index and offset are needed again.
        op(8, None, jump(2), None),
        op(9, None, ControlEffect::Exit, None),
    ];
    code
}

#[test]
fn counters_of_loops_are_not_followed() {
    let code = program();
    let relevant = RelevantCells::find(&code).unwrap();
    let followed = |at: u32| -> Vec<usize> { relevant.after(OpIndex(at)).iter().collect() };
    let [index, offset, to] = [INDEX, OFFSET, TARGET].map(usize::from);
    assert_eq!(followed(0), [index, offset]);
    assert_eq!(followed(2), [index, offset], "the counter is left out");
    assert_eq!(followed(6), [index, offset, to]);
    assert_eq!(
        followed(7),
        [index, offset],
        "the jump may lead to the loop again"
    );
    assert_eq!(followed(9), Vec::<usize>::new());
}

#[test]
fn cells_left_out_decide_no_target() {
    let code = program();
    let thread = ThreadCfg::build(&code, &Limits::default()).unwrap();
    let targets = IndirectTargets::Code {
        ops: [OpIndex(8), OpIndex(9)].into(),
        assumed: false,
    };
    assert_eq!(thread.indirect.get(&OpIndex(7)), Some(&targets));
}

#[test]
fn a_write_of_a_cell_that_is_not_followed_makes_it_unknown() {
    let code = program();
    let counter = Cell::gpr(COUNTER);
    let mut values = Values::default();
    let followed = [counter.index()].into_iter().collect();
    values.apply(&code.ops[1], &code, &followed);
    assert_eq!(values.get(counter), AbstractValue::OneOf([0].into()));
    values.apply(&code.ops[2], &code, &CellSet::default());
    assert_eq!(values.get(counter), AbstractValue::Any);
    values.apply(&code.ops[1], &code, &followed);
    values.keep(&CellSet::default());
    assert_eq!(values.get(counter), AbstractValue::Any);
}

#[test]
fn without_indirect_jumps_nothing_is_followed() {
    let mut code = program();
    code.ops[7].control = ControlEffect::Exit;
    assert!(RelevantCells::find(&code).is_none());
}
