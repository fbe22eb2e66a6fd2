//! Issue rules of Maxwell and Pascal, checked on the events of a timed run: a second implementation of control words,
//! independent of the simulator's.

use std::collections::{BTreeMap, HashMap};

use warpbound_ir::OpIndex;
use warpbound_isa::nvidia::{LatencyKind, SassInstr, SassProgram};
use warpbound_machine::{MachineConfig, Parameter};
use warpbound_simulate::timed::{AccessKind, Event, EventListener, WarpPlace};

/// Maximum number of violations that are kept for a rule.
const MAX_PER_RULE: usize = 5;

/// Event listener that checks the issue rules:
///
/// - a scheduler issues one instruction a cycle, or a pair of one warp whose first instruction has code 16 (dual
///   issue);
/// - a warp issues no earlier than the control word and the class of its last instruction allow;
/// - a warp waits for the scoreboards that its control word names, while its memory accesses hold them;
/// - a warp passes a barrier of its block only after all other warps of the block have arrived or ended;
/// - a pipe accepts instructions no faster than its throughput;
/// - an SM holds no more warps and blocks than its capacity;
/// - a memory access takes at least its latency, and hits no more often than it looks up.
///
/// [`crate::cycle_accounting`] checks that cycles add up and that what begins also ends.
pub struct IssueRules<'a> {
    program: &'a SassProgram,
    machine: &'a MachineConfig,
    warps: HashMap<(u32, u32), Warp>,
    schedulers: HashMap<(u32, u32), Scheduler>,
    blocks: HashMap<u64, Block>,
    /// Warps and blocks that each SM holds.
    resident: HashMap<u32, (u64, u64)>,
    /// Violations by rule.
    violations: BTreeMap<Rule, Vec<String>>,
    /// Number of issues that were checked.
    pub issues: u64,
}

/// A broken rule and its description.
type Violation = (Rule, String);

/// Rules that are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    Events,
    Distance,
    Scoreboards,
    Barriers,
    Schedulers,
    Pipes,
    Capacity,
    Memory,
}

struct Warp {
    /// Cycle of the last issue and the issued instruction.
    last: Option<(u64, usize)>,
    /// Cycle when memory accesses release each scoreboard.
    scoreboard_releases: [u64; 6],
}

#[derive(Default)]
struct Scheduler {
    /// Last issue: cycle, warp slot, and whether a second instruction of the warp may be issued with it.
    last: Option<(u64, u32, bool)>,
    /// Cycle when each pipe of this scheduler last accepted an instruction.
    pipes: HashMap<&'static str, u64>,
}

struct Block {
    /// For each warp, the number of barriers at which it arrived and the cycle of the last one; `None` for a warp that
    /// has ended.
    arrivals: Vec<Option<(u64, u64)>>,
}

impl<'a> IssueRules<'a> {
    /// Rules for a run of a program on a machine.
    pub fn new(program: &'a SassProgram, machine: &'a MachineConfig) -> IssueRules<'a> {
        IssueRules {
            program,
            machine,
            warps: HashMap::new(),
            schedulers: HashMap::new(),
            blocks: HashMap::new(),
            resident: HashMap::new(),
            violations: BTreeMap::new(),
            issues: 0,
        }
    }

    /// Returns the violations, a few for each rule.
    pub fn all_violations(&self) -> Vec<String> {
        self.violations.values().flatten().cloned().collect()
    }

    fn report(&mut self, rule: Rule, cycle: u64, violation: String) {
        let kept = self.violations.entry(rule).or_default();
        if kept.len() < MAX_PER_RULE {
            kept.push(format!("cycle {cycle}: {violation}"));
        }
    }

    /// Checks one issue against all rules and updates the state of its warp, scheduler and block.
    fn issue(&mut self, cycle: u64, location: WarpPlace, at: OpIndex) {
        self.issues += 1;
        let at = at.index();
        let program = self.program;
        let Some(instr) = program.instrs.get(at) else {
            return self.report(Rule::Events, cycle, format!("there is no instruction {at}"));
        };
        let Some(warp) = self.warps.get(&(location.sm, location.slot)) else {
            return self.report(Rule::Events, cycle, format!("{location:?} has not begun"));
        };
        let mut violations = Vec::new();
        violations.extend(self.check_distance(cycle, warp, instr));
        violations.extend(check_scoreboards(cycle, warp, instr));
        violations.extend(self.check_barrier(cycle, warp, &location, instr));
        violations.extend(self.check_scheduler(cycle, &location, instr));
        if let Some(warp) = self.warps.get_mut(&(location.sm, location.slot)) {
            warp.last = Some((cycle, at));
        }
        if self.is_full_barrier(at)
            && let Some(block) = self.blocks.get_mut(&location.block)
            && let Some(Some(arrivals)) = block.arrivals.get_mut(location.warp as usize)
        {
            *arrivals = (arrivals.0 + 1, cycle);
        }
        for (rule, violation) in violations {
            self.report(
                rule,
                cycle,
                format!(
                    "warp {} of block {}: {violation}",
                    location.warp, location.block
                ),
            );
        }
    }

    /// Checks the distance from the warp's last issue.
    fn check_distance(&self, cycle: u64, warp: &Warp, instr: &SassInstr) -> Option<Violation> {
        let (before, last) = warp.last?;
        let last = self.program.instrs.get(last)?;
        // Stall cycles that the control word of the previous instruction requires (docs/timing-model.md, "distance"; 29
        // and 30 are YIELD6 and YIELD8).
        let code = last.control.usched;
        let stall = match code {
            1..=15 => code,
            17..=27 => code - 16,
            29 => 6,
            30 => 8,
            16 => 0,
            _ => 1,
        };
        let class_minimum = self
            .program
            .timing(last)
            .map_or(1, |timing| timing.min_wait);
        // Code 16 pairs the two instructions: they may issue in one cycle.
        let least = match code {
            16 => 0,
            _ => stall.max(class_minimum).max(1),
        };
        (cycle < before + u64::from(least)).then(|| {
            let violation = format!(
                "{} issues {} cycles after {}, which requires {least}",
                instr.addr,
                cycle - before,
                last.addr
            );
            (Rule::Distance, violation)
        })
    }

    /// Checks that the barrier of the warp's last instruction, if it was one, is open.
    fn check_barrier(
        &self,
        cycle: u64,
        warp: &Warp,
        location: &WarpPlace,
        instr: &SassInstr,
    ) -> Option<Violation> {
        let (_, last) = warp.last?;
        if !self.is_full_barrier(last) {
            return None;
        }
        let block = self.blocks.get(&location.block)?;
        let own = block
            .arrivals
            .get(location.warp as usize)
            .copied()
            .flatten();
        let own = own.map_or(0, |(count, _)| count);
        // A warp that has not arrived at this barrier, or arrives later than this cycle.
        let is_missing = |&(count, last): &(u64, u64)| count < own || count == own && last > cycle;
        let violation = format!("{}: the preceding barrier is not open", instr.addr);
        let mut arrivals = block.arrivals.iter().flatten();
        arrivals
            .any(is_missing)
            .then_some((Rule::Barriers, violation))
    }

    /// Checks that the scheduler and the pipe of an instruction are free, and records the issue in both.
    fn check_scheduler(
        &mut self,
        cycle: u64,
        location: &WarpPlace,
        instr: &SassInstr,
    ) -> Vec<Violation> {
        let mut violations = Vec::new();
        let address = instr.addr;
        let scheduler = self
            .schedulers
            .entry((location.sm, location.scheduler))
            .or_default();
        let mut is_second = false;
        if let Some((last, slot, may_pair)) = scheduler.last {
            is_second = last == cycle && slot == location.slot && may_pair;
            if last == cycle && !is_second {
                violations.push((
                    Rule::Schedulers,
                    format!("{address}: the scheduler has already issued in this cycle"),
                ));
            }
        }
        let may_pair = instr.control.usched == 16 && !is_second;
        scheduler.last = Some((cycle, location.slot, may_pair));
        // Only instructions of fixed latency with a single pipe: the events do not say which of several pipes was used.
        if let Some(timing) = self.program.timing(instr)
            && timing.latency == LatencyKind::Fixed
            && let [pipe @ "fxu"] = timing.pipes.as_slice()
        {
            let occupancy = self.machine[Parameter::OccupancyFxu];
            let before = scheduler.pipes.insert(pipe, cycle);
            if before.is_some_and(|before| cycle < before + occupancy) {
                violations.push((Rule::Pipes, format!("{address}: {pipe} is busy")));
            }
        }
        violations
    }

    /// Whether the instruction is a barrier of the whole block.
    fn is_full_barrier(&self, at: usize) -> bool {
        let instr = self.program.instrs.get(at);
        let text = instr.and_then(|instr| {
            self.program
                .text(instr, warpbound_isa::nvidia::TargetStyle::Hex)
        });
        text.is_some_and(|text| text.trim_end() == "BAR.SYNC 0x0")
    }

    /// Keeps the scoreboard that a load or an atomic operation raises until the access is done.
    fn hold_scoreboard(&mut self, location: WarpPlace, at: OpIndex, kind: AccessKind, done: u64) {
        let instr = self.program.instrs.get(at.index());
        let scoreboard = instr.and_then(|instr| instr.control.write_sb);
        let warp = self.warps.get_mut(&(location.sm, location.slot));
        if let (Some(scoreboard), Some(warp)) = (scoreboard, warp)
            && kind != AccessKind::Store
            && let Some(hold) = warp.scoreboard_releases.get_mut(usize::from(scoreboard))
        {
            *hold = done.max(*hold);
        }
    }
}

/// Checks that an instruction waits for the scoreboards that its control word names.
fn check_scoreboards(cycle: u64, warp: &Warp, instr: &SassInstr) -> Vec<Violation> {
    let held = (0u32..).zip(warp.scoreboard_releases);
    held.filter(|&(number, until)| instr.control.wait_mask >> number & 1 == 1 && cycle < until)
        .map(|(number, until)| {
            let violation = format!(
                "{} does not wait for scoreboard {number} until {until}",
                instr.addr
            );
            (Rule::Scoreboards, violation)
        })
        .collect()
}

impl IssueRules<'_> {
    /// Adds a block to its SM and checks the SM's capacity.
    fn begin_block(&mut self, cycle: u64, sm: u32, number: u64, warps: u32) {
        let block = Block {
            arrivals: vec![Some((0, 0)); warps as usize],
        };
        self.blocks.insert(number, block);
        let resident = self.resident.entry(sm).or_default();
        resident.0 += u64::from(warps);
        resident.1 += 1;
        let resident = *resident;
        let warps = self.machine[Parameter::SmWarps];
        let blocks = self.machine[Parameter::SmBlocks];
        if resident.0 > warps || resident.1 > blocks {
            let violation = format!("SM {sm} holds {resident:?} warps and blocks");
            self.report(Rule::Capacity, cycle, violation);
        }
    }

    /// Removes a warp from its SM; its block no longer waits for it at barriers.
    fn end_warp(&mut self, warp: &WarpPlace) {
        self.warps.remove(&(warp.sm, warp.slot));
        if let Some(block) = self.blocks.get_mut(&warp.block)
            && let Some(arrivals) = block.arrivals.get_mut(warp.warp as usize)
        {
            *arrivals = None;
        }
        if let Some(resident) = self.resident.get_mut(&warp.sm) {
            resident.0 -= 1;
        }
    }
}

impl EventListener for IssueRules<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        match *event {
            Event::BlockBegins {
                sm,
                block: number,
                warps,
                ..
            } => self.begin_block(cycle, sm, number, warps),
            Event::Issue { warp, at, .. } => {
                self.warps.entry((warp.sm, warp.slot)).or_insert(Warp {
                    last: None,
                    scoreboard_releases: [0; 6],
                });
                self.issue(cycle, warp, at);
            }
            Event::Shared {
                warp,
                at,
                access: kind,
                transactions,
                conflicts,
                done,
            } => {
                self.hold_scoreboard(warp, at, kind, done);
                let least = self.machine[Parameter::SharedLatency]
                    + self.machine[Parameter::SharedConflict] * u64::from(conflicts);
                if done <= cycle + least || conflicts >= transactions {
                    self.report(
                        Rule::Memory,
                        cycle,
                        format!(
                            "{transactions} transactions with {conflicts} conflicts end at {done}"
                        ),
                    );
                }
            }
            Event::Memory {
                warp,
                at,
                access: kind,
                done,
                l1_hits,
                l1_lookups,
                l2_hits,
                l2_lookups,
                sectors,
                ..
            } => {
                self.hold_scoreboard(warp, at, kind, done);
                if l1_hits > l1_lookups || l2_hits > l2_lookups || l1_lookups > sectors {
                    self.report(
                        Rule::Memory,
                        cycle,
                        format!("{event:?} hits more than it looks up"),
                    );
                }
                if kind == AccessKind::Load && l1_hits + l2_lookups != sectors {
                    self.report(Rule::Memory, cycle, format!("{event:?} loses sectors"));
                }
            }
            Event::WarpEnds { warp } => self.end_warp(&warp),
            Event::BlockEnds {
                sm, block: number, ..
            } => {
                self.blocks.remove(&number);
                if let Some(resident) = self.resident.get_mut(&sm) {
                    resident.1 -= 1;
                }
            }
            _ => {}
        }
    }
}
