//! Pipelines of a unit (a vector ALU, a scalar ALU or a branch unit), each for one instruction at a time.
//!
//! With splits there is one more pipeline for each reserve slot of a wave (`wavefront-splitting-2022`, 4.4). The
//! further pipelines serve siblings only: other splits of the wave that is in the first pipeline. All other waves see
//! the machine as it is without splits.

use smallvec::SmallVec;

/// Wave or split that issues an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Issuer {
    /// Its slot.
    pub(super) slot: u32,
    /// Base slot of its wave.
    pub(super) base: u32,
}

/// One pipeline.
#[derive(Clone, Copy, Debug)]
struct Pipeline {
    /// First cycle when it accepts an instruction.
    free: u64,
    /// Wave or split whose instruction it accepted last.
    issuer: Issuer,
}

/// Pipelines of a unit.
#[derive(Clone, Debug)]
pub(super) struct Pipelines(SmallVec<[Pipeline; 4]>);

impl Pipelines {
    /// Returns one idle pipeline and some further ones.
    pub(super) fn new(further: u32) -> Pipelines {
        let none = Issuer {
            slot: u32::MAX,
            base: u32::MAX,
        };
        let idle = Pipeline {
            free: 0,
            issuer: none,
        };
        Pipelines(SmallVec::from_elem(idle, further as usize + 1))
    }

    /// Returns the first cycle, not before `now`, when a pipeline accepts an instruction of a wave or split.
    pub(super) fn accepts(&self, now: u64, issuer: Issuer) -> u64 {
        self.choose(now, issuer).1
    }

    /// Occupies a pipeline for an instruction that issues in cycle `now`, when one accepts it.
    pub(super) fn occupy(&mut self, now: u64, issuer: Issuer, cycles: u64) {
        let (pipeline, _) = self.choose(now, issuer);
        if let Some(pipeline) = self.0.get_mut(pipeline) {
            let free = now + cycles;
            *pipeline = Pipeline { free, issuer };
        }
    }

    /// Pipeline that accepts an instruction of a wave or split first, and the cycle.
    fn choose(&self, now: u64, issuer: Issuer) -> (usize, u64) {
        let Some((first, further)) = self.0.split_first() else {
            return (0, now);
        };
        let is_sibling = first.issuer.base == issuer.base && first.issuer.slot != issuer.slot;
        if first.free <= now || !is_sibling {
            return (0, first.free.max(now));
        }
        // The first pipeline is busy with a sibling. A split that is in a further pipeline waits for it, because it
        // uses one at a time.
        let further = || (1..).zip(further);
        let own = further().find(|(_, own)| own.free > now && own.issuer == issuer);
        let found = own.or_else(|| further().min_by_key(|(_, pipeline)| pipeline.free));
        match found {
            Some((number, pipeline)) if pipeline.free < first.free => {
                (number, pipeline.free.max(now))
            }
            _ => (0, first.free),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer(slot: u32, base: u32) -> Issuer {
        Issuer { slot, base }
    }

    /// One pipeline: an instruction waits for the one before, of whichever wave.
    #[test]
    fn one_pipeline() {
        let mut pipelines = Pipelines::new(0);
        pipelines.occupy(4, issuer(1, 1), 16);
        assert_eq!(pipelines.accepts(4, issuer(41, 1)), 20);
        assert_eq!(pipelines.accepts(4, issuer(2, 2)), 20);
        assert_eq!(pipelines.accepts(24, issuer(2, 2)), 24);
    }

    /// Siblings issue together, as many as there are pipelines; others wait for the first pipeline.
    #[test]
    fn further_pipelines_are_for_siblings() {
        let mut pipelines = Pipelines::new(2);
        for slot in [1, 41, 42] {
            assert_eq!(pipelines.accepts(4, issuer(slot, 1)), 4);
            pipelines.occupy(4, issuer(slot, 1), 8);
        }
        // All three pipelines are busy.
        assert_eq!(pipelines.accepts(4, issuer(43, 1)), 12);
        assert_eq!(pipelines.accepts(4, issuer(2, 2)), 12);
        // The first pipeline belongs to another wave: the siblings of the first wave wait for it.
        pipelines.occupy(12, issuer(2, 2), 8);
        assert_eq!(pipelines.accepts(12, issuer(41, 1)), 20);
        assert_eq!(pipelines.accepts(12, issuer(2, 2)), 20);
    }

    /// A wave that has not split waits for its own instruction, and so does a split in a further pipeline.
    #[test]
    fn one_pipeline_for_each() {
        let mut pipelines = Pipelines::new(2);
        pipelines.occupy(4, issuer(1, 1), 16);
        assert_eq!(pipelines.accepts(8, issuer(1, 1)), 20);
        pipelines.occupy(8, issuer(41, 1), 4);
        assert_eq!(pipelines.accepts(8, issuer(41, 1)), 12);
        assert_eq!(pipelines.accepts(8, issuer(42, 1)), 8);
        pipelines.occupy(12, issuer(41, 1), 16);
        assert_eq!(pipelines.accepts(12, issuer(41, 1)), 20);
    }
}
