//! SIMD of a compute unit: its waves, and the order of issue.

use smallvec::SmallVec;
use warpbound_machine::SchedulerPolicy;
use warpbound_timing::IssueKind;

use super::pipelines::{Issuer, Pipelines};
use super::wave::Turns;

/// Entry of a SIMD for one of its waves.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimdWave {
    /// First turn when it can issue, as far as that depends on the wave itself.
    pub(super) ready: u64,
    /// Kind of its next instruction.
    pub(super) kind: IssueKind,
    /// Slot of the compute unit.
    pub(super) slot: u32,
    /// Base slot of its wave.
    pub(super) base: u32,
}

impl SimdWave {
    /// The wave as the issuer of an instruction.
    pub(super) fn issuer(&self) -> Issuer {
        Issuer {
            slot: self.slot,
            base: self.base,
        }
    }
}

/// SIMD of a compute unit.
#[derive(Clone, Debug)]
pub(in crate::timed) struct Simd {
    /// Its waves, oldest first.
    waves: Vec<SimdWave>,
    /// Slot of the wave that was the first to issue in the last turn with an issue.
    last: Option<u32>,
    pub(super) turns: Turns,
    pub(super) vector: Pipelines,
    /// Waves and splits that hold registers of the SIMD.
    pub(super) holders: u64,
    /// Number of these holders that are not splits.
    pub(super) base_waves: u64,
}

impl Simd {
    pub(super) fn new(turns: Turns, vector: Pipelines) -> Simd {
        Simd {
            waves: Vec::new(),
            last: None,
            turns,
            vector,
            holders: 0,
            base_waves: 0,
        }
    }

    /// Adds a wave, which is the youngest.
    pub(super) fn add(&mut self, entry: SimdWave) {
        self.waves.push(entry);
    }

    /// Removes a wave.
    pub(super) fn remove(&mut self, slot: u32) {
        self.waves.retain(|wave| wave.slot != slot);
        // The next wave in this slot is another wave: it did not issue last.
        self.last = self.last.filter(|last| *last != slot);
    }

    /// Its waves, oldest first.
    pub(super) fn waves(&self) -> &[SimdWave] {
        &self.waves
    }

    /// Updates the first turn when a wave can issue, and the kind of its next instruction.
    pub(super) fn update(&mut self, slot: u32, ready: u64, kind: IssueKind) {
        if let Some(wave) = self.waves.iter_mut().find(|wave| wave.slot == slot) {
            (wave.ready, wave.kind) = (ready, kind);
        }
    }

    /// Returns the waves that are ready in a turn, in the order of issue.
    pub(super) fn ready(&self, now: u64, policy: SchedulerPolicy) -> SmallVec<[SimdWave; 16]> {
        let next = match policy {
            SchedulerPolicy::Lrr => {
                let last = |slot| self.waves.iter().position(|wave| wave.slot == slot);
                let position = self.last.and_then(last);
                position.map_or(0, |position| position + 1)
            }
            // Other policies begin with the oldest wave.
            _ => 0,
        };
        let (before, after) = self.waves.split_at(next.min(self.waves.len()));
        let all = after.iter().chain(before);
        all.filter(|wave| wave.ready <= now).copied().collect()
    }

    /// Records the wave that is the first to issue in a turn.
    pub(super) fn record_first(&mut self, slot: u32) {
        self.last = Some(slot);
    }
}

/// Instructions that have issued in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnIssues {
    /// Base slot of the wave that issued each kind.
    waves: [Option<u32>; IssueKind::COUNT],
    /// Number of kinds, without internal instructions.
    kinds: u64,
}

impl TurnIssues {
    pub(super) fn new() -> TurnIssues {
        TurnIssues {
            waves: [None; IssueKind::COUNT],
            kinds: 0,
        }
    }

    /// Whether a wave may issue, too, after the instructions that have issued in the turn: as the first of its kind,
    /// if fewer than `most` kinds have issued, or together with a sibling that was the first. Internal instructions
    /// need no unit.
    pub(super) fn allow(&self, entry: &SimdWave, most: u64, together: bool) -> bool {
        let has_pipelines = matches!(
            entry.kind,
            IssueKind::Vector | IssueKind::Scalar | IssueKind::Branch
        );
        match (entry.kind, self.waves[entry.kind as usize]) {
            (IssueKind::Internal, _) => true,
            (_, None) => self.kinds < most,
            (_, Some(first)) => together && has_pipelines && first == entry.base,
        }
    }

    /// Records an issue.
    pub(super) fn record(&mut self, entry: &SimdWave) {
        let wave = &mut self.waves[entry.kind as usize];
        // Internal instructions need no unit, so any number of them may issue.
        if entry.kind != IssueKind::Internal && wave.is_none() {
            *wave = Some(entry.base);
            self.kinds += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(slot: u32, kind: IssueKind) -> SimdWave {
        SimdWave {
            ready: 0,
            kind,
            slot,
            base: slot % 8,
        }
    }

    /// Returns the first wave to issue in each of five turns, if all are ready in each.
    fn first_waves(policy: SchedulerPolicy) -> Vec<u32> {
        let turns = Turns { simds: 4, simd: 0 };
        let mut simd = Simd::new(turns, Pipelines::new(0));
        for slot in [4, 0, 8] {
            simd.add(entry(slot, IssueKind::Vector));
        }
        let turn = |now| {
            let first = simd.ready(now, policy).first().map(|wave| wave.slot);
            let first = first.expect("ready waves");
            simd.record_first(first);
            first
        };
        (0..5).map(turn).collect()
    }

    #[test]
    fn policies() {
        assert_eq!(first_waves(SchedulerPolicy::Oldest), [4, 4, 4, 4, 4]);
        assert_eq!(first_waves(SchedulerPolicy::Lrr), [4, 0, 8, 4, 0]);
    }

    /// One wave of each kind, at most five kinds, and siblings with pipelines.
    #[test]
    fn issues_of_a_turn() {
        use IssueKind as K;
        let mut issues = TurnIssues::new();
        for (slot, kind) in [K::Vector, K::Scalar, K::VectorMemory, K::Lds]
            .into_iter()
            .enumerate()
        {
            let entry = entry(slot as u32, kind);
            assert!(issues.allow(&entry, 5, true));
            issues.record(&entry);
        }
        // Another wave, a sibling, and a sibling of a wave whose unit is one.
        assert!(!issues.allow(&entry(5, K::Vector), 5, true));
        assert!(issues.allow(&entry(8, K::Vector), 5, true));
        assert!(!issues.allow(&entry(8, K::Vector), 5, false));
        assert!(!issues.allow(&entry(11, K::Lds), 5, true));
        let fifth = entry(6, K::Branch);
        assert!(!issues.allow(&fifth, 4, true));
        assert!(issues.allow(&fifth, 5, true));
        issues.record(&fifth);
        assert!(!issues.allow(&entry(7, K::ScalarMemory), 5, true));
        assert!(issues.allow(&entry(7, K::Internal), 5, true));
    }
}
