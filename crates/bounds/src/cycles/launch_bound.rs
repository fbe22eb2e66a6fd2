//! Bound of a whole launch, or of one of its blocks: the time of a warp among others, and the services that the
//! others take (SOUNDNESS 20).
//!
//! The bound is a sum of times of warps alone and services by shared resources, so no order of issue or dispatch
//! appears in it. For example, one block of five warps on four sub-partitions has two warps in one of them. If a warp
//! takes 1000 cycles alone and 100 cycles of the issue slots and units, the block takes at most 1000 + 2 * 100 cycles
//! and the services of the memory.

use crate::cycles::TimedSubject;
use crate::cycles::inputs::cycle_inputs;
use warpbound_analyse::access::AccessPattern;
use warpbound_base::{Cycles, Diagnostic, Family, UpperBound};
use warpbound_cycles::{
    Contention, CountedSectors, KeepingCache, KernelTime, MachineNumbers, NodeServices,
    NodeVectors, OtherWarps, PathTime, Service, StepCost,
};
use warpbound_ipet::{
    BlockChain, Delays, Effort, ExecutedServices, LaunchBound, LaunchShape, LaunchTerm,
    LaunchTimes, SchedulerClass, StatedCounts, WarpBound, WaveSpread, WaveTerms,
};
use warpbound_launch::LaunchFile;
use warpbound_machine::Parameter;
use warpbound_report::cycle_bound::CtaEstimate;
use warpbound_simt::counts::{CountSystem, RowFamily};

use super::bound::{delays, solve};
use super::cta_estimate::EstimatedLaunch;
use super::launch_memory::ResidentWarps;
use super::launch_rows::{counts_of_launch, with_rows};
use super::{CacheState, CycleInputs, CycleOptions, TimeScope};
use crate::access::TimedFindings;
use warpbound_query::prepared::Prepared;
use warpbound_query::{AnalysedKernel, KernelFlow, Session};

mod barriers;
mod executed;
mod node_services;
mod segments;
mod shape;
mod shares;
mod sums;
mod wave_launch;

use executed::{ExecutedNodes, FlightWaits};
use node_services::{of_node, whole_cycles};
use shape::{LaunchMachine, product, shape};
use shares::Shares;
use sums::ServiceProgram;
pub use sums::{PathSums, SumVectors, Window, costs_among};

/// Part of a launch that a bound in cycles is for, and the schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaunchExtent {
    /// Part of the launch.
    pub scope: TimeScope,
    /// Schedulers.
    pub schedulers: SchedulerClass,
}

/// Bound of a launch in cycles.
#[derive(Clone, Debug)]
pub struct LaunchCycles {
    /// Bound with its sum.
    pub bound: LaunchBound,
    /// Cycles of the bound that each operation accounts for, on the worst path.
    pub instructions: Vec<f64>,
    /// Services that the bound counts.
    pub services: LaunchServices,
}

/// Services by shared resources that the bound of a launch counts, for one warp unless a field says otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchServices {
    /// Issue slot and units of a sub-partition.
    pub core: UpperBound<Cycles>,
    /// Largest part of `core` between two barriers, or between one and the start or end of the warp.
    pub segment: Cycles,
    /// Shared memory, barriers, tags and port of an SM, and waits for its windows.
    pub sm: UpperBound<Cycles>,
    /// Slices of the L2 cache and DRAM.
    pub gpu: UpperBound<Cycles>,
    /// Slices of the L2 cache and DRAM for the lines of code and constants that an SM requests once.
    pub lines: Cycles,
    /// Services of whole blocks, if they are known, including the windows of requests that delay warps.
    pub executed: Option<ExecutedServices>,
}

/// Way to count the waits that happen once for each line, page or sector (SOUNDNESS 20.3).
#[derive(Clone, Copy)]
struct WayOfWaiting {
    /// Payer of the first requests of lines and translations.
    first: OtherWarps,
    /// Cache whose misses are counted by sector, and not for each access.
    by_sector: Option<KeepingCache>,
}

/// Ways that are tried, in this order. The first one applies to every launch, and finds whether windows bind, which
/// decides whether others apply.
const WAYS: [WayOfWaiting; 8] = {
    const fn way(first: OtherWarps, by_sector: Option<KeepingCache>) -> WayOfWaiting {
        WayOfWaiting { first, by_sector }
    }
    let (of_l1, of_l2) = (Some(KeepingCache::L1), Some(KeepingCache::L2));
    [
        way(OtherWarps::FirstOfSm, None),
        way(OtherWarps::LinesOfPath, None),
        way(OtherWarps::FirstOfPath, None),
        way(OtherWarps::FirstOfSm, of_l2),
        way(OtherWarps::LinesOfPath, of_l2),
        way(OtherWarps::FirstOfPath, of_l2),
        way(OtherWarps::FirstOfSm, of_l1),
        way(OtherWarps::LinesOfPath, of_l1),
    ]
};

/// One value for each way to count waits.
pub type EachWay<T> = [T; WAYS.len()];

/// Bounds of a launch for different flow facts.
pub struct LaunchTime {
    /// Count rows that hold for a chain of warps.
    counts: CountSystem,
    inputs: CycleInputs,
    numbers: MachineNumbers,
    shape: LaunchShape,
    chain: BlockChain,
    schedulers: SchedulerClass,
    /// Spread of waves over SIMDs; `None` for warps.
    spread: Option<WaveSpread>,
    unknown_addresses: usize,
    /// Executions of nodes by the warps of a block and of the launch, if they are known.
    executed: Option<ExecutedNodes>,
    /// Waits of a chain of warps for lines that caches keep.
    waits: FlightWaits,
    /// Names of the buffers whose contents the executions rest on.
    read: Vec<String>,
    /// Reason why the warps of the launch were not executed, if they were to be.
    not_executed: Option<String>,
}

impl LaunchTime {
    /// Collects the inputs of the time of a launch, other than flow facts. The options of `analysed` have the launch, which is
    /// executed with `loop_bounds` ([`TimedFindings::find`]).
    ///
    /// # Errors
    ///
    /// The reason why the time of the launch is not known: a launch without a shape, code of another family, or a
    /// block that fits on no SM.
    pub fn new(
        analysed: AnalysedKernel<'_>,
        cycles: &CycleOptions,
        extent: LaunchExtent,
        loop_bounds: &[Option<u64>],
    ) -> Result<LaunchTime, Diagnostic> {
        let AnalysedKernel {
            session,
            prepared,
            options,
            flow,
            ..
        } = analysed;
        if prepared.family() == Family::MiniSimt {
            return Err(Diagnostic::new(
                "mini-SIMT programs have blocks in cycles, no launches",
            ));
        }
        let Some(file) = options.launches.shaped_file() else {
            let why = "the bound of a block, an SM or a grid is for launches of one shape";
            return Err(Diagnostic::new(why).hint(match options.launches.file {
                Some(_) => "leave --block and --grid out: the launch file has them",
                None => "state one with --launch",
            }));
        };
        let found = TimedFindings::find(analysed, cycles.counts, loop_bounds)?;
        LaunchTime::with_findings(session, prepared, flow, &found, file, cycles, extent)
    }

    /// Collects the same as [`LaunchTime::new`], for known accesses and executions.
    pub fn with_findings(
        session: &Session,
        prepared: &Prepared<'_>,
        flow: &KernelFlow,
        found: &TimedFindings,
        file: &LaunchFile,
        cycles: &CycleOptions,
        extent: LaunchExtent,
    ) -> Result<LaunchTime, Diagnostic> {
        let LaunchExtent { scope, schedulers } = extent;
        let numbers = MachineNumbers::of_ranges(&cycles.machine)?;
        let (launch, _) = session.bind(prepared, file, Default::default(), 0)?;
        let machine = LaunchMachine::new(prepared, &launch, &numbers, cycles)?;
        // The argument for waves (SOUNDNESS 20.9) covers their two policies. Both issue whenever a wave is ready.
        if machine.spread.is_some() && schedulers == SchedulerClass::Any {
            return Err(Diagnostic::new(
                "waves are scheduled by no policy but those that issue whenever a wave is ready",
            ));
        }
        let shape = shape(&launch, &numbers, &machine, scope);
        // Local memory counts for all slots that the launch may use (SOUNDNESS 20.5), so the largest numbers are
        // taken.
        let residents = ResidentWarps {
            sms: match scope {
                TimeScope::Grid => machine.sms.1.min(shape.blocks),
                TimeScope::Warp | TimeScope::Block | TimeScope::Sm => 1,
            },
            slots: shape.resident.1.saturating_mul(shape.warps),
            stride: machine.stride,
        };
        let mut inputs = cycle_inputs(&TimedSubject {
            session,
            prepared,
            flow,
            classes: &found.classes,
            numbers: &numbers,
            caches: cycles.caches,
            launch: Some(file),
            residents: Some(residents),
        })?;
        inputs.limit_stores(&found.extents, numbers.range(Parameter::L2Line).1);
        if residents.sms > 1 {
            // A translation in the second TLB may be in flight by the request of another SM, so each page may wait
            // for the walk (SOUNDNESS 20.3). Where no page has a walk, the second TLB has all translations.
            for pages in inputs
                .translations
                .iter_mut()
                .filter(|pages| pages.walks > 0)
            {
                pages.walks += pages.first_level;
                pages.first_level = 0;
            }
        }
        let chain = match shape.warps {
            // A block of one warp waits for no other warp at a barrier.
            1 => BlockChain::OneWarp,
            _ => barriers::chain(prepared, flow, &inputs),
        };
        let executions = found.executions.as_ref();
        let counts = match chain {
            BlockChain::Aligned => {
                // A chain changes the warp at barriers, so only rows hold that are about each part between two
                // barriers.
                let of_chain = executions.and_then(|executions| executions.of_chain.as_ref());
                with_rows(flow, rows_of_chain(&flow.counts), of_chain)
            }
            // Each warp of the sum is a whole warp, so the rows of one warp hold for it.
            BlockChain::OneWarp | BlockChain::AllWarps => counts_of_launch(flow, found.of_warp()),
        };
        let waits = FlightWaits::of(executions, chain, &numbers);
        let blocks = product(launch.grid);
        let executed = executions
            .map(|executions| ExecutedNodes::of(flow, executions, blocks, &inputs.meeting_ops()));
        let unknown = |pattern| matches!(pattern, AccessPattern::Unknown(_));
        let unknown = found
            .classes
            .values()
            .filter(|class| unknown(class.pattern));
        Ok(LaunchTime {
            counts,
            inputs,
            numbers,
            shape,
            chain,
            schedulers,
            spread: machine.spread,
            unknown_addresses: unknown.count(),
            executed,
            waits,
            read: found.read.clone(),
            not_executed: found.not_executed.clone(),
        })
    }

    /// Number of accesses with unknown addresses.
    pub fn unknown_addresses(&self) -> usize {
        self.unknown_addresses
    }

    /// Names of the buffers whose contents the bound rests on.
    pub(crate) fn read(&self) -> &[String] {
        &self.read
    }

    /// Reason why the warps of the launch were not executed for the bound, if they were to be.
    pub(crate) fn not_executed(&self) -> Option<&str> {
        self.not_executed.as_deref()
    }

    /// Whether the code is for warps, and not for waves.
    pub(crate) fn is_of_warps(&self) -> bool {
        !self.numbers.family().has_exec_mask()
    }

    /// Shape of the launch.
    pub fn shape(&self) -> &LaunchShape {
        &self.shape
    }

    /// Chain of warps in a block.
    pub fn chain(&self) -> BlockChain {
        self.chain
    }

    /// Estimates the launch by abstract CTA simulation. The estimate is no bound. The error is the reason why the
    /// simulation does not apply.
    pub fn cta_estimate(
        &self,
        prepared: &Prepared<'_>,
        flow: &KernelFlow,
        caches: CacheState,
        stated: StatedCounts<'_>,
    ) -> Result<CtaEstimate, String> {
        let kernel = self.inputs.kernel();
        let contention = KernelTime::new(&kernel, &self.numbers).contention(&self.numbers);
        let contention = contention.ok_or("the code has no services of a warp")?;
        let launch = EstimatedLaunch {
            shape: &self.shape,
            numbers: &self.numbers,
            caches,
            ops: &contention.ops,
            facts: &self.inputs.facts,
        };
        launch.estimate(prepared, flow, stated)
    }

    /// Changes the inputs: replaces claims by observations of a run, or plants a fault.
    pub fn change(&mut self, change: impl FnOnce(&mut CycleInputs)) {
        change(&mut self.inputs);
    }

    /// Inputs of the time of the kernel.
    pub fn inputs(&self) -> &CycleInputs {
        &self.inputs
    }

    /// Numbers of the machine.
    pub fn numbers(&self) -> &MachineNumbers {
        &self.numbers
    }

    /// Computes the bound for stated facts.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    pub fn bound(
        &self,
        stated: StatedCounts<'_>,
        effort: Effort,
    ) -> Result<LaunchCycles, Diagnostic> {
        let program = ServiceProgram::new(self, stated, effort);
        let with = |inputs: &CycleInputs| {
            let (found, windows_bind, _) = self.bound_with(inputs, &program)?;
            Ok((found, windows_bind))
        };
        let mut found = self.in_each_way(|inputs, _| with(inputs))?;
        if self.is_lone_warp() {
            // A launch of one warp also has the bound of a lone warp (SOUNDNESS 20.5, special cases): nothing else is
            // served.
            let alone = self.inputs_among(OtherWarps::Absent);
            let counted = KeepingCache::ALL.map(|cache| alone.with_counted_sectors(cache));
            for inputs in counted.iter().flatten().chain([&alone]) {
                let (alone, _) = with(inputs)?;
                found.push(alone);
            }
        }
        found
            .into_iter()
            .reduce(lesser)
            .ok_or_else(|| Diagnostic::new("no bound was computed"))
    }

    /// Computes the bound as [`LaunchTime::bound`] does for a launch of several warps. Also returns the vectors of
    /// each way to count waits.
    pub fn bound_with_vectors(
        &self,
        stated: StatedCounts<'_>,
        effort: Effort,
    ) -> Result<(LaunchCycles, EachWay<Option<SumVectors>>), Diagnostic> {
        let program = ServiceProgram::new(self, stated, effort);
        let mut vectors = EachWay::default();
        let found = self.in_each_way(|inputs, number| {
            let (found, windows_bind, own) = self.bound_with(inputs, &program)?;
            if let Some(known) = vectors.get_mut(number) {
                *known = Some(own);
            }
            Ok((found, windows_bind))
        })?;
        let found = found.into_iter().reduce(lesser);
        let found = found.ok_or_else(|| Diagnostic::new("no bound was computed"))?;
        Ok((found, vectors))
    }

    /// Computes something in each way that applies (`WAYS`). If windows of requests delay warps, the ways where
    /// paths pay for translations do not apply.
    ///
    /// # Errors
    ///
    /// The error of the computation.
    pub fn in_each_way<T>(
        &self,
        mut compute: impl FnMut(&CycleInputs, usize) -> Result<(T, bool), Diagnostic>,
    ) -> Result<Vec<T>, Diagnostic> {
        let mut found = Vec::new();
        let mut windows_bind = false;
        for (number, way) in WAYS.into_iter().enumerate() {
            // Sectors of other warps hold places in a window while their own pages are translated, and a path pays
            // for its own pages only (SOUNDNESS 20.3).
            if way.first == OtherWarps::FirstOfPath && windows_bind {
                continue;
            }
            let Some(inputs) = self.inputs_in(way) else {
                continue;
            };
            match compute(&inputs, number) {
                Ok((one, binds)) => {
                    windows_bind |= binds;
                    found.push(one);
                }
                // Each way gives a bound of its own, so those before the failed one hold. Without the first way it is
                // not known whether windows bind, and so which other ways apply.
                Err(why) if found.is_empty() => return Err(why),
                Err(_) => break,
            }
        }
        Ok(found)
    }

    /// Returns the inputs with waits counted in one way; `None` if the way does not apply (SOUNDNESS 20.3).
    ///
    /// Waits are not counted by sector if warps follow one another, because each would wait again for sectors that
    /// another one has accessed. Nor are they counted by sector of the L2 cache on several SMs, because a request of another
    /// SM may still be in front of its port or its windows.
    fn inputs_in(&self, way: WayOfWaiting) -> Option<CycleInputs> {
        let inputs = self.inputs_among(way.first);
        let has_one_sm = self.shape.blocks == 1 || self.shape.most_sms.max(self.shape.sms) == 1;
        match way.by_sector {
            None => Some(inputs),
            Some(_) if self.chain == BlockChain::AllWarps => None,
            Some(KeepingCache::L2) if !has_one_sm => None,
            Some(cache) => {
                let inputs = inputs.with_counted_sectors(cache)?;
                let waits = self.waits.on_the_way_to(cache);
                let counted = inputs.counted_sectors.map(|counted| CountedSectors {
                    // Both numbers limit the payments for flights, so the smaller one does.
                    most: counted.most.min(waits.unwrap_or(u64::MAX)),
                    ..counted
                });
                Some(CycleInputs {
                    counted_sectors: counted,
                    ..inputs
                })
            }
        }
    }

    fn inputs_among(&self, others: OtherWarps) -> CycleInputs {
        CycleInputs {
            others,
            ..self.inputs.clone()
        }
    }

    /// Whether the launch has one warp.
    fn is_lone_warp(&self) -> bool {
        self.shape.blocks.saturating_mul(self.shape.warps) == 1
    }

    /// Computes the bound with the first requests of lines and translations counted in one way. Also returns whether
    /// windows of requests delay warps, and the vectors of nodes.
    fn bound_with(
        &self,
        inputs: &CycleInputs,
        program: &ServiceProgram<'_>,
    ) -> Result<(LaunchCycles, bool, SumVectors), Diagnostic> {
        let kernel = inputs.kernel();
        let mut time = KernelTime::new(&kernel, &self.numbers);
        let contention = contention_of(&time, &self.numbers)?;
        let sums = self.times(program, inputs, &contention, &mut time)?;
        let windows_bind = !sums.windows.is_empty();
        let times = sums.times;
        let delays = self.delays(inputs)?;
        let bound = match self.spread {
            None => LaunchBound::compose(&self.shape, &times, delays),
            Some(spread) => {
                let end = match inputs.others {
                    // The path of a lone wave contains the end of the launch; among others it is added once
                    // (SOUNDNESS 20.9).
                    OtherWarps::Absent => 0,
                    _ => self.numbers.slow(Parameter::LaunchEnd),
                };
                let waves = WaveTerms {
                    spread,
                    windows_bind,
                    end: Cycles(end),
                };
                LaunchBound::of_waves(&self.shape, &waves, &times, delays)
            }
        };
        let bound = bound.ok_or_else(too_many_bits)?;
        let mut shares = Shares::new(inputs, &contention);
        shares.add_path(&mut time, &times.path, bound.term(LaunchTerm::Path));
        shares.add_service(Service::Core, &times.core, bound.term(LaunchTerm::Core));
        shares.add_service(Service::Sm, &times.sm, bound.term(LaunchTerm::Sm));
        shares.add_service(Service::Gpu, &times.gpu, bound.term(LaunchTerm::Gpu));
        let found = LaunchCycles {
            bound,
            instructions: shares.instructions,
            services: LaunchServices {
                core: times.core.upper_bound(),
                segment: times.segment,
                sm: times.sm.upper_bound(),
                gpu: times.gpu.upper_bound(),
                lines: times.lines,
                executed: times.executed.clone(),
            },
        };
        Ok((found, windows_bind, sums.vectors))
    }

    /// Times that are added to the times of the warps.
    pub fn delays(&self, inputs: &CycleInputs) -> Result<Delays, Diagnostic> {
        Ok(Delays {
            // The delay by siblings is for splits, which launches refuse.
            once: 0,
            ..delays(inputs, &self.numbers)?
        })
    }

    /// Whether some warp of the bound is followed by another one, on its SM or in the sum.
    fn needs_followed(&self) -> bool {
        let LaunchShape {
            blocks,
            sms,
            resident,
            ..
        } = self.shape;
        // Blocks beyond the places follow others. With barriers of unknown order all warps of a block are added, and
        // a scheduler of the class `Any` may run warps one by one (SOUNDNESS 20.6).
        blocks > sms.saturating_mul(resident.0)
            || self.chain == BlockChain::AllWarps
            || self.schedulers == SchedulerClass::Any
    }
}

/// Returns the smaller bound.
fn lesser(first: LaunchCycles, second: LaunchCycles) -> LaunchCycles {
    let limit = |found: &LaunchCycles| found.bound.upper_bound().limit();
    match limit(&first) < limit(&second) {
        true => first,
        false => second,
    }
}

/// Times for which the warps of a kernel occupy what other warps need.
pub fn contention_of(
    time: &KernelTime<'_>,
    numbers: &MachineNumbers,
) -> Result<Contention, Diagnostic> {
    let contention = time.contention(numbers);
    contention.ok_or_else(|| Diagnostic::new("the code has no services of a warp"))
}

/// Refusal of a sum that does not fit into 64 bits.
pub fn too_many_bits() -> Diagnostic {
    Diagnostic::new("the bound of the launch has more than 64 bits")
}

/// Returns the rows that hold for the segments between barriers of different warps, one after the other (SOUNDNESS
/// 20.4). These are all rows except the ones that limit the executions of one warp in its whole run.
fn rows_of_chain(counts: &CountSystem) -> CountSystem {
    // For example, a thread executes a header at most 10 times in all. Two warps of the chain may execute it 10 times
    // each, before and after a barrier.
    let of_run = |family: RowFamily| {
        matches!(
            family,
            RowFamily::TotalPerThread | RowFamily::TotalLockstep | RowFamily::GuardedLanes
        )
    };
    let mut counts = counts.clone();
    counts.rows.retain(|row| !of_run(row.family));
    counts
}
