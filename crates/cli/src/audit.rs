//! `warpbound audit`.

use warpbound_base::Diagnostic;
use warpbound_driver::audit::AuditOptions;
use warpbound_driver::{BoundOptions, CycleQuery, LaunchSet, Library};
use warpbound_report::{AuditReport, to_json};

use crate::arguments::{AuditArguments, Format};
use crate::audit_counts::audit_counts;
use crate::input::{self, Launches};
use crate::output::Output;
use crate::progress::Progress;
use crate::{
    CommandError, NO_BOUND, UNUSABLE, VIOLATED, facts_options, launched_session, print,
    session_of_set,
};

/// Audits a launch and its variations; returns the exit code.
pub(crate) fn audit(arguments: &AuditArguments) -> Result<u8, CommandError> {
    let AuditArguments {
        input,
        kernel,
        launch,
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
        output,
    } = arguments;
    let library = input::library(&input.file)?;
    if counts.counts.is_some() {
        return audit_counts(arguments, &library);
    }
    let Some(launch) = launch else {
        return Err(CommandError::Usage("--launch is missing".to_owned()));
    };
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
    let options = facts_options(&library, facts)?;
    let grid = match input::launches(launch)? {
        Launches::One(grid) => grid,
        Launches::Set(set) => return audit_set(arguments, &library, &set, &options, &runs),
    };
    let name = kernel.as_deref();
    let session = launched_session(&library, input, name, &grid)?;
    let kernel = session.launched_kernel(name, grid.kernel.as_deref())?;
    let out = Output::open(output.output.as_deref())?;
    let mut progress = Progress::new();
    let show = |done| progress.runs(done, runs.runs);
    let report = session.audit(kernel, &grid, &options, &runs, show);
    progress.clear();
    let report = report?;
    if let Some(path) = write_facts {
        let observed = session.observed_facts(kernel, &report)?;
        print(Output::open(Some(path))?, &observed)?;
    }
    let text = match format {
        Format::Text => report.text(),
        Format::Json => to_json(&report),
    };
    print(out, &text)?;
    Ok(code(&report))
}

/// Audits a launch set and its variations; returns the exit code.
fn audit_set(
    arguments: &AuditArguments,
    library: &Library,
    set: &LaunchSet,
    options: &BoundOptions,
    runs: &AuditOptions,
) -> Result<u8, CommandError> {
    if arguments.write_facts.is_some() {
        let message = Diagnostic::new("--write-facts is for one launch, this is a launch set");
        return Err(message.in_file(set.file.as_str()).into());
    }
    let kernel = arguments.kernel.as_deref();
    let session = session_of_set(library, &arguments.input, kernel, set)?;
    let out = Output::open(arguments.output.output.as_deref())?;
    let mut progress = Progress::new();
    let show = |done| progress.runs(done, done.max(runs.runs));
    let report = session.audit_set(set, options, runs, show);
    progress.clear();
    let report = report?;
    let text = match arguments.format {
        Format::Text => report.text(),
        Format::Json => to_json(&report),
    };
    print(out, &text)?;
    if report.violations > 0 {
        return Ok(VIOLATED);
    }
    let codes = report.kernels.iter().map(code);
    // A fault has a greater code than a kernel without a bound, and priority.
    Ok(codes.max().unwrap_or_default())
}

/// Returns the exit code. A violation has priority; next, a fault of the given launch makes the audit unusable.
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

/// Whether a bound in cycles was asked for and does not exist.
fn is_without_cycles(report: &AuditReport) -> bool {
    let cycles = report.cycles.as_ref();
    cycles.is_some_and(|cycles| cycles.no_bound.is_some())
}
