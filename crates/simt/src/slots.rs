//! Renumbering of stack slots when entries are added or removed.

use smallvec::SmallVec;

use crate::bitset::BitSet;

/// Monotone renumbering of slots. The remaining slots keep their order, so they move in runs, and relation tables are
/// copied run by run. For example, if slot 2 of the slots 0 to 4 is removed, the runs are 0..2 to 0..2 and 3..5 to
/// 2..4.
#[derive(Clone, Debug)]
pub struct SlotMap {
    runs: SmallVec<[Run; 8]>,
    size: usize,
}

/// Slots `old..old + length` become `new..new + length`.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// First slot, old number.
    pub old: usize,
    /// First slot, new number.
    pub new: usize,
    /// Number of slots.
    pub length: usize,
}

impl SlotMap {
    /// Returns the renumbering from the old numbers, listed by new number and ascending; `None` stands for an added
    /// slot.
    pub fn of_origins(origins: impl IntoIterator<Item = Option<usize>>) -> SlotMap {
        let mut runs: SmallVec<[Run; 8]> = SmallVec::new();
        let mut size = 0;
        for (new, origin) in origins.into_iter().enumerate() {
            size = new + 1;
            let Some(old) = origin else { continue };
            match runs.last_mut() {
                Some(run) if run.old + run.length == old && run.new + run.length == new => {
                    run.length += 1;
                }
                _ => runs.push(Run {
                    old,
                    new,
                    length: 1,
                }),
            }
        }
        SlotMap { runs, size }
    }

    /// Number of slots after the renumbering.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The runs, ascending.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns a set of slots under the new numbers, without removed slots.
    pub fn map_set(&self, before: &BitSet) -> BitSet {
        let mut now = BitSet::new();
        self.add_mapped(before, &mut now);
        now
    }

    /// Adds the members of `before`, under their new numbers, to `to`; returns whether `to` grew.
    pub fn add_mapped(&self, before: &BitSet, to: &mut BitSet) -> bool {
        let mut grew = false;
        for run in &self.runs {
            let mut done = 0;
            while done < run.length {
                // A word of the set holds 64 slots, so a run is copied in parts of at most 64.
                let count = (run.length - done).min(64);
                grew |= to.deposit(run.new + done, before.extract(run.old + done, count));
                done += count;
            }
        }
        grew
    }

    /// Returns the list with an element for each slot under the new numbers; added slots get `fresh`.
    pub fn map_list<T: Clone>(&self, before: &[T], fresh: T) -> Vec<T> {
        let mut now = vec![fresh; self.size];
        for run in &self.runs {
            now[run.new..run.new + run.length]
                .clone_from_slice(&before[run.old..run.old + run.length]);
        }
        now
    }
}
