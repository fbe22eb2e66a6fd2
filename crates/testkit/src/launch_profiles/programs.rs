//! Random programs that end, for launch profiles: structured control flow with SSY, PBK, calls and early exits,
//! decided by indices, loaded words, and values of other lanes.

mod divisions;
mod shapes;

use std::collections::BTreeSet;

use fastrand::Rng;
use smallvec::{SmallVec, smallvec};
use warpbound_analyse::launch_profile::StatedLoop;
use warpbound_base::CodeAddr;
use warpbound_ir::{
    Address, BarrierArrival, BinaryOp, Cell, Code, ControlEffect, ControlTarget, ExecCondition,
    Expr, Meaning, Op, OpIndex, OpScope, ShuffleMode, ValueDependence, VoteMode, Width,
};
use warpbound_isa::instr::{CcTest, MemorySpace, StackToken};
use warpbound_isa::{Axis, SpecialReg};

/// Words of each buffer of a launch of these programs.
pub const BUFFER_WORDS: u32 = 16;

/// Byte addresses in bank 0 of the addresses of the buffers: that which is written, and that which is only read.
pub const BUFFERS: [u32; 2] = [0x140, 0x148];

/// Loops execute their header less often than this, for each entry.
const MAX_ROUNDS: u32 = 5;

/// Registers that statements compute with.
const NUMBERS: std::ops::Range<u8> = 0..8;

/// First register of loop counters.
const COUNTERS: u8 = 8;

/// Predicate of conditions.
const CONDITION: Cell = Cell::pred(0);

/// A program, and bounds of its loops that memory may decide.
#[derive(Clone, Debug)]
pub struct ProfiledProgram {
    /// The program.
    pub code: Code,
    /// Bounds that every run obeys.
    pub loops: Vec<StatedLoop>,
}

impl ProfiledProgram {
    /// A random program; equal seeds give equal programs.
    pub fn random(seed: u64) -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(seed));
        builder.start();
        builder.statements(3, false);
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// A random program with barriers between its statements, some of them in a loop: all lanes that have not ended
    /// pass them together.
    pub fn random_with_barriers(seed: u64) -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(seed));
        builder.rejoins = true;
        builder.start();
        for _ in 0..builder.rng.u8(1..4) {
            builder.statements(2, false);
            builder.barrier();
        }
        let rounds = builder.rng.u32(1..MAX_ROUNDS);
        let block = Expr::Special(SpecialReg::BlockIndex(Axis::X));
        let limit = match builder.rng.u8(0..3) {
            0 => Expr::Const(rounds),
            1 => Expr::binary(BinaryOp::MinU, block, Expr::Const(rounds)),
            _ => {
                // A word of memory decides how many barriers the warps of a block pass.
                let word = Cell::gpr(2);
                builder.assign(word, block);
                let address = builder.address_at(1, word);
                builder.load_to(word, address);
                Expr::binary(BinaryOp::MinU, Expr::Cell(word), Expr::Const(rounds))
            }
        };
        builder.round_loop(limit, |builder| {
            builder.statements(1, false);
            builder.barrier();
        });
        builder.statements(1, false);
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// Lanes below 16 end a loop as often as lane 20 says, which is on the other side of a branch and has changed its
    /// mind there if that side ran first.
    pub fn shuffle_across_sides() -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        let own = Cell::gpr(2);
        builder.start();
        builder.assign(own, Expr::Const(1));
        let join = builder.push(StackToken::Sync);
        builder.compare(BinaryOp::LtU, Expr::Cell(Cell::gpr(0)), Expr::Const(16));
        let branch = builder.jump(guard(true));
        let shuffle = Meaning::Shuffle {
            dest: Some(own),
            in_range: None,
            mode: ShuffleMode::Index,
            value: Expr::Cell(own),
            lane: Expr::Const(20),
            limit: Expr::Const(0x1f),
        };
        builder.data(shuffle, ExecCondition::ALWAYS);
        builder.counted_loop(Expr::Cell(own), |_| ());
        builder.pop(StackToken::Sync, ExecCondition::ALWAYS);
        builder.lands_here(branch);
        builder.assign(own, Expr::Const(4));
        builder.pop(StackToken::Sync, ExecCondition::ALWAYS);
        builder.lands_here(join);
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// The program with each operation changed: what a faulty profiler would see.
    #[must_use]
    pub fn changed(&self, change: impl Fn(&mut Op)) -> ProfiledProgram {
        let mut changed = self.clone();
        changed.code.ops.iter_mut().for_each(change);
        changed
    }
}

/// Condition on [`CONDITION`].
fn guard(negated: bool) -> ExecCondition {
    ExecCondition {
        guard: Some(CONDITION),
        negated,
        cc_test: CcTest::TRUE,
        further: None,
    }
}

struct Builder {
    rng: Rng,
    code: Code,
    loops: Vec<StatedLoop>,
    /// Calls whose target is the function after the program.
    calls: Vec<usize>,
    depth: u8,
    /// Whether the sides of each branch meet again.
    rejoins: bool,
}

impl Builder {
    fn new(rng: Rng) -> Builder {
        Builder {
            rng,
            code: Code::default(),
            loops: Vec::new(),
            calls: Vec::new(),
            depth: 0,
            rejoins: false,
        }
    }

    /// Adds the function, and returns the program.
    fn finish(mut self) -> ProfiledProgram {
        let function = self.here();
        for call in std::mem::take(&mut self.calls) {
            self.lands_at(call, function);
        }
        self.statements(1, true);
        self.pop(StackToken::Ret, ExecCondition::ALWAYS);
        ProfiledProgram {
            code: self.code,
            loops: self.loops,
        }
    }

    fn here(&self) -> usize {
        self.code.ops.len()
    }

    fn op(
        &mut self,
        control: ControlEffect,
        condition: ExecCondition,
        meaning: Option<Meaning>,
    ) -> usize {
        let at = self.here();
        let meaning = meaning.unwrap_or_else(Meaning::nothing);
        let (reads, writes) = cells_of(&meaning);
        self.code.ops.push(Op {
            addr: CodeAddr(8 * at as u32),
            condition,
            reads,
            writes,
            value: ValueDependence::Function,
            control,
            barrier: false,
            scope: OpScope::Lane,
            meaning: Some(meaning),
        });
        at
    }

    fn data(&mut self, meaning: Meaning, condition: ExecCondition) {
        self.op(ControlEffect::Next, condition, Some(meaning));
    }

    fn assign(&mut self, cell: Cell, value: Expr) {
        self.data(Meaning::set(cell, value), ExecCondition::ALWAYS);
    }

    fn compare(&mut self, op: BinaryOp, a: Expr, b: Expr) {
        self.assign(CONDITION, Expr::binary(op, a, b));
    }

    /// A push whose target [`Builder::lands_here`] sets.
    fn push(&mut self, token: StackToken) -> usize {
        let target = ControlTarget::Op(OpIndex(0));
        self.op(
            ControlEffect::Push(token, target),
            ExecCondition::ALWAYS,
            None,
        )
    }

    /// A jump whose target [`Builder::lands_here`] sets.
    fn jump(&mut self, condition: ExecCondition) -> usize {
        let target = ControlTarget::Op(OpIndex(0));
        self.op(ControlEffect::Jump(target), condition, None)
    }

    fn pop(&mut self, token: StackToken, condition: ExecCondition) {
        self.op(ControlEffect::Pop(token), condition, None);
    }

    fn lands_here(&mut self, from: usize) {
        self.lands_at(from, self.here());
    }

    fn lands_at(&mut self, from: usize, to: usize) {
        if let ControlEffect::Jump(target)
        | ControlEffect::Push(_, target)
        | ControlEffect::Call(target) = &mut self.code.ops[from].control
        {
            *target = ControlTarget::Op(OpIndex(to as u32));
        }
    }

    /// The indices of the thread and its block, and words of both buffers.
    fn start(&mut self) {
        self.assign(
            Cell::gpr(0),
            Expr::Special(SpecialReg::ThreadIndex(Axis::X)),
        );
        self.assign(Cell::gpr(1), Expr::Special(SpecialReg::BlockIndex(Axis::X)));
        self.assign(
            Cell::gpr(4),
            Expr::Special(SpecialReg::ThreadIndex(Axis::Y)),
        );
        for number in [2, 3, 5, 6, 7] {
            let value = self.rng.u32(0..8);
            self.assign(Cell::gpr(number), Expr::Const(value));
        }
    }

    fn number(&mut self) -> Cell {
        Cell::gpr(self.rng.u8(NUMBERS))
    }

    fn operand(&mut self) -> Expr {
        match self.rng.u8(0..3) {
            0 => Expr::Const(self.rng.u32(0..40)),
            _ => Expr::Cell(self.number()),
        }
    }

    fn random_compare(&mut self) {
        let ops = [BinaryOp::LtU, BinaryOp::Eq, BinaryOp::Ne, BinaryOp::LeS];
        let op = ops[self.rng.usize(..ops.len())];
        let (a, b) = (Expr::Cell(self.number()), self.operand());
        self.compare(op, a, b);
    }

    /// Sets the condition of a branch: a comparison, sometimes of what another lane has, or of what all lanes have.
    fn condition(&mut self) {
        match self.rng.u8(0..6) {
            0 => {
                let number = self.number();
                self.shuffle(number, None);
                let operand = self.operand();
                self.compare(BinaryOp::LtU, Expr::Cell(number), operand);
            }
            1 => self.vote(CONDITION),
            _ => self.random_compare(),
        }
    }

    /// Some statements; with `flat` without loops, calls and exits.
    fn statements(&mut self, depth: u8, flat: bool) {
        for _ in 0..self.rng.u8(2..5) {
            self.statement(depth, flat);
        }
    }

    fn statement(&mut self, depth: u8, flat: bool) {
        match self.rng.u8(0..15) {
            0 | 1 => self.random_assign(),
            14 if depth > 0 && !flat => self.constant_for_some(),
            2 | 3 => self.load(),
            4 => self.store(),
            5 => {
                let number = self.number();
                self.vote(number);
            }
            6 => {
                let number = self.number();
                let in_range = self.rng.bool().then_some(CONDITION);
                self.shuffle(number, in_range);
            }
            7 if !flat => {
                self.condition();
                self.op(ControlEffect::Exit, guard(false), None);
            }
            8 if !flat && self.depth == 0 => {
                let target = ControlTarget::Op(OpIndex(0));
                let call = self.op(ControlEffect::Call(target), ExecCondition::ALWAYS, None);
                self.calls.push(call);
            }
            9 | 10 if depth > 0 && !flat => {
                let limit = self.operand();
                let most = Expr::Const(self.rng.u32(1..MAX_ROUNDS));
                let limit = Expr::binary(BinaryOp::MinU, limit, most);
                self.counted_loop(limit, |builder| builder.statements(depth - 1, false));
            }
            _ if depth > 0 => self.branch(depth, flat),
            _ => self.random_assign(),
        }
    }

    fn random_assign(&mut self) {
        let ops = [BinaryOp::Add, BinaryOp::And, BinaryOp::Xor, BinaryOp::Mul];
        let op = ops[self.rng.usize(..ops.len())];
        let (a, b) = (Expr::Cell(self.number()), self.operand());
        let (cell, condition) = (self.number(), self.sometimes_guarded());
        self.data(Meaning::set(cell, Expr::binary(op, a, b)), condition);
    }

    /// Sets a number to a constant where a comparison holds, and decides a branch by it: in a warp whose lanes all
    /// fail, the number still follows from the comparison.
    fn constant_for_some(&mut self) {
        let index = [Cell::gpr(0), Cell::gpr(1), Cell::gpr(4)][self.rng.usize(0..3)];
        let (number, few) = (self.number(), self.rng.u32(0..4));
        let first = self.rng.u32(0..3);
        self.assign(number, Expr::Const(first));
        self.compare(BinaryOp::Eq, Expr::Cell(index), Expr::Const(few));
        let other = self.rng.u32(3..9);
        let negated = self.rng.bool();
        self.data(Meaning::set(number, Expr::Const(other)), guard(negated));
        let limit = Expr::binary(
            BinaryOp::MinU,
            Expr::Cell(number),
            Expr::Const(MAX_ROUNDS - 1),
        );
        self.counted_loop(limit, |builder| builder.random_assign());
    }

    fn sometimes_guarded(&mut self) -> ExecCondition {
        match self.rng.u8(0..4) {
            0 => guard(self.rng.bool()),
            _ => ExecCondition::ALWAYS,
        }
    }

    /// Address of a word of a buffer.
    fn address(&mut self, buffer: usize) -> Address {
        let number = self.number();
        self.address_at(buffer, number)
    }

    /// Address of the word of a buffer whose index a number holds.
    fn address_at(&self, buffer: usize, number: Cell) -> Address {
        let base = BUFFERS[buffer];
        let index = Expr::binary(
            BinaryOp::And,
            Expr::Cell(number),
            Expr::Const(BUFFER_WORDS - 1),
        );
        let offset = Expr::binary(BinaryOp::Shl, index, Expr::Const(2));
        let constant = |at| Expr::Constant(0, Box::new(Expr::Const(at)));
        Address {
            low: Expr::binary(BinaryOp::Add, constant(base), offset),
            high: Some(constant(base + 4)),
            buffer: None,
            second_half: None,
        }
    }

    fn load(&mut self) {
        let buffer = self.rng.usize(0..2);
        let load = Meaning::Load {
            dests: smallvec![Some(self.number())],
            width: Width::Words,
            space: MemorySpace::Global,
            address: self.address(buffer),
        };
        let condition = self.sometimes_guarded();
        self.data(load, condition);
    }

    fn load_to(&mut self, dest: Cell, address: Address) {
        let load = Meaning::Load {
            dests: smallvec![Some(dest)],
            width: Width::Words,
            space: MemorySpace::Global,
            address,
        };
        self.data(load, ExecCondition::ALWAYS);
    }

    fn store(&mut self) {
        let store = Meaning::Store {
            values: smallvec![Expr::Cell(self.number())],
            width: Width::Words,
            space: MemorySpace::Global,
            address: self.address(0),
        };
        let condition = self.sometimes_guarded();
        self.data(store, condition);
    }

    fn vote(&mut self, result: Cell) {
        self.random_compare();
        let modes = [VoteMode::All, VoteMode::Any, VoteMode::Same];
        let vote = Meaning::Vote {
            ballot: (self.rng.bool() && result != Cell::gpr(5)).then(|| Cell::gpr(5)),
            result: Some(result),
            mode: modes[self.rng.usize(..modes.len())],
            predicate: Expr::Cell(CONDITION),
        };
        self.data(vote, ExecCondition::ALWAYS);
    }

    fn shuffle(&mut self, dest: Cell, in_range: Option<Cell>) {
        let modes = [
            ShuffleMode::Index,
            ShuffleMode::Up,
            ShuffleMode::Down,
            ShuffleMode::Butterfly,
        ];
        let shuffle = Meaning::Shuffle {
            dest: Some(dest),
            in_range,
            mode: modes[self.rng.usize(..modes.len())],
            value: Expr::Cell(self.number()),
            lane: self.operand(),
            limit: Expr::Const(0x1f),
        };
        self.data(shuffle, ExecCondition::ALWAYS);
    }

    /// A branch, in one of the forms of compilers.
    fn branch(&mut self, depth: u8, flat: bool) {
        match self.rng.u8(u8::from(self.rejoins)..3) {
            // Without a push the sides do not reconverge.
            0 => {
                self.condition();
                let condition = guard(self.rng.bool());
                let over = self.jump(condition);
                self.statements(depth - 1, flat);
                self.lands_here(over);
            }
            1 => {
                let join = self.push(StackToken::Sync);
                self.condition();
                let condition = guard(self.rng.bool());
                self.pop(StackToken::Sync, condition);
                self.statements(depth - 1, flat);
                self.pop(StackToken::Sync, ExecCondition::ALWAYS);
                self.lands_here(join);
            }
            _ => {
                let join = self.push(StackToken::Sync);
                self.condition();
                let otherwise = self.jump(guard(true));
                self.statements(depth - 1, flat);
                self.pop(StackToken::Sync, ExecCondition::ALWAYS);
                self.lands_here(otherwise);
                self.statements(depth - 1, flat);
                self.pop(StackToken::Sync, ExecCondition::ALWAYS);
                self.lands_here(join);
            }
        }
    }

    /// A barrier of all threads of the block.
    fn barrier(&mut self) {
        let barrier = Meaning::Barrier {
            number: Expr::Const(0),
            threads: Expr::Const(0),
            arrival: BarrierArrival::Wait,
        };
        let at = self.op(ControlEffect::Next, ExecCondition::ALWAYS, Some(barrier));
        self.code.ops[at].barrier = true;
    }

    /// A loop of at most as many rounds as the limit at its entry says, and at least one; sometimes with an early
    /// break.
    fn counted_loop(&mut self, limit: Expr, body: impl FnOnce(&mut Builder)) {
        self.loop_until(limit, true, body);
    }

    /// A loop of as many rounds as the limit at its entry says, and at least one.
    fn round_loop(&mut self, limit: Expr, body: impl FnOnce(&mut Builder)) {
        self.loop_until(limit, false, body);
    }

    fn loop_until(&mut self, limit: Expr, may_break: bool, body: impl FnOnce(&mut Builder)) {
        let counter = Cell::gpr(COUNTERS + 2 * self.depth);
        let last = Cell::gpr(COUNTERS + 2 * self.depth + 1);
        self.depth += 1;
        self.assign(counter, Expr::Const(0));
        self.assign(last, limit);
        let out = self.push(StackToken::Brk);
        let head = self.here();
        let next = Expr::binary(BinaryOp::Add, Expr::Cell(counter), Expr::Const(1));
        self.assign(counter, next);
        body(self);
        if may_break && self.rng.u8(0..3) == 0 {
            self.random_compare();
            let condition = guard(self.rng.bool());
            self.pop(StackToken::Brk, condition);
        }
        self.compare(BinaryOp::LtU, Expr::Cell(counter), Expr::Cell(last));
        let back = match self.rng.bool() {
            true => {
                let back = self.jump(guard(false));
                self.pop(StackToken::Brk, ExecCondition::ALWAYS);
                back
            }
            false => {
                self.pop(StackToken::Brk, guard(true));
                self.jump(ExecCondition::ALWAYS)
            }
        };
        self.lands_at(back, head);
        let body: BTreeSet<OpIndex> = (head..=back).map(|at| OpIndex(at as u32)).collect();
        self.loops.push(StatedLoop {
            header: OpIndex(head as u32),
            body,
            bound: u64::from(MAX_ROUNDS) - 1,
        });
        self.lands_here(out);
        self.depth -= 1;
    }
}

/// Cells that a meaning reads and writes.
fn cells_of(meaning: &Meaning) -> (SmallVec<[Cell; 6]>, SmallVec<[Cell; 4]>) {
    let mut reads = SmallVec::new();
    let mut writes = SmallVec::new();
    let mut read = |expr: &Expr| expr.for_each_cell(&|_| true, &mut |cell| reads.push(cell));
    match meaning {
        Meaning::Set(sets) => {
            for (cell, value) in sets {
                writes.push(*cell);
                read(value);
            }
        }
        Meaning::Load { dests, address, .. } => {
            writes.extend(dests.iter().flatten().copied());
            std::iter::once(&address.low)
                .chain(&address.high)
                .for_each(read);
        }
        Meaning::Store {
            values, address, ..
        } => {
            let parts = std::iter::once(&address.low).chain(&address.high);
            parts.chain(values.iter()).for_each(read);
        }
        Meaning::Shuffle {
            dest,
            in_range,
            value,
            lane,
            limit,
            ..
        } => {
            writes.extend([dest, in_range].into_iter().flatten().copied());
            [value, lane, limit].into_iter().for_each(read);
        }
        Meaning::Vote {
            ballot,
            result,
            predicate,
            ..
        } => {
            writes.extend([ballot, result].into_iter().flatten().copied());
            read(predicate);
        }
        _ => {}
    }
    (reads, writes)
}
