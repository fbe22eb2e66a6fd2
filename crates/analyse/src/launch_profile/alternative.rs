//! Alternatives of a profiled warp: the lanes that may be on one path, with their stack and their values.
//!
//! Where unknown values decide a transfer, the warp continues in two alternatives, one for each side. A lane whose
//! side is unknown is in both. Alternatives become one again where an entry resumes that all of their lanes wait for
//! (SOUNDNESS 6.5). For example, of `if (a[i] > 0) x; y;` one alternative executes `x`, and both meet at `y`.

use warpbound_ir::OpIndex;
use warpbound_simt::activation_stack::{ActivationStack, StackEntry};
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask, TransferError, lanes_of};

use super::candidates::Candidates;
use super::loop_iterations::LoopIterations;
use super::row::LaneRow;

/// Program point of a profile: an operation, and a number that tells apart the entries which it pushes each time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StampedPoint {
    /// Index of the operation.
    pub(super) at: u32,
    /// Number of the step that moved there.
    pub(super) stamp: u64,
    /// Whether the lanes that are there are a group which no other lanes can have joined (SOUNDNESS 21.11).
    pub(super) is_group: bool,
}

/// Lanes that may be on one path.
#[derive(Clone, Debug)]
pub(super) struct Alternative {
    /// Stack of these lanes.
    pub(super) stack: ActivationStack<StampedPoint>,
    /// Values of the followed cells.
    pub(super) rows: Vec<LaneRow>,
    /// Values for each result that an approximation may have.
    pub(super) candidates: Candidates,
    /// Header executions in loops.
    pub(super) iterations: LoopIterations,
    /// Whether all its lanes are certainly on the path.
    pub(super) is_certain: bool,
    /// Whether its lanes wait at an entry for the lanes of other alternatives.
    pub(super) waits: bool,
    /// End of the operations that all lanes execute, or none, because they agree on an unknown condition.
    pub(super) skip_until: Option<OpIndex>,
}

impl Alternative {
    /// The number of stack entries; 0 if all lanes have ended.
    pub(super) fn height(&self) -> usize {
        self.stack.height()
    }

    /// All entries, bottom first.
    fn entries(&self) -> Vec<StackEntry<StampedPoint>> {
        let pending = self.stack.pending().iter();
        pending.chain(self.stack.top()).copied().collect()
    }

    /// The lanes of all entries.
    pub(super) fn lanes(&self) -> Mask {
        self.entries()
            .iter()
            .fold(0, |lanes, entry| lanes | entry.mask)
    }

    /// The alternative without some of the active lanes: they are on another path.
    pub(super) fn without(&self, lanes: Mask, order: DivergenceOrder) -> Alternative {
        let mut entries = self.entries();
        for entry in &mut entries {
            entry.mask &= !lanes;
        }
        Alternative {
            stack: ActivationStack::from_entries(entries, order),
            // Any of the remaining lanes may be on the other path instead.
            is_certain: false,
            ..self.clone()
        }
    }

    /// Applies a transfer that all active lanes take.
    pub(super) fn move_all(
        &mut self,
        transfer: &ControlTransfer<'_, StampedPoint>,
        next: StampedPoint,
    ) -> Result<(), TransferError> {
        let active = self.stack.running().map_or(0, |(_, active)| active);
        self.stack.apply(transfer, active, next).map(|_| ())
    }

    /// Whether both wait at the same entry: pushed by the same step, not only at the same operation.
    fn waits_with(&self, other: &Alternative) -> bool {
        if !self.waits || !other.waits || self.height() != other.height() {
            return false;
        }
        let (entries, others) = (self.entries(), other.entries());
        let mut pairs = entries.iter().zip(&others);
        pairs.all(|(a, b)| (a.next, a.pushed_by) == (b.next, b.pushed_by))
    }

    /// Joins another alternative that waits at the same entry. A lane that is at a lower entry in one of the two does
    /// not join there, because leaving the upper entry would take it out of the lower one as well. It waits in an
    /// alternative that is returned.
    fn join(
        mut self,
        mut other: Alternative,
        order: DivergenceOrder,
    ) -> (Alternative, Vec<Alternative>) {
        let (entries, others) = (self.entries(), other.entries());
        let (mut lower, mut lower_in_other) = (0, 0);
        for lane in lanes_of(self.lanes() & other.lanes()) {
            let (own, in_other) = (place(&entries, lane), place(&others, lane));
            lower |= Mask::from(own < in_other) << lane;
            lower_in_other |= Mask::from(in_other < own) << lane;
        }
        let mut waiting = Vec::new();
        for (one, lanes) in [(&mut self, lower), (&mut other, lower_in_other)] {
            if let Some(part) = one.lower_part(lanes, order) {
                *one = one.without(lanes, order);
                waiting.push(part);
            }
        }
        self.absorb(&other, order);
        (self, waiting)
    }

    /// The part of the alternative that waits at or below the uppermost entry that holds some of `lanes`; `None`
    /// without lanes.
    fn lower_part(&self, lanes: Mask, order: DivergenceOrder) -> Option<Alternative> {
        let mut entries = self.entries();
        let top = lanes_of(lanes)
            .filter_map(|lane| place(&entries, lane))
            .max()?;
        let above = entries.split_off(top + 1);
        let above = above.iter().fold(0, |lanes, entry| lanes | entry.mask);
        for entry in &mut entries {
            entry.mask &= !above;
        }
        Some(Alternative {
            stack: ActivationStack::from_entries(entries, order),
            is_certain: false,
            waits: true,
            ..self.clone()
        })
    }

    /// Adds the lanes of an alternative with the same entries. Each common lane must be at the same entry in both.
    fn absorb(&mut self, other: &Alternative, order: DivergenceOrder) {
        let (own, others) = (self.lanes(), other.lanes());
        let mut entries = self.entries();
        for (entry, more) in entries.iter_mut().zip(other.entries()) {
            entry.mask |= more.mask;
        }
        self.stack = ActivationStack::from_entries(entries, order);
        let (new, both) = ((others & !own) as u32, (others & own) as u32);
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            row.overwrite(more, new, both);
            row.origin = row.origin.with(more.origin);
        }
        // The words of the two paths may belong to different results of one approximation.
        self.candidates.clear();
        self.iterations.absorb(&other.iterations, new, both);
        self.is_certain &= other.is_certain;
    }
}

/// Index of the uppermost entry that has a lane.
fn place(entries: &[StackEntry<StampedPoint>], lane: usize) -> Option<usize> {
    entries
        .iter()
        .rposition(|entry| entry.mask >> lane & 1 == 1)
}

/// Alternatives of a warp that have not ended.
#[derive(Debug, Default)]
pub(super) struct Alternatives {
    open: Vec<Alternative>,
}

impl Alternatives {
    /// Largest number of alternatives at the same time.
    const MAX: usize = 1024;

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Adds an alternative unless all its lanes have ended; returns whether there was room for it.
    pub(super) fn add(&mut self, alternative: Alternative) -> bool {
        if alternative.height() == 0 {
            return true;
        }
        self.open.push(alternative);
        self.open.len() <= Alternatives::MAX
    }

    /// Takes the alternative that continues: one with the most entries, which the others at the entry have joined. So
    /// whatever may still arrive at the entry of an alternative that waits is run before it.
    pub(super) fn take(&mut self, order: DivergenceOrder) -> Option<Alternative> {
        let height = self.open.iter().map(Alternative::height).max()?;
        // Of two sides that run, first the one at the higher address: the other one may be the next iteration of a
        // loop.
        let runs = self.open.iter().enumerate();
        let runs = runs.filter(|(_, one)| one.height() == height && !one.waits);
        let first = runs.max_by_key(|(_, one)| one.stack.running().map(|(point, _)| point.at));
        if let Some((index, _)) = first {
            return Some(self.open.swap_remove(index));
        }
        let first = self.open.iter().position(|one| one.height() == height)?;
        let mut joined = self.open.swap_remove(first);
        while let Some(index) = self.open.iter().position(|one| one.waits_with(&joined)) {
            let other = self.open.swap_remove(index);
            let (both, waiting) = joined.join(other, order);
            joined = both;
            self.open.extend(waiting);
        }
        joined.waits = false;
        Some(joined)
    }
}
