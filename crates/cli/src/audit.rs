//! `warpbound audit`.

use std::io::Write as _;
use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_driver::audit::AuditRuns;
use warpbound_report::{AuditReport, to_json};

use crate::arguments::{FactsArguments, Format, GridInput, Input};
use crate::output::Output;
use crate::progress::Progress;
use crate::{NO_BOUND, Stop, UNUSABLE, VIOLATED, facts_options, input, launched_session};

/// Runs a launch, and others like it; the exit code.
pub(crate) fn audit(
    input: &Input,
    launched: &GridInput,
    facts: FactsArguments,
    runs: &AuditRuns,
    write_facts: Option<&Path>,
    format: Format,
) -> Result<u8, Stop> {
    let library = input::library(&input.file)?;
    let options = facts_options(&library, facts)?;
    let grid = input::grid(&launched.launch)?;
    let name = launched.kernel.as_deref();
    let session = launched_session(&library, input, name, &grid)?;
    let kernel = session.launched_grid(name, &grid)?;
    let mut progress = Progress::new();
    let show = |done| progress.runs(done, runs.runs);
    let report = session.audit(kernel, &grid, &options, runs, show);
    progress.clear();
    let report = report?;
    if let Some(path) = write_facts {
        write_observed(path, &session.observed_facts(kernel, &report)?)?;
    }
    let mut out = Output::stdout();
    let text = match format {
        Format::Text => report.text(),
        Format::Json => to_json(&report),
    };
    out.write_all(text.as_bytes())?;
    out.finish()?;
    Ok(code(&report))
}

/// Writes a facts file.
fn write_observed(path: &Path, text: &str) -> Result<(), Stop> {
    let written = Output::file(path).and_then(|mut out| {
        out.write_all(text.as_bytes())?;
        out.finish()
    });
    let failed = |error| {
        let what = Diagnostic::new(format!("cannot be written: {error}"));
        Stop::from(what.in_file(path.display().to_string()))
    };
    written.map_err(failed)
}

/// A violation is told first; a launch that faults is no launch to say anything about.
fn code(report: &AuditReport) -> u8 {
    if report.violations > 0 {
        VIOLATED
    } else if report.given_faulted {
        UNUSABLE
    } else if report.bound.is_none() {
        NO_BOUND
    } else {
        0
    }
}
