//! `warpbound diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use warpbound_base::Diagnostic;
use warpbound_builds::builds::{Build, DiffOptions, diff as compare};
use warpbound_query::FactsFile;
use warpbound_report::to_json;

use crate::arguments::OutputArguments;
use crate::builds::{BuildArguments, build};
use crate::common::{CommandError, UNUSABLE, left_out_code, print};
use crate::output::Output;
use crate::pages;
use warpbound_query::input;

/// Arguments of `diff`.
#[derive(Args)]
pub(crate) struct DiffArguments {
    /// File or folder of the old build
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// File or folder of the new build
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    #[command(flatten)]
    pub(crate) build: BuildArguments,
    /// Flow facts of the new build
    #[arg(long, value_name = "FILE")]
    pub(crate) facts: Option<PathBuf>,
    /// Flow facts of the old build
    #[arg(long, value_name = "FILE")]
    pub(crate) old_facts: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DiffFormat,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Format of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum DiffFormat {
    #[default]
    Text,
    Json,
    /// For summaries of continuous integration and comments on pull requests
    Markdown,
    /// One page, or a folder of pages if --output names a folder
    Html,
}

/// Compares two builds. Returns the exit code.
pub(crate) fn diff(arguments: &DiffArguments) -> Result<u8, CommandError> {
    let old = build(&arguments.old, &arguments.build)?;
    let new = build(&arguments.new, &arguments.build)?;
    let options = DiffOptions {
        old: with_facts(arguments, &old, arguments.old_facts.as_ref())?,
        new: with_facts(arguments, &new, arguments.facts.as_ref())?,
        jobs: arguments.build.jobs.count(),
    };
    let report = compare(&old, &new, &options);
    let output = arguments.output.output.as_deref();
    let text = match arguments.format {
        DiffFormat::Text => Some(report.text()),
        DiffFormat::Json => Some(to_json(&report)),
        DiffFormat::Markdown => Some(report.markdown()),
        DiffFormat::Html => match pages::folder(output) {
            Some(folder) => {
                // Pages are written one by one, so there is no single text.
                report.html_folder(pages::page_writer(folder)?)?;
                None
            }
            None => Some(report.html()),
        },
    };
    if let Some(text) = text {
        print(Output::open(output)?, &text)?;
    }
    // On standard output, every format names the images itself.
    let code = left_out_code(&report.left_out, output.is_none());
    match report.unreadable.is_empty() {
        true => Ok(code),
        false => Ok(UNUSABLE),
    }
}

/// Returns the options for the bounds of a build.
fn with_facts(
    arguments: &DiffArguments,
    build: &Build,
    facts: Option<&PathBuf>,
) -> Result<warpbound_query::BoundOptions, Diagnostic> {
    let mut options = arguments.build.options()?;
    if let Some(path) = facts {
        options.facts = FactsFile::parse(&path.display().to_string(), &input::text(path)?)?;
        build.check_facts(&options.facts)?;
    }
    Ok(options)
}
