//! Static check of control words: whether each result is present when an instruction reads it.
//!
//! A forward dataflow over the thread-level graph carries two facts for each register: the results of fixed latency
//! that may not be present yet, with the minimum number of cycles since their issue, and the operations of variable
//! latency whose results or sources no wait has covered yet. A hazard that control words leave open on some path is a
//! [`LintFinding`].
//!
//! For example, `IADD R2, R0, R1` with a stall count of 1 before `IADD R3, R2, R2` is "read too early": 1 cycle
//! instead of 6. The check is no proof (SOUNDNESS 14).

mod distances;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use warpbound_analyse::ThreadCfg;
use warpbound_base::GroupedCode;
use warpbound_ir::{Cell, Code, ControlEffect, Meaning, Op, OpIndex};
use warpbound_isa::nvidia::{LatencyKind, Opcode, OperandValue, SassInstr, SassProgram};

pub use distances::{ConsumerClass, ProducerClass, least_distance};

/// Kinds of hazards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ControlHazard {
    /// A result of fixed latency is read before it is present.
    ReadTooEarly,
    /// A result of variable latency is read without a wait for its scoreboard.
    ResultNotAwaited,
    /// A register is written while an earlier operation of variable latency may still write it.
    ResultOverwritten,
    /// A register is written while an earlier operation of variable latency may still read it.
    SourceOverwritten,
    /// The second instruction of a pair depends on the first.
    DependentPair,
    /// A register kept in the operand reuse cache is written by the instruction that keeps it.
    StaleReuse,
}

impl ControlHazard {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ControlHazard::ReadTooEarly => "read too early",
            ControlHazard::ResultNotAwaited => "result not awaited",
            ControlHazard::ResultOverwritten => "result overwritten",
            ControlHazard::SourceOverwritten => "source overwritten",
            ControlHazard::DependentPair => "dependent pair",
            ControlHazard::StaleReuse => "stale reuse",
        }
    }
}

/// Hazard that control words leave open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LintFinding {
    /// Operation that reads or writes too early.
    pub at: OpIndex,
    /// Kind of the hazard.
    pub hazard: ControlHazard,
    /// Register.
    pub cell: Cell,
    /// Earlier operation.
    pub producer: OpIndex,
    /// Cycles between both issues and the minimum that is safe, for [`ControlHazard::ReadTooEarly`].
    pub cycles: Option<(u8, u8)>,
    /// Whether the hazard exists only if a lane executes both operations, which the code may exclude by its
    /// computations: the guards differ or may have changed, or one has a guard and a branch lies between the
    /// operations.
    pub is_possible: bool,
}

/// Read of a result of fixed latency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DependentRead {
    /// Operation that reads.
    pub consumer: OpIndex,
    /// Operation that writes.
    pub producer: OpIndex,
    /// Register.
    pub cell: Cell,
    /// Minimum number of cycles between both issues on any path.
    pub cycles: u8,
}

/// Result of the check of a kernel.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Linted {
    /// Hazards, in order of address.
    pub findings: Vec<LintFinding>,
    /// Reads of results of fixed latency within the longest distance that is checked, a few cycles.
    pub dependences: Vec<DependentRead>,
}

/// Checks the control words of code that was lifted from `program`.
pub fn lint(code: &Code, program: &SassProgram, cfg: &ThreadCfg) -> Linted {
    let facts: Vec<InstrHazards> = code
        .ops
        .iter()
        .zip(&program.instrs)
        .map(|(op, instr)| InstrHazards::of(op, instr, program))
        .collect();
    let mut findings = BTreeSet::new();
    let mut dependences = BTreeSet::new();
    state::visit(cfg, &facts, &mut |at, before| {
        if let Some(instr) = facts.get(at.index()) {
            before.check(at, instr, &facts, &mut findings, &mut dependences);
        }
    });
    // Pairs and reuse bits concern the next instruction in the code.
    for (index, pair) in facts.windows(2).enumerate() {
        if let [first, second] = pair {
            check_neighbours(OpIndex(index as u32), first, second, &mut findings);
        }
    }
    // On another path or in another context, the same hazard may be certain. The order puts that one first.
    let mut findings: Vec<LintFinding> = findings.into_iter().collect();
    findings.dedup_by(|later, first| {
        let is_possible = first.is_possible;
        LintFinding {
            is_possible,
            ..*later
        } == *first
    });
    Linted {
        findings,
        dependences: dependences.into_iter().collect(),
    }
}

/// Checks an instruction against the next one.
fn check_neighbours(
    at: OpIndex,
    first: &InstrHazards,
    second: &InstrHazards,
    findings: &mut BTreeSet<LintFinding>,
) {
    let finding = |hazard, cell| LintFinding {
        at: at.next(),
        hazard,
        cell,
        producer: at,
        cycles: None,
        is_possible: !first.runs_with(second),
    };
    if first.is_first_of_pair && !first.excludes(second) {
        // Writes of variable latency are left out: they happen long after the other instruction's.
        let written = second.producer.iter().flat_map(|_| &second.writes);
        let touched = second.reads.iter().chain(written);
        let is_checked = second.consumer != ConsumerClass::Unknown;
        for &cell in touched.filter(|cell| is_checked && first.writes.contains(cell)) {
            findings.insert(finding(ControlHazard::DependentPair, cell));
        }
    }
    for (slot, &cell) in first.slots.iter().enumerate() {
        let Some(cell) = cell else { continue };
        let is_kept = first.reuse >> slot & 1 == 1;
        let is_read = second.slots.get(slot).copied().flatten() == Some(cell);
        if is_kept && is_read && first.writes.contains(&cell) {
            findings.insert(finding(ControlHazard::StaleReuse, cell));
        }
    }
}

/// Facts about an instruction on which hazards depend.
#[derive(Clone, Debug)]
struct InstrHazards {
    /// Registers that are read, including the condition and the base of an indirect target.
    reads: Vec<Cell>,
    /// General registers that an operation of variable latency reads some time after its issue. Predicates are read
    /// at the issue.
    sources: Vec<Cell>,
    writes: Vec<Cell>,
    /// Cycles to the next issue.
    distance: u8,
    /// Whether the next instruction waits for all scoreboards.
    drains: bool,
    is_first_of_pair: bool,
    /// Scoreboards that the instruction waits for before it issues, and scoreboards that DEPBAR frees.
    wait_mask: u8,
    releases: u8,
    write_sb: Option<u8>,
    read_sb: Option<u8>,
    /// Class of the result if its latency is fixed; `None` if a scoreboard protects it.
    producer: Option<ProducerClass>,
    consumer: ConsumerClass,
    /// Whether this is an access to memory, in all lanes of the warp, that keeps its scoreboard busy for longer than
    /// any fixed latency.
    is_slow: bool,
    /// Whether the warp waits for the instruction in its queue.
    is_barrier: bool,
    /// Queue that completes its operations in order.
    queue: Option<&'static str>,
    /// Predicate of the guard, and whether the guard is negated.
    guard: Option<(Cell, bool)>,
    /// General registers in operand slots, and slots that the reuse cache keeps.
    slots: [Option<Cell>; 3],
    reuse: u8,
}

/// Queue whose operations complete in any order.
const UNORDERED: &str = "unordered";

impl InstrHazards {
    /// Whether no lane executes both, as long as the predicate keeps its value. For example, `@P0` excludes `@!P0`.
    fn excludes(&self, other: &InstrHazards) -> bool {
        match (self.guard, other.guard) {
            (Some((a, negated)), Some((b, not))) => a == b && negated != not,
            _ => false,
        }
    }

    /// Whether a lane that executes one instruction may also execute the other, as long as the predicate keeps its
    /// value: at most one has a guard, or both have the same guard.
    fn runs_with(&self, other: &InstrHazards) -> bool {
        match (self.guard, other.guard) {
            (Some(one), Some(another)) => one == another,
            _ => true,
        }
    }

    fn of(op: &Op, instr: &SassInstr, program: &SassProgram) -> InstrHazards {
        let control = instr.control;
        let timing = program.timing(instr);
        let code = GroupedCode::WITH_THREE_SLOTS;
        let (write_sb, read_sb) = (
            code.scoreboard(control.write_sb),
            code.scoreboard(control.read_sb),
        );
        let latency = timing.map_or(LatencyKind::Fixed, |timing| timing.latency);
        let is_fixed = match latency {
            LatencyKind::Fixed | LatencyKind::Branch => true,
            // Both kinds occur: without a scoreboard, the stall count covers the latency.
            LatencyKind::Either => write_sb.is_none(),
            LatencyKind::ScoreboardReadWrite | LatencyKind::ScoreboardRead => false,
        };
        let view = program.view(instr);
        let mut slots = [None; 3];
        for operand in view.iter().flat_map(|view| &view.operands) {
            if let (OperandValue::Reg(Some(register)), Some(slot)) = (operand.value, operand.slot)
                && let Some(slot) = slots.get_mut(usize::from(slot))
            {
                *slot = Some(Cell::gpr(register));
            }
        }
        let base = match op.control {
            ControlEffect::Indirect { base, .. } => base,
            _ => None,
        };
        let consumer = ConsumerClass::of(program, instr);
        // Of textures and surfaces the table names the largest vector, so no read is certain.
        let operands = match consumer {
            ConsumerClass::Unknown => &[][..],
            _ => &op.reads,
        };
        let general = operands.iter().filter(|cell| {
            let kind = cell.register().kind;
            kind == warpbound_isa::RegisterKind::Vector
        });
        let unread = flags_not_read(op, program, instr);
        let read = operands
            .iter()
            .copied()
            .filter(|cell| !unread.contains(cell));
        let reads = read.chain(op.condition.cells());
        InstrHazards {
            sources: general.copied().collect(),
            reads: reads.chain(base).collect(),
            writes: written(op, program, instr),
            distance: distances::distance(instr, timing),
            drains: control.usched == 0,
            is_first_of_pair: control.dual_issue(),
            wait_mask: control.wait_mask & code.all_scoreboards(),
            releases: distances::released(program, instr),
            write_sb,
            read_sb,
            producer: is_fixed.then(|| ProducerClass::of(program, instr)),
            consumer,
            // Without a guard, the LDG accesses memory in every case, which takes longer than any fixed latency.
            is_slow: write_sb.is_some()
                && op.condition.decided_by().is_none()
                && program.opcode(instr) == Some(Opcode::Ldg),
            is_barrier: op.barrier,
            queue: timing
                .map(|timing| timing.queue)
                .filter(|queue| !queue.is_empty() && *queue != UNORDERED),
            guard: op
                .condition
                .decided_by()
                .map(|cell| (cell, op.condition.negated)),
            slots,
            // On instructions of variable latency the reuse bits have another meaning.
            reuse: if latency == LatencyKind::Fixed {
                control.reuse
            } else {
                0
            },
        }
    }
}

/// Registers that an operation writes. Of the predicates that R2P may write, only those in a constant mask count.
fn written(op: &Op, program: &SassProgram, instr: &SassInstr) -> Vec<Cell> {
    let mut writes = op.writes.to_vec();
    if let (Some(Opcode::R2p), Some(meaning)) = (program.opcode(instr), &op.meaning) {
        writes.retain(|&cell| meaning.value_of(cell).is_some());
    }
    writes
}

/// Predicates and condition codes that the table lists as reads for all modifiers and masks, but that this operation
/// does not read: outside the mask of P2R, or unused by the operation's meaning.
fn flags_not_read(op: &Op, program: &SassProgram, instr: &SassInstr) -> Vec<Cell> {
    let is_flag = |cell: &&Cell| cell.is_predicate() || **cell == Cell::CC;
    let flags = op.reads.iter().filter(is_flag).copied();
    if program.opcode(instr) == Some(Opcode::P2r) {
        let view = program.view(instr);
        let operands = view.iter().flat_map(|view| &view.operands);
        let mask = operands.rev().find_map(|operand| match operand.value {
            OperandValue::Int(mask) => Some(mask),
            _ => None,
        });
        let in_mask = |cell: &Cell| {
            // Without a constant mask, every predicate may be read.
            let bit = (0..7).find(|&n| *cell == Cell::pred(n));
            mask.is_none_or(|mask| bit.is_none_or(|n| mask >> n & 1 == 1))
        };
        return flags.filter(|cell| !in_mask(cell)).collect();
    }
    let Some(Meaning::Set(writes)) = &op.meaning else {
        return Vec::new();
    };
    let mut read = BTreeSet::new();
    for (_, value) in writes {
        value.for_each_cell(&|_| true, &mut |cell| {
            read.insert(cell);
        });
    }
    flags.filter(|cell| !read.contains(cell)).collect()
}
