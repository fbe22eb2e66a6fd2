//! Alternatives of a profiled warp: the lanes that may be on one path, with their stack and their values.
//!
//! Where unknown values decide a transfer, the warp continues in two alternatives, one for each side. A lane of which
//! it is not known which side it takes is in both. Alternatives meet where the entry resumes that all of their lanes
//! wait for: there they become one again (SOUNDNESS 6.5).

use warpbound_simt::activation_stack::{ActivationStack, StackEntry};
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask, Tag, TransferError, lanes_of};

use super::row::{LANES, LaneRow};

/// Lanes that may be on one path.
#[derive(Clone, Debug)]
pub(super) struct Alternative {
    /// Stack of these lanes.
    pub(super) stack: ActivationStack<u32>,
    /// Values of the followed cells.
    pub(super) rows: Vec<LaneRow>,
    /// For each loop with a stated bound and each lane, header executions since the loop was entered, at least.
    pub(super) iterations: Vec<[u64; LANES]>,
    /// Whether all its lanes are certainly on the path.
    pub(super) is_certain: bool,
    /// Whether its lanes wait at an entry for those of other alternatives.
    pub(super) waits: bool,
}

impl Alternative {
    /// The number of stack entries; 0 if all lanes have ended.
    pub(super) fn height(&self) -> usize {
        match self.stack.top() {
            Some(_) => self.stack.pending().len() + 1,
            None => 0,
        }
    }

    /// All entries, bottom first.
    fn entries(&self) -> Vec<StackEntry<u32>> {
        let pending = self.stack.pending().iter();
        pending.chain(self.stack.top()).copied().collect()
    }

    /// The lanes of all entries.
    fn lanes(&self) -> Mask {
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
            is_certain: false,
            ..self.clone()
        }
    }

    /// Applies a transfer that all active lanes take.
    pub(super) fn move_all(
        &mut self,
        transfer: &ControlTransfer<'_, u32>,
        next: u32,
    ) -> Result<(), TransferError> {
        let active = self.stack.running().map_or(0, |(_, active)| active);
        self.stack.apply(transfer, active, next).map(|_| ())
    }

    /// Joins another alternative that waits at the same entry; `false` if they do not fit.
    ///
    /// They fit if no lane is at one entry in one of them and at another entry in the other one: on leaving the first
    /// entry it would leave the second one too.
    pub(super) fn join(&mut self, other: &Alternative, order: DivergenceOrder) -> bool {
        let (mut entries, others) = (self.entries(), other.entries());
        let top = entries.len().saturating_sub(1);
        let same_entries = entries.len() == others.len()
            && entries
                .iter()
                .zip(&others)
                .enumerate()
                .all(|(index, (a, b))| {
                    (a.next, a.pushed_by) == (b.next, b.pushed_by)
                        && (a.tag == b.tag || index == top)
                });
        let (own, common) = (self.lanes(), self.lanes() & other.lanes());
        let fits = lanes_of(common).all(|lane| place(&entries, lane) == place(&others, lane));
        if !same_entries || !fits {
            return false;
        }
        for (entry, more) in entries.iter_mut().zip(&others) {
            entry.mask |= more.mask;
        }
        self.stack = ActivationStack::from_entries(entries, order);
        let (new, both) = ((other.lanes() & !own) as u32, common as u32);
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            row.overwrite(more, new, both);
            row.origin = row.origin.with(more.origin);
        }
        for (counts, more) in self.iterations.iter_mut().zip(&other.iterations) {
            for (lane, (count, &more)) in counts.iter_mut().zip(more).enumerate() {
                if new >> lane & 1 == 1 {
                    *count = more;
                } else if both >> lane & 1 == 1 {
                    *count = more.min(*count);
                }
            }
        }
        self.is_certain &= other.is_certain;
        true
    }
}

/// Index of the uppermost entry that has a lane.
fn place(entries: &[StackEntry<u32>], lane: usize) -> Option<usize> {
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

    /// Takes the alternative that continues: one with the most entries, which the others of this height at the entry
    /// have joined. So whatever may still arrive at the entry of an alternative that waits is run before it.
    ///
    /// # Errors
    ///
    /// Point at which alternatives do not fit.
    pub(super) fn take(&mut self, order: DivergenceOrder) -> Result<Option<Alternative>, u32> {
        let Some(height) = self.open.iter().map(Alternative::height).max() else {
            return Ok(None);
        };
        // Of two sides that run, first the one at the higher address: the other one may be the next iteration of a loop.
        let runs = self.open.iter().enumerate();
        let runs = runs.filter(|(_, one)| one.height() == height && !one.waits);
        let first = runs.max_by_key(|(_, one)| one.stack.running().map(|(at, _)| at));
        if let Some((index, _)) = first {
            return Ok(Some(self.open.swap_remove(index)));
        }
        let Some(first) = self.open.iter().position(|one| one.height() == height) else {
            return Ok(None);
        };
        let mut joined = self.open.swap_remove(first);
        while let Some(index) = self.open.iter().position(|one| one.height() == height) {
            let other = self.open.swap_remove(index);
            if !joined.join(&other, order) {
                let at = joined.stack.running().map_or(0, |(at, _)| at);
                return Err(at);
            }
        }
        joined.waits = false;
        Ok(Some(joined))
    }
}

/// Tag of the entries that a stack operation names; `None` for those that no execution model has.
pub(super) fn tag_of(token: warpbound_isa::instr::StackToken) -> Option<Tag> {
    use warpbound_isa::instr::StackToken;
    match token {
        StackToken::Sync => Some(Tag::Sync),
        StackToken::Brk => Some(Tag::Brk),
        StackToken::Cont => Some(Tag::Cont),
        StackToken::Ret => Some(Tag::Ret),
        StackToken::LongJmp | StackToken::Exit => None,
    }
}
