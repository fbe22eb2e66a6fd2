//! Random structured programs of work-items. All loops end. A program is a deterministic function of the random
//! generator.

use fastrand::Rng;

use super::statement::{
    COUNTERS, Collective, LOOPS, LaneStatement, PRIVATE, REPEATS, SLOTS, SideIdiom, TwoSides,
    VARIABLES,
};
use crate::exec_mask::statement::LaneCondition;
use crate::exec_mask::{LaneComparison, LaneOp, LaneOperand};

/// A program with the shape of its launch.
#[derive(Clone, Debug)]
pub struct LaneProgram {
    /// The statements.
    pub statements: Vec<LaneStatement>,
    /// Number of groups.
    pub groups: u32,
    /// Work-items of a group.
    pub threads: u32,
}

/// Generates a program whose lanes meet at exchanges only.
pub fn program(rng: &mut Rng) -> LaneProgram {
    program_with(rng, false)
}

/// Generates a program; with `collectives`, lanes that are active together may influence each other.
pub fn program_with(rng: &mut Rng, collectives: bool) -> LaneProgram {
    // Partial waves of all sizes, and groups of several waves.
    let threads = match rng.u8(0..4) {
        0 => 64 * rng.u32(1..4),
        1 => rng.u32(65..256),
        _ => rng.u32(1..65),
    };
    let mut generator = WaveGenerator {
        budget: rng.usize(3..20),
        threads,
        counts: rng.u8(0..3) == 0,
        marks: rng.u8(0..4) == 0,
        exchanges: rng.u8(0..3) == 0,
        collectives: collectives && rng.u8(0..3) != 0,
        rng,
    };
    let mut statements = Vec::new();
    while generator.budget > 0 {
        statements.extend(generator.top());
    }
    if generator.rng.u8(0..4) == 0 {
        statements = generator.with_rest(statements);
    }
    let groups = generator.rng.u32(1..4);
    LaneProgram {
        statements,
        groups,
        threads,
    }
}

/// Position of a statement.
#[derive(Clone, Copy, Default)]
struct Position {
    /// Number of constructs around it.
    depth: u8,
    /// Number of loops of lanes around it.
    loops: u8,
    /// Number of repeats around it.
    repeats: u8,
}

impl Position {
    fn deeper(self) -> Position {
        Position {
            depth: self.depth + 1,
            ..self
        }
    }
}

struct WaveGenerator<'r> {
    rng: &'r mut Rng,
    /// Number of statements to generate.
    budget: usize,
    threads: u32,
    /// Whether there are counters, marks, exchanges.
    counts: bool,
    marks: bool,
    exchanges: bool,
    collectives: bool,
}

impl WaveGenerator<'_> {
    /// Statements outside of all divergence.
    fn top(&mut self) -> Vec<LaneStatement> {
        let place = Position::default();
        match self.rng.u8(0..8) {
            0 | 1 if self.exchanges => vec![self.exchange()],
            // A loop with barriers.
            2 if self.exchanges => {
                let inside = Position {
                    repeats: 1,
                    ..place.deeper()
                };
                let mut body = self.block(inside);
                let at = self.rng.usize(0..=body.len());
                body.insert(at, self.exchange());
                vec![LaneStatement::Repeat {
                    level: 0,
                    times: self.rng.u32(1..4),
                    body,
                }]
            }
            3 if self.marks => vec![LaneStatement::Mark(self.rng.u8(0..3) != 0)],
            _ => self.statement(place),
        }
    }

    /// Puts the end of a program under a condition.
    fn with_rest(&mut self, mut statements: Vec<LaneStatement>) -> Vec<LaneStatement> {
        let at = self.rng.usize(0..statements.len());
        let then = statements.split_off(at);
        statements.push(LaneStatement::If(TwoSides {
            condition: self.condition(Position::default()),
            then,
            otherwise: Vec::new(),
            is_rest: true,
            skips: [true; 2],
            idiom: SideIdiom::Move,
        }));
        statements
    }

    fn block(&mut self, place: Position) -> Vec<LaneStatement> {
        let count = self.rng.usize(1..4);
        (0..count).flat_map(|_| self.statement(place)).collect()
    }

    fn variable(&mut self) -> u8 {
        self.rng.u8(..VARIABLES as u8)
    }

    fn operand(&mut self, place: Position) -> LaneOperand {
        match self.rng.u8(0..8) {
            0..5 => LaneOperand::Vector(self.variable()),
            5 if place.repeats > 0 => LaneOperand::Scalar(self.rng.u8(..place.repeats)),
            _ => LaneOperand::Const(self.rng.u32(0..8)),
        }
    }

    fn condition(&mut self, place: Position) -> LaneCondition {
        // Small numbers, so that some lanes satisfy it and others do not.
        let comparison = match self.rng.u8(0..3) {
            0 => LaneComparison::Equal,
            _ => LaneComparison::Less,
        };
        LaneCondition {
            comparison,
            a: self.operand(place),
            b: match self.rng.u8(0..3) {
                0 => self.operand(place),
                _ => LaneOperand::Const(self.rng.u32(1..8)),
            },
        }
    }

    /// An assignment that keeps variables small.
    fn assign(&mut self, place: Position) -> Vec<LaneStatement> {
        let dest = self.variable();
        let op = [LaneOp::Add, LaneOp::Mul, LaneOp::Xor, LaneOp::And][self.rng.usize(0..4)];
        // Literals only where the encoding has them.
        let a = self.operand(place);
        vec![
            LaneStatement::Assign {
                dest,
                op,
                a,
                b: self.variable(),
            },
            LaneStatement::Assign {
                dest,
                op: LaneOp::And,
                a: LaneOperand::Const(7),
                b: dest,
            },
        ]
    }

    fn exchange(&mut self) -> LaneStatement {
        LaneStatement::Exchange {
            variable: self.variable(),
            distance: self.rng.u32(0..self.threads),
        }
    }

    fn statement(&mut self, place: Position) -> Vec<LaneStatement> {
        self.budget = self.budget.saturating_sub(1);
        let is_leaf = place.depth >= 5 || self.budget == 0;
        match self.rng.u8(0..24) {
            0..7 if !is_leaf => vec![LaneStatement::If(self.sides(place))],
            7..10 if !is_leaf && usize::from(place.loops) < LOOPS => vec![self.lane_loop(place)],
            10 if !is_leaf && usize::from(place.repeats) < REPEATS => {
                let inside = Position {
                    repeats: place.repeats + 1,
                    ..place.deeper()
                };
                vec![LaneStatement::Repeat {
                    level: place.repeats,
                    times: self.rng.u32(1..4),
                    body: self.block(inside),
                }]
            }
            11 if !is_leaf && place.repeats > 0 => vec![LaneStatement::FirstIterations {
                level: self.rng.u8(..place.repeats),
                below: self.rng.u32(0..4),
                body: self.block(place.deeper()),
            }],
            12 | 13 if place.loops > 0 => vec![LaneStatement::Break(self.condition(place))],
            14 if self.rng.bool() => vec![LaneStatement::Return(self.condition(place))],
            15 | 16 => vec![LaneStatement::Store {
                slot: self.rng.u8(..SLOTS as u8),
                from: self.variable(),
            }],
            17 => vec![LaneStatement::StorePrivate {
                word: self.rng.u8(..PRIVATE as u8),
                from: self.variable(),
            }],
            18 => vec![LaneStatement::LoadPrivate {
                word: self.rng.u8(..PRIVATE as u8),
                to: self.variable(),
            }],
            19 | 20 if self.counts => vec![LaneStatement::Count {
                counter: self.rng.u8(..COUNTERS as u8),
                by_ballot: self.rng.bool(),
            }],
            21..24 if self.collectives => vec![LaneStatement::Collective {
                kind: Collective::ALL[self.rng.usize(0..Collective::ALL.len())],
                variable: self.variable(),
            }],
            _ => self.assign(place),
        }
    }

    fn sides(&mut self, place: Position) -> TwoSides {
        let condition = self.condition(place);
        let then = self.block(place.deeper());
        let otherwise = match self.rng.bool() {
            true => self.block(place.deeper()),
            false => Vec::new(),
        };
        let leaves =
            |one: &LaneStatement| matches!(one, LaneStatement::Break(_) | LaneStatement::Return(_));
        let leave =
            super::statement::any(&then, &leaves) || super::statement::any(&otherwise, &leaves);
        let idioms = [SideIdiom::OrSave, SideIdiom::AndNotSave, SideIdiom::Move];
        TwoSides {
            condition,
            then,
            otherwise,
            is_rest: false,
            skips: [self.rng.u8(0..5) != 0, self.rng.u8(0..5) != 0],
            // The move restores lanes that a side has dropped.
            idiom: idioms[self.rng.usize(0..if leave { 2 } else { 3 })],
        }
    }

    fn lane_loop(&mut self, place: Position) -> LaneStatement {
        let inside = Position {
            loops: place.loops + 1,
            ..place.deeper()
        };
        LaneStatement::Loop {
            level: place.loops,
            bound: self.variable(),
            tests_last: self.rng.bool(),
            body: self.block(inside),
        }
    }
}
