//! Structured programs of one lane, and their plain execution: the reference for masks, which does not know of masks.

use super::{LaneComparison, LaneOp, LaneOperand, VECTORS};

/// Condition of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneCondition {
    /// The comparison.
    pub comparison: LaneComparison,
    /// First operand.
    pub a: LaneOperand,
    /// Second operand.
    pub b: LaneOperand,
}

/// Exit from a part of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaveKind {
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the next iteration of the innermost loop.
    Continue,
    /// Ends the lane.
    Return,
}

/// Statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Writes a vector register.
    Assign {
        /// Number of the statement, unique in its program.
        id: u32,
        /// The register.
        dest: u8,
        /// The operation.
        op: LaneOp,
        /// First operand.
        a: LaneOperand,
        /// Second operand.
        b: LaneOperand,
    },
    /// One of two sides.
    If(IfElse),
    /// A loop that each lane iterates as often as its condition says.
    While(WhileLoop),
    /// A loop that all lanes iterate equally often.
    Repeat {
        /// Scalar register of the number of the iteration, from 0.
        counter: u8,
        /// Number of iterations, at least 1.
        times: u32,
        /// The body.
        body: Vec<Statement>,
    },
    /// Statements for the iterations of an enclosing [`Statement::Repeat`] below a number.
    FirstIterations {
        /// Scalar register of that loop.
        counter: u8,
        /// The number.
        below: u32,
        /// The statements.
        body: Vec<Statement>,
    },
    /// Leaves a part of the program if a condition holds.
    Leave(LeaveKind, LaneCondition),
    /// Exit unless a condition holds.
    LeaveUnless(LeaveKind, LaneCondition),
}

/// Both sides of an if.
#[derive(Clone, Debug)]
pub struct IfElse {
    /// The condition.
    pub condition: LaneCondition,
    /// Another condition. One of both suffices.
    pub or: Option<LaneCondition>,
    /// Statements if one holds.
    pub then: Vec<Statement>,
    /// Statements if none holds.
    pub otherwise: Vec<Statement>,
    /// Whether wavefronts branch over a side that no lane takes.
    pub skips: bool,
}

/// A loop.
#[derive(Clone, Debug)]
pub struct WhileLoop {
    /// Condition of one more iteration.
    pub condition: LaneCondition,
    /// Whether the lanes that leave get a mask of their own, which is then taken from EXEC.
    pub marks_leaving: bool,
    /// Whether the condition is tested after each iteration, not before it.
    pub tests_last: bool,
    /// An if without other side before the loop; its lanes reconverge at the header of the loop.
    pub before: Option<IfElse>,
    /// The body.
    pub body: Vec<Statement>,
    /// An if without other side at the end of the body; its lanes reconverge at the header of the loop.
    pub after: Option<IfElse>,
}

/// Result of some statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Next,
    Leave(LeaveKind),
}

/// A lane.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Vector registers.
    pub vectors: [u32; VECTORS],
    /// Scalar registers of iteration numbers.
    counters: [u32; 8],
    /// Executed assignments.
    pub trace: Vec<u32>,
}

impl Lane {
    /// Runs a program in one lane.
    pub fn run(program: &[Statement], vectors: [u32; VECTORS]) -> Lane {
        let mut lane = Lane {
            vectors,
            counters: [0; 8],
            trace: Vec::new(),
        };
        lane.execute_all(program);
        lane
    }

    fn word(&self, operand: LaneOperand) -> u32 {
        match operand {
            LaneOperand::Vector(number) => self.vectors[usize::from(number)],
            LaneOperand::Scalar(number) => self.counters[usize::from(number)],
            LaneOperand::Const(value) => value,
        }
    }

    fn holds(&self, condition: LaneCondition) -> bool {
        let (a, b) = (self.word(condition.a), self.word(condition.b));
        condition.comparison.holds(a, b)
    }

    fn execute_all(&mut self, statements: &[Statement]) -> Outcome {
        for statement in statements {
            let outcome = self.execute(statement);
            if outcome != Outcome::Next {
                return outcome;
            }
        }
        Outcome::Next
    }

    fn execute(&mut self, statement: &Statement) -> Outcome {
        match statement {
            Statement::Assign { id, dest, op, a, b } => {
                self.trace.push(*id);
                self.vectors[usize::from(*dest)] = op.apply(self.word(*a), self.word(*b));
                Outcome::Next
            }
            Statement::If(sides) => self.execute_if(sides),
            Statement::While(whole) => self.execute_while(whole),
            Statement::Repeat {
                counter,
                times,
                body,
            } => {
                for number in 0..*times {
                    self.counters[usize::from(*counter)] = number;
                    let outcome = self.execute_all(body);
                    if outcome != Outcome::Next {
                        return outcome;
                    }
                }
                Outcome::Next
            }
            Statement::FirstIterations {
                counter,
                below,
                body,
            } => match self.counters[usize::from(*counter)] < *below {
                true => self.execute_all(body),
                false => Outcome::Next,
            },
            Statement::LeaveUnless(kind, condition) => match self.holds(*condition) {
                true => Outcome::Next,
                false => Outcome::Leave(*kind),
            },
            Statement::Leave(kind, condition) => match self.holds(*condition) {
                true => Outcome::Leave(*kind),
                false => Outcome::Next,
            },
        }
    }

    fn execute_if(&mut self, sides: &IfElse) -> Outcome {
        let mut conditions = [Some(sides.condition), sides.or].into_iter().flatten();
        match conditions.any(|condition| self.holds(condition)) {
            true => self.execute_all(&sides.then),
            false => self.execute_all(&sides.otherwise),
        }
    }

    fn execute_while(&mut self, whole: &WhileLoop) -> Outcome {
        if let Some(before) = &whole.before {
            let outcome = self.execute_if(before);
            if outcome != Outcome::Next {
                return outcome;
            }
        }
        while whole.tests_last || self.holds(whole.condition) {
            let mut outcome = self.execute_all(&whole.body);
            if let (Outcome::Next, Some(after)) = (outcome, &whole.after) {
                outcome = self.execute_if(after);
            }
            match outcome {
                Outcome::Leave(LeaveKind::Break) => break,
                Outcome::Leave(LeaveKind::Return) => return outcome,
                Outcome::Next | Outcome::Leave(LeaveKind::Continue) => {}
            }
            if whole.tests_last && !self.holds(whole.condition) {
                break;
            }
        }
        Outcome::Next
    }
}
