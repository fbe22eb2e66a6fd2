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
mod common;
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

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use commands::Arguments;
use common::{CommandError, UNUSABLE, USAGE, print_diagnostic};

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
