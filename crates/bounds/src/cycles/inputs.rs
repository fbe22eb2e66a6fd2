//! Inputs of the time of a kernel: limits of its accesses, constants, steps, and costs that are counted once.
//!
//! Each input is a claim that holds in every run. For example, a load has at most 4 sectors, its line may be missing
//! in the L2 cache, and it never looks up the L1 cache. Tests replace claims by observations of a run, or plant
//! faults in them.

use std::collections::BTreeMap;
use std::ops::Range;

use warpbound_analyse::access::{AccessClass, MemoryUnits};
use warpbound_base::{ConstantBanks, Diagnostic, Family};
use warpbound_cycles::{
    AccessDirection, AccessLimits, CountedSectors, KeepingCache, LoadedConstants, MachineNumbers,
    OtherWarps, PartedGroups, PreloadedConstants, ScalarLimits, SpaceLimits, TimedCode,
    TimedKernel, TimedStep, Translations, WaveSplits, refusal,
};
use warpbound_ir::{Code, Meaning, OpIndex};
use warpbound_isa::Program;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_machine::Parameter;
use warpbound_query::prepared::Prepared;
use warpbound_query::{KernelFlow, Session};
use warpbound_simt::counts::{CountKind, CountVar};
use warpbound_timing::{Completion, InstrFacts, L1Use, WaveFacts, gcn_facts, instr_facts};

use super::CacheState;
use super::access_knowledge::AccessKnowledge;
use super::launch_memory::{AccessedMemory, LaunchMemory, ResidentWarps};
use super::parted_groups::class_of_any_lanes;
use super::runtime_memory::may_be_accessed;

/// Bytes of a constant bank, where the launch does not say.
const BANK_BYTES: u64 = 0x1_0000;

/// Bytes of the widest load from a constant bank.
const MOST_LOADED: u64 = 32;

/// Inputs of the time of a kernel.
#[derive(Clone)]
pub struct CycleInputs {
    /// Family of the machines that execute the code.
    pub family: Family,
    /// Facts about the instructions of NVIDIA's code.
    pub facts: Vec<InstrFacts>,
    /// Facts about the instructions of GCN3 code.
    pub wave_facts: Vec<WaveFacts>,
    /// First and last operation of each node that a warp may execute.
    pub nodes: Vec<Option<(OpIndex, OpIndex)>>,
    /// Steps between nodes.
    pub steps: Vec<TimedStep>,
    /// Count variable of each step.
    pub(crate) variables: Vec<CountVar>,
    /// Node at which the kernel begins.
    pub entry: usize,
    /// Limits of the accesses to memory.
    pub accesses: BTreeMap<OpIndex, AccessLimits>,
    /// Loads from constant banks.
    pub loaded_constants: BTreeMap<OpIndex, LoadedConstants>,
    /// Constants that are present at the start.
    pub preloaded: Option<PreloadedConstants>,
    /// Scalar loads of GCN3 code.
    pub scalar_loads: BTreeMap<OpIndex, ScalarLimits>,
    /// Splitting of the wave, if it may split.
    pub splits: Option<WaveSplits>,
    /// Groups of the warp in any order, if its lanes may part and wait at convergence barriers.
    pub parted: Option<PartedGroups>,
    /// Upper bound on the cycles by which splits delay each other.
    pub(crate) sibling_delay: u64,
    /// Whether lines of code may be missing in the L2 cache.
    pub lines_may_miss: bool,
    /// Whether lines of code and constants may replace lines with stored data in the L2 cache.
    pub lines_may_evict: bool,
    /// Whether lines of constants may be missing in the L2 cache.
    pub constants_may_miss: bool,
    /// Whether DRAM may be accessed, whose refreshes interrupt it.
    pub reaches_dram: bool,
    /// Translations of global and local memory that are missing once.
    pub translations: [Translations; 2],
    /// Sectors of the buffers, if they stay in the L2 cache once they are in it.
    pub sectors: Option<u64>,
    /// Sectors of the buffers, if loads find them in the L1 cache once they are in it.
    pub sectors_of_l1: Option<u64>,
    pub(crate) counted_sectors: Option<CountedSectors>,
    /// Other warps on the GPU.
    pub(crate) others: OtherWarps,
}

/// Kernel whose time is asked for, and what it depends on.
#[derive(Clone, Copy)]
pub struct TimedSubject<'a> {
    /// Image with the kernel.
    pub session: &'a Session,
    /// Instructions and operations.
    pub prepared: &'a Prepared<'a>,
    /// Control flow.
    pub flow: &'a KernelFlow,
    /// Classes of its accesses.
    pub classes: &'a BTreeMap<OpIndex, AccessClass>,
    /// Numbers of the machine.
    pub numbers: &'a MachineNumbers,
    /// Initial contents of the second-level cache.
    pub caches: CacheState,
    /// Launch, if one of one shape is stated.
    pub launch: Option<&'a LaunchFile>,
    /// Resident warps of a launch; `None` for a warp that runs alone.
    pub residents: Option<ResidentWarps>,
}

impl CycleInputs {
    /// Adds the steps of the warp, with their count variables.
    fn add_steps(&mut self, flow: &KernelFlow) {
        for (number, counted) in flow.counts.variables.iter().enumerate() {
            if let CountKind::WarpStep(from, step) = counted {
                self.steps.push(TimedStep {
                    from: from.index(),
                    to: step.to.map(|to| to.index()),
                });
                self.variables.push(CountVar(number));
            }
        }
    }

    /// Returns the inputs in the form that the computation of times reads.
    pub fn kernel(&self) -> TimedKernel<'_> {
        TimedKernel {
            facts: match self.family {
                Family::Maxwell | Family::Volta | Family::MiniSimt => TimedCode::Warps(&self.facts),
                Family::Gcn3 => TimedCode::Waves(&self.wave_facts),
            },
            nodes: &self.nodes,
            steps: &self.steps,
            entry: self.entry,
            accesses: &self.accesses,
            loaded_constants: &self.loaded_constants,
            preloaded: self.preloaded,
            scalar_loads: &self.scalar_loads,
            splits: self.splits.as_ref(),
            parted: self.parted.as_ref(),
            lines_may_miss: self.lines_may_miss,
            lines_may_evict: self.lines_may_evict,
            constants_may_miss: self.constants_may_miss,
            others: self.others,
            translations: self.translations,
            counted_sectors: self.counted_sectors,
        }
    }

    /// Lets the wave split. Afterwards all accesses have the same flags of what may be missing, so that an access
    /// waits for all earlier accesses of the wave, which may hold a window (SOUNDNESS 11.8).
    pub(crate) fn split(&mut self, splits: WaveSplits) {
        let spaces = || self.accesses.values().flat_map(|limits| &limits.spaces);
        let (misses, evicts, walks) = (
            spaces().any(|space| space.may_miss),
            spaces().any(|space| space.may_evict),
            spaces().any(|space| space.may_walk),
        );
        let limits = self.accesses.values_mut();
        for space in limits.flat_map(|limits| &mut limits.spaces) {
            space.may_miss = misses;
            space.may_evict = evicts;
            space.may_walk = walks;
        }
        // SOUNDNESS 11.8 argues with a miss of each load, so misses are not counted by sector.
        self.sectors = None;
        self.splits = Some(splits);
    }

    /// Lets stores to global memory wait for no data on its way if no access of the launch reads their lines: a store
    /// fetches nothing, and only loads and atomic operations fetch (SOUNDNESS 20.2). `extents` are ranges of
    /// addresses that accesses touch, and `line` is the maximum number of bytes of a line. For example, stores to
    /// bytes 0x1000 to 0x10ff are limited if loads touch bytes from 0x1100 on, and not if they touch 0x10f0.
    pub(crate) fn limit_stores(&mut self, extents: &BTreeMap<OpIndex, Range<u64>>, line: u64) {
        let line = line.max(1);
        let lines = |at: &OpIndex| {
            let extent = extents.get(at)?;
            Some(extent.start / line..extent.end.div_ceil(line))
        };
        let has_global = |limits: &AccessLimits| {
            let mut spaces = limits.spaces.iter();
            spaces.any(|space| space.space == MemorySpace::Global)
        };
        let reads = self
            .accesses
            .iter()
            .filter(|(_, limits)| limits.direction != AccessDirection::Store && has_global(limits));
        // One read with an unknown range may be in any line.
        let Some(reads) = reads
            .map(|(at, _)| lines(at))
            .collect::<Option<Vec<Range<u64>>>>()
        else {
            return;
        };
        for (at, limits) in &mut self.accesses {
            if limits.direction != AccessDirection::Store || !has_global(limits) {
                continue;
            }
            // A store of unknown range may find any line on its way.
            let Some(own) = lines(at) else { continue };
            let overlaps = |read: &Range<u64>| read.start.max(own.start) < read.end.min(own.end);
            if !reads.iter().any(overlaps) {
                let spaces = limits.spaces.iter_mut();
                for space in spaces.filter(|space| space.space == MemorySpace::Global) {
                    space.may_miss = false;
                }
            }
        }
    }

    /// Returns the inputs with the misses of loads in loops counted by sector; `None` if the cache does not keep the sectors
    /// or no load of global memory may miss it.
    pub fn with_counted_sectors(&self, cache: KeepingCache) -> Option<CycleInputs> {
        let (sectors, misses): (_, fn(&SpaceLimits) -> bool) = match cache {
            KeepingCache::L1 => (self.sectors_of_l1?, |limit| limit.stays_in_l1),
            KeepingCache::L2 => (self.sectors?, |limit| limit.may_miss),
        };
        let mut spaces = self.accesses.values().flat_map(|limits| &limits.spaces);
        spaces
            .any(|limit| limit.space == MemorySpace::Global && misses(limit))
            .then(|| CycleInputs {
                counted_sectors: Some(CountedSectors {
                    most: sectors,
                    cache,
                }),
                ..self.clone()
            })
    }

    /// Lets loads stay in the L1 cache, if nothing takes them out again: no atomic operation on global memory, whose sectors
    /// become stale, no fence for the GPU and no instruction for caches. Loads that do not look the cache up do not fetch
    /// into it, so one of them rules out the count of lines (SOUNDNESS 20.3).
    fn keep_in_l1(&mut self, knowledge: &AccessKnowledge) {
        let Some(memory) = knowledge.memory.filter(|memory| memory.fits_l1) else {
            return;
        };
        let empties = |at: OpIndex| {
            let facts = self.facts.get(at.index());
            facts.is_none_or(|facts| {
                facts.controls_caches || facts.completion == Completion::Fence { device: true }
            })
        };
        let ops = self.nodes.iter().flatten();
        let mut ops = ops.flat_map(|(first, last)| (first.0..=last.0).map(OpIndex));
        let mut accesses = self.accesses.iter();
        let are_plain = accesses.all(|(at, limits)| {
            let l1 = match self.facts.get(at.index()).map(|facts| facts.completion) {
                Some(Completion::Memory(l1)) => l1,
                _ => return false,
            };
            let mut spaces = limits.spaces.iter();
            let global = spaces.find(|space| space.space == MemorySpace::Global);
            global.is_none_or(|space| match limits.direction {
                AccessDirection::Load => {
                    !space.may_walk
                        && (l1 == L1Use::Always
                            || l1 == L1Use::Plain && knowledge.are_all_loads_cached)
                }
                AccessDirection::Store => true,
                AccessDirection::Atomic => false,
            })
        });
        if !are_plain || ops.any(empties) {
            return;
        }
        self.sectors_of_l1 = Some(memory.sectors);
        for limits in self.accesses.values_mut() {
            let is_load = limits.direction == AccessDirection::Load;
            for space in &mut limits.spaces {
                space.stays_in_l1 = is_load && space.space == MemorySpace::Global;
            }
        }
    }
}

/// Returns facts about the instructions of warps, or of waves.
///
/// # Errors
///
/// The machine is of another family than the code, or the kernel calls a function outside the file.
fn timing_facts(
    session: &Session,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    numbers: &MachineNumbers,
) -> Result<(Vec<InstrFacts>, Vec<WaveFacts>), Diagnostic> {
    let facts = match &prepared.program {
        Program::Nvidia(program) => (instr_facts(&prepared.code, program), Vec::new()),
        Program::Amd(program) => (Vec::new(), gcn_facts(&prepared.code, program)),
        Program::Mini(_) => {
            return Err(Diagnostic::new(
                "mini-SIMT programs have blocks in cycles, no warps",
            ));
        }
    };
    if numbers.family() != prepared.family() {
        let message = format!(
            "the code is {}, the machine has other GPUs",
            session.image.isa()
        );
        return Err(Diagnostic::new(message));
    }
    // A function outside the file has a stated number of instructions, but no time.
    if let Some(name) = flow.external_names().first() {
        let message = format!("the time of {name}, which is outside the file, is not known");
        return Err(Diagnostic::new(message));
    }
    Ok(facts)
}

/// Collects the inputs of the time of a kernel, for a warp that runs alone or for one among the resident warps of a
/// launch.
///
/// # Errors
///
/// The reason why its time is not known: an instruction without a time, or a function outside the file.
pub fn cycle_inputs(subject: &TimedSubject<'_>) -> Result<CycleInputs, Diagnostic> {
    let &TimedSubject {
        session,
        prepared,
        flow,
        classes,
        numbers,
        caches,
        launch,
        residents,
    } = subject;
    let (facts, wave_facts) = timing_facts(session, prepared, flow, numbers)?;
    let bound_launch = match launch {
        Some(file) => Some(session.bind(prepared, file, Default::default(), 0)?),
        None => None,
    };
    let mut limits = classes.values().flat_map(|class| &class.limits);
    // Local memory takes sets of the L2 cache and pages only if some access may reach it.
    let accesses_local = limits.any(|(space, _)| *space == MemorySpace::Local);
    let memory = bound_launch.as_ref().map(|(launch, memory)| {
        let memory = AccessedMemory {
            global: memory,
            of_runtime: may_be_accessed(&prepared.code, flow, launch),
            local: accesses_local,
        };
        LaunchMemory::of(&prepared.code, launch, memory, numbers, residents)
    });
    let bound = bound_launch.as_ref().map(|(launch, _)| launch);
    let access_knowledge = AccessKnowledge::of(bound, memory, numbers, caches);
    let constants = bound_launch.as_ref().map(|(launch, _)| &*launch.constants);
    let constants = constants.unwrap_or_default();
    let constants_may_miss =
        !access_knowledge.is_warm() || has_partial_lines(&facts, constants, numbers);
    let has_longer_lines =
        numbers.slow(Parameter::InstructionLine) > numbers.slow(Parameter::L2Line);
    let mut inputs = CycleInputs {
        family: prepared.family(),
        nodes: nodes(flow),
        steps: Vec::new(),
        variables: Vec::new(),
        entry: flow.thread.entry.index(),
        accesses: BTreeMap::new(),
        loaded_constants: BTreeMap::new(),
        // The host writes whole lines of the L2 cache. If lines of code are longer, the rest of the last one is in no
        // cache.
        lines_may_miss: !access_knowledge.is_warm() || has_longer_lines,
        // If the memory of the launch fits set by set, no line is evicted (SOUNDNESS 11.2).
        lines_may_evict: memory.is_none_or(|memory| !memory.fits),
        constants_may_miss,
        reaches_dram: constants_may_miss || has_longer_lines,
        translations: Default::default(),
        sectors: memory
            .filter(|memory| memory.fits)
            .map(|memory| memory.sectors),
        sectors_of_l1: None,
        counted_sectors: None,
        others: match residents {
            None => OtherWarps::Absent,
            Some(_) => OtherWarps::FirstOfSm,
        },
        preloaded: preloaded_constants(prepared.kernel, numbers),
        scalar_loads: BTreeMap::new(),
        splits: None,
        parted: None,
        sibling_delay: 0,
        facts,
        wave_facts,
    };
    inputs.add_steps(flow);
    if prepared.family().may_merge_groups() {
        inputs.add_changes(&prepared.code, flow);
    }
    let banks = bound_launch.as_ref().map(|(launch, _)| &launch.constants);
    inputs.add_ops(prepared, classes, &access_knowledge, banks)?;
    inputs.keep_in_l1(&access_knowledge);
    inputs.translations = access_knowledge.translations();
    Ok(inputs)
}

/// Returns the constants that a launch loads, on machines that may load them.
fn preloaded_constants(kernel: &Kernel, numbers: &MachineNumbers) -> Option<PreloadedConstants> {
    let bytes = kernel.launch_constants();
    let caches = numbers.range(Parameter::ConstantPreloaded);
    let may_be_loaded = bytes > 0 && caches.1 > 0;
    may_be_loaded.then_some(PreloadedConstants {
        bank: ConstantBanks::OF_CUBINS.launch,
        bytes,
        caches,
    })
}

/// Whether a constant may be in a line of the second constant cache that the host has not written as a whole. A bank
/// may end within a line, and the rest of the line is in no cache. For example, of a bank of 288 bytes, the host
/// writes three lines of 128 bytes in the L2 cache, so the second line of 256 bytes is written in part.
fn has_partial_lines(
    facts: &[InstrFacts],
    banks: &[(u8, Vec<u8>)],
    numbers: &MachineNumbers,
) -> bool {
    let line = numbers.slow(Parameter::ConstantL15Line).max(1);
    let of_l2 = numbers.slow(Parameter::L2Line).max(1);
    let written = |bank: u8| {
        let mut banks = banks
            .iter()
            .filter(|(known, _)| *known != Code::ADDRESS_BANK);
        let found = banks.find(|(known, _)| *known == bank);
        found.map_or(0, |(_, bytes)| (bytes.len() as u64).next_multiple_of(of_l2))
    };
    facts.iter().any(|facts| {
        let mut operands = facts.constants.iter();
        let is_partial =
            |&(bank, offset): &(u8, u32)| (u64::from(offset) / line + 1) * line > written(bank);
        let loads_partial = match facts.completion {
            Completion::Constant(bank, ..) => {
                // The address is not known, so any line of the bank may be loaded.
                written(bank) == 0 || !written(bank).is_multiple_of(line)
            }
            _ => false,
        };
        loads_partial || operands.any(is_partial)
    })
}

/// Returns the first and last instruction of each node that a warp may execute.
fn nodes(flow: &KernelFlow) -> Vec<Option<(OpIndex, OpIndex)>> {
    let space = &flow.thread.space;
    let range = |id| {
        // A node without a state is unreachable, and its instructions are not refused.
        flow.warp.state(id)?;
        let block = space.block(id);
        Some((block.first, block.last))
    };
    space.ids().map(range).collect()
}

impl CycleInputs {
    /// Adds the accesses of all instructions that a warp may execute.
    fn add_ops(
        &mut self,
        prepared: &Prepared<'_>,
        classes: &BTreeMap<OpIndex, AccessClass>,
        knowledge: &AccessKnowledge,
        banks: Option<&Vec<(u8, Vec<u8>)>>,
    ) -> Result<(), Diagnostic> {
        let nodes = self.nodes.clone();
        let meeting = self.meeting_ops();
        let units = MemoryUnits::of(prepared.family());
        let of_any_lanes: BTreeMap<OpIndex, AccessClass> = classes
            .iter()
            .filter(|(at, _)| meeting.contains(at))
            .filter_map(|(&at, class)| Some((at, class_of_any_lanes(class, units?))))
            .collect();
        let ops = nodes.iter().flatten();
        for at in ops.flat_map(|&(first, last)| (first.0..=last.0).map(OpIndex)) {
            match prepared.family() {
                Family::Gcn3 => self.add_wave_op(at, prepared, classes, knowledge)?,
                Family::Maxwell | Family::Volta | Family::MiniSimt => {
                    let class = of_any_lanes.get(&at).or_else(|| classes.get(&at));
                    self.add_op(at, prepared, class, knowledge, banks)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the accesses of an instruction.
    fn add_op(
        &mut self,
        at: OpIndex,
        prepared: &Prepared<'_>,
        class: Option<&AccessClass>,
        knowledge: &AccessKnowledge,
        banks: Option<&Vec<(u8, Vec<u8>)>>,
    ) -> Result<(), Diagnostic> {
        let Some(facts) = self.facts.get(at.index()) else {
            return Ok(());
        };
        match facts.completion {
            Completion::Memory(l1) => {
                let meaning = prepared.code.get(at).and_then(|op| op.meaning.as_ref());
                let direction = meaning.and_then(direction);
                if let Some((class, direction)) = class.zip(direction) {
                    let condition = prepared.code.get(at).map(|op| op.condition);
                    // Only an unguarded access certainly has a lane that takes part.
                    let always = condition.is_some_and(|condition| condition.is_always());
                    let limits = AccessLimits {
                        always,
                        ..knowledge.limits(class, direction, l1)
                    };
                    self.reaches_dram |= limits
                        .spaces
                        .iter()
                        .any(|space| space.may_miss || space.may_evict);
                    self.accesses.insert(at, limits);
                }
            }
            Completion::Constant(bank, None, offset) if offset >= 0 => {
                self.loaded_constants.insert(
                    at,
                    LoadedConstants {
                        bank,
                        offset: offset.unsigned_abs().into(),
                        bytes: MOST_LOADED,
                        words: 1,
                    },
                );
            }
            Completion::Constant(bank, ..) => {
                let known = banks.and_then(|banks| banks.iter().find(|(known, _)| *known == bank));
                let words =
                    // Without a class, each lane may load a word of its own.
                    class.map_or(prepared.family().lanes(), |class| class.worst().transactions);
                self.loaded_constants.insert(
                    at,
                    LoadedConstants {
                        bank,
                        offset: 0,
                        // A bank that the launch does not describe may have its full size, and any line of it may be
                        // loaded.
                        bytes: known.map_or(BANK_BYTES, |(_, bytes)| bytes.len() as u64),
                        words,
                    },
                );
            }
            _ => {}
        }
        match refusal(facts, self.accesses.get(&at)) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }
}

/// Returns the direction of an access.
pub(super) fn direction(meaning: &Meaning) -> Option<AccessDirection> {
    match meaning {
        Meaning::Load { .. } => Some(AccessDirection::Load),
        Meaning::Store { .. } => Some(AccessDirection::Store),
        Meaning::Atomic { .. } => Some(AccessDirection::Atomic),
        _ => None,
    }
}
