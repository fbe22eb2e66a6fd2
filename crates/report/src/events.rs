//! Events of a timed simulation as JSON lines: one object per event, with `cycle` and `event` as the first keys.

use serde::Serialize;

use crate::timed::StallCounts;

/// Line of the event file.
#[derive(Clone, Debug, Serialize)]
pub struct EventLine<'a> {
    /// Cycle of the event.
    pub cycle: u64,
    /// Event.
    #[serde(flatten)]
    pub event: EventRecord<'a>,
}

/// Event with its details. The variant's name in snake case is the value of `event`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventRecord<'a> {
    /// The kernel is launched.
    Launched,
    /// A block starts on an SM.
    BlockBegins {
        /// The SM.
        sm: u32,
        /// Linear index of the block in the grid.
        block: u64,
        /// Block index in x, y, z.
        index: [u32; 3],
        /// Warps of the block.
        warps: u32,
    },
    /// A warp issues an instruction.
    Issue {
        /// The warp.
        #[serde(flatten)]
        warp: EventWarp,
        /// Address of the instruction.
        address: &'a str,
        /// Disassembly of the instruction.
        text: &'a str,
        /// Mask of the active lanes.
        active: String,
        /// Mask of the active lanes in which the guard holds.
        taken: String,
        /// Cycles since the previous issue of the warp, or since the start of its block, by stall reason.
        #[serde(rename = "waited")]
        stalls: StallCounts,
    },
    /// The last issued instruction of the warp accesses shared memory.
    Shared {
        /// The warp.
        #[serde(flatten)]
        warp: EventWarp,
        /// Address of the instruction.
        address: &'a str,
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Transactions.
        transactions: u32,
        /// Transactions caused by bank conflicts.
        conflicts: u32,
        /// Cycle in which the access completes.
        done: u64,
    },
    /// The last issued instruction of the warp accesses global or local memory.
    Memory {
        /// The warp.
        #[serde(flatten)]
        warp: EventWarp,
        /// Address of the instruction.
        address: &'a str,
        /// `global` or `local`.
        space: &'static str,
        /// `load`, `store` or `atomic`.
        access: &'static str,
        /// Requests to the L1 cache.
        requests: u32,
        /// Sectors requested; with `l1.merge`, a sector counts once.
        sectors: u32,
        /// Sector lookups in the L1 cache.
        l1_lookups: u32,
        /// Sector lookups that hit.
        l1_hits: u32,
        /// Sector lookups in the L2 cache.
        l2_lookups: u32,
        /// Sector lookups that hit.
        l2_hits: u32,
        /// Sectors transferred to or from DRAM.
        dram_sectors: u32,
        /// Misses of the first-level TLB.
        tlb_misses: u32,
        /// Cycle in which the access completes.
        done: u64,
    },
    /// An access misses the first-level constant cache.
    ConstantMiss {
        /// The SM.
        sm: u32,
        /// The bank.
        bank: u8,
        /// The byte in the bank.
        offset: u32,
        /// Level that served the miss: `second`, `l2` or `dram`.
        found: &'static str,
    },
    /// A fetch misses the first-level instruction cache.
    FetchMiss {
        /// The SM.
        sm: u32,
        /// Address of the instruction.
        address: &'a str,
        /// Level that served the miss: `second`, `l2` or `dram`.
        found: &'static str,
    },
    /// A barrier releases the warps that wait at it.
    BarrierOpens {
        /// The SM.
        sm: u32,
        /// The block.
        block: u64,
        /// Number of warps released.
        warps: u32,
    },
    /// A warp ends.
    WarpEnds {
        /// The warp.
        #[serde(flatten)]
        warp: EventWarp,
    },
    /// All warps of a block have ended.
    BlockEnds {
        /// The SM.
        sm: u32,
        /// Linear index of the block in the grid.
        block: u64,
        /// Block index in x, y, z.
        index: [u32; 3],
    },
    /// The kernel ends.
    Done,
}

/// Warp resident on an SM.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EventWarp {
    /// The SM.
    pub sm: u32,
    /// Scheduler of the warp.
    pub scheduler: u32,
    /// Warp slot of the SM.
    pub slot: u32,
    /// Linear index of its block in the grid.
    pub block: u64,
    /// Number of the warp in its block.
    pub warp: u32,
}
