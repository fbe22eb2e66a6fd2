//! Global and local memory, as an SM sees them: requests, the first-level caches, the first translation buffer.

use warpbound_machine::Parameter;

use super::cache::Cache;
use super::level::{Level, Wanted};
use super::numbers::{Numbered, Numbers};
use super::server::Server;
use super::window::Window;
use crate::functional::AccessKind;

const L1: Numbered = Numbered::of(&[
    Parameter::L1Units,
    Parameter::L1RequestThreads,
    Parameter::L1Tags,
    Parameter::L1Misses,
    Parameter::L1Stores,
    Parameter::L1Merge,
    Parameter::SmBandwidth,
]);
const L1_LOOKUP: Numbered = Numbered::of(&[
    Parameter::L1Bytes,
    Parameter::L1Line,
    Parameter::L1Sets,
    Parameter::L1Hit,
]);

/// The way of an SM to global memory.
pub(super) struct Path {
    units: Vec<Unit>,
    /// What goes between the SM and the second level.
    port: Server,
    translations: Cache,
    misses: Window,
    stores: Window,
    /// Sectors that the instruction at hand has asked for, and when they are there.
    asked: Vec<(u64, u32, u64)>,
    merge: bool,
    line: u64,
    sector: u64,
    threads: usize,
    tags: u64,
    l1_hit: u64,
    bandwidth: u64,
    page: u64,
    /// The page of the access before.
    last_page: u64,
    /// When its translation is there.
    translated: u64,
}

/// A first-level cache.
struct Unit {
    tags: Server,
    cache: Cache,
}

/// An access of a warp to global or local memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) kind: AccessKind,
    /// Bytes of a lane.
    pub(super) size: u32,
    pub(super) addresses: &'a [u64; 32],
    pub(super) taken: u32,
    /// It may be in the first level.
    pub(super) cached: bool,
    /// Some lanes want the same address.
    pub(super) contended: bool,
    /// Which first-level cache is asked.
    pub(super) unit: usize,
}

/// What became of an access.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub(super) requests: u32,
    pub(super) sectors: u32,
    pub(super) l1_lookups: u32,
    pub(super) l1_hits: u32,
    pub(super) l2_lookups: u32,
    pub(super) l2_hits: u32,
    pub(super) dram: u32,
    pub(super) tlb_misses: u32,
    /// When the last request has been looked up and has found room among those under way.
    pub(super) accepted: u64,
    /// When the result is there; for stores, when the second level has it.
    pub(super) done: u64,
}

impl Outcome {
    /// Adds what became of an access at the same time.
    pub(super) fn add(&mut self, other: &Outcome) {
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

/// Sectors of a line that a request wants.
#[derive(Clone, Copy, Default)]
struct Part {
    line: u64,
    sectors: u32,
}

impl Path {
    pub(super) fn new(numbers: &Numbers) -> Path {
        let peek = |parameter| numbers.peek(parameter);
        let line = peek(Parameter::L1Line).max(1);
        let (bytes, sets) = (peek(Parameter::L1Bytes), peek(Parameter::L1Sets).max(1));
        let unit = || Unit {
            tags: Server::default(),
            cache: Cache::new(bytes, line, bytes / line / sets),
        };
        let page = peek(Parameter::TlbL1Page).max(1);
        let entries = peek(Parameter::TlbL1Entries);
        Path {
            units: (0..peek(Parameter::L1Units).max(1))
                .map(|_| unit())
                .collect(),
            port: Server::default(),
            translations: Cache::new(entries * page, page, entries),
            misses: Window::new(peek(Parameter::L1Misses)),
            stores: Window::new(peek(Parameter::L1Stores)),
            asked: Vec::new(),
            merge: peek(Parameter::L1Merge) != 0,
            line,
            sector: peek(Parameter::L2Sector).max(1),
            threads: peek(Parameter::L1RequestThreads).clamp(1, 32) as usize,
            tags: peek(Parameter::L1Tags).max(1),
            l1_hit: peek(Parameter::L1Hit),
            bandwidth: peek(Parameter::SmBandwidth),
            page,
            last_page: u64::MAX,
            translated: 0,
        }
    }

    /// How many first-level caches there are.
    pub(super) fn units(&self) -> usize {
        self.units.len()
    }

    /// A texture read, whose texels are not followed, takes the unit for some cycles; when it begins.
    pub(super) fn texture(&mut self, now: u64, at: u64, unit: usize, cycles: u64) -> u64 {
        let count = self.units.len();
        self.units[unit % count].tags.reserve(now, at, cycles)
    }

    /// An access begins at a cycle.
    pub(super) fn access(
        &mut self,
        at: u64,
        request: &Request<'_>,
        level: &mut Level<'_>,
    ) -> Outcome {
        level.numbers.touch(L1);
        let mut outcome = Outcome {
            accepted: at,
            done: at,
            ..Outcome::default()
        };
        let wide = (request.size / 4).max(1) as usize;
        let threads = (self.threads / wide).max(1);
        self.asked.clear();
        for first in (0..32).step_by(threads) {
            let lanes = (u32::MAX >> (32 - threads)) << first;
            if request.taken & lanes != 0 {
                self.request(at, request, request.taken & lanes, level, &mut outcome);
            }
        }
        outcome
    }

    fn request(
        &mut self,
        at: u64,
        request: &Request<'_>,
        lanes: u32,
        level: &mut Level<'_>,
        outcome: &mut Outcome,
    ) {
        let mut parts = [Part::default(); 32];
        let parts = self.parts(request, lanes, &mut parts);
        let count = self.units.len();
        let cycles = (parts.len() as u64).div_ceil(self.tags);
        let begin = self.units[request.unit % count]
            .tags
            .reserve(level.now, at, cycles);
        outcome.requests += 1;
        outcome.accepted = outcome.accepted.max(begin);
        for part in parts {
            let mut wanted = part.sectors;
            if self.merge && request.kind != AccessKind::Atomic {
                for (line, sectors, there) in &self.asked {
                    if *line == part.line && wanted & sectors != 0 {
                        outcome.done = outcome.done.max(*there);
                        wanted &= !sectors;
                    }
                }
            }
            let sectors = wanted.count_ones();
            outcome.sectors += sectors;
            if request.kind == AccessKind::Atomic {
                // The second level does them: what the first one has is old.
                self.units[request.unit % count]
                    .cache
                    .drop(part.line, wanted);
            }
            if request.cached {
                level.numbers.touch(L1_LOOKUP);
                let line = self.units[request.unit % count].cache.find(part.line).line;
                if request.kind == AccessKind::Load {
                    let hits = wanted & line.valid;
                    outcome.l1_lookups += sectors;
                    outcome.l1_hits += hits.count_ones();
                    if hits != 0 {
                        outcome.done = outcome.done.max(line.ready.max(begin + self.l1_hit));
                        wanted &= !hits;
                    }
                }
                line.valid |= part.sectors;
            }
            if wanted != 0 {
                let done = self.beyond(begin, request, *part, wanted, level, outcome);
                outcome.done = outcome.done.max(done);
                self.asked.push((part.line, wanted, done));
                if request.cached && request.kind == AccessKind::Load {
                    let line = self.units[request.unit % count].cache.find(part.line).line;
                    line.ready = line.ready.max(done);
                }
            }
        }
    }

    /// Sectors go to or come from the second level; when that is done.
    fn beyond(
        &mut self,
        begin: u64,
        request: &Request<'_>,
        part: Part,
        sectors: u32,
        level: &mut Level<'_>,
        outcome: &mut Outcome,
    ) -> u64 {
        let count = sectors.count_ones();
        let page = part.line / self.page;
        if page != self.last_page {
            self.last_page = page;
            self.translated = match self.translations.whole(part.line) {
                Some(there) => there,
                None => {
                    outcome.tlb_misses += 1;
                    let there = level.translate(begin, part.line);
                    self.translations.arrives(part.line, there);
                    there
                }
            };
        }
        let window = match request.kind {
            AccessKind::Store => &mut self.stores,
            AccessKind::Load | AccessKind::Atomic => &mut self.misses,
        };
        let start = window.enter(begin, count.into());
        outcome.accepted = outcome.accepted.max(start);
        let bytes = u64::from(count) * self.sector;
        let sent = self.port.transfer(level.now, start, bytes, self.bandwidth);
        let wanted = match request.kind {
            AccessKind::Load => Wanted::Read,
            AccessKind::Store => Wanted::Write,
            AccessKind::Atomic => Wanted::Atomic {
                contended: request.contended,
            },
        };
        let reached = level.reach_from(sent, part.line, sectors, wanted);
        outcome.l2_lookups += count;
        outcome.l2_hits += reached.hits;
        outcome.dram += reached.dram;
        // Without its translation, a request takes port, slice and memory in its turn all the same: a warp's data keeps its order.
        let done = reached.done.max(self.translated + reached.alone);
        window.hold(count.into(), done);
        done
    }

    /// The lines and sectors that some lanes want, each line once.
    fn parts<'p>(
        &self,
        request: &Request<'_>,
        lanes: u32,
        parts: &'p mut [Part; 32],
    ) -> &'p [Part] {
        let mut count = 0;
        let mut left = lanes;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let address = request.addresses[lane];
            let line = address & !(self.line - 1);
            let sector = 1 << ((address - line) / self.sector);
            // Mostly the same line as the lane before.
            let known = parts[..count].iter().rposition(|part| part.line == line);
            let part = known.unwrap_or(count);
            if known.is_none() {
                count += 1;
                parts[part] = Part { line, sectors: 0 };
            }
            parts[part].sectors |= sector;
        }
        &parts[..count]
    }
}

#[cfg(test)]
mod tests {
    use warpbound_machine::{GpuModel, Selection};

    use super::*;

    /// Of the 8 sectors that may be on their way, a line takes four.
    #[test]
    fn sectors_are_on_their_way_and_not_lines() {
        let machine = GpuModel::built_in("jetson-tx2").expect("it comes with the tool");
        let picked = machine.pick(Selection::Typical).with(Parameter::L1Misses, 8);
        let numbers = Numbers::new(&picked);
        let mut path = Path::new(&numbers);
        let mut level = Level::new(&numbers);
        let mut load = |line: u64| {
            let request = Request {
                kind: AccessKind::Load,
                size: 4,
                addresses: &std::array::from_fn(|lane| line * 128 + lane as u64 % 4 * 32),
                taken: 0b1111,
                cached: false,
                contended: false,
                unit: 0,
            };
            path.access(0, &request, &mut level).done
        };
        // What the translation takes is over when the third comes.
        let done = [0, 1, 2].map(&mut load);
        assert!(done[1] < done[0] + 100 && done[2] >= done[0], "{done:?}");
    }
}
