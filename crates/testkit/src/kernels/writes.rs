use std::collections::{BTreeMap, BTreeSet};

/// Writes of unordered threads to a buffer that none of them reads.
#[derive(Default)]
pub(super) struct UnorderedWrites {
    /// Last number that each thread writes, by cell and thread.
    cells: BTreeMap<usize, BTreeMap<usize, i32>>,
}

impl UnorderedWrites {
    pub(super) fn write(&mut self, thread: usize, cell: usize, value: i32) {
        self.cells.entry(cell).or_default().insert(thread, value);
    }

    /// Returns the threads that write the first contested cell: one whose final contents depend on the order of
    /// threads.
    pub(super) fn contesting_threads(&self) -> Option<Vec<usize>> {
        let contested = self.cells.values().find(|threads| {
            let mut values = threads.values();
            let first = values.next();
            values.any(|value| Some(value) != first)
        });
        contested.map(|threads| threads.keys().copied().collect())
    }

    /// Measure of variety: the number of written cells of all threads plus the number of distinct values.
    fn variety(&self) -> usize {
        let all = || self.cells.values().flat_map(BTreeMap::values);
        all().count() + all().collect::<BTreeSet<_>>().len()
    }

    /// Returns the buffer after all threads.
    ///
    /// # Panics
    ///
    /// A cell is contested.
    pub(super) fn final_contents(&self, start: &[i32]) -> Vec<i32> {
        assert_eq!(
            self.contesting_threads(),
            None,
            "the order of threads matters"
        );
        let mut end = start.to_vec();
        for (&cell, threads) in &self.cells {
            end[cell] = threads.values().copied().next().unwrap_or(end[cell]);
        }
        end
    }
}

/// Number of draws for one number of threads.
const DRAWS: usize = 300;

/// Returns the most varied of [`DRAWS`] draws without a contested cell. If there is none, tries half the number of
/// threads, and so on.
pub(super) fn uncontested<T>(
    threads: usize,
    mut draw: impl FnMut(usize) -> (T, UnorderedWrites),
) -> (usize, T, UnorderedWrites) {
    let mut threads = threads;
    loop {
        let draws = (0..DRAWS).map(|_| draw(threads));
        let fit = draws.filter(|(_, writes)| writes.contesting_threads().is_none());
        if let Some((inputs, writes)) = fit.max_by_key(|(_, writes)| writes.variety()) {
            return (threads, inputs, writes);
        }
        threads = threads.div_ceil(2);
    }
}
