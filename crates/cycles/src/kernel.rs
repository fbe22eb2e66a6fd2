//! Inputs of the time of a kernel, and refusals.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_ir::OpIndex;
use warpbound_isa::nvidia::ExecUnit;
use warpbound_timing::{Completion, InstrFacts, IssueKind, WaveFacts};

use crate::code::TimedCode;
use crate::memory::AccessLimits;

/// Constants that a launch loads before its first block: the first bytes of a bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreloadedConstants {
    /// Bank.
    pub bank: u8,
    /// Number of bytes.
    pub bytes: u64,
    /// Number of caches that are loaded, at least and at most: 0 none, 1 the second, 2 both.
    pub caches: (u64, u64),
}

/// Sectors of global memory that are missing in a cache once, because the cache keeps them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountedSectors {
    /// Maximum number of misses that a warp waits for.
    pub most: u64,
    /// Cache that keeps them.
    pub cache: KeepingCache,
}

/// Cache that keeps what the launch loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeepingCache {
    /// L1 cache of each SM, for the loads of [`SpaceLimits::stays_in_l1`](crate::SpaceLimits).
    L1,
    /// L2 cache, for all accesses.
    L2,
}

impl KeepingCache {
    /// Both, the nearer one first.
    pub const ALL: [KeepingCache; 2] = [KeepingCache::L1, KeepingCache::L2];
}

/// Words of a constant bank that an instruction loads (LDC).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadedConstants {
    /// Bank.
    pub bank: u8,
    /// Offset of the first byte of the bank that may be loaded.
    pub offset: u64,
    /// Bytes from there that may be loaded, or more.
    pub bytes: u64,
    /// Maximum number of distinct words that the lanes of a warp load at once.
    pub words: u32,
}

/// Splitting of the wave, as far as its time depends on it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaveSplits {
    /// Maximum number of splits that are live together with another one.
    pub splits: u32,
    /// Whether splits share the pipelines of the ALUs.
    pub serialised: bool,
    /// Branches at which the wave may split.
    pub sites: BTreeSet<OpIndex>,
    /// Operations before which splits become one again.
    pub merge_points: BTreeSet<OpIndex>,
    /// Whether the splits of each site become one again.
    pub all_merge: bool,
}

/// Upper bounds on what one execution of a scalar access causes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScalarLimits {
    /// Lines of the scalar cache.
    pub lines: u32,
    /// Whether they may be missing in the L2 cache.
    pub may_miss: bool,
    /// Whether a line of the L2 cache may be evicted for each of these lines.
    pub may_evict: bool,
    /// Whether it stores.
    pub stores: bool,
}

/// Address translations that are missing at most once each, for the accesses to one memory space. For example, a
/// launch with two pages of global memory in no TLB has two walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Translations {
    /// Translations whose page table may have to be walked.
    pub walks: u64,
    /// Translations that miss only in the first-level TLB.
    pub first_level: u64,
}

/// Possible step of a warp from a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedStep {
    /// Source node.
    pub from: usize,
    /// Target node; `None` ends the warp.
    pub to: Option<usize>,
}

/// Nodes that groups of lanes may execute while other groups of the warp wait or are ready. The order of the groups is not
/// known: after each of these nodes, any of them may be next (SOUNDNESS 21.10).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartedGroups {
    /// Nodes of these groups, nodes at which groups part, and nodes from which a step leads to one of both.
    pub nodes: BTreeSet<usize>,
    /// Nodes that a group may execute while other lanes of the warp are elsewhere. All of them are in
    /// [`PartedGroups::nodes`].
    pub apart: BTreeSet<usize>,
    /// Nodes that lanes which have parted may execute together, because a GPU may take them for one group there. All of them
    /// are in [`PartedGroups::apart`].
    pub meeting: BTreeSet<usize>,
    /// Number of a node without instructions, which stands for the change from one group to another. Steps lead to it from
    /// each of [`PartedGroups::nodes`], and from it to all nodes where a group may go on.
    pub change: usize,
}

/// Other warps on the GPU, which execute the same kernel, and the payer of the first requests of lines and
/// translations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OtherWarps {
    /// There are none.
    #[default]
    Absent,
    /// Each warp pays for first requests, in the times of its steps.
    FirstOfPath,
    /// Each path pays for its lines, and the SM for translations.
    LinesOfPath,
    /// The SM pays for first requests, whichever warps make them: only [`Contention`](crate::Contention) has them.
    FirstOfSm,
}

impl OtherWarps {
    /// Whether the SM pays for first requests of lines.
    pub(crate) fn have_lines(self) -> bool {
        self == OtherWarps::FirstOfSm
    }

    /// Whether the SM pays for translations.
    pub(crate) fn have_translations(self) -> bool {
        matches!(self, OtherWarps::LinesOfPath | OtherWarps::FirstOfSm)
    }
}

/// Kernel, as far as its time depends on it.
pub struct TimedKernel<'a> {
    /// Facts about its instructions.
    pub facts: TimedCode<'a>,
    /// First and last instruction of each node that a warp may execute.
    pub nodes: &'a [Option<(OpIndex, OpIndex)>],
    /// Steps between them.
    pub steps: &'a [TimedStep],
    /// First node.
    pub entry: usize,
    /// Limits of the accesses, for all instructions that access memory.
    pub accesses: &'a BTreeMap<OpIndex, AccessLimits>,
    /// Loads from constant banks.
    pub loaded_constants: &'a BTreeMap<OpIndex, LoadedConstants>,
    /// Constants that are present at the start.
    pub preloaded: Option<PreloadedConstants>,
    /// Scalar loads.
    pub scalar_loads: &'a BTreeMap<OpIndex, ScalarLimits>,
    /// Splitting of the wave, if it may split.
    pub splits: Option<&'a WaveSplits>,
    /// Groups of the warp in any order, if its lanes may part and wait at convergence barriers.
    pub parted: Option<&'a PartedGroups>,
    /// Whether lines of code may be missing in the L2 cache.
    pub lines_may_miss: bool,
    /// Whether lines of code and constants may replace lines with stored data in the L2 cache.
    pub lines_may_evict: bool,
    /// Whether lines of constants may be missing in the L2 cache.
    pub constants_may_miss: bool,
    /// Translations of global and of local memory that are missing once, for accesses without
    /// [`SpaceLimits::may_walk`](crate::SpaceLimits).
    pub translations: [Translations; 2],
    /// Sectors of global memory that are missing once, if accesses in loops are to count them so. Otherwise each access is
    /// taken to wait as if it missed.
    pub counted_sectors: Option<CountedSectors>,
    /// Other warps on the GPU.
    pub others: OtherWarps,
}

/// Cost that a warp pays a limited number of times. For example, the first miss of a persistent line is paid once, by
/// any of the nodes that may be the first to need the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnceCost {
    /// Cycles of each payment.
    pub cycles: u64,
    /// Maximum number of payments.
    pub most: u64,
    /// Nodes that may pay, with the maximum number of payments per execution.
    pub nodes: Vec<(usize, u64)>,
    /// Term of the sum.
    pub term: crate::Term,
}

impl OnceCost {
    /// Sum of the cycles of some costs, each with its maximum number of payments.
    pub(crate) fn sum(costs: &[OnceCost]) -> u64 {
        let each = costs.iter();
        let each = each.map(|once| once.cycles.saturating_mul(once.most));
        // The sum is an upper limit, and the largest number is above every limit on cycles.
        each.fold(0, u64::saturating_add)
    }

    /// Returns the maximum number of payments if each node is executed a number of times.
    pub fn times(&self, executions: impl Fn(usize) -> u128) -> u128 {
        let each = self.nodes.iter();
        let all = each.map(|&(node, times)| executions(node).saturating_mul(times.into()));
        all.fold(0, u128::saturating_add).min(self.most.into())
    }
}

/// Returns why an instruction has no time; `None` if it has one.
pub fn refusal(facts: &InstrFacts, access: Option<&AccessLimits>) -> Option<Diagnostic> {
    let why = if !facts.has_class {
        "the instruction has no timing class"
    } else if facts.completion == Completion::Texture {
        "the timing model does not have the latency of textures and surfaces"
    } else if matches!(facts.completion, Completion::Memory(_)) && access.is_none() {
        "the limits of this memory access are not known"
    } else if facts.unit == ExecUnit::None && access.is_some() {
        "the access has no unit"
    } else {
        return None;
    };
    Some(Diagnostic::new(why).at(CodeAddr(facts.address)))
}

/// Returns why an instruction of a wave has no time; `None` if it has one.
pub fn wave_refusal(
    facts: &WaveFacts,
    access: Option<&AccessLimits>,
    scalar: Option<&ScalarLimits>,
) -> Option<Diagnostic> {
    let is_memory = matches!(facts.kind, IssueKind::VectorMemory | IssueKind::Lds);
    let why = if !facts.has_class {
        "the instruction has no timing class"
    } else if is_memory && access.is_none() {
        "the limits of this memory access are not known"
    } else if facts.kind == IssueKind::ScalarMemory && scalar.is_none() {
        "the limits of this scalar load are not known"
    } else if access.is_some() && !is_memory {
        "the access has no unit"
    } else {
        return None;
    };
    Some(Diagnostic::new(why).at(CodeAddr(facts.address)))
}
