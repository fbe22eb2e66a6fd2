//! Replay with the memory accesses of the bound. Each access has the numbers of requests, lines and sectors of the
//! trace, and nothing else from it.

use std::collections::BTreeMap;

use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;
use warpbound_timing::InstrFacts;

use super::levels::ConfigValues;
use super::limits::limits_of;
use super::sm_lines::SmLines;
use super::trace::{FetchSource, RecordedTrace, TracedFetch, TracedInstr};
use super::walk::{ReplayedTimes, Request, TraceReader, walk};
use crate::account::Term;
use crate::lines::LineWait;
use crate::memory::{AccessLimits, AccessTimes, AccessWaits};
use crate::numbers::MachineNumbers;
use crate::state::{Layout, TimeVector};
use crate::step::Transfer;

/// Replays a warp with the functions of the bound: units and pipes at their worst, no pairs, memory accesses by
/// numbers of requests, lines and sectors, one server for all slices. No instruction may issue earlier than in the
/// run, except that the bound adds refreshes of DRAM at the end. `numbers` as for [`super::replay`].
pub fn replay_bounded(
    facts: &[InstrFacts],
    trace: &RecordedTrace,
    numbers: &MachineNumbers,
) -> ReplayedTimes {
    let limits: Vec<Option<AccessLimits>> = trace.instrs.iter().map(limits_of).collect();
    let mut accesses = BTreeMap::new();
    for (instr, own) in trace.instrs.iter().zip(&limits) {
        if let Some(own) = own {
            // An instruction may be executed several times, and the layout is made for its largest access.
            let known = accesses.entry(instr.at).or_insert_with(|| own.clone());
            cover(known, own);
        }
    }
    let transfer = Transfer::new(facts, &accesses, numbers);
    let values = ConfigValues(numbers);
    let mut bounded = BoundedTimes {
        code: SmLines::of_code(values),
        constants: SmLines::of_constants(values),
        service: LineService {
            dram: values.cycles(Parameter::DramBeyond),
        },
        limits: &limits,
    };
    let start = values.cycles(Parameter::LaunchKernel);
    walk(&transfer, trace, start, &mut bounded)
}

/// Times of a trace as far as the bound knows them.
struct BoundedTimes<'a> {
    /// Lines of code and constants. The trace says where they are found; they are served as in the bound.
    code: SmLines,
    constants: SmLines,
    service: LineService,
    /// Numbers of the access of each instruction of the trace.
    limits: &'a [Option<AccessLimits>],
}

/// Lines of the L2 cache.
#[derive(Clone, Copy)]
struct LineService {
    /// Latency of DRAM beyond the latency of the L2 cache.
    dram: i64,
}

impl LineService {
    /// Arrival of a line that neither cache of the SM has; `latency` is the latency of a hit in the L2 cache.
    fn arrival(
        self,
        transfer: &Transfer<'_>,
        vector: &mut TimeVector,
        at: i64,
        latency: i64,
        fetch: &TracedFetch,
    ) -> i64 {
        let arrivals = fetch.lines.iter().map(|line| {
            let misses = line.missing > 0 || line.awaits_sectors;
            let wait = LineWait {
                waits: true,
                latency: latency + if misses { self.dram } else { 0 },
                reaches_l2: fetch.found == FetchSource::Beyond,
                reaches_dram: misses,
                service: transfer.line_service(line.sectors.into(), misses),
                ..LineWait::default()
            };
            wait.arrival_from(vector, at)
        });
        arrivals.max().unwrap_or(at + latency)
    }
}

impl TraceReader for BoundedTimes<'_> {
    const IS_EXACT: bool = false;

    fn issues_pairs(&self) -> bool {
        false
    }

    fn code(&mut self, transfer: &Transfer<'_>, vector: &mut TimeVector, of: &Request<'_>) -> i64 {
        let service = self.service;
        let beyond = |latency| service.arrival(transfer, vector, of.at, latency, of.fetch);
        self.code.arrival(of.at, of.fetch, beyond)
    }

    fn constant(
        &mut self,
        transfer: &Transfer<'_>,
        vector: &mut TimeVector,
        of: &Request<'_>,
    ) -> i64 {
        let service = self.service;
        let beyond = |latency| service.arrival(transfer, vector, of.at, latency, of.fetch);
        self.constants.arrival(of.at, of.fetch, beyond)
    }

    fn access(
        &mut self,
        transfer: &Transfer<'_>,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        (number, _): (usize, &TracedInstr),
    ) -> Option<(AccessTimes, Term)> {
        let limits = self.limits.get(number)?.as_ref()?;
        let walks = |space| {
            let mut spaces = limits.spaces.iter();
            spaces.any(|own| own.space == space && own.may_walk)
        };
        let waits = AccessWaits {
            walks: [walks(MemorySpace::Global), walks(MemorySpace::Local)],
            counts_misses: None,
        };
        let (memory, most) = (&transfer.memory, transfer.most_sectors);
        let times = memory.access(vector, layout, start, limits, waits, most);
        Some((times, Term::of_access(limits)))
    }
}

/// Raises the limits of an instruction to the numbers of one execution, as far as they shape the windows and decide
/// whether loads wait for lines in flight.
fn cover(known: &mut AccessLimits, own: &AccessLimits) {
    let hits = own.spaces.iter().any(|space| space.may_hit_l1);
    let hit_before = known.spaces.iter().any(|space| space.may_hit_l1);
    if sectors(own) > sectors(known) {
        *known = own.clone();
    }
    for space in &mut known.spaces {
        space.may_hit_l1 |= hits || hit_before;
    }
}

/// Sectors of an access to global and local memory.
fn sectors(limits: &AccessLimits) -> u32 {
    let spaces = limits.spaces.iter();
    spaces.map(|space| space.sectors).max().unwrap_or(0)
}
