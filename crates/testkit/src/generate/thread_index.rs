//! Programs whose branches depend on the index of the thread in its block.

use smallvec::SmallVec;
use warpbound_base::CodeAddr;
use warpbound_ir::{
    BinaryOp, Cell, Code, ControlEffect, ControlTarget, ExecCondition, Expr, Meaning, Op, OpScope,
    ValueDependence,
};
use warpbound_isa::instr::{CcTest, StackToken};
use warpbound_isa::{Axis, SpecialReg};

use super::{Label, PREDICATES, ProgramWriter, REGISTERS};

const ALWAYS: ExecCondition = ExecCondition::ALWAYS;

/// Special registers SR_TID.X, SR_TID.Y and SR_TID.Z.
const TID_REGISTERS: [SpecialReg; 3] = [
    SpecialReg::ThreadIndex(Axis::X),
    SpecialReg::ThreadIndex(Axis::Y),
    SpecialReg::ThreadIndex(Axis::Z),
];

/// Generates branches and exits whose guard compares the thread index with a constant: inside and outside of loops, in
/// functions, in sequence, with guards that guarded writes and joins have changed. Code after them diverges.
///
/// Needs: at most a known number of lanes of any warp pass such a guard, each once if it is in no loop.
pub fn by_thread_index(rng: &mut fastrand::Rng) -> Code {
    let mut w = ProgramWriter::new(rng);
    let function = (w.rng.u8(0..4) == 0).then(|| w.new_label());
    w.functions.extend(function);
    w.start_chain();
    w.data(2);
    for _ in 0..w.rng.usize(1..4) {
        match (w.rng.u8(0..6), function) {
            (0, _) => {
                let head = w.bind_new_label();
                w.thread_index_statement(function);
                let again = w.fresh_predicate();
                w.jump(again, head);
            }
            (1, Some(function)) => w.call(function),
            _ => w.thread_index_statement(function),
        }
    }
    w.control(ALWAYS, ControlEffect::Exit);
    if let Some(function) = function {
        w.bind(function);
        w.thread_index_statement(None);
        if w.rng.bool() {
            // In half of the cases the function calls itself.
            let guard = w.thread_index_guard();
            w.control(guard, ControlEffect::Pop(StackToken::Ret));
            let more = w.fresh_predicate();
            w.control(more, ControlEffect::Pop(StackToken::Ret));
            w.call(function);
        }
        w.control(ALWAYS, ControlEffect::Pop(StackToken::Ret));
    }
    w.finish()
}

impl ProgramWriter<'_> {
    /// Emits a branch on the thread index, and code where the lanes that pass diverge.
    fn thread_index_statement(&mut self, function: Option<Label>) {
        let guard = self.thread_index_guard();
        let (end, other) = (self.new_label(), self.new_label());
        let sync = ControlEffect::Pop(StackToken::Sync);
        match self.rng.u8(0..8) {
            0..=2 => self.control(guard, ControlEffect::Exit),
            3 => {
                self.push(StackToken::Sync, end);
                self.jump(guard, other);
                self.emit_diverging_code(function);
                self.control(ALWAYS, sync.clone());
                self.bind(other);
                self.emit_diverging_code(None);
                self.control(ALWAYS, sync);
            }
            4 => {
                self.push(StackToken::Sync, end);
                self.control(guard, sync.clone());
                self.emit_diverging_code(function);
                self.control(ALWAYS, sync);
            }
            5 => self.jump(guard, end),
            // Both successors are the same operation.
            6 => {
                self.jump(guard, other);
                self.bind(other);
            }
            _ => {
                self.jump(guard, other);
                self.emit_diverging_code(function);
                self.jump(ALWAYS, end);
                self.bind(other);
            }
        }
        self.emit_diverging_code(function);
        self.bind(end);
    }

    /// Emits diverging code: mostly a loop that lanes leave in different rounds, around a branch on which they
    /// disagree.
    fn emit_diverging_code(&mut self, function: Option<Label>) {
        match (self.rng.u8(0..5), function) {
            (0, Some(function)) => self.call(function),
            (1, _) => self.body(1, 0, 0),
            _ => {
                let (side, join) = (self.new_label(), self.new_label());
                let head = self.bind_new_label();
                self.write_lane_values();
                let part = self.predicate();
                self.jump(part, side);
                self.data(2);
                let again = self.fresh_predicate();
                self.jump(again, head);
                self.jump(ALWAYS, join);
                self.bind(side);
                self.data(1);
                let again = self.fresh_predicate();
                self.jump(again, head);
                self.bind(join);
            }
        }
    }

    /// Emits a write of a predicate that in most cases compares the thread index with a constant; returns a condition
    /// on it.
    fn thread_index_guard(&mut self) -> ExecCondition {
        let (tid, sum) = (Cell::gpr(REGISTERS + 2), Cell::gpr(REGISTERS + 3));
        let guard = Cell::pred(PREDICATES + self.rng.u8(0..2));
        let axis = TID_REGISTERS[[0, 0, 0, 1, 2][self.rng.usize(0..5)]];
        self.write(ALWAYS, &[], &[tid], ValueDependence::Special(axis));
        let of = |op, cell: Cell, n| Expr::binary(op, Expr::Cell(cell), Expr::Const(n));
        let mut compared = tid;
        match self.rng.u8(0..8) {
            0 => self.write_meaning(ALWAYS, sum, of(BinaryOp::And, tid, 0xffff)),
            // By enough bits it is the number of the warp in its row.
            1 => {
                let bits = self.rng.u32(1..7);
                self.write_meaning(ALWAYS, sum, of(BinaryOp::Shr, tid, bits));
            }
            2 => self.write_meaning(ALWAYS, sum, of(BinaryOp::Sub, tid, 1)),
            3 => {
                let other = TID_REGISTERS[self.rng.usize(0..3)];
                self.write(ALWAYS, &[], &[sum], ValueDependence::Special(other));
                let sum_of = Expr::binary(BinaryOp::Add, Expr::Cell(tid), Expr::Cell(sum));
                self.write_meaning(ALWAYS, sum, sum_of);
            }
            // The second value replaces the first in lanes where another guard holds.
            4 => {
                self.write_meaning(ALWAYS, sum, of(BinaryOp::Add, tid, 0));
                let condition = self.predicate();
                let n = self.rng.u32(0..3);
                self.write_meaning(condition, sum, Expr::Const(n));
            }
            _ => {}
        }
        if self.rng.u8(0..8) < 5 {
            compared = sum;
            if self.rng.bool() {
                self.write_meaning(ALWAYS, sum, of(BinaryOp::Mul, tid, 1));
            }
        }
        let ops = [
            BinaryOp::Eq,
            BinaryOp::Eq,
            BinaryOp::Ne,
            BinaryOp::Ne,
            BinaryOp::LtU,
            BinaryOp::LtS,
            BinaryOp::LeU,
            BinaryOp::LeS,
        ];
        let op = ops[self.rng.usize(0..ops.len())];
        let n = [0, 0, 0, 1, 2, 5, u32::MAX][self.rng.usize(0..7)];
        self.write_meaning(ALWAYS, guard, of(op, compared, n));
        self.change_guard(guard);
        ExecCondition {
            guard: Some(guard),
            negated: self.rng.bool(),
            cc_test: match self.rng.u8(0..16) {
                0 => CcTest(1),
                _ => CcTest::TRUE,
            },
            further: None,
        }
    }

    /// Emits, in half of the cases, another write of a guard: under a guard, on one side of a branch, or with an
    /// unknown value, for example by a function outside the file.
    fn change_guard(&mut self, guard: Cell) {
        let not = Expr::binary(BinaryOp::Xor, Expr::Cell(guard), Expr::Const(1));
        match self.rng.u8(0..12) {
            0 | 4 => {
                let other = Cell::pred(PREDICATES + 2);
                let tid = Expr::Cell(Cell::gpr(REGISTERS + 2));
                let n = Expr::Const(self.rng.u32(1..4));
                self.write_meaning(ALWAYS, other, Expr::binary(BinaryOp::LtU, tid, n));
                let condition = ExecCondition {
                    guard: Some(other),
                    negated: self.rng.bool(),
                    cc_test: CcTest::TRUE,
                    further: None,
                };
                self.write_meaning(condition, guard, not);
            }
            5 => {
                let outside = ControlTarget::External("outside".to_owned());
                self.control(ALWAYS, ControlEffect::Call(outside));
            }
            1 => {
                let condition = self.predicate();
                self.write_meaning(condition, guard, not);
            }
            2 => {
                let (skip, condition) = (self.new_label(), self.predicate());
                self.jump(condition, skip);
                self.write_meaning(ALWAYS, guard, not);
                self.bind(skip);
            }
            3 => {
                let read = self.register();
                let condition = self.predicate();
                self.write(condition, &[read], &[guard], ValueDependence::Function);
            }
            _ => {}
        }
    }

    /// Emits a guarded write of `cell` whose meaning is `value`.
    fn write_meaning(&mut self, condition: ExecCondition, cell: Cell, value: Expr) {
        let mut reads = SmallVec::new();
        cells_of(&value, &mut reads);
        self.emit(Op {
            addr: CodeAddr::default(),
            condition,
            reads,
            writes: SmallVec::from_slice(&[cell]),
            value: ValueDependence::Function,
            control: ControlEffect::Next,
            barrier: false,
            scope: OpScope::Lane,
            meaning: Some(Meaning::set(cell, value)),
        });
    }
}

/// Appends the cells that an expression reads.
fn cells_of(value: &Expr, cells: &mut SmallVec<[Cell; 6]>) {
    match value {
        Expr::Cell(cell) => cells.push(*cell),
        Expr::Binary(_, a, b) => {
            cells_of(a, cells);
            cells_of(b, cells);
        }
        _ => {}
    }
}
