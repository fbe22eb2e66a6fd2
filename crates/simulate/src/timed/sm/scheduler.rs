//! Warp scheduler of a sub-partition, and the execution units of the sub-partition.

use smallvec::SmallVec;
use warpbound_machine::{Parameter, SchedulerPolicy};
use warpbound_timing::UnitModel;

use super::super::event_queue::NEVER;
use super::super::parameters::UsedParameters;
use warpbound_isa::nvidia::ExecUnit;

/// Entry of a scheduler for one of its warps.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// First cycle when it can issue, as far as that depends on the warp itself.
    ready: u64,
    /// Unit of its next instruction.
    unit: ExecUnit,
    /// Warp slot of the SM.
    slot: u32,
}

/// Returns a pseudo-random number for a number: one step of SplitMix64 (Steele, Lea, Flood 2014).
fn splitmix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Warp scheduler of a sub-partition, and its execution units.
#[derive(Clone, Debug, Default)]
pub(in crate::timed) struct Scheduler {
    /// Its warps, oldest first.
    warps: Vec<Candidate>,
    /// First cycle when each unit, or its queue, accepts an instruction. `Math` has the earlier cycle of its two
    /// pipes.
    accepts: [u64; ExecUnit::COUNT],
    /// Cycle when each unit has finished all instructions dispatched to it.
    idle: [u64; ExecUnit::COUNT],
    /// Cycles when the last instructions leave each queued unit, latest first; as many as the queue has entries.
    departures: [SmallVec<[u64; 8]>; ExecUnit::COUNT],
    /// Slot of the warp that issued last, and whether its instruction yields.
    last: Option<(u32, bool)>,
}

impl Scheduler {
    pub(super) fn new() -> Scheduler {
        Scheduler::default()
    }

    /// Adds a warp, which is the youngest.
    pub(super) fn add(&mut self, slot: u32, ready: u64, unit: ExecUnit) {
        self.warps.push(Candidate { ready, unit, slot });
    }

    /// Removes a warp.
    pub(super) fn remove(&mut self, slot: u32) {
        self.warps.retain(|warp| warp.slot != slot);
        // The next warp in this slot is another warp: it did not issue last.
        self.last = self.last.filter(|(last, _)| *last != slot);
    }

    /// Updates the first cycle when a warp can issue, and the unit of its next instruction.
    pub(super) fn update(&mut self, slot: u32, ready: u64, unit: ExecUnit) {
        if let Some(warp) = self.warps.iter_mut().find(|warp| warp.slot == slot) {
            (warp.ready, warp.unit) = (ready, unit);
        }
    }

    /// First cycle when a unit, or its queue, accepts an instruction.
    pub(super) fn accepts(&self, unit: ExecUnit) -> u64 {
        self.accepts[unit as usize]
    }

    #[inline(always)]
    fn issue_cycle(&self, warp: &Candidate) -> u64 {
        warp.ready.max(self.accepts[warp.unit as usize])
    }

    /// First cycle when some warp can issue.
    pub(super) fn earliest_issue(&self, policy: SchedulerPolicy) -> u64 {
        // The other warps wait for the one that runs, even if they are ready.
        if policy == SchedulerPolicy::RunToBarrier {
            let running = self.running_warp();
            return running.map_or(NEVER, |warp| self.issue_cycle(warp));
        }
        let cycles = self.warps.iter().map(|warp| self.issue_cycle(warp));
        cycles.min().unwrap_or(NEVER)
    }

    /// First cycle when one warp can issue.
    pub(super) fn earliest_issue_of(&self, slot: u32) -> u64 {
        let warp = self.warps.iter().find(|warp| warp.slot == slot);
        warp.map_or(NEVER, |warp| self.issue_cycle(warp))
    }

    /// Selects the warp that issues in cycle `now`; returns its slot.
    pub(super) fn select(&self, now: u64, policy: SchedulerPolicy) -> Option<u32> {
        let can_issue = |warp: &&Candidate| self.issue_cycle(warp) <= now;
        let oldest = || self.warps.iter().find(can_issue);
        let selected = match policy {
            SchedulerPolicy::Oldest => oldest(),
            SchedulerPolicy::Lrr => {
                let next = self.last_position().map_or(0, |position| position + 1);
                let (before, after) = self.warps.split_at(next.min(self.warps.len()));
                after.iter().chain(before).find(can_issue)
            }
            SchedulerPolicy::Gto => match self.last_position().zip(self.last) {
                None => oldest(),
                Some((position, (slot, yields))) => {
                    let last = self.warps.get(position).filter(can_issue);
                    let other = || self.warps.iter().filter(|w| w.slot != slot).find(can_issue);
                    match yields {
                        false => last.or_else(oldest),
                        // The yield flag states a preference: the warp still issues if no other can.
                        true => other().or(last),
                    }
                }
            },
            SchedulerPolicy::RunToBarrier => self.running_warp().filter(can_issue),
            SchedulerPolicy::Youngest => self.warps.iter().rev().find(can_issue),
            SchedulerPolicy::ContendedUnit => {
                // `max_by_key` returns the last maximum: in reverse, the oldest warp.
                let ready = self.warps.iter().rev().filter(can_issue);
                ready.max_by_key(|warp| self.competing_warps(warp))
            }
            SchedulerPolicy::Random(seed) => {
                // A hash of seed, cycle and slot, and no generator with a state, so that runs repeat exactly.
                let ready = self.warps.iter().filter(can_issue);
                ready.max_by_key(|warp| splitmix(splitmix(seed ^ now) ^ u64::from(warp.slot)))
            }
        };
        selected.map(|warp| warp.slot)
    }

    /// Number of other warps, ready or stalled, whose next instruction competes for the unit of a warp's next
    /// instruction.
    fn competing_warps(&self, warp: &Candidate) -> usize {
        // A warp at a barrier needs no unit before its release.
        let competes = |other: &&Candidate| {
            other.slot != warp.slot && other.ready != NEVER && other.unit.competes(warp.unit)
        };
        self.warps.iter().filter(competes).count()
    }

    /// Position of the warp that issued last.
    fn last_position(&self) -> Option<usize> {
        let (slot, _) = self.last?;
        self.warps.iter().position(|warp| warp.slot == slot)
    }

    /// Warp that runs until its end or until a barrier (`pastis-2022`, IV.C): the last one, else the oldest that is not
    /// at a barrier.
    fn running_warp(&self) -> Option<&Candidate> {
        let can_run = |warp: &&Candidate| warp.ready != NEVER;
        let last = self.last_position();
        let last = last.and_then(|position| self.warps.get(position));
        last.filter(can_run)
            .or_else(|| self.warps.iter().find(can_run))
    }

    /// Records that a warp has issued.
    pub(super) fn record_issue(&mut self, slot: u32, yields: bool) {
        self.last = Some((slot, yields));
    }

    /// Dispatches an instruction that occupies `unit` `times` over; returns the cycle when it starts. For
    /// example, a unit with a queue of two entries accepts a third instruction when the first one leaves the unit.
    pub(super) fn dispatch(
        &mut self,
        unit: ExecUnit,
        now: u64,
        times: u64,
        parameters: &UsedParameters,
    ) -> u64 {
        let unit = match unit {
            // The warp was ready at the earlier of the two pipes, so that one of them is free.
            ExecUnit::Math if self.accepts(ExecUnit::Fmai) <= now => ExecUnit::Fmai,
            ExecUnit::Math => ExecUnit::Fxu,
            unit => unit,
        };
        let Some(occupancy) = unit.occupancy() else {
            return now;
        };
        let index = unit as usize;
        // A queued instruction starts when the unit has finished all before it.
        let start = now.max(self.idle[index]);
        let done = start + parameters.get(occupancy) * times;
        self.idle[index] = done;
        // A unit without a queue accepts an instruction only when it is free.
        self.accepts[index] = done;
        if unit.is_queued() {
            let entries = parameters.get(Parameter::OccupancyQueue).max(1) as usize;
            let departures = &mut self.departures[index];
            departures.truncate(entries - 1);
            departures.insert(0, done);
            // The queue is full until the last but `entries - 1` of its instructions leaves the unit.
            self.accepts[index] = departures.get(entries - 1).copied().unwrap_or(0);
        }
        if matches!(unit, ExecUnit::Fxu | ExecUnit::Fmai) {
            let pipes = [ExecUnit::Fxu, ExecUnit::Fmai].map(|pipe| self.accepts(pipe));
            self.accepts[ExecUnit::Math as usize] = pipes[0].min(pipes[1]);
        }
        start
    }

    /// Extends the occupancy of a queued unit by the last instruction dispatched to it until a cycle.
    pub(super) fn extend_occupancy(
        &mut self,
        unit: ExecUnit,
        until: u64,
        parameters: &UsedParameters,
    ) {
        let index = unit as usize;
        // A memory access occupies its unit until the last request has an MSHR or a store-buffer entry, so that a full
        // window stops the issue of further accesses.
        if let Some(last) = self.departures[index].first_mut() {
            *last = until.max(*last);
            self.idle[index] = *last;
            let entries = parameters.get(Parameter::OccupancyQueue).max(1) as usize;
            let full_until = self.departures[index].get(entries - 1);
            self.accepts[index] = full_until.copied().unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the slots in the order of issue, one per cycle, if all of them can issue in every cycle.
    fn issue_order(policy: SchedulerPolicy, yields: bool) -> Vec<u32> {
        let mut scheduler = Scheduler::new();
        // Not in the order of slots, because policies go by age.
        for slot in [4, 0, 8] {
            scheduler.add(slot, 0, ExecUnit::None);
        }
        let mut slots = Vec::new();
        for now in 0..5 {
            let slot = scheduler.select(now, policy).unwrap();
            scheduler.record_issue(slot, yields);
            slots.push(slot);
        }
        slots
    }

    #[test]
    fn policies() {
        assert_eq!(issue_order(SchedulerPolicy::Lrr, false), [4, 0, 8, 4, 0]);
        assert_eq!(issue_order(SchedulerPolicy::Oldest, false), [4, 4, 4, 4, 4]);
        assert_eq!(issue_order(SchedulerPolicy::Gto, false), [4, 4, 4, 4, 4]);
        assert_eq!(issue_order(SchedulerPolicy::Gto, true), [4, 0, 4, 0, 4]);
    }

    /// A younger warp that has issued continues although an older one is ready; when it stalls, the oldest is next.
    #[test]
    fn greedy_then_oldest() {
        let mut scheduler = Scheduler::new();
        scheduler.add(0, 5, ExecUnit::None);
        scheduler.add(1, 0, ExecUnit::None);
        scheduler.add(2, 0, ExecUnit::None);
        assert_eq!(scheduler.select(0, SchedulerPolicy::Gto), Some(1));
        scheduler.record_issue(1, false);
        // The older warp 0 is ready from cycle 5 on.
        assert_eq!(scheduler.select(6, SchedulerPolicy::Gto), Some(1));
        scheduler.update(1, 9, ExecUnit::None);
        assert_eq!(scheduler.select(6, SchedulerPolicy::Gto), Some(0));
        assert_eq!(scheduler.select(6, SchedulerPolicy::Oldest), Some(0));
    }

    /// The youngest of the warps that can issue is selected.
    #[test]
    fn youngest() {
        assert_eq!(
            issue_order(SchedulerPolicy::Youngest, true),
            [8, 8, 8, 8, 8]
        );
        let mut scheduler = Scheduler::new();
        scheduler.add(0, 0, ExecUnit::None);
        scheduler.add(1, 0, ExecUnit::None);
        scheduler.add(2, 5, ExecUnit::None);
        assert_eq!(scheduler.select(0, SchedulerPolicy::Youngest), Some(1));
        assert_eq!(scheduler.select(5, SchedulerPolicy::Youngest), Some(2));
        assert_eq!(scheduler.earliest_issue(SchedulerPolicy::Youngest), 0);
    }

    /// The warp is selected whose unit most other warps need next, stalled warps included, but none at a barrier.
    #[test]
    fn contended_unit() {
        let policy = SchedulerPolicy::ContendedUnit;
        let mut scheduler = Scheduler::new();
        scheduler.add(0, 0, ExecUnit::None);
        scheduler.add(1, 0, ExecUnit::Fp64);
        scheduler.add(2, 0, ExecUnit::Lsu);
        // No two warps need the same unit: the oldest.
        assert_eq!(scheduler.select(0, policy), Some(0));
        scheduler.add(3, 9, ExecUnit::Lsu);
        assert_eq!(scheduler.select(0, policy), Some(2));
        scheduler.update(3, NEVER, ExecUnit::None);
        assert_eq!(scheduler.select(0, policy), Some(0));
        // An instruction for either arithmetic pipe competes with both.
        scheduler.add(4, 0, ExecUnit::Fxu);
        scheduler.add(5, 0, ExecUnit::Math);
        scheduler.add(6, 0, ExecUnit::Fmai);
        assert_eq!(scheduler.select(0, policy), Some(5));
        assert_eq!(scheduler.earliest_issue(policy), 0);
    }

    /// Warps that can issue are selected evenly, in an order that depends on the seed alone.
    #[test]
    fn random() {
        let order_of = |seed| {
            let mut scheduler = Scheduler::new();
            for slot in 0..4 {
                scheduler.add(slot, 0, ExecUnit::None);
            }
            // Not ready within the 400 cycles.
            scheduler.add(4, 1000, ExecUnit::None);
            let select = |now| {
                scheduler
                    .select(now, SchedulerPolicy::Random(seed))
                    .unwrap()
            };
            (0..400).map(select).collect::<Vec<u32>>()
        };
        let first = order_of(1);
        assert_eq!(first, order_of(1));
        assert_ne!(first, order_of(2));
        for slot in 0..4 {
            let count = first.iter().filter(|&&s| s == slot).count();
            // About 100 of 400 selections each.
            assert!((60..140).contains(&count), "{slot}: {count}");
        }
    }

    /// A warp in the slot of a removed warp is young, and not the one that issued last.
    #[test]
    fn a_reused_slot_is_another_warp() {
        for policy in [SchedulerPolicy::Gto, SchedulerPolicy::RunToBarrier] {
            let mut scheduler = Scheduler::new();
            scheduler.add(0, 0, ExecUnit::None);
            scheduler.add(4, 0, ExecUnit::None);
            scheduler.record_issue(0, false);
            scheduler.remove(0);
            scheduler.add(0, 0, ExecUnit::None);
            assert_eq!(scheduler.select(1, policy), Some(4), "{policy:?}");
        }
    }

    /// A stalled warp keeps its scheduler until it arrives at a barrier.
    #[test]
    fn run_to_barrier() {
        let mut scheduler = Scheduler::new();
        scheduler.add(0, 0, ExecUnit::None);
        scheduler.add(1, 0, ExecUnit::None);
        let policy = SchedulerPolicy::RunToBarrier;
        assert_eq!(scheduler.select(0, policy), Some(0));
        scheduler.record_issue(0, true);
        scheduler.update(0, 200, ExecUnit::None);
        assert_eq!(scheduler.select(1, policy), None);
        assert_eq!(scheduler.earliest_issue(policy), 200);
        scheduler.update(0, NEVER, ExecUnit::None);
        assert_eq!(scheduler.select(1, policy), Some(1));
    }
}
