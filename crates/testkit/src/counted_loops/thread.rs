//! Interpreter of one thread.
//!
//! Values that no analysis knows are random: contents of memory, registers at the start, results of operations without
//! a meaning.

use fastrand::Rng;
use warpbound_ir::{
    Cell, Code, ControlEffect, ControlTarget, ExecCondition, Expr, Meaning, Op, OpIndex, Width,
    WordHalf,
};
use warpbound_isa::instr::StackToken;
use warpbound_isa::{Axis, SpecialReg};

use super::launches::OneLaunch;

/// Thread of a launch: its index in the block, and the index of its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadIndices {
    /// Index in the block.
    pub thread: [u32; 3],
    /// Index of the block in the grid.
    pub block: [u32; 3],
}

/// End of a thread's run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadEnd {
    /// The thread exits.
    Exited,
    /// The thread executed as many operations as it may.
    Cut,
    /// An operation has no next one: the code runs off its end, or a stack entry is missing.
    Lost,
}

/// State of a thread.
struct ThreadState<'a> {
    /// Lanes of a warp.
    lanes: u32,
    launch: &'a OneLaunch,
    indices: ThreadIndices,
    cells: Vec<u32>,
    /// Pushed entries: tag, and operation at which the thread resumes.
    stack: Vec<(StackToken, OpIndex)>,
    rng: Rng,
    memory: LoadedWords,
    /// Word loaded last.
    loaded: u32,
}

/// Words that a thread loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoadedWords {
    /// Any.
    Any,
    /// The same word each time.
    Same,
    /// The word before and a number.
    Changing(u32),
}

/// Runs a thread for at most `steps` operations; `visit` receives each of them before it is executed, and the
/// contents of the cells, by [`Cell::index`].
pub fn run_thread(
    code: &Code,
    launch: &OneLaunch,
    indices: ThreadIndices,
    seed: u64,
    steps: usize,
    mut visit: impl FnMut(OpIndex, &[u32]),
) -> ThreadEnd {
    let mut rng = Rng::with_seed(seed);
    let memory = match rng.u8(0..5) {
        0 => LoadedWords::Same,
        1 => LoadedWords::Changing(1),
        2 => LoadedWords::Changing(u32::MAX),
        _ => LoadedWords::Any,
    };
    let mut state = ThreadState {
        lanes: code.lanes().max(1),
        launch,
        indices,
        cells: random_cells(&mut rng),
        stack: Vec::new(),
        memory,
        loaded: rng.u32(0..24),
        rng,
    };
    for predicate in 0..8 {
        let cell = Cell::pred(predicate);
        state.write(cell, state.cells[cell.index()]);
    }
    let mut at = code.entry;
    for _ in 0..steps {
        visit(at, &state.cells);
        let Some(op) = code.get(at) else {
            return ThreadEnd::Lost;
        };
        let holds = state.holds(op.condition);
        if holds {
            state.execute(op);
        }
        match state.next(op, at, holds) {
            Ok(next) => at = next,
            Err(end) => return end,
        }
    }
    ThreadEnd::Cut
}

/// Random contents of all cells. Drawn at once and copied by a loop, because tests are built with little optimization and
/// run very many threads of a few instructions.
fn random_cells(rng: &mut Rng) -> Vec<u32> {
    let mut bytes = [0u8; 4 * Cell::COUNT];
    rng.fill(&mut bytes);
    let (words, _) = bytes.as_chunks::<4>();
    let mut cells = vec![0; Cell::COUNT];
    let mut cell = 0;
    while cell < Cell::COUNT {
        cells[cell] = u32::from_le_bytes(words[cell]);
        cell += 1;
    }
    cells
}

impl ThreadState<'_> {
    fn write(&mut self, cell: Cell, value: u32) {
        // Predicates hold 0 or 1.
        let value = if cell.is_predicate() {
            value & 1
        } else {
            value
        };
        self.cells[cell.index()] = value;
    }

    fn holds(&self, condition: ExecCondition) -> bool {
        let guard = condition
            .guard
            .is_none_or(|guard| self.cells[guard.index()] != 0);
        let cc = self.cells[Cell::CC.index()];
        // Two tests are enough for the programs here: carry (22) and no carry (17).
        let test = match condition.cc_test.0 {
            22 => cc >> 2 & 1 == 1,
            17 => cc >> 2 & 1 == 0,
            _ => true,
        };
        guard != condition.negated && test
    }

    fn execute(&mut self, op: &Op) {
        match &op.meaning {
            Some(Meaning::Set(writes)) => {
                let values: Vec<(Cell, u32)> = writes
                    .iter()
                    .map(|(cell, value)| (*cell, self.value(value)))
                    .collect();
                for (cell, value) in values {
                    self.write(cell, value);
                }
            }
            Some(Meaning::Load { dests, width, .. }) => {
                for &cell in dests.iter().flatten() {
                    let word = self.memory(*width);
                    self.write(cell, word);
                }
            }
            _ => {
                for &cell in &op.writes {
                    let value = match op.value {
                        warpbound_ir::ValueDependence::Special(register) => self.special(register),
                        _ => self.any_word(),
                    };
                    self.write(cell, value);
                }
            }
        }
    }

    /// Draws a word: small, near the ends of the ranges of numbers, or any.
    fn any_word(&mut self) -> u32 {
        let near = self.rng.u32(0..24);
        match self.rng.u8(0..8) {
            0..=4 => near,
            5 => near.wrapping_neg(),
            6 => (1u32 << 31).wrapping_add(near).wrapping_sub(12),
            _ => self.rng.u32(..),
        }
    }

    fn memory(&mut self, width: Width) -> u32 {
        self.loaded = match self.memory {
            LoadedWords::Any => self.any_word(),
            LoadedWords::Same => self.loaded,
            LoadedWords::Changing(by) => self.loaded.wrapping_add(by),
        };
        let word = self.loaded;
        match width {
            Width::U8 => word & 0xff,
            Width::S8 => word as i8 as u32,
            Width::U16 => word & 0xffff,
            Width::S16 => word as i16 as u32,
            Width::Words => word,
        }
    }

    fn special(&mut self, register: SpecialReg) -> u32 {
        let ThreadIndices { thread, block } = self.indices;
        let [width, height, _] = self.launch.block;
        let number = thread[0] + width * (thread[1] + height * thread[2]);
        match register {
            SpecialReg::ThreadIndex(axis) => thread[axis_index(axis)],
            SpecialReg::BlockIndex(axis) => block[axis_index(axis)],
            SpecialReg::LaneId => number % self.lanes,
            _ => self.any_word(),
        }
    }

    fn value(&mut self, expr: &Expr) -> u32 {
        match expr {
            Expr::Const(value) => *value,
            Expr::Cell(cell) => self.cells[cell.index()],
            Expr::ThreadId => {
                let [x, y, z] = self.indices.thread;
                let [width, height, _] = self.launch.block;
                x + width * (y + height * z)
            }
            Expr::Constant(bank, address) => {
                let address = self.value(address);
                match self.launch.words.get(&(*bank, address)) {
                    Some(&word) => word,
                    None => self.any_word(),
                }
            }
            Expr::Special(register) => self.special(*register),
            Expr::Unary(op, a) => op.apply(self.value(a)),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                op.apply(a, b).unwrap_or_else(|| self.any_word())
            }
            Expr::Ternary(op, a, b, c) => {
                let [a, b, c] = [a, b, c].map(|operand| self.value(operand));
                op.apply(a, b, c)
            }
            // A thread knows its own bit alone.
            Expr::Ballot(value, half) => {
                let lane = self.special(SpecialReg::LaneId);
                let is_in_half = (lane >= 32) == (*half == WordHalf::High);
                let holds = self.value(value) != 0;
                let others = self.any_word() & !(u32::from(is_in_half) << (lane % 32));
                others | u32::from(holds && is_in_half) << (lane % 32)
            }
            Expr::Float(..) | Expr::FromLane(..) => self.any_word(),
        }
    }

    /// Returns the operation after one at `at`.
    fn next(&mut self, op: &Op, at: OpIndex, holds: bool) -> Result<OpIndex, ThreadEnd> {
        let target = |to: &ControlTarget| match to {
            ControlTarget::Op(to) => Ok(*to),
            _ => Err(ThreadEnd::Lost),
        };
        if !holds {
            return Ok(at.next());
        }
        match &op.control {
            ControlEffect::Next => Ok(at.next()),
            ControlEffect::Jump(to) => target(to),
            ControlEffect::Call(to) => {
                self.stack.push((StackToken::Ret, at.next()));
                target(to)
            }
            ControlEffect::Push(token, to) => {
                self.stack.push((*token, target(to)?));
                Ok(at.next())
            }
            ControlEffect::Pop(token) => loop {
                match self.stack.pop() {
                    Some((found, resume)) if found == *token => return Ok(resume),
                    Some(_) => {}
                    None => return Err(ThreadEnd::Lost),
                }
            },
            ControlEffect::Exit | ControlEffect::End => Err(ThreadEnd::Exited),
            _ => Err(ThreadEnd::Lost),
        }
    }
}

/// Number of an axis as an index.
fn axis_index(axis: Axis) -> usize {
    match axis {
        Axis::X => 0,
        Axis::Y => 1,
        Axis::Z => 2,
    }
}
