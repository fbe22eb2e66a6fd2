//! Outcomes that decide the time of an instruction in addition to control words, units and scoreboards: the worst
//! ones in a bound, the recorded ones in a replay. For example, a load may find its sectors in the L2 cache or not.

use crate::account::Term;
use crate::memory::times::MemoryTimes;
use crate::memory::{AccessLimits, AccessTimes};
use crate::state::{Layout, Part, TimeVector};
use crate::step::OpWaits;

/// Outcomes of one execution of an instruction. Times are in thousandths of cycles.
pub(crate) trait StepOutcomes {
    /// Whether the pipe of an instruction that may take either pipe is known: the first one that is free.
    const KNOWS_PIPE: bool;

    /// Whether the instruction may issue together with the one before it, as the second of a pair.
    fn may_be_second(&self) -> bool;

    /// Whether the machine issues pairs.
    fn issues_pairs(&self) -> bool;

    /// Time at which the lines of its constant operands are present; `None` if they are present already.
    fn operands(&mut self, vector: &mut TimeVector) -> Option<i64>;

    /// Number of words of 32 bits of each lane. The unit serves them one after the other.
    fn words(&self) -> i64;

    /// Times of its memory access, if its unit starts at `start`, and the term for waits for them; `None` if nothing
    /// is known about an access.
    fn access(
        &mut self,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
    ) -> Option<(AccessTimes, Term)>;

    /// Time at which the last of the constants that it loads is present, if its unit starts at `start` and each further
    /// address takes `replay` more; `None` if it loads none.
    fn loaded_constants(&mut self, vector: &mut TimeVector, start: i64, replay: i64)
    -> Option<i64>;

    /// Whether the warp waits at the barrier where it arrives.
    fn waits_at_barrier(&self) -> bool;
}

/// Worst outcomes: each component of the time vector is as late as possible.
pub(crate) struct WorstOutcomes<'a> {
    pub(crate) memory: &'a MemoryTimes,
    pub(crate) access: Option<&'a AccessLimits>,
    /// Maximum number of sectors of any load and of any store.
    pub(crate) most_sectors: [u32; 2],
    pub(crate) waits: &'a OpWaits,
}

impl StepOutcomes for WorstOutcomes<'_> {
    const KNOWS_PIPE: bool = false;

    /// Without dual issue the second of a pair issues a cycle later (`issue.dual` is lower).
    fn may_be_second(&self) -> bool {
        false
    }

    fn issues_pairs(&self) -> bool {
        false
    }

    fn operands(&mut self, vector: &mut TimeVector) -> Option<i64> {
        let arrival = self.waits.constants.arrival(vector)?;
        // A load requests its lines when its unit starts it, which may be later than now.
        let loaded = match self.waits.may_be_loaded {
            // What is certainly in the second cache is on its way from there at most.
            true if !self.waits.constants.reaches_l2 => vector.get(Part::LoadedConstants),
            true => vector.get(Part::LoadedConstants) + self.waits.from_second,
            false => arrival,
        };
        Some(arrival.max(loaded))
    }

    fn words(&self) -> i64 {
        self.access
            .map_or(1, |access| i64::from(access.bytes / 4).max(1))
    }

    fn access(
        &mut self,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
    ) -> Option<(AccessTimes, Term)> {
        let access = self.access?;
        let (waits, most) = (self.waits.access, self.most_sectors);
        let times = self
            .memory
            .access(vector, layout, start, access, waits, most);
        Some((times, Term::of_access(access)))
    }

    fn loaded_constants(
        &mut self,
        vector: &mut TimeVector,
        start: i64,
        replay: i64,
    ) -> Option<i64> {
        // The words are requested one after the other, so the last request is the latest.
        let last = start + i64::from(self.waits.further_words) * replay;
        if !self.waits.loaded_constants.waits {
            return Some(last);
        }
        // A line of the first cache may be part of one on its way to the second, requested by an earlier load or for
        // another address of this one, unless it is certainly in the second.
        let from_second = match self.waits.loaded_constants.reaches_l2 {
            true => self.waits.from_second,
            false => 0,
        };
        let in_flight = vector.get(Part::LoadedConstants) + from_second;
        let arrival = self.waits.loaded_constants.arrival_from(vector, last);
        vector.raise(Part::LoadedConstants, arrival);
        let own = match self.waits.further_words {
            0 => arrival,
            _ => arrival + from_second,
        };
        Some(own.max(in_flight))
    }

    fn waits_at_barrier(&self) -> bool {
        true
    }
}
