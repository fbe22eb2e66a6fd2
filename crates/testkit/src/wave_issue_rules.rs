//! Issue rules of GCN3, checked on the events of a timed run of waves: a second implementation of
//! `docs/timing-model-gcn3.md`, independent of the simulator's. Instructions are read from their text.

mod spelled;
mod split_state;
mod units;

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use warpbound_isa::amd::GcnProgram;
use warpbound_machine::{MachineConfig, Parameter};
use warpbound_simt::Mask;
use warpbound_simulate::timed::{AccessKind, Event, EventListener, SplitPipelines, WarpPlace};

use spelled::{SpelledInstr, SpelledKind, SpelledRegister};
use split_state::{Access, Split, check_registers, check_waits, unite};
use units::{Turn, TurnFault, UnitPool};

/// Maximum number of violations that are kept for a rule.
const MAX_PER_RULE: usize = 5;

/// Rules of the run that are not in the machine.
#[derive(Clone, Copy, Debug)]
pub struct WaveRuleSetup {
    /// Reserve slots of a launch wave.
    pub splits: u32,
    /// Pipelines of splits.
    pub pipelines: SplitPipelines,
    /// Vector and scalar registers of a wave.
    pub registers: (u64, u64),
}

impl WaveRuleSetup {
    /// Splits of a wave that a unit with pipelines executes at once.
    fn pipeline_count(self) -> usize {
        match self.pipelines {
            SplitPipelines::Parallel => self.splits as usize + 1,
            SplitPipelines::Serialised => 1,
        }
    }
}

/// Event listener that checks the issue rules of waves:
///
/// - `turns`: a SIMD issues in its cycle of each turn only, and a split at most once a turn;
/// - `kinds`: of one kind at most one instruction issues in a turn, or one for each split of one launch wave, and of
///   at most `issue.kinds` kinds;
/// - `siblings`: instructions of one kind in one turn are of one launch wave, and of disjoint lanes;
/// - `pipelines`: a unit accepts an instruction only when it is free, and a further pipeline serves only siblings of
///   the wave in the first one;
/// - `registers`: an instruction issues no earlier than the results that it reads, of the ALUs;
/// - `delays`: branches, s_nop and s_sleep delay their wave;
/// - `waits`: s_waitcnt issues when at most as many accesses are outstanding as it lets pass;
/// - `barriers`: a split passes a barrier only when all others of its group have arrived or ended;
/// - `splits`: lanes are partitioned, slots exist, and a child starts at the branch;
/// - `capacity`: waves, groups and registers fit on their SIMD and compute unit;
/// - `memory`: an access hits no more often than it looks up, and ends after it began.
pub struct WaveIssueRules<'a> {
    instrs: Rc<[Option<SpelledInstr>]>,
    machine: &'a MachineConfig,
    setup: WaveRuleSetup,
    /// Running splits by compute unit and slot.
    splits: HashMap<(u32, u32), Split>,
    /// Instructions of the present turn, by compute unit and SIMD.
    turns: HashMap<(u32, u32), Turn>,
    /// Units by kind, compute unit and SIMD; units that the SIMDs share have SIMD 0.
    units: HashMap<(SpelledKind, u32, u32), UnitPool>,
    groups: HashMap<u64, Group>,
    violations: BTreeMap<Rule, Vec<String>>,
    /// Number of issues that were checked.
    pub issues: u64,
    /// Number of splits that were checked.
    pub splits_taken: u64,
}

/// A broken rule and its description.
type Violation = (Rule, String);

/// Rules that are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rule {
    Events,
    Turns,
    Kinds,
    Siblings,
    Pipelines,
    Registers,
    Delays,
    Waits,
    Barriers,
    Splits,
    Capacity,
    Memory,
}

/// A resident group.
struct Group {
    cu: u32,
    waves: u32,
    /// Launch waves that have issued, with the number of their splits that run.
    live: BTreeMap<u32, u32>,
    /// Cycle of the last arrival or end, by number of the barrier.
    opened: BTreeMap<u64, u64>,
}

impl<'a> WaveIssueRules<'a> {
    /// Rules for a run of a program on a machine.
    pub fn new(
        program: &GcnProgram,
        machine: &'a MachineConfig,
        setup: WaveRuleSetup,
    ) -> WaveIssueRules<'a> {
        WaveIssueRules {
            instrs: SpelledInstr::all(program).into(),
            machine,
            setup,
            splits: HashMap::new(),
            turns: HashMap::new(),
            units: HashMap::new(),
            groups: HashMap::new(),
            violations: BTreeMap::new(),
            issues: 0,
            splits_taken: 0,
        }
    }

    /// Returns the violations, a few for each rule, each beginning with the name of its rule.
    pub fn all_violations(&self) -> Vec<String> {
        let rules = self.violations.iter();
        rules
            .flat_map(|(rule, all)| {
                let name = format!("{rule:?}").to_lowercase();
                all.iter().map(move |text| format!("{name}: {text}"))
            })
            .collect()
    }

    fn report(&mut self, cycle: u64, (rule, violation): Violation) {
        let kept = self.violations.entry(rule).or_default();
        if kept.len() < MAX_PER_RULE {
            kept.push(format!("cycle {cycle}: {violation}"));
        }
    }

    /// Slots of launch waves of a compute unit; reserve slots come after them.
    fn base_slots(&self) -> u32 {
        (self.machine[Parameter::CuSimds] * self.machine[Parameter::SimdWaves]) as u32
    }

    /// Checks one issue against all rules and updates the state of its split, SIMD and units.
    fn issue(&mut self, cycle: u64, place: WarpPlace, at: usize, active: Mask) {
        self.issues += 1;
        if !self.splits.contains_key(&(place.sm, place.slot)) {
            let begun = self.begin_wave(&place);
            self.report_all(cycle, &place, begun);
        }
        let Some(mut split) = self.splits.remove(&(place.sm, place.slot)) else {
            return;
        };
        let instrs = Rc::clone(&self.instrs);
        let Some(instr) = instrs.get(at).and_then(Option::as_ref) else {
            let violation = format!("there is no instruction {at}");
            return self.report(cycle, (Rule::Events, violation));
        };
        let mut violations = Vec::new();
        if split.wave != (place.block, place.warp) || split.simd != place.scheduler {
            violations.push((Rule::Events, format!("{place:?} is {:?}", split.wave)));
        }
        if active & !split.lanes != 0 {
            let violation = format!("lanes {active:#x} are not all of {:#x}", split.lanes);
            violations.push((Rule::Splits, violation));
        }
        violations.extend(self.check_turn(cycle, &split, at));
        violations.extend(self.check_delays(cycle, &split, at));
        violations.extend(check_registers(cycle, &split, instr));
        violations.extend(check_waits(cycle, &split, instr));
        violations.extend(self.check_barrier(cycle, &split));
        let turn = self.turns.entry((place.sm, place.scheduler)).or_default();
        let issue = (instr.kind, split.wave, split.lanes);
        let most = self.machine[Parameter::IssueKinds];
        let fault = turn.issue(cycle, issue, self.setup.pipeline_count(), most);
        violations.extend(fault.map(|fault| match fault {
            TurnFault::Kinds(text) => (Rule::Kinds, text),
            TurnFault::Siblings(text) => (Rule::Siblings, text),
        }));
        violations.extend(self.check_unit(cycle, &place, instr));
        self.after_issue(cycle, &mut split, at);
        self.splits.insert((place.sm, place.slot), split);
        self.report_all(cycle, &place, violations);
    }

    fn report_all(&mut self, cycle: u64, place: &WarpPlace, violations: Vec<Violation>) {
        for (rule, violation) in violations {
            let text = format!(
                "slot {}, wave {} of group {}: {violation}",
                place.slot, place.warp, place.block
            );
            self.report(cycle, (rule, text));
        }
    }

    /// Adds a launch wave at its first issue.
    fn begin_wave(&mut self, place: &WarpPlace) -> Vec<Violation> {
        let mut violations = Vec::new();
        let wave = (place.block, place.warp);
        match self.groups.get_mut(&place.block) {
            Some(group) if group.cu == place.sm => {
                if group.live.insert(place.warp, 1).is_some() {
                    violations.push((Rule::Events, format!("{place:?} begins twice")));
                }
            }
            _ => violations.push((
                Rule::Events,
                format!("the group of {place:?} has not begun"),
            )),
        }
        if place.slot >= self.base_slots() {
            violations.push((Rule::Splits, format!("{place:?} begins in a reserve slot")));
        }
        self.splits.insert(
            (place.sm, place.slot),
            Split {
                wave,
                simd: place.scheduler,
                lanes: Mask::MAX,
                last: None,
                not_before: 0,
                next: None,
                ready: BTreeMap::new(),
                vector_accesses: Vec::new(),
                other_accesses: Vec::new(),
                arrivals: 0,
            },
        );
        let [by_vectors, by_scalars] = self.waves_by_registers();
        let fit = by_vectors.min(by_scalars);
        let fit = fit.min(self.machine[Parameter::SimdWaves]);
        let mut resident: Vec<(u64, u32)> = self
            .splits
            .iter()
            .filter(|((cu, _), split)| *cu == place.sm && split.simd == place.scheduler)
            .map(|(_, split)| split.wave)
            .collect();
        resident.sort_unstable();
        resident.dedup();
        if resident.len() as u64 > fit {
            let violation = format!("{} waves on a SIMD, {fit} fit", resident.len());
            violations.push((Rule::Capacity, violation));
        }
        violations
    }

    /// Waves whose vector registers, and whose scalar registers, a SIMD has.
    fn waves_by_registers(&self) -> [u64; 2] {
        let (vectors, scalars) = self.setup.registers;
        [
            (vectors, Parameter::SimdVgprs, Parameter::SimdVgprStep),
            (scalars, Parameter::SimdSgprs, Parameter::SimdSgprStep),
        ]
        .map(|(needed, all, step)| {
            let step = self.machine[step].max(1);
            self.machine[all] / (needed.max(1).div_ceil(step) * step)
        })
    }

    fn check_turn(&self, cycle: u64, split: &Split, at: usize) -> Vec<Violation> {
        let mut violations = Vec::new();
        let simds = self.machine[Parameter::CuSimds];
        if cycle % simds != u64::from(split.simd) {
            let violation = format!("{at} issues in the cycle of another SIMD");
            violations.push((Rule::Turns, violation));
        }
        if let Some((before, _)) = split.last
            && cycle < before + simds
        {
            violations.push((Rule::Turns, format!("{at} issues in the turn of {before}")));
        }
        violations
    }

    fn check_delays(&self, cycle: u64, split: &Split, at: usize) -> Vec<Violation> {
        let mut violations = Vec::new();
        if cycle < split.not_before {
            let violation = format!("{at} issues before {}", split.not_before);
            violations.push((Rule::Splits, violation));
        }
        if split.next.is_some_and(|next| next != at) {
            violations.push((Rule::Splits, format!("{at} is not the branch of the split")));
        }
        let Some((before, last)) = split.last else {
            return violations;
        };
        let Some(Some(instr)) = self.instrs.get(last) else {
            return violations;
        };
        let delay = match instr.kind {
            SpelledKind::Branch if at == last + 1 => {
                self.machine[Parameter::BranchNotTaken].min(self.machine[Parameter::BranchTaken])
            }
            SpelledKind::Branch => self.machine[Parameter::BranchTaken],
            _ => instr.idle_cycles(self.machine),
        };
        if cycle < before + delay {
            let passed = cycle - before.min(cycle);
            let violation = format!(
                "{at} issues {passed} cycles after {}, not {delay}",
                instr.name
            );
            violations.push((Rule::Delays, violation));
        }
        violations
    }

    /// Checks that the barrier of the last instruction of the split, if it was one, is open.
    fn check_barrier(&self, cycle: u64, split: &Split) -> Option<Violation> {
        let (_, last) = split.last?;
        let was_barrier = self.instrs.get(last)?.as_ref()?.is_barrier();
        let group = self.groups.get(&split.wave.0).filter(|_| was_barrier)?;
        let missing =
            |other: &&Split| other.wave.0 == split.wave.0 && other.arrivals < split.arrivals;
        let violation = || {
            (
                Rule::Barriers,
                "the barrier before it is not open".to_owned(),
            )
        };
        if group.live.len() < group.waves as usize || self.splits.values().any(|s| missing(&s)) {
            return Some(violation());
        }
        let opened = group.opened.get(&split.arrivals)?;
        (cycle < opened + self.machine[Parameter::BarrierLatency]).then(violation)
    }

    /// Checks that the unit of an instruction is free, and occupies it.
    fn check_unit(
        &mut self,
        cycle: u64,
        place: &WarpPlace,
        instr: &SpelledInstr,
    ) -> Option<Violation> {
        let simd = match instr.kind {
            SpelledKind::Vector => place.scheduler,
            SpelledKind::Internal | SpelledKind::Other | SpelledKind::Message => return None,
            _ => 0,
        };
        let is_copied = matches!(
            instr.kind,
            SpelledKind::Vector | SpelledKind::Scalar | SpelledKind::Branch
        );
        let count = if is_copied {
            self.setup.pipeline_count()
        } else {
            1
        };
        let cycles = instr.unit_cycles(self.machine);
        let pool = self.units.entry((instr.kind, place.sm, simd)).or_default();
        let fault = pool.accept(cycle, cycles, (place.block, place.warp), count);
        fault.map(|text| (Rule::Pipelines, format!("{}: {text}", instr.name)))
    }

    /// Updates the state of a split by the effects of an instruction.
    fn after_issue(&mut self, cycle: u64, split: &mut Split, at: usize) {
        split.last = Some((cycle, at));
        split.next = None;
        let Some(Some(instr)) = self.instrs.get(at) else {
            return;
        };
        for &register in &instr.writes {
            let ready = cycle + instr.latency(register, self.machine);
            split.ready.insert(register, ready);
        }
        let access = |count| Access {
            issued: cycle,
            at,
            kind: instr.kind,
            count,
            done: cycle,
        };
        match instr.kind {
            SpelledKind::VectorMemory => {
                split.vector_accesses.push(access(1));
                if instr.name.starts_with("flat_") {
                    split.other_accesses.push(access(1));
                }
            }
            SpelledKind::Lds => split.other_accesses.push(access(1)),
            SpelledKind::ScalarMemory => split.other_accesses.push(access(instr.dwords.min(2))),
            _ => {}
        }
        if instr.is_barrier() {
            split.arrivals += 1;
            if let Some(group) = self.groups.get_mut(&split.wave.0) {
                let opened = group.opened.entry(split.arrivals).or_default();
                *opened = cycle.max(*opened);
            }
        }
    }

    /// Records the end of an access of the last instruction of a split.
    fn complete(&mut self, cycle: u64, place: &WarpPlace, at: usize, done: u64) {
        if done < cycle {
            let violation = format!("an access of {cycle} is done in {done}");
            self.report(cycle, (Rule::Memory, violation));
        }
        if let Some(split) = self.splits.get_mut(&(place.sm, place.slot)) {
            let all = split.vector_accesses.iter_mut();
            for access in all.chain(&mut split.other_accesses) {
                if access.at == at && access.issued == cycle {
                    access.done = access.done.max(done);
                }
            }
        }
    }

    fn split(&mut self, cycle: u64, event: &Event) -> Vec<Violation> {
        let Event::Split {
            parent,
            child,
            at,
            parent_lanes,
            child_lanes,
        } = event
        else {
            return Vec::new();
        };
        self.splits_taken += 1;
        let mut violations = Vec::new();
        let mut violate = |text: &str| violations.push((Rule::Splits, text.to_owned()));
        let first_reserve = self.base_slots();
        let reserve = self.setup.splits;
        if child.slot < first_reserve
            || child.slot - first_reserve >= first_reserve.saturating_mul(reserve)
            || self.splits.contains_key(&(child.sm, child.slot))
        {
            violate("the slot of the child is no free reserve slot");
        }
        let of_simd = self
            .splits
            .iter()
            .filter(|((cu, _), split)| *cu == parent.sm && split.simd == parent.scheduler);
        let fit = self.waves_by_registers().into_iter().min().unwrap_or(0);
        if self.machine[Parameter::SplitRegisters] == 0 && of_simd.count() as u64 >= fit {
            violate("the SIMD has no registers for the child");
        }
        if (parent.sm, parent.scheduler, parent.block, parent.warp)
            != (child.sm, child.scheduler, child.block, child.warp)
        {
            violate("parent and child are of different waves");
        }
        let begins = self.instrs.get(at.index()).and_then(Option::as_ref);
        if !begins.is_some_and(|instr| instr.name.starts_with("s_cbranch_exec")) {
            violate("a wave splits at no branch on EXEC");
        }
        let wave = (parent.block, parent.warp);
        let live = self.splits.values().filter(|split| split.wave == wave);
        if live.count() > reserve as usize {
            violate("more splits than reserve slots");
        }
        // The first issue of a launch wave may be a branch.
        if !self.splits.contains_key(&(parent.sm, parent.slot)) {
            violations.extend(self.begin_wave(parent));
        }
        let latency = self.machine[Parameter::SplitLatency];
        let Some(split) = self.splits.get_mut(&(parent.sm, parent.slot)) else {
            return violations;
        };
        let both = parent_lanes | child_lanes;
        if parent_lanes & child_lanes != 0 || *parent_lanes == 0 || *child_lanes == 0 {
            violations.push((Rule::Splits, "parent and child share lanes".to_owned()));
        }
        // Lanes that a launch wave lacks may be in its mask or not.
        if both & !split.lanes != 0 || split.lanes != Mask::MAX && both != split.lanes {
            let violation = format!("{both:#x} are not the lanes {:#x}", split.lanes);
            violations.push((Rule::Splits, violation));
        }
        split.lanes = *parent_lanes;
        split.next = Some(at.index());
        let mut other = split.clone();
        other.lanes = *child_lanes;
        other.not_before = cycle + 1 + latency;
        // Its next issue is the branch, which only the registers delay.
        other.last = None;
        self.splits.insert((child.sm, child.slot), other);
        if let Some(group) = self.groups.get_mut(&child.block) {
            *group.live.entry(child.warp).or_default() += 1;
        }
        violations
    }

    fn merge(&mut self, cycle: u64, into: &WarpPlace, from: &WarpPlace, at: usize) {
        let other = self.splits.remove(&(from.sm, from.slot));
        let split = self.splits.get_mut(&(into.sm, into.slot));
        let (Some(split), Some(other)) = (split, other) else {
            let violation = "splits that do not run merge".to_owned();
            return self.report(cycle, (Rule::Splits, violation));
        };
        let is_wrong = split.wave != other.wave || split.arrivals != other.arrivals;
        split.lanes |= other.lanes;
        split.next = Some(at);
        split.not_before = cycle + self.machine[Parameter::SplitMerge];
        for (register, ready) in other.ready {
            if let SpelledRegister::Vector(_) = register {
                let own = split.ready.entry(register).or_default();
                *own = ready.max(*own);
            }
        }
        unite(&mut split.vector_accesses, other.vector_accesses);
        unite(&mut split.other_accesses, other.other_accesses);
        if let Some(group) = self.groups.get_mut(&into.block)
            && let Some(live) = group.live.get_mut(&into.warp)
        {
            *live = live.saturating_sub(1);
        }
        if is_wrong {
            let violation = "splits of different waves or barriers merge".to_owned();
            self.report(cycle, (Rule::Splits, violation));
        }
    }

    fn end(&mut self, cycle: u64, place: &WarpPlace) {
        if self.splits.remove(&(place.sm, place.slot)).is_none() {
            self.report(
                cycle,
                (Rule::Events, format!("{place:?} ends and does not run")),
            );
        }
        if let Some(group) = self.groups.get_mut(&place.block)
            && let Some(live) = group.live.get_mut(&place.warp)
        {
            *live = live.saturating_sub(1);
        }
    }

    fn begin_group(&mut self, cycle: u64, cu: u32, number: u64, waves: u32) {
        let group = Group {
            cu,
            waves,
            live: BTreeMap::new(),
            opened: BTreeMap::new(),
        };
        self.groups.insert(number, group);
        let resident = self.groups.values().filter(|group| group.cu == cu);
        let (mut groups, mut of_several, mut waves) = (0, 0, 0);
        for group in resident {
            groups += 1;
            of_several += u64::from(group.waves > 1);
            waves += u64::from(group.waves);
        }
        let machine = self.machine;
        if groups > machine[Parameter::CuGroups]
            || of_several > machine[Parameter::CuBarriers]
            || waves > u64::from(self.base_slots())
        {
            let violation = format!("{groups} groups with {waves} waves on a compute unit");
            self.report(cycle, (Rule::Capacity, violation));
        }
    }
}

impl EventListener for WaveIssueRules<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        match event {
            Event::BlockBegins {
                sm, block, warps, ..
            } => self.begin_group(cycle, *sm, *block, *warps),
            Event::Issue {
                warp, at, active, ..
            } => self.issue(cycle, *warp, at.index(), *active),
            Event::Shared {
                warp,
                at,
                transactions,
                conflicts,
                done,
                ..
            } => {
                if conflicts >= transactions {
                    let violation = format!("{conflicts} conflicts of {transactions} passes");
                    self.report(cycle, (Rule::Memory, violation));
                }
                self.complete(cycle, warp, at.index(), *done);
            }
            Event::Memory {
                warp,
                at,
                done,
                access,
                l1_hits,
                l1_lookups,
                l2_hits,
                l2_lookups,
                sectors,
                ..
            } => {
                if l1_hits > l1_lookups
                    || l2_hits > l2_lookups
                    || l1_lookups > sectors
                    || *access == AccessKind::Load && l1_hits + l2_lookups != *sectors
                {
                    let violation = format!("{event:?} loses sectors or hits too often");
                    self.report(cycle, (Rule::Memory, violation));
                }
                self.complete(cycle, warp, at.index(), *done);
            }
            Event::Scalar {
                warp,
                at,
                done,
                lines,
                hits,
                l2_hits,
                ..
            } => {
                if hits + l2_hits > *lines {
                    let violation = format!("{event:?} hits too often");
                    self.report(cycle, (Rule::Memory, violation));
                }
                self.complete(cycle, warp, at.index(), *done);
            }
            Event::Split { parent, .. } => {
                let violations = self.split(cycle, event);
                self.report_all(cycle, parent, violations);
            }
            Event::Merge { into, from, at } => self.merge(cycle, into, from, at.index()),
            Event::WarpEnds { warp } => self.end(cycle, warp),
            Event::BlockEnds { block, .. } => match self.groups.remove(block) {
                Some(group)
                    if group.live.len() == group.waves as usize
                        && group.live.values().all(|live| *live == 0) => {}
                _ => {
                    let violation = format!("group {block} ends before its waves");
                    self.report(cycle, (Rule::Events, violation));
                }
            },
            _ => {}
        }
    }
}
