//! Bound of a whole launch, or of one of its blocks: the time of a warp among others, and what the others take
//! (SOUNDNESS 20).

use std::collections::BTreeMap;

use warpbound_analyse::access::AccessPattern;
use warpbound_base::{Cycles, Diagnostic, UpperBound};
use warpbound_bound::{
    BlockChain, Delays, Effort, LaunchBound, LaunchShape, LaunchTerm, LaunchTimes, SchedulerClass,
    StatedCounts, WarpBound, WaveSpread,
};
use warpbound_cycles::{
    Contention, KernelTime, MILLI, MachineNumbers, NodeServices, OtherWarps, PathTime, Service,
    StepCost,
};
use warpbound_isa::Program;
use warpbound_launch::Launch;
use warpbound_machine::{BlockResources, GpuModel, MachineConfig, Parameter, Selection};
use warpbound_report::cycle_bound::CtaEstimate;
use warpbound_simt::counts::{CountSystem, RowFamily};

use super::bound::{delays, solve};
use super::cta_estimate::EstimatedLaunch;
use super::launch_memory::{ResidentWarps, lanes};
use super::{CacheState, CycleInputs, CycleOptions, TimeScope};
use crate::access::{AccessFindings, memory_units};
use crate::prepared::Prepared;
use crate::{BoundOptions, KernelFlow, LaunchKnowledge, Session};

mod barriers;
mod segments;
mod shares;
mod wave_launch;

use shares::Shares;

/// Part of a launch, and the schedulers, that a bound in cycles is for.
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

/// Services by shared resources that the bound of a launch counts, each for one warp but for the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchServices {
    /// Issue slot and units of a sub-partition.
    pub core: UpperBound<Cycles>,
    /// Shared memory, barriers, tags and port of an SM, and waits for its windows.
    pub sm: UpperBound<Cycles>,
    /// Slices of the L2 cache and DRAM.
    pub gpu: UpperBound<Cycles>,
    /// Slices of the L2 cache and DRAM for the lines of code and constants that an SM requests once.
    pub lines: Cycles,
}

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
}

impl LaunchTime {
    /// Collects what the time of a launch depends on besides flow facts. `options` have the launch.
    ///
    /// # Errors
    ///
    /// The reason why its time is not known: no launch, code of another family, or a block that fits on no SM.
    pub fn new(
        session: &Session,
        (prepared, flow): (&Prepared<'_>, &KernelFlow),
        knowledge: &LaunchKnowledge,
        (options, cycles): (&BoundOptions, &CycleOptions),
        extent: LaunchExtent,
    ) -> Result<LaunchTime, Diagnostic> {
        let LaunchExtent { scope, schedulers } = extent;
        if let Program::Mini(_) = prepared.program {
            return Err(Diagnostic::new(
                "mini-SIMT programs have blocks in cycles, no launches",
            ));
        }
        let Some(file) = options.launches.only_file() else {
            let why = Diagnostic::new("the bound of a block, an SM or a grid is that of a launch");
            return Err(why.hint("state one with --launch"));
        };
        let numbers = MachineNumbers::of_ranges(&cycles.machine)?;
        let (launch, _) = session.bind(prepared, file, Default::default(), 0)?;
        let machine = LaunchMachine::new(prepared, &launch, &numbers, cycles)?;
        if machine.spread.is_some() && schedulers == SchedulerClass::Any {
            return Err(Diagnostic::new(
                "waves are scheduled by no policy but those that issue whenever a wave is ready",
            ));
        }
        let shape = shape(&launch, &numbers, &machine, scope);
        let residents = ResidentWarps {
            sms: match scope {
                TimeScope::Grid => machine.sms.1.min(shape.blocks),
                TimeScope::Warp | TimeScope::Block | TimeScope::Sm => 1,
            },
            slots: shape.resident.1.saturating_mul(shape.warps),
            stride: machine.stride,
        };
        let classes = match memory_units(&prepared.program) {
            Some(units) => AccessFindings::find(prepared, flow, knowledge, units).classes,
            None => BTreeMap::new(),
        };
        let known = (&numbers, cycles.caches);
        let launched = (Some(file), Some(residents));
        let mut inputs = session.cycle_inputs(prepared, flow, &classes, known, launched)?;
        if residents.sms > 1 {
            // Each page of the first level may wait for a walk that another SM has begun.
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
            1 => BlockChain::OneWarp,
            _ => barriers::chain(prepared, flow, &inputs),
        };
        let counts = match chain {
            BlockChain::Aligned => rows_of_chain(&flow.counts),
            BlockChain::OneWarp | BlockChain::AllWarps => flow.counts.clone(),
        };
        let unknown = |pattern| matches!(pattern, AccessPattern::Unknown(_));
        let unknown = classes.values().filter(|class| unknown(class.pattern));
        Ok(LaunchTime {
            counts,
            inputs,
            numbers,
            shape,
            chain,
            schedulers,
            spread: machine.spread,
            unknown_addresses: unknown.count(),
        })
    }

    /// Accesses of which nothing is known but that they access memory.
    pub fn unknown_addresses(&self) -> usize {
        self.unknown_addresses
    }

    /// Whether it is of warps, and not of waves.
    pub(crate) fn is_of_warps(&self) -> bool {
        self.spread.is_none()
    }

    /// Shape of the launch.
    pub fn shape(&self) -> &LaunchShape {
        &self.shape
    }

    /// Chain of warps in a block.
    pub fn chain(&self) -> BlockChain {
        self.chain
    }

    /// Estimates the launch by abstract CTA simulation, which is no bound; the error is the reason why that does not apply.
    pub(crate) fn cta_estimate(
        &self,
        (prepared, flow): (&Prepared<'_>, &KernelFlow),
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
        let with = |others: OtherWarps| CycleInputs {
            others,
            ..self.inputs.clone()
        };
        if self.shape.blocks.saturating_mul(self.shape.warps) == 1 {
            let alone = with(OtherWarps::Absent);
            let counted = alone.with_counted_sectors();
            let counted = counted.map(|counted| self.bound_with(&counted, stated, effort));
            let (alone, _) = self.bound_with(&alone, stated, effort)?;
            return Ok(match counted.transpose()? {
                Some((counted, _)) => lesser(counted, alone),
                None => alone,
            });
        }
        let of_sm = with(OtherWarps::FirstOfSm);
        let (of_sm, windows_bind) = self.bound_with(&of_sm, stated, effort)?;
        if windows_bind {
            // Sectors of other warps hold places in a window while their own pages are translated.
            return Ok(of_sm);
        }
        let of_path = with(OtherWarps::FirstOfPath);
        let (of_path, _) = self.bound_with(&of_path, stated, effort)?;
        Ok(lesser(of_path, of_sm))
    }

    /// Computes the bound with the first requests of lines and translations counted in one way; with whether windows of
    /// requests delay warps.
    fn bound_with(
        &self,
        inputs: &CycleInputs,
        stated: StatedCounts<'_>,
        effort: Effort,
    ) -> Result<(LaunchCycles, bool), Diagnostic> {
        let kernel = inputs.kernel();
        let mut time = KernelTime::new(&kernel, &self.numbers);
        let contention = time.contention(&self.numbers);
        let contention =
            contention.ok_or_else(|| Diagnostic::new("the code has no services of a warp"))?;
        let program = ServiceProgram {
            launch: self,
            stated,
            effort,
        };
        let is_alone = inputs.others == OtherWarps::Absent;
        // Of warps one after the other, each would wait for first requests that another one has made.
        let is_single = self.chain != BlockChain::AllWarps;
        let path = program.path(&mut time, is_single)?;
        let followed = match self.needs_followed() {
            true => program.solve(&program.costs(&time, is_single).followed())?,
            false => path.clone(),
        };
        let service = |service: Service| {
            let of_node = |node| match is_alone {
                true => 0,
                false => whole_cycles(of_node(&contention, node)[service as usize]),
            };
            program.greatest(of_node, 0)
        };
        let (sm, windows_bind) = match is_alone {
            true => (service(Service::Sm)?, false),
            false => program.sm(&contention)?,
        };
        let first = match (inputs.others, is_single) {
            (OtherWarps::Absent, _) => 0,
            (OtherWarps::FirstOfPath, true) => contention.in_flight,
            _ => contention.first.saturating_add(contention.in_flight),
        };
        let core = service(Service::Core)?;
        let gpu = service(Service::Gpu)?;
        let segment = program.segment(&contention, &core)?;
        let times = LaunchTimes {
            path: &path,
            followed: &followed,
            chain: self.chain,
            schedulers: self.schedulers,
            queued: Cycles(whole_cycles(contention.queued)),
            barriers: program.barriers(&contention)?,
            segment,
            core: &core,
            sm: &sm,
            gpu: &gpu,
            first: Cycles(first),
            lines: Cycles(if is_alone { 0 } else { contention.lines }),
            ended: Cycles(if is_alone { 0 } else { contention.ended }),
            apart: Cycles(self.numbers.range(Parameter::LaunchBlock).1),
        };
        let delays = Delays {
            once: 0,
            ..delays(inputs, &self.numbers)?
        };
        let bound = match self.spread {
            None => LaunchBound::compose(&self.shape, &times, delays),
            Some(spread) => {
                let end = match is_alone {
                    // The path of a wave alone has it.
                    true => 0,
                    false => self.numbers.slow(Parameter::LaunchEnd),
                };
                let times = wave_launch::times_of(&times, windows_bind, end);
                LaunchBound::of_waves(&self.shape, spread, &times, delays)
            }
        };
        let bound = bound
            .ok_or_else(|| Diagnostic::new("the bound of the launch has more than 64 bits"))?;
        let mut shares = Shares::new(inputs, &contention);
        shares.add_path(&mut time, &path, bound.term(LaunchTerm::Path));
        shares.add_service(Service::Core, &core, bound.term(LaunchTerm::Core));
        shares.add_service(Service::Sm, &sm, bound.term(LaunchTerm::Sm));
        shares.add_service(Service::Gpu, &gpu, bound.term(LaunchTerm::Gpu));
        let found = LaunchCycles {
            bound,
            instructions: shares.instructions,
            services: LaunchServices {
                core: core.upper_bound(),
                sm: sm.upper_bound(),
                gpu: gpu.upper_bound(),
                lines: times.lines,
            },
        };
        Ok((found, windows_bind))
    }

    /// Whether warps of the launch may follow each other, on their SM or for the bound.
    fn needs_followed(&self) -> bool {
        let LaunchShape {
            blocks,
            sms,
            resident,
            ..
        } = self.shape;
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

/// Integer programs over the counts of a warp, or of a chain of warps.
struct ServiceProgram<'a> {
    launch: &'a LaunchTime,
    stated: StatedCounts<'a>,
    effort: Effort,
}

/// Most solutions of the integer program of the path, each with vectors that suit the path of the one before.
const MOST_ROUNDS: usize = 3;

impl ServiceProgram<'_> {
    /// Solves for the costs of steps.
    fn solve(&self, costs: &PathTime) -> Result<WarpBound<Cycles>, Diagnostic> {
        let LaunchTime { counts, inputs, .. } = self.launch;
        solve(counts, inputs, costs, self.stated, self.effort)
    }

    /// Greatest time of a warp among others, without its waits for them; with its first requests, if these are counted for
    /// each warp.
    fn path(
        &self,
        time: &mut KernelTime<'_>,
        counts_first: bool,
    ) -> Result<WarpBound<Cycles>, Diagnostic> {
        let mut best = self.solve(&self.costs(time, counts_first))?;
        for _ in 1..MOST_ROUNDS {
            let Some(path) = best.worst_path() else { break };
            let variables = self.launch.inputs.variables.iter();
            let counts: Vec<u128> = variables.map(|&var| path.count(var)).collect();
            if !time.improve(&counts) {
                break;
            }
            let found = self.solve(&self.costs(time, counts_first))?;
            if found.upper_bound().limit() >= best.upper_bound().limit() {
                break;
            }
            best = found;
        }
        Ok(best)
    }

    /// Costs of a warp among others; with its first requests, if these are counted for each warp.
    fn costs(&self, time: &KernelTime<'_>, counts_first: bool) -> PathTime {
        let mut costs = time.costs();
        if !counts_first {
            costs.once.clear();
        }
        costs
    }

    /// Most barriers that a warp passes, if it matters.
    fn barriers(&self, contention: &Contention) -> Result<u64, Diagnostic> {
        if self.launch.chain != BlockChain::Aligned {
            return Ok(0);
        }
        let count = |node: usize| contention.barriers.get(node).copied().unwrap_or(0);
        Ok(self.greatest(count, 0)?.upper_bound().limit().0)
    }

    /// Greatest service of a sub-partition that a warp takes between two barriers; all of it if there are none, or where a
    /// block has no other one beside it.
    fn segment(
        &self,
        contention: &Contention,
        core: &WarpBound<Cycles>,
    ) -> Result<Cycles, Diagnostic> {
        let of_warp = core.upper_bound().limit();
        let LaunchShape {
            blocks,
            sms,
            resident,
            ..
        } = self.launch.shape;
        let has_others = blocks > sms && resident.1 > 1;
        if self.launch.chain != BlockChain::Aligned || !has_others {
            return Ok(of_warp);
        }
        let in_run = |nodes: &[usize]| {
            let core = |node| whole_cycles(of_node(contention, node)[Service::Core as usize]);
            let of_node = |node| if nodes.contains(&node) { core(node) } else { 0 };
            Ok(self.greatest(of_node, 0)?.upper_bound().limit().0)
        };
        let found = segments::greatest_segment(&self.launch.inputs, contention, in_run)?;
        Ok(found.map_or(of_warp, |found| found.min(of_warp)))
    }

    /// Greatest sum of a number of each node over the executions of a warp, and of a number for its start.
    fn greatest(
        &self,
        of_node: impl Fn(usize) -> u64,
        of_warp: u64,
    ) -> Result<WarpBound<Cycles>, Diagnostic> {
        let cost = |cycles: u64| StepCost {
            cycles,
            terms: Default::default(),
        };
        let steps = self.launch.inputs.steps.iter();
        self.solve(&PathTime {
            exits: Vec::new(),
            steps: steps.map(|step| Some(cost(of_node(step.from)))).collect(),
            start: cost(of_warp),
            once: Vec::new(),
        })
    }

    /// Greatest service of a warp by what the warps of an SM share, and whether windows of requests are a part of it. A window
    /// that holds all of the SM's launch delays none.
    fn sm(&self, contention: &Contention) -> Result<(WarpBound<Cycles>, bool), Diagnostic> {
        let shape = &self.launch.shape;
        let at_once = shape.blocks <= shape.sms.saturating_mul(shape.resident.0);
        let resident = match at_once {
            true => shape.blocks.div_ceil(shape.sms.max(1)),
            false => shape.resident.1,
        };
        let warps = u128::from(resident) * u128::from(shape.warps);
        let binds = |sectors: Service, window: u64| -> Result<bool, Diagnostic> {
            let window = u128::from(window);
            let outstanding = contention
                .outstanding
                .filter(|_| sectors == Service::LoadSectors);
            if outstanding.is_some_and(|sectors| warps * u128::from(sectors) <= window) {
                return Ok(false);
            }
            let of_warp = self.greatest(|node| of_node(contention, node)[sectors as usize], 0)?;
            let of_warp = u128::from(of_warp.upper_bound().limit().0);
            Ok(!at_once || of_warp * warps > window)
        };
        let [loads, stores] = contention.windows;
        let binding = [
            (Service::Loads, Service::LoadSectors, loads),
            (Service::Stores, Service::StoreSectors, stores),
        ];
        let mut windows = Vec::new();
        for (held, sectors, window) in binding {
            if binds(sectors, window)? {
                windows.push((held, window + 1));
            }
        }
        let of_node = |node| {
            let services = of_node(contention, node);
            let waits = windows
                .iter()
                .map(|&(held, places)| services[held as usize].div_ceil(places));
            whole_cycles(services[Service::Sm as usize] + waits.sum::<u64>())
        };
        let found = self.greatest(of_node, whole_cycles(contention.warp_end))?;
        Ok((found, !windows.is_empty()))
    }
}

/// Services of a node.
fn of_node(contention: &Contention, node: usize) -> NodeServices {
    contention.nodes.get(node).copied().unwrap_or_default()
}

/// Whole cycles of thousandths.
fn whole_cycles(milli: u64) -> u64 {
    milli.div_ceil(MILLI.unsigned_abs())
}

/// Returns the rows that hold for the segments between barriers of different warps, one after the other (SOUNDNESS
/// 20.4): not those that limit the executions of one warp in its whole run.
fn rows_of_chain(counts: &CountSystem) -> CountSystem {
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

/// Returns the shape of a launch on every machine within the ranges.
fn shape(
    launch: &Launch,
    numbers: &MachineNumbers,
    machine: &LaunchMachine,
    scope: TimeScope,
) -> LaunchShape {
    let resident = machine.resident;
    let shape = LaunchShape {
        blocks: product(launch.grid),
        warps: product(launch.block).div_ceil(lanes(numbers)),
        sms: machine.sms.0.max(1),
        most_sms: machine.sms.1.max(1),
        resident,
        sub_partitions: machine.parts.max(1),
    };
    match scope {
        TimeScope::Grid => shape,
        TimeScope::Warp | TimeScope::Block => LaunchShape {
            blocks: 1,
            sms: 1,
            most_sms: 1,
            ..shape
        },
        TimeScope::Sm => LaunchShape {
            blocks: resident.1,
            sms: 1,
            most_sms: 1,
            resident: (resident.1, resident.1),
            ..shape
        },
    }
}

/// Number of threads or blocks of a size.
fn product(size: [u32; 3]) -> u64 {
    let sizes = size.iter().map(|&n| u64::from(n));
    sizes.fold(1u64, u64::saturating_mul).max(1)
}

/// Machine as far as the shape of a launch depends on it.
struct LaunchMachine {
    /// SMs, or compute units, at least and at most.
    sms: (u64, u64),
    /// Sub-partitions of an SM at least.
    parts: u64,
    /// Blocks that an SM holds at least and at most.
    resident: (u64, u64),
    /// Distance of the local memories of two SMs, in warps.
    stride: u64,
    /// Spread of waves over SIMDs; `None` for warps.
    spread: Option<WaveSpread>,
}

impl LaunchMachine {
    fn new(
        prepared: &Prepared<'_>,
        launch: &Launch,
        numbers: &MachineNumbers,
        cycles: &CycleOptions,
    ) -> Result<LaunchMachine, Diagnostic> {
        if let Program::Amd(_) = prepared.program {
            return wave_launch::machine_of(prepared, launch, numbers, cycles);
        }
        let needs = (
            product(launch.block),
            prepared.kernel.registers.into(),
            launch.shared.into(),
        );
        let resident = resident_blocks(&cycles.machine, needs)?;
        let slots = numbers.range(Parameter::SmWarps);
        if slots.0 != slots.1 {
            return Err(Diagnostic::new(
                "bounds of launches are for machines whose sm.warps is one number",
            ));
        }
        Ok(LaunchMachine {
            sms: numbers.range(Parameter::SmCount),
            parts: numbers.range(Parameter::SmSchedulers).0,
            resident,
            stride: slots.1,
            spread: None,
        })
    }
}

/// Most combinations of values of a machine for which the number of resident blocks is computed.
const MOST_MACHINES: usize = 256;

/// Returns the least and the greatest number of blocks that an SM holds, over all values of the machine.
///
/// # Errors
///
/// A block fits on no SM for some values, or there are too many values.
fn resident_blocks(
    machine: &GpuModel,
    (threads, registers, shared): (u64, u64, u64),
) -> Result<(u64, u64), Diagnostic> {
    // Fewer blocks fit on an SM with less of a resource; steps act both ways.
    let is_step = |parameter| {
        matches!(
            parameter,
            Parameter::RegisterStep | Parameter::WarpStep | Parameter::SharedStep
        )
    };
    resident_range(machine, (BlockResources::PARAMETERS, &is_step), |machine| {
        let sm = BlockResources::of_sm(machine);
        let block = BlockResources::of_block(machine, threads, registers, shared);
        blocks_on(sm, block)
    })
}

/// Returns the least and the greatest of a number of blocks over all values of some parameters of a machine: both ends of
/// those in which it is monotone, and each value of the others.
///
/// # Errors
///
/// The number is 0 for some values, or there are too many values.
fn resident_range(
    machine: &GpuModel,
    (parameters, is_step): (&[Parameter], &dyn Fn(Parameter) -> bool),
    blocks_of: impl Fn(&MachineConfig) -> u64,
) -> Result<(u64, u64), Diagnostic> {
    let mut machines = vec![machine.select(Selection::Typical)];
    for &parameter in parameters {
        let range = machine.range(parameter);
        if range.least == range.most {
            continue;
        }
        let values: Vec<u64> = match is_step(parameter) {
            true => (range.least..=range.most).take(MOST_MACHINES + 1).collect(),
            false => vec![range.least, range.most],
        };
        if values.len() * machines.len() > MOST_MACHINES {
            let name = parameter.name();
            return Err(Diagnostic::new(format!("{name} has too many values")));
        }
        machines = values
            .iter()
            .flat_map(|&value| {
                machines
                    .iter()
                    .map(move |own| own.clone().with(parameter, value))
            })
            .collect();
    }
    let mut range: Option<(u64, u64)> = None;
    for machine in &machines {
        let blocks = blocks_of(machine);
        if blocks == 0 {
            return Err(Diagnostic::new("a block of the launch fits on no SM"));
        }
        range = Some(match range {
            None => (blocks, blocks),
            Some((least, most)) => (least.min(blocks), most.max(blocks)),
        });
    }
    range.ok_or_else(|| Diagnostic::new("the machine has no values"))
}

/// Number of blocks that an SM holds.
fn blocks_on(mut sm: BlockResources, block: BlockResources) -> u64 {
    let mut blocks = 0;
    while let Some(rest) = sm.without(&block) {
        sm = rest;
        blocks += 1;
    }
    blocks
}
