//! `warpbound completions` and `warpbound man`.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory as _};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::arguments::OutputArguments;
use crate::commands::Arguments;
use crate::common::CommandError;
use crate::output::Output;

/// Arguments of `completions`.
#[derive(Args)]
pub(crate) struct CompletionsArguments {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
    #[command(flatten)]
    output: OutputArguments,
}

/// Arguments of `man`.
#[derive(Args)]
pub(crate) struct ManArguments {
    /// Command of the page [default: the page of all commands]
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Option<String>,
    /// Write all pages into this folder: `warpbound.1` and one for each command
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints the completions for a shell.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<u8, CommandError> {
    let mut text = Vec::new();
    generate(
        arguments.shell,
        &mut Arguments::command(),
        "warpbound",
        &mut text,
    );
    let mut out = Output::open(arguments.output.output.as_deref())?;
    out.write_all(&text)?;
    out.finish()?;
    Ok(0)
}

/// Prints a page of the manual, or writes all pages.
pub(crate) fn man(arguments: &ManArguments) -> Result<u8, CommandError> {
    let mut all = Arguments::command().disable_help_subcommand(true);
    // Arguments of commands are described only when they are built.
    all.build();
    let Some(folder) = &arguments.output else {
        let described = match &arguments.command {
            None => Some(&all),
            Some(name) => all.find_subcommand(name),
        };
        let unknown = || CommandError::Usage("man: there is no such command".to_owned());
        let page = page(described.ok_or_else(unknown)?)?;
        let mut out = Output::open(None)?;
        out.write_all(&page)?;
        out.finish()?;
        return Ok(0);
    };
    fs::create_dir_all(folder)?;
    for command in std::iter::once(&all).chain(all.get_subcommands()) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let mut out = Output::file(&folder.join(format!("{name}.1")))?;
        out.write_all(&page(command)?)?;
        out.finish()?;
    }
    Ok(0)
}

/// Returns the page of a command as roff.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command.clone())
        .source(concat!("warpbound ", env!("CARGO_PKG_VERSION")))
        .render(&mut text)?;
    Ok(text)
}
