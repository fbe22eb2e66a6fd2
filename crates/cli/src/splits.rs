//! `warpbound splits`.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, value_parser};
use warpbound_measure::{SplitsOptions, chosen_marks};
use warpbound_query::{BoundOptions, SplitOptions};

use crate::arguments::{LaunchArguments, QueryArguments, SplitMerge};
use crate::common::CommandError;
use crate::kernels;
use crate::launches::launch_options;
use crate::output::Output;
use warpbound_query::input;

/// Arguments of `splits`.
#[derive(Args)]
pub(crate) struct SplitsArguments {
    #[command(flatten)]
    pub(crate) query: QueryArguments,
    /// Maximum number of splits of a wave that live at the same time, without the wave itself
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = value_parser!(u32).range(0..=SplitOptions::MAX_SPLITS))]
    pub(crate) splits: u32,
    /// Merging of splits into one wave: never (none), or where the sides of their branch join (join) [default: none]
    #[arg(long, value_enum)]
    pub(crate) merge: Option<SplitMerge>,
    /// Machine of the cycles: a file, or the name of a built-in machine [default: the one that the code is for]
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// Also write the sites that the integer program chooses as a marks file, for `run --marks`
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) launch: LaunchArguments,
}

/// Reports the sites of kernels, and writes the chosen sites. Returns the exit code.
pub(crate) fn splits(arguments: &SplitsArguments) -> Result<u8, CommandError> {
    let library = input::library(&arguments.query.input.file)?;
    let bound = launch_options(&library, &arguments.launch, BoundOptions::default())?;
    let machine = arguments.machine.as_deref();
    let options = SplitsOptions {
        splits: arguments.splits,
        merge: matches!(arguments.merge, Some(SplitMerge::Join)),
        machine: machine.map(input::gpu_model).transpose()?,
        bound,
    };
    let mut reports = Vec::new();
    let code = kernels::report(
        &library,
        &arguments.query,
        &options.bound,
        |session, kernel| warpbound_measure::splits(session, kernel, &options),
        |report| reports.push(report.clone()),
    )?;
    if let Some(path) = &arguments.write {
        let mut out = Output::open(Some(path))?;
        out.write_all(chosen_marks(&reports).as_bytes())?;
        out.finish()?;
    }
    Ok(code)
}
