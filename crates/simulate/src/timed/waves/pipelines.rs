//! Pipelines of a unit that executes one instruction of each in its time: a vector ALU, a scalar ALU, a branch unit.
//!
//! With splits there is a pipeline more for each reserve slot of a wave (`wavefront-splitting-2022`, 4.4). The further
//! ones are for siblings only: splits of the wave of which a part is in the first pipeline. Other waves see the machine
//! without splits.

use smallvec::SmallVec;

/// Pipelines of a unit.
#[derive(Clone, Debug)]
pub(super) struct Pipelines {
    /// First cycle in which each accepts an instruction.
    free: SmallVec<[u64; 4]>,
    /// Base slot of the wave that the first pipeline accepted last.
    owner: u32,
}

impl Pipelines {
    /// Returns one idle pipeline and some further ones.
    pub(super) fn new(further: u32) -> Pipelines {
        Pipelines {
            free: SmallVec::from_elem(0, further as usize + 1),
            owner: u32::MAX,
        }
    }

    /// Returns the first cycle, not before `now`, in which a pipeline accepts an instruction of the wave of a base slot.
    pub(super) fn accepts(&self, now: u64, wave: u32) -> u64 {
        self.choose(now, wave).1
    }

    /// Occupies a pipeline for an instruction that issues in cycle `now`, in which one accepts it.
    pub(super) fn occupy(&mut self, now: u64, wave: u32, cycles: u64) {
        let (pipeline, _) = self.choose(now, wave);
        if pipeline == 0 {
            self.owner = wave;
        }
        if let Some(free) = self.free.get_mut(pipeline) {
            *free = now + cycles;
        }
    }

    /// Pipeline that accepts an instruction of a wave first, and the cycle.
    fn choose(&self, now: u64, wave: u32) -> (usize, u64) {
        let first = self.free.first().copied().unwrap_or(0);
        if first <= now || self.owner != wave {
            return (0, first.max(now));
        }
        // The first is busy with a sibling.
        let all = self.free.iter().copied().enumerate();
        let found = all.min_by_key(|(_, free)| *free);
        found.map_or((0, now), |(pipeline, free)| (pipeline, free.max(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One pipeline: an instruction waits for the one before, of whichever wave.
    #[test]
    fn one_pipeline() {
        let mut pipelines = Pipelines::new(0);
        pipelines.occupy(4, 1, 16);
        assert_eq!(pipelines.accepts(4, 1), 20);
        assert_eq!(pipelines.accepts(4, 2), 20);
        assert_eq!(pipelines.accepts(24, 2), 24);
    }

    /// Siblings issue together, as many as there are pipelines; others wait for the first pipeline.
    #[test]
    fn further_pipelines_are_for_siblings() {
        let mut pipelines = Pipelines::new(2);
        for _ in 0..3 {
            assert_eq!(pipelines.accepts(4, 1), 4);
            pipelines.occupy(4, 1, 8);
        }
        assert_eq!(pipelines.accepts(4, 1), 12);
        assert_eq!(pipelines.accepts(4, 2), 12);
        // The first pipeline belongs to another wave: the siblings of the first wave wait for it.
        pipelines.occupy(12, 2, 8);
        assert_eq!(pipelines.accepts(12, 1), 20);
        assert_eq!(pipelines.accepts(12, 2), 12);
    }
}
