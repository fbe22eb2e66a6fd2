//! `warpbound run` with a launch set.

use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_query::LaunchSet;
use warpbound_query::Library;
use warpbound_report::to_json;
use warpbound_runs::{execute_set, simulate_set};

use crate::arguments::{Format, PageFormat};
use crate::common::{CommandError, print, session_of_set};
use crate::output::Output;
use crate::progress::Progress;
use crate::run::{
    RunArguments, format_without_pages, outputs, run_options, timed_options, write_outputs,
};

/// Executes or simulates a launch set. Returns the exit code.
pub(crate) fn run_set(
    library: &Library,
    arguments: &RunArguments,
    path: &Path,
    set: &LaunchSet,
    format: PageFormat,
) -> Result<u8, CommandError> {
    check_options(arguments).map_err(|d| d.in_file(set.file.as_str()))?;
    let format = format_without_pages(format, "a launch set")?;
    let kernel = arguments.kernel.as_deref();
    let session = session_of_set(library, &arguments.input, kernel, set)?;
    // Output files are opened before the run, which may take long, so that an error shows early.
    let out = Output::open(arguments.output.output.as_deref())?;
    let open_outputs = outputs(path, &set.objects)?;
    let mut progress = Progress::new();
    let all: u64 = set
        .repetitions
        .iter()
        .map(|repetition| {
            repetition
                .rounds
                // The number is only shown, so saturation does no harm.
                .saturating_mul(repetition.launches.len() as u64)
        })
        .fold(0, u64::saturating_add);
    let mut show = |done| progress.launches(done, all);
    let run = match arguments.functional {
        true => execute_set(&session, set, &run_options(arguments), &mut show),
        false => simulate_set(
            &session,
            set,
            &timed_options(arguments, &session)?,
            &mut show,
        ),
    };
    progress.clear();
    let run = run?;
    write_outputs(open_outputs, run.outputs(set))?;
    // The outputs are written even if they differ from the expected values, so that the user can inspect them.
    if let Some(diagnostic) = run.unexpected {
        return Err(diagnostic.into());
    }
    let text = match format {
        Format::Text => run.report.text(),
        Format::Json => to_json(&run.report),
    };
    print(out, &text)?;
    Ok(0)
}

/// Refuses options for a single launch.
fn check_options(arguments: &RunArguments) -> Result<(), Diagnostic> {
    let of_one = [
        ("--stats", arguments.stats),
        ("--only-warp", arguments.only_warp.is_some()),
        ("--sensitivities", arguments.sensitivities),
        ("--timeline", arguments.timeline.is_some()),
        ("--events", arguments.events.is_some()),
    ];
    match of_one.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Diagnostic::new(format!(
            "{option} is for one launch, this is a launch set"
        ))),
        None => Ok(()),
    }
}
