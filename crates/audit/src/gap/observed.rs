//! Observations of the worst run: the instructions that it issued, and what its accesses and fetches found in caches.
//!
//! The record joins all executions of an access. For example, a load that misses the L2 cache in one of 100
//! executions has one miss, and the chain then allows each execution to miss.

use std::collections::BTreeMap;

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_simulate::timed::{Event, EventListener, HitLevel};

/// Path through the memory system, named after the memory at its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum MemoryPath {
    Shared,
    Local,
    Global,
}

impl MemoryPath {
    /// Returns the path of accesses to a memory space.
    pub(super) fn of(space: MemorySpace) -> MemoryPath {
        match space {
            MemorySpace::Shared => MemoryPath::Shared,
            MemorySpace::Local => MemoryPath::Local,
            _ => MemoryPath::Global,
        }
    }
}

/// Outcome of all executions of an access in one memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenAccess {
    /// Whether a sector hit the L1 cache.
    pub(super) hits_l1: bool,
    /// Sectors that missed the L2 cache.
    pub(super) l2_misses: u64,
    /// Whether DRAM transferred a sector.
    pub(super) reaches_dram: bool,
    /// Misses of the first-level TLB.
    pub(super) tlb_misses: u64,
}

/// Listener that records a run.
#[derive(Clone, Debug)]
pub(super) struct RunRecord {
    /// Number of issues of each instruction.
    pub(super) issued: Vec<u64>,
    pub(super) accesses: BTreeMap<(OpIndex, MemoryPath), SeenAccess>,
    /// Whether a line of code or constants came from DRAM.
    pub(super) lines_from_dram: bool,
}

impl RunRecord {
    /// Creates the record of a kernel with this number of instructions.
    pub(super) fn new(instructions: usize) -> RunRecord {
        RunRecord {
            issued: vec![0; instructions],
            accesses: BTreeMap::new(),
            lines_from_dram: false,
        }
    }
}

impl EventListener for RunRecord {
    fn event(&mut self, _cycle: u64, event: &Event) {
        match *event {
            Event::Issue { at, .. } => {
                if let Some(count) = self.issued.get_mut(at.index()) {
                    *count += 1;
                }
            }
            Event::Shared { at, .. } => {
                // Shared memory has no caches, so the entry only says that the access took place.
                self.accesses.entry((at, MemoryPath::Shared)).or_default();
            }
            Event::Memory {
                at,
                space,
                l1_hits,
                l2_lookups,
                l2_hits,
                dram_sectors,
                tlb_misses,
                ..
            } => {
                let seen = self
                    .accesses
                    .entry((at, MemoryPath::of(space)))
                    .or_default();
                seen.hits_l1 |= l1_hits > 0;
                seen.l2_misses += u64::from(l2_lookups.saturating_sub(l2_hits));
                seen.reaches_dram |= dram_sectors > 0;
                seen.tlb_misses += u64::from(tlb_misses);
            }
            Event::FetchMiss { found, .. } | Event::ConstantMiss { found, .. } => {
                self.lines_from_dram |= found == HitLevel::Dram;
            }
            _ => {}
        }
    }
}
