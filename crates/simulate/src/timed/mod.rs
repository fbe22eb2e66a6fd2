//! How long a grid of threads takes: the timing model of Maxwell and Pascal SMs (`pastis-2022`).
//!
//! What instructions compute is the business of `functional`; here it is decided when warps issue them.

mod access;
mod cache;
pub mod dispatch;
mod dram;
mod event;
mod event_queue;
mod fetch;
mod gpu;
mod instr_timing;
mod l1_path;
mod l2;
mod mshr;
mod parameters;
mod probe;
mod scheduler;
mod scoreboard;
mod server;
mod shared_memory;
mod sm;
#[cfg(test)]
mod streams;
mod tlb;
mod warp;

use warpbound_base::{Named, Observed};
use warpbound_ir::Code;
use warpbound_isa::nvidia;
use warpbound_machine::{MachineConfig, Parameter, SchedulerPolicy};

pub use crate::functional::AccessKind;
use crate::functional::{Counts, Fault};
use warpbound_launch::{GlobalMemory, Launch};

pub use event::{
    Event, EventListener, HitLevel, Silent, Stall, StallCycles, WarpPlace, format_mask, path_name,
};

/// How a run is timed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The numbers of the machine.
    pub machine: MachineConfig,
    /// Which ready warp issues next.
    pub policy: SchedulerPolicy,
    /// What decides when a warp may issue again.
    pub interlock: Interlock,
    /// What is in the second-level cache at the start.
    pub caches: Caches,
    /// Registers of a thread.
    pub registers: u32,
}

/// What decides when a warp may issue again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interlock {
    /// The control words, as in the machine.
    #[default]
    ControlWords,
    /// A scoreboard of all registers, as simulators that do not read control words have it.
    Scoreboard,
}

impl Named for Interlock {
    const ALL: &'static [(Interlock, &'static str)] = &[
        (Interlock::ControlWords, "control-words"),
        (Interlock::Scoreboard, "scoreboard"),
    ];
}

/// What is in the second-level cache at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Caches {
    /// Nothing.
    #[default]
    Cold,
    /// The buffers, the constants and the code of the launch, as far as there is room.
    Warm,
}

/// A launch that came to its end.
#[derive(Clone, Debug)]
pub struct TimedResult {
    /// How long it took.
    pub cycles: Observed,
    /// What its warps did.
    pub counts: Counts,
    /// The numbers of the machine that the run asked for, ascending.
    pub used_parameters: Vec<Parameter>,
}

/// Runs all blocks of a launch, cycle by cycle, while somebody listens.
///
/// # Errors
///
/// As `functional::launch`; and where a block does not fit on an SM.
pub fn run(
    code: &Code,
    program: &nvidia::Program,
    launch: &Launch,
    setup: &Setup,
    memory: &mut GlobalMemory,
    listener: &mut impl EventListener,
) -> Result<TimedResult, Fault> {
    gpu::run(code, program, launch, setup, memory, listener)
}
