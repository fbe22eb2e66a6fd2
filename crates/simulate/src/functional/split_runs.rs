//! Launches without time whose waves split. Waves and splits take turns in an order that the caller chooses: what a
//! launch leaves in memory must not depend on it.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::{Code, OpIndex};
use warpbound_launch::{GlobalMemory, Launch};
use warpbound_simt::ExecutionModel;

use super::block::{Block, ExecContext};
use super::fault::{Fault, SplitFault};
use super::program::Program;
use super::{Counts, ExecutionListener, WAVE_LANES, WaveModel, check_entry};

/// Maximum number of instructions of a turn.
const LONGEST_TURN: usize = 12;

/// Where and how far waves split.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UntimedSplits {
    /// Maximum number of splits of a wave at a time, not counting the wave itself.
    pub splits: u32,
    /// Branches on EXEC at which a wave splits, each with the operation before which both sides merge, if there is one.
    pub sites: BTreeMap<OpIndex, Option<OpIndex>>,
    /// Whether a wave splits only while bit 21 of MODE is 1.
    pub only_marked: bool,
    /// Whether splits merge.
    pub merges: bool,
    /// Fault that tests plant.
    pub fault: Option<SplitFault>,
}

/// Choice among a number of alternatives, at least 1: returns an index below it.
pub type SplitSchedule<'a> = &'a mut dyn FnMut(usize) -> usize;

/// Counts of a launch whose waves split.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitCounts {
    /// Execution counts; each split counts its own issues.
    pub counts: Counts,
    /// Number of splits.
    pub splits: u64,
    /// Number of times that a wave did not split because it had as many splits as it may.
    pub refused: u64,
    /// Number of merges.
    pub merges: u64,
    /// Largest number of splits that a wave had at a time, not counting itself.
    pub most: u32,
}

/// Executes all blocks of a launch on an AMD GPU with waves that split, one block after the other.
///
/// # Errors
///
/// As [`super::launch_waves`]. Instructions of all splits count to the limit of the launch.
pub fn launch_split(
    code: &Code,
    launch: &Launch,
    splitting: &UntimedSplits,
    schedule: SplitSchedule<'_>,
    memory: &mut GlobalMemory,
    mut listener: &mut dyn ExecutionListener<WaveModel>,
) -> Result<SplitCounts, Fault> {
    check_entry(code, launch, true)?;
    let program = Program::<WAVE_LANES>::untimed(code, launch);
    let mut found = SplitCounts {
        counts: Counts::new(0),
        splits: 0,
        refused: 0,
        merges: 0,
        most: 0,
    };
    let mut counts = Counts::new(program.ops.len());
    let mut left = launch.max_instructions;
    for index in launch.blocks() {
        let mut block = Block::new(&program, launch, index);
        block.split_fault = splitting.fault;
        let mut run = BlockRun {
            parts: vec![Part::default(); block.warps.len()],
            block,
            splitting,
            found: &mut found,
            next_record: 0,
        };
        let mut context = ExecContext {
            memory: &mut *memory,
            counts: &mut counts,
            budget: &mut left,
            listener: &mut listener,
        };
        run.run(schedule, &mut context)?;
        listener.block_done(index);
    }
    found.counts = counts;
    Ok(found)
}

/// Merge that two splits wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MergeRecord {
    number: u64,
    parent: usize,
    child: usize,
    /// Operation before which they merge.
    at: u32,
}

/// Splitting state of a warp of the block.
#[derive(Clone, Default)]
struct Part {
    /// Its merges, the next one last.
    records: Vec<MergeRecord>,
    /// Branch at which it began, if it is a child.
    site: u32,
}

/// A block under execution.
struct BlockRun<'a, 'b> {
    block: Block<'a, WaveModel, WAVE_LANES>,
    /// By warp of the block.
    parts: Vec<Part>,
    splitting: &'b UntimedSplits,
    found: &'b mut SplitCounts,
    next_record: u64,
}

impl BlockRun<'_, '_> {
    fn run(
        &mut self,
        schedule: SplitSchedule<'_>,
        context: &mut ExecContext<'_, GlobalMemory, impl ExecutionListener<WaveModel>>,
    ) -> Result<(), Fault> {
        loop {
            let ready: Vec<usize> = (0..self.block.warps.len())
                .filter(|&warp| self.is_ready(warp))
                .collect();
            // The schedule chooses among at least one alternative, even if no warp is ready.
            if let Some(&warp) = ready.get(schedule(ready.len().max(1))) {
                self.take_turn(warp, 1 + schedule(LONGEST_TURN), context)?;
                if self.block.warps[warp].barrier_wait.is_some() {
                    self.block.release(context.counts);
                }
                continue;
            }
            // The end of a wave may open a barrier, too.
            self.block.release(context.counts);
            if (0..self.block.warps.len()).any(|warp| self.is_ready(warp)) {
                continue;
            }
            // A split at a barrier and a sibling that waits to merge with it would wait for each other forever, so
            // they go on without the merge.
            if self.parts.iter().any(|part| !part.records.is_empty()) {
                self.parts.iter_mut().for_each(|part| part.records.clear());
                continue;
            }
            let mut warps = self.block.warps.iter();
            return match warps.any(|warp| warp.barrier_wait.is_some()) {
                false => Ok(()),
                true => Err(self.block.deadlock()),
            };
        }
    }

    /// Whether a warp can execute an instruction: it has not ended and waits neither at a barrier nor for a merge.
    fn is_ready(&self, warp: usize) -> bool {
        let waits = self.block.warps[warp].barrier_wait.is_some();
        !waits && self.position(warp).is_some() && self.merge_here(warp).is_none()
    }

    /// The operation that a warp executes next.
    fn position(&self, warp: usize) -> Option<u32> {
        let (at, _) = self.block.warps.get(warp)?.model.running()?;
        Some(at)
    }

    /// The merge for which a warp waits.
    fn merge_here(&self, warp: usize) -> Option<MergeRecord> {
        let record = self.parts.get(warp)?.records.last()?;
        (self.position(warp) == Some(record.at)).then_some(*record)
    }

    /// Executes up to `length` instructions of a warp.
    fn take_turn(
        &mut self,
        warp: usize,
        length: usize,
        context: &mut ExecContext<'_, GlobalMemory, impl ExecutionListener<WaveModel>>,
    ) -> Result<(), Fault> {
        for _ in 0..length {
            let Some((at, _)) = self.block.warps[warp].model.running() else {
                break;
            };
            if !self.is_ready(warp) {
                break;
            }
            self.split_at(warp, at);
            let active = self.block.warps[warp].model.active();
            self.block.step(warp, at, active, context)?;
        }
        if self.position(warp).is_none() {
            self.forget_merges(warp);
        }
        self.merge_at(warp);
        Ok(())
    }

    /// Splits a warp before the operation `at`, if it is a site and the warp may split.
    fn split_at(&mut self, warp: usize, at: u32) {
        let Some(merge_point) = self.splitting.sites.get(&OpIndex(at)) else {
            return;
        };
        let is_marked = !self.splitting.only_marked || self.block.mode_mark(warp);
        if !is_marked || !self.block.may_split(warp) {
            return;
        }
        let wave = self.block.wave_of(warp);
        if self.slots_in_use(wave) >= self.splitting.splits {
            self.found.refused += 1;
            return;
        }
        let child = self.block.split(warp);
        self.found.splits += 1;
        let mut records = Vec::new();
        if let Some(point) = merge_point.filter(|_| self.splitting.merges) {
            let record = MergeRecord {
                number: self.next_record,
                parent: warp,
                child,
                at: point.0,
            };
            self.next_record += 1;
            self.parts[warp].records.push(record);
            records.push(record);
        }
        let part = Part { records, site: at };
        // `Block::split` may reuse the index of a split that has merged.
        match self.parts.get_mut(child) {
            Some(reused) => *reused = part,
            None => self.parts.push(part),
        }
        let live = self.live_splits(wave).count() as u32;
        self.found.most = self.found.most.max(live);
    }

    /// Splits of a wave that have not ended.
    fn live_splits(&self, wave: usize) -> impl Iterator<Item = usize> {
        // Splits follow the waves of the block.
        let splits = self.block.waves..self.block.warps.len();
        splits
            .filter(move |&warp| self.block.wave_of(warp) == wave && self.position(warp).is_some())
    }

    /// Number of slots of a wave that are taken.
    fn slots_in_use(&self, wave: usize) -> u32 {
        let live = self.live_splits(wave);
        match self.splitting.fault {
            Some(SplitFault::MarkCountedOnce) => {
                let sites: BTreeSet<u32> = live.map(|warp| self.parts[warp].site).collect();
                sites.len() as u32
            }
            _ => live.count() as u32,
        }
    }

    /// Removes the merges of a warp that has ended: the other splits go on alone.
    fn forget_merges(&mut self, warp: usize) {
        // Taken, because the loop changes the records of all parts.
        for record in std::mem::take(&mut self.parts[warp].records) {
            for other in [record.parent, record.child] {
                let kept = |known: &MergeRecord| known.number != record.number;
                self.parts[other].records.retain(kept);
            }
        }
    }

    /// Merges a warp with the splits that wait for it at its position.
    fn merge_at(&mut self, warp: usize) {
        let mut warp = warp;
        while let Some(record) = self.merge_here(warp) {
            let MergeRecord { parent, child, .. } = record;
            let both = [parent, child].map(|part| self.merge_here(part));
            let waits = |part: usize| self.block.warps[part].barrier_wait.is_some();
            if both != [Some(record); 2] || waits(parent) || waits(child) {
                break;
            }
            self.block.merge(parent, child);
            self.parts[parent].records.pop();
            self.parts[child].records.pop();
            self.found.merges += 1;
            // The parent may have arrived at the merge point of an outer site as well.
            warp = parent;
        }
    }
}
