//! Walk along the instructions of a trace: fetches, issues and taken jumps, with the times that a [`TraceReader`]
//! takes from the trace.

use warpbound_timing::Distance;

use super::trace::{RecordedTrace, TracedFetch, TracedInstr};
use crate::account::{Account, Term};
use crate::memory::AccessTimes;
use crate::numbers::MILLI;
use crate::outcomes::StepOutcomes;
use crate::state::{Layout, Part, TimeVector};
use crate::step::Transfer;

/// Times of a replayed warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayedTimes {
    /// Cycle of the issue of each instruction of the trace.
    pub issues: Vec<u64>,
    /// Cycle of the end of the launch.
    pub end: u64,
}

/// Line of code or constant that is requested.
pub(super) struct Request<'a> {
    pub(super) fetch: &'a TracedFetch,
    /// Time of the last issue.
    pub(super) now: i64,
    /// Time of the request.
    pub(super) at: i64,
}

/// Reader of the times of a trace: as in the run, or as in a bound. Times are in thousandths of cycles.
pub(super) trait TraceReader {
    /// Whether pipes, pairs and the waits at barriers are the run's. Otherwise they are the worst ones.
    const IS_EXACT: bool;

    /// Whether the machine issues pairs.
    fn issues_pairs(&self) -> bool;

    /// Time from which a requested line of code is present.
    fn code(&mut self, transfer: &Transfer<'_>, vector: &mut TimeVector, of: &Request<'_>) -> i64;

    /// Time from which a requested constant is present.
    fn constant(
        &mut self,
        transfer: &Transfer<'_>,
        vector: &mut TimeVector,
        of: &Request<'_>,
    ) -> i64;

    /// Times of the memory access of the instruction `number` of the trace, as in [`StepOutcomes::access`].
    fn access(
        &mut self,
        transfer: &Transfer<'_>,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        traced: (usize, &TracedInstr),
    ) -> Option<(AccessTimes, Term)>;
}

/// Returns the times of a trace by the functions of the bound, from a launch that begins at `start`.
pub(super) fn walk<R: TraceReader>(
    transfer: &Transfer<'_>,
    trace: &RecordedTrace,
    start: i64,
    reader: &mut R,
) -> ReplayedTimes {
    let mut vector = TimeVector::start(&transfer.layout, start);
    let mut account = Account::new([Term::Dependencies; crate::state::SCOREBOARDS]);
    let mut issues = Vec::with_capacity(trace.instrs.len());
    let mut may_be_second = false;
    for (number, instr) in trace.instrs.iter().enumerate() {
        let before = vector.get(Part::LastIssue);
        let at = vector.get(Part::Requested);
        for fetch in &instr.code {
            let now = before;
            let arrival = reader.code(transfer, &mut vector, &Request { fetch, now, at });
            // The warp waits for its own line; lines ahead are only requested.
            if fetch.ahead == 0 {
                account.wait(&mut vector, arrival, Term::Fetch);
            }
        }
        let mut outcomes = TracedOutcomes {
            transfer,
            reader,
            number,
            instr,
            may_be_second,
        };
        transfer.issue_with(&mut vector, instr.at, &mut outcomes, &mut account);
        let issue = vector.get(Part::LastIssue);
        issues.push((issue / MILLI) as u64);
        // The second instruction of a pair begins no pair, and neither does one that arrives at a barrier.
        let is_second = may_be_second && issue == before;
        let own = transfer.facts.get(instr.at.index());
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

/// Outcomes of an instruction of a trace.
struct TracedOutcomes<'a, R> {
    transfer: &'a Transfer<'a>,
    reader: &'a mut R,
    /// Number of the instruction in the trace.
    number: usize,
    instr: &'a TracedInstr,
    may_be_second: bool,
}

impl<R: TraceReader> StepOutcomes for TracedOutcomes<'_, R> {
    const KNOWS_PIPE: bool = R::IS_EXACT;

    fn may_be_second(&self) -> bool {
        R::IS_EXACT && self.may_be_second
    }

    fn issues_pairs(&self) -> bool {
        self.reader.issues_pairs()
    }

    fn operands(&mut self, vector: &mut TimeVector) -> Option<i64> {
        let (now, at) = (vector.get(Part::LastIssue), vector.get(Part::Requested));
        let operands = self.instr.operands.iter();
        let arrivals = operands.map(|fetch| {
            let request = Request { fetch, now, at };
            self.reader.constant(self.transfer, vector, &request)
        });
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
        let traced = (self.number, self.instr);
        self.reader
            .access(self.transfer, vector, layout, start, traced)
    }

    fn loaded_constants(
        &mut self,
        vector: &mut TimeVector,
        start: i64,
        replay: i64,
    ) -> Option<i64> {
        let now = vector.get(Part::LastIssue);
        let loaded = &self.instr.loaded;
        let last = (loaded.len() as i64 - 1).max(0);
        let arrivals = (0..).zip(loaded).map(|(number, fetch)| {
            // In a bound all are requested with the last one, the latest.
            let at = start + if R::IS_EXACT { number } else { last } * replay;
            let request = Request { fetch, now, at };
            self.reader.constant(self.transfer, vector, &request)
        });
        arrivals.max()
    }

    fn waits_at_barrier(&self) -> bool {
        !R::IS_EXACT || self.instr.waits_at_barrier
    }
}
