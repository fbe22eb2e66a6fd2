//! `warpbound lint`.

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
    let mut found = false;
    let code = kernels::report(
        &library,
        arguments,
        &BoundOptions::default(),
        |session, kernel| session.lint(kernel),
        |report| found |= !report.findings.is_empty(),
    )?;
    // Possible hazards do not count: the code may exclude them.
    Ok(if found { FOUND } else { code })
}
