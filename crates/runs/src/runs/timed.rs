//! Timed simulation of a GPU kernel: cycles, stall reasons and memory traffic.

use std::io::{self, Write};
use std::num::NonZero;

use crate::runs::functional::fault_diagnostic;
use warpbound_base::{Diagnostic, Named};
use warpbound_launch::{
    BufferComparison, FinalArray, GlobalMemory, Launch, LaunchFile, PathOrder, StartCaches,
    compare_buffers, final_arrays, output_files,
};
use warpbound_load::Kernel;
use warpbound_machine::{
    GpuModel, MachineConfig, Occupancy, Parameter, ParameterSum, SchedulerPolicy, Selection,
};
use warpbound_report::functional::IssueCounts;
use warpbound_report::timed::{ParameterOverride, SimulatedWarp, Spread, TimedReport};
use warpbound_report::trace::TraceMetadata;
use warpbound_simulate::functional::{Counts, FaultKind};
use warpbound_simulate::timed::{EventListener, Interlock, SingleWarp, TimedResult};

use super::functional::MAX_INSTRUCTIONS;
use super::notes;
use crate::listeners::cycle_statistics::CycleStatistics;
use crate::listeners::events::EventFile;
use crate::listeners::names::InstrNames;
use crate::listeners::progress::BlockProgress;
use crate::listeners::tables;
use crate::listeners::timeline::Timeline;
use warpbound_query::{Prepared, Session, SplitOptions};

pub use observe::LaunchObservation;
pub use overrides::Override;
use setup::TimedSetup;
pub use setup::registers as wave_registers;

pub mod assumptions;
mod ends;
pub mod observe;
mod overrides;
mod sensitivities;
mod setup;
pub mod splitting;

#[cfg(test)]
mod tests;

/// Options of a timed simulation.
#[derive(Clone, Debug)]
pub struct TimedOptions {
    /// Model of the GPU.
    pub machine: GpuModel,
    /// Policy of the schedulers; `None` for the policy of the machine.
    pub scheduler: Option<SchedulerPolicy>,
    /// Selection of the parameter values.
    pub selection: Selection,
    /// Parameters with other values than the selected ones, each at most once.
    pub set: Vec<(Parameter, u64)>,
    /// Sums of two parameters with given values: the first part is adapted, and the other one keeps its value. Each
    /// at most once, and no first part that is also in `set`.
    pub sums: Vec<(ParameterSum, u64)>,
    /// Initial state of the L2 cache; `None` for the state that the launch states.
    pub caches: Option<StartCaches>,
    /// Splitting of waves.
    pub splitting: SplitOptions,
    /// Mechanism that delays dependent instructions.
    pub interlock: Interlock,
    /// The only warp that runs; `None` for all. The buffers are not compared then.
    pub only: Option<SingleWarp>,
    /// Limit of the warp instructions; `None` is 1,000,000,000.
    pub max_instructions: Option<u64>,
    /// Lanes that continue first after a divergent branch.
    pub order: PathOrder,
    /// Whether to repeat the simulation with both ends of each parameter's range and report each result.
    pub sensitivities: bool,
    /// Whether to repeat the simulation also without `sensitivities` if it is short, and report only the range of the
    /// cycles. "Short" is a number of instructions, so that the report does not depend on the host.
    pub spread: bool,
    /// Host threads for the repetitions; their number does not change the result.
    pub threads: NonZero<usize>,
}

impl TimedOptions {
    /// Returns the default options for a machine.
    pub fn new(machine: GpuModel) -> TimedOptions {
        TimedOptions {
            machine,
            scheduler: None,
            selection: Selection::default(),
            set: Vec::new(),
            sums: Vec::new(),
            caches: None,
            splitting: SplitOptions::default(),
            interlock: Interlock::default(),
            only: None,
            max_instructions: None,
            order: PathOrder::default(),
            sensitivities: false,
            spread: false,
            threads: NonZero::<usize>::MIN,
        }
    }

    /// Returns the parameters that the user has set.
    fn parameters_set(&self) -> impl Iterator<Item = Parameter> {
        let numbers = self.set.iter().map(|(parameter, _)| *parameter);
        numbers.chain(self.sums.iter().map(|(sum, _)| sum.part()))
    }
}

/// Progress of a timed simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunProgress {
    /// Number of completed blocks of the launch.
    Blocks(u64),
    /// Repetitions of the simulation for sensitivities or a selection search.
    Runs {
        /// Completed repetitions.
        done: usize,
        /// All repetitions.
        all: usize,
    },
}

/// Receivers of events and progress of a simulation.
pub struct RunHooks<'a> {
    /// Output for a JSON line per event, see [`warpbound_report::events`].
    pub events: Option<&'a mut dyn Write>,
    /// Output for a file in the Trace Event Format.
    pub timeline: Option<&'a mut dyn Write>,
    /// Receives the progress.
    pub progress: &'a mut dyn FnMut(RunProgress),
}

/// Result of simulating a launch of a grid to its end.
#[derive(Debug)]
pub struct TimedRun {
    /// Report of the simulation.
    pub report: TimedReport,
    /// Memory at the end; its buffers are in the order of the parameters that own a buffer.
    pub memory: GlobalMemory,
    /// Diagnostic of the first buffer element that differs from the expected value.
    pub unexpected: Option<Diagnostic>,
    /// First error of writing the events.
    pub events: io::Result<()>,
    /// First error of writing the timeline.
    pub timeline: io::Result<()>,
}

impl TimedRun {
    /// Returns the output files of the launch: names in the launch file, and contents in the NPY format.
    pub fn outputs<'a>(&'a self, grid: &'a LaunchFile) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
        output_files(grid, &self.memory)
    }

    /// Returns the contents of all buffers and variables of the launch at the end.
    pub fn arrays<'a>(&'a self, grid: &'a LaunchFile) -> impl Iterator<Item = FinalArray<'a>> {
        final_arrays(grid, &self.memory)
    }
}

/// Simulates all blocks of a grid to their end, cycle by cycle. Unexpected buffer contents are part of the result,
/// not an error.
///
/// # Errors
///
/// The changed parameters are inconsistent, the launch does not suit the kernel or the machine, the kernel faults,
/// or the meaning of an instruction is unknown.
pub fn simulate(
    session: &Session,
    kernel: &Kernel,
    grid: &LaunchFile,
    options: &TimedOptions,
    hooks: RunHooks<'_>,
) -> Result<TimedRun, Diagnostic> {
    let prepared = session.prepare_timed(kernel)?;
    simulate_prepared(session, &prepared, grid, options, hooks)
}

/// Simulates a launch of a kernel that is already decoded and lifted, see [`simulate`].
///
/// # Errors
///
/// See [`simulate`].
pub fn simulate_prepared(
    session: &Session,
    prepared: &Prepared<'_>,
    grid: &LaunchFile,
    options: &TimedOptions,
    hooks: RunHooks<'_>,
) -> Result<TimedRun, Diagnostic> {
    let kernel = prepared.kernel;
    let mut timed = TimedLaunch::new(session, prepared, grid, options)?;
    let RunHooks {
        events,
        timeline,
        progress,
    } = hooks;
    // Before the run that is reported, because the search changes the machine of the setup.
    let selection_search = timed.search_ends(progress)?;
    let (launch, mut memory) = timed.start()?;
    let names = InstrNames::of(prepared);
    let about = TraceMetadata {
        file: &session.file,
        kernel: &kernel.demangled(),
        machine: &options.machine.name,
        time: TraceMetadata::TIME,
    };
    let slots = timed.setup.warp_slots();
    let events = events.map(|out| EventFile::new(out, &names));
    let timeline =
        timeline.map(|out| Timeline::new(out, &names, &about, timed.setup.terms(), slots));
    let done = BlockProgress::new(&mut *progress);
    let statistics = CycleStatistics::new(prepared.code.ops.len());
    let mut listener = ((statistics, done), (events, timeline));
    let finished = timed.run(&timed.setup, &launch, &mut memory, &mut listener)?;
    let ((statistics, _), (events, timeline)) = listener;
    // A single warp writes only a part of the expected contents.
    let compared = match options.only {
        None => compare_buffers(grid, &memory),
        Some(_) => BufferComparison::default(),
    };
    // The instructions of the run decide whether repetitions are short.
    let is_short = options.spread && timed.is_short(&finished);
    let sensitivities = match options.sensitivities || is_short {
        true => Some(timed.sensitivities(&finished, progress)),
        false => None,
    };
    let occupancy = timed.occupancy(&timed.setup, &launch)?;
    let report = TimedReport {
        selection_search,
        checked_elements: compared.elements,
        spread: sensitivities.as_deref().map(Spread::of),
        // Repetitions that no option asks for only give the spread.
        sensitivities: sensitivities.filter(|_| options.sensitivities),
        ..timed.report(&finished, &statistics, &names, &occupancy)
    };
    Ok(TimedRun {
        report,
        memory,
        unexpected: compared.mismatch.map(|d| d.in_kernel(kernel.demangled())),
        // An output file that cannot be written does not invalidate the simulation.
        events: events.map_or(Ok(()), EventFile::finish),
        timeline: timeline.map_or(Ok(()), Timeline::finish),
    })
}

/// Simulates all blocks of a grid to their end, cycle by cycle, with a listener. For the slow and the fast end,
/// parameters without a slow end have their typical values; [`simulate`] searches them.
///
/// # Errors
///
/// See [`simulate`].
pub fn simulate_with(
    session: &Session,
    prepared: &Prepared<'_>,
    grid: &LaunchFile,
    options: &TimedOptions,
    listener: &mut impl EventListener,
) -> Result<TimedResult, Diagnostic> {
    let (result, _) = simulate_to_end(session, prepared, grid, options, listener)?;
    Ok(result)
}

/// Like [`simulate_with`], and returns the memory at the end as well.
///
/// # Errors
///
/// See [`simulate`].
pub fn simulate_to_end(
    session: &Session,
    prepared: &Prepared<'_>,
    grid: &LaunchFile,
    options: &TimedOptions,
    listener: &mut impl EventListener,
) -> Result<(TimedResult, GlobalMemory), Diagnostic> {
    let timed = TimedLaunch::new(session, prepared, grid, options)?;
    let (launch, mut memory) = timed.start()?;
    let result = timed.run(&timed.setup, &launch, &mut memory, listener)?;
    Ok((result, memory))
}

/// Timed simulation of a launch, run once or several times.
struct TimedLaunch<'a> {
    session: &'a Session,
    prepared: &'a Prepared<'a>,
    grid: &'a LaunchFile,
    options: &'a TimedOptions,
    setup: TimedSetup<'a>,
}

impl<'a> TimedLaunch<'a> {
    fn new(
        session: &'a Session,
        prepared: &'a Prepared<'a>,
        grid: &'a LaunchFile,
        options: &'a TimedOptions,
    ) -> Result<TimedLaunch<'a>, Diagnostic> {
        let locate =
            |message: Diagnostic| session.locate(message.in_kernel(prepared.kernel.demangled()));
        setup::check_family(session, prepared, options).map_err(locate)?;
        let name = &options.machine.name;
        let here = |d: Diagnostic| d.in_file(format!("machine {name} with changed parameters"));
        let machine =
            apply_overrides(options.machine.select(options.selection), options).map_err(here)?;
        let setup = TimedSetup::new(session, prepared, grid, options, machine).map_err(locate)?;
        Ok(TimedLaunch {
            session,
            prepared,
            grid,
            options,
            setup,
        })
    }

    /// Returns the report of a simulation, without repetitions and comparisons of buffers.
    fn report(
        &self,
        finished: &TimedResult,
        statistics: &CycleStatistics,
        names: &InstrNames,
        occupancy: &Occupancy,
    ) -> TimedReport {
        let (options, grid) = (self.options, self.grid);
        let machine = self.setup.machine();
        let clock = machine[Parameter::Clock];
        let issued = total(&finished.counts);
        let tables = statistics.tables(self.prepared, names, &finished.counts, machine);
        let theoretical = self.setup.theoretical(occupancy);
        let cycles = finished.cycles.0.0;
        TimedReport {
            schema: TimedReport::SCHEMA,
            terms: self.setup.terms(),
            file: self.session.file.clone(),
            kernel: self.prepared.kernel.demangled(),
            grid: grid.grid,
            block: grid.block,
            machine: options.machine.name.clone(),
            machine_title: options.machine.title.clone(),
            machine_sms: self.setup.unit_count(),
            scheduler: self.setup.policy().to_string(),
            selection: options.selection.to_string(),
            set: self.parameter_overrides(),
            selection_search: None,
            caches: options.caches.unwrap_or(grid.caches).name(),
            interlock: self.setup.interlock_name(),
            only_warp: options.only.map(|only| SimulatedWarp {
                block: only.block,
                warp: only.warp,
            }),
            cycles,
            clock_khz: clock,
            milliseconds: tables::ratio(cycles, clock),
            divergences: finished.counts.divergences.iter().sum(),
            checked_elements: 0,
            notes: notes::notes(self.prepared, grid, &finished.counts),
            ipc: tables::ratio(issued.warp_instructions, cycles),
            ipc_active: statistics.ipc_active(),
            occupancy: statistics.occupancy(occupancy.most_warps, theoretical),
            issued,
            warp_cycles: tables.warp_cycles,
            stalls: tables.stalls,
            shared_read_transactions: tables.shared_transactions[0],
            shared_write_transactions: tables.shared_transactions[1],
            shared_atomic_transactions: tables.shared_transactions[2],
            shared: tables.shared,
            memory: tables.memory,
            constant_misses: tables.constant_misses,
            instruction_misses: tables.instruction_misses,
            lines: tables.lines,
            instructions: tables.instructions,
            sms: tables.sms,
            waves: self
                .setup
                .wave_report(self.prepared, names, &finished.counts, statistics),
            assumptions: self.assumptions(&finished.used_parameters),
            spread: None,
            sensitivities: None,
        }
    }

    /// Returns the parameters that the user has set.
    fn parameter_overrides(&self) -> Vec<ParameterOverride> {
        let device = self.options.machine.select(self.options.selection);
        let number = |parameter: Parameter| ParameterOverride {
            name: parameter.name().to_owned(),
            value: self.setup.machine()[parameter],
            instead_of: device[parameter],
        };
        self.options.parameters_set().map(number).collect()
    }

    /// Whether the user has set a parameter.
    fn is_set(&self, parameter: Parameter) -> bool {
        self.options.parameters_set().any(|set| set == parameter)
    }

    /// Returns the launch and its initial memory.
    fn start(&self) -> Result<(Launch, GlobalMemory), Diagnostic> {
        let most = self.options.max_instructions.unwrap_or(MAX_INSTRUCTIONS);
        self.session
            .bind(self.prepared, self.grid, self.options.order, most)
    }

    /// Computes the theoretical occupancy of the launch.
    fn occupancy(&self, setup: &TimedSetup<'_>, launch: &Launch) -> Result<Occupancy, Diagnostic> {
        let found = setup.occupancy(&self.options.machine.name, launch);
        found.map_err(|message| self.locate(message))
    }

    /// Adds file and kernel to a diagnostic.
    fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        let diagnostic = diagnostic.in_kernel(self.prepared.kernel.demangled());
        self.session.locate(diagnostic)
    }

    /// Simulates the launch on a machine.
    fn run(
        &self,
        setup: &TimedSetup<'_>,
        launch: &Launch,
        memory: &mut GlobalMemory,
        listener: &mut impl EventListener,
    ) -> Result<TimedResult, Diagnostic> {
        // Repetitions use machines with other parameters, which may not hold a block.
        self.occupancy(setup, launch)?;
        setup
            .run(&self.prepared.code, launch, memory, listener)
            .map_err(|fault| match fault.kind {
                // The launch has no such warp, so there is no instruction to name.
                FaultKind::UnknownWarp { .. } => Diagnostic::new(fault.kind.to_string()),
                _ => fault_diagnostic(self.prepared, &fault),
            })
            .map_err(|diagnostic| self.locate(diagnostic))
    }
}

/// Returns the totals over all operations.
fn total(counts: &Counts) -> IssueCounts {
    IssueCounts {
        warp_instructions: counts.issued(),
        thread_instructions: counts.active.iter().sum(),
        executed_thread_instructions: counts.executed.iter().sum(),
    }
}

/// Returns the machine that a simulation with these options runs on.
pub fn configuration(options: &TimedOptions) -> Result<MachineConfig, Diagnostic> {
    apply_overrides(options.machine.select(options.selection), options)
}

/// Applies the user's parameter values to a machine; refuses inconsistent ones.
fn apply_overrides(
    mut machine: MachineConfig,
    options: &TimedOptions,
) -> Result<MachineConfig, Diagnostic> {
    // The selected machine is consistent, so only changes need the check.
    if options.parameters_set().next().is_none() {
        return Ok(machine);
    }
    let family = machine.family();
    if let Some(foreign) = options.parameters_set().find(|of| !of.is_of(family)) {
        let name = foreign.name();
        return Err(Diagnostic::new(format!(
            "{name} is not a number of {family}"
        )));
    }
    for &(parameter, value) in &options.set {
        machine = machine.with(parameter, value);
    }
    // After single parameters, because the part of a sum that keeps its value may be set too.
    for &(sum, value) in &options.sums {
        let other = machine[sum.other()];
        let Some(rest) = value.checked_sub(other) else {
            let (name, of) = (sum.name(), sum.other().name());
            return Err(Diagnostic::new(format!(
                "{name} is {value}, but {of}, which is a part of it, is {other}"
            )));
        };
        machine = machine.with(sum.part(), rest);
    }
    machine.check()?;
    Ok(machine)
}
