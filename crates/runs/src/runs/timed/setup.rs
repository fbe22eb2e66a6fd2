//! Setup of a simulation on a machine of either family: warps of NVIDIA's GPUs, or waves of AMD's.

use warpbound_base::{Diagnostic, Family, Named as _};
use warpbound_ir::Code;
use warpbound_isa::Program;
use warpbound_isa::amd::GcnProgram;
use warpbound_isa::nvidia::SassProgram;
use warpbound_launch::{GlobalMemory, Launch, LaunchFile};
use warpbound_load::GcnDescriptor;
use warpbound_machine::{
    GpuModel, Limit, MachineConfig, Occupancy, Parameter, SchedulerPolicy, WaveNeeds,
};
use warpbound_query::{Prepared, Session};
use warpbound_report::terms::MachineTerms;
use warpbound_report::timed::TheoreticalOccupancy;
use warpbound_report::timed::waves::WaveReport;
use warpbound_simulate::functional::{Counts, Fault};
use warpbound_simulate::timed::{
    EventListener, Interlock, Setup, TimedResult, WaveSetup, run_waves,
};

use super::TimedOptions;
use super::splitting::SplitPlan;
use crate::listeners::cycle_statistics::CycleStatistics;
use crate::listeners::names::InstrNames;
use crate::listeners::timeline::WarpSlots;
use crate::listeners::wave_tables::wave_report;

/// Program and setup of a simulation.
#[derive(Clone)]
pub(super) enum TimedSetup<'a> {
    /// Warps on SMs.
    Warps {
        program: &'a SassProgram,
        setup: Setup,
    },
    /// Waves on compute units.
    Waves {
        program: &'a GcnProgram,
        setup: WaveSetup,
        splitting: SplitPlan,
    },
}

impl<'a> TimedSetup<'a> {
    /// Returns the setup of a launch on a configuration of the machine of the options.
    ///
    /// # Errors
    ///
    /// The instruction set has no timing model, or waves may not split as the options say.
    pub(super) fn new(
        session: &Session,
        prepared: &'a Prepared<'_>,
        grid: &LaunchFile,
        options: &TimedOptions,
        machine: MachineConfig,
    ) -> Result<TimedSetup<'a>, Diagnostic> {
        let caches = options.caches.unwrap_or(grid.caches);
        let policy = options.scheduler.unwrap_or(options.machine.choices.policy);
        let only = options.only;
        match &prepared.program {
            Program::Nvidia(program) => Ok(TimedSetup::Warps {
                program,
                setup: Setup {
                    machine,
                    policy,
                    interlock: options.interlock,
                    caches,
                    registers: prepared.kernel.registers.into(),
                    launch_constants: prepared.kernel.launch_constants(),
                    only,
                },
            }),
            Program::Amd(program) => {
                let [vgprs, sgprs] = registers(prepared);
                let splitting = SplitPlan::new(
                    session,
                    prepared,
                    program,
                    &options.splitting,
                    Some(grid.block),
                )?;
                Ok(TimedSetup::Waves {
                    program,
                    setup: WaveSetup {
                        machine,
                        policy,
                        caches,
                        vgprs,
                        sgprs,
                        only,
                        splitting: splitting.setup.clone(),
                    },
                    splitting,
                })
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
            TimedSetup::Waves { setup, .. } => &setup.machine,
        }
    }

    /// Policy of the schedulers.
    pub(super) fn policy(&self) -> SchedulerPolicy {
        match self {
            TimedSetup::Warps { setup, .. } => setup.policy,
            TimedSetup::Waves { setup, .. } => setup.policy,
        }
    }

    /// Terms of the machine in texts.
    pub(super) fn terms(&self) -> MachineTerms {
        match self {
            TimedSetup::Warps { .. } => MachineTerms::NVIDIA,
            TimedSetup::Waves { .. } => MachineTerms::AMD,
        }
    }

    /// SMs or compute units of the machine.
    pub(super) fn unit_count(&self) -> u64 {
        match self {
            TimedSetup::Warps { setup, .. } => setup.machine[Parameter::SmCount],
            TimedSetup::Waves { setup, .. } => setup.machine[Parameter::CuCount],
        }
    }

    /// Warp slots of an SM, or wave slots of a compute unit.
    pub(super) fn warp_slots(&self) -> WarpSlots {
        match self {
            TimedSetup::Warps { setup, .. } => WarpSlots {
                base: setup.machine[Parameter::SmWarps],
                reserve: 0,
            },
            TimedSetup::Waves { setup, .. } => {
                let simds = setup.machine[Parameter::CuSimds];
                WarpSlots {
                    base: simds.saturating_mul(setup.machine[Parameter::SimdWaves]),
                    reserve: setup.splitting.splits.into(),
                }
            }
        }
    }

    /// Name of the mechanism that delays dependent instructions.
    pub(super) fn interlock_name(&self) -> &'static str {
        match self {
            TimedSetup::Warps { setup, .. } => setup.interlock.name(),
            // Dependences on ALUs are tracked by a scoreboard of registers, and dependences on memory by wait counts.
            TimedSetup::Waves { .. } => "wait-counts",
        }
    }

    /// Reports units and splits of a run of waves; `None` for warps of NVIDIA's GPUs.
    pub(super) fn wave_report(
        &self,
        prepared: &Prepared<'_>,
        names: &InstrNames,
        counts: &Counts,
        statistics: &CycleStatistics,
    ) -> Option<WaveReport> {
        let TimedSetup::Waves {
            program,
            setup,
            splitting,
        } = self
        else {
            return None;
        };
        Some(WaveReport {
            splitting: splitting.report(names, counts, statistics),
            ..wave_report(prepared, program, counts, statistics, setup)
        })
    }

    /// Replaces the configuration of the machine.
    #[must_use]
    pub(super) fn on(mut self, machine: MachineConfig) -> Self {
        match &mut self {
            TimedSetup::Warps { setup, .. } => setup.machine = machine,
            TimedSetup::Waves { setup, .. } => setup.machine = machine,
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
            TimedSetup::Waves { setup, .. } => {
                let needs = WaveNeeds {
                    vgprs: setup.vgprs.into(),
                    sgprs: setup.sgprs.into(),
                };
                Occupancy::of_cu(&setup.machine, threads, &needs, shared)
            }
        };
        found.map_err(|excess| Diagnostic::new(format!("{excess} on machine {name}")))
    }

    /// Converts an occupancy to its report.
    pub(super) fn theoretical(&self, occupancy: &Occupancy) -> TheoreticalOccupancy {
        let name = match self {
            TimedSetup::Warps { .. } => Limit::name,
            TimedSetup::Waves { .. } => Limit::gcn3_name,
        };
        let names: Vec<&str> = occupancy.limits.iter().copied().map(name).collect();
        TheoreticalOccupancy {
            blocks: occupancy.blocks,
            warps: occupancy.warps,
            occupancy: occupancy.ratio(),
            limiter: names.join(" and "),
        }
    }

    /// Simulates a launch.
    ///
    /// # Errors
    ///
    /// See [`warpbound_simulate::timed::run`] and [`run_waves`].
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
            TimedSetup::Waves { program, setup, .. } => {
                run_waves(code, program, launch, setup, memory, listener)
            }
        }
    }
}

/// Refuses a machine of another family than the code, and options that do not apply to the family.
///
/// # Errors
///
/// The machine or an option does not suit the code; the diagnostic names the first mismatch.
pub(super) fn check_family(
    session: &Session,
    prepared: &Prepared<'_>,
    options: &TimedOptions,
) -> Result<(), Diagnostic> {
    let (model, isa) = (&options.machine, session.image.isa().to_string());
    let family = prepared.family();
    // `TimedSetup::new` refuses these kernels with a message of its own.
    if family == Family::MiniSimt {
        return Ok(());
    }
    if model.family() != family {
        let architectures = model.architectures.join(", ");
        let message = format!(
            "machine {} is for {architectures}, the code is for {isa}",
            model.name
        );
        let names: Vec<&str> = GpuModel::names_of(family).collect();
        let hint = format!("machines for {family}: {}", names.join(", "));
        return Err(Diagnostic::new(message).hint(hint));
    }
    // Waves have one mechanism, so another choice would be ignored silently.
    if family == Family::Gcn3 && options.interlock != Interlock::default() {
        let message = "--interlock is for NVIDIA GPUs";
        let hint = "waves of GCN3 wait by s_waitcnt and a scoreboard of registers";
        return Err(Diagnostic::new(message).hint(hint));
    }
    let of_waves = [SchedulerPolicy::Oldest, SchedulerPolicy::Lrr];
    if !family.has_exec_mask() && options.splitting.splits > 0 {
        return Err(Diagnostic::new("--splits is for waves of GCN3"));
    }
    match options.scheduler {
        Some(policy) if family == Family::Gcn3 && !of_waves.contains(&policy) => {
            let message = format!("SIMDs of GCN3 have no scheduler {policy}");
            Err(Diagnostic::new(message).hint("there are oldest and lrr"))
        }
        _ => Ok(()),
    }
}

/// Returns the vector and scalar registers that are allocated to a wave.
pub fn registers(prepared: &Prepared<'_>) -> [u32; 2] {
    let stated = prepared.kernel.code_object.as_ref();
    let descriptor = stated.map(|facts| &facts.descriptor);
    let numbers = |facts: &GcnDescriptor| [facts.vector_registers(), facts.scalar_registers()];
    descriptor.map_or([0, 0], numbers).map(u32::from)
}
