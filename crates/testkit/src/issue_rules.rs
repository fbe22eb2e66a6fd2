//! The rules of issue, checked on the events of a run with time: a second reading of the control words.

use std::collections::{BTreeMap, HashMap};

use warpbound_ir::OpIndex;
use warpbound_isa::nvidia::{Latency, Program};
use warpbound_machine::{Parameter, MachineConfig};
use warpbound_simulate::timed::{AccessKind, Event, EventListener, WarpPlace};

/// How many problems of a kind are told.
const MOST_TOLD: usize = 5;

/// Hears the events of a run and notes what breaks a rule:
///
/// - a scheduler issues once in a cycle, or a pair of one warp whose first has the code 16;
/// - a warp keeps the distance that its control word names, and the least that its class needs;
/// - it waits for the scoreboards that memory accesses hold;
/// - it passes no barrier of its block before all others of the block came to it, or ended;
/// - a pipe takes instructions no faster than it can;
/// - no SM holds more than it has room for.
///
/// That cycles add up and that what begins also ends is checked by [`crate::ledger`].
pub struct IssueRules<'a> {
    program: &'a Program,
    machine: &'a MachineConfig,
    warps: HashMap<(u32, u32), Warp>,
    schedulers: HashMap<(u32, u32), Scheduler>,
    blocks: HashMap<u64, Block>,
    /// Warps and blocks that each SM holds.
    held: HashMap<u32, (u64, u64)>,
    /// What broke a rule, by rule.
    problems: BTreeMap<Rule, Vec<String>>,
    /// Issues that were checked.
    pub issues: u64,
}

/// What is checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    Events,
    Distance,
    Scoreboards,
    Barriers,
    Schedulers,
    Pipes,
    Room,
    Memory,
}

struct Warp {
    last: Option<(u64, usize)>,
    /// Until when memory accesses hold the scoreboards.
    holds: [u64; 6],
}

#[derive(Default)]
struct Scheduler {
    /// The last issue: cycle, slot, whether it was the first of a pair that may have a second.
    last: Option<(u64, u32, bool)>,
    /// When a pipe of its own took an instruction last.
    pipes: HashMap<&'static str, u64>,
}

struct Block {
    /// How often each warp came to a barrier, and when it did last; `None` has ended.
    arrivals: Vec<Option<(u64, u64)>>,
}

impl<'a> IssueRules<'a> {
    /// For a run of a program on a machine.
    pub fn new(program: &'a Program, machine: &'a MachineConfig) -> IssueRules<'a> {
        IssueRules {
            program,
            machine,
            warps: HashMap::new(),
            schedulers: HashMap::new(),
            blocks: HashMap::new(),
            held: HashMap::new(),
            problems: BTreeMap::new(),
            issues: 0,
        }
    }

    /// What broke a rule: a few problems for each.
    pub fn all_problems(&self) -> Vec<String> {
        self.problems.values().flatten().cloned().collect()
    }

    fn note(&mut self, rule: Rule, cycle: u64, what: String) {
        let told = self.problems.entry(rule).or_default();
        if told.len() < MOST_TOLD {
            told.push(format!("cycle {cycle}: {what}"));
        }
    }

    fn issue(&mut self, cycle: u64, place: WarpPlace, at: OpIndex) {
        self.issues += 1;
        let at = at.index();
        let Some(instr) = self.program.instrs.get(at) else {
            return self.note(Rule::Events, cycle, format!("there is no instruction {at}"));
        };
        let address = instr.addr;
        let Some(warp) = self.warps.get(&(place.sm, place.slot)) else {
            return self.note(Rule::Events, cycle, format!("{place:?} has not begun"));
        };
        let mut wrong = Vec::new();
        // What the instruction before demands.
        if let Some((before, last)) = warp.last {
            let last = &self.program.instrs[last];
            let code = last.control.usched;
            let named = match code {
                1..=15 => code,
                17..=27 => code - 16,
                29 => 6,
                30 => 8,
                16 => 0,
                _ => 1,
            };
            let class = self
                .program
                .timing(last)
                .map_or(1, |timing| timing.min_wait);
            let least = if code == 16 {
                0
            } else {
                named.max(class).max(1)
            };
            if cycle < before + u64::from(least) {
                wrong.push((
                    Rule::Distance,
                    format!(
                        "{address} comes {} cycles behind {}, which demands {least}",
                        cycle - before,
                        last.addr
                    ),
                ));
            }
        }
        for (number, &until) in warp.holds.iter().enumerate() {
            if instr.control.wait_mask >> number & 1 == 1 && cycle < until {
                wrong.push((
                    Rule::Scoreboards,
                    format!("{address} does not wait for scoreboard {number} until {until}"),
                ));
            }
        }
        let barrier_before = warp
            .last
            .is_some_and(|(_, last)| self.is_full_barrier(last));
        if barrier_before && let Some(block) = self.blocks.get(&place.block) {
            let own = block.arrivals.get(place.warp as usize).copied().flatten();
            let own = own.map_or(0, |(count, _)| count);
            let behind = |&(count, last): &(u64, u64)| count < own || count == own && last > cycle;
            if block.arrivals.iter().flatten().any(behind) {
                wrong.push((
                    Rule::Barriers,
                    format!("{address}: the barrier before is not open"),
                ));
            }
        }
        let scheduler = self
            .schedulers
            .entry((place.sm, place.scheduler))
            .or_default();
        let mut is_second = false;
        if let Some((last, slot, pairs)) = scheduler.last {
            is_second = last == cycle && slot == place.slot && pairs;
            if last == cycle && !is_second {
                wrong.push((
                    Rule::Schedulers,
                    format!("{address}: the scheduler has issued in this cycle"),
                ));
            }
        }
        let pairs = instr.control.usched == 16 && !is_second;
        scheduler.last = Some((cycle, place.slot, pairs));
        // Instructions of fixed latency that have one pipe only.
        if let Some(timing) = self.program.timing(instr)
            && timing.latency == Latency::Fixed
            && let [pipe @ "fxu"] = timing.pipes.as_slice()
        {
            let apart = self.machine[Parameter::OccupancyFxu];
            let before = scheduler.pipes.insert(pipe, cycle);
            if before.is_some_and(|before| cycle < before + apart) {
                wrong.push((Rule::Pipes, format!("{address}: {pipe} is busy")));
            }
        }
        if let Some(warp) = self.warps.get_mut(&(place.sm, place.slot)) {
            warp.last = Some((cycle, at));
        }
        if self.is_full_barrier(at)
            && let Some(block) = self.blocks.get_mut(&place.block)
            && let Some(Some(arrivals)) = block.arrivals.get_mut(place.warp as usize)
        {
            *arrivals = (arrivals.0 + 1, cycle);
        }
        for (rule, what) in wrong {
            self.note(
                rule,
                cycle,
                format!("warp {} of block {}: {what}", place.warp, place.block),
            );
        }
    }

    /// A barrier at which the whole block waits.
    fn is_full_barrier(&self, at: usize) -> bool {
        let instr = self.program.instrs.get(at);
        let text = instr.and_then(|instr| {
            self.program
                .text(instr, warpbound_isa::nvidia::TargetStyle::Hex)
        });
        text.is_some_and(|text| text.trim_end() == "BAR.SYNC 0x0")
    }

    /// A load holds the scoreboard of its instruction until it is done.
    fn hold(&mut self, place: WarpPlace, at: OpIndex, kind: AccessKind, done: u64) {
        let instr = self.program.instrs.get(at.index());
        let scoreboard = instr.and_then(|instr| instr.control.write_sb);
        let warp = self.warps.get_mut(&(place.sm, place.slot));
        if let (Some(scoreboard), Some(warp)) = (scoreboard, warp)
            && kind != AccessKind::Store
            && let Some(hold) = warp.holds.get_mut(usize::from(scoreboard))
        {
            *hold = done.max(*hold);
        }
    }
}

impl EventListener for IssueRules<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        match *event {
            Event::BlockBegins {
                sm, number, warps, ..
            } => {
                let block = Block {
                    arrivals: vec![Some((0, 0)); warps as usize],
                };
                self.blocks.insert(number, block);
                let held = self.held.entry(sm).or_default();
                held.0 += u64::from(warps);
                held.1 += 1;
                let most = (
                    self.machine[Parameter::SmWarps],
                    self.machine[Parameter::SmBlocks],
                );
                let held = *held;
                if held.0 > most.0 || held.1 > most.1 {
                    self.note(
                        Rule::Room,
                        cycle,
                        format!("SM {sm} holds {held:?} warps and blocks"),
                    );
                }
            }
            Event::Issue { warp, at, .. } => {
                self.warps.entry((warp.sm, warp.slot)).or_insert(Warp {
                    last: None,
                    holds: [0; 6],
                });
                self.issue(cycle, warp, at);
            }
            Event::Shared {
                warp,
                at,
                kind,
                transactions,
                conflicts,
                done,
            } => {
                self.hold(warp, at, kind, done);
                let least = self.machine[Parameter::SharedLatency]
                    + self.machine[Parameter::SharedConflict] * u64::from(conflicts);
                if done <= cycle + least || conflicts >= transactions {
                    self.note(
                        Rule::Memory,
                        cycle,
                        format!(
                            "{transactions} transactions with {conflicts} conflicts end at {done}"
                        ),
                    );
                }
            }
            Event::Global {
                warp,
                at,
                kind,
                done,
                l1_hits,
                l1_lookups,
                l2_hits,
                l2_lookups,
                sectors,
                ..
            } => {
                self.hold(warp, at, kind, done);
                if l1_hits > l1_lookups || l2_hits > l2_lookups || l1_lookups > sectors {
                    self.note(
                        Rule::Memory,
                        cycle,
                        format!("{event:?} finds more than it looks for"),
                    );
                }
                if kind == AccessKind::Load && l1_hits + l2_lookups != sectors {
                    self.note(Rule::Memory, cycle, format!("{event:?} loses sectors"));
                }
            }
            Event::WarpEnds { warp } => {
                self.warps.remove(&(warp.sm, warp.slot));
                let block = self.blocks.get_mut(&warp.block);
                if let Some(arrivals) =
                    block.and_then(|block| block.arrivals.get_mut(warp.warp as usize))
                {
                    *arrivals = None;
                }
                if let Some(held) = self.held.get_mut(&warp.sm) {
                    held.0 -= 1;
                }
            }
            Event::BlockEnds { sm, number, .. } => {
                self.blocks.remove(&number);
                if let Some(held) = self.held.get_mut(&sm) {
                    held.1 -= 1;
                }
            }
            _ => {}
        }
    }
}
