//! Executions of operations by the warps of a launch: upper bounds on how often each warp executes some operations,
//! whatever memory contains (SOUNDNESS 6.5).

use std::collections::{BTreeMap, HashMap};

use warpbound_ir::OpIndex;

use crate::access::{AccessCounts, MemoryUnits};

use super::lines::{LineWaits, TouchedAddresses, TouchedLines};

/// Maximum number of counts that are kept for the warps of a launch.
const MAX_NUMBERS: usize = 1 << 24;

/// Upper bounds on the executions of some operations in a launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchExecutions {
    /// Of each operation, executions by one warp.
    pub of_warp: BTreeMap<OpIndex, u64>,
    /// Of each operation, executions by a chain of warps: between two barriers, or between one and the start or end,
    /// by the warp that has most of them there. `None` if it is not known between which barriers a warp executes an
    /// operation.
    pub of_chain: Option<BTreeMap<OpIndex, u64>>,
    /// Of each operation, executions by all warps of one block.
    pub of_block: BTreeMap<OpIndex, u64>,
    /// Of each operation, executions by all warps of the launch.
    pub of_launch: BTreeMap<OpIndex, u64>,
    /// Waits for lines of global memory that stay once they are fetched, by all accesses.
    pub line_waits: LineWaitCounts,
    /// The same by loads and atomic operations alone. Stores wait for no line on its way to an L1 cache.
    pub load_waits: LineWaitCounts,
    /// Blocks that differ in their executions or accesses. `None` if these are more than [`MAX_KIND_NUMBERS`] numbers.
    pub kinds: Option<Vec<BlockKind>>,
}

/// Executions of accesses by their numbers ([`AccessCounts::numbers`]), if accesses are recorded.
pub type CountedAccesses = BTreeMap<(OpIndex, [u32; 6]), u64>;

/// Blocks of a launch whose executions and accesses have the same numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockKind {
    /// Blocks of this kind.
    pub blocks: u64,
    /// Executions of each operation that is counted, by all warps of one of them.
    pub executions: BTreeMap<OpIndex, u64>,
    /// Their accesses with known addresses; there may be others.
    pub accesses: CountedAccesses,
}

/// Maximum number of counts over all kinds of blocks of a launch.
pub const MAX_KIND_NUMBERS: usize = 1 << 20;

/// Executions of one warp.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct WarpExecutions {
    /// Executions between barriers: of the part before the first one, and so on.
    parts: Vec<BTreeMap<OpIndex, u64>>,
    /// Whether, at the end of each part, all lanes that the warp may have are at its barrier.
    has_parts: bool,
    accesses: CountedAccesses,
    line_waits: LineWaits,
    load_waits: LineWaits,
}

/// Upper bounds on how often warps wait for lines on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineWaitCounts {
    /// By one warp.
    pub of_warp: u64,
    /// By a chain of warps, as [`LaunchExecutions::of_chain`]: the maximum over all blocks.
    pub of_chain: u64,
}

impl WarpExecutions {
    fn new() -> WarpExecutions {
        WarpExecutions {
            parts: vec![BTreeMap::new()],
            has_parts: true,
            accesses: CountedAccesses::new(),
            line_waits: LineWaits::default(),
            load_waits: LineWaits::default(),
        }
    }

    /// Counts an execution.
    pub(super) fn count(&mut self, at: OpIndex) {
        if let Some(part) = self.parts.last_mut() {
            *part.entry(at).or_default() += 1;
        }
    }

    /// Ends a part at a barrier. Unless all lanes that the warp may have are at the barrier, others may still have to
    /// pass it, or never do.
    pub(super) fn pass_barrier(&mut self, all_are_there: bool) {
        self.has_parts &= all_are_there;
        // Once the parts are unknown, all further executions count in the last one.
        if self.has_parts {
            self.parts.push(BTreeMap::new());
        }
    }

    fn numbers(&self) -> usize {
        let parts = self.parts.iter().map(|part| part.len() + 1);
        let waits = [&self.line_waits, &self.load_waits].map(|waits| waits.first.len());
        parts.sum::<usize>() + self.accesses.len() + waits.iter().sum::<usize>()
    }

    /// Executions in the whole run.
    fn whole(&self) -> BTreeMap<OpIndex, u64> {
        let mut sum = BTreeMap::new();
        for part in &self.parts {
            add(&mut sum, part, 1);
        }
        sum
    }
}

/// Adds a multiple of some numbers.
fn add<K: Copy + Ord>(sum: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>, times: u64) {
    for (&key, &count) in more {
        let own = sum.entry(key).or_default();
        // `MAX_WARPS` keeps the sums of executions below the limit of 64 bits.
        *own = own.saturating_add(count.saturating_mul(times));
    }
}

/// Takes the greater of each number.
fn raise(most: &mut BTreeMap<OpIndex, u64>, other: &BTreeMap<OpIndex, u64>) {
    for (&at, &count) in other {
        let own = most.entry(at).or_default();
        *own = count.max(*own);
    }
}

/// Executions of the warps that are executed, each with a number.
pub(super) struct ExecutionRecorder {
    /// Whether each operation is counted.
    counted: Vec<bool>,
    /// Executions of the warp that is executed.
    current: WarpExecutions,
    /// Lines that it has touched.
    lines: TouchedLines,
    /// Lines that its loads and atomic operations have touched.
    loaded: TouchedLines,
    /// Executions of the warps that were executed, with a number: many warps share them.
    warps: HashMap<WarpExecutions, usize>,
    /// Number of the executions of the last warp that was executed.
    last: usize,
    numbers: usize,
}

impl ExecutionRecorder {
    /// Counts executions of these operations.
    pub(super) fn new(
        ops: usize,
        units: &MemoryUnits,
        counted: impl IntoIterator<Item = OpIndex>,
    ) -> ExecutionRecorder {
        let mut is_counted = vec![false; ops];
        for at in counted {
            if let Some(is_counted) = is_counted.get_mut(at.index()) {
                *is_counted = true;
            }
        }
        ExecutionRecorder {
            counted: is_counted,
            current: WarpExecutions::new(),
            lines: TouchedLines::new(units),
            loaded: TouchedLines::new(units),
            warps: HashMap::new(),
            last: 0,
            numbers: 0,
        }
    }

    /// Begins with another warp.
    pub(super) fn start(&mut self) {
        self.current = WarpExecutions::new();
        self.lines.end();
        self.loaded.end();
    }

    /// Ends the warp.
    pub(super) fn end(&mut self) {
        let next = self.warps.len();
        let mut ended = std::mem::replace(&mut self.current, WarpExecutions::new());
        ended.line_waits = self.lines.end();
        ended.load_waits = self.loaded.end();
        let numbers = ended.numbers();
        // Warps with equal executions share a number.
        self.last = *self.warps.entry(ended).or_insert(next);
        if self.last == next {
            self.numbers += numbers;
        }
    }

    /// Number of the executions of the last warp that was executed.
    pub(super) fn last(&self) -> usize {
        self.last
    }

    /// Executions of warps, in the order of their numbers.
    pub(super) fn by_number(&self) -> Vec<&WarpExecutions> {
        let mut warps: Vec<_> = self.warps.iter().collect();
        warps.sort_unstable_by_key(|(_, number)| **number);
        warps.into_iter().map(|(warp, _)| warp).collect()
    }

    /// Whether there are more counts than may be kept.
    pub(super) fn is_full(&self) -> bool {
        self.numbers > MAX_NUMBERS
    }

    /// Counts the execution of an operation.
    pub(super) fn count(&mut self, at: OpIndex) {
        if self.counted.get(at.index()) == Some(&true) {
            self.current.count(at);
        }
    }

    /// Counts the execution of an access with these numbers.
    pub(super) fn count_access(&mut self, at: OpIndex, counts: AccessCounts) {
        let key = (at, counts.numbers());
        *self.current.accesses.entry(key).or_default() += 1;
    }

    /// Adds an execution of an access to global memory, with its addresses if they are known.
    pub(super) fn touch(&mut self, addresses: Option<&TouchedAddresses>) {
        self.lines.touch(addresses);
        // An access with unknown addresses may be a load.
        if addresses.is_none_or(|addresses| addresses.fetches) {
            self.loaded.touch(addresses);
        }
    }

    /// See [`WarpExecutions::pass_barrier`].
    pub(super) fn pass_barrier(&mut self, all_are_there: bool) {
        self.current.pass_barrier(all_are_there);
        if self.current.has_parts {
            self.lines.pass_barrier();
            self.loaded.pass_barrier();
        }
    }
}

/// Blocks of a launch by the numbers of their warps, and how many blocks there are of each.
#[derive(Default)]
pub(super) struct BlockKinds {
    pub(super) blocks: HashMap<Vec<usize>, u64>,
}

impl BlockKinds {
    pub(super) fn executions(&self, warps: &[&WarpExecutions]) -> LaunchExecutions {
        let whole: Vec<_> = warps.iter().map(|warp| warp.whole()).collect();
        let mut found = LaunchExecutions::default();
        for of_warp in &whole {
            raise(&mut found.of_warp, of_warp);
        }
        // The warps of each block are among these, so the sum holds for all blocks.
        found.of_chain = of_chain(warps);
        let has_parts = found.of_chain.is_some();
        found.line_waits = self.line_waits(warps, has_parts, |warp| &warp.line_waits);
        found.load_waits = self.line_waits(warps, has_parts, |warp| &warp.load_waits);
        for (block, &count) in &self.blocks {
            let mut sum = BTreeMap::new();
            for of_warp in block.iter().filter_map(|&number| whole.get(number)) {
                add(&mut sum, of_warp, 1);
            }
            raise(&mut found.of_block, &sum);
            add(&mut found.of_launch, &sum, count);
        }
        found.kinds = self.kinds(warps, &whole);
        found
    }

    /// Groups blocks by the total executions and accesses of their warps.
    fn kinds(
        &self,
        warps: &[&WarpExecutions],
        whole: &[BTreeMap<OpIndex, u64>],
    ) -> Option<Vec<BlockKind>> {
        let mut kinds: BTreeMap<(BTreeMap<OpIndex, u64>, CountedAccesses), u64> = BTreeMap::new();
        let mut numbers = 0;
        for (block, &count) in &self.blocks {
            let (mut executions, mut accesses) = (BTreeMap::new(), CountedAccesses::new());
            for &number in block {
                add(&mut executions, whole.get(number)?, 1);
                add(&mut accesses, &warps.get(number)?.accesses, 1);
            }
            let size = executions.len() + accesses.len();
            let blocks = kinds.entry((executions, accesses)).or_default();
            // Different sets of warps may lead to the same kind, which counts once.
            if *blocks == 0 {
                numbers += size;
            }
            *blocks += count;
            if numbers > MAX_KIND_NUMBERS {
                return None;
            }
        }
        let kinds = kinds.into_iter();
        let kinds = kinds.map(|((executions, accesses), blocks)| BlockKind {
            blocks,
            executions,
            accesses,
        });
        Some(kinds.collect())
    }

    /// Waits of the warps and of the chains of warps of all blocks.
    fn line_waits(
        &self,
        warps: &[&WarpExecutions],
        has_parts: bool,
        waits_of: impl Fn(&WarpExecutions) -> &LineWaits,
    ) -> LineWaitCounts {
        let of_warps = warps.iter().map(|warp| waits_of(warp).all());
        let of_chains = self.blocks.keys().map(|block| {
            let of_block: Vec<&LineWaits> = block
                .iter()
                .filter_map(|&number| Some(waits_of(warps.get(number)?)))
                .collect();
            waits_of_chain(&of_block, has_parts)
        });
        LineWaitCounts {
            of_warp: of_warps.max().unwrap_or(0),
            of_chain: of_chains.max().unwrap_or(0),
        }
    }
}

/// Waits of a chain of warps of a block. In each part one of them waits for lines that are new to it, and any of them
/// may wait for sectors that are fetched later. Without known parts, all warps wait.
fn waits_of_chain(warps: &[&LineWaits], has_parts: bool) -> u64 {
    if !has_parts {
        // The chain may pass through all warps, one after the other.
        let all = warps.iter().map(|waits| waits.all());
        return all.fold(0, u64::saturating_add);
    }
    let parts = warps.iter().map(|waits| waits.first.len()).max();
    let first = (0..parts.unwrap_or(0)).map(|part| {
        let own = warps.iter().filter_map(|waits| waits.first.get(part));
        own.copied().max().unwrap_or(0)
    });
    let later = warps.iter().map(|waits| waits.later);
    first.chain(later).fold(0, u64::saturating_add)
}

/// Sum over the parts of the maximum number of executions that a warp has in the part.
fn of_chain(warps: &[&WarpExecutions]) -> Option<BTreeMap<OpIndex, u64>> {
    if !warps.iter().all(|warp| warp.has_parts) {
        return None;
    }
    let parts = warps.iter().map(|warp| warp.parts.len()).max()?;
    let mut sum = BTreeMap::new();
    for number in 0..parts {
        let mut most = BTreeMap::new();
        for part in warps.iter().filter_map(|warp| warp.parts.get(number)) {
            raise(&mut most, part);
        }
        add(&mut sum, &most, 1);
    }
    Some(sum)
}
