//! `warpbound hybrid`.

use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{Args, value_parser};
use warpbound_base::{Diagnostic, Family};
use warpbound_measure::{HybridOptions, StampPlan, StampTimes, hybrid_of_stamps, hybrid_of_warps};
use warpbound_query::Kernel;
use warpbound_query::LaunchFile;
use warpbound_query::input;
use warpbound_query::{Library, Session, SplitOptions};
use warpbound_query::{SchedulerPolicy, Selection};
use warpbound_report::{HybridReport, WarpHybridReport, to_json};
use warpbound_runs::TimedOptions;

use crate::arguments::{FactsArguments, GraphFormat, Input, OutputArguments, SplitMerge};
use crate::common::{CommandError, NO_BOUND, VIOLATED, facts_options, launched_session, print};
use crate::output::Output;
use crate::progress::Progress;
use crate::run::split_marks;

/// Arguments of `hybrid`.
#[derive(Args)]
pub(crate) struct HybridArguments {
    #[command(flatten)]
    input: Input,
    /// Launch file; the first one is estimated, further ones supply times; may be repeated
    #[arg(long, value_name = "FILE", required_unless_present = "stamps")]
    launch: Vec<PathBuf>,
    /// Time stamps in the code that was measured, as `instrument --stamps` writes them: nothing is run
    #[arg(long, value_name = "FILE", requires = "times")]
    stamps: Option<PathBuf>,
    /// File of times that these stamps kept, in the NPY format; may be repeated, and the largest times count
    #[arg(long, value_name = "FILE", requires = "stamps")]
    times: Vec<PathBuf>,
    /// Name of the kernel [default: the one that the launch file names, or the only one]
    #[arg(long, value_name = "K")]
    kernel: Option<String>,
    /// Machine: a file, or the name of a built-in machine [default: the one that the code is for]
    #[arg(long, value_name = "M")]
    machine: Option<String>,
    #[command(flatten)]
    facts: FactsArguments,
    /// Numbers of reserve slots of a wave; each number has results of its own
    #[arg(long, value_name = "S,...", value_delimiter = ',', default_value = "0,1,2,3", value_parser = value_parser!(u32).range(0..=SplitOptions::MAX_SPLITS))]
    splits: Vec<u32>,
    /// Branches where waves split: all that may split (all), branches that find bit 21 of MODE set (mode), or the branches
    /// that a marks file names [default: mode if the code writes this bit, else all]
    #[arg(long, value_name = "all|mode|FILE")]
    marks: Option<String>,
    /// Merging of splits into one wave: never (none), or where the sides of their branch join (join) [default: none]
    #[arg(long, value_enum)]
    merge: Option<SplitMerge>,
    /// Number of further runs of each launch with random contents of its buffers, which supply times as well
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = RangedU64ValueParser::<u64>::new().range(0..=10_000))]
    contents: u64,
    /// Do not run with serialised pipelines
    #[arg(long)]
    parallel_only: bool,
    /// Selection of the machine's parameters, each within its range [default: typical]
    #[arg(long = "select", visible_alias = "pick", value_name = "VALUES", value_parser = value_parser!(Selection))]
    selection: Option<Selection>,
    /// Policy of the schedulers [default: the one of the machine]
    #[arg(long, value_name = "POLICY", value_parser = value_parser!(SchedulerPolicy))]
    scheduler: Option<SchedulerPolicy>,
    /// Limit of the warp instructions of a run [default: 1000000000]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    max_instructions: Option<u64>,
    /// Output format; dot and svg draw the instrumentation points
    #[arg(long, value_enum, default_value_t)]
    format: GraphFormat,
    #[command(flatten)]
    output: OutputArguments,
}

/// Estimates the time of a kernel from observed times of its parts. Returns the exit code.
pub(crate) fn hybrid(arguments: &HybridArguments) -> Result<u8, CommandError> {
    let HybridArguments {
        input,
        launch,
        kernel,
        machine,
        facts,
        splits,
        marks,
        merge,
        contents,
        parallel_only,
        selection,
        scheduler,
        max_instructions,
        format,
        output,
        stamps,
        times: _,
    } = arguments;
    let library = input::library(&input.file)?;
    if library.is_text() {
        let message = "a hybrid analysis is for GPU kernels, this is mini-SIMT";
        return Err(Diagnostic::new(message).in_file(library.name()).into());
    }
    let facts = facts_options(&library, facts)?;
    let launches = launch
        .iter()
        .map(|path| input::grid(path))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(stamps) = stamps {
        return of_stamps(arguments, &library, stamps, launches.first());
    }
    let Some(target) = launches.first() else {
        return Err(CommandError::Usage("--launch is missing".to_owned()));
    };
    let name = kernel.as_deref();
    let session = launched_session(&library, input, name, target)?;
    let kernel = session.launched_kernel(name, target.kernel.as_deref())?;
    let machine = match machine {
        Some(name) => input::gpu_model(name)?,
        None => session.own_gpu_model()?,
    };
    let options = HybridOptions {
        splits: splits.clone(),
        contents: *contents,
        serialised: !parallel_only,
        facts: facts.facts,
        loop_default: facts.loop_default,
        ..HybridOptions::new(TimedOptions {
            scheduler: *scheduler,
            selection: selection.unwrap_or_default(),
            splitting: SplitOptions {
                marks: split_marks(marks.as_deref())?,
                merge: matches!(merge, Some(SplitMerge::Join)),
                ..SplitOptions::default()
            },
            max_instructions: *max_instructions,
            ..TimedOptions::new(machine)
        })
    };
    match session.family() {
        Some(Family::Maxwell) => return of_warps(arguments, &session, kernel, &launches, &options),
        Some(Family::Volta | Family::Gcn3 | Family::MiniSimt) | None => {}
    }
    // Opened before the runs, which may take long, so that an error shows early.
    let out = Output::open(output.output.as_deref())?;
    let mut progress = Progress::new();
    let show = |done, all| progress.runs(done, all);
    let report = warpbound_measure::hybrid(&session, kernel, &launches, &options, show);
    progress.clear();
    let report = report?;
    let text = match format {
        GraphFormat::Text => report.text(),
        GraphFormat::Json => to_json(&report),
        GraphFormat::Dot => report.dot(),
        GraphFormat::Svg => report.svg(),
    };
    print(out, &text)?;
    Ok(code(&report))
}

/// Estimates the time of a warp on an NVIDIA GPU. Returns the exit code.
fn of_warps(
    arguments: &HybridArguments,
    session: &Session,
    kernel: &Kernel,
    launches: &[LaunchFile],
    options: &HybridOptions,
) -> Result<u8, CommandError> {
    let of_waves = [
        ("--marks", arguments.marks.is_some()),
        ("--merge", arguments.merge.is_some()),
        ("--contents", arguments.contents > 0),
        ("--parallel-only", arguments.parallel_only),
    ];
    if let Some((option, _)) = of_waves.iter().find(|(_, given)| *given) {
        let message = format!("{option} is for waves of GCN3, and this is code for an NVIDIA GPU");
        return Err(Diagnostic::new(message).in_file(session.name()).into());
    }
    let out = Output::open(arguments.output.output.as_deref())?;
    let mut progress = Progress::new();
    let show = |done, all| progress.runs(done, all);
    let report = hybrid_of_warps(session, kernel, launches, options, show);
    progress.clear();
    let report = report?;
    write_estimate(arguments, session, out, &report)
}

/// Estimates the time of a thread from times that stamps in the code have kept. Returns the exit code.
fn of_stamps(
    arguments: &HybridArguments,
    library: &Library,
    stamps: &Path,
    launch: Option<&LaunchFile>,
) -> Result<u8, CommandError> {
    let in_file = |path: &Path| {
        let name = path.display().to_string();
        move |diagnostic: Diagnostic| diagnostic.in_file(name)
    };
    let plan = StampPlan::from_json(&input::text(stamps)?).map_err(Diagnostic::new);
    let plan = plan.map_err(in_file(stamps))?;
    let mut all: Option<StampTimes> = None;
    for path in &arguments.times {
        let times = StampTimes::from_npy(&input::contents(path)?, &plan);
        let times = times.map_err(in_file(path))?;
        match &mut all {
            None => all = Some(times),
            // Each file has the largest times of some runs, so the largest of all files counts.
            Some(all) => all.join(&times),
        }
    }
    let Some(times) = all else {
        return Err(CommandError::Usage("--times is missing".to_owned()));
    };
    let images = crate::common::select(library, &arguments.input)?;
    let (session, _) = library.only_kernel(&images, &plan.kernel)?;
    let kernel = session.launched_kernel(Some(&plan.kernel), None)?;
    let facts = facts_options(library, &arguments.facts)?;
    let machine = match &arguments.machine {
        Some(name) => input::gpu_model(name)?,
        None => session.own_gpu_model()?,
    };
    let options = HybridOptions {
        facts: facts.facts,
        loop_default: facts.loop_default,
        ..HybridOptions::new(TimedOptions::new(machine))
    };
    let out = Output::open(arguments.output.output.as_deref())?;
    let report = hybrid_of_stamps(&session, kernel, &plan, &times, launch, &options)?;
    write_estimate(arguments, &session, out, &report)
}

/// Writes an estimate for warps or threads. Returns the exit code.
fn write_estimate(
    arguments: &HybridArguments,
    session: &Session,
    out: Output,
    report: &WarpHybridReport,
) -> Result<u8, CommandError> {
    let text = match arguments.format {
        GraphFormat::Text => report.text(),
        GraphFormat::Json => to_json(report),
        GraphFormat::Dot | GraphFormat::Svg => {
            let message = "dot and svg draw the points of waves of GCN3";
            return Err(Diagnostic::new(message).in_file(session.name()).into());
        }
    };
    print(out, &text)?;
    if report.is_exceeded() {
        Ok(VIOLATED)
    } else if report.estimate.is_none() {
        Ok(NO_BOUND)
    } else {
        Ok(0)
    }
}

/// Returns the exit code. A run that exceeds its estimate takes precedence over a missing estimate.
fn code(report: &HybridReport) -> u8 {
    if report.exceeded().is_some() {
        VIOLATED
    } else if report.splits.iter().any(|of| of.parallel.is_none()) {
        NO_BOUND
    } else {
        0
    }
}
