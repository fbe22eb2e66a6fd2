//! `warpbound audit`.

use std::path::PathBuf;

use warpbound_audit::audit::AuditOptions;
use warpbound_base::Diagnostic;
use warpbound_bounds::observed_facts;
use warpbound_query::LaunchSet;
use warpbound_query::{BoundOptions, CycleQuery, Library};
use warpbound_report::{AuditReport, to_json};
use warpbound_rows::{AuditRecord, ResultTable, RowFormat};

use crate::arguments::{AuditArguments, Format};
use crate::audit_counts::audit_counts;
use crate::common::{
    CommandError, NO_BOUND, UNUSABLE, VIOLATED, facts_options, launched_session, print,
    session_of_set,
};
use crate::output::Output;
use crate::progress::Progress;
use crate::rows;
use crate::rows::{LaunchRow, only_launch};
use warpbound_query::input::{self, Launches};

/// Audits a launch and its variations. Returns the exit code.
pub(crate) fn audit(arguments: &AuditArguments) -> Result<u8, CommandError> {
    let AuditArguments {
        input,
        kernel,
        launches,
        counts,
        facts,
        runs,
        seed,
        max_instructions,
        cycles,
        machine,
        caches,
        write_facts,
        format,
        shard,
        output,
    } = arguments;
    let library = input::library(&input.file)?;
    // Measured counts need no run, so most of the other options do not apply.
    if counts.counts.is_some() {
        return audit_counts(arguments, &library);
    }
    if library.is_text() {
        let message = "audit runs GPU kernels, and this is mini-SIMT";
        return Err(Diagnostic::new(message)
            .in_file(library.name())
            .hint("`warpbound run` runs it, `warpbound cta` bounds its cycles")
            .into());
    }
    let query = match cycles {
        true => Some(CycleQuery {
            machine: machine.as_deref().map(input::gpu_model).transpose()?,
            caches: caches.unwrap_or_default(),
            ..CycleQuery::default()
        }),
        false => None,
    };
    let runs = AuditOptions {
        runs: *runs,
        seed: *seed,
        max_instructions: *max_instructions,
        cycles: query,
    };
    // Before any run, so that a facts file with errors shows early.
    let options = facts_options(&library, facts)?;
    let format = match format.report_or_rows() {
        Ok(format) => format,
        Err(rows) => return audit_rows(arguments, &library, &options, &runs, rows),
    };
    let grid = match input::launches(only_launch(launches, shard.shard)?)? {
        Launches::One(grid) => grid,
        Launches::Set(set) => {
            return audit_set(arguments, &library, &set, &options, &runs, format);
        }
    };
    let name = kernel.as_deref();
    let session = launched_session(&library, input, name, &grid)?;
    let kernel = session.launched_kernel(name, grid.kernel.as_deref())?;
    // Opened before the runs, which may take long, so that an error shows early.
    let out = Output::open(output.output.as_deref())?;
    let mut progress = Progress::new();
    let show = |done| progress.runs(done, runs.runs);
    let report = warpbound_audit::audit(&session, kernel, &grid, &options, &runs, show);
    // The progress line must be gone before an error is printed.
    progress.clear();
    let report = report?;
    if let Some(path) = write_facts {
        let observed = observed_facts(&session, kernel, &report)?;
        print(Output::open(Some(path))?, &observed)?;
    }
    let text = match format {
        Format::Text => report.text(),
        Format::Json => to_json(&report),
    };
    print(out, &text)?;
    Ok(code(&report))
}

/// Audits launches and writes a row for each. Returns the exit code.
fn audit_rows(
    arguments: &AuditArguments,
    library: &Library,
    options: &BoundOptions,
    runs: &AuditOptions,
    format: RowFormat,
) -> Result<u8, CommandError> {
    if arguments.write_facts.is_some() {
        let message = "--write-facts is for --format text and json".to_owned();
        return Err(CommandError::Usage(message));
    }
    let writer = rows::open(&arguments.output, format, ResultTable::Audits)?;
    let name = arguments.kernel.as_deref();
    let record = |position, launch: &str, audit: Result<&AuditReport, &str>| {
        let file = library.name();
        AuditRecord {
            position,
            file,
            launch,
            audit,
        }
        .cells()
    };
    let row = |position, path: &PathBuf| {
        let grid = match input::launches(path)? {
            Launches::One(grid) => grid,
            Launches::Set(set) => return Err(rows::refuse_set(&set.file).into()),
        };
        let session = launched_session(library, &arguments.input, name, &grid)?;
        let kernel = session.launched_kernel(name, grid.kernel.as_deref())?;
        let report = warpbound_audit::audit(&session, kernel, &grid, options, runs, |_| ())?;
        Ok(LaunchRow {
            cells: record(position, &grid.file, Ok(&report)),
            code: code(&report),
        })
    };
    let shard = arguments.shard.shard;
    rows::write(
        writer,
        &arguments.launches,
        shard,
        row,
        |position, launch, why| record(position, launch, Err(why)),
    )
}

/// Audits a launch set and its variations. Returns the exit code.
fn audit_set(
    arguments: &AuditArguments,
    library: &Library,
    set: &LaunchSet,
    options: &BoundOptions,
    runs: &AuditOptions,
    format: Format,
) -> Result<u8, CommandError> {
    if arguments.write_facts.is_some() {
        let message = Diagnostic::new("--write-facts is for one launch, this is a launch set");
        return Err(message.in_file(set.file.as_str()).into());
    }
    let kernel = arguments.kernel.as_deref();
    let session = session_of_set(library, &arguments.input, kernel, set)?;
    let out = Output::open(arguments.output.output.as_deref())?;
    let mut progress = Progress::new();
    // A set may have more runs than requested: one with another order of streams.
    let show = |done| progress.runs(done, done.max(runs.runs));
    let report = warpbound_audit::audit_set(&session, set, options, runs, show);
    progress.clear();
    let report = report?;
    let text = match format {
        Format::Text => report.text(),
        Format::Json => to_json(&report),
    };
    print(out, &text)?;
    if report.violations > 0 {
        return Ok(VIOLATED);
    }
    let codes = report.kernels.iter().map(code);
    // A fault has a greater code than a kernel without a bound, so it takes precedence.
    Ok(codes.max().unwrap_or_default())
}

/// Returns the exit code. A violation takes precedence; next, a fault of the given launch makes the audit unusable.
fn code(report: &AuditReport) -> u8 {
    if report.violations > 0 {
        VIOLATED
    } else if report.given_faulted {
        UNUSABLE
    } else if report.bound.is_none() || is_without_cycles(report) {
        NO_BOUND
    } else {
        0
    }
}

/// Whether a bound in cycles was requested but does not exist.
fn is_without_cycles(report: &AuditReport) -> bool {
    let cycles = report.cycles.as_ref();
    cycles.is_some_and(|cycles| cycles.no_bound.is_some())
}
