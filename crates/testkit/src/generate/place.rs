//! Programs whose branches are decided by the place of a thread in its block.

use smallvec::SmallVec;
use warpbound_base::CodeAddr;
use warpbound_ir::{BinaryOp, Cell, Code, ExecCondition, ControlEffect, Expr, Meaning, Op, ControlTarget, ValueDependence};
use warpbound_isa::instr::{CcTest, StackToken};

use super::{Label, PREDICATES, REGISTERS, Writer};

const ALWAYS: ExecCondition = ExecCondition::ALWAYS;

/// Numbers of S2R: the thread's place in x, y and z.
const PLACE: [u8; 3] = [33, 34, 35];

/// Branches and exits whose guard compares the thread's place: in and out of loops, in functions, with guards that other
/// guarded writes and joins have changed, one after the other. In what follows lanes go different ways.
///
/// Needs: only so many lanes of any warp pass such a guard, and each once, if it is in no loop.
pub fn by_place(rng: &mut fastrand::Rng) -> Code {
    let mut w = Writer::new(rng);
    let function = (w.rng.u8(0..4) == 0).then(|| w.label());
    w.functions.extend(function);
    w.begin_chain();
    w.data(2);
    for _ in 0..w.rng.usize(1..4) {
        match (w.rng.u8(0..6), function) {
            (0, _) => {
                let head = w.here();
                w.place_statement(function);
                let again = w.fresh_predicate();
                w.jump(again, head);
            }
            (1, Some(function)) => w.call(function),
            _ => w.place_statement(function),
        }
    }
    w.control(ALWAYS, ControlEffect::Exit);
    if let Some(function) = function {
        w.bind(function);
        w.place_statement(None);
        if w.rng.bool() {
            // Perhaps the function calls itself.
            let guard = w.place_guard();
            w.control(guard, ControlEffect::Unwind(StackToken::Ret));
            let more = w.fresh_predicate();
            w.control(more, ControlEffect::Unwind(StackToken::Ret));
            w.call(function);
        }
        w.control(ALWAYS, ControlEffect::Unwind(StackToken::Ret));
    }
    w.finish()
}

impl Writer<'_> {
    /// A branch on the place of the thread, and code in which lanes diverge for those that pass.
    fn place_statement(&mut self, function: Option<Label>) {
        let guard = self.place_guard();
        let (end, other) = (self.label(), self.label());
        let sync = ControlEffect::Unwind(StackToken::Sync);
        match self.rng.u8(0..8) {
            0..=2 => self.control(guard, ControlEffect::Exit),
            3 => {
                self.push(StackToken::Sync, end);
                self.jump(guard, other);
                self.apart(function);
                self.control(ALWAYS, sync.clone());
                self.bind(other);
                self.apart(None);
                self.control(ALWAYS, sync);
            }
            4 => {
                self.push(StackToken::Sync, end);
                self.control(guard, sync.clone());
                self.apart(function);
                self.control(ALWAYS, sync);
            }
            5 => self.jump(guard, end),
            // Both ways lead to the same operation.
            6 => {
                self.jump(guard, other);
                self.bind(other);
            }
            _ => {
                self.jump(guard, other);
                self.apart(function);
                self.jump(ALWAYS, end);
                self.bind(other);
            }
        }
        self.apart(function);
        self.bind(end);
    }

    /// A loop that lanes leave at different times, around a branch on which they disagree.
    fn apart(&mut self, function: Option<Label>) {
        match (self.rng.u8(0..5), function) {
            (0, Some(function)) => self.call(function),
            (1, _) => self.body(1, 0, 0),
            _ => {
                let (side, join) = (self.label(), self.label());
                let head = self.here();
                self.lane_data();
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

    /// Writes a predicate that compares the thread's place with a constant, in most cases; a condition on it.
    fn place_guard(&mut self) -> ExecCondition {
        let (place, sum) = (Cell::gpr(REGISTERS + 2), Cell::gpr(REGISTERS + 3));
        let guard = Cell::pred(PREDICATES + self.rng.u8(0..2));
        let axis = PLACE[[0, 0, 0, 1, 2][self.rng.usize(0..5)]];
        self.write(ALWAYS, &[], &[place], ValueDependence::Special(axis));
        let of = |op, cell: Cell, n| Expr::binary(op, Expr::Cell(cell), Expr::Const(n));
        let mut compared = place;
        match self.rng.u8(0..8) {
            0 => self.mean(ALWAYS, sum, of(BinaryOp::And, place, 0xffff)),
            1 => self.mean(ALWAYS, sum, of(BinaryOp::Shr, place, 1)),
            2 => self.mean(ALWAYS, sum, of(BinaryOp::Sub, place, 1)),
            3 => {
                let other = PLACE[self.rng.usize(0..3)];
                self.write(ALWAYS, &[], &[sum], ValueDependence::Special(other));
                let sum_of = Expr::binary(BinaryOp::Add, Expr::Cell(place), Expr::Cell(sum));
                self.mean(ALWAYS, sum, sum_of);
            }
            // The second value replaces the first where some other guard holds.
            4 => {
                self.mean(ALWAYS, sum, of(BinaryOp::Add, place, 0));
                let when = self.predicate();
                let n = self.rng.u32(0..3);
                self.mean(when, sum, Expr::Const(n));
            }
            _ => {}
        }
        if self.rng.u8(0..8) < 5 {
            compared = sum;
            if self.rng.bool() {
                self.mean(ALWAYS, sum, of(BinaryOp::Mul, place, 1));
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
        self.mean(ALWAYS, guard, of(op, compared, n));
        self.change_guard(guard);
        ExecCondition {
            guard: Some(guard),
            negated: self.rng.bool(),
            cc_test: match self.rng.u8(0..16) {
                0 => CcTest(1),
                _ => CcTest::TRUE,
            },
        }
    }

    /// Now and then another value for a guard: under a guard, on one side of a branch, or by nobody knows what, a function
    /// outside the file for example.
    fn change_guard(&mut self, guard: Cell) {
        let not = Expr::binary(BinaryOp::Xor, Expr::Cell(guard), Expr::Const(1));
        match self.rng.u8(0..12) {
            0 | 4 => {
                let other = Cell::pred(PREDICATES + 2);
                let place = Expr::Cell(Cell::gpr(REGISTERS + 2));
                let n = Expr::Const(self.rng.u32(1..4));
                self.mean(ALWAYS, other, Expr::binary(BinaryOp::LtU, place, n));
                let when = ExecCondition {
                    guard: Some(other),
                    negated: self.rng.bool(),
                    cc_test: CcTest::TRUE,
                };
                self.mean(when, guard, not);
            }
            5 => {
                let outside = ControlTarget::External("outside".to_owned());
                self.control(ALWAYS, ControlEffect::Call(outside));
            }
            1 => {
                let when = self.predicate();
                self.mean(when, guard, not);
            }
            2 => {
                let (skip, when) = (self.label(), self.predicate());
                self.jump(when, skip);
                self.mean(ALWAYS, guard, not);
                self.bind(skip);
            }
            3 => {
                let read = self.register();
                let when = self.predicate();
                self.write(when, &[read], &[guard], ValueDependence::Function);
            }
            _ => {}
        }
    }

    /// A write with a meaning.
    fn mean(&mut self, when: ExecCondition, cell: Cell, value: Expr) {
        let mut reads = SmallVec::new();
        cells_of(&value, &mut reads);
        self.emit(Op {
            addr: CodeAddr::default(),
            condition: when,
            reads,
            writes: SmallVec::from_slice(&[cell]),
            value: ValueDependence::Function,
            control: ControlEffect::Next,
            barrier: false,
            meaning: Some(Meaning::set(cell, value)),
        });
    }
}

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
