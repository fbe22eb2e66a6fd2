//! Program shapes that exercise one rule of the analyses and that random structure rarely contains. Each states the
//! rule under "Needs".

use warpbound_base::CodeAddr;
use warpbound_ir::{Cell, Code, ControlEffect, ExecCondition, Expr, Meaning, Op, ValueDependence};
use warpbound_isa::instr::{CcTest, StackToken};

use super::{ANCHOR, Label, PREDICATES, ProgramWriter, REGISTERS};

const ALWAYS: ExecCondition = ExecCondition::ALWAYS;

/// Generates a loop with two headers. At one header lanes are pending while others iterate; at the other all lanes have
/// reconverged. The order of the headers is random.
///
/// Needs: a loop iterates in lockstep only if lanes are pending at none of its headers.
pub fn two_headers(rng: &mut fastrand::Rng) -> Code {
    let mut w = ProgramWriter::new(rng);
    let [met, apart, side, reconverge] = [(); 4].map(|()| w.new_label());
    let met_first = w.rng.bool();
    w.start_chain();
    w.data(2);
    w.push(StackToken::Sync, reconverge);
    let to = w.predicate();
    w.jump(to, if met_first { apart } else { met });
    let write_met = |w: &mut ProgramWriter<'_>| {
        w.bind(met);
        w.data(1);
        w.push(StackToken::Sync, reconverge);
        w.jump(ALWAYS, apart);
    };
    if met_first {
        write_met(&mut w);
    }
    w.bind(apart);
    w.write_lane_values();
    let part = w.predicate();
    w.jump(part, side);
    w.data(1);
    let again = w.fresh_predicate();
    w.jump(again, apart);
    w.control(ALWAYS, ControlEffect::Pop(StackToken::Sync));
    w.bind(side);
    w.data(1);
    let again = w.fresh_predicate();
    w.jump(again, apart);
    w.control(ALWAYS, ControlEffect::Pop(StackToken::Sync));
    if !met_first {
        write_met(&mut w);
    }
    w.bind(reconverge);
    w.data(1);
    let again = w.fresh_predicate();
    w.jump(again, met);
    w.control(ALWAYS, ControlEffect::Exit);
    w.finish()
}

/// Generates an inner loop that pushes an entry, is left for the header of the outer loop, and is entered again when
/// that header unwinds to the entry.
///
/// Needs: resuming an entry to which lanes unwind from outside a loop enters the loop, wherever the entry was pushed.
pub fn unwound_from_outside(rng: &mut fastrand::Rng) -> Code {
    let mut w = ProgramWriter::new(rng);
    let [outer, inner, resume] = [(); 3].map(|()| w.new_label());
    let token = [StackToken::Sync, StackToken::Brk][w.rng.usize(0..2)];
    w.start_chain();
    w.data(1);
    w.push(token, inner);
    w.bind(outer);
    w.data(1);
    let leaves = w.fresh_predicate();
    w.control(leaves, ControlEffect::Exit);
    w.control(ALWAYS, ControlEffect::Pop(token));
    w.bind(inner);
    w.data(1);
    w.push(token, resume);
    let out = w.predicate();
    w.jump(out, outer);
    w.control(ALWAYS, ControlEffect::Pop(token));
    w.bind(resume);
    w.data(2);
    let again = w.fresh_predicate();
    w.jump(again, inner);
    w.control(ALWAYS, ControlEffect::Exit);
    w.finish()
}

/// Generates an indirect jump to one of several blocks, in half of the cases in a loop, through a pointer that guards
/// or branches select.
///
/// Needs: a guarded write also keeps the old value, and a join keeps the values of all predecessors.
pub fn selected_targets(rng: &mut fastrand::Rng) -> Code {
    let mut w = ProgramWriter::new(rng);
    let end = w.new_label();
    let targets: Vec<Label> = (0..w.rng.usize(2..5)).map(|_| w.new_label()).collect();
    w.start_chain();
    w.write_lane_values();
    let head = w.bind_new_label();
    w.data(1);
    w.select_pointer(&targets);
    w.jump_to_pointer();
    for &target in &targets {
        w.bind(target);
        let count = w.rng.usize(1..6);
        w.data(count);
        w.jump(ALWAYS, end);
    }
    w.bind(end);
    if w.rng.bool() {
        let again = w.fresh_predicate();
        w.jump(again, head);
    }
    w.control(ALWAYS, ControlEffect::Exit);
    w.finish()
}

/// Generates a jump to a function that is a call for some lanes and none for others: in half of the cases they arrive
/// with the return entry of a PRET, else with the caller's return entry or a SYNC entry on top. Which of the two an
/// analysis visits first follows from their addresses, and is random.
///
/// Needs: the node at which a jump continues depends on the jump alone, however many stacks its lanes arrive with.
pub fn jump_or_call(rng: &mut fastrand::Rng) -> Code {
    let mut w = ProgramWriter::new(rng);
    let [caller, function, site, push, back] = [(); 5].map(|()| w.new_label());
    w.functions = vec![caller, function];
    w.start_chain();
    w.write_lane_values();
    let head = w.bind_new_label();
    w.call(caller);
    let again = w.fresh_predicate();
    w.jump(again, head);
    w.control(ALWAYS, ControlEffect::Exit);
    w.bind(caller);
    w.data(1);
    if w.rng.bool() {
        w.push(StackToken::Sync, back);
    }
    let part = w.predicate();
    // In one case of four the jump is never a call.
    let order = w.rng.u8(0..4);
    match order {
        0 | 1 => {
            w.jump(part, site);
            w.push(StackToken::Ret, back);
        }
        2 => w.jump(part, push),
        _ => {}
    }
    w.bind(site);
    w.data(1);
    w.write_pointer(ALWAYS, function);
    if w.rng.bool() {
        let guard = w.predicate();
        w.write_pointer(guard, back);
    }
    w.jump_to_pointer();
    w.bind(push);
    w.push(StackToken::Ret, back);
    w.jump(ALWAYS, site);
    w.bind(back);
    w.data(1);
    let again = w.fresh_predicate();
    w.jump(again, site);
    w.control(ALWAYS, ControlEffect::Pop(StackToken::Ret));
    w.bind(function);
    w.data(2);
    if w.rng.bool() {
        let again = w.fresh_predicate();
        w.jump(again, function);
    }
    w.control(ALWAYS, ControlEffect::Pop(StackToken::Ret));
    w.finish()
}

/// Generates two calls of one function.
pub fn two_calls() -> Code {
    let mut rng = fastrand::Rng::with_seed(0);
    let mut w = ProgramWriter::new(&mut rng);
    let callee = w.new_label();
    w.functions = vec![callee];
    w.call(callee);
    w.call(callee);
    w.control(ALWAYS, ControlEffect::Exit);
    w.bind(callee);
    w.data(2);
    w.control(ALWAYS, ControlEffect::Pop(StackToken::Ret));
    w.finish()
}

/// Generates a call through pointers that differ in all lanes and name no code of the file.
///
/// Needs: the warp executes every callee of its lanes.
pub fn divergent_external_call() -> Code {
    let mut rng = fastrand::Rng::with_seed(0);
    let mut w = ProgramWriter::new(&mut rng);
    let back = w.new_label();
    let pointer = Cell::gpr(0);
    w.write(ALWAYS, &[pointer], &[pointer], ValueDependence::Lane);
    w.push(StackToken::Ret, back);
    let control = ControlEffect::Indirect {
        base: Some(pointer),
        anchor: 1 << 40,
        relative: true,
    };
    w.control(ALWAYS, control);
    w.bind(back);
    w.control(ALWAYS, ControlEffect::Exit);
    w.finish()
}

impl ProgramWriter<'_> {
    /// Emits writes after which lanes disagree on a register and a predicate.
    pub(super) fn write_lane_values(&mut self) {
        let (a, p) = (self.register(), Cell::pred(self.rng.u8(0..PREDICATES)));
        self.write(ALWAYS, &[a], &[a], ValueDependence::Lane);
        self.write(ALWAYS, &[a], &[p], ValueDependence::Function);
    }

    /// Emits two writes of one cell under a guard and under its complement, often with operations between them that
    /// invalidate the pair: another write of the guard or of the cell, or a condition that only one of the writes has.
    ///
    /// Needs: such a pair replaces the old value of the cell only if neither cell nor guard is written between its
    /// halves.
    pub(super) fn complementary_writes(&mut self) {
        let (cell, guard) = (self.register(), Cell::pred(self.rng.u8(0..PREDICATES)));
        if self.rng.bool() {
            self.write(ALWAYS, &[cell], &[cell], ValueDependence::Lane);
        }
        self.write_often_agreeing(ALWAYS, guard);
        let tests_cc = self.rng.u8(0..6) == 0;
        if tests_cc {
            self.write_often_agreeing(ALWAYS, Cell::CC);
        }
        let first = ExecCondition {
            guard: Some(guard),
            negated: self.rng.bool(),
            cc_test: if tests_cc { CcTest(1) } else { CcTest::TRUE },
            further: None,
        };
        self.write_often_agreeing(first, cell);
        for _ in 0..self.rng.usize(0..3) {
            let (condition, other) = (self.predicate(), self.register());
            match self.rng.u8(0..7) {
                0 | 1 => self.write_often_agreeing(ALWAYS, guard),
                2 => self.write_often_agreeing(condition, guard),
                3 => self.write(condition, &[cell], &[cell], ValueDependence::Lane),
                4 => self.write_often_agreeing(condition, cell),
                5 => self.write(ALWAYS, &[], &[other, Cell::CC], ValueDependence::Function),
                _ => self.data(1),
            }
        }
        let second = match self.rng.u8(0..8) {
            0 => self.predicate(),
            1 => first,
            2 => ExecCondition {
                negated: !first.negated,
                cc_test: self.cc_test(),
                further: None,
                ..first
            },
            _ => ExecCondition {
                negated: !first.negated,
                ..first
            },
        };
        self.write_often_agreeing(second, cell);
    }

    /// Draws a test of the condition code, in most cases the one that always holds.
    pub(super) fn cc_test(&mut self) -> CcTest {
        match self.rng.u8(0..12) {
            0 => CcTest(1),
            _ => CcTest::TRUE,
        }
    }

    /// Emits a write on whose value lanes agree in most cases.
    fn write_often_agreeing(&mut self, condition: ExecCondition, cell: Cell) {
        let read = self.register();
        match self.rng.u8(0..8) {
            0 => self.write(condition, &[read], &[cell], ValueDependence::Lane),
            1 | 2 => self.write(condition, &[read], &[cell], ValueDependence::Function),
            _ => self.write(condition, &[], &[cell], ValueDependence::Function),
        }
    }

    /// Writes the address of one of `targets` to the register of indirect jumps: by guarded writes, or on branches that
    /// join, with or without reconvergence.
    pub(super) fn select_pointer(&mut self, targets: &[Label]) {
        let Some((&first, rest)) = targets.split_first() else {
            return;
        };
        if self.rng.bool() {
            self.write_pointer(ALWAYS, first);
            for &target in rest {
                let guard = self.predicate();
                self.write_pointer(guard, target);
            }
            return;
        }
        let join = self.new_label();
        let reconverge = self.rng.bool();
        if reconverge {
            self.push(StackToken::Sync, join);
        }
        for &target in rest {
            let skip = self.new_label();
            let guard = self.predicate();
            self.jump(guard, skip);
            self.write_pointer(ALWAYS, target);
            self.continue_at(join, reconverge);
            self.bind(skip);
        }
        self.write_pointer(ALWAYS, first);
        self.continue_at(join, reconverge);
        self.bind(join);
    }

    fn continue_at(&mut self, join: Label, reconverge: bool) {
        match reconverge {
            true => self.control(ALWAYS, ControlEffect::Pop(StackToken::Sync)),
            false => self.jump(ALWAYS, join),
        }
    }

    /// Emits a guarded write of the address of `target`; [`ProgramWriter::finish`] fills in the word.
    fn write_pointer(&mut self, guard: ExecCondition, target: Label) {
        self.pointers.push((self.ops.len(), target));
        self.write(
            guard,
            &[],
            &[Cell::gpr(REGISTERS)],
            ValueDependence::Function,
        );
    }
}

/// Register value of an indirect jump to `addr`.
pub(super) fn pointer_word(addr: CodeAddr) -> u32 {
    (i64::from(addr.0) - ANCHOR) as i32 as u32
}

/// Gives `op` the meaning of writing the address `addr`.
pub(super) fn set_pointer(op: &mut Op, addr: CodeAddr) {
    let written = op.writes.first().copied();
    op.meaning = written.map(|cell| Meaning::set(cell, Expr::Const(pointer_word(addr))));
}
