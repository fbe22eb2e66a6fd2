//! Accesses of a warp to the memories.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;

use super::event::{Event, EventListener};
use super::global::{Outcome, Request};
use super::level::LOCAL;
use super::numbers::{Numbered, Numbers};
use super::probe::Access;
use super::row::Unit;
use super::shared::{most_on_a_word, transactions};
use super::sm::{Around, Sm, unit_of_path};
use super::warp::Warp;
use crate::functional::{AccessKind, window};

const SHARED: Numbered = Numbered::of(&[
    Parameter::SharedLatency,
    Parameter::SharedConflict,
    Parameter::SharedTransaction,
    Parameter::SharedSources,
]);

impl<'r> Sm<'r> {
    /// When the sources of an access have been read, and when its result is there.
    pub(super) fn access<L: EventListener>(
        &mut self,
        begin: u64,
        cached: bool,
        warp: &mut Warp,
        around: &mut Around<'_, 'r, L>,
    ) -> (u64, u64) {
        let Some(access) = around.probe.access else {
            // No lane takes part.
            return (begin + 1, begin + 1);
        };
        let (mut sources, mut done) = (begin + 1, begin + 1);
        for (space, lanes) in spaces(&access, &mut around.probe.addresses) {
            if lanes == 0 {
                continue;
            }
            let access = Access {
                taken: lanes,
                ..access
            };
            let (read, there) = match space {
                MemorySpace::Shared => self.access_shared(begin, access, warp, around),
                _ => self.access_global(begin, (space, cached), access, warp, around),
            };
            sources = sources.max(read);
            done = done.max(there);
        }
        (sources, done)
    }

    /// The load/store lanes of a warp's sub-partition keep an access until the memory that it is to takes it: what backs up
    /// there keeps warps from issuing more.
    fn keep_lsu(&mut self, until: u64, warp: &Warp, numbers: &Numbers) {
        self.schedulers[warp.place.scheduler as usize].keep(Unit::Lsu, until, numbers);
    }

    /// `pastis-2022`, III.B: 22 + base + 2 for each conflict.
    fn access_shared<L: EventListener>(
        &mut self,
        begin: u64,
        access: Access,
        warp: &mut Warp,
        around: &mut Around<'_, 'r, L>,
    ) -> (u64, u64) {
        let numbers = around.numbers;
        numbers.touch(SHARED);
        let found = transactions(access.size, &around.probe.addresses, access.taken);
        let base = numbers.get(match access.size {
            16 => Parameter::SharedBase128,
            8 => Parameter::SharedBase64,
            _ => Parameter::SharedBase32,
        });
        let conflicts = u64::from(found.conflicts) * numbers.peek(Parameter::SharedConflict);
        let mut occupied = conflicts
            + u64::from(found.all - found.conflicts) * numbers.peek(Parameter::SharedTransaction);
        let mut more = 0;
        if access.kind == AccessKind::Atomic {
            let threads = u64::from(most_on_a_word(&around.probe.addresses, access.taken))
                * numbers.get(Parameter::SharedAtomicThread);
            more = numbers.get(Parameter::SharedAtomic) + threads;
            occupied += threads;
        }
        // The memory is taken in the order of issue, and a warp's accesses come behind its own atomic operations.
        let served = self
            .shared
            .reserve(warp.issued, begin, occupied)
            .max(warp.shared);
        warp.shared = served + more;
        self.keep_lsu(served, warp, numbers);
        let done = served + numbers.peek(Parameter::SharedLatency) + base + conflicts + more;
        let event = Event::Shared {
            warp: warp.place,
            at: OpIndex(warp.at),
            kind: access.kind,
            transactions: found.all,
            conflicts: found.conflicts,
            done,
        };
        around.listener.event(warp.issued, &event);
        let sources = served + numbers.peek(Parameter::SharedSources) + conflicts;
        (sources, done)
    }

    fn access_global<L: EventListener>(
        &mut self,
        begin: u64,
        (space, cached): (MemorySpace, bool),
        access: Access,
        warp: &mut Warp,
        around: &mut Around<'_, 'r, L>,
    ) -> (u64, u64) {
        let numbers = around.numbers;
        let cached =
            cached || access.kind == AccessKind::Load && numbers.get(Parameter::L1AllLoads) != 0;
        let request = Request {
            kind: access.kind,
            size: access.size,
            addresses: &around.probe.addresses,
            taken: access.taken,
            cached: cached && access.kind != AccessKind::Atomic,
            contended: access.kind == AccessKind::Atomic
                && has_twins(&around.probe.addresses, access.taken),
            unit: unit_of_path(warp, self),
        };
        let outcome = match space {
            MemorySpace::Local => {
                // Words of the lanes lie beside each other, so that a warp's access to one variable is one line.
                let each = u64::from(around.launch.local).next_multiple_of(4) * 32;
                let slot = u64::from(self.number) * self.slots + u64::from(warp.place.slot);
                let mut outcome = Outcome::default();
                for word in 0..u64::from(access.size).div_ceil(4) {
                    let addresses = std::array::from_fn(|lane| {
                        // Lanes that take no part may hold any number.
                        let own = match access.taken >> lane & 1 {
                            1 => around.probe.addresses[lane] + 4 * word,
                            _ => 0,
                        };
                        LOCAL + slot * each + own / 4 * 128 + lane as u64 * 4 + own % 4
                    });
                    let word = Request {
                        size: access.size.min(4),
                        addresses: &addresses,
                        ..request
                    };
                    outcome.add(&self.path.access(begin, &word, &mut around.level));
                }
                outcome
            }
            _ => self.path.access(begin, &request, &mut around.level),
        };
        self.keep_lsu(outcome.accepted + 1, warp, numbers);
        let done = outcome.done;
        if access.kind != AccessKind::Load {
            warp.stored = warp.stored.max(done);
            around.stored = around.stored.max(done);
        }
        let event = Event::Global {
            warp: warp.place,
            at: OpIndex(warp.at),
            space: match space {
                MemorySpace::Local => MemorySpace::Local,
                _ => MemorySpace::Global,
            },
            kind: access.kind,
            requests: outcome.requests,
            sectors: outcome.sectors,
            l1_hits: outcome.l1_hits,
            l1_lookups: outcome.l1_lookups,
            l2_hits: outcome.l2_hits,
            l2_lookups: outcome.l2_lookups,
            dram: outcome.dram,
            tlb_misses: outcome.tlb_misses,
            done,
        };
        around.listener.event(warp.issued, &event);
        let sources = outcome.accepted + numbers.get(Parameter::L1Sources);
        (sources, done)
    }
}

/// The memories that an access is to, and the lanes for each; generic addresses become those of their memory.
fn spaces(access: &Access, addresses: &mut [u64; 32]) -> [(MemorySpace, u32); 3] {
    let mut found = [(MemorySpace::Shared, 0), (MemorySpace::Local, 0), (MemorySpace::Global, 0)];
    if access.space != MemorySpace::Generic {
        found[0] = (access.space, access.taken);
        return found;
    }
    for (lane, address) in addresses.iter_mut().enumerate() {
        if access.taken >> lane & 1 == 0 {
            continue;
        }
        let (space, base) = window::space_of(access.space, *address);
        *address -= base;
        let place = match space {
            MemorySpace::Shared => 0,
            MemorySpace::Local => 1,
            _ => 2,
        };
        found[place].1 |= 1 << lane;
    }
    found
}

/// Some lanes want the same address.
fn has_twins(addresses: &[u64; 32], taken: u32) -> bool {
    let lanes = || (0..32).filter(|lane| taken >> lane & 1 == 1);
    lanes().any(|lane| lanes().any(|other| other < lane && addresses[other] == addresses[lane]))
}
