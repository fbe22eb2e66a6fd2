//! Renumbering of slots.

use smallvec::SmallVec;

use crate::bitset::BitSet;

/// How slots move when some are added or taken out: the others keep their order, so they move in runs.
#[derive(Clone, Debug)]
pub struct SlotMap {
    runs: SmallVec<[Run; 8]>,
    size: usize,
}

/// Slots `old..old + length` become `new..new + length`.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// First slot before.
    pub old: usize,
    /// First slot now.
    pub new: usize,
    /// Number of slots.
    pub length: usize,
}

impl SlotMap {
    /// For each slot now, its slot before, in ascending order; `None` for a new one.
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

    /// Number of slots now.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The runs, ascending.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The members of a set of slots at their new places; those that are gone are left out.
    pub fn set(&self, before: &BitSet) -> BitSet {
        let mut now = BitSet::new();
        self.add(before, &mut now);
        now
    }

    /// Adds the members of `before`, at their new places, to `to`; true when it grew.
    pub fn add(&self, before: &BitSet, to: &mut BitSet) -> bool {
        let mut grew = false;
        for run in &self.runs {
            let mut done = 0;
            while done < run.length {
                let count = (run.length - done).min(64);
                grew |= to.deposit(run.new + done, before.extract(run.old + done, count));
                done += count;
            }
        }
        grew
    }

    /// A list with an element for each slot, renumbered; `fresh` for new slots.
    pub fn list<T: Clone>(&self, before: &[T], fresh: T) -> Vec<T> {
        let mut now = vec![fresh; self.size];
        for run in &self.runs {
            now[run.new..run.new + run.length]
                .clone_from_slice(&before[run.old..run.old + run.length]);
        }
        now
    }
}
