//! `warpbound run` with a row for each launch.

use std::path::PathBuf;

use warpbound_base::Diagnostic;
use warpbound_query::{Library, input};
use warpbound_rows::{ResultTable, RowFormat, RunOutcome, RunRecord};
use warpbound_runs::{RunHooks, simulate};

use crate::common::{CommandError, launched_session};
use crate::rows::{self, LaunchRow};
use crate::run::{RunArguments, run_options, timed_options};
use warpbound_query::input::Launches;

/// Executes or simulates launches and writes a row for each. Returns the exit code.
pub(crate) fn run_rows(
    library: &Library,
    arguments: &RunArguments,
    format: RowFormat,
) -> Result<u8, CommandError> {
    if library.is_text() {
        let message = "rows are of launches of GPU kernels, this is mini-SIMT";
        let refused = Diagnostic::new(message).in_file(library.name());
        return Err(refused.hint("--format json reports its run").into());
    }
    // These options write one file or table per run, and there are several runs.
    let of_reports = [
        ("--stats", arguments.stats),
        ("--counts", arguments.counts.is_some()),
        ("--timeline", arguments.timeline.is_some()),
        ("--events", arguments.events.is_some()),
    ];
    if let Some((option, _)) = of_reports.iter().find(|(_, given)| *given) {
        let message = format!("{option} is for --format text and json");
        return Err(CommandError::Usage(message));
    }
    let writer = rows::open(&arguments.output, format, ResultTable::Runs)?;
    let record = |position, launch: &str, outcome: RunOutcome<'_>| {
        let file = library.name();
        RunRecord {
            position,
            file,
            launch,
            outcome,
        }
        .cells()
    };
    let name = arguments.kernel.as_deref();
    let row = |position, path: &PathBuf| {
        let grid = match input::launches(path)? {
            Launches::One(grid) => grid,
            Launches::Set(set) => return Err(rows::refuse_set(&set.file).into()),
        };
        let session = launched_session(library, &arguments.input, name, &grid)?;
        let kernel = session.launched_kernel(name, grid.kernel.as_deref())?;
        let cells = match arguments.functional {
            true => {
                let run = warpbound_runs::execute(
                    &session,
                    kernel,
                    &grid,
                    &run_options(arguments),
                    &mut |_| (),
                );
                let run = run?.as_expected()?;
                record(position, &grid.file, RunOutcome::Functional(&run.report))
            }
            false => {
                let hooks = RunHooks {
                    events: None,
                    timeline: None,
                    progress: &mut |_| (),
                };
                let options = timed_options(arguments, &session)?;
                let run = simulate(&session, kernel, &grid, &options, hooks)?;
                if let Some(why) = run.unexpected {
                    return Err(why.into());
                }
                record(position, &grid.file, RunOutcome::Timed(&run.report))
            }
        };
        Ok(LaunchRow { cells, code: 0 })
    };
    let shard = arguments.shard.shard;
    rows::write(
        writer,
        &arguments.launches,
        shard,
        row,
        |position, launch, why| record(position, launch, RunOutcome::Failed(why)),
    )
}
