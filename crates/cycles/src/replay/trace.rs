//! Trace of a warp that runs alone: its path, and the outcomes that decide its times. For example, a load has the
//! lines that each of its requests accesses, and for each line the sectors that hit the L1 cache and the ones that
//! are missing in the L2 cache.

use smallvec::SmallVec;
use warpbound_ir::OpIndex;

use super::limits::limits_of;
use crate::demands::DramTransfers;
use crate::memory::{AccessDirection, AccessLimits};

/// Trace of a warp: the instructions in the order of their issue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordedTrace {
    /// Instructions.
    pub instrs: Vec<TracedInstr>,
}

/// Issued instruction of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TracedInstr {
    /// Instruction.
    pub at: OpIndex,
    /// Lines of code requested for it: its own, then those ahead of it; none if it is in the line of the instruction
    /// before it.
    pub code: SmallVec<[TracedFetch; 1]>,
    /// Constant operands, in the order of their requests.
    pub operands: SmallVec<[TracedFetch; 1]>,
    /// Constants that it loads, one after the other (LDC).
    pub loaded: Vec<TracedFetch>,
    /// Whether it waits at the barrier where it arrives.
    pub waits_at_barrier: bool,
    /// Bytes per lane of its memory access; 0 if no lane takes part.
    pub bytes: u32,
    /// Access to shared memory.
    pub shared: Option<TracedShared>,
    /// Accesses to local and global memory; an access to local memory has one for each word.
    pub accesses: Vec<TracedAccess>,
}

impl TracedInstr {
    /// Returns the requests, lines and sectors of its access, and what they found in caches; `None` if no lane takes
    /// part.
    pub fn limits(&self) -> Option<AccessLimits> {
        limits_of(self)
    }

    /// Returns what its access has transferred from and to DRAM.
    pub fn transfers(&self) -> DramTransfers {
        let requests = self.accesses.iter().flat_map(|access| &access.requests);
        let beyond = requests.flatten().filter_map(|line| line.beyond.as_ref());
        let mut transfers = DramTransfers::default();
        for line in beyond.flat_map(|beyond| &beyond.lines) {
            transfers.read += line.missing;
            transfers.evicted_lines += u32::from(line.evicted > 0);
        }
        transfers
    }
}

/// Request for a line of code or for a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedFetch {
    /// Byte address of the line of code; of a constant, with banks 65536 bytes apart.
    pub address: u64,
    /// Lines after the one that is executed; 0 for constants.
    pub ahead: u64,
    /// Cache that has it.
    pub found: FetchSource,
    /// Accesses to the L2 cache, if neither cache of the SM has it.
    pub lines: SmallVec<[TracedL2Line; 1]>,
}

/// Cache that has a line of code or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchSource {
    /// First cache of the SM; the line may be in flight.
    First,
    /// Second cache of the SM; the line may be in flight.
    Second,
    /// L2 cache or DRAM.
    Beyond,
}

/// Access to shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedShared {
    /// Direction.
    pub direction: AccessDirection,
    /// Transactions, conflicts included.
    pub transactions: u32,
    /// Transactions due to bank conflicts.
    pub conflicts: u32,
    /// Maximum number of lanes that access one word, for atomic operations.
    pub same_word: u32,
}

/// Access to global or local memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedAccess {
    /// Direction.
    pub direction: AccessDirection,
    /// Whether it looks up the L1 cache.
    pub cached: bool,
    /// Whether it is to local memory.
    pub is_local: bool,
    /// Whether several lanes of an atomic operation access one address.
    pub contended: bool,
    /// Requests, each with its lines.
    pub requests: Vec<Vec<TracedLine>>,
}

/// Line of the L1 cache that a request accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedLine {
    /// Byte address.
    pub line: u64,
    /// Mask of the sectors accessed.
    pub sectors: u32,
    /// Mask of the sectors that earlier requests of the access have requested.
    pub merged: u32,
    /// Mask of the other sectors that hit the L1 cache.
    pub l1_hits: u32,
    /// Access to the L2 cache for the other sectors, if there are any.
    pub beyond: Option<TracedMiss>,
}

/// Access to the L2 cache for sectors of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedMiss {
    /// Level that has the translation.
    pub translation: TranslationSource,
    /// Whether the translation is in flight.
    pub awaits_translation: bool,
    /// Lines of the L2 cache.
    pub lines: SmallVec<[TracedL2Line; 1]>,
}

/// Level that has a translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TranslationSource {
    /// TLB of the SM; the translation may be in flight.
    First,
    /// Second-level TLB; the translation may be in flight.
    Second,
    /// Page table in a cache.
    PageTable,
    /// Page table in memory.
    Walk,
}

/// Line of the L2 cache with accessed sectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedL2Line {
    /// Number of the line.
    pub line: u64,
    /// Slice.
    pub slice: u32,
    /// Number of sectors accessed.
    pub sectors: u32,
    /// Number of sectors that hit, in flight or not.
    pub hits: u32,
    /// Whether a hit waits for sectors in flight.
    pub awaits_sectors: bool,
    /// Number of sectors read from DRAM.
    pub missing: u32,
    /// Number of dirty sectors of the line that it replaces.
    pub evicted: u32,
}
