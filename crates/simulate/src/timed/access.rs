//! Memory accesses of a warp, as far as they are the same on all GPUs: memory of single lanes, events and outcomes.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::{Mask, lanes_of};

use super::core::Core;
use super::event::{Event, EventListener};
use super::family_timing::{FamilyTiming, RunContext};
use super::l1_path::{AccessOutcome, WarpAccess};
use super::l2::L2Cache;
use super::outcome::Outcome;
use super::warp::Warp;
use crate::functional::AccessKind;

/// Outcome of an access to shared memory or LDS.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedOutcome {
    pub(super) kind: AccessKind,
    /// Bytes per lane.
    pub(super) size: u32,
    pub(super) transactions: u32,
    /// Transactions caused by bank conflicts.
    pub(super) conflicts: u32,
    /// Maximum number of lanes that access one word, for atomic operations; 0 where no time depends on it.
    pub(super) same_word: u32,
    pub(super) done: u64,
}

impl<F: FamilyTiming<W>, const W: usize> Core<'_, F, W> {
    /// Accesses memory of single lanes word by word, from the addresses of their first words on. The words of the lanes
    /// at one offset are consecutive, so that the access of a warp to one variable is one line (CUDA C Programming Guide,
    /// "Local Memory").
    pub(super) fn access_words(
        &mut self,
        start: u64,
        request: &WarpAccess<'_>,
        l2: &mut L2Cache<'_>,
    ) -> AccessOutcome {
        let row = W as u64 * 4;
        let mut outcome = AccessOutcome::default();
        let mut addresses = [0_u64; W];
        for word in 0..u64::from(request.size).div_ceil(4) {
            for lane in lanes_of(request.taken) {
                addresses[lane] = request.addresses[lane].saturating_add(word * row);
            }
            let word = WarpAccess {
                size: request.size.min(4),
                addresses: &addresses,
                ..*request
            };
            outcome.add(&self.l1_path.access(start, &word, l2));
        }
        outcome
    }
}

impl<F: FamilyTiming<W>, L: EventListener, const W: usize> RunContext<'_, '_, F, L, W> {
    /// Reports an access of the instruction just issued to global memory or to memory of single lanes.
    #[inline]
    pub(super) fn report_memory(
        &mut self,
        warp: &Warp<F::WarpState>,
        space: MemorySpace,
        kind: AccessKind,
        outcome: &AccessOutcome,
    ) {
        // Atomic operations write as well: the end of the kernel may wait for all stores (`launch.stores`).
        if kind != AccessKind::Load {
            self.stores_done = self.stores_done.max(outcome.done);
        }
        let event = Event::Memory {
            warp: warp.place,
            at: OpIndex(warp.at),
            space: match space {
                MemorySpace::Local => MemorySpace::Local,
                _ => MemorySpace::Global,
            },
            access: kind,
            requests: outcome.requests,
            sectors: outcome.sectors,
            l1_hits: outcome.l1_hits,
            l1_lookups: outcome.l1_lookups,
            l2_hits: outcome.l2_hits,
            l2_lookups: outcome.l2_lookups,
            dram_sectors: outcome.dram,
            tlb_misses: outcome.tlb_misses,
            done: outcome.done,
        };
        self.listener.event(warp.last_issue, &event);
    }

    /// Reports an access of the instruction just issued to shared memory or LDS.
    #[inline]
    pub(super) fn report_shared(&mut self, warp: &Warp<F::WarpState>, outcome: &SharedOutcome) {
        self.l2.recorder.record(|| Outcome::Shared {
            kind: outcome.kind,
            size: outcome.size,
            transactions: outcome.transactions,
            conflicts: outcome.conflicts,
            same_word: outcome.same_word,
        });
        let event = Event::Shared {
            warp: warp.place,
            at: OpIndex(warp.at),
            access: outcome.kind,
            transactions: outcome.transactions,
            conflicts: outcome.conflicts,
            done: outcome.done,
        };
        self.listener.event(warp.last_issue, &event);
    }
}

/// Whether several lanes have the same address.
pub(super) fn has_equal_addresses(addresses: &[u64], taken: Mask) -> bool {
    let lanes = || lanes_of(taken);
    lanes().any(|lane| lanes().any(|other| other < lane && addresses[other] == addresses[lane]))
}
