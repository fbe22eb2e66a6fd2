//! Setup of a simulation on a machine of either family: warps of NVIDIA's GPUs, or waves of AMD's.

use warpbound_base::Diagnostic;
use warpbound_ir::Code;
use warpbound_isa::Program;
use warpbound_isa::nvidia::SassProgram;
use warpbound_launch::{GlobalMemory, Launch, LaunchFile};
use warpbound_machine::{MachineConfig, Occupancy, Parameter, SchedulerPolicy};
use warpbound_report::terms::MachineTerms;
use warpbound_simulate::functional::Fault;
use warpbound_simulate::timed::{EventListener, Setup, TimedResult};

use super::TimedOptions;
use crate::{Prepared, Session};

/// Program and setup of a simulation.
#[derive(Clone)]
pub(super) enum TimedSetup<'a> {
    /// Warps on SMs.
    Warps {
        program: &'a SassProgram,
        setup: Setup,
    },
}

impl<'a> TimedSetup<'a> {
    /// Returns the setup of a launch on a configuration of the machine of the options.
    ///
    /// # Errors
    ///
    /// The machine is none for the instruction set, or an option does not apply to it.
    pub(super) fn new(
        session: &Session,
        prepared: &'a Prepared<'_>,
        grid: &LaunchFile,
        options: &TimedOptions,
        machine: MachineConfig,
    ) -> Result<TimedSetup<'a>, Diagnostic> {
        let caches = options.caches.unwrap_or(grid.caches);
        let policy = options.scheduler.unwrap_or(options.machine.choices.policy);
        match &prepared.program {
            Program::Nvidia(program) => Ok(TimedSetup::Warps {
                program,
                setup: Setup {
                    machine,
                    policy,
                    interlock: options.interlock,
                    caches,
                    registers: prepared.kernel.registers.into(),
                    only: options.only,
                },
            }),
            Program::Amd(_) => {
                let isa = session.image.isa();
                let message = format!("there is no machine with time for {isa}");
                Err(Diagnostic::new(message).hint("--functional runs the kernel without time"))
            }
            Program::Mini(_) => Err(Diagnostic::new(
                "mini-SIMT kernels do not run on machines for GPU kernels",
            )),
        }
    }

    /// Configuration of the machine.
    pub(super) fn machine(&self) -> &MachineConfig {
        match self {
            TimedSetup::Warps { setup, .. } => &setup.machine,
        }
    }

    /// Policy of the schedulers.
    pub(super) fn policy(&self) -> SchedulerPolicy {
        match self {
            TimedSetup::Warps { setup, .. } => setup.policy,
        }
    }

    /// Terms of the machine in texts.
    pub(super) fn terms(&self) -> MachineTerms {
        match self {
            TimedSetup::Warps { .. } => MachineTerms::NVIDIA,
        }
    }

    /// SMs or compute units of the machine.
    pub(super) fn unit_count(&self) -> u64 {
        match self {
            TimedSetup::Warps { setup, .. } => setup.machine[Parameter::SmCount],
        }
    }

    /// Warp slots of an SM or a compute unit.
    pub(super) fn warp_slots(&self) -> u64 {
        match self {
            TimedSetup::Warps { setup, .. } => setup.machine[Parameter::SmWarps],
        }
    }

    /// Replaces the configuration of the machine.
    #[must_use]
    pub(super) fn on(mut self, machine: MachineConfig) -> Self {
        match &mut self {
            TimedSetup::Warps { setup, .. } => setup.machine = machine,
        }
        self
    }

    /// Computes the blocks and warps of a launch that fit on an SM or a compute unit of the machine with this name.
    ///
    /// # Errors
    ///
    /// No block fits.
    pub(super) fn occupancy(&self, name: &str, launch: &Launch) -> Result<Occupancy, Diagnostic> {
        let threads = launch.block.iter().map(|&n| u64::from(n)).product();
        let shared = launch.shared.into();
        let found = match self {
            TimedSetup::Warps { setup, .. } => {
                Occupancy::of(&setup.machine, threads, setup.registers.into(), shared)
            }
        };
        found.map_err(|excess| Diagnostic::new(format!("{excess} on machine {name}")))
    }

    /// Simulates a launch.
    ///
    /// # Errors
    ///
    /// See [`warpbound_simulate::timed::run`].
    pub(super) fn run(
        &self,
        code: &Code,
        launch: &Launch,
        memory: &mut GlobalMemory,
        listener: &mut impl EventListener,
    ) -> Result<TimedResult, Fault> {
        match self {
            TimedSetup::Warps { program, setup } => {
                warpbound_simulate::timed::run(code, program, launch, setup, memory, listener)
            }
        }
    }
}
