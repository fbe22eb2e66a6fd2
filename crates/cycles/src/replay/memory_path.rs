//! Path of a replayed access to global or local memory: tags, L1 lines, window, port and L2 cache, line by line.

use std::collections::HashMap;

use warpbound_machine::Parameter;

use super::levels::{ConfigValues, Levels, Translations};
use super::server::{InFlight, ReplayServer, ServiceOrder};
use super::trace::{TracedAccess, TracedLine};
use crate::memory::AccessDirection;
use crate::memory::floor;
use crate::numbers::MILLI;

/// Times of a replayed access.
#[derive(Clone, Copy)]
pub(super) struct PathTimes {
    /// Time when the last request has been looked up and has its place in the window.
    pub(super) accepted: i64,
    pub(super) done: i64,
}

/// Sectors of a line that are requested from the L2 cache.
#[derive(Clone, Copy)]
struct AbsentSectors<'a> {
    /// Line of the L1 cache.
    line: &'a TracedLine,
    /// Sectors, as a mask.
    mask: u32,
}

/// Path of the SM to the L2 cache.
pub(super) struct MemoryPath {
    tags: ReplayServer,
    port: ReplayServer,
    loads: InFlight,
    stores: InFlight,
    translations: Translations,
    /// Arrival of all sectors in flight of each line of the L1 cache.
    arrivals: HashMap<u64, i64>,
    lookups: i64,
    hit: i64,
    sector: i64,
    bandwidth: i64,
}

impl MemoryPath {
    pub(super) fn new(values: ConfigValues<'_>, order: ServiceOrder) -> MemoryPath {
        let capacity = |parameter| values.0.slow(parameter);
        MemoryPath {
            tags: ReplayServer::new(order),
            port: ReplayServer::new(order),
            loads: InFlight::new(capacity(Parameter::L1Misses)),
            stores: InFlight::new(capacity(Parameter::L1Stores)),
            translations: Translations::new(values),
            arrivals: HashMap::new(),
            lookups: values.number(Parameter::L1Tags).max(1),
            hit: values.cycles(Parameter::L1Hit),
            sector: values.number(Parameter::L2Sector),
            bandwidth: values.number(Parameter::SmBandwidth).max(1),
        }
    }

    /// Times of an access that starts at a time.
    pub(super) fn access(
        &mut self,
        now: i64,
        at: i64,
        access: &TracedAccess,
        levels: &mut Levels,
    ) -> PathTimes {
        let mut times = PathTimes {
            accepted: at,
            done: at,
        };
        // Sectors that the access has requested: line, mask, arrival.
        let mut requested: Vec<(u64, u32, i64)> = Vec::new();
        for lines in &access.requests {
            let cycles = (lines.len() as i64 + self.lookups - 1) / self.lookups;
            let looked_up = floor(self.tags.reserve(now, at, cycles * MILLI));
            times.accepted = times.accepted.max(looked_up);
            for line in lines {
                let merged = requested.iter().filter(|(known, sectors, _)| {
                    *known == line.line && sectors & line.merged != 0
                });
                for (_, _, arrival) in merged {
                    times.done = times.done.max(*arrival);
                }
                if line.l1_hits != 0 {
                    let arrival = self.arrivals.get(&line.line).copied().unwrap_or(0);
                    times.done = times.done.max(arrival).max(looked_up + self.hit);
                }
                // A sector that an earlier request of the access has fetched, or that the cache has, is not requested
                // again.
                let missing = line.sectors & !line.merged & !line.l1_hits;
                if missing != 0 {
                    let absent = AbsentSectors {
                        line,
                        mask: missing,
                    };
                    let done = self.miss(now, looked_up, access, absent, levels, &mut times);
                    times.done = times.done.max(done);
                    requested.push((line.line, missing, done));
                    // Only loads bring lines into the L1 cache, so only their arrivals delay later hits.
                    if access.cached && access.direction == AccessDirection::Load {
                        let arrival = self.arrivals.entry(line.line).or_insert(0);
                        *arrival = (*arrival).max(done);
                    }
                }
            }
        }
        times
    }

    /// Completion of the sectors of a line that the L2 cache serves.
    fn miss(
        &mut self,
        now: i64,
        at: i64,
        access: &TracedAccess,
        absent: AbsentSectors<'_>,
        levels: &mut Levels,
        times: &mut PathTimes,
    ) -> i64 {
        let line = absent.line;
        let Some(beyond) = &line.beyond else {
            return at;
        };
        let count = u64::from(absent.mask.count_ones());
        let present = self
            .translations
            .present_from(at, line.line, beyond.translation);
        let window = match access.direction {
            AccessDirection::Store => &mut self.stores,
            AccessDirection::Load | AccessDirection::Atomic => &mut self.loads,
        };
        let start = window.free_from(at, count);
        times.accepted = times.accepted.max(start);
        let service = count as i64 * self.sector * 1_000_000 / self.bandwidth;
        let sent = floor(self.port.reserve(now, start, service));
        let (mut done, mut unloaded) = (0, 0);
        for line in &beyond.lines {
            let reached = levels.access(now, sent, line, access.direction, access.contended);
            done = done.max(reached.done);
            unloaded = unloaded.max(reached.unloaded);
        }
        let done = done.max(present + unloaded);
        let window = match access.direction {
            AccessDirection::Store => &mut self.stores,
            AccessDirection::Load | AccessDirection::Atomic => &mut self.loads,
        };
        window.enter(count, done);
        done
    }
}
