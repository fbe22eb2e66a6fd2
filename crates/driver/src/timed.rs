//! Running a GPU kernel with time: how long it takes, and where the cycles went.

use std::io::{self, Write};
use std::num::NonZero;

use warpbound_base::Diagnostic;
use warpbound_isa::{Program, nvidia};
use warpbound_load::{LaunchFile, Kernel, StartCaches};
use warpbound_machine::{GpuModel, Occupancy, Parameter, Selection, MachineConfig, ParameterSum, WarpPolicy};
use warpbound_report::functional::Issued;
use warpbound_report::timed::{SetNumber, Spread, TimedReport};
use warpbound_report::trace::TraceAbout;
use warpbound_simulate::functional::{Counts, GlobalMemory, Launch, PathOrder};
use warpbound_simulate::timed::{Caches, TimedResult, Interlock, EventListener, Setup};

use crate::functional::{MOST_INSTRUCTIONS, buffers, notes};
use crate::{Prepared, Session};

mod assumptions;
mod ends;
mod events;
mod names;
mod occupancy;
mod progress;
mod sensitivities;
mod statistics;
mod tables;
mod timeline;

#[cfg(test)]
mod tests;

use events::Events;
use names::Names;
use progress::Blocks;
use statistics::Statistics;
use timeline::Timeline;

/// How a launch is run with time.
#[derive(Clone, Debug)]
pub struct TimedOptions {
    /// The machine.
    pub machine: GpuModel,
    /// Which ready warp issues next; `None`: what the machine says.
    pub scheduler: Option<WarpPolicy>,
    /// Which values the numbers of the machine have.
    pub pick: Selection,
    /// Numbers that have other values than those, each once.
    pub set: Vec<(Parameter, u64)>,
    /// Numbers that make sums so large, the other part being what the run has; each once, and none that is in `set`.
    pub sums: Vec<(ParameterSum, u64)>,
    /// What is in the second-level cache at the start; `None`: what the launch says.
    pub caches: Option<StartCaches>,
    /// What decides when a warp may issue again.
    pub interlock: Interlock,
    /// The most warp instructions; `None`: 1,000,000,000.
    pub max_instructions: Option<u64>,
    /// Who goes first where lanes part.
    pub order: PathOrder,
    /// Run again with the least and the most of each number, and report each.
    pub sensitivities: bool,
    /// Run again also where that was not asked for but is cheap, and report only how far the cycles move. What
    /// is cheap is counted in instructions, so that it does not depend on the machine.
    pub spread: bool,
    /// Threads for these runs; nothing but the time depends on their number.
    pub threads: NonZero<usize>,
}

impl TimedOptions {
    /// A machine, and nothing else said.
    pub fn new(machine: GpuModel) -> TimedOptions {
        TimedOptions {
            machine,
            scheduler: None,
            pick: Selection::default(),
            set: Vec::new(),
            sums: Vec::new(),
            caches: None,
            interlock: Interlock::default(),
            max_instructions: None,
            order: PathOrder::default(),
            sensitivities: false,
            spread: false,
            threads: NonZero::<usize>::MIN,
        }
    }

    /// The numbers that have other values than the machine's.
    fn parameters_set(&self) -> impl Iterator<Item = Parameter> {
        let numbers = self.set.iter().map(|(parameter, _)| *parameter);
        numbers.chain(self.sums.iter().map(|(sum, _)| sum.part()))
    }
}

/// What is done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunProgress {
    /// So many blocks of the launch have come to their end.
    Blocks(u64),
    /// So many of all the runs that find sensitivities.
    Runs {
        /// Done.
        done: usize,
        /// All.
        all: usize,
    },
}

/// Who gets what while a launch runs.
pub struct Hooks<'a> {
    /// Gets a JSON line for each event, see [`warpbound_report::events`].
    pub events: Option<&'a mut dyn Write>,
    /// Gets a file in the Trace Event Format.
    pub timeline: Option<&'a mut dyn Write>,
    /// Hears what is done.
    pub progress: &'a mut dyn FnMut(RunProgress),
}

/// A launch of a grid that came to its end.
#[derive(Debug)]
pub struct TimedRun {
    /// What it was like.
    pub report: TimedReport,
    /// The buffers, in the order of the parameters that are buffers of their own.
    pub memory: GlobalMemory,
    /// What is in a buffer and should not be, for the first element that is not as the launch expects.
    pub unexpected: Option<Diagnostic>,
    /// Whether all events could be written.
    pub events: io::Result<()>,
    /// Whether the timeline could be written.
    pub timeline: io::Result<()>,
}

impl TimedRun {
    /// The files that the launch wants: name as the launch file has it, NPY contents.
    pub fn outputs<'a>(&'a self, grid: &'a LaunchFile) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
        buffers::outputs(grid, &self.memory)
    }
}

impl Session {
    /// The machine that the code is for.
    ///
    /// # Errors
    ///
    /// Where none that comes with the tool is for it.
    pub fn own_device(&self) -> Result<GpuModel, Diagnostic> {
        GpuModel::for_architecture(&self.image.isa().to_string()).map_err(|d| self.locate(d))
    }

    /// Runs all blocks of a grid to their end, cycle by cycle, whatever buffers hold then.
    ///
    /// # Errors
    ///
    /// Where the numbers that were set make no machine, the launch does not suit the kernel or the machine, the kernel does
    /// what it must not, or what an instruction means is not known yet.
    pub fn run_timed(
        &self,
        kernel: &Kernel,
        grid: &LaunchFile,
        options: &TimedOptions,
        hooks: Hooks<'_>,
    ) -> Result<TimedRun, Diagnostic> {
        let prepared = self.prepare(kernel)?;
        let mut timed = Timed::new(self, &prepared, grid, options)?;
        let Hooks {
            events,
            timeline,
            progress,
        } = hooks;
        let tried = timed.try_ends(progress)?;
        let (launch, mut memory) = timed.start()?;
        let names = Names::of(&prepared);
        let about = TraceAbout {
            file: &self.file,
            kernel: &kernel.demangled(),
            machine: &options.machine.name,
            time: TraceAbout::TIME,
        };
        let slots = timed.setup.machine[Parameter::SmWarps];
        let events = events.map(|out| Events::new(out, &names));
        let timeline = timeline.map(|out| Timeline::new(out, &names, &about, slots));
        let done = Blocks::new(&mut *progress);
        let statistics = Statistics::new(prepared.code.ops.len());
        let mut listener = ((statistics, done), (events, timeline));
        let finished = timed.run(&timed.setup, &launch, &mut memory, &mut listener)?;
        let ((statistics, _), (events, timeline)) = listener;
        let compared = buffers::compare(kernel, grid, &memory);
        let cycles = finished.cycles.0.0;
        let is_short = options.spread && timed.is_short(&finished);
        let sensitivities = match options.sensitivities || is_short {
            true => Some(timed.sensitivities(&finished, progress)),
            false => None,
        };
        let spread = sensitivities.as_deref().map(Spread::of);
        let sensitivities = sensitivities.filter(|_| options.sensitivities);
        let machine = &timed.setup.machine;
        let clock = machine[Parameter::Clock];
        let issued = total(&finished.counts);
        let tables = statistics.tables(&prepared, &names, &finished.counts, machine);
        let theoretical = occupancy::theoretical(&timed.occupancy(&timed.setup, &launch)?);
        let report = TimedReport {
            schema: TimedReport::SCHEMA,
            file: self.file.clone(),
            kernel: kernel.demangled(),
            grid: grid.grid,
            block: grid.block,
            machine: options.machine.name.clone(),
            machine_title: options.machine.title.clone(),
            machine_sms: machine[Parameter::SmCount],
            scheduler: timed.setup.policy.to_string(),
            pick: pick_name(options.pick),
            set: timed.set(),
            tried,
            caches: match timed.setup.caches {
                Caches::Cold => "cold",
                Caches::Warm => "warm",
            },
            interlock: match options.interlock {
                Interlock::ControlWords => "control-words",
                Interlock::Scoreboard => "scoreboard",
            },
            cycles,
            clock_khz: clock,
            milliseconds: tables::ratio(cycles, clock),
            divergences: finished.counts.divergences.iter().sum(),
            checked_elements: compared.elements,
            notes: notes::notes(&prepared, &finished.counts),
            ipc: tables::ratio(issued.warp_instructions, cycles),
            ipc_active: statistics.ipc_active(),
            occupancy: statistics.occupancy(machine[Parameter::SmWarps], theoretical),
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
            assumptions: timed.assumptions(&finished.touched),
            spread,
            sensitivities,
        };
        Ok(TimedRun {
            report,
            memory,
            unexpected: compared.unexpected,
            events: events.map_or(Ok(()), Events::finish),
            timeline: timeline.map_or(Ok(()), Timeline::finish),
        })
    }

    /// Runs all blocks of a grid to their end, cycle by cycle, while somebody listens. Numbers without a slow end are
    /// typical at the slow and the fast end, where [`Session::run_timed`] tries them.
    ///
    /// # Errors
    ///
    /// As [`Session::run_timed`].
    pub fn time(
        &self,
        prepared: &Prepared<'_>,
        grid: &LaunchFile,
        options: &TimedOptions,
        listener: &mut impl EventListener,
    ) -> Result<TimedResult, Diagnostic> {
        let timed = Timed::new(self, prepared, grid, options)?;
        let (launch, mut memory) = timed.start()?;
        timed.run(&timed.setup, &launch, &mut memory, listener)
    }
}

/// A launch that is run with time, once or several times.
struct Timed<'a> {
    session: &'a Session,
    prepared: &'a Prepared<'a>,
    program: &'a nvidia::Program,
    grid: &'a LaunchFile,
    options: &'a TimedOptions,
    setup: Setup,
}

impl<'a> Timed<'a> {
    fn new(
        session: &'a Session,
        prepared: &'a Prepared<'a>,
        grid: &'a LaunchFile,
        options: &'a TimedOptions,
    ) -> Result<Timed<'a>, Diagnostic> {
        let Program::Nvidia(program) = &prepared.program else {
            let what = Diagnostic::new("mini-SIMT kernels do not run on machines for GPU kernels");
            return Err(session.locate(what.in_kernel(prepared.kernel.demangled())));
        };
        let name = &options.machine.name;
        let here = |d: Diagnostic| d.in_file(format!("machine {name} with other numbers"));
        let machine = with_set(options.machine.pick(options.pick), options).map_err(here)?;
        let setup = Setup {
            machine,
            policy: options.scheduler.unwrap_or(options.machine.choices.policy),
            interlock: options.interlock,
            caches: match options.caches.unwrap_or(grid.caches) {
                StartCaches::Cold => Caches::Cold,
                StartCaches::Warm => Caches::Warm,
            },
            registers: prepared.kernel.registers.into(),
        };
        Ok(Timed {
            session,
            prepared,
            program,
            grid,
            options,
            setup,
        })
    }

    /// The numbers that have other values than the machine's.
    fn set(&self) -> Vec<SetNumber> {
        let device = self.options.machine.pick(self.options.pick);
        let number = |parameter: Parameter| SetNumber {
            name: parameter.name().to_owned(),
            value: self.setup.machine[parameter],
            instead_of: device[parameter],
        };
        self.options.parameters_set().map(number).collect()
    }

    /// Whether a number has the value that was asked for, not one of the machine's.
    fn is_set(&self, parameter: Parameter) -> bool {
        self.options.parameters_set().any(|set| set == parameter)
    }

    /// The launch, and memory as it is at its start.
    fn start(&self) -> Result<(Launch, GlobalMemory), Diagnostic> {
        let most = self.options.max_instructions.unwrap_or(MOST_INSTRUCTIONS);
        self.session
            .start(self.prepared, self.grid, self.options.order, most)
    }

    /// How many blocks of the launch fit on an SM.
    fn occupancy(&self, setup: &Setup, launch: &Launch) -> Result<Occupancy, Diagnostic> {
        let found = occupancy::occupancy(&self.options.machine.name, launch, setup);
        found.map_err(|what| self.here(what))
    }

    /// Adds file and kernel to a diagnostic.
    fn here(&self, diagnostic: Diagnostic) -> Diagnostic {
        let diagnostic = diagnostic.in_kernel(self.prepared.kernel.demangled());
        self.session.locate(diagnostic)
    }

    /// Runs the launch on a machine.
    fn run(
        &self,
        setup: &Setup,
        launch: &Launch,
        memory: &mut GlobalMemory,
        listener: &mut impl EventListener,
    ) -> Result<TimedResult, Diagnostic> {
        self.occupancy(setup, launch)?;
        let code = &self.prepared.code;
        warpbound_simulate::timed::run(code, self.program, launch, setup, memory, listener)
            .map_err(|fault| self.here(self.prepared.fault(&fault)))
    }
}

/// All instructions together.
fn total(counts: &Counts) -> Issued {
    Issued {
        warp_instructions: counts.issued(),
        thread_instructions: counts.active.iter().sum(),
        executed_thread_instructions: counts.executed.iter().sum(),
    }
}

/// As it is typed.
fn pick_name(pick: Selection) -> String {
    match pick {
        Selection::Typical => "typical".to_owned(),
        Selection::Least => "lo".to_owned(),
        Selection::Most => "hi".to_owned(),
        Selection::Slow => "slow".to_owned(),
        Selection::Fast => "fast".to_owned(),
        Selection::Seed(seed) => format!("seed={seed}"),
    }
}

/// A machine with numbers that were asked for; refused where that is none.
fn with_set(mut machine: MachineConfig, options: &TimedOptions) -> Result<MachineConfig, Diagnostic> {
    if options.parameters_set().next().is_none() {
        return Ok(machine);
    }
    for &(parameter, value) in &options.set {
        machine = machine.with(parameter, value);
    }
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

/// A machine with another value of a number.
fn with(machine: &MachineConfig, parameter: Parameter, value: u64) -> MachineConfig {
    machine.clone().with(parameter, value)
}
