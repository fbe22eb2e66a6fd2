//! Replay: the times of a recorded warp from the transfer functions of the bound.
//!
//! A trace has the path of a warp and the outcome of each request: the cache that has a line, the slice, the missing
//! sectors. Issue, scoreboards, units, fences, barriers and shared memory use the functions of the bound. The path to
//! global memory is followed line by line, where the bound takes the worst of all lines. If a replay differs from the
//! run, a transfer function is wrong.

mod bounded;
mod levels;
mod memory_path;
mod server;
mod sm_lines;
mod trace;

use std::collections::BTreeMap;

use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;
use warpbound_timing::{Distance, InstrFacts};

use levels::{ConfigValues, Levels};
use memory_path::MemoryPath;
use sm_lines::SmLines;

use crate::account::{Account, Term};
use crate::memory::{AccessDirection, AccessTimes, SpaceLimits};
use crate::numbers::{MILLI, MachineNumbers};
use crate::outcomes::StepOutcomes;
use crate::state::{Layout, Part, TimeVector};
use crate::step::Transfer;

pub use bounded::replay_bounded;
pub use server::ServiceOrder;
pub use trace::{
    FetchSource, RecordedTrace, TracedAccess, TracedFetch, TracedInstr, TracedL2Line, TracedLine,
    TracedMiss, TracedShared, TranslationSource,
};

/// Times of a replayed warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayedTimes {
    /// Cycle of the issue of each instruction of the trace.
    pub issues: Vec<u64>,
    /// Cycle of the end of the launch.
    pub end: u64,
}

/// Replays a warp that runs alone on a machine with the numbers of one configuration. `facts` has all instructions of
/// the kernel.
pub fn replay(
    facts: &[InstrFacts],
    trace: &RecordedTrace,
    numbers: &MachineNumbers,
    order: ServiceOrder,
) -> ReplayedTimes {
    let accesses = BTreeMap::new();
    let transfer = Transfer::new(facts, &accesses, numbers);
    let values = ConfigValues(numbers);
    let start = values.cycles(Parameter::LaunchKernel);
    let mut vector = TimeVector::start(&transfer.layout, start);
    let mut account = Account::new([Term::Dependencies; crate::state::SCOREBOARDS]);
    let mut memory = ReplayedMemory::new(values, order);
    let mut issues = Vec::with_capacity(trace.instrs.len());
    let mut may_be_second = false;
    for (number, instr) in trace.instrs.iter().enumerate() {
        let before = vector.get(Part::LastIssue);
        memory.fetch_code(&mut vector, instr, &mut account);
        let mut outcomes = TracedOutcomes {
            transfer: &transfer,
            memory: &mut memory,
            instr,
            may_be_second,
        };
        transfer.issue_with(&mut vector, instr.at, &mut outcomes, &mut account);
        let issue = vector.get(Part::LastIssue);
        issues.push((issue / MILLI) as u64);
        // The second instruction of a pair begins no pair, and neither does one that arrives at a barrier.
        let is_second = may_be_second && issue == before;
        let own = facts.get(instr.at.index());
        may_be_second =
            own.is_some_and(|own| own.distance == Distance::Pair && !own.arrives) && !is_second;
        if let Some(next) = trace.instrs.get(number + 1)
            && transfer.branches(instr.at)
            && next.at.index() != instr.at.index() + 1
        {
            transfer.jump(&mut vector, &mut account);
        }
    }
    ReplayedTimes {
        issues,
        end: (transfer.end(&vector) / MILLI) as u64,
    }
}

/// Memory system of a replay.
struct ReplayedMemory {
    path: MemoryPath,
    levels: Levels,
    code: SmLines,
    constants: SmLines,
    /// Time from an access's place in the window to the reading of its sources.
    sources: i64,
    issues_pairs: bool,
}

impl ReplayedMemory {
    fn new(values: ConfigValues<'_>, order: ServiceOrder) -> ReplayedMemory {
        ReplayedMemory {
            path: MemoryPath::new(values, order),
            levels: Levels::new(values, order),
            code: SmLines::of_code(values),
            constants: SmLines::of_constants(values),
            sources: values.cycles(Parameter::L1Sources),
            issues_pairs: values.number(Parameter::IssueDual) != 0,
        }
    }

    /// Delays the next instruction by the fetch of its line, if it is a new one.
    fn fetch_code(
        &mut self,
        vector: &mut TimeVector,
        instr: &TracedInstr,
        account: &mut Account<'_>,
    ) {
        let (now, at) = (vector.get(Part::LastIssue), vector.get(Part::Requested));
        for line in &instr.code {
            let beyond = |latency| self.levels.fetch(now, at, &line.lines, latency);
            let arrival = self.code.arrival(at, line, beyond);
            // The warp waits for its own line; lines ahead are only requested.
            if line.ahead == 0 {
                account.wait(vector, arrival, Term::Fetch);
            }
        }
    }
}

impl ReplayedMemory {
    /// Time from which a constant that is requested at a time is present.
    fn fetch_constant(&mut self, now: i64, at: i64, constant: &TracedFetch) -> i64 {
        let beyond = |latency| self.levels.fetch(now, at, &constant.lines, latency);
        self.constants.arrival(at, constant, beyond)
    }
}

/// Outcomes of an instruction of a trace.
struct TracedOutcomes<'a> {
    transfer: &'a Transfer<'a>,
    memory: &'a mut ReplayedMemory,
    instr: &'a TracedInstr,
    may_be_second: bool,
}

impl TracedOutcomes<'_> {
    fn shared(
        &self,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        shared: &TracedShared,
    ) -> AccessTimes {
        let limits = SpaceLimits {
            space: MemorySpace::Shared,
            requests: shared.transactions - shared.conflicts.min(shared.transactions),
            conflicts: shared.conflicts,
            same_word: shared.same_word,
            lines: 0,
            sectors: 0,
            may_miss: false,
            may_walk: false,
            may_evict: false,
            may_hit_l1: false,
        };
        let (direction, bytes) = (shared.direction, self.instr.bytes);
        let memory = &self.transfer.memory;
        memory.shared(vector, layout, start, direction, bytes, &limits)
    }

    fn global(
        &mut self,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        access: &TracedAccess,
    ) -> AccessTimes {
        let now = vector.get(Part::LastIssue);
        let memory = &mut *self.memory;
        let times = memory.path.access(now, start, access, &mut memory.levels);
        vector.delay_memory(layout, times.accepted + MILLI);
        // Atomic operations write as well.
        if access.direction != AccessDirection::Load {
            vector.raise(Part::Stored, times.done);
        }
        AccessTimes {
            sources: times.accepted + memory.sources,
            done: times.done,
        }
    }
}

impl StepOutcomes for TracedOutcomes<'_> {
    const KNOWS_PIPE: bool = true;

    fn may_be_second(&self) -> bool {
        self.may_be_second
    }

    fn issues_pairs(&self) -> bool {
        self.memory.issues_pairs
    }

    fn operands(&mut self, vector: &mut TimeVector) -> Option<i64> {
        let (now, at) = (vector.get(Part::LastIssue), vector.get(Part::Requested));
        let operands = self.instr.operands.iter();
        let arrivals = operands.map(|own| self.memory.fetch_constant(now, at, own));
        arrivals.max()
    }

    fn words(&self) -> i64 {
        i64::from(self.instr.bytes / 4).max(1)
    }

    fn access(
        &mut self,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
    ) -> Option<(AccessTimes, Term)> {
        let mut times = AccessTimes {
            sources: start + MILLI,
            done: start + MILLI,
        };
        let shared = self.instr.shared.iter();
        for shared in shared {
            let found = self.shared(vector, layout, start, shared);
            times.sources = times.sources.max(found.sources);
            times.done = times.done.max(found.done);
        }
        let instr = self.instr;
        for access in &instr.accesses {
            let found = self.global(vector, layout, start, access);
            times.sources = times.sources.max(found.sources);
            times.done = times.done.max(found.done);
        }
        Some((times, Term::GlobalMemory))
    }

    fn loaded_constants(
        &mut self,
        vector: &mut TimeVector,
        start: i64,
        replay: i64,
    ) -> Option<i64> {
        let now = vector.get(Part::LastIssue);
        let arrivals = (0..).zip(&self.instr.loaded).map(|(number, own)| {
            let at = start + number * replay;
            self.memory.fetch_constant(now, at, own)
        });
        arrivals.max()
    }

    fn waits_at_barrier(&self) -> bool {
        self.instr.waits_at_barrier
    }
}

#[cfg(test)]
mod tests;
