//! The second-level cache, the memory behind it and the translation of addresses: what all SMs share.

use rustc_hash::FxHashMap;
use warpbound_machine::Parameter;

use super::cache::Cache;
use super::dram::Dram;
use super::numbers::{Numbered, Numbers};
use super::server::Server;

/// Addresses of what is no data, in the second-level cache: where a kernel's code and its constants are.
pub(super) const CODE: u64 = 0x20_0000_0000;
pub(super) const CONSTANTS: u64 = 0x21_0000_0000;
/// Constant banks are so far from each other.
pub(super) const BANK: u64 = 0x1_0000;
/// Local memory of the warps, one slot of an SM behind the other.
pub(super) const LOCAL: u64 = 0x30_0000_0000;

const L2: Numbered = Numbered::of(&[
    Parameter::L2Bytes,
    Parameter::L2Line,
    Parameter::L2Sector,
    Parameter::L2Ways,
    Parameter::L2Slices,
    Parameter::L2Hash,
    Parameter::L2Hit,
    Parameter::L2Bandwidth,
]);
const TLB: Numbered = Numbered::of(&[
    Parameter::TlbL1Entries,
    Parameter::TlbL1Page,
    Parameter::TlbL1Miss,
]);
const TLB_L2: Numbered = Numbered::of(&[
    Parameter::TlbL2Entries,
    Parameter::TlbL2Page,
    Parameter::TlbL2Miss,
]);

/// The second level and what is behind it.
pub(super) struct Level<'a> {
    pub(super) numbers: &'a Numbers,
    /// No request arrives earlier any more.
    pub(super) now: u64,
    cache: Cache,
    slices: Vec<Server>,
    hash: bool,
    dram: Dram,
    /// Lines with atomic operations: when the last ones reached them, and when all are done.
    atomics: FxHashMap<u64, (u64, u64)>,
    translations: Cache,
    /// Pages of the second translation buffer whose tables were used before.
    tables: Cache,
    line: u64,
    pub(super) sector: u64,
    l2_hit: u64,
    bandwidth: u64,
    atomic_occupancy: u64,
}

/// What happened to some sectors of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reached {
    /// When they are there.
    pub(super) done: u64,
    /// How long that takes where nothing else is going on.
    pub(super) alone: u64,
    /// Sectors that were in the second level.
    pub(super) hits: u32,
    /// Sectors that came from memory or went there.
    pub(super) dram: u32,
}

/// What is wanted of sectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    Read,
    Write,
    /// Both at once; perhaps several lanes want the same address.
    Atomic {
        contended: bool,
    },
}

impl<'a> Level<'a> {
    pub(super) fn new(numbers: &'a Numbers) -> Level<'a> {
        let peek = |parameter| numbers.peek(parameter);
        let buffer = |entries, page| {
            let (entries, page) = (peek(entries), peek(page));
            Cache::new(entries * page, page, entries)
        };
        // Tables for 64 GiB: no launch has more.
        let tables = Cache::new(
            2048 * peek(Parameter::TlbL2Page),
            peek(Parameter::TlbL2Page),
            2048,
        );
        let sector = peek(Parameter::L2Sector).max(1);
        Level {
            numbers,
            now: 0,
            cache: Cache::new(
                peek(Parameter::L2Bytes),
                peek(Parameter::L2Line),
                peek(Parameter::L2Ways),
            ),
            slices: vec![Server::default(); peek(Parameter::L2Slices).max(1) as usize],
            hash: peek(Parameter::L2Hash) != 0,
            dram: Dram::new(numbers, sector),
            atomics: FxHashMap::default(),
            translations: buffer(Parameter::TlbL2Entries, Parameter::TlbL2Page),
            tables,
            line: peek(Parameter::L2Line).max(1),
            sector,
            l2_hit: peek(Parameter::L2Hit),
            bandwidth: peek(Parameter::L2Bandwidth),
            atomic_occupancy: peek(Parameter::AtomicOccupancy),
        }
    }

    /// Puts bytes into the cache, and their translations into the second buffer, as whoever wrote them before has done.
    pub(super) fn warm(&mut self, address: u64, bytes: u64) {
        let all = u32::MAX >> (32 - (self.line / self.sector).clamp(1, 32));
        let end = address + bytes;
        let mut at = address / self.line * self.line;
        while at < end {
            self.cache.find(at).line.valid = all;
            at += self.line;
        }
        let page = self.numbers.peek(Parameter::TlbL2Page).max(1);
        let mut at = address / page * page;
        while at < end {
            self.translations.whole(at);
            self.tables.whole(at);
            at += page;
        }
    }

    /// A translation that an SM does not have is wanted at a cycle; when it is there.
    pub(super) fn translate(&mut self, at: u64, address: u64) -> u64 {
        self.numbers.touch(TLB);
        if let Some(there) = self.translations.whole(address) {
            return there.max(at + self.numbers.get(Parameter::TlbL1Miss));
        }
        self.numbers.touch(TLB_L2);
        let more = match self.tables.whole(address) {
            Some(_) => self.numbers.get(Parameter::TlbL2Miss),
            None => self.numbers.get(Parameter::TlbWalk),
        };
        self.translations.arrives(address, at + more);
        at + more
    }

    /// The slice of a line.
    fn slice(&self, line: u64) -> usize {
        let number = match self.hash {
            // Folds what addresses differ in, so that strides of powers of two do not stay in a slice.
            true => line ^ line >> 4 ^ line >> 9 ^ line >> 15 ^ line >> 22,
            false => line,
        };
        (number % self.slices.len() as u64) as usize
    }

    /// Sectors of the line at an address are wanted at a cycle.
    pub(super) fn reach(&mut self, at: u64, address: u64, sectors: u32, wanted: Wanted) -> Reached {
        self.numbers.touch(L2);
        let now = self.now;
        let count = sectors.count_ones();
        let slice = self.slice(address / self.line);
        let bytes = u64::from(count) * self.sector;
        let begin = self.slices[slice].transfer(now, at, bytes, self.bandwidth);
        let mut more = 0;
        if let Wanted::Atomic { contended } = wanted {
            more = self.numbers.get(Parameter::AtomicLatency);
            if contended {
                more += self.numbers.get(Parameter::AtomicShared);
            }
            let cycles = self.atomic_occupancy * u64::from(count);
            self.numbers
                .touch(const { Numbered::of(&[Parameter::AtomicOccupancy]) });
            self.slices[slice].reserve(now, begin, cycles);
        }
        let found = self.cache.find(address);
        let (line, evicted) = (found.line, found.evicted);
        let missing = match wanted {
            // Written as a whole, or with a mask of bytes: nothing is fetched.
            Wanted::Write => 0,
            Wanted::Read | Wanted::Atomic { .. } => sectors & !line.valid,
        };
        let hits = (sectors & line.valid).count_ones();
        line.valid |= sectors;
        if wanted != Wanted::Read {
            line.dirty |= sectors;
        }
        let mut done = begin + self.l2_hit;
        // What is under way comes no later than it would if this request had asked for it: who asked was perhaps worked on
        // before, but comes here after it.
        if hits != 0 && line.ready > done {
            done = done.max(line.ready.min(self.dram.would_read(begin, hits)));
        }
        let fetched = missing.count_ones();
        if fetched != 0 {
            let there = self.dram.read(self.numbers, now, begin, fetched);
            done = done.max(there);
            line.ready = line.ready.max(done);
        }
        if evicted != 0 {
            let taken = self.dram.write(self.numbers, now, begin, evicted);
            // What is written has its place when what was there is gone; what is read waits for its data anyway.
            if wanted == Wanted::Write {
                done = done.max(taken);
            }
        }
        // Reads wait for atomic operations before them, other atomic operations do not: the cache does them where it is.
        match wanted {
            // Those that it overtakes keep it waiting no longer.
            Wanted::Read if !self.atomics.is_empty() => {
                let atomics = self.atomics.get(&(address / self.line));
                if let Some(&(reached, settled)) = atomics
                    && reached <= begin
                {
                    done = done.max(settled);
                }
            }
            Wanted::Read | Wanted::Write => {}
            Wanted::Atomic { .. } => {
                done += more;
                let atomics = self.atomics.entry(address / self.line).or_default();
                *atomics = (begin, atomics.1.max(done));
            }
        }
        let alone = match fetched {
            0 => self.l2_hit,
            _ => self.dram.latency,
        };
        Reached {
            done,
            alone: alone + more,
            hits,
            dram: fetched + evicted,
        }
    }

    /// The same for sectors from an address on, where lines may be longer or shorter than those of who asks.
    pub(super) fn reach_from(
        &mut self,
        at: u64,
        address: u64,
        sectors: u32,
        wanted: Wanted,
    ) -> Reached {
        let each = self.line / self.sector;
        let mut left = u64::from(sectors) << (address % self.line / self.sector);
        let mut line = address - address % self.line;
        let mut all = Reached::default();
        while left != 0 {
            let own = (left & (u64::MAX >> (64 - each))) as u32;
            if own != 0 {
                let reached = self.reach(at, line, own, wanted);
                all.done = all.done.max(reached.done);
                all.alone = all.alone.max(reached.alone);
                all.hits += reached.hits;
                all.dram += reached.dram;
            }
            left >>= each;
            line += self.line;
        }
        all
    }

    /// A line of code or constants is wanted at a cycle that is not on its SM, `latency` cycles away in the second level:
    /// when it is there, and whether the second level had it.
    pub(super) fn line_of(
        &mut self,
        at: u64,
        address: u64,
        bytes: u64,
        latency: u64,
    ) -> (u64, bool) {
        let mut done = at + latency;
        let mut had = true;
        let mut line = address / self.line * self.line;
        while line < address + bytes {
            let first = address.max(line) % self.line / self.sector;
            let last = (address + bytes).min(line + self.line) - 1 - line;
            let sectors = (u32::MAX >> (31 - last / self.sector)) & (u32::MAX << first);
            let reached = self.reach(at, line, sectors, Wanted::Read);
            // What it takes beyond a hit: a queue, or the way to memory.
            done = done.max(at + latency + (reached.done - at).saturating_sub(self.l2_hit));
            had &= reached.dram == 0;
            line += self.line;
        }
        (done, had)
    }
}

#[cfg(test)]
mod tests {
    use warpbound_machine::{GpuModel, Selection};

    use super::*;

    /// Lines of 64 bytes, as a first level may have them, are halves of lines of 128, and lines of 256 are two.
    #[test]
    fn lines_of_another_length() {
        let machine = GpuModel::built_in("jetson-tx2").expect("it comes with the tool");
        let numbers = Numbers::new(&machine.pick(Selection::Typical));
        let mut level = Level::new(&numbers);
        let mut hits = |address, sectors| level.reach_from(0, address, sectors, Wanted::Read).hits;
        assert_eq!(hits(64, 0b11), 0);
        assert_eq!(hits(0, 0b11), 0);
        assert_eq!(hits(0, 0b1111), 4);
        assert_eq!(hits(256, 0b1001_0000), 0);
        assert_eq!(hits(384, 0b1111), 2);
    }
}
