//! Execution of the slice of one warp, block by block.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use warpbound_base::CodeAddr;
use warpbound_ir::{Cell, ControlEffect, ControlTarget, Op, OpIndex, OpScope};
use warpbound_simt::{Tag, lanes_of};

use super::region::{Region, RegionSearch, RegionStart};
use super::slice::Slice;
use super::stack::LaneStack;
use super::{BlockTally, WarpTally};
use crate::launch_profile::alternative::tag_of;
use crate::launch_profile::decisive_cells::DecisiveCells;
use crate::launch_profile::launch::ShapedWarp;
use crate::launch_profile::operation::WarpInputs;
use crate::launch_profile::row::{LaneRow, ValueOrigin};
use crate::launch_profile::{LaunchValues, NoProfile, NoProfileReason};

/// Largest number of stack entries.
const MAX_HEIGHT: usize = 1 << 12;

/// One warp under execution.
pub(super) struct PredictedWarp<'r, 'a> {
    values: &'r LaunchValues<'a>,
    inputs: WarpInputs<'r, 'a>,
    slice: &'r Slice,
    steps_left: &'r mut u64,
    regions: &'r mut HashMap<RegionStart, Rc<Region>>,
    rows: Vec<LaneRow>,
    stack: LaneStack,
    tallies: Vec<BlockTally>,
    /// Operations that began the regions after which lanes are uncertain.
    uncertain_by: BTreeSet<OpIndex>,
    /// Properties of the launch that decided transfers so far.
    decided: ValueOrigin,
}

/// Transfer of the running entry at the end of a block.
enum Transfer {
    /// All lanes continue at the next block.
    Next,
    /// Lanes jump.
    Jump(usize),
    /// Lanes jump to several blocks.
    Several(Vec<(usize, u32)>),
    /// All lanes push an entry that resumes at the first block, and continue at the second.
    Push(Tag, usize, usize),
    /// Lanes pop.
    Pop(Tag),
    /// Lanes end.
    Exit,
    /// Lanes jump to an unknown block.
    Unknown,
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
        let inputs = WarpInputs {
            values,
            cells,
            warp,
        };
        PredictedWarp {
            rows: inputs.unknown_rows(),
            stack: LaneStack::new(0, lanes),
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
        self.stack.advance(first);
        while let Some(top) = self.stack.top() {
            if top.next >= self.slice.len() {
                return Err(unsupported(entry));
            }
            let block = self.slice.block(top.next);
            let fail_at = |at, reason| NoProfile { at, reason };
            if self.stack.height() > MAX_HEIGHT {
                return Err(fail_at(block.first, NoProfileReason::StackHeight));
            }
            let spent = self.values.spend_step(self.steps_left);
            spent.map_err(|reason| fail_at(block.first, reason))?;
            // If lanes may be missing, or the entry may be empty, its counts are unknown.
            if !top.is_certain() {
                let start = RegionStart::Before(top.next);
                let cut = self.cut_region(start, top.possible);
                cut.map_err(|reason| fail_at(block.first, reason))?;
                continue;
            }
            if let Some(tally) = self.tallies.get_mut(top.next) {
                tally.issues += 1;
                tally.lanes += u128::from(top.certain.count_ones());
            }
            self.execute_block(top.next, top.certain)?;
            let left = self.leave_block(top.next, top.certain);
            left.map_err(|reason| fail_at(block.last, reason))?;
        }
        Ok(())
    }

    /// Executes the operations of a block that matter.
    fn execute_block(&mut self, block: usize, active: u32) -> Result<(), NoProfile> {
        let slice = self.slice;
        for &at in &slice.effects(block).ops {
            let fail = |reason| NoProfile { at, reason };
            self.values.spend_step(self.steps_left).map_err(fail)?;
            let op = self.values.code.get(at);
            let op = op.filter(|op| op.scope == OpScope::Lane);
            let op = op.ok_or(fail(NoProfileReason::Unsupported))?;
            let (lanes, origin) = self.inputs.condition(&self.rows, op, active, true);
            let decided = self.inputs.apply_effect(&mut self.rows, op, lanes, origin);
            self.decided = self.decided.with(decided);
        }
        Ok(())
    }

    /// Applies the transfer at the end of a block that `active` lanes have executed.
    fn leave_block(&mut self, block: usize, active: u32) -> Result<(), NoProfileReason> {
        let last = self.slice.block(block).last;
        let op = self.values.code.get(last);
        let op = op.ok_or(NoProfileReason::Unsupported)?;
        let next = block + 1;
        if op.control == ControlEffect::Next {
            self.stack.advance(next);
            return Ok(());
        }
        if op.scope != OpScope::Lane {
            return Err(NoProfileReason::Unsupported);
        }
        let (lanes, origin) = self.inputs.condition(&self.rows, op, active, true);
        self.decided = self.decided.with(origin);
        if lanes.possible != 0 {
            return self.cut_region(RegionStart::After(block), active);
        }
        let taken = lanes.certain;
        match self.transfer(op, last, next, taken)? {
            Transfer::Next => self.stack.advance(next),
            // Lanes that jump to the next block stay with the lanes that go on to it.
            Transfer::Jump(to) if to == next || taken == 0 => self.stack.advance(next),
            Transfer::Jump(to) if taken == active => self.stack.advance(to),
            Transfer::Jump(to) => self.stack.split(&[(next, active & !taken), (to, taken)]),
            Transfer::Several(mut sides) => {
                let others = active & !taken;
                match sides.iter_mut().find(|(to, _)| *to == next) {
                    Some((_, lanes)) => *lanes |= others,
                    None => sides.push((next, others)),
                }
                self.stack.split(&sides);
            }
            Transfer::Push(tag, resume, to) => self.stack.push(tag, resume, to),
            Transfer::Pop(tag) => {
                if !self.stack.pop(tag, taken, next) {
                    return Err(NoProfileReason::Unsupported);
                }
            }
            Transfer::Exit => self.stack.exit(taken, next),
            Transfer::Unknown => return self.cut_region(RegionStart::After(block), active),
        }
        Ok(())
    }

    /// The transfer of a control operation in the `taken` lanes.
    fn transfer(
        &mut self,
        op: &Op,
        at: OpIndex,
        next: usize,
        taken: u32,
    ) -> Result<Transfer, NoProfileReason> {
        let block_at = |at: &OpIndex| self.slice.block_at(*at).ok_or(NoProfileReason::Unsupported);
        let tag = |token| tag_of(token).ok_or(NoProfileReason::Unsupported);
        Ok(match &op.control {
            // Pushes apply to all active lanes, so that a condition has no clear meaning.
            ControlEffect::Call(_) | ControlEffect::Push(..) if !op.condition.is_always() => {
                return Err(NoProfileReason::Unsupported);
            }
            _ if taken == 0 => Transfer::Next,
            ControlEffect::Jump(ControlTarget::Op(to)) => Transfer::Jump(block_at(to)?),
            ControlEffect::Exit => Transfer::Exit,
            ControlEffect::Pop(token) => Transfer::Pop(tag(*token)?),
            ControlEffect::Call(ControlTarget::Op(to)) => {
                Transfer::Push(Tag::Ret, next, block_at(to)?)
            }
            ControlEffect::Push(token, ControlTarget::Op(to)) => {
                Transfer::Push(tag(*token)?, block_at(to)?, next)
            }
            ControlEffect::Indirect {
                base,
                anchor,
                relative: true,
            } => self.indirect(*base, *anchor, at, taken)?,
            _ => return Err(NoProfileReason::Unsupported),
        })
    }

    /// The transfer of an indirect jump.
    fn indirect(
        &mut self,
        base: Option<Cell>,
        anchor: i64,
        at: OpIndex,
        taken: u32,
    ) -> Result<Transfer, NoProfileReason> {
        let row = match base {
            Some(cell) => self.inputs.row(&self.rows, cell),
            None => LaneRow::splat(0, ValueOrigin::NONE),
        };
        self.decided = self.decided.with(row.origin);
        if taken & !row.known() != 0 {
            return Ok(Transfer::Unknown);
        }
        let mut sides: Vec<(usize, u32)> = Vec::new();
        for lane in lanes_of(taken.into()) {
            // The sum as a signed number of 32 bits, which the base is.
            let word = row.word(lane).unwrap_or_default();
            let address = i64::from(word as i32).checked_add(anchor);
            let address = address.and_then(|address| u32::try_from(address).ok());
            let to = address.and_then(|address| self.values.code.at(CodeAddr(address)));
            // A block begins at each target that the analyses know.
            let to = to.filter(|to| self.slice.targets(at).contains(to));
            let to = to.and_then(|to| self.slice.block_at(to));
            let to = to.ok_or(NoProfileReason::IndirectJump)?;
            match sides.iter_mut().find(|(known, _)| *known == to) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => sides.push((to, 1 << lane)),
            }
        }
        Ok(Transfer::Several(sides))
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
                let found = RegionSearch::find(self.values.code, self.slice, start)?;
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
            if let Some(tally) = self.tallies.get_mut(block) {
                tally.unknown_at.extend(reasons.iter().copied());
            }
        }
        for &position in &region.writes {
            if let Some(row) = self.rows.get_mut(position) {
                row.forget(lanes);
            }
        }
        // The region may write anywhere.
        if let (Some(contents), true) = (self.values.contents, region.writes_memory) {
            contents.write(None, 0);
        }
        match self.stack.leave(&region.departures, region.is_merged) {
            true => Ok(()),
            false => Err(NoProfileReason::Unsupported),
        }
    }
}
