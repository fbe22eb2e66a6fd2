//! Statistics of a timed simulation: counts of its events, in memory independent of the length of the simulation.

use std::collections::BTreeMap;

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_report::timed::waves::{RefusedSplits, ScalarMemoryCount};
use warpbound_report::timed::{Misses, OccupancyReport, SmReport, TheoreticalOccupancy};
use warpbound_simulate::timed::{
    AccessKind, Event, EventListener, HitLevel, SplitRefusal, StallCycles, WarpPlace,
};

use super::tables::ratio;

/// Counts of a timed simulation.
pub(crate) struct CycleStatistics {
    /// Cycles before the issues of each operation, by stall reason; indexed by operation.
    pub(crate) stall_cycles: Vec<StallCycles>,
    /// Shared-memory traffic by kind of access.
    pub(crate) shared: [SharedTraffic; 3],
    /// Traffic of global and local memory, by kind of access.
    pub(crate) memory: [[Traffic; 3]; 2],
    pub(crate) constant_misses: Misses,
    pub(crate) fetch_misses: Misses,
    /// Accesses of waves to scalar memory.
    pub(crate) scalar: ScalarMemoryCount,
    /// Splits by branch.
    pub(crate) splits: BTreeMap<OpIndex, SplitTally>,
    /// Branch of the split in each reserve slot, by compute unit and slot.
    branches: BTreeMap<(u32, u32), OpIndex>,
    /// Number of live splits of each launch wave, by block and warp; a wave without splits is absent.
    live_splits: BTreeMap<(u64, u32), u64>,
    /// Maximum number of live splits of a launch wave.
    pub(crate) most_splits: u64,
    sms: Vec<Sm>,
}

/// Splits at a branch, and their merges.
#[derive(Clone, Copy, Default)]
pub(crate) struct SplitTally {
    pub(crate) taken: u64,
    pub(crate) refused: RefusedSplits,
    pub(crate) merges: u64,
}

/// Traffic of shared memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct SharedTraffic {
    pub(crate) accesses: u64,
    pub(crate) transactions: u64,
    pub(crate) conflicts: u64,
}

/// Traffic of global or local memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) accesses: u64,
    pub(crate) requests: u64,
    pub(crate) sectors: u64,
    pub(crate) l1_lookups: u64,
    pub(crate) l1_hits: u64,
    pub(crate) l2_lookups: u64,
    pub(crate) l2_hits: u64,
    pub(crate) dram: u64,
    pub(crate) tlb_misses: u64,
}

/// Counts of an SM.
#[derive(Clone, Copy, Default)]
struct Sm {
    /// Blocks started.
    blocks: u64,
    /// Resident blocks.
    resident_blocks: u64,
    /// Resident warps; a wave counts once, with or without splits.
    warps: u64,
    /// Resident splits, without the launch waves.
    splits: u64,
    issued: u64,
    /// Cycles with resident blocks, until `now`.
    active: u64,
    /// Resident warps, summed over these cycles.
    warp_cycles: u64,
    /// Resident splits, summed over these cycles.
    split_cycles: u64,
    now: u64,
}

impl Sm {
    /// Adds the cycles since the last change of the resident blocks or warps.
    fn advance(&mut self, cycle: u64) {
        // The state was constant since the last event that changed it, so its sum over these cycles is a product.
        let passed = cycle.saturating_sub(self.now);
        if self.resident_blocks > 0 {
            self.active += passed;
            self.warp_cycles += passed * self.warps;
            self.split_cycles += passed * self.splits;
        }
        self.now = self.now.max(cycle);
    }
}

impl CycleStatistics {
    /// Creates the empty counts of a kernel.
    pub(crate) fn new(operations: usize) -> CycleStatistics {
        CycleStatistics {
            stall_cycles: vec![StallCycles::default(); operations],
            shared: Default::default(),
            memory: Default::default(),
            constant_misses: Misses::default(),
            fetch_misses: Misses::default(),
            scalar: ScalarMemoryCount::default(),
            splits: BTreeMap::new(),
            branches: BTreeMap::new(),
            live_splits: BTreeMap::new(),
            most_splits: 0,
            sms: Vec::new(),
        }
    }

    /// Returns the counts of an SM.
    #[inline(always)]
    fn sm(&mut self, sm: u32) -> &mut Sm {
        // The number of SMs is not stated, so the list grows with their first events.
        let index = sm as usize;
        if index >= self.sms.len() {
            self.sms.resize(index + 1, Sm::default());
        }
        &mut self.sms[index]
    }

    fn issue(&mut self, sm: u32, at: OpIndex, waited: &StallCycles) {
        self.sm(sm).issued += 1;
        if let Some(sums) = self.stall_cycles.get_mut(at.index()) {
            for (sum, cycles) in sums.iter_mut().zip(waited) {
                *sum += cycles;
            }
        }
    }

    /// Adds a split of a launch wave to its compute unit.
    fn split(&mut self, cycle: u64, child: &WarpPlace) {
        let sm = self.sm(child.sm);
        sm.advance(cycle);
        sm.splits += 1;
        let live = self
            .live_splits
            .entry((child.block, child.warp))
            .or_default();
        *live += 1;
        self.most_splits = self.most_splits.max(*live);
    }

    /// Counts a split, a split that did not take place, or a merge.
    fn count_split(&mut self, cycle: u64, event: &Event) {
        match event {
            Event::Split { child, at, .. } => {
                self.split(cycle, child);
                // A merge does not name the branch, so the slot of the split keeps it.
                self.branches.insert((child.sm, child.slot), *at);
                self.splits.entry(*at).or_default().taken += 1;
            }
            Event::SplitRefused { at, reason, .. } => {
                let refused = &mut self.splits.entry(*at).or_default().refused;
                match reason {
                    SplitRefusal::NoSlot => refused.no_slot += 1,
                    SplitRefusal::NoRegisters => refused.no_registers += 1,
                }
            }
            Event::Merge { from, at, .. } => {
                self.end_warp(cycle, from);
                let branch = self.branches.get(&(from.sm, from.slot));
                // A merge ends a split of that slot, so the branch is known; otherwise it counts where it takes
                // place.
                let branch = branch.copied().unwrap_or(*at);
                self.splits.entry(branch).or_default().merges += 1;
            }
            _ => {}
        }
    }

    /// Removes a warp, or one split of its launch wave if it has any.
    fn end_warp(&mut self, cycle: u64, warp: &WarpPlace) {
        let wave = (warp.block, warp.warp);
        // It does not matter which part of a wave ends: the last one stands for the launch wave.
        let is_split = match self.live_splits.get_mut(&wave) {
            None => false,
            Some(1) => self.live_splits.remove(&wave).is_some(),
            Some(live) => {
                *live -= 1;
                true
            }
        };
        let sm = self.sm(warp.sm);
        sm.advance(cycle);
        match is_split {
            true => sm.splits = sm.splits.saturating_sub(1),
            false => sm.warps = sm.warps.saturating_sub(1),
        }
    }

    /// Returns the cycles during which SMs held blocks, summed over all SMs.
    pub(crate) fn active_cycles(&self) -> u64 {
        self.sms.iter().map(|sm| sm.active).sum()
    }

    /// Returns the average number of resident splits, without launch waves, over cycles with resident blocks.
    pub(crate) fn resident_splits(&self) -> f64 {
        let splits = self.sms.iter().map(|sm| sm.split_cycles).sum();
        ratio(splits, self.active_cycles())
    }

    /// Returns the warp instructions per cycle of an SM, over cycles with resident blocks.
    pub(crate) fn ipc_active(&self) -> f64 {
        let sum = |of: fn(&Sm) -> u64| self.sms.iter().map(of).sum();
        ratio(sum(|sm| sm.issued), sum(|sm| sm.active))
    }

    /// Returns the achieved occupancy over cycles with resident blocks; `most` is the maximum number of warps per SM.
    pub(crate) fn occupancy(
        &self,
        most: u64,
        theoretical: TheoreticalOccupancy,
    ) -> OccupancyReport {
        let sum = |of: fn(&Sm) -> u64| self.sms.iter().map(of).sum();
        let resident = ratio(sum(|sm| sm.warp_cycles), sum(|sm| sm.active));
        OccupancyReport {
            most_warps: most,
            resident_warps: resident,
            achieved: resident / most.max(1) as f64,
            theoretical,
        }
    }

    /// Returns the SMs that executed blocks.
    pub(crate) fn sms(&self) -> Vec<SmReport> {
        let had = (0..).zip(&self.sms).filter(|(_, sm)| sm.blocks > 0);
        had.map(|(number, sm)| SmReport {
            sm: number,
            blocks: sm.blocks,
            active_cycles: sm.active,
            warp_instructions: sm.issued,
            ipc: ratio(sm.issued, sm.active),
            resident_warps: ratio(sm.warp_cycles, sm.active),
        })
        .collect()
    }
}

impl EventListener for CycleStatistics {
    const INLINED: bool = true;

    #[inline]
    fn event(&mut self, cycle: u64, event: &Event) {
        match event {
            Event::Issue {
                warp, at, waited, ..
            } => self.issue(warp.sm, *at, waited),
            Event::Shared {
                access: kind,
                transactions,
                conflicts,
                ..
            } => {
                let sum = &mut self.shared[kind_index(*kind)];
                sum.accesses += 1;
                sum.transactions += u64::from(*transactions);
                sum.conflicts += u64::from(*conflicts);
            }
            Event::Memory {
                space,
                access: kind,
                requests,
                sectors,
                l1_hits,
                l1_lookups,
                l2_hits,
                l2_lookups,
                dram_sectors: dram,
                tlb_misses,
                ..
            } => {
                let space = usize::from(*space == MemorySpace::Local);
                let sum = &mut self.memory[space][kind_index(*kind)];
                sum.accesses += 1;
                for (sum, count) in [
                    (&mut sum.requests, requests),
                    (&mut sum.sectors, sectors),
                    (&mut sum.l1_hits, l1_hits),
                    (&mut sum.l1_lookups, l1_lookups),
                    (&mut sum.l2_hits, l2_hits),
                    (&mut sum.l2_lookups, l2_lookups),
                    (&mut sum.dram, dram),
                    (&mut sum.tlb_misses, tlb_misses),
                ] {
                    *sum += u64::from(*count);
                }
            }
            Event::ConstantMiss { found, .. } => count_miss(&mut self.constant_misses, *found),
            Event::FetchMiss { found, .. } => count_miss(&mut self.fetch_misses, *found),
            Event::BlockBegins { sm, warps, .. } => {
                let sm = self.sm(*sm);
                sm.advance(cycle);
                sm.blocks += 1;
                sm.resident_blocks += 1;
                sm.warps += u64::from(*warps);
            }
            Event::Scalar {
                lines,
                hits,
                l2_hits,
                ..
            } => {
                self.scalar.accesses += 1;
                self.scalar.lines += u64::from(*lines);
                self.scalar.hits += u64::from(*hits);
                self.scalar.l2_hits += u64::from(*l2_hits);
            }
            Event::Split { .. } | Event::SplitRefused { .. } | Event::Merge { .. } => {
                self.count_split(cycle, event);
            }
            Event::WarpEnds { warp } => self.end_warp(cycle, warp),
            Event::BlockEnds { sm, .. } => {
                let sm = self.sm(*sm);
                sm.advance(cycle);
                sm.resident_blocks = sm.resident_blocks.saturating_sub(1);
            }
            Event::Launched | Event::BarrierOpens { .. } | Event::Done => {}
        }
    }
}

/// Returns the index of a kind of access.
fn kind_index(kind: AccessKind) -> usize {
    match kind {
        AccessKind::Load => 0,
        AccessKind::Store => 1,
        AccessKind::Atomic => 2,
    }
}

/// Counts a miss by the level that served it.
fn count_miss(misses: &mut Misses, found: HitLevel) {
    match found {
        // A hit in the first level is not a miss.
        HitLevel::First => {}
        HitLevel::Second => misses.second += 1,
        HitLevel::L2 => misses.l2 += 1,
        HitLevel::Dram => misses.dram += 1,
    }
}
