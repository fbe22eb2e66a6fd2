//! Timing models of GPUs (`pastis-2022`, IV.A; docs/timing-model-gcn3.md): the cycles when the warps of a launch issue
//! their instructions. The instructions themselves are executed by `functional`.
//!
//! * `core`: a multiprocessor of any family, which starts blocks, issues instructions and opens barriers;
//!   `family_timing`: what it asks of a family; `warp`: state of a warp; `access`: memory accesses.
//! * `sm`: SMs whose code has control words, with `times` (issue and completion of instructions), `scheduler` (warp scheduling and
//!   execution units), `scoreboard`, `instr_timing` (control words and timing classes), `access` and `shared_memory`
//!   (bank conflicts); `waves`: GCN3.
//! * `gpu`: block dispatch and the event queue; `dispatch`: the dispatcher and its rules.
//! * `l1_path`: coalescing and L1 caches; `mshr`: miss-status holding registers and the store buffer; `tlb`; `l2`;
//!   `dram`; `fetch`: instruction and constant caches; `cache`: tags and replacement.
//! * `event` and `outcome`: what listeners receive.
//! * `server`: contention for a resource; `event_queue`; `parameters`: the parameters of the machine that a run uses.

mod access;
mod cache;
mod core;
pub mod dispatch;
mod dram;
mod event;
mod event_queue;
mod family_timing;
mod fetch;
mod gpu;
mod l1_path;
mod l2;
mod mshr;
mod outcome;
mod parameters;
mod server;
mod sm;
#[cfg(test)]
mod tests;
mod tlb;
mod warp;
mod waves;

use warpbound_base::{Cycles, Named, Observed, Reconvergence};
use warpbound_ir::Code;
use warpbound_isa::nvidia;
use warpbound_launch::{GlobalMemory, Launch, StartCaches};
use warpbound_machine::{MachineConfig, Parameter, SchedulerPolicy};

pub use crate::functional::{AccessKind, SingleWarp};
use crate::functional::{ConvergenceModel, Counts, Fault, NvidiaModel};

pub use l2::LOCAL_BASE;
pub use outcome::{FetchLevel, Outcome, PendingHit, TranslationLevel};

use event::SharedListener;
pub use event::{
    Event, EventListener, HitLevel, Silent, SplitRefusal, Stall, StallCycles, WarpPlace,
    format_mask, path_name,
};

pub use waves::{SplitMarking, SplitPipelines, SplitSetup, SplitSite, WaveSetup, run_waves};

/// Setup of a run: machine and policies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// Configuration of the machine.
    pub machine: MachineConfig,
    /// Warp scheduling policy.
    pub policy: SchedulerPolicy,
    /// Interlock between dependent instructions.
    pub interlock: Interlock,
    /// Initial contents of the L2 cache.
    pub caches: StartCaches,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of the bank of constants that the launch writes.
    pub launch_constants: u64,
    /// The only warp that runs; `None` for all.
    pub only: Option<SingleWarp>,
}

/// Interlock: the check that the operands of an instruction are ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interlock {
    /// Control words, as in the hardware.
    #[default]
    ControlWords,
    /// Register scoreboard, as in simulators that do not read control words.
    Scoreboard,
}

impl Named for Interlock {
    const ALL: &'static [(Interlock, &'static str)] = &[
        (Interlock::ControlWords, "control-words"),
        (Interlock::Scoreboard, "scoreboard"),
    ];
}

/// Result of a completed launch.
#[derive(Clone, Debug)]
pub struct TimedResult {
    /// Cycles from the launch to the end of the kernel.
    pub cycles: Observed<Cycles>,
    /// Execution counts.
    pub counts: Counts,
    /// Parameters of the machine that the run used, in the order of [`Parameter::ALL`].
    pub used_parameters: Vec<Parameter>,
}

/// Simulates all blocks of a launch and reports the events to a listener.
///
/// # Errors
///
/// As `functional::launch`; also if a block does not fit on an SM, or if the launch lacks the warp that is to run
/// alone.
pub fn run<L: EventListener>(
    code: &Code,
    program: &nvidia::SassProgram,
    launch: &Launch,
    setup: &Setup,
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

/// Simulates a launch with a listener to outcomes; see [`run`]. This function has no type parameters, so that it is
/// compiled once.
fn run_recorded(
    code: &Code,
    program: &nvidia::SassProgram,
    launch: &Launch,
    setup: &Setup,
    memory: &mut GlobalMemory,
    listener: &mut SharedListener<'_, true>,
) -> Result<TimedResult, Fault> {
    run_inlined(code, program, launch, setup, memory, listener)
}

/// Simulates a launch with a listener that ignores outcomes; see [`run`]. This function has no type parameters, so that
/// it is compiled once.
fn run_unrecorded(
    code: &Code,
    program: &nvidia::SassProgram,
    launch: &Launch,
    setup: &Setup,
    memory: &mut GlobalMemory,
    listener: &mut SharedListener<'_, false>,
) -> Result<TimedResult, Fault> {
    run_inlined(code, program, launch, setup, memory, listener)
}

/// Simulates a launch with a copy of the simulator for the listener; see [`run`].
fn run_inlined(
    code: &Code,
    program: &nvidia::SassProgram,
    launch: &Launch,
    setup: &Setup,
    memory: &mut GlobalMemory,
    listener: &mut impl EventListener,
) -> Result<TimedResult, Fault> {
    match code.family.facts().reconvergence {
        Reconvergence::ConvergenceBarriers => {
            sm::run::<_, ConvergenceModel>(code, program, launch, setup, memory, listener)
        }
        _ => sm::run::<_, NvidiaModel>(code, program, launch, setup, memory, listener),
    }
}
