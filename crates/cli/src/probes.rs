//! `warpbound probes` and `warpbound decode`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use warpbound_base::Diagnostic;
use warpbound_measure::probes::{
    ProbeCounters, ProbeMetric, ProbeOptions, ProbePlan, ProbedBlocks,
};
use warpbound_measure::{PredictOptions, decoded, probe_plan};
use warpbound_query::{BoundOptions, Contents};
use warpbound_report::to_json;

use crate::arguments::{Format, Input, LaunchArguments, OutputArguments, QueryArguments};
use crate::common::{CommandError, print};
use crate::kernels;
use crate::launches::launch_options;
use crate::output::Output;
use crate::stages::Stages;
use crate::values::named;
use warpbound_query::input;

/// Rule by which blocks get probes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Blocks {
    /// Each block
    All,
    /// Blocks on the sides of branches that depend on the thread index
    Tainted,
    /// The cheapest set of probes that determines all wanted counts
    Plan,
}

impl From<Blocks> for ProbedBlocks {
    fn from(blocks: Blocks) -> ProbedBlocks {
        match blocks {
            Blocks::All => ProbedBlocks::All,
            Blocks::Tainted => ProbedBlocks::Tainted,
            Blocks::Plan => ProbedBlocks::Plan,
        }
    }
}

/// Counts that are wanted.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Metric {
    /// Issues and lanes of each block
    Counts,
    /// Instructions times issues and lanes: the activity factor
    Activity,
    /// Accesses of global memory, and instructions: the memory intensity
    Memory,
}

impl From<Metric> for ProbeMetric {
    fn from(metric: Metric) -> ProbeMetric {
        match metric {
            Metric::Counts => ProbeMetric::Counts,
            Metric::Activity => ProbeMetric::Activity,
            Metric::Memory => ProbeMetric::Memory,
        }
    }
}

/// Arguments of `probes`.
#[derive(Args)]
pub(crate) struct ProbesArguments {
    #[command(flatten)]
    query: QueryArguments,
    /// Wanted counts, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "counts")]
    metrics: Vec<Metric>,
    /// Blocks that get probes
    #[arg(long, value_enum, default_value = "plan")]
    blocks: Blocks,
    /// Give each probe a counter of its own, although sums over several probes would suffice
    #[arg(long)]
    each: bool,
    /// Contents of buffers that a prediction may use: none (any), or the contents of the launch's buffers that the kernel
    /// does not write (as-given)
    #[arg(long, value_name = "C", value_parser = named::<Contents>(), requires = "launch")]
    contents: Option<Contents>,
    /// Print the times of the stages to standard error
    #[arg(long)]
    timing: bool,
    /// Also write the plan of the only kernel, for `instrument` and `decode`
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(flatten)]
    launch: LaunchArguments,
}

/// Arguments of `decode`.
#[derive(Args)]
pub(crate) struct DecodeArguments {
    #[command(flatten)]
    input: Input,
    /// Plan of the probes, as `probes --write` makes it
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Values of the counters: a .csv with lines ADDRESS,QUANTITY,VALUE, or a .npy with the digest of the plan and the values
    #[arg(long, value_name = "FILE")]
    counters: PathBuf,
    /// Launch that was measured, if the plan is not for a single launch
    #[arg(long, value_name = "FILE")]
    launch: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    output: OutputArguments,
}

/// Reports plans of probes. Returns the exit code.
pub(crate) fn probes(arguments: &ProbesArguments) -> Result<u8, CommandError> {
    let mut stages = Stages::new(arguments.timing);
    let library = input::library(&arguments.query.input.file)?;
    let bound = launch_options(&library, &arguments.launch, BoundOptions::default())?;
    let options = ProbeOptions {
        launch: bound.launches.only_file().map(|file| file.clone().into()),
        bound,
        rule: arguments.blocks.into(),
        metrics: arguments.metrics.iter().copied().map(Into::into).collect(),
        each: arguments.each,
        predict: PredictOptions {
            contents: arguments.contents.unwrap_or(Contents::Any),
            ..PredictOptions::default()
        },
    };
    let mut plans = Vec::new();
    stages.end("parse");
    let code = kernels::report(
        &library,
        &arguments.query,
        &options.bound,
        |session, kernel| probe_plan(session, kernel, &options),
        |plan| {
            if arguments.write.is_some() {
                plans.push(to_json(plan));
            }
        },
    )?;
    stages.end("analyse");
    stages.print();
    if let Some(path) = &arguments.write {
        let [plan] = plans.as_slice() else {
            let message = format!("a plan is for one kernel, here are {}", plans.len());
            return Err(Diagnostic::new(message).hint("choose with --kernel").into());
        };
        let mut out = Output::open(Some(path))?;
        out.write_all(plan.as_bytes())?;
        out.finish()?;
    }
    Ok(code)
}

/// Reconstructs counts from counters. Returns the exit code.
pub(crate) fn decode(arguments: &DecodeArguments) -> Result<u8, CommandError> {
    let in_file = |path: &Path| {
        let name = path.display().to_string();
        move |diagnostic: Diagnostic| diagnostic.in_file(name)
    };
    let plan = ProbePlan::from_json(&input::text(&arguments.plan)?);
    let plan = plan
        .map_err(Diagnostic::new)
        .map_err(in_file(&arguments.plan))?;
    let is_npy = arguments
        .counters
        .extension()
        .is_some_and(|extension| extension == "npy");
    let counters = match is_npy {
        true => ProbeCounters::from_npy(&input::contents(&arguments.counters)?),
        false => ProbeCounters::from_csv(&input::text(&arguments.counters)?),
    };
    let counters = counters.map_err(in_file(&arguments.counters))?;
    let launch = arguments.launch.as_deref().map(input::grid).transpose()?;
    let library = input::library(&arguments.input.file)?;
    let images = crate::common::select(&library, &arguments.input)?;
    // The plan names its kernel, so there is no option for it.
    let (session, _) = library.only_kernel(&images, &plan.kernel)?;
    let kernel = session.launched_kernel(Some(&plan.kernel), None)?;
    let report = decoded(&session, kernel, &plan, &counters, launch.as_ref())?;
    let text = match arguments.format {
        Format::Text => report.to_text(),
        Format::Json => to_json(&report),
    };
    let out = Output::open(arguments.output.output.as_deref())?;
    print(out, &text)?;
    Ok(0)
}
