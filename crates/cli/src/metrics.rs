//! `warpbound metrics`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use warpbound_base::Diagnostic;
use warpbound_measure::memory_divergence;
use warpbound_query::LaunchFile;
use warpbound_query::Library;
use warpbound_report::metrics::{MetricsSet, RunMetrics};
use warpbound_report::to_json;
use warpbound_runs::RunOptions;

use crate::arguments::{Format, Input, OutputArguments};
use crate::common::{CommandError, launched_session, print};
use crate::output::Output;
use crate::stages::Stages;
use warpbound_query::input;

/// Arguments of `metrics`.
#[derive(Args)]
pub(crate) struct MetricsArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Launch file: grid, block, parameters; may be repeated, also for several kernels
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) launch: Vec<PathBuf>,
    /// Name of the kernel [default: the one that the launch file names, or the only one]
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Add tables by class, memory space, branch, source line and block
    #[arg(long)]
    pub(crate) stats: bool,
    /// Draw activity factors and memory intensities as bars
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print the times of the stages to standard error: parse, execute, analyse
    #[arg(long)]
    pub(crate) timing: bool,
    /// Limit of the warp instructions of a run [default: 1000000000]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) max_instructions: Option<u64>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Executes launches without timing and reports their metrics. Returns the exit code.
pub(crate) fn metrics(arguments: &MetricsArguments) -> Result<u8, CommandError> {
    let mut stages = Stages::new(arguments.timing);
    let library = input::library(&arguments.input.file)?;
    if library.is_text() {
        let message = "metrics are of GPU kernels, this is mini-SIMT";
        return Err(Diagnostic::new(message).in_file(library.name()).into());
    }
    // Opened before the runs, which may take long, so that an error shows early.
    let out = Output::open(arguments.output.output.as_deref())?;
    let mut runs = Vec::new();
    for path in &arguments.launch {
        let grid = input::grid(path)?;
        runs.push(measured(&library, arguments, &grid, &mut stages)?);
    }
    let set = MetricsSet::new(arguments.input.name(), runs);
    if let Some(path) = &arguments.svg {
        print(Output::open(Some(path))?, &set.svg())?;
    }
    let text = match arguments.format {
        Format::Text => set.text(arguments.stats),
        Format::Json => to_json(&set),
    };
    print(out, &text)?;
    stages.print();
    Ok(0)
}

/// Executes a launch and returns its metrics.
fn measured(
    library: &Library,
    arguments: &MetricsArguments,
    grid: &LaunchFile,
    stages: &mut Stages,
) -> Result<RunMetrics, CommandError> {
    let name = arguments.kernel.as_deref();
    let session = launched_session(library, &arguments.input, name, grid)?;
    let kernel = session.launched_kernel(name, grid.kernel.as_deref())?;
    let options = RunOptions {
        max_instructions: arguments.max_instructions,
        ..RunOptions::default()
    };
    let prepared = session.prepare_run(kernel)?;
    stages.end("parse");
    let run = warpbound_runs::execute_prepared(&session, &prepared, grid, &options, &mut |_| ())?;
    let run = run.as_expected()?;
    stages.end("execute");
    let mut metrics = run.metrics(&prepared, grid)?;
    stages.end("analyse");
    // A run of its own, because addresses do not follow from executions of blocks.
    metrics.memory_divergence = memory_divergence(&session, &prepared, grid, &options)?;
    stages.end("execute");
    Ok(RunMetrics {
        launch: grid.file.clone(),
        metrics,
    })
}
