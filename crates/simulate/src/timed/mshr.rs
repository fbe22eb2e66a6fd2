//! Miss-status holding registers (MSHRs) of an SM (Kroft 1981) and its store buffer: limits of the sectors in flight.

use std::collections::VecDeque;

/// Store buffer of an SM: sectors written by stores that the L2 cache has not accepted yet. It fills and drains like
/// an MSHR file.
pub(super) type StoreBuffer = MshrFile;

/// MSHRs of an SM, one per sector that was requested from the L2 cache and has not arrived.
#[derive(Clone, Debug)]
pub(super) struct MshrFile {
    /// Number of registers.
    capacity: u64,
    /// Registers in use.
    occupied: u64,
    /// Cycles when registers are freed, with their numbers; ascending.
    releases: VecDeque<(u64, u64)>,
}

impl MshrFile {
    /// Returns a file of free registers, at least one.
    pub(super) fn new(capacity: u64) -> MshrFile {
        MshrFile {
            capacity: capacity.max(1),
            occupied: 0,
            releases: VecDeque::new(),
        }
    }

    /// Returns the first cycle, not before `at`, when `count` registers are free. Registers are reused in the order
    /// of their release. A request for more registers than there are waits until all of them are free. For example,
    /// with 4 registers, 3 of them in use until cycle 50, a request for 2 in cycle 10 waits until cycle 50.
    pub(super) fn wait_for_free(&mut self, at: u64, count: u64) -> u64 {
        let mut start = at;
        while let Some(&(time, released)) = self.releases.front()
            && (time <= start || self.occupied + count > self.capacity)
        {
            self.releases.pop_front();
            self.occupied -= released;
            start = start.max(time);
        }
        start
    }

    /// Allocates registers until a cycle, after [`MshrFile::wait_for_free`].
    pub(super) fn allocate(&mut self, count: u64, until: u64) {
        self.occupied += count;
        // Most registers are released after all earlier ones, so the search starts at the end.
        let later = self.releases.iter().rev();
        let later = later.take_while(|(time, _)| *time > until);
        let position = self.releases.len() - later.count();
        self.releases.insert(position, (until, count));
    }
}

#[cfg(test)]
mod tests {
    use super::MshrFile;

    /// Registers that are released first are reused first, whatever the order of allocation.
    #[test]
    fn registers_are_reused_in_the_order_of_release() {
        let mut mshrs = MshrFile::new(8);
        assert_eq!(mshrs.wait_for_free(0, 4), 0);
        mshrs.allocate(4, 1000);
        assert_eq!(mshrs.wait_for_free(0, 4), 0);
        mshrs.allocate(4, 50);
        assert_eq!(mshrs.wait_for_free(10, 4), 50);
        mshrs.allocate(4, 70);
        assert_eq!(mshrs.wait_for_free(10, 4), 70);
        mshrs.allocate(4, 2000);
        assert_eq!(mshrs.wait_for_free(10, 16), 2000);
    }
}
