//! Barrier reductions and arrivals, tests of the condition code, and traps, in launches of hand-built operations.

use smallvec::{SmallVec, smallvec};
use warpbound_base::CodeAddr;
use warpbound_ir::{
    Address, BarrierArrival, BarrierReduction, BinaryOp, Cell, Code, ControlEffect, ExecCondition,
    Expr, Meaning, Op, OpScope, ValueDependence, Width,
};
use warpbound_isa::instr::{CcTest, MemorySpace};
use warpbound_isa::{Axis, Reg, SpecialReg};
use warpbound_launch::{GlobalMemory, Launch, PathOrder};
use warpbound_simulate::functional::{Fault, FaultKind, launch};

/// SR_TID.X.
const TID: SpecialReg = SpecialReg::ThreadIndex(Axis::X);
const THREADS: u32 = 80;

fn op(condition: ExecCondition, writes: &[Cell], control: ControlEffect, meaning: Meaning) -> Op {
    Op {
        addr: CodeAddr(0),
        condition,
        reads: SmallVec::new(),
        writes: SmallVec::from_slice(writes),
        value: ValueDependence::Function,
        control,
        barrier: false,
        scope: OpScope::Lane,
        meaning: Some(meaning),
    }
}

fn set(condition: ExecCondition, cell: Cell, value: Expr) -> Op {
    op(
        condition,
        &[cell],
        ControlEffect::Next,
        Meaning::set(cell, value),
    )
}

fn barrier(condition: ExecCondition, number: u32, threads: u32, arrival: BarrierArrival) -> Op {
    let meaning = Meaning::Barrier {
        number: Expr::Const(number),
        threads: Expr::Const(threads),
        arrival,
    };
    op(condition, &[], ControlEffect::Next, meaning)
}

fn binary(op: BinaryOp, a: Expr, b: u32) -> Expr {
    Expr::binary(op, a, Expr::Const(b))
}

fn guarded(predicate: u8, negated: bool) -> ExecCondition {
    ExecCondition {
        guard: Some(Cell::pred(predicate)),
        negated,
        ..ExecCondition::ALWAYS
    }
}

/// Final value of R2 in each thread; its initial value is 9.
fn run(body: Vec<Op>) -> Result<Vec<u32>, Fault> {
    let tid = || Expr::Special(TID);
    let mut memory = GlobalMemory::default();
    let base = memory.add("out", vec![0; 4 * THREADS as usize]);
    let mut ops = vec![set(ExecCondition::ALWAYS, Cell::gpr(2), Expr::Const(9))];
    ops.extend(body);
    let low = Expr::binary(
        BinaryOp::Add,
        Expr::Const(base as u32),
        binary(BinaryOp::Shl, tid(), 2),
    );
    let store = Meaning::Store {
        values: smallvec![Expr::Cell(Cell::gpr(2))],
        width: Width::Words,
        space: MemorySpace::Global,
        address: Address {
            low,
            high: Some(Expr::Const((base >> 32) as u32)),
            buffer: None,
            second_half: None,
        },
    };
    ops.push(op(ExecCondition::ALWAYS, &[], ControlEffect::Next, store));
    let nothing = Meaning::Set(SmallVec::new());
    ops.push(op(ExecCondition::ALWAYS, &[], ControlEffect::Exit, nothing));
    for (op, index) in ops.iter_mut().zip(0u32..) {
        op.addr = CodeAddr(8 * index);
    }
    let code = Code {
        ops,
        ..Code::default()
    };
    let grid = Launch {
        grid: [1, 1, 1],
        block: [THREADS, 1, 1],
        shared: 0,
        local: 0,
        constants: Vec::new(),
        textures: Vec::new(),
        surfaces: Vec::new(),
        max_instructions: 10_000,
        order: PathOrder::TakenFirst,
        wave_entry: None,
    };
    launch(&code, &grid, &mut memory)?;
    let words = memory.buffers()[0].bytes.chunks_exact(4);
    Ok(words
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect())
}

/// Reductions over all three warps, the last of which has 16 threads.
#[test]
fn reductions_at_barriers() {
    for (limit, reduction, result) in [
        (70, BarrierReduction::Count, 70),
        (0, BarrierReduction::Count, 0),
        (THREADS, BarrierReduction::All, 1),
        (79, BarrierReduction::All, 0),
        (1, BarrierReduction::Any, 1),
        (0, BarrierReduction::Any, 0),
    ] {
        let below = binary(BinaryOp::LtU, Expr::Special(TID), limit);
        let read_result = Meaning::BarrierResult {
            dest: Some(Cell::gpr(2)),
            truth: Some(Cell::pred(1)),
        };
        let cells = [Cell::gpr(2), Cell::pred(1)];
        let found = run(vec![
            barrier(
                ExecCondition::ALWAYS,
                3,
                0,
                BarrierArrival::Reduce(reduction, below),
            ),
            op(
                ExecCondition::ALWAYS,
                &cells,
                ControlEffect::Next,
                read_result,
            ),
            // The predicate is true unless the result is 0.
            set(guarded(1, true), Cell::gpr(2), Expr::Const(0)),
        ]);
        let found = found.expect("no fault");
        assert_eq!(
            found,
            vec![result; THREADS as usize],
            "{reduction:?} below {limit}"
        );
    }
}

/// The first warp arrives at a barrier at which the second waits; without that arrival the launch deadlocks.
#[test]
fn arrivals_without_waiting() {
    let first_warp = || {
        set(
            ExecCondition::ALWAYS,
            Cell::pred(0),
            binary(BinaryOp::LtU, Expr::Special(TID), 32),
        )
    };
    let second_warp = || {
        set(
            ExecCondition::ALWAYS,
            Cell::pred(1),
            Expr::binary(
                BinaryOp::Eq,
                binary(BinaryOp::Shr, Expr::Special(TID), 5),
                Expr::Const(1),
            ),
        )
    };
    let both = run(vec![
        first_warp(),
        second_warp(),
        barrier(guarded(0, false), 1, 64, BarrierArrival::Arrive),
        barrier(guarded(1, false), 1, 64, BarrierArrival::Wait),
        // The barrier is reset: the reverse roles.
        barrier(guarded(1, false), 1, 64, BarrierArrival::Arrive),
        barrier(guarded(0, false), 1, 64, BarrierArrival::Wait),
    ]);
    assert_eq!(both.expect("no fault"), vec![9; THREADS as usize]);
    let alone = run(vec![
        second_warp(),
        barrier(guarded(1, false), 1, 64, BarrierArrival::Wait),
    ]);
    let fault = alone.expect_err("a deadlock");
    assert!(matches!(fault.kind, FaultKind::Deadlock(_)), "{fault}");
}

/// The flags of a thread are the low bits of its number: zero, sign, carry, overflow.
#[test]
fn tests_of_the_condition_code() {
    type Rule = fn(bool, bool, bool, bool) -> bool;
    let cases: [(u8, Rule); 9] = [
        (0, |_, _, _, _| false),
        (1, |z, s, _, v| (s && !z) != v),
        (5, |z, _, _, _| !z),
        (6, |_, s, _, v| s == v),
        (10, |z, _, _, _| z),
        (17, |_, _, c, _| !c),
        (20, |z, _, c, _| c && !z),
        (21, |_, s, _, _| s),
        (23, |_, _, _, v| v),
    ];
    for (test, rule) in cases {
        let condition = ExecCondition {
            cc_test: CcTest(test),
            further: None,
            ..ExecCondition::ALWAYS
        };
        let flags = binary(BinaryOp::And, Expr::Special(TID), 15);
        let found = run(vec![
            set(ExecCondition::ALWAYS, Cell::CC, flags),
            set(condition, Cell::gpr(2), Expr::Const(5)),
        ]);
        let expected: Vec<u32> = (0..THREADS)
            .map(|tid| {
                let [z, s, c, v] = [0, 1, 2, 3].map(|bit| tid >> bit & 1 == 1);
                if rule(z, s, c, v) { 5 } else { 9 }
            })
            .collect();
        assert_eq!(found.expect("no fault"), expected, "test {test}");
    }
    // A test that is not modelled.
    let condition = ExecCondition {
        cc_test: CcTest(24),
        further: None,
        ..ExecCondition::ALWAYS
    };
    let fault = run(vec![set(condition, Cell::gpr(2), Expr::Const(5))]);
    let fault = fault.expect_err("not modelled");
    assert!(matches!(fault.kind, FaultKind::Unsupported), "{fault}");
}

/// On an activation stack no operation replaces the active lanes.
#[test]
fn replaced_active_lanes_are_unsupported() {
    let set_active = op(
        ExecCondition::ALWAYS,
        &[],
        ControlEffect::SetActive(Cell::of(Reg::EXEC)),
        Meaning::nothing(),
    );
    let fault = run(vec![set_active]).expect_err("not modelled");
    assert!(matches!(fault.kind, FaultKind::Unsupported), "{fault}");
}

#[test]
fn a_trap_ends_the_launch() {
    let last = set(
        ExecCondition::ALWAYS,
        Cell::pred(0),
        Expr::binary(BinaryOp::Eq, Expr::Special(TID), Expr::Const(79)),
    );
    let trap = op(guarded(0, false), &[], ControlEffect::Next, Meaning::Trap);
    let fault = run(vec![last, trap]).expect_err("a trap");
    assert!(matches!(fault.kind, FaultKind::Trap), "{fault}");
    let never = op(guarded(6, false), &[], ControlEffect::Next, Meaning::Trap);
    assert!(run(vec![never]).is_ok());
}
