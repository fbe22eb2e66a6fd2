//! L2 cache, DRAM and translations of a replay: completion times of accesses whose hits and misses are known.

use std::collections::HashMap;

use warpbound_machine::Parameter;

use super::server::{ReplayServer, ServiceOrder};
use super::trace::{TracedL2Line, TranslationSource};
use crate::memory::{AccessDirection, floor};
use crate::numbers::{MILLI, MachineNumbers};

/// Values of the parameters of one configuration.
#[derive(Clone, Copy)]
pub(super) struct ConfigValues<'a>(pub(super) &'a MachineNumbers);

impl ConfigValues<'_> {
    pub(super) fn number(self, parameter: Parameter) -> i64 {
        self.0.slow(parameter) as i64
    }

    pub(super) fn cycles(self, parameter: Parameter) -> i64 {
        self.number(parameter) * MILLI
    }
}

/// DRAM: one bus.
struct ReplayedDram {
    bus: ReplayServer,
    /// Bus time of a sector read and written, and of a turnaround.
    read: i64,
    write: i64,
    turnaround: i64,
    /// Sectors read since the bus was turned, and the maximum that counts.
    unturned: i64,
    most_unturned: i64,
    refresh: i64,
    interval: i64,
    next_refresh: i64,
    latency: i64,
}

impl ReplayedDram {
    fn new(values: ConfigValues<'_>, order: ServiceOrder) -> ReplayedDram {
        let sector = i128::from(values.number(Parameter::L2Sector));
        let bandwidth = i128::from(values.number(Parameter::DramBandwidth).max(1));
        // Bandwidths are in bytes per 1000 cycles, efficiencies in thousandths.
        let bus = |efficiency: i64| {
            let efficiency = i128::from(efficiency.max(1));
            (sector * 1_000_000 * 1000 / (bandwidth * efficiency)) as i64
        };
        let interval = values.cycles(Parameter::DramRefreshInterval).max(MILLI);
        ReplayedDram {
            bus: ReplayServer::new(order),
            read: bus(values.number(Parameter::DramReads)),
            write: bus(values.number(Parameter::DramWrites)),
            turnaround: bus(1000) * values.number(Parameter::DramTurnaround) / 1000,
            unturned: 0,
            most_unturned: values.number(Parameter::L2Slices).max(1)
                * values.number(Parameter::L2Line)
                / values.number(Parameter::L2Sector).max(1),
            refresh: values.cycles(Parameter::DramRefresh),
            interval,
            next_refresh: interval,
            latency: values.cycles(Parameter::L2Hit) + values.cycles(Parameter::DramBeyond),
        }
    }

    /// Refreshes the bus as often as due by a time. Refreshes come at multiples of their interval.
    fn refresh(&mut self, now: i64, until: i64) {
        while self.next_refresh <= until {
            // Only the last one before `now` may still be under way.
            let next = (now.div_euclid(self.interval) * self.interval).max(self.next_refresh);
            self.bus.reserve(now, next, self.refresh);
            self.next_refresh = next + self.interval;
        }
    }

    /// Arrival of sectors that are requested at a time.
    fn read(&mut self, now: i64, at: i64, sectors: i64) -> i64 {
        self.refresh(now, at);
        self.unturned = (self.unturned + sectors).min(self.most_unturned);
        floor(self.bus.reserve(now, at, self.read * sectors)) + self.latency
    }

    /// Time at which the bus accepts sectors that are written back.
    fn write(&mut self, now: i64, at: i64, sectors: i64) -> i64 {
        self.refresh(now, at);
        let turned = sectors.min(self.unturned);
        self.unturned -= turned;
        let service = self.write * sectors + self.turnaround * turned;
        floor(self.bus.reserve(now, at, service))
    }
}

/// Atomic operations on a line: arrival of the last one, completion of all.
#[derive(Clone, Copy)]
struct AtomicTimes {
    last: i64,
    settled: i64,
}

/// Completion of an access to a line, and its latency without contention.
#[derive(Clone, Copy, Default)]
pub(super) struct LevelTimes {
    pub(super) done: i64,
    pub(super) unloaded: i64,
}

/// L2 cache with DRAM.
pub(super) struct Levels {
    slices: HashMap<u32, ReplayServer>,
    order: ServiceOrder,
    dram: ReplayedDram,
    /// Arrival of all sectors requested of each line.
    arrivals: HashMap<u64, i64>,
    atomics: HashMap<u64, AtomicTimes>,
    hit: i64,
    sector: i64,
    bandwidth: i64,
    atomic: i64,
    atomic_shared: i64,
    atomic_occupancy: i64,
}

impl Levels {
    pub(super) fn new(values: ConfigValues<'_>, order: ServiceOrder) -> Levels {
        Levels {
            slices: HashMap::new(),
            order,
            dram: ReplayedDram::new(values, order),
            arrivals: HashMap::new(),
            atomics: HashMap::new(),
            hit: values.cycles(Parameter::L2Hit),
            sector: values.number(Parameter::L2Sector),
            bandwidth: values.number(Parameter::L2Bandwidth).max(1),
            atomic: values.cycles(Parameter::AtomicLatency),
            atomic_shared: values.cycles(Parameter::AtomicShared),
            atomic_occupancy: values.cycles(Parameter::AtomicOccupancy),
        }
    }

    /// Accesses a line, which the request reaches at a time.
    pub(super) fn access(
        &mut self,
        now: i64,
        at: i64,
        line: &TracedL2Line,
        direction: AccessDirection,
        contended: bool,
    ) -> LevelTimes {
        let sectors = i64::from(line.sectors);
        let is_atomic = direction == AccessDirection::Atomic;
        let order = self.order;
        let slice = self.slices.entry(line.slice);
        let slice = slice.or_insert_with(|| ReplayServer::new(order));
        let service = sectors * self.sector * 1_000_000 / self.bandwidth;
        let begin = floor(slice.reserve(now, at, service));
        if is_atomic {
            slice.reserve(now, begin, self.atomic_occupancy * sectors);
        }
        let mut done = begin + self.hit;
        let arrival = self.arrivals.get(&line.line).copied().unwrap_or(0);
        // A hit on sectors in flight is no later than a miss of its own.
        if line.hits > 0 && arrival > done {
            let service = self.dram.read * i64::from(line.hits);
            let own_miss = floor(self.dram.bus.probe(begin, service)) + self.dram.latency;
            done = done.max(arrival.min(own_miss));
        }
        if line.missing > 0 {
            done = done.max(self.dram.read(now, begin, line.missing.into()));
            self.arrivals.insert(line.line, arrival.max(done));
        }
        if line.evicted > 0 {
            let accepted = self.dram.write(now, begin, line.evicted.into());
            if direction == AccessDirection::Store {
                done = done.max(accepted);
            }
        }
        let mut unloaded = match line.missing {
            0 => self.hit,
            _ => self.dram.latency,
        };
        if is_atomic {
            let latency = self.atomic + if contended { self.atomic_shared } else { 0 };
            done += latency;
            unloaded += latency;
            let known = self
                .atomics
                .get(&line.line)
                .map_or(0, |times| times.settled);
            let times = AtomicTimes {
                last: begin,
                settled: known.max(done),
            };
            self.atomics.insert(line.line, times);
        } else if direction == AccessDirection::Load
            && let Some(atomics) = self.atomics.get(&line.line)
            // A read that reaches the slice before the atomic operation does not wait for it.
            && atomics.last <= begin
        {
            done = done.max(atomics.settled);
        }
        LevelTimes { done, unloaded }
    }

    /// Arrival of a line of code or constants that is requested at a time; `latency` is the latency of a hit in the
    /// L2 cache.
    pub(super) fn fetch(&mut self, now: i64, at: i64, lines: &[TracedL2Line], latency: i64) -> i64 {
        let mut arrival = at + latency;
        for line in lines {
            let done = self
                .access(now, at, line, AccessDirection::Load, false)
                .done;
            // Only the excess over the latency of a load that hits counts, because the line has a latency of its own.
            arrival = arrival.max(at + latency + (done - at - self.hit).max(0));
        }
        arrival
    }
}

/// Translations of a replay: the times from which they are present.
pub(super) struct Translations {
    /// By page of the TLB of the SM, and of the second level.
    first: HashMap<u64, i64>,
    second: HashMap<u64, i64>,
    pages: [u64; 2],
    first_miss: i64,
    second_miss: i64,
    walk: i64,
}

impl Translations {
    pub(super) fn new(values: ConfigValues<'_>) -> Translations {
        let page = |parameter| values.0.slow(parameter).max(1);
        Translations {
            first: HashMap::new(),
            second: HashMap::new(),
            pages: [page(Parameter::TlbL1Page), page(Parameter::TlbL2Page)],
            first_miss: values.cycles(Parameter::TlbL1Miss),
            second_miss: values.cycles(Parameter::TlbL2Miss),
            walk: values.cycles(Parameter::TlbWalk),
        }
    }

    /// Time from which the translation of an address that is looked up at a time is present.
    pub(super) fn present_from(&mut self, at: i64, address: u64, found: TranslationSource) -> i64 {
        let [first, second] = self.pages.map(|page| address / page);
        let known = self.second.get(&second).copied().unwrap_or(0);
        let present = match found {
            TranslationSource::First => return self.first.get(&first).copied().unwrap_or(0),
            TranslationSource::Second => known.max(at + self.first_miss),
            TranslationSource::PageTable => at + self.second_miss,
            TranslationSource::Walk => at + self.walk,
        };
        if found != TranslationSource::Second {
            self.second.insert(second, present);
        }
        self.first.insert(first, present);
        present
    }
}
