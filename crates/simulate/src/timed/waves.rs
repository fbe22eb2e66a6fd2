//! Timing model of AMD's GCN3: compute units with SIMDs that issue the instructions of waves
//! (docs/timing-model-gcn3.md).

mod access;
mod compute_unit;
mod counters;
mod lds;
mod pipelines;
mod probe;
mod scalar_cache;
mod setup;
mod simd;
mod splitting;
mod times;
mod wave;

use warpbound_ir::Code;
use warpbound_isa::amd::GcnProgram;
use warpbound_launch::{GlobalMemory, Launch};
use warpbound_machine::SchedulerPolicy;
use warpbound_timing::gcn_facts;

use super::event::SharedListener;
use super::gpu::{Inputs, simulate};
use super::parameters::UsedParameters;
use super::{EventListener, TimedResult};
use crate::functional::{Fault, FaultKind, WAVE_LANES, check_entry};
use compute_unit::{WaveRun, WaveUnits};
use probe::WaveProbe;

pub use setup::{SplitMarking, SplitPipelines, SplitSetup, SplitSite, WaveSetup};

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
    if L::INLINED {
        return run_inlined(code, program, launch, setup, memory, listener);
    }
    match L::RECORDS {
        true => {
            let mut listener = SharedListener::new(listener);
            run_recorded(code, program, launch, setup, memory, &mut listener)
        }
        false => {
            let mut listener = SharedListener::new(listener);
            run_unrecorded(code, program, launch, setup, memory, &mut listener)
        }
    }
}

/// Simulates a launch with a listener to outcomes; see [`run_waves`]. This function has no type parameters, so that it
/// is compiled once.
fn run_recorded(
    code: &Code,
    program: &GcnProgram,
    launch: &Launch,
    setup: &WaveSetup,
    memory: &mut GlobalMemory,
    listener: &mut SharedListener<'_, true>,
) -> Result<TimedResult, Fault> {
    run_inlined(code, program, launch, setup, memory, listener)
}

/// Simulates a launch with a listener that ignores outcomes; see [`run_waves`]. This function has no type parameters,
/// so that it is compiled once.
fn run_unrecorded(
    code: &Code,
    program: &GcnProgram,
    launch: &Launch,
    setup: &WaveSetup,
    memory: &mut GlobalMemory,
    listener: &mut SharedListener<'_, false>,
) -> Result<TimedResult, Fault> {
    run_inlined(code, program, launch, setup, memory, listener)
}

/// Simulates a launch with a copy of the simulator for the listener; see [`run_waves`].
fn run_inlined(
    code: &Code,
    program: &GcnProgram,
    launch: &Launch,
    setup: &WaveSetup,
    memory: &mut GlobalMemory,
    listener: &mut impl EventListener,
) -> Result<TimedResult, Fault> {
    check_entry(code, launch, true)?;
    if !matches!(setup.policy, SchedulerPolicy::Oldest | SchedulerPolicy::Lrr) {
        return Err(Fault::of_launch(FaultKind::UnknownPolicy));
    }
    let parameters = UsedParameters::new(&setup.machine);
    let facts = gcn_facts(code, program);
    let inputs = Inputs::<WaveUnits, WAVE_LANES> {
        code,
        launch,
        parameters: &parameters,
        caches: setup.caches,
        only: setup.only,
        run: WaveRun {
            setup,
            facts: &facts,
        },
        probe: WaveProbe::new(),
    };
    simulate(inputs, memory, listener)
}
