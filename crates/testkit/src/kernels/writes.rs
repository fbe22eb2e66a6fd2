use std::collections::{BTreeMap, BTreeSet};

/// What threads write into a buffer none of them reads, when nothing says in which order threads go.
#[derive(Default)]
pub(super) struct Writes {
    /// By cell and thread: the last number that the thread writes there.
    cells: BTreeMap<usize, BTreeMap<usize, i32>>,
}

impl Writes {
    pub(super) fn write(&mut self, thread: usize, cell: usize, value: i32) {
        self.cells.entry(cell).or_default().insert(thread, value);
    }

    /// Threads that write different numbers last into one cell, so that their order decides what it holds: the first such
    /// cell's.
    pub(super) fn contest(&self) -> Option<Vec<usize>> {
        let contested = self.cells.values().find(|threads| {
            let mut values = threads.values();
            let first = values.next();
            values.any(|value| Some(value) != first)
        });
        contested.map(|threads| threads.keys().copied().collect())
    }

    /// The writes into cells of each thread's, and the different numbers among them.
    fn variety(&self) -> usize {
        let all = || self.cells.values().flat_map(BTreeMap::values);
        all().count() + all().collect::<BTreeSet<_>>().len()
    }

    /// The buffer after all threads.
    ///
    /// # Panics
    ///
    /// Where threads contest a cell.
    pub(super) fn end(&self, start: &[i32]) -> Vec<i32> {
        assert_eq!(self.contest(), None, "the order of threads matters");
        let mut end = start.to_vec();
        for (&cell, threads) in &self.cells {
            end[cell] = threads.values().copied().next().unwrap_or(end[cell]);
        }
        end
    }
}

/// Draws for one number of threads.
const DRAWS: usize = 300;

/// Of many draws for this number of threads, one after which no cell is contested: that with the most writes
/// and different results.
/// Where there is none, one for half the threads, and so on.
pub(super) fn uncontested<T>(
    threads: usize,
    mut draw: impl FnMut(usize) -> (T, Writes),
) -> (usize, T, Writes) {
    let mut threads = threads;
    loop {
        let draws = (0..DRAWS).map(|_| draw(threads));
        let fit = draws.filter(|(_, writes)| writes.contest().is_none());
        if let Some((inputs, writes)) = fit.max_by_key(|(_, writes)| writes.variety()) {
            return (threads, inputs, writes);
        }
        threads = threads.div_ceil(2);
    }
}
