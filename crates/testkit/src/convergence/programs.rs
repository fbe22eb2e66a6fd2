//! Random structured programs with convergence barriers, as compilers generate them: regions around branches and loops,
//! BREAK out of several regions, functions with return addresses in registers, and YIELD.

use smallvec::{SmallVec, smallvec};
use warpbound_base::{CodeAddr, Family};
use warpbound_ir::{
    BinaryOp, Cell, Code, CodeFunction, ControlEffect, ControlTarget, ExecCondition, Expr,
    FurtherTest, Meaning, Op, OpIndex, OpScope, ValueDependence, VoteMode, WarpReduction,
};
use warpbound_isa::{Reg, SpecialReg};

use super::LANES;

/// Decision of lanes at an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LaneDecision {
    /// The condition holds.
    Always,
    /// Each lane by its own data; operations with one number decide alike.
    Data(usize),
    /// Each lane by its own data, at most so often in a row.
    Again {
        /// Limit.
        most: u32,
    },
    /// All lanes of a group alike.
    Group,
    /// The condition holds; the operations begin to count anew.
    Reset(Vec<usize>),
    /// The lanes of a mask, each time.
    Known(u32),
    /// Each lane by the number of its decisions since the last reset: two bits for each lane say how many hold.
    Fewer(u32),
    /// The condition holds in these lanes; the lanes of the group note for which of them.
    Vote(u32),
    /// By what a lane noted last at an operation with [`LaneDecision::Vote`]: whether this lane was one of them.
    Ballot {
        /// The operation.
        vote: usize,
        /// The lane.
        lane: u32,
    },
    /// The same: whether the first of them is in a mask.
    First {
        /// The operation.
        vote: usize,
        /// The mask.
        mask: u32,
    },
    /// The same: whether there was one. Of other lanes than `lanes`, the condition holds in none.
    AnyVoted {
        /// The operation.
        vote: usize,
        /// The lanes.
        lanes: u32,
    },
    /// Whether a lane of a mask does not execute it with the others.
    Missing(u32),
    /// By this bit of a register that all lanes have from the launch.
    FromLaunch(u32),
    /// The lanes of a mask, if this bit of the register is 0.
    UnlessFromLaunch {
        /// The bit.
        bit: u32,
        /// The mask.
        mask: u32,
    },
}

/// Shapes that programs may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shapes {
    /// Functions.
    pub calls: bool,
    /// Functions that move a barrier of their caller into a register, and callers that move their barrier into a register
    /// before a call and into another barrier after it.
    pub spills: bool,
    /// YIELD.
    pub yields: bool,
    /// Jumps out of regions.
    pub breaks: bool,
    /// Branches that ask for the lanes of a group.
    pub group_branches: bool,
    /// Branches that each lane takes or not, whatever its cells hold; some release barriers.
    pub choices: bool,
    /// Branches on the lanes that are together: votes, a value that one lane gives to the others, lanes that are missing; and
    /// branches on a register that all lanes have from the launch.
    pub votes: bool,
}

impl Shapes {
    /// All that say nothing about values.
    pub const ALL: Shapes = Shapes {
        calls: true,
        spills: true,
        yields: true,
        breaks: true,
        group_branches: true,
        choices: true,
        votes: false,
    };

    /// All of them.
    pub const WITH_VALUES: Shapes = Shapes {
        votes: true,
        ..Shapes::ALL
    };

    /// Without branches that no values decide, so that runs reach what profiles say.
    pub const DECIDED: Shapes = Shapes {
        group_branches: false,
        choices: false,
        ..Shapes::WITH_VALUES
    };
}

/// Program with convergence barriers, and the decisions of its lanes.
#[derive(Clone, Debug)]
pub struct BarrierProgram {
    /// The operations.
    pub code: Code,
    /// For each operation, how lanes decide.
    pub decisions: Vec<LaneDecision>,
    /// Executions of a loop's header by a lane for each entry of the loop, at most.
    pub loop_bound: u64,
    /// Number from which it was made.
    pub seed: u64,
}

impl BarrierProgram {
    /// Makes a program.
    pub fn random(seed: u64, shapes: Shapes) -> BarrierProgram {
        let mut maker = Maker {
            rng: fastrand::Rng::with_seed(seed),
            shapes,
            ops: Vec::new(),
            decisions: Vec::new(),
            patches: Vec::new(),
            labels: Vec::new(),
            functions: Vec::new(),
            is_function: false,
        };
        let count = if shapes.calls {
            maker.rng.usize(0..3)
        } else {
            0
        };
        maker.functions = (0..count).map(|_| maker.labels.len()).collect();
        for function in 0..count {
            maker.functions[function] = maker.label();
        }
        maker.statements(0, &[], 6);
        maker.emit(ControlEffect::Exit, LaneDecision::Always);
        maker.is_function = true;
        let mut functions = Vec::new();
        for function in 0..count {
            functions.push(CodeFunction {
                name: format!("f{function}"),
                entry: OpIndex(maker.ops.len() as u32),
            });
            maker.function(function);
        }
        maker.finish(seed, functions)
    }

    /// The program with changes at random: barriers with other numbers, without their BSSY or BSYNC, and jumps to places
    /// further down.
    #[must_use]
    pub fn mutated(&self, seed: u64) -> BarrierProgram {
        let mut rng = fastrand::Rng::with_seed(seed ^ self.seed.rotate_left(17));
        let mut program = self.clone();
        for _ in 0..rng.usize(1..3) {
            program.mutate(&mut rng);
        }
        program
    }

    fn mutate(&mut self, rng: &mut fastrand::Rng) {
        let ops = self.code.ops.len();
        let is_changed = |at: &usize| {
            matches!(
                self.code.ops[*at].control,
                ControlEffect::OpenBarrier(..)
                    | ControlEffect::JoinBarrier(_)
                    | ControlEffect::BreakBarrier(_)
                    | ControlEffect::Jump(_)
            )
        };
        let places: Vec<usize> = (0..ops).filter(is_changed).collect();
        let Some(&at) = rng.choice(&places) else {
            return;
        };
        // Jumps stay in their function.
        let entries = self.code.functions.iter().map(|f| f.entry.index());
        let end = entries.filter(|&entry| entry > at).min().unwrap_or(ops);
        let other = rng.u8(0..4);
        let drops = rng.bool();
        match &mut self.code.ops[at].control {
            ControlEffect::Jump(ControlTarget::Op(to)) if to.index() > at && at + 1 < end => {
                *to = OpIndex(rng.usize(at + 1..end) as u32);
            }
            ControlEffect::OpenBarrier(barrier, _)
            | ControlEffect::JoinBarrier(barrier)
            | ControlEffect::BreakBarrier(barrier)
                if !drops =>
            {
                *barrier = other;
            }
            ControlEffect::OpenBarrier(..)
            | ControlEffect::JoinBarrier(_)
            | ControlEffect::BreakBarrier(_) => {
                self.code.ops[at].control = ControlEffect::Next;
            }
            _ => {}
        }
    }

    /// Whether a lane decides for the branch at its data with this number, at this visit.
    pub fn chance(&self, lane: u32, data: usize, visit: u32) -> bool {
        let mut hash = self.seed ^ u64::from(lane) << 40 ^ (data as u64) << 20 ^ u64::from(visit);
        // Steps of splitmix64.
        for _ in 0..2 {
            hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
            hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash ^= hash >> 27;
        }
        hash >> 20 & 1 == 1
    }
}

/// Executions of a back edge in a row, at most.
const MOST: u32 = 3;

/// Region that is open where a statement is: its barrier, and the label of its BSYNC.
#[derive(Clone, Copy)]
struct Region {
    barrier: u8,
    end: usize,
}

struct Maker {
    rng: fastrand::Rng,
    shapes: Shapes,
    ops: Vec<Op>,
    decisions: Vec<LaneDecision>,
    /// Operations with a target, and its label.
    patches: Vec<(usize, usize)>,
    /// Positions of the labels.
    labels: Vec<usize>,
    /// Labels of the functions that may be called here.
    functions: Vec<usize>,
    is_function: bool,
}

impl Maker {
    fn label(&mut self) -> usize {
        self.labels.push(0);
        self.labels.len() - 1
    }

    fn bind(&mut self, label: usize) {
        self.labels[label] = self.ops.len();
    }

    fn op(
        &mut self,
        condition: ExecCondition,
        control: ControlEffect,
        decision: LaneDecision,
    ) -> usize {
        self.ops.push(Op {
            addr: CodeAddr(16 * self.ops.len() as u32),
            condition,
            reads: SmallVec::new(),
            writes: SmallVec::new(),
            value: ValueDependence::Function,
            control,
            barrier: false,
            scope: OpScope::Lane,
            meaning: None,
        });
        self.decisions.push(decision);
        self.ops.len() - 1
    }

    fn emit(&mut self, control: ControlEffect, decision: LaneDecision) -> usize {
        self.op(ExecCondition::ALWAYS, control, decision)
    }

    /// Emits an operation whose target is a label.
    fn to(
        &mut self,
        condition: ExecCondition,
        make: fn(ControlTarget) -> ControlEffect,
        label: usize,
        decision: LaneDecision,
    ) -> usize {
        self.patches.push((self.ops.len(), label));
        self.op(condition, make(ControlTarget::Op(OpIndex(0))), decision)
    }

    /// Emits an operation that gives each lane a value of its own in a predicate; returns the condition on it.
    fn predicate(&mut self) -> ExecCondition {
        let cell = Cell::pred(self.rng.u8(0..4));
        let at = self.emit(ControlEffect::Next, LaneDecision::Always);
        self.ops[at].writes.push(cell);
        self.ops[at].value = ValueDependence::Lane;
        ExecCondition {
            guard: Some(cell),
            negated: self.rng.bool(),
            ..ExecCondition::ALWAYS
        }
    }

    fn open(&mut self, barrier: u8, end: usize) {
        self.patches.push((self.ops.len(), end));
        let target = ControlTarget::Op(OpIndex(0));
        self.emit(
            ControlEffect::OpenBarrier(barrier, target),
            LaneDecision::Always,
        );
    }

    fn statements(&mut self, depth: u8, open: &[Region], most: usize) {
        for _ in 0..self.rng.usize(1..most.max(2)) {
            self.statement(depth, open);
        }
    }

    fn statement(&mut self, depth: u8, open: &[Region]) {
        let deep = depth >= 4;
        match self.rng.u8(0..14) {
            0..=2 if !deep => self.branch(depth, open),
            3 | 4 if !deep => self.looped(depth, open),
            5 | 6 if self.shapes.breaks && !open.is_empty() => self.jump_out(open),
            7 if self.shapes.yields && self.rng.u8(0..3) == 0 => {
                self.emit(ControlEffect::Release, LaneDecision::Always);
            }
            8 if !self.is_function && !self.functions.is_empty() => self.call(),
            9 if !self.is_function && !self.functions.is_empty() => self.call_in_region(depth),
            10 if self.shapes.group_branches => self.group_branch(),
            12 if self.shapes.choices => self.choice(),
            13 if self.shapes.votes => self.vote(),
            11 if self.rng.u8(0..3) == 0 => {
                let condition = self.predicate();
                let at = self.ops.len();
                self.op(condition, ControlEffect::Exit, LaneDecision::Data(at));
            }
            _ => {
                self.emit(ControlEffect::Next, LaneDecision::Always);
            }
        }
    }

    /// Barrier for a region at a depth. Functions have their own numbers, apart from one that they save.
    fn barrier(&self, depth: u8) -> u8 {
        match (self.is_function, depth) {
            (true, 0) if self.shapes.spills => 0,
            (true, _) => 8 + depth,
            (false, _) => depth,
        }
    }

    fn branch(&mut self, depth: u8, open: &[Region]) {
        let (end, join, other) = (self.label(), self.label(), self.label());
        let barrier = self.barrier(depth);
        let condition = self.predicate();
        self.open(barrier, join);
        let at = self.ops.len();
        self.to(
            condition,
            ControlEffect::Jump,
            other,
            LaneDecision::Data(at),
        );
        let inner = [open, &[Region { barrier, end }]].concat();
        self.statements(depth + 1, &inner, 3);
        self.to(
            ExecCondition::ALWAYS,
            ControlEffect::Jump,
            end,
            LaneDecision::Always,
        );
        self.bind(other);
        self.statements(depth + 1, &inner, 3);
        self.bind(end);
        self.emit(ControlEffect::JoinBarrier(barrier), LaneDecision::Always);
        self.bind(join);
    }

    fn looped(&mut self, depth: u8, open: &[Region]) {
        let (end, join, header) = (self.label(), self.label(), self.label());
        let barrier = self.barrier(depth);
        let reset = self.emit(ControlEffect::Next, LaneDecision::Always);
        self.open(barrier, join);
        self.bind(header);
        let inner = [open, &[Region { barrier, end }]].concat();
        self.statements(depth + 1, &inner, 4);
        let condition = self.predicate();
        let back = self.to(
            condition,
            ControlEffect::Jump,
            header,
            LaneDecision::Again { most: MOST },
        );
        self.decisions[reset] = LaneDecision::Reset(vec![back]);
        self.bind(end);
        self.emit(ControlEffect::JoinBarrier(barrier), LaneDecision::Always);
        self.bind(join);
    }

    /// Lanes leave one region or more, and wait at the end of the next one, or leave all.
    fn jump_out(&mut self, open: &[Region]) {
        let left = self.rng.usize(1..=open.len());
        let Some(target) = open.len().checked_sub(left + 1).map(|at| open[at].end) else {
            return;
        };
        let condition = self.predicate();
        let data = self.ops.len();
        for region in open.iter().rev().take(left) {
            let control = ControlEffect::BreakBarrier(region.barrier);
            self.op(condition, control, LaneDecision::Data(data));
        }
        if self.rng.bool() {
            self.emit(ControlEffect::Next, LaneDecision::Always);
        }
        self.to(
            condition,
            ControlEffect::Jump,
            target,
            LaneDecision::Data(data),
        );
    }

    fn group_branch(&mut self) {
        let after = self.label();
        let condition = ExecCondition {
            further: Some(FurtherTest::Group),
            ..ExecCondition::ALWAYS
        };
        self.to(condition, ControlEffect::Jump, after, LaneDecision::Group);
        self.emit(ControlEffect::Next, LaneDecision::Always);
        self.bind(after);
    }

    fn choice(&mut self) {
        let after = self.label();
        let make = match self.shapes.yields && self.rng.bool() {
            true => ControlEffect::Collective,
            false => ControlEffect::FreeJump,
        };
        let at = self.ops.len();
        self.to(ExecCondition::ALWAYS, make, after, LaneDecision::Data(at));
        self.emit(ControlEffect::Next, LaneDecision::Always);
        self.bind(after);
    }

    /// Emits a branch that depends on the lanes which are together.
    fn vote(&mut self) {
        let choice = self.rng.u8(0..5);
        if choice == 4 {
            return self.skip();
        }
        let (target, end) = (self.label(), self.label());
        let guard = Cell::pred(0);
        let condition = ExecCondition {
            guard: Some(guard),
            ..ExecCondition::ALWAYS
        };
        let (lane, mask) = (self.rng.u32(0..LANES), self.rng.u32(0..1 << LANES));
        match choice {
            0 => {
                let register = Cell::gpr(5);
                let vote = self.emit(ControlEffect::Next, LaneDecision::Vote(u32::MAX));
                self.ops[vote].writes.push(register);
                self.ops[vote].meaning = Some(Meaning::Vote {
                    ballot: Some(register),
                    result: None,
                    mode: VoteMode::Any,
                    predicate: Expr::Const(1),
                });
                self.set(guard, bit_of(Expr::Cell(register), Expr::Const(lane)));
                let decision = LaneDecision::Ballot { vote, lane };
                self.to(condition, ControlEffect::Jump, target, decision);
            }
            1 => {
                let register = Cell::gpr(5);
                let value = bit_of(Expr::Const(mask), Expr::Special(SpecialReg::LaneId));
                let vote = self.reduce(ExecCondition::ALWAYS, register, value, u32::MAX);
                self.set(guard, Expr::Cell(register));
                let decision = LaneDecision::First { vote, mask };
                self.to(condition, ControlEffect::Jump, target, decision);
            }
            2 => {
                // All lanes of the group read what some of them write; those that did not write it jump.
                let register = Cell::of(Reg::uniform(5));
                self.set(register, Expr::Const(0));
                let is_in = |lanes| bit_of(Expr::Const(lanes), Expr::Special(SpecialReg::LaneId));
                self.set(guard, is_in(mask));
                let vote = self.reduce(condition, register, Expr::Const(1), mask);
                let lanes = !mask;
                let jumps = Expr::binary(BinaryOp::And, Expr::Cell(register), is_in(lanes));
                self.set(guard, jumps);
                let decision = LaneDecision::AnyVoted { vote, lanes };
                self.to(condition, ControlEffect::Jump, target, decision);
            }
            _ => {
                let condition = ExecCondition {
                    further: Some(FurtherTest::Group),
                    ..ExecCondition::ALWAYS
                };
                let decision = LaneDecision::Missing(mask);
                let at = self.to(condition, ControlEffect::Jump, target, decision);
                self.ops[at].meaning = Some(Meaning::Ask(Some(Expr::Const(mask))));
            }
        }
        // Either the lanes that jump execute more, or those that go on.
        let jump_leads_there = self.rng.bool();
        if jump_leads_there {
            self.to(
                ExecCondition::ALWAYS,
                ControlEffect::Jump,
                end,
                LaneDecision::Always,
            );
            self.bind(target);
        }
        for _ in 0..self.rng.usize(1..8) {
            self.emit(ControlEffect::Next, LaneDecision::Always);
        }
        if !jump_leads_there {
            self.bind(target);
        }
        self.bind(end);
    }

    /// Emits a jump over operations without a region: by the data of each lane, or over an assignment by a value of the launch,
    /// as the code of sm_87 begins, with a branch of some lanes if it was not skipped.
    fn skip(&mut self) {
        let (after, end) = (self.label(), self.label());
        if self.rng.bool() {
            let condition = self.predicate();
            let decision = LaneDecision::Data(self.ops.len());
            self.to(condition, ControlEffect::Jump, after, decision);
            for _ in 0..self.rng.usize(1..4) {
                self.emit(ControlEffect::Next, LaneDecision::Always);
            }
            self.bind(after);
            return;
        }
        let (guard, lanes) = (Cell::pred(0), Cell::gpr(6));
        let condition = ExecCondition {
            guard: Some(guard),
            ..ExecCondition::ALWAYS
        };
        let (bit, mask) = (self.rng.u32(0..4), self.rng.u32(0..1 << LANES));
        let launched = Expr::Cell(Cell::of(Reg::uniform(2)));
        self.set(lanes, Expr::Const(0));
        self.set(guard, bit_of(launched, Expr::Const(bit)));
        let value = &mut self.ops.last_mut().expect("it was emitted").value;
        *value = ValueDependence::Function;
        let decision = LaneDecision::FromLaunch(bit);
        self.to(condition, ControlEffect::Jump, after, decision);
        self.set(lanes, Expr::Const(mask));
        self.emit(ControlEffect::Next, LaneDecision::Always);
        self.bind(after);
        let is_in = bit_of(Expr::Cell(lanes), Expr::Special(SpecialReg::LaneId));
        self.set(guard, is_in);
        let decision = LaneDecision::UnlessFromLaunch { bit, mask };
        self.to(condition, ControlEffect::Jump, end, decision);
        for _ in 0..self.rng.usize(1..4) {
            self.emit(ControlEffect::Next, LaneDecision::Always);
        }
        self.bind(end);
    }

    /// Emits an operation that gives all lanes of a group the value of the first of them. The condition holds for the lanes
    /// `voters`.
    fn reduce(
        &mut self,
        condition: ExecCondition,
        register: Cell,
        value: Expr,
        voters: u32,
    ) -> usize {
        let at = self.op(condition, ControlEffect::Next, LaneDecision::Vote(voters));
        self.ops[at].writes.push(register);
        self.ops[at].meaning = Some(Meaning::Reduce {
            dest: Some(register),
            op: WarpReduction::First,
            value,
        });
        at
    }

    /// Emits an assignment.
    fn set(&mut self, cell: Cell, value: Expr) {
        let at = self.emit(ControlEffect::Next, LaneDecision::Always);
        value.for_each_cell(&|_| true, &mut |read| self.ops[at].reads.push(read));
        self.ops[at].writes.push(cell);
        self.ops[at].value = ValueDependence::Lane;
        self.ops[at].meaning = Some(Meaning::Set(smallvec![(cell, value)]));
    }

    fn call(&mut self) {
        let function = self.functions[self.rng.usize(0..self.functions.len())];
        self.to(
            ExecCondition::ALWAYS,
            ControlEffect::LinkedCall,
            function,
            LaneDecision::Always,
        );
    }

    /// Calls a function in a region whose barrier is in a register meanwhile, and in another barrier afterwards.
    fn call_in_region(&mut self, depth: u8) {
        /// Barrier that no region is opened with.
        const MOVED_TO: u8 = 7;
        if !self.shapes.spills {
            return self.call();
        }
        let join = self.label();
        let barrier = self.barrier(depth);
        let register = Cell::gpr(11);
        self.open(barrier, join);
        let saved = self.emit(
            ControlEffect::SaveBarrier(barrier, Some(register)),
            LaneDecision::Always,
        );
        self.ops[saved].writes.push(register);
        self.call();
        let control = ControlEffect::WriteBarrier {
            barrier: MOVED_TO,
            source: Some(register),
            cleared: None,
        };
        self.emit(control, LaneDecision::Always);
        self.emit(ControlEffect::JoinBarrier(MOVED_TO), LaneDecision::Always);
        self.bind(join);
    }

    fn function(&mut self, number: usize) {
        self.bind(self.functions[number]);
        let register = Cell::gpr(10);
        if self.shapes.spills {
            self.emit(
                ControlEffect::SaveBarrier(0, Some(register)),
                LaneDecision::Always,
            );
        }
        self.statements(0, &[], 4);
        if self.shapes.spills {
            let control = ControlEffect::WriteBarrier {
                barrier: 0,
                source: Some(register),
                cleared: None,
            };
            self.emit(control, LaneDecision::Always);
        }
        self.emit(ControlEffect::RETURN, LaneDecision::Always);
    }

    fn finish(mut self, seed: u64, functions: Vec<CodeFunction>) -> BarrierProgram {
        for (at, label) in self.patches {
            let to = OpIndex(self.labels[label] as u32);
            match &mut self.ops[at].control {
                ControlEffect::Jump(target)
                | ControlEffect::LinkedCall(target)
                | ControlEffect::Collective(target)
                | ControlEffect::FreeJump(target)
                | ControlEffect::OpenBarrier(_, target) => *target = ControlTarget::Op(to),
                other => unreachable!("{other:?} has no target"),
            }
        }
        BarrierProgram {
            code: Code {
                family: Family::Volta,
                ops: self.ops,
                functions,
                ..Code::default()
            },
            decisions: self.decisions,
            loop_bound: u64::from(MOST) + 1,
            seed,
        }
    }
}

/// Bit of a word.
fn bit_of(word: Expr, at: Expr) -> Expr {
    let shifted = Expr::binary(BinaryOp::Shr, word, at);
    Expr::binary(BinaryOp::And, shifted, Expr::Const(1))
}
