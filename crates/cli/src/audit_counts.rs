//! `warpbound audit --counts`.

use warpbound_base::Diagnostic;
use warpbound_measure::{CountsAuditOptions, MeasuredCounts};
use warpbound_query::{BoundOptions, Library};
use warpbound_report::to_json;

use crate::arguments::{AuditArguments, CountsArguments, Format};
use crate::common::{CommandError, NO_BOUND, VIOLATED, facts_options, print};
use crate::output::Output;
use crate::rows::only_launch;
use warpbound_query::input;

/// Compares measured counts with the statements that every run satisfies. Returns the exit code.
pub(crate) fn audit_counts(
    arguments: &AuditArguments,
    library: &Library,
) -> Result<u8, CommandError> {
    let CountsArguments {
        counts: Some(path),
        grid,
        block,
    } = &arguments.counts
    else {
        return Err(CommandError::Usage("--counts is missing".to_owned()));
    };
    if library.is_text() {
        let message = "measured counts are of GPU kernels, this is mini-SIMT";
        return Err(Diagnostic::new(message).in_file(library.name()).into());
    }
    check_axes("--grid", grid)?;
    check_axes("--block", block)?;
    let Ok(format) = arguments.format.report_or_rows() else {
        let message = "--counts has --format text and json".to_owned();
        return Err(CommandError::Usage(message));
    };
    let measured = MeasuredCounts::read(path)?;
    let launch = match arguments.launches.as_slice() {
        [] => None,
        launches => Some(input::grid(only_launch(launches, arguments.shard.shard)?)?),
    };
    let name = arguments.kernel.as_deref();
    let name = name.or(launch.as_ref().and_then(|launch| launch.kernel.as_deref()));
    let images = crate::common::select(library, &arguments.input)?;
    let bare = measured.bare_kernel();
    let in_file = measured.kernel.as_deref();
    // The name in the file counts only if it is one of a kernel here: tools spell names in their own ways.
    let in_file = in_file.filter(|name| library.only_kernel(&images, name).is_ok());
    // A name with another spelling is tried without its arguments. The instructions are compared in any case.
    let name = name.or(in_file).or(bare.as_deref());
    let session = match name {
        Some(name) => library.only_kernel(&images, name)?.0,
        None => library.only_session(&arguments.input.selection())?.into(),
    };
    let kernel = session.launched_kernel(name, None)?;
    let sizes = launch.map(|launch| (launch.grid, launch.block));
    let options = CountsAuditOptions {
        bound: BoundOptions {
            block: sizes.map_or_else(|| size(block), |(_, block)| Some(block)),
            ..facts_options(library, &arguments.facts)?
        },
        grid: sizes.map_or_else(|| size(grid), |(grid, _)| Some(grid)),
    };
    let out = Output::open(arguments.output.output.as_deref())?;
    let report = warpbound_measure::audit_counts(&session, kernel, &measured, &options)?;
    let text = match format {
        Format::Text => report.text(),
        Format::Json => to_json(&report),
    };
    print(out, &text)?;
    Ok(match report {
        ref report if report.violations > 0 => VIOLATED,
        // Without violations, an incomplete comparison still proves less than a complete one.
        ref report if report.refused.is_some() || !report.unchecked.is_empty() => NO_BOUND,
        _ => 0,
    })
}

/// Refuses more than three numbers for a size.
fn check_axes(option: &str, axes: &[u32]) -> Result<(), CommandError> {
    match axes.len() > 3 {
        true => Err(CommandError::Usage(format!(
            "{option}: more than three numbers"
        ))),
        false => Ok(()),
    }
}

/// Returns a size in x, y, z; `None` if none is stated.
fn size(axes: &[u32]) -> Option<[u32; 3]> {
    let axis = |n: usize| axes.get(n).copied().unwrap_or(1);
    (!axes.is_empty()).then(|| [axis(0), axis(1), axis(2)])
}
