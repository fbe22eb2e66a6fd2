//! Liveness of registers: registers that a lane may still read, and registers that a long operation may still read or
//! write.
//!
//! Both are facts about one lane and its own copies of the registers, on every path of the thread-level graph. That
//! is enough for inserted instructions, although other lanes of the warp wait elsewhere: an instruction writes the
//! copies of the lanes that execute it, and no other copy (SOUNDNESS 18.1).
//!
//! For example, after the last read of R4 a probe may write R4, unless a store that was issued earlier may still have
//! to read it.

use warpbound_analyse::blocks::Block;
use warpbound_analyse::thread_cfg::ThreadCfg;
use warpbound_base::GroupedCode;
use warpbound_graph::{DataflowProblem, solve};
use warpbound_ir::{Cell, Code, ControlEffect, Op, OpIndex};
use warpbound_isa::nvidia::{LatencyKind, SassInstr, SassProgram};

use crate::register_set::RegisterSet;

/// Faults that tests plant, to show that they are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeFault {
    /// A write under a guard ends a live range.
    GuardedWritesKill,
    /// No register counts as one that the program names.
    NothingUsed,
    /// Additions to memory do not wait until the previous value was read.
    SharesScoreboard,
    /// The factor of the first probe is one too large.
    WrongFactor,
    /// Counters are not added at the last exit.
    MissesAnExit,
    /// Between the instructions of a probe, the block may use the registers that the probe writes.
    NamesIgnored,
    /// The rest of a stall is lost if a probe is placed in cycles when the warp waited.
    StallsLost,
}

impl ProbeFault {
    /// Whether a test has planted this fault.
    pub(crate) fn is_in(self, planted: Option<ProbeFault>) -> bool {
        planted == Some(self)
    }
}

/// Registers in use at each operation of a kernel.
pub struct Liveness {
    /// By operation: registers that a lane may read before it writes them, when it is about to execute the operation.
    live: Vec<RegisterSet>,
    /// By operation: registers that an earlier operation of variable latency may still read or write, after the waits
    /// of all operations before this one.
    in_flight: Vec<RegisterSet>,
    /// By operation: the registers in `in_flight` that no scoreboard protects.
    unprotected: Vec<RegisterSet>,
    /// Registers that any operation of the kernel reads or writes, reachable or not.
    used: RegisterSet,
    fault: Option<ProbeFault>,
}

impl Liveness {
    /// Computes the registers in use at each operation of `code`, from its thread-level graph. At operations that no
    /// lane reaches, all registers count as in use.
    pub fn compute(code: &Code, program: &SassProgram, cfg: &ThreadCfg) -> Liveness {
        Liveness::with_fault(code, program, cfg, None)
    }

    /// Same as [`Liveness::compute`], with a planted fault.
    pub fn with_fault(
        code: &Code,
        program: &SassProgram,
        cfg: &ThreadCfg,
        fault: Option<ProbeFault>,
    ) -> Liveness {
        let mut liveness = Liveness {
            live: vec![RegisterSet::default(); code.ops.len()],
            in_flight: vec![RegisterSet::default(); code.ops.len()],
            unprotected: vec![RegisterSet::default(); code.ops.len()],
            used: match fault {
                Some(ProbeFault::NothingUsed) => RegisterSet::default(),
                _ => used_registers(code),
            },
            fault,
        };
        liveness.find_live(code, cfg);
        liveness.find_in_flight(code, program, cfg);
        let mut reached = vec![false; code.ops.len()];
        for node in cfg.space.ids().filter(|&node| cfg.is_reached(node)) {
            for at in cfg.space.block(node).ops() {
                if let Some(slot) = reached.get_mut(at.index()) {
                    *slot = true;
                }
            }
        }
        for (index, _) in reached.iter().enumerate().filter(|(_, reached)| !**reached) {
            // Nothing is proven there, so no register is free.
            liveness.live[index] = RegisterSet::ALL;
            liveness.in_flight[index] = RegisterSet::ALL;
            liveness.unprotected[index] = RegisterSet::ALL;
        }
        liveness
    }

    /// Registers that a lane may read before it writes them, when it is about to execute `at`; all registers outside
    /// the code.
    pub fn live_before(&self, at: OpIndex) -> RegisterSet {
        let known = self.live.get(at.index());
        known.copied().unwrap_or(RegisterSet::ALL)
    }

    /// Registers that operations before `at` may still read or write; all registers outside the code.
    pub fn in_flight_before(&self, at: OpIndex) -> RegisterSet {
        let known = self.in_flight.get(at.index());
        known.copied().unwrap_or(RegisterSet::ALL)
    }

    /// Registers that operations before `at` may still read or write without the protection of a scoreboard.
    pub fn unprotected_before(&self, at: OpIndex) -> RegisterSet {
        let known = self.unprotected.get(at.index());
        known.copied().unwrap_or(RegisterSet::ALL)
    }

    /// Registers that some operation reads or writes.
    pub fn used(&self) -> RegisterSet {
        self.used
    }

    /// Whether an inserted instruction before `at` may write a register: no later instruction reads its value, and no
    /// operation in flight reads or writes it. `R1`, the stack pointer, and the condition code are never free.
    pub fn is_free(&self, at: OpIndex, cell: Cell) -> bool {
        let reserved = cell == Cell::gpr(1) || cell == Cell::CC;
        !reserved
            && !self.live_before(at).contains(cell)
            && !self.in_flight_before(at).contains(cell)
    }

    /// Solves the liveness equations backwards over the nodes, then inside each block.
    fn find_live(&mut self, code: &Code, cfg: &ThreadCfg) {
        let blocks = blocks_of(cfg);
        let mut at_entry = vec![RegisterSet::default(); cfg.space.len()];
        let predecessors = cfg.graph().reversed();
        let reached = cfg.space.ids().filter(|&node| cfg.is_reached(node));
        // Successors before predecessors, so that most nodes are final at their first visit.
        let mut worklist: std::collections::BTreeSet<(std::cmp::Reverse<u64>, usize)> = reached
            .map(|node| (std::cmp::Reverse(cfg.rank(node.index())), node.index()))
            .collect();
        while let Some((_, node)) = worklist.pop_first() {
            let mut live = live_after(cfg, &at_entry, node);
            for at in ops_of(&blocks, node).rev() {
                if let Some(op) = code.get(at) {
                    step_back(op, &mut live, self.fault);
                }
            }
            if at_entry[node].join(&live) {
                for &before in predecessors.successors(node) {
                    worklist.insert((std::cmp::Reverse(cfg.rank(before)), before));
                }
            }
        }
        // A block in several contexts has several nodes, whose sets are joined.
        for node in cfg.space.ids().filter(|&node| cfg.is_reached(node)) {
            let mut live = live_after(cfg, &at_entry, node.index());
            for at in cfg.space.block(node).ops().rev() {
                if let (Some(op), Some(slot)) = (code.get(at), self.live.get_mut(at.index())) {
                    step_back(op, &mut live, self.fault);
                    slot.join(&live);
                }
            }
        }
    }

    /// Solves the equations for operations in flight, then inside each block.
    fn find_in_flight(&mut self, code: &Code, program: &SassProgram, cfg: &ThreadCfg) {
        let blocks = blocks_of(cfg);
        let mut problem = FlightProblem {
            code,
            program,
            cfg,
            blocks: blocks.clone(),
        };
        let solved = solve(&mut problem, cfg.entry.index(), Flight::default());
        let Ok(solution) = solved;
        for (node, state) in solution.reached() {
            let mut state = state.clone();
            for at in ops_of(&blocks, node) {
                let Some(op) = code.get(at) else { continue };
                if let Some(slot) = self.in_flight.get_mut(at.index()) {
                    slot.join(&state.all());
                    self.unprotected[at.index()].join(&state.unprotected);
                }
                if let Some(instr) = program.instrs.get(at.index()) {
                    state.step(op, instr, program);
                }
            }
        }
    }
}

/// Mask of all scoreboards.
pub(crate) const ALL_SCOREBOARDS: u8 = GroupedCode::WITH_THREE_SLOTS.all_scoreboards();

/// Returns the block of each node.
fn blocks_of(cfg: &ThreadCfg) -> Vec<Block> {
    cfg.space.ids().map(|node| cfg.space.block(node)).collect()
}

/// Returns the operations of a node in order; none if there is no such node.
fn ops_of(blocks: &[Block], node: usize) -> impl DoubleEndedIterator<Item = OpIndex> + use<> {
    let block = blocks.get(node).copied();
    let ops = block
        .into_iter()
        .flat_map(|block| block.first.0..=block.last.0);
    ops.map(OpIndex)
}

/// Returns the registers that operations read or write.
fn used_registers(code: &Code) -> RegisterSet {
    let cells = code.ops.iter().flat_map(|op| {
        let reads = op.reads.iter().copied().chain(op.condition.cells());
        reads.chain(op.writes.iter().copied())
    });
    cells.collect()
}

/// Returns the registers that are live at the end of a node. A function outside the file may read any register.
fn live_after(cfg: &ThreadCfg, at_entry: &[RegisterSet], node: usize) -> RegisterSet {
    let resolved = cfg.resolved.get(node).and_then(Option::as_ref);
    // The same holds where the successors are not known.
    if resolved.is_none_or(|resolved| resolved.external.is_some()) {
        return RegisterSet::ALL;
    }
    let mut live = RegisterSet::default();
    let steps = cfg.steps.get(node).into_iter().flatten();
    for next in steps.filter_map(|step| step.to) {
        if let Some(entry) = at_entry.get(next.index()) {
            live.join(entry);
        }
    }
    live
}

/// Turns the registers that are live after an operation into the registers that are live before it. Only a write in
/// all lanes that execute the operation ends a live range: where the condition fails, the old value stays.
fn step_back(op: &Op, live: &mut RegisterSet, fault: Option<ProbeFault>) {
    // Writes before reads: `IADD R2, R2, R3` keeps R2 live.
    if op.condition.is_always() || fault == Some(ProbeFault::GuardedWritesKill) {
        op.writes.iter().for_each(|&cell| live.remove(cell));
    }
    let reads = op.reads.iter().copied().chain(op.condition.cells());
    reads.for_each(|cell| live.insert(cell));
    if let ControlEffect::Indirect {
        base: Some(base), ..
    } = op.control
    {
        live.insert(base);
    }
}

/// Operations in flight on entry to a node.
#[derive(Clone, PartialEq, Default)]
struct Flight {
    /// Registers of the operations that hold each scoreboard.
    of_scoreboard: [RegisterSet; GroupedCode::WITH_THREE_SLOTS.scoreboards as usize],
    /// Scoreboards that an operation may hold.
    held: u8,
    /// Registers of operations that no scoreboard protects, so that nothing shows when they are done.
    unprotected: RegisterSet,
}

impl Flight {
    /// Registers of all operations in flight.
    fn all(&self) -> RegisterSet {
        let mut all = self.unprotected;
        self.of_scoreboard.iter().for_each(|set| {
            all.join(set);
        });
        all
    }

    /// Advances over one instruction: first its waits, then what it sets in flight.
    fn step(&mut self, op: &Op, instr: &SassInstr, program: &SassProgram) {
        // DEPBAR counts as no wait, which only keeps more registers in use.
        let control = instr.control;
        for (scoreboard, registers) in self.of_scoreboard.iter_mut().enumerate() {
            if control.wait_mask >> scoreboard & 1 == 1 {
                *registers = RegisterSet::default();
            }
        }
        self.held &= !control.wait_mask;
        let code = GroupedCode::WITH_THREE_SLOTS;
        let (write, read) = (
            code.scoreboard(control.write_sb),
            code.scoreboard(control.read_sb),
        );
        let latency = program.timing(instr).map(|timing| timing.latency);
        let is_fixed = match latency {
            Some(LatencyKind::Fixed) => true,
            // Nothing says when a branch reads its registers, so a branch with operands counts as in flight.
            Some(LatencyKind::Branch) => op.reads.is_empty() && op.writes.is_empty(),
            _ => false,
        };
        if is_fixed {
            // Control words cover these by stall counts.
            return;
        }
        for scoreboard in write.into_iter().chain(read) {
            self.held |= 1 << scoreboard;
        }
        // The result is written after the sources were read, so the write scoreboard protects the sources as well.
        let reads = op.reads.iter().copied().collect();
        self.add(read.or(write), &reads);
        self.add(write, &op.writes.iter().copied().collect());
    }

    fn add(&mut self, scoreboard: Option<u8>, registers: &RegisterSet) {
        let holder = scoreboard.and_then(|number| self.of_scoreboard.get_mut(usize::from(number)));
        holder.unwrap_or(&mut self.unprotected).join(registers);
    }
}

struct FlightProblem<'a> {
    code: &'a Code,
    program: &'a SassProgram,
    cfg: &'a ThreadCfg,
    /// By node.
    blocks: Vec<Block>,
}

impl DataflowProblem for FlightProblem<'_> {
    type State = Flight;
    type Error = std::convert::Infallible;

    fn flow(
        &mut self,
        node: usize,
        state: &Flight,
        emit: &mut dyn FnMut(usize, Flight),
    ) -> Result<(), Self::Error> {
        let mut state = state.clone();
        for at in ops_of(&self.blocks, node) {
            let instr = self.program.instrs.get(at.index());
            if let (Some(op), Some(instr)) = (self.code.get(at), instr) {
                state.step(op, instr, self.program);
            }
        }
        for next in self
            .cfg
            .steps
            .get(node)
            .into_iter()
            .flatten()
            .filter_map(|step| step.to)
        {
            emit(next.index(), state.clone());
        }
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut Flight, new: Flight) -> bool {
        let before = old.clone();
        for (own, others) in old.of_scoreboard.iter_mut().zip(&new.of_scoreboard) {
            own.join(others);
        }
        old.held |= new.held;
        old.unprotected.join(&new.unprotected);
        *old != before
    }
}
