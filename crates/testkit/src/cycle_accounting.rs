//! Cycle accounting of timed runs: the stall cycles of a warp, or of a split of a wave, add up from one issue to the
//! next, and every launch, block, warp and split that begins also ends.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_simulate::timed::{Event, EventListener, WarpPlace};

/// Maximum number of violations that are kept.
const MAX_VIOLATIONS: usize = 10;

/// Event listener that checks the events of a run against each other.
#[derive(Default, Debug)]
pub struct CycleAccounting {
    is_launched: bool,
    is_done: bool,
    blocks: BTreeMap<u64, Block>,
    /// The warp of each slot of each SM.
    slots: BTreeMap<(u32, u32), (u64, u32)>,
    /// Cycle of the last event of each SM.
    now: BTreeMap<u32, u64>,
    issued: u64,
    violations: Vec<String>,
}

/// A resident block: begun and not ended.
#[derive(Debug)]
struct Block {
    sm: u32,
    begin: u64,
    /// Numbers of the warps that have begun.
    begun: BTreeSet<u32>,
    /// By slot: location of the running warp or split, and cycle of its last issue or of its start.
    running: BTreeMap<u32, (WarpPlace, u64)>,
    warp_count: u32,
}

impl CycleAccounting {
    /// State before the launch.
    pub fn new() -> CycleAccounting {
        CycleAccounting::default()
    }

    /// Checks that the launch and all blocks have ended; returns the number of issued warp instructions.
    ///
    /// # Errors
    ///
    /// The first violations, one line each.
    pub fn finish(mut self) -> Result<u64, String> {
        if !self.is_launched || !self.is_done {
            self.report("the kernel was not launched or has not ended".to_owned());
        }
        let open: Vec<u64> = self.blocks.keys().copied().collect();
        for number in open {
            self.report(format!("block {number} has not ended"));
        }
        match self.violations.is_empty() {
            true => Ok(self.issued),
            false => Err(self.violations.join("\n")),
        }
    }

    fn report(&mut self, violation: String) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(violation);
        }
    }

    /// Checks that the events of an SM come in the order of time.
    fn advance(&mut self, cycle: u64, sm: u32) {
        let now = self.now.entry(sm).or_default();
        let last = *now;
        *now = last.max(cycle);
        if cycle < last {
            self.report(format!("SM {sm}: cycle {cycle} comes after {last}"));
        }
    }

    /// Returns the cycle of the last issue of a warp, or the first cycle of its block.
    fn last_issue(&mut self, warp: &WarpPlace) -> Result<u64, String> {
        let name = format!("block {} warp {}", warp.block, warp.warp);
        let Some(block) = self.blocks.get_mut(&warp.block) else {
            return Err(format!("{name}: its block is not resident"));
        };
        if block.sm != warp.sm || warp.warp >= block.warp_count {
            return Err(format!("{name}: it does not belong to its block: {warp:?}"));
        }
        let begin = block.begin;
        match block.running.get(&warp.slot) {
            Some((location, issued)) if location == warp => return Ok(*issued),
            Some((location, _)) => {
                return Err(format!("{name}: it was at {location:?}, is at {warp:?}"));
            }
            None => {}
        }
        if !block.begun.insert(warp.warp) {
            return Err(format!("{name}: it has ended, or is not at {warp:?}"));
        }
        block.running.insert(warp.slot, (*warp, begin));
        self.take_slot(warp)?;
        Ok(begin)
    }

    /// Occupies the slot of a warp or split that begins.
    fn take_slot(&mut self, warp: &WarpPlace) -> Result<(), String> {
        let location = (warp.sm, warp.slot);
        match self.slots.insert(location, (warp.block, warp.warp)) {
            None => Ok(()),
            Some(other) => Err(format!(
                "block {} warp {}: {other:?} is in its slot {location:?}",
                warp.block, warp.warp
            )),
        }
    }

    /// Adds the child of a wave that splits: its cycles count from now on.
    fn split(&mut self, cycle: u64, parent: &WarpPlace, child: &WarpPlace) -> Result<(), String> {
        self.last_issue(parent)?;
        let of_wave = |place: &WarpPlace| (place.sm, place.scheduler, place.block, place.warp);
        if of_wave(parent) != of_wave(child) {
            return Err(format!("{parent:?} and {child:?} are of different waves"));
        }
        self.take_slot(child)?;
        if let Some(block) = self.blocks.get_mut(&child.block) {
            block.running.insert(child.slot, (*child, cycle));
        }
        Ok(())
    }

    /// Removes a split that becomes one with another split of its wave.
    fn merge(&mut self, cycle: u64, into: &WarpPlace, from: &WarpPlace) -> Result<(), String> {
        self.last_issue(into)?;
        if (into.block, into.warp, into.slot == from.slot) != (from.block, from.warp, false) {
            return Err(format!("{from:?} merges into {into:?}"));
        }
        self.end_warp(cycle, from)
    }

    fn issue(&mut self, cycle: u64, warp: &WarpPlace, waited: &[u64]) -> Result<(), String> {
        let before = self.last_issue(warp)?;
        let accounted: u64 = waited.iter().sum();
        self.issued += 1;
        if let Some(block) = self.blocks.get_mut(&warp.block) {
            block.running.insert(warp.slot, (*warp, cycle));
        }
        match before.checked_add(accounted) == Some(cycle) {
            true => Ok(()),
            false => Err(format!(
                "block {} warp {}: {accounted} cycles are accounted for from {before} to {cycle}: {waited:?}",
                warp.block, warp.warp
            )),
        }
    }

    fn end_warp(&mut self, cycle: u64, warp: &WarpPlace) -> Result<(), String> {
        let before = self.last_issue(warp)?;
        self.slots.remove(&(warp.sm, warp.slot));
        if let Some(block) = self.blocks.get_mut(&warp.block) {
            block.running.remove(&warp.slot);
        }
        match before <= cycle {
            true => Ok(()),
            false => Err(format!(
                "block {} warp {}: it ends in {cycle}, before its issue in {before}",
                warp.block, warp.warp
            )),
        }
    }

    fn end_block(&mut self, number: u64, sm: u32) -> Result<(), String> {
        let Some(block) = self.blocks.remove(&number) else {
            return Err(format!("block {number} ends and is not resident"));
        };
        let (begun, running) = (block.begun.len(), block.running.len());
        match block.sm == sm && begun == block.warp_count as usize && running == 0 {
            true => Ok(()),
            false => Err(format!(
                "block {number} of {} warps ends on SM {sm}; {begun} have begun on SM {} and {running} run",
                block.warp_count, block.sm
            )),
        }
    }
}

impl EventListener for CycleAccounting {
    fn event(&mut self, cycle: u64, event: &Event) {
        let sm = match event {
            Event::Launched | Event::Done => None,
            Event::BlockBegins { sm, .. }
            | Event::ConstantMiss { sm, .. }
            | Event::FetchMiss { sm, .. }
            | Event::BarrierOpens { sm, .. }
            | Event::BlockEnds { sm, .. } => Some(*sm),
            Event::Issue { warp, .. }
            | Event::Shared { warp, .. }
            | Event::Memory { warp, .. }
            | Event::Scalar { warp, .. }
            | Event::SplitRefused { warp, .. }
            | Event::WarpEnds { warp } => Some(warp.sm),
            Event::Split { parent: warp, .. } | Event::Merge { into: warp, .. } => Some(warp.sm),
        };
        if let Some(sm) = sm {
            self.advance(cycle, sm);
        }
        if (self.is_launched == matches!(event, Event::Launched)) || self.is_done {
            self.report(format!("{event:?} before the launch or after the end"));
        }
        let result = match event {
            Event::Launched => {
                self.is_launched = true;
                Ok(())
            }
            Event::Done => {
                self.is_done = true;
                Ok(())
            }
            Event::BlockBegins {
                sm,
                block: number,
                warps,
                ..
            } => {
                let block = Block {
                    sm: *sm,
                    begin: cycle,
                    begun: BTreeSet::new(),
                    running: BTreeMap::new(),
                    warp_count: *warps,
                };
                match self.blocks.insert(*number, block) {
                    None => Ok(()),
                    Some(_) => Err(format!("block {number} begins twice")),
                }
            }
            Event::Issue { warp, waited, .. } => self.issue(cycle, warp, waited),
            Event::Shared { done, .. }
            | Event::Memory { done, .. }
            | Event::Scalar { done, .. }
                if *done < cycle =>
            {
                Err(format!("{event:?} is done before {cycle}"))
            }
            Event::Split { parent, child, .. } => self.split(cycle, parent, child),
            Event::Merge { into, from, .. } => self.merge(cycle, into, from),
            Event::WarpEnds { warp } => self.end_warp(cycle, warp),
            Event::BlockEnds {
                sm, block: number, ..
            } => self.end_block(*number, *sm),
            _ => Ok(()),
        };
        if let Err(violation) = result {
            self.report(violation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpbound_ir::OpIndex;

    const WARP: WarpPlace = WarpPlace {
        sm: 1,
        scheduler: 2,
        slot: 6,
        block: 3,
        warp: 0,
    };

    fn issue(waited: [u64; 7]) -> Event {
        issue_of(WARP, waited)
    }

    /// Split of the warp.
    const CHILD: WarpPlace = WarpPlace { slot: 40, ..WARP };

    fn issue_of(warp: WarpPlace, waited: [u64; 7]) -> Event {
        Event::Issue {
            warp,
            at: OpIndex(0),
            active: 1,
            taken: 1,
            waited,
        }
    }

    type Run = Vec<(u64, Event)>;
    type Plant = fn(&mut Run);

    /// Events of a block of one warp that issues three times, twice in one cycle.
    fn run() -> Run {
        let (sm, block, index) = (1, 3, [3, 0, 0]);
        vec![
            (0, Event::Launched),
            (
                10,
                Event::BlockBegins {
                    sm,
                    block,
                    index,
                    warps: 1,
                },
            ),
            (14, issue([0, 0, 0, 0, 0, 4, 0])),
            (14, issue([0; 7])),
            (21, issue([1, 6, 0, 0, 0, 0, 0])),
            (25, Event::WarpEnds { warp: WARP }),
            (25, Event::BlockEnds { sm, block, index }),
            (30, Event::Done),
        ]
    }

    /// The same block with a split that merges and another one that ends.
    fn split_run() -> Run {
        let at = OpIndex(0);
        let split = Event::Split {
            parent: WARP,
            child: CHILD,
            at,
            parent_lanes: 1,
            child_lanes: 2,
        };
        let merge = Event::Merge {
            into: WARP,
            from: CHILD,
            at,
        };
        let mut run = run();
        let end = run.split_off(5);
        run.extend([
            (22, split),
            (22, issue([1, 0, 0, 0, 0, 0, 0])),
            (25, issue_of(CHILD, [0, 3, 0, 0, 0, 0, 0])),
            (25, merge),
            (25, split),
            (25, issue([0, 3, 0, 0, 0, 0, 0])),
            (25, Event::WarpEnds { warp: CHILD }),
        ]);
        run.extend(end);
        run
    }

    fn close(events: &[(u64, Event)]) -> Result<u64, String> {
        let mut accounting = CycleAccounting::new();
        for (cycle, event) in events {
            accounting.event(*cycle, event);
        }
        accounting.finish()
    }

    #[test]
    fn a_complete_run_is_accepted() {
        assert_eq!(close(&run()), Ok(3));
    }

    /// A run without one of its events is rejected, except without an issue that has no stall cycles and without the
    /// last issue, after which no cycles are accounted for.
    #[test]
    fn a_missing_event_is_found() {
        for at in 0..run().len() {
            let mut events = run();
            let (_, left_out) = events.remove(at);
            let leaves_none = at == 3 || at == 4;
            assert_eq!(close(&events).is_ok(), leaves_none, "{left_out:?}");
        }
    }

    #[test]
    fn splits_are_accounted_for() {
        assert_eq!(close(&split_run()), Ok(6));
        let planted: [(&str, Plant); 5] = [
            ("a cycle of a split too many", |run| {
                run[7].1 = issue_of(CHILD, [1, 3, 0, 0, 0, 0, 0])
            }),
            ("the split is not announced", |run| {
                run.remove(5);
            }),
            ("it goes on after it has merged", |run| {
                run.insert(9, (25, issue_of(CHILD, [0; 7])))
            }),
            ("it does not end", |run| {
                run.remove(11);
            }),
            ("it merges twice", |run| run.insert(9, run[8])),
        ];
        for (violation, plant) in planted {
            let mut events = split_run();
            plant(&mut events);
            assert!(close(&events).is_err(), "{violation}");
        }
    }

    #[test]
    fn planted_errors_are_found() {
        let planted: [(&str, Plant); 6] = [
            ("a cycle too many", |run| {
                run[4].1 = issue([1, 7, 0, 0, 0, 0, 0])
            }),
            ("a cycle too few", |run| run[2].1 = issue([0; 7])),
            ("backwards", |run| run[5].0 = 20),
            ("warp ends twice", |run| run.insert(6, run[5])),
            ("block begins twice", |run| run.insert(2, run[1])),
            ("after the end", |run| {
                run.push((31, issue([1, 9, 0, 0, 0, 0, 0])))
            }),
        ];
        for (violation, plant) in planted {
            let mut events = run();
            plant(&mut events);
            assert!(close(&events).is_err(), "{violation}");
        }
    }
}
