//! `warpbound audit`.

use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_driver::audit::AuditRuns;
use warpbound_report::{AuditReport, to_json};

use crate::arguments::{FactsArguments, Format, GridInput, Input, OutputArguments};
use crate::output::Output;
use crate::progress::Progress;
use crate::{NO_BOUND, Stop, UNUSABLE, VIOLATED, facts_options, input, launched_session, print};

/// Runs a launch, and others like it; the exit code.
pub(crate) fn audit(
    input: &Input,
    launched: &GridInput,
    facts: FactsArguments,
    runs: &AuditRuns,
    write_facts: Option<&Path>,
    format: Format,
    output: &OutputArguments,
) -> Result<u8, Stop> {
    let library = input::library(&input.file)?;
    if library.is_text() {
        let what = "audit runs GPU kernels, and this is mini-SIMT";
        return Err(Diagnostic::new(what)
            .in_file(library.name())
            .hint("`warpbound run` runs it, `warpbound cta` bounds its cycles")
            .into());
    }
    let options = facts_options(&library, facts)?;
    let grid = input::grid(&launched.launch)?;
    let name = launched.kernel.as_deref();
    let session = launched_session(&library, input, name, &grid)?;
    let kernel = session.launched_grid(name, &grid)?;
    let out = Output::open(output.output.as_deref())?;
    let mut progress = Progress::new();
    let show = |done| progress.runs(done, runs.runs);
    let report = session.audit(kernel, &grid, &options, runs, show);
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
