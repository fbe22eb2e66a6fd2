//! `warpbound instrument`.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use warpbound_base::Diagnostic;
use warpbound_driver::rewritten;

use crate::arguments::Input;
use crate::output::Output;
use crate::{CommandError, input};

/// Arguments of `instrument`.
#[derive(Args)]
pub(crate) struct InstrumentArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Insert nothing: take the code apart and write it again
    #[arg(long, required = true)]
    pub(crate) none: bool,
    /// File to write
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

/// Writes an image of the file again; returns the exit code.
pub(crate) fn instrument(arguments: &InstrumentArguments) -> Result<u8, CommandError> {
    let InstrumentArguments {
        input,
        none: _,
        output,
    } = arguments;
    let library = input::library(&input.file)?;
    let numbers = library.select(&input.selection())?;
    let [number] = numbers.as_slice() else {
        let message = format!("{} images do not go into one file", numbers.len());
        return Err(Diagnostic::new(message)
            .in_file(input.name())
            .hint("choose one with --image or --arch")
            .into());
    };
    let image = library.extract(*number)?;
    let bytes = rewritten(&image.contents).map_err(|error| error.in_file(input.name()))?;
    let mut out = Output::open(Some(output))?;
    out.write_all(&bytes)?;
    out.finish()?;
    Ok(0)
}
