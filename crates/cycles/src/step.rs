//! Transfer functions: the times of a lone warp after an instruction, from the times before it (SOUNDNESS 11.1).
//!
//! For example, a load that issues at cycle 10 sets the last issue to 10, and raises its scoreboard to the completion
//! of its access. An instruction that waits for this scoreboard issues after that time.

use std::collections::BTreeMap;

use warpbound_ir::OpIndex;
use warpbound_isa::nvidia::ExecUnit;
use warpbound_machine::Parameter;
use warpbound_timing::{Completion, Distance, InstrFacts, UnitModel};

use crate::account::{Account, Term};
use crate::lines::LineWait;
use crate::memory::times::MemoryTimes;
use crate::memory::{AccessLimits, AccessTimes, AccessWaits, floor};
use crate::numbers::{MILLI, MachineNumbers};
use crate::outcomes::{StepOutcomes, WorstOutcomes};
use crate::state::{Layout, LayoutShape, Part, SCOREBOARDS, TimeVector};

/// Waits of an instruction for lines of code and constants.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OpWaits {
    /// Wait for its line of code where the instruction before it is in another line.
    pub(crate) fetch: LineWait,
    /// Wait for the line of its last byte, if that is another line.
    pub(crate) fetch_last: LineWait,
    /// Wait for its constant operands.
    pub(crate) constants: LineWait,
    /// Whether a load from a constant bank may have requested one of their lines.
    pub(crate) may_be_loaded: bool,
    /// Time from the arrival of a line of constants in the second cache to its arrival in the first.
    pub(crate) from_second: i64,
    /// Wait for the constants that it loads (LDC), and the number of words that follow the first one.
    pub(crate) loaded_constants: LineWait,
    pub(crate) further_words: u32,
    /// Waits of its memory access.
    pub(crate) access: AccessWaits,
}

/// Timing of the instructions of a kernel on a machine.
pub(crate) struct Transfer<'a> {
    pub(crate) facts: &'a [InstrFacts],
    pub(crate) accesses: &'a BTreeMap<OpIndex, AccessLimits>,
    pub(crate) layout: Layout,
    pub(crate) memory: MemoryTimes,
    /// Maximum number of sectors of any load and of any store.
    pub(crate) most_sectors: [u32; 2],
    pub(crate) times: CoreTimes,
    distances: Vec<i64>,
    /// Slow end of each parameter, in thousandths of cycles; used for latencies.
    latencies: Vec<i64>,
    /// Occupancy of each unit by one instruction; `Math` may take either pipe.
    pub(crate) occupancies: [i64; ExecUnit::COUNT],
}

/// Times of the issue and of the units, in thousandths of cycles.
pub(crate) struct CoreTimes {
    drain: i64,
    jump: i64,
    group_switch: i64,
    wake: i64,
    pub(crate) shuffle: i64,
    shared_sources: i64,
    constant_hit: i64,
    constant_operand: i64,
    constant_replay: i64,
    barrier: i64,
    pub(crate) barrier_count: i64,
    fence_block: i64,
    fence_device: i64,
    end: i64,
    /// Whether the end waits for the completion of stores.
    ends_with_stores: bool,
}

impl CoreTimes {
    fn new(numbers: &MachineNumbers) -> CoreTimes {
        let milli = |parameter| numbers.milli(parameter);
        let rate = numbers.slow(Parameter::BarrierThreads).max(1);
        let lanes = u64::from(warpbound_isa::nvidia::WARP_LANES);
        CoreTimes {
            drain: milli(Parameter::IssueDrain),
            jump: milli(Parameter::IssueJump),
            group_switch: milli(Parameter::IssueGroupSwitch),
            wake: milli(Parameter::IssueWake),
            shuffle: milli(Parameter::OccupancyShuffle),
            shared_sources: milli(Parameter::SharedSources),
            constant_hit: milli(Parameter::ConstantL1Hit),
            constant_operand: milli(Parameter::ConstantOperand),
            constant_replay: milli(Parameter::ConstantReplay),
            barrier: milli(Parameter::BarrierLatency),
            barrier_count: (lanes * MILLI as u64).div_ceil(rate) as i64,
            fence_block: milli(Parameter::FenceBlock),
            fence_device: milli(Parameter::FenceDevice),
            end: milli(Parameter::LaunchEnd),
            ends_with_stores: numbers.slow(Parameter::LaunchStores) != 0,
        }
    }
}

/// Units with a queue.
const QUEUED: [ExecUnit; 4] = [ExecUnit::Xu, ExecUnit::Fp64, ExecUnit::Fp16, ExecUnit::Lsu];

/// Number of the queue of a unit.
fn queue_of(unit: ExecUnit) -> Option<usize> {
    QUEUED.iter().position(|queued| *queued == unit)
}

/// Times of the completion of an instruction.
struct CompletionTimes {
    times: AccessTimes,
    /// Term to which waits for its scoreboards are charged.
    term: Term,
}

impl<'a> Transfer<'a> {
    pub(crate) fn new(
        facts: &'a [InstrFacts],
        accesses: &'a BTreeMap<OpIndex, AccessLimits>,
        numbers: &MachineNumbers,
    ) -> Transfer<'a> {
        let memory = MemoryTimes::new(numbers);
        let most_sectors = most_sectors(accesses);
        // One more than any DEPBAR leaves outstanding.
        let counted = facts.iter().filter_map(|facts| match facts.completion {
            Completion::Depbar { most: u8::MAX, .. } => None,
            Completion::Depbar { most, .. } => Some(usize::from(most) + 1),
            _ => None,
        });
        let counted = counted.max().unwrap_or(0);
        let mut spaces = accesses.values().flat_map(|limits| &limits.spaces);
        let hits_l1 = spaces.any(|space| space.may_hit_l1);
        let entries = memory.window_entries(most_sectors);
        let queue = numbers.slow(Parameter::OccupancyQueue).clamp(1, 64) as usize;
        let layout = Layout::new(LayoutShape {
            has_releases: true,
            registers: 0,
            queues: QUEUED.len(),
            queue,
            memory_queue: queue_of(ExecUnit::Lsu).unwrap_or(0),
            counted,
            loads: entries.0,
            stores: entries.1,
            hits_l1,
        });
        let distances = facts.iter().map(|facts| distance(facts, numbers)).collect();
        Transfer {
            facts,
            accesses,
            layout,
            memory,
            most_sectors,
            times: CoreTimes::new(numbers),
            distances,
            latencies: Parameter::ALL.iter().map(|&p| numbers.milli(p)).collect(),
            occupancies: occupancies(numbers),
        }
    }

    /// Service of a line of `sectors` sectors at a slice and at DRAM.
    pub(crate) fn line_service(&self, sectors: i64, may_miss: bool) -> (i64, i64) {
        self.memory.line_service(sectors, may_miss)
    }

    /// Whether an instruction jumps if the next one is not at the next index.
    pub(crate) fn branches(&self, at: OpIndex) -> bool {
        self.facts
            .get(at.index())
            .is_some_and(|facts| facts.branches)
    }

    /// Delays the next instruction by a taken branch.
    pub(crate) fn jump(&self, vector: &mut TimeVector, account: &mut Account<'_>) {
        let until = vector.get(Part::Ready) + self.times.jump;
        account.wait(vector, until, Term::Fetch);
    }

    /// Changes to another group of the warp, once all is complete that the group has begun: what a group leaves pending then
    /// delays no other group, whichever is next.
    pub(crate) fn change_group(&self, vector: &mut TimeVector, account: &mut Account<'_>) {
        let complete = vector.0.iter().copied().max().unwrap_or(0);
        account.wait(vector, complete, Term::Dependencies);
        vector.0.fill(complete);
        account.wait(vector, complete + self.times.group_switch, Term::Groups);
    }

    /// Waits for the scoreboards and constants of an instruction and issues it, with the worst outcomes.
    pub(crate) fn issue(
        &self,
        vector: &mut TimeVector,
        at: OpIndex,
        waits: &OpWaits,
        account: &mut Account<'_>,
    ) {
        let mut outcomes = WorstOutcomes {
            memory: &self.memory,
            access: self.accesses.get(&at),
            most_sectors: self.most_sectors,
            waits,
        };
        self.issue_with(vector, at, &mut outcomes, account);
    }

    /// Waits for the scoreboards and constants of an instruction and issues it.
    pub(crate) fn issue_with<O: StepOutcomes>(
        &self,
        vector: &mut TimeVector,
        at: OpIndex,
        outcomes: &mut O,
        account: &mut Account<'_>,
    ) {
        let Some(facts) = self.facts.get(at.index()) else {
            return;
        };
        self.wait_for_scoreboards(vector, facts.wait_mask, self.times.wake, account);
        if let Some(until) = outcomes.operands(vector) {
            account.wait(vector, until + self.times.constant_operand, Term::Constants);
        } else if !facts.constants.is_empty() {
            let until = vector.get(Part::Requested) + self.times.constant_operand;
            account.wait(vector, until, Term::Constants);
        }
        let apart = if outcomes.may_be_second() { 0 } else { MILLI };
        let now = vector
            .get(Part::Ready)
            .max(vector.get(Part::LastIssue) + apart)
            .max(self.accepts::<O>(vector, facts.unit));
        account.issue(vector, now, at);
        vector.set(Part::LastIssue, now);
        vector.set(Part::Ready, now);
        vector.set(Part::Requested, now);
        let distance = self.distances.get(at.index()).copied().unwrap_or(MILLI);
        // The distance of a pair is stated as a cycle; a machine that issues pairs does not wait for it.
        let paired = match facts.distance {
            Distance::Pair if outcomes.issues_pairs() => MILLI,
            _ => 0,
        };
        account.wait(vector, now + distance - paired, Term::Dependencies);
        let start = self.dispatch::<O>(vector, facts, outcomes.words(), now);
        let completion = self.complete(vector, facts, outcomes, now, start, account);
        let AccessTimes { sources, done } = completion.times;
        for (scoreboard, time) in [(facts.read_sb, sources), (facts.write_sb, done)] {
            if let Some(number) = scoreboard {
                // Scoreboards count, so an operation that ends early does not release one that is held for longer.
                vector.raise_scoreboard(&self.layout, number.into(), time);
                account.raise(number.into(), completion.term);
            }
        }
        if facts.drains {
            // Code 0 of the control word is DRAIN: the warp waits for all outstanding operations.
            self.wait_for_scoreboards(vector, u8::MAX, 0, account);
            let until = vector.get(Part::Ready) + self.times.drain;
            account.wait(vector, until, Term::Dependencies);
        }
        if facts.arrives {
            self.arrive(vector, now, outcomes.waits_at_barrier(), account);
        }
    }

    /// Arrives at a barrier, which opens at once for a lone warp.
    fn arrive(&self, vector: &mut TimeVector, now: i64, waits: bool, account: &mut Account<'_>) {
        let counted = now.max(vector.get(Part::Barrier));
        vector.set(Part::Barrier, counted + self.times.barrier_count);
        // An arrival without a wait takes the counter of barriers, but does not delay its warp.
        if !waits {
            return;
        }
        let release = floor(counted) + self.times.barrier;
        account.wait(vector, release, Term::Synchronisation);
        vector.raise(Part::Requested, release);
    }

    fn wait_for_scoreboards(
        &self,
        vector: &mut TimeVector,
        mask: u8,
        wake: i64,
        account: &mut Account<'_>,
    ) {
        for number in (0..SCOREBOARDS).filter(|number| mask >> number & 1 == 1) {
            let until = vector.scoreboard(number) + wake;
            account.wait_for_scoreboard(vector, until, number);
        }
    }

    /// Time from which a unit, or its queue, accepts an instruction.
    fn accepts<O: StepOutcomes>(&self, vector: &TimeVector, unit: ExecUnit) -> i64 {
        match unit {
            ExecUnit::None => i64::MIN / 2,
            ExecUnit::Fxu => vector.get(Part::Fxu),
            ExecUnit::Fmai => vector.get(Part::Fmai),
            ExecUnit::Math if O::KNOWS_PIPE => vector.get(Part::Fxu).min(vector.get(Part::Fmai)),
            // Both pipes are busy only for two different instructions.
            ExecUnit::Math => vector.get(Part::SecondLastPipe),
            unit => queue_of(unit)
                .and_then(|unit| vector.queue(&self.layout, unit))
                .map_or(i64::MIN / 2, |(accepts, _)| accepts),
        }
    }

    /// Dispatches an instruction to its unit; returns the time at which the unit starts it.
    fn dispatch<O: StepOutcomes>(
        &self,
        vector: &mut TimeVector,
        facts: &InstrFacts,
        words: i64,
        now: i64,
    ) -> i64 {
        let unit = match facts.unit {
            ExecUnit::Math if O::KNOWS_PIPE => match vector.get(Part::Fmai) <= now {
                true => ExecUnit::Fmai,
                false => ExecUnit::Fxu,
            },
            unit => unit,
        };
        let occupancy = self.occupancies[unit as usize];
        if let Some(queue) = queue_of(unit) {
            let idle = vector.queue(&self.layout, queue);
            // The queue is served in order, so the unit starts this instruction after all before it.
            let start = now.max(idle.map_or(now, |(_, idle)| idle));
            vector.depart(&self.layout, queue, start + occupancy * words);
            return start;
        }
        if matches!(unit, ExecUnit::Fxu | ExecUnit::Fmai | ExecUnit::Math) {
            let done = now + occupancy;
            if unit != ExecUnit::Fmai {
                vector.raise(Part::Fxu, done);
            }
            if unit != ExecUnit::Fxu {
                vector.raise(Part::Fmai, done);
            }
            let last = vector.get(Part::LastPipe);
            // `accepts` needs the second last completion, since two instructions can keep both pipes busy.
            vector.set(Part::SecondLastPipe, last);
            vector.set(Part::LastPipe, last.max(done));
        }
        now
    }

    /// Times of the completion of an instruction that its unit starts at `start`.
    fn complete<O: StepOutcomes>(
        &self,
        vector: &mut TimeVector,
        facts: &InstrFacts,
        outcomes: &mut O,
        now: i64,
        start: i64,
        account: &mut Account<'_>,
    ) -> CompletionTimes {
        let mut times = AccessTimes {
            sources: start,
            done: start + MILLI,
        };
        let mut term = Term::Dependencies;
        match facts.completion {
            Completion::Fixed => {}
            Completion::Latency(latency) => {
                let mut start = start;
                if latency == Parameter::LatencyShuffle {
                    start = floor(start.max(vector.get(Part::Shared)));
                    let free = start.max(vector.get(Part::Shared)) + self.times.shuffle;
                    vector.set(Part::Shared, free);
                }
                times.done = start + self.latency(latency);
                // A result cannot be present before its sources have been read.
                times.sources = times.done.min(start + self.times.shared_sources);
            }
            Completion::Memory(_) => {
                if let Some(access) = outcomes.access(vector, &self.layout, start) {
                    (times, term) = access;
                }
            }
            Completion::Constant(..) => {
                let replay = self.times.constant_replay;
                if let Some(arrival) = outcomes.loaded_constants(vector, start, replay) {
                    times.done = times.done.max(arrival + self.times.constant_hit);
                }
                times.sources = start + self.times.shared_sources;
                term = Term::Constants;
            }
            // Refused (`refusal`).
            Completion::Texture => {}
            Completion::Fence { device } => {
                let done = match device {
                    true => vector.get(Part::Stored).max(now) + self.times.fence_device,
                    false => now + self.times.fence_block,
                };
                account.wait(vector, done, Term::Synchronisation);
                times = AccessTimes {
                    sources: done,
                    done,
                };
                term = Term::Synchronisation;
            }
            Completion::Depbar {
                scoreboard,
                most,
                zero,
            } => {
                if most != u8::MAX {
                    let number = usize::from(scoreboard);
                    let until = vector.scoreboard_to(&self.layout, number, most.into());
                    account.wait_for_scoreboard(vector, until, number);
                }
                self.wait_for_scoreboards(vector, zero, 0, account);
                times = AccessTimes {
                    sources: now,
                    done: now,
                };
            }
        }
        CompletionTimes { times, term }
    }

    fn latency(&self, parameter: Parameter) -> i64 {
        self.latencies.get(parameter as usize).copied().unwrap_or(0)
    }

    /// Time of the end of a launch whose warp has exited.
    pub(crate) fn end(&self, vector: &TimeVector) -> i64 {
        let mut end = vector.get(Part::LastIssue) + MILLI;
        // On some machines a launch ends when its last warp has, whatever it has stored (`launch.stores`).
        if self.times.ends_with_stores {
            end = end.max(vector.get(Part::Stored));
        }
        end + self.times.end
    }
}

/// Returns the maximum number of sectors of any load (atomic operations included) and of any store.
pub(crate) fn most_sectors(accesses: &BTreeMap<OpIndex, AccessLimits>) -> [u32; 2] {
    let mut most = [0; 2];
    for limits in accesses.values() {
        let is_store = limits.direction == crate::memory::AccessDirection::Store;
        let known = &mut most[usize::from(is_store)];
        for space in &limits.spaces {
            if space.space != warpbound_isa::instr::MemorySpace::Shared {
                *known = (*known).max(space.sectors);
            }
        }
    }
    most
}

/// Number of registers of a thread. With as many banks there are no conflicts.
const REGISTERS: u64 = 256;

/// Returns the occupancy of each unit by one instruction.
fn occupancies(numbers: &MachineNumbers) -> [i64; ExecUnit::COUNT] {
    let mut all = [0; ExecUnit::COUNT];
    let units = [
        ExecUnit::Fxu,
        ExecUnit::Fmai,
        ExecUnit::Xu,
        ExecUnit::Fp64,
        ExecUnit::Fp16,
        ExecUnit::Lsu,
    ];
    for unit in units {
        if let Some(parameter) = unit.occupancy() {
            all[unit as usize] = numbers.milli(parameter);
        }
    }
    let pipes = [ExecUnit::Fxu, ExecUnit::Fmai].map(|pipe| all[pipe as usize]);
    // The instruction may be in the pipe with the longer occupancy.
    all[ExecUnit::Math as usize] = pipes[0].max(pipes[1]);
    all
}

/// Time from the issue of an instruction to the first possible issue of the next one: distance and bank conflicts.
fn distance(facts: &InstrFacts, numbers: &MachineNumbers) -> i64 {
    let stall = match facts.distance {
        Distance::Cycles(cycles) => i64::from(cycles),
        Distance::Parameter(parameter) => numbers.slow(parameter) as i64,
        Distance::Pair => 1,
    };
    let (least, most) = numbers.range(Parameter::IssueBanks);
    // More banks may mean more conflicts: R0 and R4 share a bank of four, but not of three. So all numbers are tried.
    let conflicts = (least.max(1)..=most.min(REGISTERS)).map(|banks| facts.bank_conflicts(banks));
    let conflicts = i64::from(conflicts.max().unwrap_or(0));
    let each = numbers.slow(Parameter::IssueBankConflict) as i64;
    (stall.max(facts.least.into()).max(1) + conflicts * each) * MILLI
}
