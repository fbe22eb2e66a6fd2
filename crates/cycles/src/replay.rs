//! Replay: the times of a recorded warp from the transfer functions of the bound.
//!
//! A trace has the path of a warp and the outcome of each request: the cache that has a line, the slice, the missing
//! sectors. Issue, scoreboards, units, fences, barriers and shared memory use the functions of the bound. The path to
//! global memory is followed line by line, where the bound takes the worst of all lines. If a replay differs from the
//! run, a transfer function is wrong.

mod bounded;
mod levels;
mod limits;
mod memory_path;
mod server;
mod sm_lines;
mod trace;
mod walk;

use std::collections::BTreeMap;

use warpbound_machine::Parameter;
use warpbound_timing::InstrFacts;

use levels::{ConfigValues, Levels};
use limits::shared_limits;
use memory_path::MemoryPath;
use sm_lines::SmLines;
use walk::{Request, TraceReader, walk};

use crate::account::Term;
use crate::memory::{AccessDirection, AccessTimes};
use crate::numbers::{MILLI, MachineNumbers};
use crate::state::{Layout, Part, TimeVector};
use crate::step::Transfer;

pub use bounded::replay_bounded;
pub use server::ServiceOrder;
pub use trace::{
    FetchSource, RecordedTrace, TracedAccess, TracedFetch, TracedInstr, TracedL2Line, TracedLine,
    TracedMiss, TracedShared, TranslationSource,
};
pub use walk::ReplayedTimes;

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
    let mut memory = ReplayedMemory::new(values, order);
    walk(&transfer, trace, start, &mut memory)
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

    fn shared(
        transfer: &Transfer<'_>,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        bytes: u32,
        shared: &TracedShared,
    ) -> AccessTimes {
        let limits = shared_limits(shared);
        let (direction, memory) = (shared.direction, &transfer.memory);
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
        let times = self.path.access(now, start, access, &mut self.levels);
        vector.delay_memory(layout, times.accepted + MILLI);
        // Atomic operations write as well.
        if access.direction != AccessDirection::Load {
            vector.raise(Part::Stored, times.done);
        }
        AccessTimes {
            sources: times.accepted + self.sources,
            done: times.done,
        }
    }
}

impl TraceReader for ReplayedMemory {
    const IS_EXACT: bool = true;

    fn issues_pairs(&self) -> bool {
        self.issues_pairs
    }

    fn code(&mut self, _: &Transfer<'_>, _: &mut TimeVector, of: &Request<'_>) -> i64 {
        let beyond = |latency| self.levels.fetch(of.now, of.at, &of.fetch.lines, latency);
        self.code.arrival(of.at, of.fetch, beyond)
    }

    fn constant(&mut self, _: &Transfer<'_>, _: &mut TimeVector, of: &Request<'_>) -> i64 {
        let beyond = |latency| self.levels.fetch(of.now, of.at, &of.fetch.lines, latency);
        self.constants.arrival(of.at, of.fetch, beyond)
    }

    fn access(
        &mut self,
        transfer: &Transfer<'_>,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        (_, instr): (usize, &TracedInstr),
    ) -> Option<(AccessTimes, Term)> {
        let mut times = AccessTimes {
            sources: start + MILLI,
            done: start + MILLI,
        };
        if let Some(shared) = &instr.shared {
            let found = Self::shared(transfer, vector, layout, start, instr.bytes, shared);
            times.sources = times.sources.max(found.sources);
            times.done = times.done.max(found.done);
        }
        for access in &instr.accesses {
            let found = self.global(vector, layout, start, access);
            times.sources = times.sources.max(found.sources);
            times.done = times.done.max(found.done);
        }
        Some((times, Term::GlobalMemory))
    }
}

#[cfg(test)]
mod tests;
