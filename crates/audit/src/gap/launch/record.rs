//! Record of a run of a launch: the instructions of each warp, what its accesses found in caches, and where and when
//! its block ran.
//!
//! The composition needs each execution, and not only maxima. For example, if a load has 1 sector in one execution
//! and 32 in another, the composition counts 33 sectors, whereas a bound counts 64.

use std::collections::BTreeMap;

use warpbound_cycles::{AccessLimits, DramTransfers, SpaceLimits, TracedInstr};
use warpbound_ir::OpIndex;
use warpbound_simulate::timed::{
    Event, EventListener, LOCAL_BASE, Outcome, TranslationLevel, WarpPlace,
};

use crate::audit::TraceRecorder;

/// Block and number of a warp.
pub(super) type WarpKey = (u64, u32);

/// Executed access with at least one active lane.
#[derive(Clone, Debug)]
pub(super) struct SeenAccess {
    pub(super) at: OpIndex,
    /// Its requests, lines and sectors, and whether caches had them.
    pub(super) limits: AccessLimits,
    pub(super) transfers: DramTransfers,
}

/// Warp of a run.
#[derive(Clone, Debug)]
pub(super) struct WarpRecord {
    /// SM and sub-partition.
    pub(super) place: WarpPlace,
    /// Instructions in the order of their issue.
    pub(super) ops: Vec<OpIndex>,
    /// Accesses in the same order.
    pub(super) accesses: Vec<SeenAccess>,
}

/// Lines of code and constants that the L2 cache has served.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FetchedLines {
    pub(super) sectors: u64,
    /// Sectors read from DRAM.
    pub(super) read: u64,
    /// Replaced lines that held stored data.
    pub(super) evicted_lines: u64,
}

/// Run of a launch.
#[derive(Clone, Debug, Default)]
pub(super) struct LaunchRecord {
    pub(super) warps: BTreeMap<WarpKey, WarpRecord>,
    /// Cycles when each block began, and when its last warp ended.
    pub(super) lives: BTreeMap<u64, (u64, u64)>,
    pub(super) fetched: FetchedLines,
    /// Misses of the TLB of each SM: for global and for local memory.
    pub(super) translations: BTreeMap<u32, [u64; 2]>,
}

impl LaunchRecord {
    /// Returns the largest limits over all executions of each access.
    pub(super) fn most(&self) -> BTreeMap<OpIndex, AccessLimits> {
        let mut most: BTreeMap<OpIndex, AccessLimits> = BTreeMap::new();
        for access in self.warps.values().flat_map(|warp| &warp.accesses) {
            match most.get_mut(&access.at) {
                Some(known) => raise(known, &access.limits),
                None => {
                    most.insert(access.at, access.limits.clone());
                }
            }
        }
        most
    }
}

/// Raises limits to cover another execution.
fn raise(known: &mut AccessLimits, own: &AccessLimits) {
    for space in &own.spaces {
        let mut spaces = known.spaces.iter_mut();
        match spaces.find(|known| known.space == space.space) {
            Some(known) => {
                *known = SpaceLimits {
                    space: space.space,
                    requests: known.requests.max(space.requests),
                    lines: known.lines.max(space.lines),
                    sectors: known.sectors.max(space.sectors),
                    conflicts: known.conflicts.max(space.conflicts),
                    same_word: known.same_word.max(space.same_word),
                    may_miss: known.may_miss | space.may_miss,
                    may_walk: known.may_walk | space.may_walk,
                    may_evict: known.may_evict | space.may_evict,
                    may_hit_l1: known.may_hit_l1 | space.may_hit_l1,
                    stays_in_l1: known.stays_in_l1 & space.stays_in_l1,
                };
            }
            None => known.spaces.push(*space),
        }
    }
}

/// Listener that records a run.
#[derive(Default)]
pub(super) struct LaunchRecorder {
    record: LaunchRecord,
    traces: BTreeMap<WarpKey, TraceRecorder>,
    /// Warp to which the next outcomes belong.
    current: Option<WarpPlace>,
    /// Whether lines of the L2 cache belong to an access, not to a line of code or a constant.
    in_access: bool,
}

impl EventListener for LaunchRecorder {
    const RECORDS: bool = true;

    fn event(&mut self, cycle: u64, event: &Event) {
        match *event {
            Event::BlockBegins { block, .. } => {
                self.record.lives.insert(block, (cycle, cycle));
            }
            Event::WarpEnds { warp } => {
                let life = self.record.lives.entry(warp.block).or_default();
                life.1 = life.1.max(cycle);
            }
            _ => {}
        }
    }

    fn outcome(&mut self, outcome: &Outcome) {
        match *outcome {
            Outcome::Prepare { warp, .. } | Outcome::Issue { warp, .. } => {
                // Only these outcomes name their warp; the outcomes that follow belong to it.
                self.current = Some(warp);
                self.in_access = false;
            }
            Outcome::Access { .. } => self.in_access = true,
            Outcome::Code { .. } | Outcome::Constant { .. } => self.in_access = false,
            Outcome::L2Line {
                sectors,
                missing,
                evicted,
                ..
            // Lines of accesses are in the traces of their warps.
            } if !self.in_access => {
                let fetched = &mut self.record.fetched;
                fetched.sectors += u64::from(sectors);
                fetched.read += u64::from(missing);
                fetched.evicted_lines += u64::from(evicted > 0);
            }
            _ => {}
        }
        let Some(place) = self.current else {
            return;
        };
        if let Outcome::Translation { address, found } = *outcome
            && !matches!(found, TranslationLevel::First { .. })
        {
            let counts = self.record.translations.entry(place.sm).or_default();
            // Local memory has the addresses from `LOCAL_BASE` on; its misses are the second number.
            counts[usize::from(address >= LOCAL_BASE)] += 1;
        }
        let key = (place.block, place.warp);
        let trace = self.traces.entry(key).or_default();
        trace.outcome(outcome);
        if let Outcome::Issue { at, .. } = *outcome {
            let warp = self.record.warps.entry(key).or_insert_with(|| WarpRecord {
                place,
                ops: Vec::new(),
                accesses: Vec::new(),
            });
            warp.ops.push(at);
            // Complete instructions are reduced to their limits at once, because traces of whole launches are large.
            let complete = trace.take_complete();
            warp.accesses
                .extend(complete.filter_map(|instr| seen(&instr)));
        }
    }
}

impl LaunchRecorder {
    /// Returns the record.
    pub(super) fn finish(mut self) -> LaunchRecord {
        for (key, trace) in self.traces {
            // The last instruction of a warp was never followed by another issue, so its access is still in the
            // trace.
            let (rest, _) = trace.finish();
            if let Some(warp) = self.record.warps.get_mut(&key) {
                warp.accesses.extend(rest.instrs.iter().filter_map(seen));
            }
        }
        self.record
    }
}

/// Returns the access of an instruction, if some lane took part.
fn seen(instr: &TracedInstr) -> Option<SeenAccess> {
    Some(SeenAccess {
        at: instr.at,
        limits: instr.limits()?,
        transfers: instr.transfers(),
    })
}
