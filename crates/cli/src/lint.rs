//! `warpbound lint`.

use std::cell::Cell;

use warpbound_query::BoundOptions;

use crate::arguments::QueryArguments;
use crate::common::CommandError;
use crate::kernels;
use warpbound_query::input;

/// Exit code for kernels with findings.
const FOUND: u8 = 1;

/// Checks the control words of kernels. Returns the exit code, which is 1 if there is a finding.
pub(crate) fn lint(arguments: &QueryArguments) -> Result<u8, CommandError> {
    let library = input::library(&arguments.input.file)?;
    let needs = "only code of NVIDIA's GPUs has control words to check";
    kernels::require_nvidia(&library, &arguments.input, needs)?;
    // `report` takes an `Fn`, so the finding is noted in a cell.
    let found = Cell::new(false);
    let options = BoundOptions::default();
    let code = kernels::report(&library, arguments, &options, |session, kernel| {
        let report = session.lint(kernel)?;
        found.set(found.get() || !report.findings.is_empty());
        Ok(report)
    })?;
    // Possible hazards do not count: the code may exclude them.
    Ok(if found.get() { FOUND } else { code })
}
