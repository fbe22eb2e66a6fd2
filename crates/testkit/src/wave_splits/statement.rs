//! Structured programs of work-items and their plain execution, one lane alone: the reference for splits, which does
//! not know of splits. Lanes meet at exchanges only, outside of all divergence.

use crate::exec_mask::statement::LaneCondition;
use crate::exec_mask::{LaneOp, LaneOperand};

/// Number of variables of a lane.
pub const VARIABLES: usize = 6;

/// Vector registers of a lane that statements name: variables, then iteration numbers and limits of nested loops.
pub const REGISTERS: usize = VARIABLES + 2 * LOOPS;

/// Maximum depth of nested loops whose lanes iterate separately.
pub const LOOPS: usize = 3;

/// Maximum depth of nested loops that all lanes iterate equally often.
pub const REPEATS: usize = 3;

/// Words of output of each work-item that statements store. The words of the variables at the end follow.
pub const SLOTS: usize = 4;

/// Words of output of each work-item.
pub const OUTPUTS: usize = SLOTS + VARIABLES;

/// Words of private memory of a work-item.
pub const PRIVATE: usize = 4;

/// Counters of the launch.
pub const COUNTERS: usize = 3;

/// Statement of a work-item.
#[derive(Clone, Debug)]
pub enum LaneStatement {
    /// Writes a register.
    Assign {
        /// The register.
        dest: u8,
        /// The operation.
        op: LaneOp,
        /// First operand.
        a: LaneOperand,
        /// Second operand, a register.
        b: u8,
    },
    /// One of two sides.
    If(TwoSides),
    /// A loop that each lane iterates as often as its limit says.
    Loop {
        /// Number of loops of this kind around it, which gives the registers of its iteration number and limit.
        level: u8,
        /// Register that limits it, modulo 4.
        bound: u8,
        /// Whether the limit is tested after each iteration, so that there is at least one.
        tests_last: bool,
        /// The body.
        body: Vec<LaneStatement>,
    },
    /// Leaves the innermost loop of lanes.
    Break(LaneCondition),
    /// Ends the lane.
    Return(LaneCondition),
    /// A loop that all lanes iterate equally often.
    Repeat {
        /// Number of loops of this kind around it.
        level: u8,
        /// Number of iterations, at least 1.
        times: u32,
        /// The body.
        body: Vec<LaneStatement>,
    },
    /// Statements for the iterations of an enclosing [`LaneStatement::Repeat`] below a number.
    FirstIterations {
        /// Number of such loops around that one.
        level: u8,
        /// The number.
        below: u32,
        /// The statements.
        body: Vec<LaneStatement>,
    },
    /// Stores a variable as output of the work-item.
    Store {
        /// Word of the output.
        slot: u8,
        /// The variable.
        from: u8,
    },
    /// Stores a variable in private memory.
    StorePrivate {
        /// The word.
        word: u8,
        /// The variable.
        from: u8,
    },
    /// Loads a variable from private memory.
    LoadPrivate {
        /// The word.
        word: u8,
        /// The variable.
        to: u8,
    },
    /// Adds 1 to a counter of the launch.
    Count {
        /// The counter.
        counter: u8,
        /// Whether the lanes of a comparison (a ballot) count, and not the lanes of EXEC.
        by_ballot: bool,
    },
    /// Gives a variable to another work-item of the group, through LDS, between two barriers.
    Exchange {
        /// The variable.
        variable: u8,
        /// Distance to the work-item from which the new value comes, less than the size of the group.
        distance: u32,
    },
    /// Sets or clears the mark of branches at which waves split.
    Mark(bool),
    /// Changes a variable by what other lanes of the wave do: plain execution knows nothing of it.
    Collective {
        /// Influence of the other lanes.
        kind: Collective,
        /// The variable.
        variable: u8,
    },
}

/// Statement whose result depends on the lanes that are active together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collective {
    /// A loop until no active lane satisfies a condition, by a branch on VCC.
    AnyLoop,
    /// A loop whose condition is equal in all lanes, by a branch on VCC: it does not end without lanes.
    UniformLoop,
    /// Adds the variable of the first active lane.
    FirstLane,
    /// A branch on the variable of the first active lane.
    FirstLaneBranch,
    /// Adds the number of active lanes that satisfy a condition.
    MaskCount,
    /// A branch on the condition code of an operation on masks.
    MaskBranch,
    /// Adds the variable of the neighbouring lane (DPP).
    Neighbour,
}

impl Collective {
    /// All of them.
    pub const ALL: [Collective; 7] = [
        Collective::AnyLoop,
        Collective::UniformLoop,
        Collective::FirstLane,
        Collective::FirstLaneBranch,
        Collective::MaskCount,
        Collective::MaskBranch,
        Collective::Neighbour,
    ];
}

/// Both sides of an if.
#[derive(Clone, Debug)]
pub struct TwoSides {
    /// The condition.
    pub condition: LaneCondition,
    /// Statements if it holds.
    pub then: Vec<LaneStatement>,
    /// Statements if it does not.
    pub otherwise: Vec<LaneStatement>,
    /// Whether the first side is the rest of the program, after which lanes end.
    pub is_rest: bool,
    /// Whether waves branch over a side that no lane takes: the first, the second.
    pub skips: [bool; 2],
    /// Instructions by which it is compiled.
    pub idiom: SideIdiom,
}

/// Instructions that switch lanes off and on for the sides of an if.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SideIdiom {
    /// `s_and_saveexec`, `s_xor`; `s_or_saveexec`, `s_xor` (LLVM 22).
    OrSave,
    /// `s_and_saveexec`, `s_xor`; `s_andn2_saveexec` (LLVM 14).
    AndNotSave,
    /// `s_and_saveexec`; `s_andn2` of the saved mask; a move restores it. For sides that no lane leaves.
    Move,
}

impl LaneStatement {
    /// Statements inside it.
    pub fn parts(&self) -> [&[LaneStatement]; 2] {
        match self {
            LaneStatement::If(sides) => [&sides.then, &sides.otherwise],
            LaneStatement::Loop { body, .. }
            | LaneStatement::Repeat { body, .. }
            | LaneStatement::FirstIterations { body, .. } => [body, &[]],
            _ => [&[], &[]],
        }
    }

    /// Whether a statement is this one or inside it.
    pub fn contains(&self, is_one: &dyn Fn(&LaneStatement) -> bool) -> bool {
        is_one(self) || self.parts().iter().any(|part| any(part, is_one))
    }
}

/// Whether some statement is one of these or inside them.
pub fn any(statements: &[LaneStatement], is_one: &dyn Fn(&LaneStatement) -> bool) -> bool {
    statements
        .iter()
        .any(|statement| statement.contains(is_one))
}

/// Whether statements leave the innermost loop around them.
pub fn breaks(statements: &[LaneStatement]) -> bool {
    statements.iter().any(|statement| match statement {
        LaneStatement::Break(_) => true,
        // A break in it leaves it only.
        LaneStatement::Loop { .. } => false,
        other => other.parts().iter().any(|part| breaks(part)),
    })
}

/// A work-item.
#[derive(Clone, Debug)]
struct LaneState {
    registers: [u32; REGISTERS],
    repeats: [u32; REPEATS],
    private: [u32; PRIVATE],
    outputs: [u32; OUTPUTS],
    counts: [u32; COUNTERS],
    has_ended: bool,
}

/// Exit from a part of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaving {
    No,
    Loop,
    Program,
}

impl LaneState {
    fn value(&self, operand: LaneOperand) -> u32 {
        match operand {
            LaneOperand::Vector(number) => self.registers[usize::from(number)],
            LaneOperand::Scalar(level) => self.repeats[usize::from(level)],
            LaneOperand::Const(value) => value,
        }
    }

    fn holds(&self, condition: LaneCondition) -> bool {
        let (a, b) = (self.value(condition.a), self.value(condition.b));
        condition.comparison.holds(a, b)
    }

    fn block(&mut self, statements: &[LaneStatement]) -> Leaving {
        for statement in statements {
            let leaving = self.statement(statement);
            if leaving != Leaving::No {
                return leaving;
            }
        }
        Leaving::No
    }

    fn statement(&mut self, statement: &LaneStatement) -> Leaving {
        match statement {
            LaneStatement::Assign { dest, op, a, b } => {
                let value = op.apply(self.value(*a), self.registers[usize::from(*b)]);
                self.registers[usize::from(*dest)] = value;
            }
            LaneStatement::If(sides) => {
                let taken = match self.holds(sides.condition) {
                    true => &sides.then,
                    false => &sides.otherwise,
                };
                let leaving = self.block(taken);
                return match sides.is_rest {
                    true => Leaving::Program,
                    false => leaving,
                };
            }
            LaneStatement::Loop { .. } => return self.iterate(statement),
            LaneStatement::Break(condition) if self.holds(*condition) => return Leaving::Loop,
            LaneStatement::Return(condition) if self.holds(*condition) => {
                return Leaving::Program;
            }
            LaneStatement::Break(_) | LaneStatement::Return(_) | LaneStatement::Mark(_) => {}
            LaneStatement::Repeat { level, times, body } => {
                for number in 0..*times {
                    self.repeats[usize::from(*level)] = number;
                    let leaving = self.block(body);
                    if leaving != Leaving::No {
                        return leaving;
                    }
                }
            }
            LaneStatement::FirstIterations { level, below, body } => {
                if self.repeats[usize::from(*level)] < *below {
                    return self.block(body);
                }
            }
            LaneStatement::Store { slot, from } => {
                self.outputs[usize::from(*slot)] = self.registers[usize::from(*from)];
            }
            LaneStatement::StorePrivate { word, from } => {
                self.private[usize::from(*word)] = self.registers[usize::from(*from)];
            }
            LaneStatement::LoadPrivate { word, to } => {
                self.registers[usize::from(*to)] = self.private[usize::from(*word)];
            }
            LaneStatement::Count { counter, .. } => self.counts[usize::from(*counter)] += 1,
            // Executed for the group; not known.
            LaneStatement::Exchange { .. } | LaneStatement::Collective { .. } => {}
        }
        Leaving::No
    }

    fn iterate(&mut self, statement: &LaneStatement) -> Leaving {
        let LaneStatement::Loop {
            level,
            bound,
            tests_last,
            body,
        } = statement
        else {
            return Leaving::No;
        };
        let counter = VARIABLES + usize::from(*level);
        let limit = counter + LOOPS;
        self.registers[limit] = self.registers[usize::from(*bound)] & 3;
        self.registers[counter] = 0;
        loop {
            if !tests_last && self.registers[counter] >= self.registers[limit] {
                return Leaving::No;
            }
            self.registers[counter] += 1;
            match self.block(body) {
                Leaving::No => {}
                Leaving::Loop => return Leaving::No,
                Leaving::Program => return Leaving::Program,
            }
            if *tests_last && self.registers[counter] >= self.registers[limit] {
                return Leaving::No;
            }
        }
    }
}

/// Start value of a variable of the work-item with this number in the launch.
pub fn start_value(variable: usize, number: u32) -> u32 {
    let (factor, offset) = START[variable];
    let product = number.wrapping_mul(factor).wrapping_add(offset);
    product >> 13 & 7
}

/// Factor and addend of the start value of each variable: three differ between lanes, one between blocks of lanes,
/// two are equal.
pub const START: [(u32, u32); VARIABLES] = [
    (0x9e37_79b1, 0x7f4a_7c15),
    (0x85eb_ca6b, 0x1234_5678),
    (0x27d4_eb2f, 0x2545_f491),
    (1 << 8, 0),
    (0, 3 << 13),
    (0, 5 << 13),
];

/// Group of work-items under plain execution.
struct Group {
    lanes: Vec<LaneState>,
    shared: Vec<u32>,
}

impl Group {
    /// Executes statements outside of divergence.
    fn run(&mut self, statements: &[LaneStatement]) {
        for statement in statements {
            let meets = |one: &LaneStatement| matches!(one, LaneStatement::Exchange { .. });
            match statement {
                LaneStatement::Exchange { variable, distance } => {
                    self.exchange(usize::from(*variable), *distance as usize);
                }
                LaneStatement::Repeat { level, times, body } if any(body, &meets) => {
                    for number in 0..*times {
                        for lane in &mut self.lanes {
                            lane.repeats[usize::from(*level)] = number;
                        }
                        self.run(body);
                    }
                }
                // Lanes for which the condition does not hold have no more statements.
                LaneStatement::If(sides) if sides.is_rest => {
                    for lane in &mut self.lanes {
                        lane.has_ended |= !lane.holds(sides.condition);
                    }
                    self.run(&sides.then);
                    self.finish();
                }
                statement => {
                    for lane in self.lanes.iter_mut().filter(|lane| !lane.has_ended) {
                        lane.has_ended = lane.statement(statement) == Leaving::Program;
                    }
                }
            }
        }
    }

    fn exchange(&mut self, variable: usize, distance: usize) {
        let lanes = self.lanes.iter().zip(&mut self.shared);
        for (lane, word) in lanes.filter(|(lane, _)| !lane.has_ended) {
            *word = lane.registers[variable];
        }
        let count = self.lanes.len();
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            if !lane.has_ended {
                lane.registers[variable] = self.shared[(number + distance) % count];
            }
        }
    }

    /// Stores the variables of the lanes that have not ended, and ends them.
    fn finish(&mut self) {
        for lane in self.lanes.iter_mut().filter(|lane| !lane.has_ended) {
            lane.outputs[SLOTS..].copy_from_slice(&lane.registers[..VARIABLES]);
            lane.has_ended = true;
        }
    }
}

/// Words that a launch leaves: outputs of the work-items, then counters.
pub fn run(program: &[LaneStatement], groups: u32, threads: u32) -> Vec<u32> {
    let mut words = Vec::new();
    let mut counts = [0u32; COUNTERS];
    for group in 0..groups {
        let lane = |thread: u32| LaneState {
            registers: std::array::from_fn(|register| match register {
                0..VARIABLES => start_value(register, group * threads + thread),
                _ => 0,
            }),
            repeats: [0; REPEATS],
            private: [0; PRIVATE],
            outputs: [0; OUTPUTS],
            counts: [0; COUNTERS],
            has_ended: false,
        };
        let mut group = Group {
            lanes: (0..threads).map(lane).collect(),
            shared: vec![0; threads as usize],
        };
        group.run(program);
        group.finish();
        for lane in &group.lanes {
            words.extend(lane.outputs);
            for (sum, count) in counts.iter_mut().zip(lane.counts) {
                *sum += count;
            }
        }
    }
    words.extend(counts);
    words
}
