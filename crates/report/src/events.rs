//! What happens in a run with time, as JSON lines: an object for each event, `cycle` and `event` first.

use serde::Serialize;

use crate::timed::Waited;

/// A line.
#[derive(Clone, Debug, Serialize)]
pub struct EventLine<'a> {
    /// When it happens.
    pub cycle: u64,
    /// What happens.
    #[serde(flatten)]
    pub event: Happening<'a>,
}

/// What happens; its name in small letters and `_` is the value of `event`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening<'a> {
    /// The kernel is launched.
    Launched,
    /// A block begins.
    BlockBegins {
        /// The SM.
        sm: u32,
        /// How many blocks of the grid are before it.
        block: u64,
        /// Its place in the grid.
        index: [u32; 3],
        /// Its warps.
        warps: u32,
    },
    /// A warp issues an instruction.
    Issue {
        /// The warp.
        #[serde(flatten)]
        warp: EventWarp,
        /// Address of the instruction.
        address: &'a str,
        /// The instruction.
        text: &'a str,
        /// The active lanes, as bits.
        active: String,
        /// Those of them in which the condition holds.
        taken: String,
        /// What the cycles since its issue before, or since its begin, went into.
        waited: Waited,
    },
    /// The instruction that the warp issued last accesses shared memory.
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
        /// Those of them that are there for conflicts.
        conflicts: u32,
        /// The cycle in which the result is there.
        done: u64,
    },
    /// The instruction that the warp issued last accesses global or local memory.
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
        /// Requests to the first level.
        requests: u32,
        /// Sectors that they ask for: with `l1.merge` each once.
        sectors: u32,
        /// Sectors looked for in the first level.
        l1_lookups: u32,
        /// Sectors found there.
        l1_hits: u32,
        /// Sectors looked for in the second level.
        l2_lookups: u32,
        /// Sectors found there.
        l2_hits: u32,
        /// Sectors that came from memory or went there.
        dram_sectors: u32,
        /// Translations that the first buffer did not have.
        tlb_misses: u32,
        /// The cycle in which the result is there.
        done: u64,
    },
    /// A constant was not in the first cache.
    ConstantMiss {
        /// The SM.
        sm: u32,
        /// The bank.
        bank: u8,
        /// The byte in the bank.
        offset: u32,
        /// Where it was: `second`, `l2` or `dram`.
        found: &'static str,
    },
    /// An instruction was not in the first cache.
    FetchMiss {
        /// The SM.
        sm: u32,
        /// Address of the instruction.
        address: &'a str,
        /// Where it was: `second`, `l2` or `dram`.
        found: &'static str,
    },
    /// The warps that wait at a barrier go on.
    BarrierOpens {
        /// The SM.
        sm: u32,
        /// The block.
        block: u64,
        /// How many warps waited.
        warps: u32,
    },
    /// A warp comes to its end.
    WarpEnds {
        /// The warp.
        #[serde(flatten)]
        warp: EventWarp,
    },
    /// All warps of a block have come to their end.
    BlockEnds {
        /// The SM.
        sm: u32,
        /// How many blocks of the grid are before it.
        block: u64,
        /// Its place in the grid.
        index: [u32; 3],
    },
    /// The kernel is done.
    Done,
}

/// A warp on its SM.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EventWarp {
    /// The SM.
    pub sm: u32,
    /// Its scheduler.
    pub scheduler: u32,
    /// Its place among the warps that the SM holds.
    pub slot: u32,
    /// Its block: how many blocks of the grid are before it.
    pub block: u64,
    /// Its number in its block.
    pub warp: u32,
}
