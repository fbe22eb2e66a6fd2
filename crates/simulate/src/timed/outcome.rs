//! Outcomes: the decisions that the time of each instruction depends on, such as hits and misses.
//!
//! They are for replays: the time of a warp that runs alone follows from its instructions, the parameters of the
//! machine and these outcomes. A listener receives them if its [`EventListener::RECORDS`] is set; nothing is recorded
//! otherwise. They come in the order of the decisions:
//!
//! * [`Outcome::Prepare`], then the line of code and the constant operands of the instruction that a warp issues next;
//! * [`Outcome::Issue`], then the accesses of that instruction: the addresses of an indexed constant access, shared
//!   memory, [`Outcome::Access`];
//! * an access to global or local memory has requests ([`Outcome::Request`]), a request has lines
//!   ([`Outcome::Line`]), and a line with sectors for the L2 cache has a translation and lines of the L2 cache;
//! * a line of code or of constants that is found in neither cache of the SM has lines of the L2 cache.
//!
//! [`EventListener::RECORDS`]: super::EventListener::RECORDS

use warpbound_ir::OpIndex;

use super::event::WarpPlace;
use crate::functional::AccessKind;

/// Outcome of one step of the timing model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The next instruction of a warp is prepared: its line of code if that is a new one, then its constant operands.
    Prepare {
        /// Warp.
        warp: WarpPlace,
        /// Instruction that it issues next.
        at: OpIndex,
        /// Cycle when line and constants are requested.
        cycle: u64,
    },
    /// A warp issues an instruction.
    Issue {
        /// Warp.
        warp: WarpPlace,
        /// Instruction.
        at: OpIndex,
        /// Cycle.
        cycle: u64,
        /// Whether it is the second of a pair that issues in one cycle.
        second: bool,
    },
    /// A line of code is requested.
    Code {
        /// Byte address of the line.
        line: u64,
        /// Number of lines after the requested line; 0 for that line itself.
        ahead: u64,
        /// Cache that has it.
        found: FetchLevel,
    },
    /// A constant is read: an operand, or one address of an indexed access.
    Constant {
        /// Constant bank.
        bank: u8,
        /// Byte offset in the bank.
        offset: u32,
        /// Cache that has it.
        found: FetchLevel,
    },
    /// An access to shared memory.
    Shared {
        /// Kind of the access.
        kind: AccessKind,
        /// Bytes per lane.
        size: u32,
        /// Transactions.
        transactions: u32,
        /// Transactions caused by bank conflicts.
        conflicts: u32,
        /// Maximum number of lanes that access one word, for atomic operations; 0 for others.
        same_word: u32,
    },
    /// An access to global or local memory. Accesses to local memory have one for each word.
    Access {
        /// Kind of the access.
        kind: AccessKind,
        /// Bytes per lane.
        size: u32,
        /// Whether it looks up the L1 cache.
        cached: bool,
        /// Whether several lanes of an atomic operation access one address.
        contended: bool,
    },
    /// A request of some lanes of an access.
    Request {
        /// Lines of the L1 cache.
        lines: u32,
    },
    /// A line of a request. The sectors of `sectors` that are in neither other mask go to the L2 cache.
    Line {
        /// Byte address of the line.
        line: u64,
        /// Mask of the sectors that the lanes access.
        sectors: u32,
        /// Mask of those that earlier requests of the access have requested from the L2 cache.
        merged: u32,
        /// Mask of the others that hit the L1 cache.
        l1_hits: u32,
    },
    /// A translation for a line with sectors for the L2 cache.
    Translation {
        /// Byte address of the line.
        address: u64,
        /// Level that has the translation.
        found: TranslationLevel,
    },
    /// A line of the L2 cache with accessed sectors.
    L2Line {
        /// Number of the line: its address over the bytes of a line.
        line: u64,
        /// Slice.
        slice: u32,
        /// Number of sectors.
        sectors: u32,
        /// Number of sectors that hit.
        hits: u32,
        /// Number of sectors read from DRAM.
        missing: u32,
        /// Number of dirty sectors of the line that it replaces, which are written to DRAM.
        evicted: u32,
        /// Event that a hit on sectors in flight waits for, later than its own latency.
        pending: Option<PendingHit>,
        /// Whether the access waits for atomic operations on the line that arrived before.
        after_atomics: bool,
    },
    /// The bus of the DRAM is reserved for refreshes before the last access.
    Refreshes {
        /// Number of refreshes.
        count: u64,
        /// Cycle when the last one starts; the others precede it at the interval of the machine.
        last: u64,
    },
}

/// Cache that has a line of code or of constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchLevel {
    /// First cache of the SM; the line may be in flight.
    First,
    /// Second cache of the SM; the line may be in flight.
    Second,
    /// No cache of the SM: the L2 cache is accessed.
    L2,
}

/// Level at which a translation is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TranslationLevel {
    /// TLB of the SM.
    First {
        /// Whether the translation is in flight.
        pending: bool,
    },
    /// Second-level TLB; the translation may be in flight.
    Second,
    /// Page table in a cache.
    PageTable,
    /// Page table in memory.
    Walk,
}

/// Event that a hit on sectors in flight waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PendingHit {
    /// Arrival of all sectors of the line that were requested.
    Arrival,
    /// Arrival of the same sectors if they were requested now, which is earlier.
    OwnMiss,
}

/// Record of outcomes, kept only for listeners to them.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    is_on: bool,
    outcomes: Vec<Outcome>,
}

impl Recorder {
    /// Returns an empty record; `is_on` if outcomes are to be kept.
    pub(super) fn new(is_on: bool) -> Recorder {
        Recorder {
            is_on,
            outcomes: Vec::new(),
        }
    }

    /// Adds an outcome.
    #[inline(always)]
    pub(super) fn record(&mut self, outcome: impl FnOnce() -> Outcome) {
        if self.is_on {
            self.outcomes.push(outcome());
        }
    }

    /// Removes and returns the outcomes so far.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Outcome> {
        self.outcomes.drain(..)
    }
}
