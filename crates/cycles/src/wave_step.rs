//! Transfer functions of waves of GCN3: the times of a lone wave after an instruction, from the times before it
//! (SOUNDNESS 11.7).
//!
//! A wave issues in the turns of its SIMD only, every fourth cycle. The vectors count time from a turn, and all
//! shifts are by whole turns. For example, a result that arrives in cycle 9 can be used in cycle 12.

use std::collections::BTreeMap;

use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::amd::GcnClass;
use warpbound_machine::Parameter;
use warpbound_timing::{IssueKind, WaveFacts};

use crate::account::{Account, Term};
use crate::kernel::{KeepingCache, OtherWarps, ScalarLimits, TimedKernel, WaveSplits};
use crate::memory::times::MemoryTimes;
use crate::memory::{AccessDirection, AccessLimits, AccessTimes, SpaceAccess, floor};
use crate::numbers::{MILLI, MachineNumbers};
use crate::state::{Layout, LayoutShape, Part, TimeVector};
use crate::step::{OpWaits, most_sectors};

/// Counters of a wave: vmcnt, expcnt, lgkmcnt.
const VM: usize = 0;
const EXP: usize = 1;
const LGKM: usize = 2;

/// Timing of the instructions of a kernel for waves on a machine.
pub(crate) struct WaveTransfer<'a> {
    pub(crate) facts: &'a [WaveFacts],
    pub(crate) accesses: &'a BTreeMap<OpIndex, AccessLimits>,
    pub(crate) scalar_loads: &'a BTreeMap<OpIndex, ScalarLimits>,
    splits: Option<&'a WaveSplits>,
    /// Whether there are other waves.
    among_others: bool,
    pub(crate) layout: Layout,
    pub(crate) memory: MemoryTimes,
    most_sectors: [u32; 2],
    pub(crate) times: WaveTimes,
    /// Number of each register that has a time, by cell.
    registers: Vec<Option<u16>>,
}

/// Times of the issue and of the units, in thousandths of cycles.
pub(crate) struct WaveTimes {
    turn: i64,
    valu: [i64; 4],
    valu_latency: i64,
    valu_to_scalar: i64,
    salu: i64,
    salu_latency: i64,
    salu_slow: i64,
    branch: i64,
    not_taken: i64,
    taken: i64,
    message: i64,
    nop_state: i64,
    sleep_unit: i64,
    smem: [i64; 3],
    scalar_hit: i64,
    scalar_beyond: i64,
    vmem: i64,
    lds: i64,
    lds_latency: i64,
    lds_conflict: i64,
    lds_atomic: i64,
    barrier: i64,
    end: i64,
    ends_with_stores: bool,
    split: i64,
    merge: i64,
}

impl WaveTimes {
    fn new(numbers: &MachineNumbers) -> WaveTimes {
        use Parameter as P;
        let milli = |parameter| numbers.milli(parameter);
        WaveTimes {
            turn: numbers.turn(),
            valu: [P::ValuCycles, P::ValuQuarter, P::ValuF64Add, P::ValuF64Mul].map(milli),
            valu_latency: milli(P::ValuLatency),
            valu_to_scalar: milli(P::ValuToScalar),
            salu: milli(P::SaluCycles),
            salu_latency: milli(P::SaluLatency),
            salu_slow: milli(P::SaluSlow),
            branch: milli(P::BranchCycles),
            not_taken: milli(P::BranchNotTaken),
            taken: milli(P::BranchTaken),
            message: milli(P::MessageLatency),
            nop_state: milli(P::NopState),
            sleep_unit: milli(P::SleepUnit),
            smem: [P::SmemCycles, P::SmemCycles8, P::SmemCycles16].map(milli),
            scalar_hit: milli(P::ScalarHit),
            scalar_beyond: milli(P::ScalarBeyond),
            vmem: milli(P::VmemCycles),
            lds: milli(P::LdsCycles),
            lds_latency: milli(P::LdsLatency),
            lds_conflict: milli(P::LdsConflict),
            lds_atomic: milli(P::LdsAtomic),
            barrier: milli(P::BarrierLatency),
            end: milli(P::LaunchEnd),
            ends_with_stores: numbers.slow(P::LaunchStores) != 0,
            split: milli(P::SplitLatency),
            merge: milli(P::SplitMerge),
        }
    }
}

impl WaveTimes {
    /// Time for which an instruction occupies its unit.
    pub(crate) fn occupancy(&self, facts: &WaveFacts) -> i64 {
        let dwords = i64::from(facts.dwords.max(1));
        match facts.class {
            GcnClass::Full => self.valu[0],
            GcnClass::Quarter => self.valu[1],
            GcnClass::F64Add => self.valu[2],
            GcnClass::F64Mul => self.valu[3],
            GcnClass::Scalar | GcnClass::ScalarSlow => self.salu,
            GcnClass::Branch => self.branch,
            GcnClass::ScalarMemory => {
                self.smem[match facts.dwords {
                    0..=4 => 0,
                    5..=8 => 1,
                    _ => 2,
                }]
            }
            GcnClass::Lds => dwords * self.lds,
            GcnClass::Flat | GcnClass::Buffer => dwords * self.vmem,
            GcnClass::Message
            | GcnClass::Nop
            | GcnClass::Sleep
            | GcnClass::Wait
            | GcnClass::Barrier
            | GcnClass::End
            | GcnClass::Internal
            | GcnClass::None => 0,
        }
    }
}

impl<'a> WaveTransfer<'a> {
    pub(crate) fn new(
        facts: &'a [WaveFacts],
        kernel: &'a TimedKernel<'a>,
        numbers: &MachineNumbers,
    ) -> WaveTransfer<'a> {
        let mut memory = MemoryTimes::new(numbers);
        let among_others = kernel.others != OtherWarps::Absent;
        if among_others {
            // A unit takes an access when all requests of the one before have begun: no access is simulated ahead.
            let counts_misses = kernel.counted_sectors.is_some();
            memory = memory.among_others(kernel.accesses, 0, counts_misses);
        }
        let most_sectors = most_sectors(kernel.accesses);
        // One more than any s_waitcnt leaves outstanding.
        let waits = facts.iter().filter_map(|facts| facts.waits);
        let counts = waits.flat_map(|waits| [waits.vm, waits.exp, waits.lgkm]);
        let counted = counts.flatten().map(|most| usize::from(most) + 1);
        let mut spaces = kernel.accesses.values().flat_map(|limits| &limits.spaces);
        let hits_l1 = spaces.any(|space| space.may_hit_l1);
        let (loads, stores) = memory.window_entries(most_sectors);
        let (registers, count) = timed_registers(facts);
        let layout = Layout::new(LayoutShape {
            has_releases: false,
            registers: count,
            queues: IssueKind::COUNT,
            // Units of a compute unit have no queues: the last departure alone decides.
            queue: 1,
            memory_queue: IssueKind::VectorMemory as usize,
            counted: counted.max().unwrap_or(0),
            loads,
            stores,
            hits_l1,
        });
        WaveTransfer {
            facts,
            accesses: kernel.accesses,
            scalar_loads: kernel.scalar_loads,
            splits: kernel.splits,
            among_others,
            layout,
            memory,
            most_sectors,
            times: WaveTimes::new(numbers),
            registers,
        }
    }

    /// Whether there are other waves.
    pub(crate) fn is_among_others(&self) -> bool {
        self.among_others
    }

    pub(crate) fn turn(&self) -> i64 {
        self.times.turn
    }

    pub(crate) fn branches(&self, at: OpIndex) -> bool {
        let facts = self.facts.get(at.index());
        facts.is_some_and(|facts| facts.branches)
    }

    /// Delays the next instruction by a taken branch.
    pub(crate) fn jump(&self, vector: &mut TimeVector, account: &mut Account<'_>) {
        let until = vector.get(Part::LastIssue) + self.times.taken;
        account.wait(vector, until, Term::Fetch);
        self.align(vector, account);
    }

    /// Delays the next instruction to the next turn of the SIMD of the wave.
    fn align(&self, vector: &mut TimeVector, account: &mut Account<'_>) {
        let ready = vector.get(Part::Ready);
        let turn = self.times.turn;
        let until = (ready + turn - 1).div_euclid(turn) * turn;
        account.wait(vector, until, Term::Issue);
    }

    /// Delays the next instruction by a turn, less a cycle. Siblings and other waves may delay a wave by any number
    /// of cycles, so that it misses its turn. Instructions that wait only for the issues before them are delayed by
    /// whole turns.
    pub(crate) fn miss_turn(&self, vector: &mut TimeVector, account: &mut Account<'_>) {
        if self.splits.is_some() || self.among_others {
            let until = vector.get(Part::Ready) + self.times.turn - MILLI;
            account.wait(vector, until, Term::Issue);
        }
    }

    /// Delays an instruction before which splits become one.
    pub(crate) fn merge(&self, vector: &mut TimeVector, at: OpIndex, account: &mut Account<'_>) {
        if !self
            .splits
            .is_some_and(|splits| splits.merge_points.contains(&at))
        {
            return;
        }
        // Both splits have outstanding results, which count together from now on; all are taken to be as late as the
        // latest.
        for counter in [VM, EXP, LGKM] {
            vector.level_counter(&self.layout, counter);
        }
        let until = vector.get(Part::Ready) + self.times.turn + self.times.merge;
        account.wait(vector, until, Term::Synchronisation);
        self.align(vector, account);
        vector.set(Part::Requested, vector.get(Part::Ready));
    }

    /// Delays a branch that a child issues after its parent.
    fn split(&self, vector: &mut TimeVector, at: OpIndex, account: &mut Account<'_>) {
        if self.splits.is_some_and(|splits| splits.sites.contains(&at)) {
            let until = vector.get(Part::Ready) + self.times.turn + self.times.split;
            account.wait(vector, until, Term::Synchronisation);
            self.align(vector, account);
        }
    }

    /// Waits for the registers, counters and the unit of an instruction and issues it, with the worst outcomes.
    pub(crate) fn issue(
        &self,
        vector: &mut TimeVector,
        at: OpIndex,
        waits: &OpWaits,
        account: &mut Account<'_>,
    ) {
        let Some(facts) = self.facts.get(at.index()) else {
            return;
        };
        self.split(vector, at, account);
        // The scoreboard of registers holds an instruction for the registers that it writes, too.
        for cell in facts.reads.iter().chain(&facts.writes) {
            if let Some(number) = self.register(*cell) {
                let until = vector.register(&self.layout, number);
                account.wait(vector, until, Term::Dependencies);
            }
        }
        self.wait_for_counters(vector, facts, account);
        if facts.kind != IssueKind::Internal
            && let Some((free, _)) = vector.queue(&self.layout, facts.kind as usize)
        {
            account.wait(vector, free, Term::Issue);
        }
        // These may be delayed by a part of a turn, all others only by whole turns (SOUNDNESS 20.9).
        if facts.waits.is_some() || is_memory(facts.kind) {
            self.miss_turn(vector, account);
        }
        self.align(vector, account);
        let now = vector.get(Part::Ready);
        account.issue(vector, now, at);
        vector.set(Part::LastIssue, now);
        vector.set(Part::Requested, now);
        self.complete(vector, facts, at, waits, account);
        let least = match facts.class {
            GcnClass::Branch => self.times.not_taken.max(self.times.turn),
            GcnClass::Nop => i64::from(facts.idle) * self.times.nop_state,
            GcnClass::Sleep => i64::from(facts.idle) * self.times.sleep_unit,
            _ => self.times.turn,
        };
        // A wave issues at most once in a turn.
        account.wait(vector, now + self.times.turn, Term::Issue);
        account.wait(vector, now + least, Term::Dependencies);
        if facts.arrives {
            let release = now + self.times.barrier.max(MILLI);
            account.wait(vector, release, Term::Synchronisation);
            vector.raise(Part::Requested, release);
            // The wave that arrives last may be of another SIMD.
            if self.among_others {
                self.miss_turn(vector, account);
            }
        }
        self.align(vector, account);
        // A register that is ready before the next issue delays nothing; raising it keeps the function monotone.
        vector.settle_registers(&self.layout);
    }

    /// Waits until the counters have the counts that an instruction asks for.
    fn wait_for_counters(
        &self,
        vector: &mut TimeVector,
        facts: &WaveFacts,
        account: &mut Account<'_>,
    ) {
        let Some(waits) = facts.waits else {
            return;
        };
        for (counter, most) in [(VM, waits.vm), (EXP, waits.exp), (LGKM, waits.lgkm)] {
            if let Some(most) = most {
                let until = vector.scoreboard_to(&self.layout, counter, most.into());
                account.wait_for_scoreboard(vector, until, counter);
            }
        }
    }

    /// Occupies the unit of an instruction, and computes when its results are present.
    fn complete(
        &self,
        vector: &mut TimeVector,
        facts: &WaveFacts,
        at: OpIndex,
        waits: &OpWaits,
        account: &mut Account<'_>,
    ) {
        let times = &self.times;
        let now = vector.get(Part::LastIssue);
        match facts.class {
            GcnClass::Full | GcnClass::Quarter | GcnClass::F64Add | GcnClass::F64Mul => {
                let occupied = times.occupancy(facts);
                self.occupy(vector, facts.kind, now + occupied);
                for cell in &facts.writes {
                    // Scalar registers and VCC that a vector instruction writes have another latency than vector
                    // registers.
                    let latency = match cell.is_per_lane() {
                        true => times.valu_latency,
                        false => times.valu_to_scalar,
                    };
                    // No result is present before the occupancy of the ALU is over.
                    self.write(vector, *cell, now + latency.max(occupied));
                }
            }
            GcnClass::Scalar | GcnClass::ScalarSlow => {
                self.occupy(vector, facts.kind, now + times.occupancy(facts));
                let latency = match facts.class {
                    GcnClass::ScalarSlow => times.salu_slow,
                    _ => times.salu_latency,
                };
                for cell in &facts.writes {
                    self.write(vector, *cell, now + latency);
                }
            }
            GcnClass::Branch => self.occupy(vector, facts.kind, now + times.occupancy(facts)),
            GcnClass::Message => {
                self.raise(
                    vector,
                    facts,
                    now + times.message,
                    Term::Synchronisation,
                    account,
                );
            }
            GcnClass::ScalarMemory => self.scalar_memory(vector, facts, at, account),
            GcnClass::Lds => {
                let start = now + times.occupancy(facts);
                self.occupy(vector, facts.kind, start);
                self.access(vector, facts, at, start, waits, account);
            }
            GcnClass::Flat | GcnClass::Buffer => {
                let start = now + times.occupancy(facts);
                self.occupy(vector, facts.kind, start);
                self.access(vector, facts, at, start, waits, account);
            }
            GcnClass::Nop
            | GcnClass::Sleep
            | GcnClass::Wait
            | GcnClass::Barrier
            | GcnClass::End
            | GcnClass::Internal
            | GcnClass::None => {}
        }
    }

    /// Advances the times by a scalar load.
    fn scalar_memory(
        &self,
        vector: &mut TimeVector,
        facts: &WaveFacts,
        at: OpIndex,
        account: &mut Account<'_>,
    ) {
        let times = &self.times;
        let now = vector.get(Part::LastIssue);
        let occupied = times.occupancy(facts);
        self.occupy(vector, facts.kind, now + occupied);
        let start = now + occupied;
        let mut done = start + times.scalar_hit;
        if let Some(limits) = self.scalar_loads.get(&at) {
            // Each line is requested, and served after those before it.
            let lines = i64::from(limits.lines);
            let (slice, dram) = self.scalar_service(limits);
            let uses_dram = limits.may_miss || limits.may_evict;
            let sliced = start.max(vector.get(Part::Slice)) + lines * slice;
            let mut served = sliced;
            vector.set(Part::Slice, sliced);
            if uses_dram {
                let free = sliced.max(vector.get(Part::Dram) + lines * slice);
                served = free + lines * dram;
                vector.set(Part::Dram, served);
            }
            // Each line is taken to miss in the scalar cache (SOUNDNESS 11.7).
            let mut latency = times.scalar_hit + times.scalar_beyond;
            if limits.may_miss {
                latency += self.memory.beyond(KeepingCache::L2, true);
            }
            if limits.stores {
                latency = latency.max(self.memory.l2_hit());
            }
            // A read waits for the atomic operations of others on its line.
            latency += self.memory.atomics_of_others();
            done = floor(served) + latency;
            if !limits.stores {
                // A read waits for the atomic operations of its wave on its line as well.
                let beyond = times.scalar_hit + times.scalar_beyond - self.memory.l2_hit();
                done = done.max(vector.get(Part::Atomic) + beyond);
            }
            if limits.stores {
                vector.raise(Part::Stored, done);
            }
        }
        self.raise(vector, facts, done, Term::Constants, account);
    }

    /// Service of a line of a scalar access at a slice and at DRAM.
    pub(crate) fn scalar_service(&self, limits: &ScalarLimits) -> (i64, i64) {
        let (slice, mut dram) = self.memory.line_service(1, limits.may_miss);
        if limits.may_evict {
            dram += self.memory.evicted_line();
        }
        (slice, dram)
    }

    /// Advances the times by an access to memory or LDS that begins at `start`.
    fn access(
        &self,
        vector: &mut TimeVector,
        facts: &WaveFacts,
        at: OpIndex,
        start: i64,
        waits: &OpWaits,
        account: &mut Account<'_>,
    ) {
        let Some(limits) = self.accesses.get(&at) else {
            return;
        };
        let mut done = start + MILLI;
        for space in &limits.spaces {
            let found = match space.space {
                warpbound_isa::instr::MemorySpace::Shared => {
                    let direction = limits.direction;
                    self.lds(vector, start, facts.kind, direction, space.conflicts)
                }
                _ => {
                    let access = SpaceAccess {
                        direction: limits.direction,
                        waits: waits.access,
                        limits: space,
                    };
                    self.global(vector, start, access)
                }
            };
            done = done.max(found.done);
        }
        self.raise(vector, facts, done, Term::of_access(limits), account);
    }

    /// Advances the times by an access to global or local memory.
    fn global(&self, vector: &mut TimeVector, start: i64, access: SpaceAccess<'_>) -> AccessTimes {
        const SERVERS: [Part; 4] = [Part::Tags, Part::Port, Part::Slice, Part::Dram];
        let (memory, layout) = (&self.memory, &self.layout);
        if self.splits.is_none() {
            return memory.global(vector, layout, start, access, self.most_sectors);
        }
        // A request of a sibling may hold the windows until all servers have served it, so the servers count as one.
        let free = SERVERS.map(|part| vector.get(part)).into_iter().max();
        let free = free.unwrap_or(start).max(start);
        let mut times = memory.global(vector, layout, free, access, self.most_sectors);
        let served = free + memory.served(access.direction, access.limits);
        times.done += served - free;
        for part in SERVERS {
            vector.raise(part, served);
        }
        times
    }

    /// Maximum number of sectors of an access, of loads or of stores.
    pub(crate) fn most_sectors(&self, stores: bool) -> u32 {
        self.most_sectors[usize::from(stores)]
    }

    /// Whether accesses to LDS may wait for others.
    pub(crate) fn has_conflicts(&self) -> bool {
        self.times.lds_conflict > 0
    }

    /// Time for which some further passes over a bank take LDS.
    pub(crate) fn further_passes(&self, passes: u32) -> i64 {
        i64::from(passes) * self.times.lds_conflict
    }

    /// Advances the times by an access to LDS with some further passes over a bank. Its unit is free when LDS begins.
    fn lds(
        &self,
        vector: &mut TimeVector,
        start: i64,
        kind: IssueKind,
        direction: AccessDirection,
        passes: u32,
    ) -> AccessTimes {
        let atomic = match direction {
            AccessDirection::Atomic => self.times.lds_atomic,
            _ => 0,
        };
        let served = start.max(vector.get(Part::Shared));
        let further = self.further_passes(passes);
        vector.set(Part::Shared, served + further);
        self.occupy(vector, kind, served);
        let mut done = served + self.times.lds_latency + further + atomic;
        if kind == IssueKind::Lds {
            // Accesses of the LDS unit are complete in the order of issue.
            done = done.max(vector.get(Part::SharedServed));
            vector.set(Part::SharedServed, done);
        }
        AccessTimes {
            sources: served,
            done,
        }
    }

    /// Raises the counters of an instruction that is complete at a time.
    fn raise(
        &self,
        vector: &mut TimeVector,
        facts: &WaveFacts,
        done: i64,
        term: Term,
        account: &mut Account<'_>,
    ) {
        let raises = [
            (VM, facts.raises.vm),
            (EXP, facts.raises.exp),
            (LGKM, facts.raises.lgkm),
        ];
        let mut done = done;
        if facts.raises.vm > 0 {
            // Vector memory is complete in the order of issue.
            done = done.max(vector.scoreboard_to(&self.layout, VM, 0));
        }
        for (counter, by) in raises {
            // A counter that rises by 2 has to fall twice, so the load stands twice in the list.
            for _ in 0..by {
                vector.count(&self.layout, counter, done);
            }
            if by > 0 {
                account.raise(counter, term);
            }
        }
    }

    fn occupy(&self, vector: &mut TimeVector, kind: IssueKind, until: i64) {
        vector.depart(&self.layout, kind as usize, until);
    }

    fn register(&self, cell: Cell) -> Option<usize> {
        let number = self.registers.get(cell.index()).copied().flatten();
        number.map(usize::from)
    }

    fn write(&self, vector: &mut TimeVector, cell: Cell, at: i64) {
        if let Some(number) = self.register(cell) {
            vector.set_register(&self.layout, number, at);
        }
    }

    /// Time of the end of a launch whose wave has ended.
    pub(crate) fn end(&self, vector: &TimeVector) -> i64 {
        let mut end = vector.get(Part::LastIssue) + MILLI;
        if self.times.ends_with_stores {
            end = end.max(vector.get(Part::Stored));
        }
        match self.among_others {
            // The end of a launch comes once, not after each of its waves.
            true => end,
            false => end + self.times.end,
        }
    }
}

/// Whether instructions of a kind use a unit that splits share in any case.
pub(crate) fn is_memory(kind: IssueKind) -> bool {
    matches!(
        kind,
        IssueKind::VectorMemory | IssueKind::Lds | IssueKind::ScalarMemory | IssueKind::Message
    )
}

/// Numbers the registers that ALUs write, by cell; memory results have no times.
fn timed_registers(facts: &[WaveFacts]) -> (Vec<Option<u16>>, usize) {
    let mut numbers = vec![None; Cell::COUNT];
    let mut count = 0;
    let of_alus = |facts: &&WaveFacts| matches!(facts.kind, IssueKind::Vector | IssueKind::Scalar);
    let written = facts.iter().filter(of_alus).flat_map(|facts| &facts.writes);
    for cell in written {
        if let Some(number) = numbers.get_mut(cell.index())
            && number.is_none()
        {
            *number = Some(count);
            count += 1;
        }
    }
    (numbers, count.into())
}
