//! Splits of waves (`wavefront-splitting-2022`, 4.3): a wave that comes to a branch on EXEC goes on as two, the
//! parent with the active lanes and the child with the others, each with registers of its own.
//!
//! Corrections of that thesis: a child has lanes of its parent only, so that each lane is in one split (E1); a wave
//! splits only if some of its existing lanes are active and some are not (E2); barriers count the lanes of a split
//! (E4); EXEC as instructions read it has lanes of the split only (E6). The memory of lanes (scratch, LDS) belongs to
//! the wave. For example, a wave with EXEC = 0xff that splits goes on as a parent with lanes 0 to 7 and a child with
//! lanes 8 to 63.

use warpbound_ir::Cell;
use warpbound_isa::Reg;
use warpbound_simt::{ExecutionModel, Mask, lowest_lanes};

use super::block::Block;
use super::fault::SplitFault;
use super::lanes::blend;
use super::warp::Warp;
use super::{WAVE_LANES, WaveModel};

/// Bit of MODE that marks the branches at which a wave may split (`wavefront-splitting-2022`, 4.5).
const SPLIT_BIT: u32 = 1 << 21;

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Writes the active lanes to the words of the mask, after a write that had lanes of siblings.
    #[cold]
    pub(super) fn restrict_mask(&mut self, warp: usize, words: [u8; 2], active: Mask) {
        if self.split_fault != Some(SplitFault::UnmaskedReads) {
            self.warps[warp].set_mask(words, active);
        }
    }

    /// Number of the wave that a warp is, or is a split of.
    pub(crate) fn wave_of(&self, warp: usize) -> usize {
        self.warps[warp].first_thread as usize / W
    }
}

impl Block<'_, WaveModel, WAVE_LANES> {
    /// Ends all waves but one before their first instruction.
    pub(crate) fn end_other_waves(&mut self, number: u32) {
        for (_, wave) in (0..).zip(&mut self.warps).filter(|(n, _)| *n != number) {
            wave.model.end();
        }
    }

    /// Existing lanes that belong to a split, or to a wave without splits.
    pub(crate) fn existing_lanes(&self, warp: usize) -> Mask {
        let warp = &self.warps[warp];
        let threads = self.launch.block.iter().product::<u32>();
        // The last wave of a block may be partial.
        lowest_lanes(threads.saturating_sub(warp.first_thread)) & warp.model.own()
    }

    /// Whether a wave is about to diverge: some of its existing lanes are active, some are not.
    pub(crate) fn may_split(&self, warp: usize) -> bool {
        let active = self.warps[warp].model.active();
        if self.split_fault == Some(SplitFault::FullMask) {
            return active != 0 && active != Mask::MAX;
        }
        // Otherwise a wave with fewer than 64 lanes would always split, into an empty child (E2).
        let existing = self.existing_lanes(warp);
        active & existing != 0 && existing & !active != 0
    }

    /// Whether the bit of MODE that marks branches is set.
    pub(crate) fn mode_mark(&self, warp: usize) -> bool {
        self.warps[warp].word(Reg::MODE.number) & SPLIT_BIT != 0
    }

    /// Splits a wave before an instruction; returns the index of the child. The parent keeps the active lanes; the
    /// child has its other lanes, a copy of its registers, and executes the same instruction next. The child may have
    /// the index of an earlier split that has merged.
    pub(crate) fn split(&mut self, warp: usize) -> usize {
        let (fault, order) = (self.split_fault, self.program.order);
        let parent = &mut self.warps[warp];
        let before = parent.threads;
        let mut model = parent.model.split();
        if let Some((at, active)) = parent.model.running()
            && fault == Some(SplitFault::BareComplement)
        {
            model = WaveModel::new(at, active, order).split();
        }
        let mut child = Warp {
            model,
            first_thread: parent.first_thread,
            threads: 0,
            rows: parent.rows.clone(),
            predicates: parent.predicates,
            words: parent.words.clone(),
            // Scratch belongs to the wave, and all its splits share it.
            local: Vec::new(),
            barrier_wait: None,
            barrier_result: parent.barrier_result,
        };
        // The child has the lanes that are not active at the branch.
        child.set_mask(exec_words(), 0);
        // A split that has ended by itself keeps its index, since barriers count its threads as exited.
        let merged = |warp: &Warp<WaveModel, WAVE_LANES>| {
            warp.model.own() == 0 && warp.model.running().is_none()
        };
        let index = match self.warps.iter().position(merged) {
            Some(index) => {
                self.warps[index] = child;
                index
            }
            None => {
                self.warps.push(child);
                self.warps.len() - 1
            }
        };
        // Barriers count lanes, so both parts arrive with fewer threads than the wave had (E4).
        for part in [warp, index] {
            self.warps[part].threads = match fault {
                Some(SplitFault::BarrierNotCounted) => before,
                _ => self.existing_lanes(part).count_ones(),
            };
        }
        index
    }

    /// Merges two splits that are about to execute the same instruction: lanes of `from` become lanes of `into`, with
    /// their vector registers; the scalar registers of `into` stay (SOUNDNESS 12.6). `from` has then ended, without
    /// lanes.
    pub(crate) fn merge(&mut self, into: usize, from: usize) {
        let fault = self.split_fault;
        let Ok([into, from]) = self.warps.get_disjoint_mut([into, from]) else {
            return;
        };
        // Before the models merge, which leaves `from` without lanes.
        let lanes = from.model.own();
        for (to, row) in into.rows.iter_mut().zip(&from.rows) {
            blend(to, row, lanes);
        }
        for (to, predicate) in into.predicates.iter_mut().zip(from.predicates) {
            *to = *to & !lanes | predicate & lanes;
        }
        into.model.merge(&mut from.model);
        into.set_mask(exec_words(), into.model.active());
        if fault != Some(SplitFault::BarrierNotCounted) {
            into.threads += from.threads;
        }
        from.threads = 0;
    }
}

/// Words of EXEC.
fn exec_words() -> [u8; 2] {
    Cell::EXEC_WORDS.map(|word| word.register().number)
}
