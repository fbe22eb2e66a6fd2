//! `warpbound predict`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use warpbound_base::{Deadline, Diagnostic};
use warpbound_measure::{PredictOptions, computation_tree, count_formula_report, predict_report};
use warpbound_query::Contents;
use warpbound_report::to_json;

use crate::arguments::{Input, OutputArguments};
use crate::common::{CommandError, NO_BOUND, launched_session, print};
use crate::output::Output;
use crate::stages::Stages;
use crate::values::{named, seconds};
use warpbound_query::input;

/// Arguments of `predict`.
#[derive(Args)]
pub(crate) struct PredictArguments {
    #[command(flatten)]
    input: Input,
    /// Launch file
    #[arg(long, value_name = "FILE", required_unless_present_any = ["tree", "formula"])]
    launch: Option<PathBuf>,
    /// Name of the kernel [default: the one that the launch file names, or the only one]
    #[arg(long, value_name = "K")]
    kernel: Option<String>,
    /// Contents of the buffers that the counts hold for: any contents (any), or the contents in the launch file (as-given)
    #[arg(long, value_parser = named::<Contents>(), default_value = "any")]
    contents: Contents,
    /// Rule: `slice` executes what branches depend on; `paper` also gives the counts by the rule of
    /// efficient-instrumentation-2014, and says where this rule is wrong
    #[arg(long, value_enum, default_value_t)]
    rule: PredictRule,
    /// Also give ranges for unknown counts and for the metrics, from the count rows
    #[arg(long)]
    ranges: bool,
    /// Print the computation tree: control statements with their conditions, and the blocks between them
    #[arg(long)]
    tree: bool,
    /// Print closed forms: formulas in thread and block index, sizes and parameters for the executions of each block by one
    /// thread; with a launch also their values, without formulas that differ from the prediction
    #[arg(long, conflicts_with_all = ["tree", "ranges", "rule"])]
    formula: bool,
    /// Maximum number of operations that are executed for all warps together
    #[arg(long, value_name = "N", default_value_t = 200_000_000, value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    max_operations: u64,
    /// Time limit; counts of a launch that exceeds it are unknown
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<std::time::Duration>,
    /// Print the times of the stages to standard error
    #[arg(long)]
    timing: bool,
    /// Output format; dot draws the tree
    #[arg(long, value_enum, default_value_t)]
    format: PredictFormat,
    #[command(flatten)]
    output: OutputArguments,
}

/// Rule by which counts are predicted.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum PredictRule {
    #[default]
    Slice,
    Paper,
}

/// Output format of predictions and trees.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum PredictFormat {
    #[default]
    Text,
    Json,
    Dot,
}

/// Predicts the counts of a launch, or prints the computation tree of a kernel. Returns the exit code.
pub(crate) fn predict(arguments: &PredictArguments) -> Result<u8, CommandError> {
    let mut stages = Stages::new(arguments.timing);
    let library = input::library(&arguments.input.file)?;
    if library.is_text() {
        let message = "predictions are for machine code, this is mini-SIMT";
        return Err(Diagnostic::new(message).in_file(library.name()).into());
    }
    if arguments.format == PredictFormat::Dot && !arguments.tree {
        return Err(CommandError::Usage(
            "--format dot draws a tree: add --tree".to_owned(),
        ));
    }
    let launch = arguments.launch.as_deref().map(input::grid).transpose()?;
    let name = arguments.kernel.as_deref();
    let stated = launch.as_ref().and_then(|launch| launch.kernel.as_deref());
    let session = match &launch {
        Some(launch) => launched_session(&library, &arguments.input, name, launch)?,
        None => {
            let images = crate::common::select(&library, &arguments.input)?;
            match name {
                Some(name) => library.only_kernel(&images, name)?.0,
                None => library.only_session(&arguments.input.selection())?.into(),
            }
        }
    };
    let kernel = session.launched_kernel(name, stated)?;
    let options = PredictOptions {
        contents: arguments.contents,
        steps: arguments.max_operations,
        deadline: arguments
            .time_limit
            .map_or(Deadline::default(), Deadline::after),
        ranges: arguments.ranges,
        by_paper: arguments.rule == PredictRule::Paper,
    };
    // Opened before the prediction, which may take long, so that an error shows early.
    let out = Output::open(arguments.output.output.as_deref())?;
    stages.end("parse");
    if arguments.formula {
        let report = count_formula_report(&session, kernel, launch.as_ref(), &options)?;
        stages.end("analyse");
        let text = match arguments.format {
            PredictFormat::Json => to_json(&report),
            PredictFormat::Text | PredictFormat::Dot => report.text(),
        };
        print(out, &text)?;
        stages.print();
        return Ok(match report.has_any() {
            true => 0,
            false => NO_BOUND,
        });
    }
    let Some(launch) = launch.as_ref().filter(|_| !arguments.tree) else {
        let tree = computation_tree(&session, kernel, launch.as_ref(), &options)?;
        let text = match arguments.format {
            PredictFormat::Text => tree.text(),
            PredictFormat::Json => to_json(&tree),
            PredictFormat::Dot => tree.dot(),
        };
        stages.end("analyse");
        print(out, &text)?;
        stages.print();
        return Ok(0);
    };
    let report = predict_report(&session, kernel, launch, &options)?;
    stages.end("analyse");
    let text = match arguments.format {
        PredictFormat::Json => to_json(&report),
        PredictFormat::Text | PredictFormat::Dot => report.text(),
    };
    print(out, &text)?;
    stages.print();
    // A prediction may lack some counts. Without any count there is no answer.
    Ok(match report.lost {
        Some(_) => NO_BOUND,
        None => 0,
    })
}
