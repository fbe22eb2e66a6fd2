//! Facts about an instruction on which hazards depend: what it reads and writes, its control word, and its classes.

use std::collections::BTreeSet;

use warpbound_base::GroupedCode;
use warpbound_ir::{Cell, ControlEffect, Meaning, Op};
use warpbound_isa::RegisterKind;
use warpbound_isa::nvidia::{
    InstrClass, LatencyClass, LatencyKind, Opcode, OperandValue, OperandWord, SassInstr,
    SassProgram, Timing,
};

use super::distances::{ClassId, Classes, Distances};
use super::{learned, published};

/// Facts about an instruction on which hazards depend.
#[derive(Clone, Debug)]
pub(super) struct InstrHazards {
    /// Registers that are read as operands, including the base of an indirect target, with the class as a user.
    pub(super) reads: Vec<(Cell, ClassId)>,
    /// Registers of the condition.
    pub(super) conditions: Vec<Cell>,
    /// General registers that an operation of variable latency reads some time after its issue. Predicates are read
    /// at the issue.
    pub(super) sources: Vec<Cell>,
    pub(super) writes: Vec<Cell>,
    /// Register with a later result than the others: the second one of a wide product.
    pub(super) second: Option<Cell>,
    /// Cycles to the next issue.
    pub(super) distance: u8,
    /// Whether the next instruction waits for all scoreboards.
    pub(super) drains: bool,
    pub(super) is_first_of_pair: bool,
    /// Scoreboards that the instruction waits for before it issues, and scoreboards that DEPBAR frees.
    pub(super) wait_mask: u8,
    pub(super) releases: u8,
    pub(super) write_sb: Option<u8>,
    pub(super) read_sb: Option<u8>,
    /// Whether the latency of the result is fixed, so that no scoreboard protects it.
    pub(super) is_fixed: bool,
    pub(super) classes: Classes,
    /// Whether the instruction certainly reads what the table names. Of textures and surfaces the table names the
    /// largest vector, so nothing is certain.
    pub(super) has_certain_reads: bool,
    /// Whether this is an access to memory, in all lanes of the warp, that keeps its scoreboard busy for longer than
    /// any fixed latency.
    pub(super) is_slow: bool,
    /// Whether the warp waits for the instruction in its queue.
    pub(super) is_barrier: bool,
    /// Queue that completes its operations in order.
    pub(super) queue: Option<&'static str>,
    /// Queue that reads the sources of its operations in order.
    pub(super) source_queue: Option<&'static str>,
    /// Predicate of the guard, and whether the guard is negated.
    pub(super) guard: Option<(Cell, bool)>,
    /// General registers in operand slots, and slots that the reuse cache keeps.
    pub(super) slots: [Option<Cell>; 3],
    pub(super) reuse: u8,
}

/// Queue whose operations complete in any order.
const UNORDERED: &str = "unordered";

impl InstrHazards {
    /// Whether no lane executes both, as long as the predicate keeps its value. For example, `@P0` excludes `@!P0`.
    pub(super) fn excludes(&self, other: &InstrHazards) -> bool {
        match (self.guard, other.guard) {
            (Some((a, negated)), Some((b, not))) => a == b && negated != not,
            _ => false,
        }
    }

    /// Whether a lane that executes one instruction may also execute the other, as long as the predicate keeps its
    /// value: at most one has a guard, or both have the same guard.
    pub(super) fn runs_with(&self, other: &InstrHazards) -> bool {
        match (self.guard, other.guard) {
            (Some(one), Some(another)) => one == another,
            _ => true,
        }
    }
}

/// Rules of the check that differ between families.
pub(super) struct FamilyRules {
    pub(super) distances: &'static Distances,
    classes: fn(&Distances, &SassProgram, &SassInstr) -> Classes,
    /// Queue that reads the sources of a timing class in order.
    source_queue: fn(&Timing) -> Option<&'static str>,
}

/// Queue that completes the operations of a timing class in order.
pub(super) fn result_queue(timing: &Timing) -> Option<&'static str> {
    (!timing.queue.is_empty() && timing.queue != UNORDERED).then_some(timing.queue)
}

impl FamilyRules {
    /// Rules for a program.
    pub(super) fn of(program: &SassProgram) -> FamilyRules {
        // A family has either learned distances, for each chip, or published ones.
        match learned::distances(program.arch()) {
            Some(distances) => FamilyRules {
                distances,
                classes: learned::classes,
                source_queue: learned::source_queue,
            },
            None => FamilyRules {
                distances: &published::DISTANCES,
                classes: published::classes,
                source_queue: result_queue,
            },
        }
    }

    /// Facts about an instruction.
    pub(super) fn hazards(
        &self,
        op: &Op,
        instr: &SassInstr,
        program: &SassProgram,
    ) -> InstrHazards {
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
            // Nothing is known of the time of an instruction without a class, so only its scoreboards say something.
            _ if timing.is_some_and(|timing| timing.completion == LatencyClass::Unknown) => {
                write_sb.is_none() && read_sb.is_none()
            }
            LatencyKind::ScoreboardReadWrite | LatencyKind::ScoreboardRead => false,
        };
        let opcode = program.opcode(instr);
        let has_certain_reads =
            opcode.is_none_or(|opcode| opcode.class() != InstrClass::TextureSurface);
        let operands = match has_certain_reads {
            true => &op.reads[..],
            false => &[],
        };
        let general = operands
            .iter()
            .filter(|cell| cell.register().kind == RegisterKind::Vector);
        let unread = flags_not_read(op, program, instr);
        let read = operands
            .iter()
            .copied()
            .filter(|cell| !unread.contains(cell));
        let classes = (self.classes)(self.distances, program, instr);
        // The third operand of a wide product is read later than its factors, so the slot of each register counts.
        let slots = slots(program, instr);
        let base = match op.control {
            ControlEffect::Indirect { base, .. } => base,
            _ => None,
        };
        InstrHazards {
            sources: general.copied().collect(),
            reads: read
                .chain(base)
                .map(|cell| (cell, classes.reader(cell, &slots)))
                .collect(),
            second: general_writes(op).nth(1),
            conditions: op.condition.cells().collect(),
            writes: written(op, program, instr, is_fixed || write_sb.is_some()),
            distance: distance(instr, timing),
            drains: control.usched == 0,
            is_first_of_pair: control.dual_issue(),
            wait_mask: control.wait_mask & code.all_scoreboards(),
            releases: released(program, instr),
            write_sb,
            read_sb,
            is_fixed,
            classes,
            has_certain_reads,
            // Without a guard, the LDG accesses memory in every case, which takes longer than any fixed latency.
            is_slow: write_sb.is_some()
                && op.condition.decided_by().is_none()
                && opcode == Some(Opcode::Ldg),
            is_barrier: op.barrier,
            queue: timing.and_then(result_queue),
            source_queue: timing.and_then(self.source_queue),
            guard: op
                .condition
                .decided_by()
                .map(|cell| (cell, op.condition.negated)),
            slots,
            reuse: program.reused_operands(instr),
        }
    }
}

/// General registers that an operation writes.
fn general_writes(op: &Op) -> impl Iterator<Item = Cell> {
    let writes = op.writes.iter().copied();
    writes.filter(|cell| cell.register().kind == RegisterKind::Vector)
}

/// General registers in operand slots.
fn slots(program: &SassProgram, instr: &SassInstr) -> [Option<Cell>; 3] {
    let mut slots = [None; 3];
    let view = program.view(instr);
    for operand in view.iter().flat_map(|view| &view.operands) {
        if let (OperandValue::Reg(Some(register)), Some(slot)) = (operand.value, operand.slot)
            && let Some(slot) = slots.get_mut(usize::from(slot))
        {
            *slot = Some(Cell::gpr(register));
        }
    }
    slots
}

/// Registers that an operation writes. Of the predicates that R2P may write, only those in a constant mask count.
/// Memory accesses whose result sets no scoreboard write no predicate: compilers use that predicate again at once.
fn written(op: &Op, program: &SassProgram, instr: &SassInstr, is_protected: bool) -> Vec<Cell> {
    let mut writes = op.writes.to_vec();
    if let (Some(Opcode::R2p), Some(meaning)) = (program.opcode(instr), &op.meaning) {
        writes.retain(|&cell| meaning.value_of(cell).is_some());
    }
    // A result that no scoreboard announces cannot be awaited, so no compiler reads it.
    if !is_protected && program.effects(instr).access.is_some() {
        writes.retain(|cell| !cell.is_predicate());
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

/// Minimum number of cycles from the issue of an instruction to the next issue of its warp. Codes 29 to 31 are read
/// as in maxas, because no document says how long they wait (docs/timing-model.md).
fn distance(instr: &SassInstr, timing: Option<&Timing>) -> u8 {
    let least = timing.map_or(1, |timing| timing.min_wait.max(1));
    match instr.control.usched {
        // The first of a pair issues in the same cycle as the second.
        16 => 0,
        29 => 13,
        30 => 14,
        31 => 15,
        _ => instr.control.min_distance().max(least),
    }
}

/// Scoreboards that a DEPBAR waits for. With a count other than 0 it leaves the latest operations outstanding, which
/// is not checked.
fn released(program: &SassProgram, instr: &SassInstr) -> u8 {
    if program.opcode(instr) != Some(Opcode::Depbar) {
        return 0;
    }
    let view = program.view(instr);
    let operands = view.iter().flat_map(|view| &view.operands);
    operands.fold(0, |mask, operand| match operand.value {
        OperandValue::Word {
            word: OperandWord::Scoreboard(number),
            ..
        } => mask | 1_u8.checked_shl(number.into()).unwrap_or(0),
        OperandValue::Word {
            word: OperandWord::Scoreboards(set),
            ..
        } => mask | set,
        _ => mask,
    })
}
