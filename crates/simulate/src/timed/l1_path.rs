//! Path of an SM to global and local memory: coalescer, L1 caches, L1 TLB, MSHRs, store buffer, and the port to the L2
//! cache.

use warpbound_machine::Parameter;
use warpbound_simt::{Mask, lanes_of, lowest_lanes};

use super::cache::Cache;
use super::l2::{L2Access, L2Cache};
use super::mshr::{MshrFile, StoreBuffer};
use super::outcome::{Outcome, TranslationLevel};
use super::parameters::{Tracked, UsedParameters};
use super::server::Server;
use super::tlb::L1Tlb;
use crate::functional::AccessKind;

/// Upper limit of `l1.request_threads` (`machine/src/validity.rs`).
const MOST_REQUEST_THREADS: u64 = 128;

/// Parameters of the requests of an access, from section `l1` of the machine file.
#[derive(Clone, Copy, Debug)]
struct L1Section {
    /// Bytes of a line: requests are split by lines even if they bypass the caches.
    line: u64,
    sector: u64,
    request_threads: usize,
    /// Tags looked up per cycle.
    tags: u64,
    merge: bool,
}

impl L1Section {
    fn read(parameters: &UsedParameters) -> Tracked<L1Section> {
        let mut reader = parameters.reader();
        let section = L1Section {
            line: reader.get(Parameter::L1Line).max(1),
            sector: reader.get(Parameter::L2Sector).max(1),
            request_threads: reader
                .get(Parameter::L1RequestThreads)
                .clamp(1, MOST_REQUEST_THREADS) as usize,
            tags: reader.get(Parameter::L1Tags).max(1),
            merge: reader.get(Parameter::L1Merge) != 0,
        };
        reader.track(section)
    }

    /// Coalesces the accesses of some lanes: adds their lines, each once, with the sectors accessed. For example, 8
    /// lanes that load consecutive words from the start of a line need one of its sectors of 32 bytes.
    fn coalesce(&self, access: &WarpAccess<'_>, lanes: Mask, lines: &mut Vec<LineSectors>) {
        for lane in lanes_of(lanes) {
            let first = access.addresses[lane];
            // At least the sector of the first byte; more if the access is not aligned to its size.
            let last = first.wrapping_add(u64::from(access.size.max(1)) - 1);
            let mut address = first;
            loop {
                let line = address & !(self.line - 1);
                let sector = 1 << ((address - line) / self.sector);
                // Searched backwards: usually the line of the previous lane.
                match lines.iter_mut().rev().find(|known| known.line == line) {
                    Some(known) => known.sectors |= sector,
                    None => lines.push(LineSectors {
                        line,
                        sectors: sector,
                    }),
                }
                let next = (address / self.sector + 1) * self.sector;
                if next > last || last < first {
                    break;
                }
                address = next;
            }
        }
    }
}

/// Path of an SM to global and local memory.
pub(super) struct L1Path {
    section: Tracked<L1Section>,
    /// Tag lookup of each L1 unit, which texture reads occupy as well.
    ports: Tracked<Vec<Server>>,
    caches: Tracked<L1Caches>,
    misses: Tracked<MissPath>,
    /// Sectors that the current instruction has requested from the L2 cache: line, mask, and the cycle of their
    /// arrival.
    requested: Vec<(u64, u32, u64)>,
    /// Lines of the current request.
    lines: Vec<LineSectors>,
}

/// Tags of the L1 caches, one cache per unit.
struct L1Caches {
    units: Vec<Cache>,
    /// Latency of a load that hits.
    hit: u64,
}

impl L1Caches {
    fn read(parameters: &UsedParameters) -> Tracked<L1Caches> {
        let mut reader = parameters.reader();
        let bytes = reader.get(Parameter::L1Bytes);
        let line = reader.get(Parameter::L1Line).max(1);
        // Machine files state the sets of this cache, and `Cache` takes the ways.
        let ways = bytes / line / reader.get(Parameter::L1Sets).max(1);
        let units = reader.get(Parameter::L1Units).max(1) as usize;
        let caches = L1Caches {
            units: vec![Cache::new(bytes, line, ways); units],
            hit: reader.get(Parameter::L1Hit),
        };
        reader.track(caches)
    }
}

/// Path of the sectors that the L2 cache serves: loads that missed, stores and atomic operations.
struct MissPath {
    tlb: L1Tlb,
    mshrs: MshrFile,
    store_buffer: StoreBuffer,
    /// Port between the SM and the L2 cache, and its bytes per 1000 cycles.
    port: Server,
    bandwidth: u64,
    sector: u64,
}

impl MissPath {
    fn read(parameters: &UsedParameters) -> Tracked<MissPath> {
        let mut reader = parameters.reader();
        let path = MissPath {
            tlb: L1Tlb::read(&mut reader),
            mshrs: MshrFile::new(reader.get(Parameter::L1Misses)),
            store_buffer: StoreBuffer::new(reader.get(Parameter::L1Stores)),
            port: Server::default(),
            bandwidth: reader.get(Parameter::SmBandwidth),
            sector: reader.get(Parameter::L2Sector).max(1),
        };
        reader.track(path)
    }

    /// Accesses sectors of an L1 line in the L2 cache, from cycle `at`; returns the cycle of completion.
    fn access_l2(
        &mut self,
        at: u64,
        access: &WarpAccess<'_>,
        needed: LineSectors,
        l2: &mut L2Cache<'_>,
        outcome: &mut AccessOutcome,
    ) -> u64 {
        let LineSectors { line, sectors } = needed;
        let count = sectors.count_ones();
        let (translated, found) = self.tlb.translate(l2.parameters, &mut l2.tlb, at, line);
        let hits_tlb = matches!(found, TranslationLevel::First { .. });
        outcome.tlb_misses += u32::from(!hits_tlb);
        l2.recorder.record(|| Outcome::Translation {
            address: line,
            found,
        });
        let in_flight = match access.kind {
            AccessKind::Store => &mut self.store_buffer,
            AccessKind::Load | AccessKind::Atomic => &mut self.mshrs,
        };
        // Before the port: a request leaves the SM only when all its sectors are in the window.
        let start = in_flight.wait_for_free(at, count.into());
        outcome.accepted = outcome.accepted.max(start);
        let bytes = u64::from(count) * self.sector;
        let sent = self.port.transfer(l2.now, start, bytes, self.bandwidth);
        let kind = match access.kind {
            AccessKind::Load => L2Access::Read,
            AccessKind::Store => L2Access::Write,
            AccessKind::Atomic => L2Access::Atomic {
                contended: access.contended,
            },
        };
        let reached = l2.access_range(sent, line, sectors, kind);
        outcome.l2_lookups += count;
        outcome.l2_hits += reached.hits;
        outcome.dram += reached.dram;
        // A request that waits for its translation takes its turn at port, slice and DRAM all the same, so that the
        // requests of a warp stay in order; only its data is late.
        let done = reached.done.max(translated + reached.unloaded_latency);
        in_flight.allocate(count.into(), done);
        done
    }
}

/// Access of a warp to global or local memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarpAccess<'a> {
    pub(super) kind: AccessKind,
    /// Bytes per lane.
    pub(super) size: u32,
    pub(super) addresses: &'a [u64],
    pub(super) taken: Mask,
    /// Looks up the L1 cache.
    pub(super) cached: bool,
    /// Several lanes access one address.
    pub(super) contended: bool,
    /// L1 unit of the warp's sub-partition.
    pub(super) unit: usize,
}

/// Outcome of an access: the numbers of an event, and times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccessOutcome {
    pub(super) requests: u32,
    pub(super) sectors: u32,
    pub(super) l1_lookups: u32,
    pub(super) l1_hits: u32,
    pub(super) l2_lookups: u32,
    pub(super) l2_hits: u32,
    pub(super) dram: u32,
    pub(super) tlb_misses: u32,
    /// Cycle when the last request has been looked up and has its MSHRs or its entries of the store buffer.
    pub(super) accepted: u64,
    /// Cycle when the result arrives; for stores, the cycle when the L2 cache has accepted them.
    pub(super) done: u64,
}

impl AccessOutcome {
    /// Adds the outcome of an access that is executed in parallel.
    pub(super) fn add(&mut self, other: &AccessOutcome) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.l1_lookups += other.l1_lookups;
        self.l1_hits += other.l1_hits;
        self.l2_lookups += other.l2_lookups;
        self.l2_hits += other.l2_hits;
        self.dram += other.dram;
        self.tlb_misses += other.tlb_misses;
        self.accepted = self.accepted.max(other.accepted);
        self.done = self.done.max(other.done);
    }
}

/// Sectors of a line that a request needs.
#[derive(Clone, Copy, Default)]
struct LineSectors {
    line: u64,
    sectors: u32,
}

impl L1Path {
    /// Returns the path of an SM, idle and with empty caches.
    pub(super) fn new(parameters: &UsedParameters) -> L1Path {
        let mut units = parameters.reader();
        let ports = vec![Server::default(); units.get(Parameter::L1Units).max(1) as usize];
        L1Path {
            section: L1Section::read(parameters),
            ports: units.track(ports),
            caches: L1Caches::read(parameters),
            misses: MissPath::read(parameters),
            requested: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Returns the number of L1 units.
    pub(super) fn units(&self, parameters: &UsedParameters) -> usize {
        self.ports.get(parameters).len()
    }

    /// Invalidates all lines of the caches. That alone takes no time, so no parameter is marked as used.
    pub(super) fn invalidate_all(&mut self) {
        for cache in &mut self.caches.unmarked().units {
            cache.invalidate_all();
        }
    }

    /// Occupies a unit for a texture read, whose texels are not simulated; returns the cycle when it starts.
    pub(super) fn read_texture(
        &mut self,
        parameters: &UsedParameters,
        now: u64,
        at: u64,
        unit: usize,
    ) -> u64 {
        let cycles = parameters.get(Parameter::TextureOccupancy);
        let ports = self.ports.get_mut(parameters);
        let count = ports.len();
        ports[unit % count].reserve(now, at, cycles)
    }

    /// Executes an access that starts in cycle `at`: one request for each group of `request_threads` threads with
    /// active lanes, for up to 4 bytes per lane. For example, a full warp that loads 4 bytes per lane makes four requests of
    /// 8 threads.
    pub(super) fn access(
        &mut self,
        at: u64,
        access: &WarpAccess<'_>,
        l2: &mut L2Cache<'_>,
    ) -> AccessOutcome {
        let section = *self.section.get(l2.parameters);
        let mut outcome = AccessOutcome {
            accepted: at,
            done: at,
            ..AccessOutcome::default()
        };
        let words = (access.size / 4).max(1) as usize;
        // 8, 4 and 2 threads per request for 4, 8 and 16 bytes (G. Smith of NVIDIA, forum topic 49571).
        let threads = (section.request_threads / words).max(1);
        // Only requests of the same instruction share sectors.
        self.requested.clear();
        l2.recorder.record(|| Outcome::Access {
            kind: access.kind,
            size: access.size,
            cached: access.cached,
            contended: access.contended,
        });
        for first in (0..access.addresses.len()).step_by(threads) {
            let lanes = access.taken & lowest_lanes(threads as u32) << first;
            if lanes != 0 {
                self.request(at, access, lanes, &section, l2, &mut outcome);
            }
        }
        outcome
    }

    /// Executes the request of some lanes.
    fn request(
        &mut self,
        at: u64,
        access: &WarpAccess<'_>,
        lanes: Mask,
        section: &L1Section,
        l2: &mut L2Cache<'_>,
        outcome: &mut AccessOutcome,
    ) {
        // Taken out, because lines are looked up in the rest of the path.
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        section.coalesce(access, lanes, &mut lines);
        let cycles = (lines.len() as u64).div_ceil(section.tags);
        let ports = self.ports.get_mut(l2.parameters);
        let unit = access.unit % ports.len();
        let start = ports[unit].reserve(l2.now, at, cycles);
        l2.recorder.record(|| Outcome::Request {
            lines: lines.len() as u32,
        });
        outcome.requests += 1;
        outcome.accepted = outcome.accepted.max(start);
        for &line in &lines {
            self.request_line(start, access, line, section.merge, l2, outcome);
        }
        self.lines = lines;
    }

    /// Looks up the sectors of one line in cycle `at` and requests those that miss from the L2 cache.
    #[inline]
    fn request_line(
        &mut self,
        at: u64,
        access: &WarpAccess<'_>,
        all: LineSectors,
        merge: bool,
        l2: &mut L2Cache<'_>,
        outcome: &mut AccessOutcome,
    ) {
        let parameters = l2.parameters;
        let is_load = access.kind == AccessKind::Load;
        let mut needed = all.sectors;
        if merge && access.kind != AccessKind::Atomic {
            // Earlier requests of this instruction have requested some of these sectors.
            for (line, sectors, arrival) in &self.requested {
                if *line == all.line && needed & sectors != 0 {
                    outcome.done = outcome.done.max(*arrival);
                    needed &= !sectors;
                }
            }
        }
        let merged = all.sectors & !needed;
        let count = needed.count_ones();
        outcome.sectors += count;
        if access.kind == AccessKind::Atomic {
            // The L2 cache executes atomic operations: sectors in L1 caches become stale. That alone takes no time, so
            // no parameter is marked as used.
            let caches = &mut self.caches.unmarked().units;
            let unit = access.unit % caches.len();
            caches[unit].invalidate(all.line, needed);
        }
        let mut l1_hits = 0;
        if access.cached {
            let L1Caches { units, hit } = self.caches.get_mut(parameters);
            let unit = access.unit % units.len();
            let line = units[unit].lookup(all.line).line;
            if is_load {
                let hits = needed & line.valid;
                outcome.l1_lookups += count;
                outcome.l1_hits += hits.count_ones();
                l1_hits = hits;
                if hits != 0 {
                    // A line has one time of arrival, so a hit waits for all of its sectors in flight.
                    outcome.done = outcome.done.max(line.ready.max(at + *hit));
                    needed &= !hits;
                }
            }
            // Sectors in flight count as valid; `ready` delays later hits on them until the data arrives.
            line.valid |= all.sectors;
        }
        l2.recorder.record(|| Outcome::Line {
            line: all.line,
            sectors: all.sectors,
            merged,
            l1_hits,
        });
        if needed != 0 {
            let missing = LineSectors {
                line: all.line,
                sectors: needed,
            };
            let misses = self.misses.get_mut(parameters);
            let done = misses.access_l2(at, access, missing, l2, outcome);
            outcome.done = outcome.done.max(done);
            self.requested.push((all.line, needed, done));
            if access.cached && is_load {
                let units = &mut self.caches.get_mut(parameters).units;
                let unit = access.unit % units.len();
                let line = units[unit].lookup(all.line).line;
                line.ready = line.ready.max(done);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::functional::NVIDIA_LANES;
    use warpbound_machine::{GpuModel, Selection};

    use super::*;

    /// Each line of four sectors takes four of the 8 MSHRs.
    #[test]
    fn each_sector_takes_an_mshr() {
        let machine = GpuModel::built_in("jetson-tx2").expect("a built-in machine");
        let machine = machine.select(Selection::Typical);
        let machine = machine.with(Parameter::L1Misses, 8);
        let parameters = UsedParameters::new(&machine);
        let mut path = L1Path::new(&parameters);
        let mut l2 = L2Cache::new(&parameters);
        let mut load = |line: u64| {
            let request = WarpAccess {
                kind: AccessKind::Load,
                size: 4,
                addresses: &std::array::from_fn::<u64, NVIDIA_LANES, _>(|lane| {
                    line * 128 + lane as u64 % 4 * 32
                }),
                taken: 0b1111,
                cached: false,
                contended: false,
                unit: 0,
            };
            path.access(0, &request, &mut l2).done
        };
        // The translation, which delays all, is present before the third load.
        let done = [0, 1, 2].map(&mut load);
        assert!(done[1] < done[0] + 100 && done[2] >= done[0], "{done:?}");
    }
}
