//! A warp scheduler and the units of its sub-partition.

use smallvec::SmallVec;
use warpbound_machine::{Parameter, WarpPolicy};

use super::numbers::Numbers;
use super::row::Unit;

/// A time that does not come by itself.
pub(super) const NEVER: u64 = u64::MAX;

/// A warp as its scheduler sees it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// From when on it can issue, as far as it depends on itself.
    ready: u64,
    /// What its next instruction needs.
    unit: Unit,
    /// Which of the warps of the SM it is.
    slot: u32,
}

/// A number that looks random (the last steps of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// A warp scheduler and the units of its sub-partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Scheduler {
    /// Its warps, the oldest first.
    warps: Vec<Candidate>,
    /// From when on an instruction for a unit can issue.
    open: [u64; Unit::COUNT],
    /// When a unit has done all that it was given.
    done: [u64; Unit::COUNT],
    /// Times at which the last instructions that a unit was given leave it, as many as may queue; of units with a queue.
    leave: [SmallVec<[u64; 8]>; Unit::COUNT],
    /// The slot of the warp that issued last, and whether it yields.
    last: Option<(u32, bool)>,
    /// When it looks at its warps again.
    pub(super) wakes: u64,
}

impl Scheduler {
    pub(super) fn new() -> Scheduler {
        Scheduler {
            wakes: NEVER,
            ..Scheduler::default()
        }
    }

    /// A warp is new and younger than all others.
    pub(super) fn add(&mut self, slot: u32, ready: u64, unit: Unit) {
        self.warps.push(Candidate { ready, unit, slot });
    }

    /// A warp is gone.
    pub(super) fn remove(&mut self, slot: u32) {
        self.warps.retain(|warp| warp.slot != slot);
        // The next warp in this slot is another one.
        self.last = self.last.filter(|(last, _)| *last != slot);
    }

    /// How many warps it has.
    pub(super) fn warps(&self) -> usize {
        self.warps.len()
    }

    /// When a warp can issue again, and what its next instruction needs.
    pub(super) fn set(&mut self, slot: u32, ready: u64, unit: Unit) {
        if let Some(warp) = self.warps.iter_mut().find(|warp| warp.slot == slot) {
            (warp.ready, warp.unit) = (ready, unit);
        }
    }

    /// From when on an instruction for a unit can issue.
    pub(super) fn open(&self, unit: Unit) -> u64 {
        self.open[unit as usize]
    }

    #[inline(always)]
    fn can(&self, warp: &Candidate) -> u64 {
        warp.ready.max(self.open[warp.unit as usize])
    }

    /// When the next warp can issue.
    pub(super) fn earliest(&self, policy: WarpPolicy) -> u64 {
        if policy == WarpPolicy::RunToBarrier {
            return self.runner().map_or(NEVER, |warp| self.can(warp));
        }
        let times = self.warps.iter().map(|warp| self.can(warp));
        times.min().unwrap_or(NEVER)
    }

    /// When a warp can issue.
    pub(super) fn earliest_of(&self, slot: u32) -> u64 {
        let warp = self.warps.iter().find(|warp| warp.slot == slot);
        warp.map_or(NEVER, |warp| self.can(warp))
    }

    /// The warp that issues at a cycle, by its slot.
    pub(super) fn choose(&self, now: u64, policy: WarpPolicy) -> Option<u32> {
        let can = |warp: &&Candidate| self.can(warp) <= now;
        let oldest = || self.warps.iter().find(can);
        let chosen = match policy {
            WarpPolicy::Oldest => oldest(),
            WarpPolicy::Lrr => {
                let last = self.last_place().map_or(0, |place| place + 1);
                let (before, behind) = self.warps.split_at(last.min(self.warps.len()));
                behind.iter().chain(before).find(can)
            }
            WarpPolicy::Gto => match self.last_place().zip(self.last) {
                None => oldest(),
                Some((place, (slot, yields))) => {
                    let last = self.warps.get(place).filter(can);
                    let other = || self.warps.iter().filter(|w| w.slot != slot).find(can);
                    match yields {
                        false => last.or_else(oldest),
                        true => other().or(last),
                    }
                }
            },
            WarpPolicy::RunToBarrier => self.runner().filter(can),
            WarpPolicy::Youngest => self.warps.iter().rev().find(can),
            WarpPolicy::ContendedUnit => {
                // The first of those with most others.
                let ready = self.warps.iter().rev().filter(can);
                ready.max_by_key(|warp| self.others_that_want(warp))
            }
            WarpPolicy::Random(seed) => {
                let ready = self.warps.iter().filter(can);
                ready.max_by_key(|warp| mixed(mixed(seed ^ now) ^ u64::from(warp.slot)))
            }
        };
        chosen.map(|warp| warp.slot)
    }

    /// Number of other warps that want the unit that the next instruction of a warp needs for theirs, ready or not.
    fn others_that_want(&self, warp: &Candidate) -> usize {
        let wants = |other: &&Candidate| {
            other.slot != warp.slot && other.ready != NEVER && other.unit.competes(warp.unit)
        };
        self.warps.iter().filter(wants).count()
    }

    fn last_place(&self) -> Option<usize> {
        let (slot, _) = self.last?;
        self.warps.iter().position(|warp| warp.slot == slot)
    }

    /// The warp that runs to its end or to a barrier.
    fn runner(&self) -> Option<&Candidate> {
        let goes_on = |warp: &&Candidate| warp.ready != NEVER;
        let last = self.last_place().and_then(|place| self.warps.get(place));
        last.filter(goes_on)
            .or_else(|| self.warps.iter().find(goes_on))
    }

    /// A warp has issued.
    pub(super) fn issued(&mut self, slot: u32, yields: bool) {
        self.last = Some((slot, yields));
    }

    /// A warp instruction is given to a unit at a cycle, for which it is as so many; when it begins there.
    pub(super) fn give(&mut self, unit: Unit, now: u64, times: u64, numbers: &Numbers) -> u64 {
        let unit = match unit {
            Unit::None => return now,
            Unit::Math if self.open(Unit::Fmai) <= now => Unit::Fmai,
            Unit::Math => Unit::Fxu,
            unit => unit,
        };
        let each = unit.occupancy().map_or(0, |number| numbers.peek(number));
        let place = unit as usize;
        let begin = now.max(self.done[place]);
        let done = begin + each * times;
        self.done[place] = done;
        self.open[place] = done;
        if unit.is_queued() {
            let queue = numbers.peek(Parameter::OccupancyQueue).max(1) as usize;
            let leave = &mut self.leave[place];
            leave.truncate(queue - 1);
            leave.insert(0, done);
            self.open[place] = leave.get(queue - 1).copied().unwrap_or(0);
        }
        if matches!(unit, Unit::Fxu | Unit::Fmai) {
            self.open[Unit::Math as usize] = self.open(Unit::Fxu).min(self.open(Unit::Fmai));
        }
        begin
    }

    /// The instruction that a unit with a queue was given last leaves it no earlier than a cycle.
    pub(super) fn keep(&mut self, unit: Unit, until: u64, numbers: &Numbers) {
        let place = unit as usize;
        let queue = numbers.peek(Parameter::OccupancyQueue).max(1) as usize;
        if let Some(last) = self.leave[place].first_mut() {
            *last = until.max(*last);
            self.done[place] = *last;
            self.open[place] = self.leave[place].get(queue - 1).copied().unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots in the order in which they issue, one a cycle, when all of them always can.
    fn order(policy: WarpPolicy, yields: bool) -> Vec<u32> {
        let mut scheduler = Scheduler::new();
        for slot in [4, 0, 8] {
            scheduler.add(slot, 0, Unit::None);
        }
        let mut slots = Vec::new();
        for now in 0..5 {
            let slot = scheduler.choose(now, policy).unwrap();
            scheduler.issued(slot, yields);
            slots.push(slot);
        }
        slots
    }

    #[test]
    fn policies() {
        assert_eq!(order(WarpPolicy::Lrr, false), [4, 0, 8, 4, 0]);
        assert_eq!(order(WarpPolicy::Oldest, false), [4, 4, 4, 4, 4]);
        assert_eq!(order(WarpPolicy::Gto, false), [4, 4, 4, 4, 4]);
        assert_eq!(order(WarpPolicy::Gto, true), [4, 0, 4, 0, 4]);
    }

    /// Greedy: a younger warp that has begun goes on although an older one can; then it stalls, and the oldest is next.
    #[test]
    fn greedy_then_oldest() {
        let mut scheduler = Scheduler::new();
        scheduler.add(0, 5, Unit::None);
        scheduler.add(1, 0, Unit::None);
        scheduler.add(2, 0, Unit::None);
        assert_eq!(scheduler.choose(0, WarpPolicy::Gto), Some(1));
        scheduler.issued(1, false);
        assert_eq!(scheduler.choose(6, WarpPolicy::Gto), Some(1));
        scheduler.set(1, 9, Unit::None);
        assert_eq!(scheduler.choose(6, WarpPolicy::Gto), Some(0));
        assert_eq!(scheduler.choose(6, WarpPolicy::Oldest), Some(0));
    }

    /// Among warps that can issue, the youngest does, as long as it can.
    #[test]
    fn youngest() {
        assert_eq!(order(WarpPolicy::Youngest, true), [8, 8, 8, 8, 8]);
        let mut scheduler = Scheduler::new();
        scheduler.add(0, 0, Unit::None);
        scheduler.add(1, 0, Unit::None);
        scheduler.add(2, 5, Unit::None);
        assert_eq!(scheduler.choose(0, WarpPolicy::Youngest), Some(1));
        assert_eq!(scheduler.choose(5, WarpPolicy::Youngest), Some(2));
        assert_eq!(scheduler.earliest(WarpPolicy::Youngest), 0);
    }

    /// The warp goes first whose unit most others want, those that wait for something else, too, but none at a barrier.
    #[test]
    fn contended_unit() {
        let policy = WarpPolicy::ContendedUnit;
        let mut scheduler = Scheduler::new();
        scheduler.add(0, 0, Unit::None);
        scheduler.add(1, 0, Unit::Fp64);
        scheduler.add(2, 0, Unit::Lsu);
        // Nobody wants what another one does: the oldest.
        assert_eq!(scheduler.choose(0, policy), Some(0));
        scheduler.add(3, 9, Unit::Lsu);
        assert_eq!(scheduler.choose(0, policy), Some(2));
        scheduler.set(3, NEVER, Unit::None);
        assert_eq!(scheduler.choose(0, policy), Some(0));
        // Either pipe of arithmetic takes from both.
        scheduler.add(4, 0, Unit::Fxu);
        scheduler.add(5, 0, Unit::Math);
        scheduler.add(6, 0, Unit::Fmai);
        assert_eq!(scheduler.choose(0, policy), Some(5));
        assert_eq!(scheduler.earliest(policy), 0);
    }

    /// Warps that can issue come in any order, the same for the same seed; all of them come.
    #[test]
    fn random() {
        let order = |seed| {
            let mut scheduler = Scheduler::new();
            for slot in 0..4 {
                scheduler.add(slot, 0, Unit::None);
            }
            scheduler.add(4, 1000, Unit::None);
            let choose = |now| scheduler.choose(now, WarpPolicy::Random(seed)).unwrap();
            (0..400).map(choose).collect::<Vec<u32>>()
        };
        let first = order(1);
        assert_eq!(first, order(1));
        assert_ne!(first, order(2));
        for slot in 0..4 {
            let count = first.iter().filter(|&&s| s == slot).count();
            assert!((60..140).contains(&count), "{slot}: {count}");
        }
    }

    /// The warp that gets the slot of one that is gone is young, and not the one that issued last.
    #[test]
    fn a_slot_is_no_warp() {
        for policy in [WarpPolicy::Gto, WarpPolicy::RunToBarrier] {
            let mut scheduler = Scheduler::new();
            scheduler.add(0, 0, Unit::None);
            scheduler.add(4, 0, Unit::None);
            scheduler.issued(0, false);
            scheduler.remove(0);
            scheduler.add(0, 0, Unit::None);
            assert_eq!(scheduler.choose(1, policy), Some(4), "{policy:?}");
        }
    }

    /// A warp keeps its scheduler although it waits, until it comes to a barrier.
    #[test]
    fn run_to_barrier() {
        let mut scheduler = Scheduler::new();
        scheduler.add(0, 0, Unit::None);
        scheduler.add(1, 0, Unit::None);
        let policy = WarpPolicy::RunToBarrier;
        assert_eq!(scheduler.choose(0, policy), Some(0));
        scheduler.issued(0, true);
        scheduler.set(0, 200, Unit::None);
        assert_eq!(scheduler.choose(1, policy), None);
        assert_eq!(scheduler.earliest(policy), 200);
        scheduler.set(0, NEVER, Unit::None);
        assert_eq!(scheduler.choose(1, policy), Some(1));
    }
}
