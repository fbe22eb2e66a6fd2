//! Counts the events of a run; its size does not depend on how long the run is.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_report::timed::{Misses, OccupancyReport, SmReport, Theoretical};
use warpbound_simulate::timed::{AccessKind, Event, HitLevel, EventListener, StallCycles};

use super::tables::ratio;

/// Counts of a run.
pub(super) struct Statistics {
    /// For each operation, the cycles until its issues.
    pub(super) waited: Vec<StallCycles>,
    /// By kind of access.
    pub(super) shared: [Shared; 3],
    /// Global and local memory, by kind of access.
    pub(super) memory: [[Traffic; 3]; 2],
    pub(super) constant_misses: Misses,
    pub(super) fetch_misses: Misses,
    sms: Vec<Sm>,
}

/// Accesses to shared memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Shared {
    pub(super) accesses: u64,
    pub(super) transactions: u64,
    pub(super) conflicts: u64,
}

/// Accesses to global or local memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Traffic {
    pub(super) accesses: u64,
    pub(super) requests: u64,
    pub(super) sectors: u64,
    pub(super) l1_lookups: u64,
    pub(super) l1_hits: u64,
    pub(super) l2_lookups: u64,
    pub(super) l2_hits: u64,
    pub(super) dram: u64,
    pub(super) tlb_misses: u64,
}

/// An SM so far.
#[derive(Clone, Copy, Default)]
struct Sm {
    /// Blocks that began.
    blocks: u64,
    /// Blocks that it holds.
    held: u64,
    /// Warps that it holds.
    warps: u64,
    issued: u64,
    /// Cycles with blocks, until `now`.
    active: u64,
    /// The warps of these cycles added up.
    warp_cycles: u64,
    now: u64,
}

impl Sm {
    /// Counts the cycles since the last change of what it holds.
    fn advance(&mut self, cycle: u64) {
        let passed = cycle.saturating_sub(self.now);
        if self.held > 0 {
            self.active += passed;
            self.warp_cycles += passed * self.warps;
        }
        self.now = self.now.max(cycle);
    }
}

impl Statistics {
    /// Nothing has happened to so many operations.
    pub(super) fn new(operations: usize) -> Statistics {
        Statistics {
            waited: vec![StallCycles::default(); operations],
            shared: Default::default(),
            memory: Default::default(),
            constant_misses: Misses::default(),
            fetch_misses: Misses::default(),
            sms: Vec::new(),
        }
    }

    /// What is counted of an SM, when its number is not absurd.
    #[inline(always)]
    fn sm(&mut self, sm: u32) -> &mut Sm {
        let index = sm as usize;
        if index >= self.sms.len() {
            self.sms.resize(index + 1, Sm::default());
        }
        &mut self.sms[index]
    }

    fn issue(&mut self, sm: u32, at: OpIndex, waited: &StallCycles) {
        self.sm(sm).issued += 1;
        if let Some(sums) = self.waited.get_mut(at.index()) {
            for (sum, cycles) in sums.iter_mut().zip(waited) {
                *sum += cycles;
            }
        }
    }

    /// Warp instructions in a cycle of an SM while it held blocks.
    pub(super) fn ipc_active(&self) -> f64 {
        let sum = |of: fn(&Sm) -> u64| self.sms.iter().map(of).sum();
        ratio(sum(|sm| sm.issued), sum(|sm| sm.active))
    }

    /// How many warps of at most so many an SM held while it held blocks.
    pub(super) fn occupancy(&self, most: u64, theoretical: Theoretical) -> OccupancyReport {
        let sum = |of: fn(&Sm) -> u64| self.sms.iter().map(of).sum();
        let resident = ratio(sum(|sm| sm.warp_cycles), sum(|sm| sm.active));
        OccupancyReport {
            most_warps: most,
            resident_warps: resident,
            achieved: resident / most.max(1) as f64,
            theoretical,
        }
    }

    /// The SMs that had blocks.
    pub(super) fn sms(&self) -> Vec<SmReport> {
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

impl EventListener for Statistics {
    #[inline]
    fn event(&mut self, cycle: u64, event: &Event) {
        match event {
            Event::Issue {
                warp, at, waited, ..
            } => self.issue(warp.sm, *at, waited),
            Event::Shared {
                kind,
                transactions,
                conflicts,
                ..
            } => {
                let sum = &mut self.shared[place(*kind)];
                sum.accesses += 1;
                sum.transactions += u64::from(*transactions);
                sum.conflicts += u64::from(*conflicts);
            }
            Event::Global {
                space,
                kind,
                requests,
                sectors,
                l1_hits,
                l1_lookups,
                l2_hits,
                l2_lookups,
                dram,
                tlb_misses,
                ..
            } => {
                let space = usize::from(*space == MemorySpace::Local);
                let sum = &mut self.memory[space][place(*kind)];
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
            Event::ConstantMiss { found, .. } => miss(&mut self.constant_misses, *found),
            Event::FetchMiss { found, .. } => miss(&mut self.fetch_misses, *found),
            Event::BlockBegins { sm, warps, .. } => {
                let sm = self.sm(*sm);
                sm.advance(cycle);
                sm.blocks += 1;
                sm.held += 1;
                sm.warps += u64::from(*warps);
            }
            Event::WarpEnds { warp } => {
                let sm = self.sm(warp.sm);
                sm.advance(cycle);
                sm.warps = sm.warps.saturating_sub(1);
            }
            Event::BlockEnds { sm, .. } => {
                let sm = self.sm(*sm);
                sm.advance(cycle);
                sm.held = sm.held.saturating_sub(1);
            }
            Event::Launched | Event::BarrierOpens { .. } | Event::Done => {}
        }
    }
}

/// Where a kind of access is counted.
fn place(kind: AccessKind) -> usize {
    match kind {
        AccessKind::Load => 0,
        AccessKind::Store => 1,
        AccessKind::Atomic => 2,
    }
}

fn miss(misses: &mut Misses, found: HitLevel) {
    match found {
        // That would be no miss.
        HitLevel::First => {}
        HitLevel::Second => misses.second += 1,
        HitLevel::L2 => misses.l2 += 1,
        HitLevel::Dram => misses.dram += 1,
    }
}
