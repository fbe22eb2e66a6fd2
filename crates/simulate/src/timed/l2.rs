//! L2 cache, which all SMs share: slices with a port each, sectored lines, atomic operations. DRAM and the L2 TLB are
//! its fields.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use warpbound_machine::Parameter;

use super::cache::Cache;
use super::dram::Dram;
use super::outcome::{Outcome, PendingHit, Recorder};
use super::parameters::{ParameterReader, Tracked, UsedParameters};
use super::server::Server;
use super::tlb::L2Tlb;

/// Addresses in the L2 cache of the code of a kernel, its constant banks and the local memory of its warps; buffers
/// have lower addresses.
pub(super) const CODE_BASE: u64 = 0x20_0000_0000;
pub(super) const CONSTANT_BASE: u64 = 0x21_0000_0000;
/// Distance of the addresses of constant banks.
pub(super) const CONSTANT_BANK_STRIDE: u64 = 0x1_0000;
/// The local memories of an SM's warp slots follow each other.
pub const LOCAL_BASE: u64 = 0x30_0000_0000;

/// Section `l2` of the machine file, without the bandwidth of an SM.
#[derive(Clone, Copy, Debug)]
pub(super) struct L2Section {
    pub(super) bytes: u64,
    pub(super) line: u64,
    pub(super) sector: u64,
    pub(super) ways: u64,
    pub(super) slices: u64,
    pub(super) hash: bool,
    /// Latency of a load that hits.
    pub(super) hit: u64,
    /// Bytes per 1000 cycles of a slice.
    pub(super) slice_bandwidth: u64,
}

impl L2Section {
    pub(super) fn read(reader: &mut ParameterReader<'_>) -> L2Section {
        L2Section {
            bytes: reader.get(Parameter::L2Bytes),
            line: reader.get(Parameter::L2Line).max(1),
            sector: reader.get(Parameter::L2Sector).max(1),
            ways: reader.get(Parameter::L2Ways),
            slices: reader.get(Parameter::L2Slices).max(1),
            hash: reader.get(Parameter::L2Hash) != 0,
            hit: reader.get(Parameter::L2Hit),
            slice_bandwidth: reader.get(Parameter::L2Bandwidth),
        }
    }
}

/// L2 cache with the DRAM and the L2 TLB.
pub(super) struct L2Cache<'a> {
    pub(super) parameters: &'a UsedParameters,
    /// Current cycle: no later request arrives before it.
    pub(super) now: u64,
    /// Its shape, for accesses that are converted to its lines.
    section: L2Section,
    slices: Tracked<Slices>,
    dram: Tracked<Dram>,
    pub(super) tlb: L2Tlb,
    /// Atomic operations on each line that a later read may wait for.
    atomics: FxHashMap<u64, LineAtomics>,
    /// Outcomes on the paths to this cache, for listeners to them.
    pub(super) recorder: Recorder,
}

/// Atomic operations on a line: the arrival of each and its completion, both ascending. An operation that arrives no
/// earlier and completes no later than another is left out, because whoever waits for it waits for the other. For
/// example, after an operation that arrives in cycle 10 and completes in 50, one that arrives in 20 and completes in
/// 40 is left out.
#[derive(Clone, Debug, Default)]
struct LineAtomics {
    operations: VecDeque<(u64, u64)>,
}

impl LineAtomics {
    /// Returns the completion of all operations that arrived up to a cycle; 0 if none did.
    fn settled(&self, arrival: u64) -> u64 {
        let count = self.operations.partition_point(|&(own, _)| own <= arrival);
        let last = count
            .checked_sub(1)
            .and_then(|last| self.operations.get(last));
        last.map_or(0, |&(_, done)| done)
    }

    /// Adds an operation. Operations that are complete in cycle `now` delay no later read.
    fn add(&mut self, now: u64, arrival: u64, done: u64) {
        while self
            .operations
            .front()
            .is_some_and(|&(_, done)| done <= now)
        {
            self.operations.pop_front();
        }
        if self.settled(arrival) >= done {
            return;
        }
        let first = self.operations.partition_point(|&(own, _)| own < arrival);
        let rest = self.operations.range(first..);
        let covered = rest.take_while(|&&(_, own)| own <= done).count();
        self.operations.drain(first..first + covered);
        self.operations.insert(first, (arrival, done));
    }
}

/// Slices of the L2 cache, and the tags of all of them.
struct Slices {
    section: L2Section,
    cache: Cache,
    ports: Vec<Server>,
}

impl Slices {
    /// Returns the slice of a line.
    fn slice_of(&self, line: u64) -> usize {
        let number = match self.section.hash {
            // XOR of shifted copies, so that strides of powers of two are spread over the slices.
            true => line ^ line >> 4 ^ line >> 9 ^ line >> 15 ^ line >> 22,
            false => line,
        };
        (number % self.ports.len() as u64) as usize
    }
}

/// Outcome of an access to sectors of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct L2Outcome {
    /// Cycle of its completion.
    pub(super) done: u64,
    /// Latency that it would have without contention.
    pub(super) unloaded_latency: u64,
    /// Number of sectors that hit.
    pub(super) hits: u32,
    /// Number of sectors read from or written back to DRAM.
    pub(super) dram: u32,
}

/// Kind of an access to the L2 cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum L2Access {
    Read,
    Write,
    /// Read-modify-write; `contended` if several lanes access one address.
    Atomic {
        contended: bool,
    },
}

impl<'a> L2Cache<'a> {
    /// Returns the memory system of a machine, idle and empty.
    pub(super) fn new(parameters: &'a UsedParameters) -> L2Cache<'a> {
        let mut reader = parameters.reader();
        let section = L2Section::read(&mut reader);
        let slices = Slices {
            section,
            cache: Cache::new(section.bytes, section.line, section.ways),
            ports: vec![Server::default(); section.slices as usize],
        };
        L2Cache {
            parameters,
            now: 0,
            section,
            slices: reader.track(slices),
            dram: Dram::new(parameters),
            tlb: L2Tlb::new(parameters),
            atomics: FxHashMap::default(),
            recorder: Recorder::default(),
        }
    }

    /// Enters a range of addresses into the cache and the TLB, as if the host had just written it.
    pub(super) fn warm(&mut self, address: u64, bytes: u64) {
        let L2Section { line, sector, .. } = self.section;
        // Lines have at most 32 sectors (`machine/src/validity.rs`).
        let all_sectors = u32::MAX >> (32 - (line / sector).clamp(1, 32));
        let end = address + bytes;
        let mut at = address / line * line;
        while at < end {
            let slices = self.slices.unmarked();
            slices.cache.lookup(at).line.valid = all_sectors;
            at += line;
        }
        self.tlb.warm(address, bytes);
    }

    /// Accesses sectors of the line at an address, in cycle `at`.
    pub(super) fn access(
        &mut self,
        at: u64,
        address: u64,
        sectors: u32,
        kind: L2Access,
    ) -> L2Outcome {
        let (parameters, now) = (self.parameters, self.now);
        let slices = self.slices.get_mut(parameters);
        let section = &slices.section;
        let number = address / section.line;
        let count = sectors.count_ones();
        let slice = slices.slice_of(number);
        let bytes = u64::from(count) * section.sector;
        let port = &mut slices.ports[slice];
        // Hits, misses and stores all pass the port of their slice.
        let start = port.transfer(now, at, bytes, section.slice_bandwidth);
        let mut atomic_latency = 0;
        if let L2Access::Atomic { contended } = kind {
            atomic_latency = parameters.get(Parameter::AtomicLatency);
            if contended {
                atomic_latency += parameters.get(Parameter::AtomicShared);
            }
            let cycles = parameters.get(Parameter::AtomicOccupancy) * u64::from(count);
            // The operations delay later requests to the slice; their own time is `atomic_latency`.
            port.reserve(now, start, cycles);
        }
        let found = slices.cache.lookup(address);
        let (line, evicted) = (found.line, found.evicted_dirty);
        let missing = match kind {
            // Stores write whole sectors or use byte masks: nothing is fetched.
            L2Access::Write => 0,
            L2Access::Read | L2Access::Atomic { .. } => (sectors & !line.valid).count_ones(),
        };
        let hits = (sectors & line.valid).count_ones();
        line.valid |= sectors;
        // Write-back: DRAM receives the sectors when their line is evicted.
        if kind != L2Access::Read {
            line.dirty |= sectors;
        }
        let mut done = start + section.hit;
        // A hit on a sector in flight completes no later than a miss of its own would: the request that fetched it may
        // have been simulated before, but arrive after this one.
        let mut pending = None;
        if hits != 0 && line.ready > done {
            let own_miss = self.dram.get(parameters).probe_read(start, hits);
            done = done.max(line.ready.min(own_miss));
            pending = Some(match line.ready <= own_miss {
                true => PendingHit::Arrival,
                false => PendingHit::OwnMiss,
            });
        }
        let refreshes_before = self.dram.unmarked().refreshes;
        if missing != 0 {
            let arrival = self.dram.get_mut(parameters).read(now, start, missing);
            done = done.max(arrival);
            line.ready = line.ready.max(done);
        }
        if evicted != 0 {
            let accepted = self.dram.get_mut(parameters).write(now, start, evicted);
            // A write needs the place of the evicted data; a read waits for its own data anyway.
            if kind == L2Access::Write {
                done = done.max(accepted);
            }
        }
        // For requests that wait for a translation: their data takes this long from then on.
        let unloaded = match missing {
            0 => section.hit,
            _ => self.dram.get(parameters).latency,
        };
        let settled = self.order_atomics(number, kind, start, done, atomic_latency);
        self.recorder.record(|| Outcome::L2Line {
            line: number,
            slice: slice as u32,
            sectors: count,
            hits,
            missing,
            evicted,
            pending,
            after_atomics: kind == L2Access::Read && settled > done,
        });
        let dram = self.dram.unmarked();
        if dram.refreshes > refreshes_before {
            self.recorder.record(|| Outcome::Refreshes {
                count: dram.refreshes - refreshes_before,
                last: dram.last_refresh(),
            });
        }
        L2Outcome {
            done: settled,
            unloaded_latency: unloaded + atomic_latency,
            hits,
            dram: missing + evicted,
        }
    }

    /// Orders an access after the atomic operations on its line; returns the cycle of its completion.
    ///
    /// Reads wait for the atomic operations that arrived before them. Atomic operations do not wait for each other: the
    /// cache executes them where the data is.
    #[inline]
    fn order_atomics(
        &mut self,
        line: u64,
        kind: L2Access,
        arrival: u64,
        mut done: u64,
        latency: u64,
    ) -> u64 {
        match kind {
            // Most kernels have no atomic operations, so most reads need no lookup.
            L2Access::Read if !self.atomics.is_empty() => {
                if let Some(atomics) = self.atomics.get(&line) {
                    done = done.max(atomics.settled(arrival));
                }
            }
            L2Access::Read | L2Access::Write => {}
            L2Access::Atomic { .. } => {
                done += latency;
                let atomics = self.atomics.entry(line).or_default();
                atomics.add(self.now, arrival, done);
            }
        }
        done
    }

    /// Accesses sectors that follow each other from an address on, in cycle `at`; they may be in several lines,
    /// because lines of the L1 cache may be longer or shorter than lines of the L2 cache. For example, four sectors
    /// of 32 bytes from address 64 on are the last two of one line of 128 bytes and the first two of the next.
    pub(super) fn access_range(
        &mut self,
        at: u64,
        address: u64,
        sectors: u32,
        kind: L2Access,
    ) -> L2Outcome {
        let L2Section { line, sector, .. } = self.section;
        let per_line = line / sector;
        // 64 bits, because the shift may move sectors of the 32-bit mask into following lines.
        let mut left = u64::from(sectors) << (address % line / sector);
        let mut address = address - address % line;
        let mut all = L2Outcome::default();
        while left != 0 {
            let own = (left & (u64::MAX >> (64 - per_line))) as u32;
            if own != 0 {
                let outcome = self.access(at, address, own, kind);
                all.done = all.done.max(outcome.done);
                all.unloaded_latency = all.unloaded_latency.max(outcome.unloaded_latency);
                all.hits += outcome.hits;
                all.dram += outcome.dram;
            }
            left >>= per_line;
            address += line;
        }
        all
    }

    /// Fetches a line of code or constants that missed on its SM in cycle `at`; `latency` is the latency of an L2 hit
    /// for this cache. Returns the cycle when the line arrives, and whether it hit.
    pub(super) fn fetch_line(
        &mut self,
        at: u64,
        address: u64,
        bytes: u64,
        latency: u64,
    ) -> (u64, bool) {
        let section = self.section;
        let mut done = at + latency;
        let mut hit = true;
        let mut line = address / section.line * section.line;
        while line < address + bytes {
            let first = address.max(line) % section.line / section.sector;
            let last = (address + bytes).min(line + section.line) - 1 - line;
            let sectors = (u32::MAX >> (31 - last / section.sector)) & (u32::MAX << first);
            let outcome = self.access(at, line, sectors, L2Access::Read);
            // `latency` replaces the latency of a load that hits; the delay by contention and DRAM is added.
            let excess = (outcome.done - at).saturating_sub(section.hit);
            done = done.max(at + latency + excess);
            hit &= outcome.dram == 0;
            line += section.line;
        }
        (done, hit)
    }
}

#[cfg(test)]
mod tests {
    use warpbound_machine::{GpuModel, Selection};

    use super::*;

    /// A read waits for the atomic operations on its line that arrived before it; a new line in a full set replaces one
    /// with dirty sectors.
    #[test]
    fn outcomes_of_lines() {
        let machine = GpuModel::built_in("gtx1080").expect("a built-in machine");
        let machine = machine.select(Selection::Typical);
        let section = L2Section::read(&mut UsedParameters::new(&machine).reader());
        // A single line, so that each new line evicts another one.
        let machine = machine.with(Parameter::L2Bytes, section.line);
        let machine = machine.with(Parameter::L2Ways, 1);
        let parameters = UsedParameters::new(&machine);
        let mut l2 = L2Cache::new(&parameters);
        l2.recorder = Recorder::new(true);
        let atomic = L2Access::Atomic { contended: false };
        l2.access(0, 0, 0b11, atomic);
        l2.access(1, 0, 0b1, L2Access::Read);
        l2.access(100_000, 0, 0b1, L2Access::Read);
        l2.access(100_001, section.line, 0b1, L2Access::Write);
        let outcomes = l2.recorder.take().filter_map(|outcome| match outcome {
            Outcome::L2Line {
                line,
                hits,
                missing,
                evicted,
                after_atomics,
                ..
            } => Some((line, hits, missing, evicted, after_atomics)),
            _ => None,
        });
        // The atomic operation misses two sectors, the first read waits for it, the second no longer does, and the
        // write evicts both dirty sectors.
        let expected = [
            (0, 0, 2, 0, false),
            (0, 1, 0, 0, true),
            (0, 1, 0, 0, false),
            (1, 0, 0, 2, false),
        ];
        assert_eq!(outcomes.collect::<Vec<_>>(), expected);
    }

    /// A read waits for the operations that arrived before it, in whatever order they were simulated.
    #[test]
    fn reads_wait_for_operations_that_have_arrived() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut atomics = LineAtomics::default();
        let mut all: Vec<(u64, u64)> = Vec::new();
        for now in 0..2000 {
            let arrival = now + random.u64(0..100);
            let done = arrival + random.u64(0..300);
            atomics.add(now, arrival, done);
            all.push((arrival, done));
            let read = now + random.u64(0..200);
            let before = all.iter().filter(|&&(arrival, _)| arrival <= read);
            let expected = before.map(|&(_, done)| done).max().unwrap_or(0);
            // What is complete already is no wait.
            assert_eq!(atomics.settled(read).max(now), expected.max(now));
        }
    }

    /// L1 lines of 64 bytes are halves of L2 lines of 128, and L1 lines of 256 bytes are two of them.
    #[test]
    fn lines_of_another_length() {
        let machine = GpuModel::built_in("jetson-tx2").expect("a built-in machine");
        let parameters = UsedParameters::new(&machine.select(Selection::Typical));
        let mut l2 = L2Cache::new(&parameters);
        let mut hits = |address, sectors| l2.access_range(0, address, sectors, L2Access::Read).hits;
        // The second half of the L2 line, its first half, and then both.
        assert_eq!(hits(64, 0b11), 0);
        assert_eq!(hits(0, 0b11), 0);
        assert_eq!(hits(0, 0b1111), 4);
        // Sectors 4 and 7 lie in the L2 line at 384.
        assert_eq!(hits(256, 0b1001_0000), 0);
        assert_eq!(hits(384, 0b1111), 2);
    }
}
