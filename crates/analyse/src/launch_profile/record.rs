//! Accesses and executions of all warps of a launch, whatever memory contains (SOUNDNESS 6.5).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;

use super::LaunchProfiler;
use super::accesses::AccessRecorder;
use super::executions::{BlockKinds, ExecutionRecorder, LaunchExecutions};
use super::forecast::StepForecast;
use super::launch::{LaunchValues, LaunchedWarp, NoProfile};
use super::row::ValueOrigin;
use crate::access::{AccessCounts, MemoryUnits};

/// Maximum number of warps of a launch whose executions are counted: with the maximum number of steps of a profile,
/// sums have less than 64 bits.
const MAX_WARPS: u64 = 1 << 36;

/// Accesses and executions of all warps of a launch, whatever memory contains.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchRecord {
    /// Maximum of each count, for each access whose addresses follow from the launch in all executions. The counts
    /// hold in every run of the launch with the same addresses of buffers and without misaligned accesses.
    pub accesses: BTreeMap<OpIndex, AccessCounts>,
    /// For accesses to global memory, a range that contains all addresses that the access may touch in the launch.
    pub extents: BTreeMap<OpIndex, Range<u64>>,
    /// Executions of some operations.
    pub executions: LaunchExecutions,
    /// Properties of the launch from which this follows.
    pub decided: ValueOrigin,
}

impl<'a> LaunchProfiler<'a> {
    /// Profiles the accesses of all warps of a launch, and the executions of these operations.
    ///
    /// # Errors
    ///
    /// [`NoProfile`] of a warp that cannot be followed.
    pub fn record(
        values: LaunchValues<'a>,
        units: MemoryUnits,
        counted: impl IntoIterator<Item = OpIndex>,
    ) -> Result<LaunchRecord, NoProfile> {
        let ops = &values.code.ops;
        let executions = ExecutionRecorder::new(ops.len(), &units, counted);
        let recorder = AccessRecorder::new(ops, units);
        let mut profiler = LaunchProfiler::following(values, Some(recorder));
        profiler.executions = Some(executions);
        let executions = profiler.count_executions()?;
        let found = profiler.accesses.map(|recorder| recorder.found);
        let (mut accesses, mut extents) = (BTreeMap::new(), BTreeMap::new());
        for (at, recorded) in (0..).map(OpIndex).zip(found.unwrap_or_default()) {
            let Some((recorded, counts)) = recorded.and_then(|own| Some((own, own.counts?))) else {
                continue;
            };
            accesses.insert(at, counts);
            if recorded.shape.space == MemorySpace::Global {
                extents.insert(at, recorded.extent.range());
            }
        }
        Ok(LaunchRecord {
            accesses,
            extents,
            executions,
            decided: profiler.decided,
        })
    }

    /// Returns the accesses by which some thread of the launch certainly leaves the buffers of global memory
    /// ([`LaunchValues::holds`]), where they lie in these values. Warps after one that cannot be followed are not
    /// considered.
    pub fn find_outside(values: LaunchValues<'a>, units: MemoryUnits) -> BTreeSet<OpIndex> {
        let mut recorder = AccessRecorder::new(&values.code.ops, units);
        recorder.looks_outside = true;
        let mut profiler = LaunchProfiler::following(values, Some(recorder));
        // What cannot be followed only leaves accesses out.
        let _ = profiler.count_executions();
        let found = profiler.accesses.as_ref().map(AccessRecorder::outside);
        found.unwrap_or_default()
    }
}

impl LaunchProfiler<'_> {
    /// Profiles all warps of the launch, and counts the executions of the operations that its recorder counts.
    ///
    /// # Errors
    ///
    /// [`NoProfile`] of a warp that cannot be followed, or if there are too many numbers.
    pub(super) fn count_executions(&mut self) -> Result<LaunchExecutions, NoProfile> {
        let too_many = self.too_many_steps();
        let [width, height, depth] = self.values.grid;
        let blocks = [width, height, depth].map(u64::from);
        let blocks = blocks
            .iter()
            .try_fold(1u64, |product, &n| product.checked_mul(n));
        let blocks = blocks.ok_or(too_many)?;
        let warps = u64::from(self.warps());
        // Sums over more warps might not fit in 64 bits.
        if blocks.checked_mul(warps).is_none_or(|all| all > MAX_WARPS) {
            return Err(too_many);
        }
        let mut kinds = BlockKinds::default();
        let mut forecast = StepForecast::new(self.values.grid, self.steps_left);
        'blocks: for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    let mut differs = false;
                    let mut block = Vec::with_capacity(self.warps() as usize);
                    for warp in 0..self.warps() {
                        let place = LaunchedWarp {
                            block: [x, y, z],
                            warp,
                        };
                        let profiled = self.decided_profile(place);
                        // One warp without a profile leaves the launch without these numbers (SOUNDNESS 6.5).
                        profiled.result?;
                        block.extend(profiled.recorded);
                        differs |= ValueOrigin::BLOCK
                            .iter()
                            .any(|&axis| profiled.decided.has(axis));
                        if self
                            .executions
                            .as_ref()
                            .is_some_and(ExecutionRecorder::is_full)
                        {
                            return Err(too_many);
                        }
                    }
                    if !differs && kinds.blocks.is_empty() {
                        // All blocks are like the first one.
                        kinds.blocks.insert(block, blocks);
                        break 'blocks;
                    }
                    *kinds.blocks.entry(block).or_default() += 1;
                    if differs && forecast.exceeds(self.steps_left) {
                        return Err(too_many);
                    }
                }
            }
        }
        let recorder = self.executions.as_ref();
        let warps = recorder.map_or_else(Vec::new, ExecutionRecorder::by_number);
        Ok(kinds.executions(&warps))
    }
}
