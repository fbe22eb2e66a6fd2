//! Rows of results, as a table for many files, launches or machines.

use std::path::PathBuf;

use warpbound_base::Diagnostic;
use warpbound_query::Shard;
use warpbound_rows::{ResultTable, RowFormat, RowWriter, TableCell};

use crate::arguments::OutputArguments;
use crate::common::{CommandError, UNUSABLE, print_diagnostic, weightier};
use crate::output::Output;
use crate::progress::Progress;

/// Opens the output of rows.
pub(crate) fn open(
    output: &OutputArguments,
    format: RowFormat,
    table: ResultTable,
) -> Result<RowWriter<Output>, CommandError> {
    if format == RowFormat::Parquet && output.output.is_none() {
        let message = "--format parquet needs --output".to_owned();
        return Err(CommandError::Usage(message));
    }
    let out = Output::open(output.output.as_deref())?;
    Ok(RowWriter::new(out, format, table)?)
}

/// Returns the launch of a report, which allows neither several launches nor a shard.
pub(crate) fn only_launch(
    launches: &[PathBuf],
    shard: Option<Shard>,
) -> Result<&PathBuf, CommandError> {
    let given = match launches {
        [launch] if shard.is_none() => return Ok(launch),
        [] => "--launch is missing",
        [_] => "--shard is for --format jsonl and parquet",
        _ => "several launches are for --format jsonl and parquet",
    };
    Err(CommandError::Usage(given.to_owned()))
}

/// Row of a launch.
pub(crate) struct LaunchRow {
    pub(crate) cells: Vec<TableCell>,
    /// Exit code of a command with this launch alone.
    pub(crate) code: u8,
}

/// Writes a row for each launch of a shard. Returns the weightiest exit code of all rows. `row` receives the position
/// of the launch, and its file as the user named it. If `row` fails, `failed` makes the row, and the reason is printed
/// as well.
pub(crate) fn write(
    mut writer: RowWriter<Output>,
    launches: &[PathBuf],
    shard: Option<Shard>,
    row: impl Fn(u64, &PathBuf) -> Result<LaunchRow, CommandError>,
    failed: impl Fn(u64, &str, &str) -> Vec<TableCell>,
) -> Result<u8, CommandError> {
    let mut progress = Progress::new();
    let mut code = 0;
    let all = launches.len() as u64;
    let shard = shard.unwrap_or_default();
    // Positions count all launches, so that the rows of all shards can be joined.
    for (position, path) in (0..).zip(launches).filter(|(at, _)| shard.contains(*at)) {
        let cells = match row(position, path) {
            Ok(row) => {
                code = weightier(code, row.code);
                row.cells
            }
            // One unusable launch must not end a campaign; its row says why it has no result.
            Err(CommandError::Input(why)) => {
                code = weightier(code, UNUSABLE);
                progress.clear();
                print_diagnostic(&why);
                failed(position, &path.display().to_string(), &why.to_string())
            }
            // Without an output, no later row can be written.
            Err(other) => return Err(other),
        };
        writer.row(cells)?;
        progress.launches(position + 1, all);
    }
    progress.clear();
    writer.finish()?.finish()?;
    Ok(code)
}

/// Returns the diagnostic for a launch set, which has no row.
pub(crate) fn refuse_set(file: &str) -> Diagnostic {
    let message = "a launch set has no row: its launches depend on each other";
    let refused = Diagnostic::new(message).in_file(file);
    refused.hint("--format json has all its launches")
}
