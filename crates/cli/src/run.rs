//! `warpbound run`.

use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{Args, value_parser};
use warpbound_base::Diagnostic;
use warpbound_measure::MeasuredCounts;
use warpbound_query::SplitPipelines;
use warpbound_query::{LaunchFile, PathOrder, StartCaches};
use warpbound_query::{Library, Session, SplitMarks, SplitOptions};
use warpbound_query::{SchedulerPolicy, Selection};
use warpbound_report::to_json;
use warpbound_runs::{Interlock, SingleWarp, execute_prepared, simulate};
use warpbound_runs::{Override, RunHooks, RunOptions, RunProgress, TimedOptions};

use crate::arguments::{
    Format, Input, OutputArguments, OutputFormat, PageFormat, ShardArguments, SplitMerge,
};
use crate::common::{CommandError, launched_session, print};
use crate::output::Output;
use crate::progress::Progress;
use crate::rows::only_launch;
use crate::run_rows::run_rows;
use crate::run_set::run_set;
use crate::values::{named, parameter_override, single_warp};
use warpbound_query::input::{self, Launches};

/// Arguments of `run`.
#[derive(Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Name of the kernel [default: the one that the launch file names]
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Launch file: threads or grid, parameters, data; or a launch set. May be repeated for --format jsonl and parquet
    #[arg(id = "launch", long, value_name = "FILE", required = true)]
    pub(crate) launches: Vec<PathBuf>,
    /// Machine: a file, or the name of a built-in machine [default: the one that the launch file names, or the one that the code is for]
    #[arg(long, value_name = "M")]
    pub(crate) machine: Option<String>,
    /// Execute a GPU kernel without timing: results, faults and instruction counts
    #[arg(long, conflicts_with_all = ["machine", "scheduler", "selection", "set", "caches", "interlock", "only_warp", "splits", "pipelines", "marks", "merge", "sensitivities", "timeline", "events", "trace", "max_cycles"])]
    pub(crate) functional: bool,
    /// Add tables: cycles by SM, line and instruction; with --functional, counts by class, opcode, branch, memory and
    /// line
    #[arg(long, help_heading = "GPU kernels")]
    pub(crate) stats: bool,
    /// With --functional: write the executions of each instruction as CSV, which `audit --counts` reads
    #[arg(
        long,
        value_name = "FILE",
        requires = "functional",
        help_heading = "GPU kernels"
    )]
    pub(crate) counts: Option<PathBuf>,
    /// With --functional, on AMD's GPUs: note reads of undefined registers, and instructions without the wait states that
    /// they need
    #[arg(long, help_heading = "GPU kernels")]
    pub(crate) checks: bool,
    /// Limit of the warp instructions [default: 1000000000]
    #[arg(long, value_name = "N", help_heading = "GPU kernels", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) max_instructions: Option<u64>,
    /// Number of host threads for --sensitivities and, with --functional, for blocks; it does not change the output
    /// [default: 1]
    #[arg(long, value_name = "N", help_heading = "GPU kernels", value_parser = RangedU64ValueParser::<u64>::new().range(1..=1024))]
    pub(crate) threads: Option<u64>,
    /// Lanes that continue first after a divergent branch: the lanes that take it, as observed on GPUs, or the lanes that
    /// fall through [default: taken-first]
    #[arg(long, value_parser = named::<PathOrder>(), help_heading = "GPU kernels")]
    pub(crate) order: Option<PathOrder>,
    /// Policy that selects among ready warps [default: the one of the machine]: loose round robin (lrr), greedy then
    /// oldest (gto), oldest, youngest, random:SEED, a warp whose unit most other warps need (contended-unit), or the
    /// same warp until it ends or waits at a barrier (run-to-barrier)
    #[arg(long, value_name = "SCHEDULER", value_parser = value_parser!(SchedulerPolicy), help_heading = "Timed simulation of GPU kernels")]
    pub(crate) scheduler: Option<SchedulerPolicy>,
    /// Selection of the machine's parameters, each within its range: typical, slow or fast (the slow or fast end of
    /// each), lo or hi (the lower or upper end of each), or seed=N (random) [default: typical]. For parameters without
    /// a slow end, such as cache sizes, slow and fast search the values if runs are short. lo and hi are not the
    /// fastest and the slowest run: for some parameters more is faster
    #[arg(long = "select", visible_alias = "pick", value_name = "VALUES", value_parser = value_parser!(Selection), help_heading = "Timed simulation of GPU kernels")]
    pub(crate) selection: Option<Selection>,
    /// Set a parameter of the machine, named as in machine files: shared.latency=30; may be repeated. A name of older
    /// machine files that stands for a sum is accepted: dram.latency is l2.hit and dram.beyond_l2
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter_override, help_heading = "Timed simulation of GPU kernels")]
    pub(crate) set: Vec<Override>,
    /// L2 cache at the start: empty (cold), or holding buffers, constants and code (warm) [default: as the
    /// launch file says, else cold]
    #[arg(long, value_parser = named::<StartCaches>(), help_heading = "Timed simulation of GPU kernels")]
    pub(crate) caches: Option<StartCaches>,
    /// Mechanism that delays dependent instructions: control words, as on the GPU, or a scoreboard of all registers
    /// [default: control-words]
    #[arg(long, value_parser = named::<Interlock>(), help_heading = "Timed simulation of GPU kernels")]
    pub(crate) interlock: Option<Interlock>,
    /// Run one warp alone, such as 3.1: warp 1 of the block with linear index 3. No other block starts, and the other
    /// warps of the block have exited before it begins
    #[arg(long, value_name = "BLOCK.WARP", value_parser = single_warp, help_heading = "Timed simulation of GPU kernels")]
    pub(crate) only_warp: Option<SingleWarp>,
    /// Split waves of GCN3 at branches on EXEC: the maximum number of splits of a wave that live at the same time, without
    /// the wave itself [default: 0]
    #[arg(long, value_name = "S", value_parser = value_parser!(u32).range(0..=SplitOptions::MAX_SPLITS), help_heading = "Splitting of waves")]
    pub(crate) splits: Option<u32>,
    /// Pipelines that splits use: a further one for each split (parallel), or the pipelines of all waves (serialised)
    /// [default: parallel]
    #[arg(long, value_parser = named::<SplitPipelines>(), help_heading = "Splitting of waves")]
    pub(crate) pipelines: Option<SplitPipelines>,
    /// Branches where waves split: all that may split (all), branches that find bit 21 of MODE set (mode), or the branches
    /// that a marks file names [default: mode if the code writes this bit, else all]
    #[arg(
        long,
        value_name = "all|mode|FILE",
        help_heading = "Splitting of waves"
    )]
    pub(crate) marks: Option<String>,
    /// Merging of splits into one wave: never (none), or where the sides of their branch join (join) [default: none]
    #[arg(long, value_enum, help_heading = "Splitting of waves")]
    pub(crate) merge: Option<SplitMerge>,
    /// Repeat the simulation with both ends of each parameter's range, and report the changes of the cycles
    #[arg(long, help_heading = "Timed simulation of GPU kernels")]
    pub(crate) sensitivities: bool,
    /// Write a timeline for ui.perfetto.dev; one microsecond there stands for one cycle
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Timed simulation of GPU kernels"
    )]
    pub(crate) timeline: Option<PathBuf>,
    /// Write the events as JSON lines
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Timed simulation of GPU kernels"
    )]
    pub(crate) events: Option<PathBuf>,
    /// Print a line per cycle: cycle number, address, instruction, lanes
    #[arg(long, help_heading = "mini-SIMT kernels")]
    pub(crate) trace: bool,
    /// Limit of the cycles [default: 100000000]
    #[arg(long, value_name = "N", help_heading = "mini-SIMT kernels", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) max_cycles: Option<u64>,
    /// Output format. HTML, for one launch of a GPU kernel, has all that --stats adds; JSON lines and Parquet have a
    /// row for each launch, and no output files of launches are written
    #[arg(long, value_enum, default_value_t, conflicts_with = "trace")]
    pub(crate) format: OutputFormat,
    #[command(flatten)]
    pub(crate) shard: ShardArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Simulates or executes a launch. Returns the exit code.
pub(crate) fn run(arguments: &RunArguments) -> Result<u8, CommandError> {
    let library = input::library(&arguments.input.file)?;
    if arguments.functional {
        if library.is_text() {
            return Err(
                Diagnostic::new("mini-SIMT kernels have no untimed execution")
                    .in_file(library.name())
                    .hint("omit --functional")
                    .into(),
            );
        }
        let format = match arguments.format.report_or_rows() {
            Ok(format) => format,
            Err(rows) => return run_rows(&library, arguments, rows),
        };
        let path = only_launch(&arguments.launches, arguments.shard.shard)?;
        return match input::launches(path)? {
            Launches::One(grid) => run_functional(&library, arguments, path, &grid, format),
            Launches::Set(set) if arguments.counts.is_some() => {
                let message = "--counts is for one launch, this is a launch set";
                Err(Diagnostic::new(message).in_file(set.file.as_str()).into())
            }
            Launches::Set(set) => run_set(&library, arguments, path, &set, format),
        };
    }
    let file = arguments.input.name();
    check_options(arguments, library.is_text()).map_err(|d| d.in_file(file))?;
    let format = match arguments.format.report_or_rows() {
        Ok(format) => format,
        Err(rows) => return run_rows(&library, arguments, rows),
    };
    let path = only_launch(&arguments.launches, arguments.shard.shard)?;
    if library.is_text() {
        return run_mini(&library, arguments, path, format);
    }
    match input::launches(path)? {
        Launches::One(grid) => run_timed(&library, arguments, path, &grid, format),
        Launches::Set(set) => run_set(&library, arguments, path, &set, format),
    }
}

/// Refuses options that do not apply to a kernel of this kind, and options that contradict each other.
fn check_options(arguments: &RunArguments, is_mini: bool) -> Result<(), Diagnostic> {
    // Every field is named, so that a new option cannot be forgotten here.
    let RunArguments {
        functional: _,
        input: _,
        kernel: _,
        launches: _,
        machine: _,
        format: _,
        shard: _,
        output: _,
        stats,
        counts: _,
        checks,
        max_instructions,
        threads,
        order,
        scheduler,
        selection: pick,
        set,
        caches,
        interlock,
        only_warp,
        splits,
        pipelines,
        marks,
        merge,
        sensitivities,
        timeline,
        events,
        trace,
        max_cycles,
    } = arguments;
    let of_gpus = [
        ("--stats", *stats),
        ("--checks", *checks),
        ("--max-instructions", max_instructions.is_some()),
        ("--threads", threads.is_some()),
        ("--order", order.is_some()),
        ("--scheduler", scheduler.is_some()),
        ("--select", pick.is_some()),
        ("--set", !set.is_empty()),
        ("--caches", caches.is_some()),
        ("--interlock", interlock.is_some()),
        ("--only-warp", only_warp.is_some()),
        ("--splits", splits.is_some()),
        ("--pipelines", pipelines.is_some()),
        ("--marks", marks.is_some()),
        ("--merge", merge.is_some()),
        ("--sensitivities", *sensitivities),
        ("--timeline", timeline.is_some()),
        ("--events", events.is_some()),
    ];
    if *checks && !is_mini {
        let message = "--checks is for runs without time";
        return Err(Diagnostic::new(message).hint("add --functional"));
    }
    let of_mini = [
        ("--trace", *trace, "--events writes the events of a GPU"),
        (
            "--max-cycles",
            max_cycles.is_some(),
            "--max-instructions ends a run on a GPU",
        ),
    ];
    if is_mini {
        return match of_gpus.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Diagnostic::new(format!(
                "{option} is for GPU kernels, this is mini-SIMT"
            ))),
            None => Ok(()),
        };
    }
    if let Some((option, _, instead)) = of_mini.iter().find(|(_, given, _)| *given) {
        let message = format!("{option} is for mini-SIMT, this is machine code of a GPU");
        return Err(Diagnostic::new(message).hint(*instead));
    }
    check_splits(arguments)?;
    check_files(arguments)?;
    Override::check_distinct(set)
}

/// Refuses options of splitting without --splits.
fn check_splits(arguments: &RunArguments) -> Result<(), Diagnostic> {
    let of_splits = [
        ("--pipelines", arguments.pipelines.is_some()),
        ("--marks", arguments.marks.is_some()),
        ("--merge", arguments.merge.is_some()),
    ];
    match of_splits.iter().find(|(_, given)| *given) {
        Some((option, _)) if arguments.splits.is_none() => {
            Err(Diagnostic::new(format!("{option} needs --splits")))
        }
        _ => Ok(()),
    }
}

/// Refuses options that name the same file.
fn check_files(arguments: &RunArguments) -> Result<(), Diagnostic> {
    let files = [
        ("--output", &arguments.output.output),
        ("--timeline", &arguments.timeline),
        ("--events", &arguments.events),
    ];
    for (nth, (option, file)) in files.iter().enumerate() {
        let other = files[..nth].iter().find(|(_, other)| other == file);
        if let (Some((other, _)), Some(_)) = (other, file) {
            let message = format!("{other} and {option} name the same file");
            return Err(Diagnostic::new(message));
        }
    }
    Ok(())
}

/// Returns the options for an execution without time.
pub(crate) fn run_options(arguments: &RunArguments) -> RunOptions {
    RunOptions {
        max_instructions: arguments.max_instructions,
        order: arguments.order.unwrap_or_default(),
        threads: threads(arguments),
        checks: arguments.checks,
    }
}

/// Returns the options for a simulation with time.
pub(crate) fn timed_options(
    arguments: &RunArguments,
    session: &Session,
) -> Result<TimedOptions, Diagnostic> {
    let machine = match &arguments.machine {
        Some(name) => input::gpu_model(name)?,
        None => session.own_gpu_model()?,
    };
    let options = TimedOptions {
        scheduler: arguments.scheduler,
        selection: arguments.selection.unwrap_or_default(),
        caches: arguments.caches,
        splitting: split_options(arguments)?,
        interlock: arguments.interlock.unwrap_or_default(),
        only: arguments.only_warp,
        max_instructions: arguments.max_instructions,
        order: arguments.order.unwrap_or_default(),
        sensitivities: arguments.sensitivities,
        spread: true,
        threads: threads(arguments),
        ..TimedOptions::new(machine)
    };
    Ok(options.with_overrides(&arguments.set))
}

/// Returns the options of splitting.
fn split_options(arguments: &RunArguments) -> Result<SplitOptions, Diagnostic> {
    Ok(SplitOptions {
        splits: arguments.splits.unwrap_or(0),
        pipelines: arguments.pipelines.unwrap_or_default(),
        marks: split_marks(arguments.marks.as_deref())?,
        merge: matches!(arguments.merge, Some(SplitMerge::Join)),
    })
}

/// Returns the marks that an option selects.
pub(crate) fn split_marks(marks: Option<&str>) -> Result<SplitMarks, Diagnostic> {
    Ok(match marks {
        None => SplitMarks::Own,
        Some("all") => SplitMarks::All,
        Some("mode") => SplitMarks::Mode,
        Some(file) => SplitMarks::At(input::marks(file)?),
    })
}

/// Returns the number of host threads.
fn threads(arguments: &RunArguments) -> NonZero<usize> {
    let threads = arguments.threads.and_then(|n| usize::try_from(n).ok());
    threads
        .and_then(NonZero::new)
        .unwrap_or(NonZero::<usize>::MIN)
}

/// Returns the number of blocks of a launch.
fn blocks(grid: &LaunchFile) -> u64 {
    grid.grid.iter().map(|&n| u64::from(n)).product()
}

/// Executes a launch of a grid without timing.
fn run_functional(
    library: &Library,
    arguments: &RunArguments,
    path: &Path,
    grid: &LaunchFile,
    format: PageFormat,
) -> Result<u8, CommandError> {
    let name = arguments.kernel.as_deref();
    let session = launched_session(library, &arguments.input, name, grid)?;
    let kernel = session.launched_kernel(name, grid.kernel.as_deref())?;
    let out = Output::open(arguments.output.output.as_deref())?;
    let open_outputs = outputs(path, grid)?;
    let mut progress = Progress::new();
    let all = blocks(grid);
    let prepared = session.prepare_run(kernel)?;
    let run = execute_prepared(
        &session,
        &prepared,
        grid,
        &run_options(arguments),
        &mut |done| {
            progress.blocks(done, all);
        },
    );
    progress.clear();
    let run = run?;
    write_outputs(open_outputs, run.outputs(grid))?;
    if let Some(path) = &arguments.counts {
        print(
            Output::open(Some(path))?,
            &MeasuredCounts::of_run(&prepared, &run.counts),
        )?;
    }
    // The outputs are written even if they differ from the expected values, so that the user can inspect them.
    if let Some(diagnostic) = run.unexpected {
        return Err(diagnostic.into());
    }
    let text = match format {
        PageFormat::Text => run.report.text(arguments.stats),
        PageFormat::Json => to_json(&run.report),
        PageFormat::Html => run.report.html(),
    };
    print(out, &text)?;
    Ok(0)
}

/// Simulates a launch of a grid with timing.
fn run_timed(
    library: &Library,
    arguments: &RunArguments,
    path: &Path,
    grid: &LaunchFile,
    format: PageFormat,
) -> Result<u8, CommandError> {
    let name = arguments.kernel.as_deref();
    let session = launched_session(library, &arguments.input, name, grid)?;
    let kernel = session.launched_kernel(name, grid.kernel.as_deref())?;
    let options = timed_options(arguments, &session)?;
    // Output files are opened before the simulation, which may take long, so that an error shows early.
    let out = Output::open(arguments.output.output.as_deref())?;
    let outputs = outputs(path, grid)?;
    let mut events = open_side_file(arguments.events.as_deref())?;
    let mut timeline = open_side_file(arguments.timeline.as_deref())?;
    let mut progress = Progress::new();
    // With one warp, no other block starts.
    let all = arguments.only_warp.map_or(blocks(grid), |_| 1);
    let hooks = RunHooks {
        events: events.as_mut().map(|out| out as &mut dyn Write),
        timeline: timeline.as_mut().map(|out| out as &mut dyn Write),
        progress: &mut |step| match step {
            RunProgress::Blocks(done) => progress.blocks(done, all),
            RunProgress::Runs { done, all } => progress.runs(done as u64, all as u64),
        },
    };
    let run = simulate(&session, kernel, grid, &options, hooks);
    progress.clear();
    let run = run?;
    write_outputs(outputs, run.outputs(grid))?;
    for (file, written) in [(events, run.events), (timeline, run.timeline)] {
        if let Some(out) = file {
            written.and_then(|()| out.finish())?;
        }
    }
    // These files are written even if the outputs differ from the expected values, so that the user can inspect them.
    if let Some(diagnostic) = run.unexpected {
        return Err(diagnostic.into());
    }
    let text = match format {
        PageFormat::Text => run.report.text(arguments.stats),
        PageFormat::Json => to_json(&run.report),
        PageFormat::Html => run.report.html(),
    };
    print(out, &text)?;
    Ok(0)
}

/// Returns the format of a report on a kind of run that has no pages.
pub(crate) fn format_without_pages(format: PageFormat, run: &str) -> Result<Format, CommandError> {
    match format {
        PageFormat::Text => Ok(Format::Text),
        PageFormat::Json => Ok(Format::Json),
        PageFormat::Html => Err(CommandError::Usage(format!(
            "--format html is for one launch of a GPU kernel, this is {run}"
        ))),
    }
}

/// Opens a file that is written during the simulation.
fn open_side_file(path: Option<&Path>) -> io::Result<Option<Output>> {
    path.map(Output::file).transpose()
}

/// Opens the output files of a launch, relative to the folder of the launch file.
pub(crate) fn outputs(launch: &Path, grid: &LaunchFile) -> io::Result<Vec<Output>> {
    let folder = launch.parent().unwrap_or(Path::new(""));
    let buffers = grid.buffers().map(|(_, buffer)| buffer);
    let all = buffers.chain(grid.variables.iter().map(|variable| &variable.buffer));
    let names = all.filter_map(|buffer| buffer.output.as_deref());
    names.map(|name| Output::file(&folder.join(name))).collect()
}

/// Writes the output files of a launch.
pub(crate) fn write_outputs<'a>(
    files: Vec<Output>,
    contents: impl Iterator<Item = (&'a str, Vec<u8>)>,
) -> io::Result<()> {
    for (mut out, (_, contents)) in files.into_iter().zip(contents) {
        out.write_all(&contents)?;
        out.finish()?;
    }
    Ok(())
}

/// Runs a mini-SIMT kernel.
fn run_mini(
    library: &Library,
    arguments: &RunArguments,
    path: &Path,
    format: PageFormat,
) -> Result<u8, CommandError> {
    let RunArguments {
        input,
        kernel: name,
        machine,
        trace,
        max_cycles,
        output,
        ..
    } = arguments;
    let format = format_without_pages(format, "a mini-SIMT kernel")?;
    let (launch, machine) = input::launch(path, machine.as_deref())?;
    let session = library.only_session(&input.selection())?;
    let kernel = session.launched_kernel(name.as_deref(), launch.kernel.as_deref())?;
    let mut out = Output::open(output.output.as_deref())?;
    let mut failure = None;
    let mut print = |line: &str| {
        // Later lines would fail as well; the first error is the cause.
        if failure.is_none() {
            failure = writeln!(out, "{line}").err();
        }
    };
    let tracer: Option<&mut dyn FnMut(&str)> = if *trace { Some(&mut print) } else { None };
    let done = warpbound_runs::run_mini(&session, kernel, &launch, &machine, *max_cycles, tracer);
    if let Some(error) = failure {
        return Err(error.into());
    }
    match done {
        Ok(report) => match format {
            // The trace is the output.
            _ if *trace => {}
            Format::Text => out.write_all(report.text().as_bytes())?,
            Format::Json => out.write_all(to_json(&report).as_bytes())?,
        },
        Err(diagnostic) => {
            // The trace up to the fault helps the user to find its cause.
            out.flush()?;
            return Err(diagnostic.into());
        }
    }
    out.finish()?;
    Ok(0)
}
