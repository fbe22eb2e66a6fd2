//! Events: all that comes out of the timing model.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;

use crate::functional::{AccessKind};

use warpbound_launch::{Size};

/// Hears of everything that happens. Events of one SM come in the order of their cycles.
pub trait EventListener {
    /// Something happens at a cycle.
    fn event(&mut self, cycle: u64, event: &Event);
}

/// Nobody listens.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl EventListener for Silent {
    #[inline(always)]
    fn event(&mut self, _cycle: u64, _event: &Event) {}
}

impl<A: EventListener, B: EventListener> EventListener for (A, B) {
    #[inline(always)]
    fn event(&mut self, cycle: u64, event: &Event) {
        self.0.event(cycle, event);
        self.1.event(cycle, event);
    }
}

impl<L: EventListener> EventListener for Option<L> {
    #[inline(always)]
    fn event(&mut self, cycle: u64, event: &Event) {
        if let Some(listener) = self {
            listener.event(cycle, event);
        }
    }
}

impl<L: EventListener> EventListener for &mut L {
    #[inline(always)]
    fn event(&mut self, cycle: u64, event: &Event) {
        (**self).event(cycle, event);
    }
}

/// A warp on its SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpPlace {
    /// The SM.
    pub sm: u32,
    /// The scheduler whose sub-partition it is on.
    pub scheduler: u32,
    /// Which of the warps that its SM holds.
    pub slot: u32,
    /// Its block: how many blocks of the grid are before it.
    pub block: u64,
    /// Its number in its block.
    pub warp: u32,
}

/// Why a warp did not issue in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stall {
    /// It did: the cycle of the issue before.
    Issue,
    /// The control word keeps it, or it waits for a result that is not from memory.
    Dependency,
    /// It waits for a scoreboard that a memory access holds, or for a constant.
    Memory,
    /// It waits at a barrier or for a fence.
    Barrier,
    /// The unit that it needs is busy.
    Unit,
    /// Its instruction is not there yet.
    Fetch,
    /// The scheduler took another warp.
    Selection,
}

impl Stall {
    /// All of them.
    pub const ALL: [Stall; 7] = [
        Stall::Issue,
        Stall::Dependency,
        Stall::Memory,
        Stall::Barrier,
        Stall::Unit,
        Stall::Fetch,
        Stall::Selection,
    ];

    /// As people read it.
    pub fn name(self) -> &'static str {
        match self {
            Stall::Issue => "issue",
            Stall::Dependency => "dependency",
            Stall::Memory => "memory",
            Stall::Barrier => "barrier",
            Stall::Unit => "unit busy",
            Stall::Fetch => "instruction fetch",
            Stall::Selection => "not selected",
        }
    }
}

/// The cycles between two issues of a warp, by reason, in the order of [`Stall::ALL`].
pub type StallCycles = [u64; 7];

/// Where a constant or an instruction was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HitLevel {
    /// The first cache.
    First,
    /// The second cache of the SM.
    Second,
    /// The second-level cache of the GPU.
    L2,
    /// Memory.
    Dram,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The kernel is launched.
    Launched,
    /// A block begins.
    BlockBegins {
        /// Where.
        sm: u32,
        /// How many blocks of the grid are before it.
        number: u64,
        /// Its place in the grid.
        block: Size,
        /// Its warps.
        warps: u32,
    },
    /// A warp issues an instruction.
    Issue {
        /// The warp.
        warp: WarpPlace,
        /// The instruction.
        at: OpIndex,
        /// The active lanes.
        active: u32,
        /// Those of them in which the condition holds.
        taken: u32,
        /// What the cycles since its issue before, or since its begin, went into.
        waited: StallCycles,
    },
    /// The instruction that was issued last accesses shared memory.
    Shared {
        /// The warp.
        warp: WarpPlace,
        /// The instruction.
        at: OpIndex,
        /// What it does.
        kind: AccessKind,
        /// Transactions (`pastis-2022`, III.B).
        transactions: u32,
        /// Those of them that are there for conflicts.
        conflicts: u32,
        /// When the result is there.
        done: u64,
    },
    /// The instruction that was issued last accesses global or local memory.
    Global {
        /// The warp.
        warp: WarpPlace,
        /// The instruction.
        at: OpIndex,
        /// Global or local.
        space: MemorySpace,
        /// What it does.
        kind: AccessKind,
        /// Requests to the first level.
        requests: u32,
        /// Sectors that they ask for: with `l1.merge` each once.
        sectors: u32,
        /// Sectors found in the first level; of loads that may be there.
        l1_hits: u32,
        /// Sectors looked for in the first level.
        l1_lookups: u32,
        /// Sectors found in the second level.
        l2_hits: u32,
        /// Sectors looked for in the second level.
        l2_lookups: u32,
        /// Sectors that came from memory or went there.
        dram: u32,
        /// Translations that the first buffer did not have.
        tlb_misses: u32,
        /// When the result is there.
        done: u64,
    },
    /// A constant was not in the first cache.
    ConstantMiss {
        /// The SM.
        sm: u32,
        /// Bank.
        bank: u8,
        /// Byte offset.
        offset: u32,
        /// Where it was.
        found: HitLevel,
    },
    /// An instruction was not in the first cache.
    FetchMiss {
        /// The SM.
        sm: u32,
        /// The instruction.
        at: OpIndex,
        /// Where it was.
        found: HitLevel,
    },
    /// The warps that wait at a barrier of a block go on.
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
        warp: WarpPlace,
    },
    /// All warps of a block have come to their end.
    BlockEnds {
        /// Where.
        sm: u32,
        /// How many blocks of the grid are before it.
        number: u64,
        /// Its place in the grid.
        block: Size,
    },
    /// The kernel is done.
    Done,
}
