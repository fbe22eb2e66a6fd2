//! `warpbound gate`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use warpbound_base::Diagnostic;
use warpbound_builds::builds::Build;
use warpbound_builds::gate::{Budget, GateOptions, gate as check};
use warpbound_query::FactsFile;
use warpbound_query::{BoundOptions, CycleQuery, ImageSelection, NumberRange};
use warpbound_report::to_json;

use crate::arguments::{Format, Jobs, OutputArguments};
use crate::builds::libraries;
use crate::common::{CommandError, NO_BOUND, UNUSABLE, VIOLATED, left_out_code, print, weightier};
use crate::messages;
use crate::messages::mark_on_stdout;
use crate::output::Output;
use warpbound_query::input;

/// Arguments of `gate`.
#[derive(Args)]
pub(crate) struct GateArguments {
    /// Files and folders with machine code
    #[arg(value_name = "FILES", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Budget: rows of limits, by kernel and architecture
    #[arg(long, value_name = "FILE")]
    pub(crate) budget: PathBuf,
    /// Write the figures of the files into the budget, and rows for kernels that have none; comments stay
    #[arg(long)]
    pub(crate) update: bool,
    /// Also write the result as JUnit XML
    #[arg(long, value_name = "FILE", conflicts_with = "update")]
    pub(crate) junit: Option<PathBuf>,
    /// Also write what did not pass as SARIF 2.1.0
    #[arg(long, value_name = "FILE", conflicts_with = "update")]
    pub(crate) sarif: Option<PathBuf>,
    /// Folder that paths of sources in SARIF are relative to
    #[arg(long, value_name = "DIR", requires = "sarif")]
    pub(crate) source_root: Option<String>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Checks kernels against a budget, or updates the budget. Returns the exit code.
pub(crate) fn gate(arguments: &GateArguments) -> Result<u8, CommandError> {
    let file = arguments.budget.display().to_string();
    // With --update, a budget that does not exist is created.
    let text = match arguments.update && !arguments.budget.exists() {
        true => String::new(),
        false => input::text(&arguments.budget)?,
    };
    let budget = Budget::parse(&file, &text)?;
    let jobs = arguments.jobs.count();
    let mut files = Vec::new();
    let mut damaged = Vec::new();
    for path in &arguments.files {
        files.extend(libraries(path, &mut damaged)?);
    }
    let selection = ImageSelection {
        image: None,
        isa: budget.conditions.arch,
    };
    let mut build = Build::read(
        "the build",
        files,
        &selection,
        budget.conditions.block,
        jobs,
    )?;
    build.unreadable.extend(damaged);
    let options = GateOptions {
        bound: bound_options(&build, &budget, &arguments.budget)?,
        update: arguments.update,
        jobs,
    };
    let gated = check(&build, &budget, &options);
    let report = &gated.report;
    let mut code = 0;
    // An update makes the figures the budget, so there is nothing to check.
    if let Some(text) = &gated.updated {
        let mut out = Output::open(Some(&arguments.budget))?;
        out.write_all(text.as_bytes())?;
        out.finish()?;
        let (changed, new) = gated.changes;
        let text = format!("{file}: {changed} rows changed, {new} rows added\n");
        print(Output::open(arguments.output.output.as_deref())?, &text)?;
    } else {
        write(arguments.junit.as_deref(), || report.junit())?;
        let root = arguments.source_root.as_deref();
        write(arguments.sarif.as_deref(), || report.sarif(root))?;
        let text = match arguments.format {
            Format::Text => match arguments.output.output {
                None => report.marked_text(mark_on_stdout()),
                Some(_) => report.text(),
            },
            Format::Json => to_json(report),
        };
        print(Output::open(arguments.output.output.as_deref())?, &text)?;
        if report.is_over() {
            code = VIOLATED;
        }
    }
    if report.summary.unproved > 0 {
        code = weightier(code, NO_BOUND);
    }
    // The text of a check already names these images on standard output.
    let is_text = !arguments.update && arguments.format == Format::Text;
    let is_shown = is_text && arguments.output.output.is_none();
    code = weightier(code, left_out_code(&report.left_out, is_shown));
    for unreadable in &report.unreadable {
        messages::error(unreadable);
        code = weightier(code, UNUSABLE);
    }
    Ok(code)
}

/// Writes a file, if there is a path.
fn write(path: Option<&Path>, text: impl FnOnce() -> String) -> Result<(), CommandError> {
    match path {
        Some(path) => print(Output::open(Some(path))?, &text()),
        None => Ok(()),
    }
}

/// Returns the options for the bounds under the conditions of a budget.
fn bound_options(build: &Build, budget: &Budget, path: &Path) -> Result<BoundOptions, Diagnostic> {
    let conditions = &budget.conditions;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut options = BoundOptions {
        loop_default: conditions.loop_default,
        ..BoundOptions::default()
    };
    let one = |n: u32| NumberRange::one(n);
    options.launches.block = conditions.block.map(|block| block.map(one));
    if let Some(facts) = &conditions.facts {
        // Files that a budget names are relative to its folder, so a check does not depend on the working folder.
        let path = folder.join(facts);
        options.facts = FactsFile::parse(&path.display().to_string(), &input::text(&path)?)?;
        build.check_facts(&options.facts)?;
    }
    let machine = conditions
        .machine
        .as_deref()
        .map(|name| match name.ends_with(".toml") {
            true => input::gpu_model(&folder.join(name).display().to_string()),
            false => input::gpu_model(name),
        });
    options.cycles = Some(CycleQuery {
        machine: machine.transpose()?,
        caches: conditions.caches.unwrap_or_default(),
        ..CycleQuery::default()
    });
    Ok(options)
}
