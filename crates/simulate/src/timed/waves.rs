//! Timing model of AMD's GCN3: compute units with SIMDs that issue the instructions of waves
//! (docs/timing-model-gcn3.md).

mod access;
mod compute_unit;
mod context;
mod counters;
mod lds;
mod pipelines;
mod probe;
mod scalar_cache;
mod simd;
mod splitting;
mod times;
mod wave;

use std::collections::BTreeMap;

use warpbound_base::{Cycles, Named, Observed};
use warpbound_ir::{Code, OpIndex};
use warpbound_isa::amd::GcnProgram;
use warpbound_launch::{GlobalMemory, Launch, StartCaches};
use warpbound_machine::{BlockResources, MachineConfig, Parameter, SchedulerPolicy, WaveNeeds};
use warpbound_timing::gcn_facts;

use super::dispatch::{Dispatcher, Placement};
use super::gpu::{Gpu, warm_l2};
use super::l2::L2Cache;
use super::outcome::Recorder;
use super::parameters::UsedParameters;
use super::{EventListener, SingleWarp, TimedResult};
use crate::functional::{Counts, Fault, FaultKind, Program, WAVE_LANES, check_entry};
use compute_unit::{ComputeUnit, UnitShape};
use context::WaveContext;
use probe::WaveProbe;

/// Setup of a run of waves: machine, policies, splitting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaveSetup {
    /// Configuration of the machine.
    pub machine: MachineConfig,
    /// Order of the waves of a SIMD: [`SchedulerPolicy::Oldest`] or [`SchedulerPolicy::Lrr`].
    pub policy: SchedulerPolicy,
    /// Initial contents of the L2 cache.
    pub caches: StartCaches,
    /// Vector registers of a wave, as allocated.
    pub vgprs: u32,
    /// Scalar registers of a wave, as allocated.
    pub sgprs: u32,
    /// The only wave that runs; `None` for all.
    pub only: Option<SingleWarp>,
    /// Splitting of waves.
    pub splitting: SplitSetup,
}

/// Setup of splitting.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SplitSetup {
    /// Reserve slots of a launch wave: the maximum number of live splits besides the wave itself. 0: waves do not
    /// split.
    pub splits: u32,
    /// Pipelines.
    pub pipelines: SplitPipelines,
    /// Branches at which waves split.
    pub marking: SplitMarking,
    /// Branches at which waves may split.
    pub sites: BTreeMap<OpIndex, SplitSite>,
    /// Whether splits become one again at the merge points of their sites.
    pub merge: bool,
}

/// Pipelines of splits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitPipelines {
    /// One more for each reserve slot: splits of a wave issue together.
    #[default]
    Parallel,
    /// One: splits are waves as all others.
    Serialised,
}

impl Named for SplitPipelines {
    const ALL: &'static [(SplitPipelines, &'static str)] = &[
        (SplitPipelines::Parallel, "parallel"),
        (SplitPipelines::Serialised, "serialised"),
    ];
}

/// Sites at which waves split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitMarking {
    /// All.
    #[default]
    Sites,
    /// Those that find bit 21 of MODE set.
    Mode,
}

/// A branch at which a wave may split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SplitSite {
    /// Operation before which its splits may become one again.
    pub merge_point: Option<OpIndex>,
}

/// Simulates all groups of a launch on compute units and reports the events to a listener.
///
/// # Errors
///
/// As `functional::launch`; also if a group does not fit on a compute unit, if the launch is for another machine or
/// lacks the wave that is to run alone, if the policy is another one, or if an instruction that executes has no
/// timing class.
pub fn run_waves<L: EventListener>(
    code: &Code,
    program: &GcnProgram,
    launch: &Launch,
    setup: &WaveSetup,
    memory: &mut GlobalMemory,
    listener: &mut L,
) -> Result<TimedResult, Fault> {
    check_entry(code, launch, true)?;
    if !matches!(setup.policy, SchedulerPolicy::Oldest | SchedulerPolicy::Lrr) {
        return Err(Fault::of_launch(FaultKind::UnknownPolicy));
    }
    let parameters = UsedParameters::new(&setup.machine);
    let facts = gcn_facts(code, program);
    let compiled = Program::timed(code, launch);
    let mut l2 = L2Cache::new(&parameters);
    if setup.caches == StartCaches::Warm {
        warm_l2(&mut l2, code, launch, memory);
    }
    // Without a warp that runs alone, all groups of the grid are still to start.
    let blocks = launch.grid.iter().map(|&n| u64::from(n)).product();
    let mut context = WaveContext {
        parameters: &parameters,
        setup,
        program: &compiled,
        launch,
        facts: &facts,
        l2,
        memory,
        counts: Counts::new(code.ops.len()),
        budget: launch.max_instructions,
        stores_done: 0,
        unstarted: setup.only.map_or(blocks, |_| 1),
        probe: WaveProbe::new(),
        listener,
    };
    context.l2.recorder = Recorder::new(L::RECORDS);
    let mut gpu = gpu_of(code, launch, setup, &parameters)?;
    let end = gpu.run(&mut context)?;
    Ok(TimedResult {
        cycles: Observed(Cycles(end)),
        counts: context.counts,
        used_parameters: parameters.used(),
    })
}

/// Returns the idle GPU of a machine, with the launch submitted.
///
/// # Errors
///
/// A group does not fit on a compute unit.
fn gpu_of<'r>(
    code: &Code,
    launch: &Launch,
    setup: &WaveSetup,
    parameters: &UsedParameters,
) -> Result<Gpu<ComputeUnit<'r>>, Fault> {
    let (shape, of_unit, of_group) = resources(launch, setup, parameters);
    let entry = code.get(code.entry).map_or(0, |op| op.addr.0.into());
    // Machine files limit the number of units, so the cast is exact.
    let count = parameters.get(Parameter::CuCount).max(1) as u32;
    let pipelines = setup.splitting.pipelines;
    let units =
        (0..count).map(|number| ComputeUnit::new(number, shape, entry, pipelines, parameters));
    let dispatcher = Dispatcher::new(count as usize, of_unit);
    // Groups go to the compute units in turn (docs/timing-model-gcn3.md).
    let dispatcher = dispatcher.with_placement(Placement::RoundRobin);
    let only = setup.only.map(|only| (only, WAVE_LANES as u32));
    Gpu::new(
        units.collect(),
        shape.simds,
        dispatcher,
        of_group,
        launch,
        only,
    )
}

/// Maximum number of live splits besides the wave itself, since each has a lane of its own.
const MOST_SPLITS: u32 = WAVE_LANES as u32 - 1;

/// Returns the numbers of a compute unit, its resources, and the resources that a group needs.
fn resources(
    launch: &Launch,
    setup: &WaveSetup,
    parameters: &UsedParameters,
) -> (UnitShape, BlockResources, BlockResources) {
    let threads = launch.block.iter().map(|&n| u64::from(n)).product();
    let needs = WaveNeeds {
        vgprs: setup.vgprs.into(),
        sgprs: setup.sgprs.into(),
    };
    let mut reader = parameters.reader();
    let machine = reader.machine(BlockResources::CU_PARAMETERS);
    let of_unit = BlockResources::of_cu(machine, &needs);
    let of_group = BlockResources::of_group(machine, threads, launch.shared.into());
    let WaveNeeds { vgprs, sgprs } = needs.allocated(machine);
    let by_vectors = machine[Parameter::SimdVgprs] / vgprs.max(1);
    let by_scalars = machine[Parameter::SimdSgprs] / sgprs.max(1);
    let simds = machine[Parameter::CuSimds].max(1);
    let shape = UnitShape {
        simds: simds as u32,
        waves: machine[Parameter::SimdWaves] as u32,
        // `of_cu` counts the waves of all SIMDs.
        residents: (of_unit.warps / simds) as u32,
        holders: by_vectors.min(by_scalars),
        splits: setup.splitting.splits.min(MOST_SPLITS),
    };
    *reader.track((shape, of_unit, of_group)).get(parameters)
}
