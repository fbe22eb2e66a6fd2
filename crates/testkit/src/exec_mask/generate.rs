//! Random structured programs. All loops end. A program is a deterministic function of the random generator.

use fastrand::Rng;

use super::compile::COUNTERS;
use super::statement::{IfElse, LaneCondition, LeaveKind, Statement, WhileLoop};
use super::{LaneComparison, LaneOp, LaneOperand};

/// Vector registers that statements read and write; the others are iteration numbers and limits of loops.
const VARIABLES: u8 = 6;

/// Maximum depth of nested loops whose lanes iterate separately.
const LOOPS: u8 = 3;

/// Generates a program.
pub fn program(rng: &mut Rng) -> Vec<Statement> {
    let mut generator = Generator {
        budget: rng.usize(4..24),
        rng,
        next_id: 0,
    };
    let mut all = Vec::new();
    while generator.budget > 0 {
        all.extend(generator.block(Place::default()));
    }
    all
}

/// Position of a statement.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Number of constructs around it.
    depth: u8,
    /// Number of [`Statement::While`] loops around it.
    loops: u8,
    /// Whether a break or continue has a loop.
    may_leave: bool,
    /// Number of [`Statement::Repeat`] loops around it.
    repeats: u8,
}

impl Place {
    fn deeper(self) -> Place {
        Place {
            depth: self.depth + 1,
            ..self
        }
    }
}

struct Generator<'r> {
    rng: &'r mut Rng,
    /// Number of statements to generate.
    budget: usize,
    next_id: u32,
}

impl Generator<'_> {
    fn block(&mut self, place: Place) -> Vec<Statement> {
        let count = self.rng.usize(1..4);
        (0..count).flat_map(|_| self.statement(place)).collect()
    }

    fn operand(&mut self, place: Place) -> LaneOperand {
        match self.rng.u8(0..8) {
            0..5 => LaneOperand::Vector(self.rng.u8(..VARIABLES)),
            5 if place.repeats > 0 => LaneOperand::Scalar(self.rng.u8(..place.repeats)),
            _ => LaneOperand::Const(self.rng.u32(0..6)),
        }
    }

    fn leave(&mut self, kind: LeaveKind, place: Place) -> Statement {
        let condition = self.condition(place);
        match self.rng.u8(0..3) {
            0 => Statement::LeaveUnless(kind, condition),
            _ => Statement::Leave(kind, condition),
        }
    }

    fn condition(&mut self, place: Place) -> LaneCondition {
        // Small numbers, so that some lanes satisfy it and others do not.
        let comparison = [LaneComparison::Less, LaneComparison::Equal][self.rng.usize(0..2)];
        LaneCondition {
            comparison,
            a: LaneOperand::Vector(self.rng.u8(..VARIABLES)),
            b: match self.rng.u8(0..3) {
                0 => self.operand(place),
                _ => LaneOperand::Const(self.rng.u32(0..6)),
            },
        }
    }

    fn assign(&mut self, dest: u8, op: LaneOp, a: LaneOperand, b: LaneOperand) -> Statement {
        self.next_id += 1;
        let id = self.next_id;
        Statement::Assign { id, dest, op, a, b }
    }

    /// An assignment that keeps variables small.
    fn random_assign(&mut self, place: Place) -> Vec<Statement> {
        let dest = self.rng.u8(..VARIABLES);
        let op = [LaneOp::Add, LaneOp::Mul, LaneOp::Xor, LaneOp::And][self.rng.usize(0..4)];
        let (a, b) = (self.operand(place), self.operand(place));
        let (own, seven) = (LaneOperand::Vector(dest), LaneOperand::Const(7));
        vec![
            self.assign(dest, op, a, b),
            self.assign(dest, LaneOp::And, own, seven),
        ]
    }

    fn statement(&mut self, place: Place) -> Vec<Statement> {
        self.budget = self.budget.saturating_sub(1);
        let is_leaf = place.depth >= 5 || self.budget == 0;
        match self.rng.u8(0..20) {
            0..5 if !is_leaf => vec![Statement::If(self.if_else(place, true))],
            5..9 if !is_leaf && place.loops < LOOPS => self.while_loop(place),
            9 if !is_leaf && place.repeats < COUNTERS => {
                let inside = Place {
                    repeats: place.repeats + 1,
                    ..place.deeper()
                };
                vec![Statement::Repeat {
                    counter: place.repeats,
                    times: self.rng.u32(1..4),
                    body: self.block(inside),
                }]
            }
            10 if !is_leaf && place.repeats > 0 => vec![Statement::FirstIterations {
                counter: self.rng.u8(..place.repeats),
                below: self.rng.u32(0..4),
                body: self.block(place.deeper()),
            }],
            11 | 12 if place.may_leave => {
                let kind = [LeaveKind::Break, LeaveKind::Continue][self.rng.usize(0..2)];
                vec![self.leave(kind, place)]
            }
            13 if self.rng.bool() => {
                vec![self.leave(LeaveKind::Return, place)]
            }
            _ => self.random_assign(place),
        }
    }

    fn if_else(&mut self, place: Place, with_otherwise: bool) -> IfElse {
        let has_otherwise = with_otherwise && self.rng.bool();
        let condition = self.condition(place);
        // Lanes with one of two values.
        let has_or = condition.comparison == LaneComparison::Equal && self.rng.bool();
        let other = LaneCondition {
            b: LaneOperand::Const(self.rng.u32(0..6)),
            ..condition
        };
        IfElse {
            condition,
            or: has_or.then_some(other),
            then: self.block(place.deeper()),
            otherwise: match has_otherwise {
                true => self.block(place.deeper()),
                false => Vec::new(),
            },
            skips: self.rng.u8(0..4) != 0,
        }
    }

    /// A loop with at most three iterations, and the assignments of its iteration number and limit.
    fn while_loop(&mut self, place: Place) -> Vec<Statement> {
        let counter = VARIABLES + place.loops;
        let limit = counter + LOOPS;
        let [count, most] = [counter, limit].map(LaneOperand::Vector);
        let zero = LaneOperand::Const(0);
        let bound = self.operand(place);
        let init = [
            self.assign(counter, LaneOp::And, zero, zero),
            self.assign(limit, LaneOp::And, bound, LaneOperand::Const(3)),
        ];
        let inside = Place {
            loops: place.loops + 1,
            may_leave: true,
            ..place.deeper()
        };
        let mut body = vec![self.assign(counter, LaneOp::Add, count, LaneOperand::Const(1))];
        let before = (self.rng.u8(0..3) == 0).then(|| self.if_else(place, false));
        body.extend(self.block(inside));
        let tests_last = self.rng.u8(0..3) == 0;
        let with_after = !tests_last && self.rng.u8(0..3) == 0;
        let after = with_after.then(|| self.if_else(inside, false));
        let whole = WhileLoop {
            condition: LaneCondition {
                comparison: LaneComparison::Less,
                a: count,
                b: most,
            },
            marks_leaving: self.rng.u8(0..3) == 0,
            tests_last,
            before,
            body,
            after,
        };
        init.into_iter().chain([Statement::While(whole)]).collect()
    }
}
