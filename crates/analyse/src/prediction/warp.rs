//! Execution of the slice of one warp, block by block.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use warpbound_ir::{ControlEffect, OpIndex, OpScope};
use warpbound_simt::activation_stack::StackEntry;
use warpbound_simt::uncertain_lanes::UncertainStack;
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask};

use super::region::{Region, RegionSearch, RegionStart};
use super::slice::Slice;
use super::{BlockTally, WarpTally};
use crate::indirect::IndirectJump;
use crate::launch_profile::control::{indirect_targets, splits};
use crate::launch_profile::decisive_cells::DecisiveCells;
use crate::launch_profile::effects::ActiveLanes;
use crate::launch_profile::launch::ShapedWarp;
use crate::launch_profile::operation::WarpInputs;
use crate::launch_profile::row::{LaneRow, ValueOrigin};
use crate::launch_profile::{LaunchValues, NoProfile, NoProfileReason};

/// Largest number of stack entries.
const MAX_HEIGHT: usize = 1 << 12;

/// Block that the lanes of an entry execute next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BlockPoint {
    /// Index of the block.
    block: usize,
    /// Whether no other lanes of the warp can have joined them there (SOUNDNESS 21.11).
    is_group: bool,
}

/// One warp under execution.
pub(super) struct PredictedWarp<'r, 'a> {
    values: &'r LaunchValues<'a>,
    inputs: WarpInputs<'r, 'a>,
    slice: &'r Slice,
    steps_left: &'r mut u64,
    regions: &'r mut HashMap<RegionStart, Rc<Region>>,
    rows: Vec<LaneRow>,
    stack: UncertainStack<BlockPoint>,
    tallies: Vec<BlockTally>,
    /// Operations that began the regions after which lanes are uncertain.
    uncertain_by: BTreeSet<OpIndex>,
    /// Properties of the launch that decided transfers so far.
    decided: ValueOrigin,
}

impl<'r, 'a> PredictedWarp<'r, 'a> {
    pub(super) fn new(
        values: &'r LaunchValues<'a>,
        cells: &'r DecisiveCells,
        slice: &'r Slice,
        warp: ShapedWarp,
        steps_left: &'r mut u64,
        regions: &'r mut HashMap<RegionStart, Rc<Region>>,
    ) -> PredictedWarp<'r, 'a> {
        let lanes = warp.lanes;
        let start = BlockPoint {
            block: 0,
            is_group: true,
        };
        let inputs = WarpInputs {
            values,
            cells,
            warp,
        };
        PredictedWarp {
            rows: inputs.unknown_rows(),
            stack: UncertainStack::new(start, lanes.into(), DivergenceOrder::TakenFirst),
            tallies: vec![BlockTally::default(); slice.len()],
            uncertain_by: BTreeSet::new(),
            decided: ValueOrigin::NONE,
            values,
            inputs,
            slice,
            steps_left,
            regions,
        }
    }

    /// Executes the warp to its end. A warp that cannot be followed has no known counts.
    pub(super) fn execute(mut self) -> (ValueOrigin, WarpTally) {
        let lost = self.run().err();
        if let Some(lost) = lost {
            for tally in &mut self.tallies {
                tally.unknown_at.insert(lost.at);
            }
            // The writes of an unknown rest may be anywhere; what is outdated will not be used.
            if let Some(contents) = self.values.contents
                && lost.reason != NoProfileReason::Outdated
            {
                contents.write(None, 0);
            }
        }
        let tally = WarpTally {
            blocks: self.tallies,
            lost,
        };
        (self.decided, tally)
    }

    fn run(&mut self) -> Result<(), NoProfile> {
        let entry = self.values.code.entry;
        let unsupported = |at| NoProfile {
            at,
            reason: NoProfileReason::Unsupported,
        };
        let first = self.slice.block_at(entry).ok_or(unsupported(entry))?;
        let first = self.point(first, true);
        let entered = self.apply(&ControlTransfer::Next, 0, first);
        entered.map_err(|_| unsupported(entry))?;
        while let Some(&StackEntry { next, mask, .. }) = self.stack.top() {
            let (possible, certain) = (mask.possible as u32, mask.certain as u32);
            if next.block >= self.slice.len() {
                return Err(unsupported(entry));
            }
            let block = self.slice.block(next.block);
            let fail_at = |at, reason| NoProfile { at, reason };
            if self.stack.height() > MAX_HEIGHT {
                return Err(fail_at(block.first, NoProfileReason::StackHeight));
            }
            let spent = self.values.spend_step(self.steps_left);
            spent.map_err(|reason| fail_at(block.first, reason))?;
            // If lanes may be missing, or the entry may be empty, its counts are unknown.
            if !mask.is_certain() {
                let start = RegionStart::Before(next.block);
                let cut = self.cut_region(start, possible);
                cut.map_err(|reason| fail_at(block.first, reason))?;
                continue;
            }
            if let Some(tally) = self.tallies.get_mut(next.block) {
                tally.issues += 1;
                tally.lanes += u128::from(certain.count_ones());
                tally.is_apart |= !next.is_group;
            }
            let active = ActiveLanes {
                are_group: next.is_group,
                ..ActiveLanes::exactly(certain)
            };
            self.execute_block(next.block, active)?;
            let left = self.leave_block(next.block, active);
            left.map_err(|reason| fail_at(block.last, reason))?;
        }
        Ok(())
    }

    /// Executes the operations of a block that matter.
    fn execute_block(&mut self, block: usize, active: ActiveLanes) -> Result<(), NoProfile> {
        let slice = self.slice;
        for &at in &slice.effects(block).ops {
            let fail = |reason| NoProfile { at, reason };
            self.values.spend_step(self.steps_left).map_err(fail)?;
            let op = self.values.code.get(at);
            let op = op.filter(|op| op.scope == OpScope::Lane);
            let op = op.ok_or(fail(NoProfileReason::Unsupported))?;
            let (lanes, origin) = self.inputs.condition(&self.rows, op, active);
            let decided = self.inputs.apply_effect(&mut self.rows, op, lanes, origin);
            self.decided = self.decided.with(decided);
        }
        Ok(())
    }

    /// Applies the transfer at the end of a block that the active lanes have executed.
    fn leave_block(&mut self, block: usize, active: ActiveLanes) -> Result<(), NoProfileReason> {
        let last = self.slice.block(block).last;
        let op = self.values.code.get(last);
        let op = op.ok_or(NoProfileReason::Unsupported)?;
        if op.control == ControlEffect::Next {
            let next = self.point(block + 1, active.are_group);
            return self.apply(&ControlTransfer::Next, active.mask, next);
        }
        if op.scope != OpScope::Lane {
            return Err(NoProfileReason::Unsupported);
        }
        let (lanes, origin) = self.inputs.condition(&self.rows, op, active);
        self.decided = self.decided.with(origin);
        if lanes.possible == active.mask
            && let Some(&target) = self.values.transfers.agreed_skips.get(&last)
        {
            return self.skip(block, target, active);
        }
        if lanes.possible != 0 || op.control.lets_lanes_choose() && lanes.any() {
            return self.cut_region(RegionStart::After(block), active.mask);
        }
        let taken = lanes.certain;
        // Lanes of two sides may meet anywhere until an entry below them resumes.
        let is_group = active.are_group && !splits(op, lanes);
        if taken != 0
            && let Some(jump) = IndirectJump::of(&op.control)
        {
            let Some(mut sides) = self.indirect(jump, taken)? else {
                return self.cut_region(RegionStart::After(block), active.mask);
            };
            let others = Mask::from(active.mask & !taken);
            match sides.iter_mut().find(|(to, _)| *to == block + 1) {
                Some((_, lanes)) => *lanes |= others,
                None if others != 0 => sides.push((block + 1, others)),
                None => {}
            }
            let is_group = active.are_group && sides.len() == 1;
            // Lanes that go on run first.
            let sides = sides.iter().rev();
            let sides = sides.map(|&(to, lanes)| (self.point(to, is_group), lanes));
            let sides: Vec<(BlockPoint, Mask)> = sides.collect();
            let next = self.point(block + 1, is_group);
            return self.apply(&ControlTransfer::Indirect(&sides), active.mask, next);
        }
        let transfers = self.values.transfers;
        let block_at = |at| Some(self.point(self.slice.block_at(at)?, is_group));
        let transfer = transfers.transfer(op, last, taken != 0, block_at);
        let transfer = transfer.ok_or(NoProfileReason::Unsupported)?;
        self.apply(&transfer, taken, self.point(block + 1, is_group))
    }

    /// A block as the next one of lanes that are a group, as far as the branches say.
    fn point(&self, block: usize, is_group: bool) -> BlockPoint {
        BlockPoint {
            block,
            is_group: is_group || !self.values.code.family.may_merge_groups(),
        }
    }

    /// Goes over the blocks between the end of a block and a target, which all lanes of the group execute or none does.
    fn skip(
        &mut self,
        block: usize,
        target: OpIndex,
        active: ActiveLanes,
    ) -> Result<(), NoProfileReason> {
        let last = self.slice.block(block).last;
        let end = self.slice.block_at(target);
        let end = end.ok_or(NoProfileReason::Unsupported)?;
        for skipped in block + 1..end {
            self.forget_block(skipped, &BTreeSet::from([last]));
            let effects = self.slice.effects(skipped);
            self.forget_writes(&effects.writes, effects.writes_memory, active.mask);
        }
        let target = self.point(end, active.are_group);
        self.apply(&ControlTransfer::Next, active.mask, target)
    }

    /// Moves the running entry, whose lanes are certain.
    fn apply(
        &mut self,
        transfer: &ControlTransfer<'_, BlockPoint>,
        taken: u32,
        next: BlockPoint,
    ) -> Result<(), NoProfileReason> {
        let moved = self.stack.apply(transfer, taken.into(), next);
        moved.map(|_| ()).map_err(|_| NoProfileReason::Unsupported)
    }

    /// The blocks to which `taken` lanes jump, with the lanes of each; `None` if the target of a lane is unknown.
    fn indirect(
        &mut self,
        jump: IndirectJump,
        taken: u32,
    ) -> Result<Option<Vec<(usize, Mask)>>, NoProfileReason> {
        let row = match jump.base {
            _ if !jump.relative => LaneRow::UNKNOWN,
            Some(cell) => self.inputs.row(&self.rows, cell),
            None => LaneRow::splat(0, ValueOrigin::NONE),
        };
        self.decided = self.decided.with(row.origin);
        if taken & !row.known() != 0 {
            return Ok(None);
        }
        let word = |lane| row.word(lane).unwrap_or_default();
        let targets = indirect_targets(self.values.code, jump.anchor, taken, word);
        let targets = targets.ok_or(NoProfileReason::IndirectJump)?;
        let blocks = targets.into_iter().map(|(to, lanes)| {
            // A block begins at each target that the analyses know, and after each call.
            let to = self.slice.block_at(to);
            Ok((to.ok_or(NoProfileReason::IndirectJump)?, lanes))
        });
        blocks.collect::<Result<_, _>>().map(Some)
    }

    /// Cuts out a region of the running entry: `lanes` may execute any path through it. Its blocks have unknown
    /// counts, what it writes is unknown in these lanes, and they may leave it in each way.
    fn cut_region(&mut self, start: RegionStart, lanes: u32) -> Result<(), NoProfileReason> {
        if let RegionStart::After(block) = start {
            self.uncertain_by.insert(self.slice.block(block).last);
        }
        let region = match self.regions.get(&start) {
            Some(region) => region.clone(),
            None => {
                let LaunchValues {
                    code, transfers, ..
                } = *self.values;
                let found = RegionSearch::find(code, transfers, self.slice, start)?;
                let found = Rc::new(found);
                self.regions.insert(start, found.clone());
                found
            }
        };
        let reasons: BTreeSet<OpIndex> = match start {
            RegionStart::After(block) => BTreeSet::from([self.slice.block(block).last]),
            RegionStart::Before(_) => self.uncertain_by.clone(),
        };
        for &block in &region.blocks {
            self.forget_block(block, &reasons);
        }
        self.forget_writes(&region.writes, region.writes_memory, lanes);
        match self.stack.leave(&region.departures, region.some_may_miss) {
            true => Ok(()),
            false => Err(NoProfileReason::Unsupported),
        }
    }

    /// Makes the count of a block unknown, because of these operations.
    fn forget_block(&mut self, block: usize, reasons: &BTreeSet<OpIndex>) {
        if let Some(tally) = self.tallies.get_mut(block) {
            tally.unknown_at.extend(reasons.iter().copied());
        }
    }

    /// Makes what operations may write unknown in some lanes.
    fn forget_writes(&mut self, writes: &BTreeSet<usize>, writes_memory: bool, lanes: u32) {
        for &position in writes {
            if let Some(row) = self.rows.get_mut(position) {
                row.forget(lanes);
            }
        }
        // They may write anywhere.
        if let (Some(contents), true) = (self.values.contents, writes_memory) {
            contents.write(None, 0);
        }
    }
}
