//! `warpbound cta`.

use clap::Args;
use warpbound_base::Diagnostic;
use warpbound_report::to_json;

use crate::arguments::{FactsArguments, GraphFormat, Input, LaunchInput, OutputArguments};
use crate::common::{CommandError, NO_BOUND, facts_options, print};
use crate::output::Output;
use warpbound_query::input;

/// Arguments of `cta`.
#[derive(Args)]
pub(crate) struct CtaArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) launch: LaunchInput,
    #[command(flatten)]
    pub(crate) facts: FactsArguments,
    /// Output format; dot and svg draw the abstract warp
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: GraphFormat,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Estimates and bounds the cycles of a block. Returns the exit code.
pub(crate) fn cta(arguments: &CtaArguments) -> Result<u8, CommandError> {
    let CtaArguments {
        input,
        launch,
        facts,
        format,
        output,
    } = arguments;
    let library = input::library(&input.file)?;
    if !library.is_text() {
        let message = "cta bounds blocks of mini-SIMT kernels, and this is machine code of a GPU";
        return Err(Diagnostic::new(message)
            .in_file(library.name())
            .hint(
                "`warpbound bound` bounds the instructions that a warp of it issues, `warpbound run` simulates it",
            )
            .into());
    }
    let options = facts_options(&library, facts)?;
    let (file, machine) = input::launch(&launch.launch, launch.machine.as_deref())?;
    let session = library.only_session(&input.selection())?;
    let kernel = session.launched_kernel(launch.kernel.as_deref(), file.kernel.as_deref())?;
    // Opened before the analysis, so that an error shows early.
    let out = Output::open(output.output.as_deref())?;
    let report = warpbound_bounds::cta(&session, kernel, &file, &machine, &options)?;
    let text = match format {
        GraphFormat::Text => report.text(),
        GraphFormat::Json => to_json(&report),
        GraphFormat::Dot => report.dot(),
        GraphFormat::Svg => report.svg(),
    };
    print(out, &text)?;
    Ok(if report.sound.is_some() { 0 } else { NO_BOUND })
}
