//! Events: the only output of the timing model.
//!
//! Statistics, timelines, event files, the accounting of cycles and the check of the issue rules are listeners. An
//! event serialises as the event file has it: its kind in `event`, then its fields. The instruction of an event is
//! not among the fields, as events have only its index; see [`Event::instruction`].

use serde::{Serialize, Serializer};
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::Size;
use warpbound_simt::Mask;

use super::outcome::Outcome;
use crate::functional::AccessKind;

/// Listener to the events of a run. The events of one SM come in the order of their cycles.
pub trait EventListener {
    /// Whether the simulator records outcomes for this listener.
    const RECORDS: bool = false;

    /// Whether the simulator is compiled for this listener, with its methods inlined. A listener without it shares a
    /// compiled simulator with others, because each copy takes seconds to compile.
    const INLINED: bool = false;

    /// Receives an event and its cycle.
    fn event(&mut self, cycle: u64, event: &Event);

    /// Receives an outcome, if [`EventListener::RECORDS`] is set, or another listener of the run sets it. The outcomes
    /// of a cycle of an SM come after its events.
    #[inline(always)]
    fn outcome(&mut self, _outcome: &Outcome) {}
}

/// Listener that ignores all events.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl EventListener for Silent {
    const INLINED: bool = true;

    #[inline(always)]
    fn event(&mut self, _cycle: u64, _event: &Event) {}
}

impl<A: EventListener, B: EventListener> EventListener for (A, B) {
    const RECORDS: bool = A::RECORDS || B::RECORDS;
    const INLINED: bool = A::INLINED && B::INLINED;

    #[inline(always)]
    fn event(&mut self, cycle: u64, event: &Event) {
        self.0.event(cycle, event);
        self.1.event(cycle, event);
    }

    #[inline(always)]
    fn outcome(&mut self, outcome: &Outcome) {
        self.0.outcome(outcome);
        self.1.outcome(outcome);
    }
}

impl<L: EventListener> EventListener for Option<L> {
    const RECORDS: bool = L::RECORDS;
    const INLINED: bool = L::INLINED;

    #[inline(always)]
    fn event(&mut self, cycle: u64, event: &Event) {
        if let Some(listener) = self {
            listener.event(cycle, event);
        }
    }

    #[inline(always)]
    fn outcome(&mut self, outcome: &Outcome) {
        if let Some(listener) = self {
            listener.outcome(outcome);
        }
    }
}

impl<L: EventListener> EventListener for &mut L {
    const RECORDS: bool = L::RECORDS;
    const INLINED: bool = L::INLINED;

    #[inline(always)]
    fn event(&mut self, cycle: u64, event: &Event) {
        (**self).event(cycle, event);
    }

    #[inline(always)]
    fn outcome(&mut self, outcome: &Outcome) {
        (**self).outcome(outcome);
    }
}

/// Methods of a listener in a table.
trait ListenerMethods {
    /// See [`EventListener::event`].
    fn receive_event(&mut self, cycle: u64, event: &Event);

    /// See [`EventListener::outcome`].
    fn receive_outcome(&mut self, outcome: &Outcome);
}

impl<L: EventListener> ListenerMethods for L {
    fn receive_event(&mut self, cycle: u64, event: &Event) {
        self.event(cycle, event);
    }

    fn receive_outcome(&mut self, outcome: &Outcome) {
        self.outcome(outcome);
    }
}

/// Listener whose methods are called by a table; see [`EventListener::INLINED`].
pub(super) struct SharedListener<'a, const RECORDS: bool>(&'a mut dyn ListenerMethods);

impl<'a, const RECORDS: bool> SharedListener<'a, RECORDS> {
    pub(super) fn new(listener: &'a mut impl EventListener) -> SharedListener<'a, RECORDS> {
        SharedListener(listener)
    }
}

impl<const RECORDS: bool> EventListener for SharedListener<'_, RECORDS> {
    const RECORDS: bool = RECORDS;

    #[inline(always)]
    fn event(&mut self, cycle: u64, event: &Event) {
        self.0.receive_event(cycle, event);
    }

    #[inline(always)]
    fn outcome(&mut self, outcome: &Outcome) {
        if RECORDS {
            self.0.receive_outcome(outcome);
        }
    }
}

/// Location of a warp. A wave of AMD's GPUs is one too: its compute unit is the SM, its SIMD the scheduler. Splits of a
/// wave differ in the slot only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct WarpPlace {
    /// SM.
    pub sm: u32,
    /// Scheduler, which is also the sub-partition.
    pub scheduler: u32,
    /// Warp slot of the SM.
    pub slot: u32,
    /// Linear index of its block in the grid.
    pub block: u64,
    /// Number of the warp in its block.
    pub warp: u32,
}

/// Reason why a warp did not issue in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stall {
    /// None: the cycle of the previous issue.
    Issue,
    /// The distance of the control word, or a result that is not from memory.
    Dependency,
    /// A scoreboard that a memory access holds, or a constant.
    Memory,
    /// A barrier or a fence.
    Barrier,
    /// A busy unit.
    Unit,
    /// An instruction that has not been fetched yet.
    Fetch,
    /// The scheduler selected another warp.
    Selection,
}

impl Stall {
    /// All reasons.
    pub const ALL: [Stall; 7] = [
        Stall::Issue,
        Stall::Dependency,
        Stall::Memory,
        Stall::Barrier,
        Stall::Unit,
        Stall::Fetch,
        Stall::Selection,
    ];

    /// Name in texts.
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

    /// Key in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Stall::Unit => "unit_busy",
            Stall::Fetch => "instruction_fetch",
            Stall::Selection => "not_selected",
            other => other.name(),
        }
    }
}

/// Cycles between two issues of a warp by reason, in the order of [`Stall::ALL`].
pub type StallCycles = [u64; 7];

/// Level at which a constant or an instruction was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HitLevel {
    /// First cache of the SM.
    First,
    /// Second cache of the SM.
    Second,
    /// Second-level cache of the GPU.
    L2,
    /// DRAM.
    Dram,
}

/// Reason why a wave does not split where it could.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitRefusal {
    /// All reserve slots of its launch wave are in use.
    NoSlot,
    /// Its SIMD has no free registers for a child.
    NoRegisters,
}

/// Event of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The kernel is launched.
    Launched,
    /// A block starts on an SM.
    BlockBegins {
        /// SM.
        sm: u32,
        /// Linear index of the block in the grid.
        block: u64,
        /// Block index in x, y, z.
        index: Size,
        /// Warps of the block that run.
        warps: u32,
    },
    /// A warp issues an instruction.
    Issue {
        /// Warp.
        #[serde(flatten)]
        warp: WarpPlace,
        /// Instruction.
        #[serde(skip)]
        at: OpIndex,
        /// Mask of the active lanes.
        #[serde(serialize_with = "serialize_mask")]
        active: Mask,
        /// Mask of the active lanes where the condition holds.
        #[serde(serialize_with = "serialize_mask")]
        taken: Mask,
        /// Cycles since the previous issue of the warp, or since its start, by reason: the start of its block, or the
        /// event [`Event::Split`] of a child.
        #[serde(serialize_with = "serialize_stalls")]
        waited: StallCycles,
    },
    /// The last issued instruction of the warp accesses shared memory.
    Shared {
        /// Warp.
        #[serde(flatten)]
        warp: WarpPlace,
        /// Instruction.
        #[serde(skip)]
        at: OpIndex,
        /// Kind of the access.
        access: AccessKind,
        /// Transactions (`pastis-2022`, III.B).
        transactions: u32,
        /// Transactions caused by bank conflicts.
        conflicts: u32,
        /// Cycle when the access completes.
        done: u64,
    },
    /// The last issued instruction of the warp accesses global or local memory.
    Memory {
        /// Warp.
        #[serde(flatten)]
        warp: WarpPlace,
        /// Instruction.
        #[serde(skip)]
        at: OpIndex,
        /// Memory.
        #[serde(serialize_with = "serialize_space")]
        space: MemorySpace,
        /// Kind of the access.
        access: AccessKind,
        /// Requests to the L1 cache.
        requests: u32,
        /// Sectors requested; with `l1.merge`, a sector counts once.
        sectors: u32,
        /// Sector lookups in the L1 cache, by loads that it may hold.
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
        /// Cycle when the access completes.
        done: u64,
    },
    /// The last issued instruction of the wave accesses scalar memory.
    Scalar {
        /// Wave.
        #[serde(flatten)]
        warp: WarpPlace,
        /// Instruction.
        #[serde(skip)]
        at: OpIndex,
        /// Kind of the access.
        access: AccessKind,
        /// Lines of the scalar cache.
        lines: u32,
        /// Lines that hit.
        hits: u32,
        /// Lines that missed and hit the L2 cache.
        l2_hits: u32,
        /// Cycle when the access completes.
        done: u64,
    },
    /// An access misses the first constant cache.
    ConstantMiss {
        /// SM.
        sm: u32,
        /// Constant bank.
        bank: u8,
        /// Byte offset in the bank.
        offset: u32,
        /// Level that serves the miss.
        found: HitLevel,
    },
    /// A fetch misses the first instruction cache.
    FetchMiss {
        /// SM.
        sm: u32,
        /// Instruction.
        #[serde(skip)]
        at: OpIndex,
        /// Level that serves the miss.
        found: HitLevel,
    },
    /// A barrier releases the warps that wait at it.
    BarrierOpens {
        /// SM.
        sm: u32,
        /// Linear index of the block in the grid.
        block: u64,
        /// Number of warps released.
        warps: u32,
    },
    /// A wave splits at a branch on EXEC: the child issues the branch as well.
    Split {
        /// Wave or split that keeps the lanes in EXEC.
        parent: WarpPlace,
        /// The new split, which begins at the branch.
        child: WarpPlace,
        /// The branch.
        #[serde(skip)]
        at: OpIndex,
        /// Mask of the lanes of the parent from now on.
        #[serde(serialize_with = "serialize_mask")]
        parent_lanes: Mask,
        /// Mask of the lanes of the child.
        #[serde(serialize_with = "serialize_mask")]
        child_lanes: Mask,
    },
    /// A wave could split at a branch, but there is no place for a child.
    SplitRefused {
        /// Wave or split.
        warp: WarpPlace,
        /// The branch.
        #[serde(skip)]
        at: OpIndex,
        /// Reason.
        reason: SplitRefusal,
    },
    /// Two splits of a wave that have reached their merge point become one.
    Merge {
        /// The split that goes on, with the lanes of both.
        into: WarpPlace,
        /// The split that ends; it has no event [`Event::WarpEnds`].
        from: WarpPlace,
        /// The merge point.
        #[serde(skip)]
        at: OpIndex,
    },
    /// A warp ends.
    WarpEnds {
        /// Warp.
        #[serde(flatten)]
        warp: WarpPlace,
    },
    /// All warps of a block have ended.
    BlockEnds {
        /// SM.
        sm: u32,
        /// Linear index of the block in the grid.
        block: u64,
        /// Block index in x, y, z.
        index: Size,
    },
    /// The kernel ends.
    Done,
}

impl Event {
    /// The instruction that the event is about, if there is one.
    pub fn instruction(&self) -> Option<OpIndex> {
        match self {
            Event::Issue { at, .. }
            | Event::Shared { at, .. }
            | Event::Memory { at, .. }
            | Event::Scalar { at, .. }
            | Event::FetchMiss { at, .. }
            | Event::Split { at, .. }
            | Event::SplitRefused { at, .. }
            | Event::Merge { at, .. } => Some(*at),
            _ => None,
        }
    }
}

/// Formats a mask of lanes, with at least 8 hexadecimal digits.
pub fn format_mask(lanes: Mask) -> String {
    format!("{lanes:#010x}")
}

/// Name of the memory path of a space: all spaces but local memory take the path of global memory.
pub fn path_name(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Local => "local",
        _ => "global",
    }
}

fn serialize_mask<S: Serializer>(lanes: &Mask, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{lanes:#010x}"))
}

fn serialize_space<S: Serializer>(space: &MemorySpace, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(path_name(*space))
}

/// Writes the reasons that took cycles.
fn serialize_stalls<S: Serializer>(waited: &StallCycles, serializer: S) -> Result<S::Ok, S::Error> {
    let named = Stall::ALL.into_iter().zip(waited);
    let some = named.filter(|(_, cycles)| **cycles > 0);
    serializer.collect_map(some.map(|(stall, cycles)| (stall.key(), cycles)))
}
