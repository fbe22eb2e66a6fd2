//! `warpbound`: bounds, simulation and audits of GPU kernels from their machine code.
//!
//! Only this crate prints. Exit codes: 0 success, 1 an audit found a violation or a limit is exceeded, 2 some kernel
//! has no bound, 3 unusable input, 64 wrong usage. For example, a damaged file gives 3, and an unknown option 64.
//!
//! # Concepts
//!
//! * commands and their arguments: `cli/src/commands.rs`, `arguments.rs`
//! * completions and manual: `cli/src/manual.rs`
//! * colours of messages, `--quiet`: `cli/src/messages.rs`; tests: `cli/tests/it/messages.rs`

mod arguments;
mod audit;
mod audit_counts;
mod bound;
mod bound_set;
mod builds;
mod commands;
mod cta;
mod cycle_limit;
mod diff;
mod extract;
mod gap;
mod gate;
mod graph;
mod hybrid;
mod instrument;
mod kernels;
mod later;
mod launches;
mod lint;
mod list;
mod manual;
mod messages;
mod metrics;
mod output;
mod pages;
mod predict;
mod probes;
mod progress;
mod rows;
mod run;
mod run_rows;
mod run_set;
mod source_lines;
mod splits;
mod stages;
mod values;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use warpbound_base::Diagnostic;
use warpbound_query::FactsFile;
use warpbound_query::{BoundOptions, Library, Session, input};
use warpbound_query::{LaunchFile, LaunchSet};
use warpbound_report::LeftOutImages;

use arguments::{Arguments, DomainArguments, FactsArguments, Input, LaunchArguments};
use launches::launch_options;
use output::Output;

const VIOLATED: u8 = 1;
const NO_BOUND: u8 = 2;
const UNUSABLE: u8 = 3;
const USAGE: u8 = 64;

fn main() -> ExitCode {
    // Found before parsing, because errors of parsing have colours too.
    let color = messages::stated_color(std::env::args_os().filter_map(|a| a.into_string().ok()));
    let parsed = Arguments::command().color(color).try_get_matches();
    let parsed = parsed.and_then(|mut matches| Arguments::from_arg_matches_mut(&mut matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            // If the terminal is closed, there is no place to report the error.
            let _ = error.print();
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
                _ => ExitCode::from(USAGE),
            };
        }
    };
    messages::configure(arguments.messages);
    match commands::execute(&arguments.command) {
        Ok(code) => ExitCode::from(code),
        Err(CommandError::Usage(message)) => {
            let wrong = Arguments::command()
                .color(color)
                .error(ErrorKind::ArgumentConflict, message);
            let _ = wrong.print();
            ExitCode::from(USAGE)
        }
        Err(CommandError::Input(diagnostic)) => {
            print_diagnostic(&diagnostic);
            ExitCode::from(UNUSABLE)
        }
        // A reader that closes the pipe early, such as `head`, is no error.
        Err(CommandError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(CommandError::Output(error)) => {
            messages::error(&error);
            ExitCode::from(UNUSABLE)
        }
    }
}

/// Error that stops a command.
enum CommandError {
    /// Options that do not go together.
    Usage(String),
    Input(Diagnostic),
    Output(io::Error),
}

impl From<Diagnostic> for CommandError {
    fn from(diagnostic: Diagnostic) -> CommandError {
        CommandError::Input(diagnostic)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> CommandError {
        CommandError::Output(error)
    }
}

/// Returns the options for an analysis of control flow.
fn flow_options(
    library: &Library,
    launch: &LaunchArguments,
    domains: &DomainArguments,
) -> Result<BoundOptions, Diagnostic> {
    let options = BoundOptions {
        model: domains.model(),
        ..BoundOptions::default()
    };
    launch_options(library, launch, options)
}

/// Returns options with the user's flow facts.
fn facts_options(library: &Library, facts: &FactsArguments) -> Result<BoundOptions, Diagnostic> {
    Ok(BoundOptions {
        facts: match &facts.facts {
            Some(path) => input::facts(library, path)?,
            None => FactsFile::default(),
        },
        loop_default: facts.loop_default,
        ..BoundOptions::default()
    })
}

/// Returns the image whose kernel is launched: the image that contains it, or the only image. Also names other images
/// that have the kernel but cannot be used.
fn launched_session(
    library: &Library,
    input: &Input,
    kernel: Option<&str>,
    grid: &LaunchFile,
) -> Result<Arc<Session>, Diagnostic> {
    let name = kernel.or(grid.kernel.as_deref());
    // A launch uses one image, so the exit code of the other images does not count.
    left_out_code(&library.left_out(&input.selection(), name), false);
    library.launched_session(&input.selection(), kernel, grid)
}

/// Returns the numbers of the selected images. Names unlinked copies, which are left out, on standard error.
fn select(library: &Library, input: &Input) -> Result<Vec<usize>, Diagnostic> {
    let selection = input.selection();
    let images = library.select(&selection)?;
    // An image that was asked for by number is never left out.
    if selection.image.is_none() {
        for copy in library.unlinked_copies() {
            if images.contains(&copy.linked) {
                messages::note(&format_args!(
                    "{} image {} is not linked and left out: image {} has its kernels linked (--image {} for the copies)",
                    library.name(),
                    copy.image,
                    copy.linked,
                    copy.image
                ));
            }
        }
    }
    Ok(images)
}

/// Returns the session with the kernels of a launch set.
fn session_of_set(
    library: &Library,
    input: &Input,
    kernel: Option<&str>,
    set: &LaunchSet,
) -> Result<Arc<Session>, Diagnostic> {
    if kernel.is_some() {
        let message = "--kernel is for one launch: a launch set names its kernels";
        return Err(Diagnostic::new(message).in_file(set.file.as_str()));
    }
    let images = select(library, input)?;
    let names = set.launches.iter();
    // A launch without a name launches the only kernel, which then is the kernel of all launches with a name too.
    match names
        .filter_map(|launch| launch.launch.kernel.as_deref())
        .next()
    {
        Some(name) => Ok(library.only_kernel(&images, name)?.0),
        None => Ok(Arc::new(library.only_session(&input.selection())?)),
    }
}

/// Writes a report.
fn print(mut out: Output, text: &str) -> Result<(), CommandError> {
    out.write_all(text.as_bytes())?;
    Ok(out.finish()?)
}

/// Returns the exit code of a query that left these images out. Prints their names to standard error unless the
/// answer on standard output names them.
fn left_out_code(left_out: &[LeftOutImages], is_shown: bool) -> u8 {
    for images in left_out.iter().filter(|_| !is_shown) {
        messages::error(&images.message());
    }
    match left_out.is_empty() {
        true => 0,
        false => NO_BOUND,
    }
}

/// Prints a diagnostic to standard error.
fn print_diagnostic(diagnostic: &Diagnostic) {
    messages::error(diagnostic);
}
