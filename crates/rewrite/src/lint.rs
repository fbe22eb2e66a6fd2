//! Static check of control words: whether each result is present when an instruction reads it.
//!
//! A forward dataflow over the thread-level graph carries two facts for each register: the results of fixed latency
//! that may not be present yet, with the minimum number of cycles since their issue, and the operations of variable
//! latency whose results or sources no wait has covered yet. A hazard that control words leave open on some path is a
//! [`LintFinding`].
//!
//! For example, `IADD R2, R0, R1` with a stall count of 1 before `IADD R3, R2, R2` is "read too early": 1 cycle
//! instead of 6. The dataflow is the same for all of NVIDIA's GPUs; a family brings the classes of instructions and the
//! required distances ([`Distances`]). The check is no proof (SOUNDNESS 14).

mod distances;
mod hazards;
mod learned;
#[cfg(test)]
mod learned_tests;
mod published;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use warpbound_analyse::ThreadCfg;
use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_isa::nvidia::SassProgram;

pub use distances::{ClassId, Distances, RegisterUse, Use};
use hazards::{FamilyRules, InstrHazards};
use state::Checks;

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

/// Use of a result of fixed latency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ResultUse {
    /// Operation that reads the result, or writes its register again.
    pub consumer: OpIndex,
    /// Operation that writes.
    pub producer: OpIndex,
    /// Register.
    pub cell: Cell,
    /// Kind of the register, and how it is used.
    pub used: RegisterUse,
    /// Classes of the result and of its user.
    pub classes: (ClassId, ClassId),
    /// Minimum number of cycles between both issues on any path.
    pub cycles: u8,
    /// Number of cycles that is required; `None` if none is known, so that nothing was judged.
    pub least: Option<u8>,
}

/// Result of the check of a kernel.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Linted {
    /// Hazards, in order of address.
    pub findings: Vec<LintFinding>,
    /// Uses of results of fixed latency within the longest distance that is checked, a few cycles.
    pub dependences: Vec<ResultUse>,
}

/// Required distances between the instructions of a program.
pub fn distances(program: &SassProgram) -> &'static Distances {
    FamilyRules::of(program).distances
}

/// Checks the control words of code that was lifted from `program`.
pub fn lint(code: &Code, program: &SassProgram, cfg: &ThreadCfg) -> Linted {
    let rules = FamilyRules::of(program);
    let facts: Vec<InstrHazards> = code
        .ops
        .iter()
        .zip(&program.instrs)
        .map(|(op, instr)| rules.hazards(op, instr, program))
        .collect();
    let mut findings = BTreeSet::new();
    let mut dependences = BTreeSet::new();
    let lint = Checks {
        facts: &facts,
        distances: rules.distances,
    };
    state::visit(cfg, &lint, &mut |at, before| {
        if let Some(instr) = facts.get(at.index()) {
            before.check(at, instr, &lint, &mut findings, &mut dependences);
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
        let written = second
            .is_fixed
            .then_some(&second.writes)
            .into_iter()
            .flatten();
        let read = second.reads.iter().map(|(cell, _)| cell);
        let touched = read.chain(&second.conditions).chain(written);
        let is_checked = second.has_certain_reads;
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
