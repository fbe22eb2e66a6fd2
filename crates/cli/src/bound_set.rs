//! `warpbound bound` with a launch set.

use warpbound_base::Diagnostic;
use warpbound_query::LaunchSet;
use warpbound_query::{BoundOptions, Library};
use warpbound_report::to_json;

use crate::arguments::{BoundArguments, Cost, PageFormat};
use crate::common::{CommandError, NO_BOUND, VIOLATED, print, print_diagnostic, session_of_set};
use crate::output::Output;

/// Bounds a launch set in cycles. Returns the exit code.
pub(crate) fn bound_set(
    library: &Library,
    arguments: &BoundArguments,
    set: &LaunchSet,
    options: &BoundOptions,
) -> Result<u8, CommandError> {
    // The instructions of a warp do not add up over launches, but the cycles of launches do.
    if arguments.cost != Cost::Cycles {
        let message = "this is a launch set, not one launch";
        let refused = Diagnostic::new(message).in_file(set.file.as_str());
        let hint = "a launch set is bounded with --cost cycles";
        return Err(refused.hint(hint).into());
    }
    let format = match arguments.format.report_or_rows() {
        Ok(format) if format != PageFormat::Html && arguments.shard.shard.is_none() => format,
        _ => {
            let message = "a launch set has --format text and json, and no --shard";
            return Err(CommandError::Usage(message.to_owned()));
        }
    };
    let kernel = arguments.kernel.as_deref();
    let session = session_of_set(library, &arguments.input, kernel, set)?;
    let out = Output::open(arguments.output.output.as_deref())?;
    let report = warpbound_bounds::bound_set(&session, set, options)?;
    let text = match format {
        PageFormat::Json => to_json(&report),
        // HTML was refused above.
        PageFormat::Text | PageFormat::Html => report.text(),
    };
    print(out, &text)?;
    let Some(bound) = report.bound else {
        return Ok(NO_BOUND);
    };
    let over = arguments.cycles.limit.and_then(|limit| {
        let milliseconds = report.milliseconds?;
        limit.exceeded_by(bound, milliseconds)
    });
    match over {
        Some(why) => {
            print_diagnostic(&why.in_file(set.file.as_str()));
            Ok(VIOLATED)
        }
        None => Ok(0),
    }
}
