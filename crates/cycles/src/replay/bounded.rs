//! Replay with the memory accesses of the bound. Each access has the numbers of requests, lines and sectors of the
//! trace, and nothing else from it.

use std::collections::BTreeMap;

use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;
use warpbound_timing::InstrFacts;

use super::ReplayedTimes;
use super::levels::ConfigValues;
use super::sm_lines::SmLines;
use super::trace::{
    FetchSource, RecordedTrace, TracedAccess, TracedFetch, TracedInstr, TracedShared,
    TranslationSource,
};
use super::walk::{Request, TraceReader, walk};
use crate::account::Term;
use crate::lines::LineWait;
use crate::memory::{AccessLimits, AccessTimes, AccessWaits, SpaceLimits};
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
            counts_misses: false,
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

/// Returns the numbers of a traced access; `None` if no lane takes part.
pub(super) fn limits_of(instr: &TracedInstr) -> Option<AccessLimits> {
    let shared = instr.shared.as_ref().map(shared_limits);
    let of_shared = instr.shared.map(|shared| shared.direction);
    let direction = of_shared.or(instr.accesses.first().map(|access| access.direction))?;
    let in_space = |is_local| {
        let accesses = instr.accesses.iter();
        let own: Vec<_> = accesses
            .filter(|access| access.is_local == is_local)
            .collect();
        (!own.is_empty()).then(|| space_limits(&own, is_local))
    };
    let spaces = shared
        .into_iter()
        .chain(in_space(true))
        .chain(in_space(false));
    Some(AccessLimits {
        direction,
        bytes: instr.bytes,
        always: true,
        spaces: spaces.collect(),
    })
}

/// Returns the numbers of an access to shared memory.
pub(super) fn shared_limits(shared: &TracedShared) -> SpaceLimits {
    SpaceLimits {
        space: MemorySpace::Shared,
        requests: shared.transactions.saturating_sub(shared.conflicts),
        conflicts: shared.conflicts,
        same_word: shared.same_word,
        lines: 0,
        sectors: 0,
        may_miss: false,
        may_walk: false,
        may_evict: false,
        may_hit_l1: false,
    }
}

/// Returns the numbers of the accesses of an instruction to local or to global memory.
fn space_limits(accesses: &[&TracedAccess], is_local: bool) -> SpaceLimits {
    let mut limits = SpaceLimits {
        space: match is_local {
            true => MemorySpace::Local,
            false => MemorySpace::Global,
        },
        requests: 0,
        lines: 0,
        sectors: 0,
        conflicts: 0,
        same_word: 0,
        may_miss: false,
        may_walk: false,
        may_evict: false,
        may_hit_l1: false,
    };
    for request in accesses.iter().flat_map(|access| &access.requests) {
        limits.requests += 1;
        limits.lines += request.len() as u32;
        for line in request {
            limits.sectors += (line.sectors & !line.merged).count_ones();
            limits.may_hit_l1 |= line.l1_hits != 0;
            if let Some(beyond) = &line.beyond {
                let is_present = beyond.translation == TranslationSource::First;
                limits.may_walk |= !is_present || beyond.awaits_translation;
                for line in &beyond.lines {
                    limits.may_miss |= line.missing > 0 || line.awaits_sectors;
                    limits.may_evict |= line.evicted > 0;
                }
            }
        }
    }
    limits
}
