//! `warpbound cfg`.

use warpbound_report::to_json;

use crate::arguments::{CfgArguments, GraphFormat};
use crate::common::{CommandError, flow_options, print};
use crate::output::Output;
use warpbound_query::input;

/// Prints the control-flow graph of a kernel. Returns the exit code.
pub(crate) fn graph(arguments: &CfgArguments) -> Result<u8, CommandError> {
    let CfgArguments {
        input,
        kernel,
        level,
        format,
        output,
        launch,
        domains,
    } = arguments;
    let library = input::library(&input.file)?;
    let options = flow_options(&library, launch, domains)?;
    let images = crate::common::select(&library, input)?;
    library.check_launches(&images, Some(kernel), &options.launches)?;
    let (session, index) = library.only_kernel(&images, kernel)?;
    // Opened before the analysis, so that an error shows early.
    let out = Output::open(output.output.as_deref())?;
    let graph = session.graph(session.kernel_at(index)?, (*level).into(), &options)?;
    let text = match format {
        GraphFormat::Text => graph.text(),
        GraphFormat::Dot => graph.dot(),
        GraphFormat::Json => to_json(&graph),
        GraphFormat::Svg => graph.svg(),
    };
    print(out, &text)?;
    Ok(0)
}
