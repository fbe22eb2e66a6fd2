//! `warpbound`: bounds of GPU kernels from their machine code.
//!
//! The only crate that prints. Exit codes: 0 done, 2 some kernel has no bound, 3 unusable input,
//! 64 wrong usage.

mod arguments;
mod progress;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;
use warpbound_base::Diagnostic;
use warpbound_driver::{FactsFile, Options, Session};
use warpbound_report::bound::Status;
use warpbound_report::to_json;

use arguments::{Arguments, BoundFormat, Command, GraphFormat, Style};
use progress::Progress;

const NO_BOUND: u8 = 2;
const UNUSABLE: u8 = 3;
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nothing can be done about a closed terminal.
            let _ = error.print();
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
                _ => ExitCode::from(USAGE),
            };
        }
    };
    match run(arguments.command) {
        Ok((text, code)) => match std::io::stdout().lock().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::from(code),
            // A reader that has seen enough (`head`) is no error.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(code),
            Err(error) => {
                eprintln!("warpbound: standard output: {error}");
                ExitCode::from(UNUSABLE)
            }
        },
        Err(diagnostic) => {
            eprintln!("warpbound: {diagnostic}");
            ExitCode::from(UNUSABLE)
        }
    }
}

/// What to print, and the exit code.
fn run(command: Command) -> Result<(String, u8), Diagnostic> {
    match command {
        Command::List { file } => {
            let report = open(&file)?.list();
            let code = if report.refused.is_some() { UNUSABLE } else { 0 };
            Ok((report.text(), code))
        }
        Command::Disasm { file, kernel, style } => {
            let session = open(&file)?;
            let mut text = String::new();
            for kernel in session.kernels(kernel.as_deref())? {
                let listing = session.disassemble(kernel)?;
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&match style {
                    Style::Columns => listing.columns(),
                    Style::Nvdisasm => listing.nvdisasm(),
                });
            }
            Ok((text, 0))
        }
        Command::Cfg {
            file,
            kernel,
            level,
            format,
            launch,
            domains,
        } => {
            let session = open(&file)?;
            let options = Options {
                block: launch.block,
                model: domains.model(),
                ..Options::default()
            };
            let mut text = String::new();
            for kernel in session.kernels(Some(&kernel))? {
                let graph = session.graph(kernel, level.into(), &options)?;
                text.push_str(&match format {
                    GraphFormat::Text => graph.text(),
                    GraphFormat::Dot => graph.dot(),
                    GraphFormat::Json => to_json(&graph),
                    GraphFormat::Svg => graph.svg(),
                });
            }
            Ok((text, 0))
        }
        Command::Facts { file, kernel } => {
            let session = open(&file)?;
            let kernels = session.kernels(kernel.as_deref())?;
            Ok((session.facts(&kernels)?, 0))
        }
        Command::Bound {
            file,
            kernel,
            facts,
            loop_default,
            launch,
            domains,
            flow,
            format,
            cost: _,
        } => {
            let session = open(&file)?;
            let facts = match facts {
                Some(path) => read_facts(&session, &path)?,
                None => FactsFile::default(),
            };
            let options = Options {
                block: launch.block,
                model: domains.model(),
                reading: flow.into(),
                facts,
                loop_default,
            };
            let kernels = session.kernels(kernel.as_deref())?;
            let mut progress = Progress::new(kernels.len());
            let report = session.bounds(&kernels, &options, |index, kernel| {
                progress.show(index, &kernel.name);
            });
            progress.clear();
            let report = report?;
            let bounded = report.kernels.iter().all(|k| k.status == Status::Bounded);
            let text = match format {
                BoundFormat::Text => report.text(),
                BoundFormat::Json => to_json(&report),
            };
            Ok((text, if bounded { 0 } else { NO_BOUND }))
        }
    }
}

fn open(path: &Path) -> Result<Session, Diagnostic> {
    let name = path.display().to_string();
    let contents = std::fs::read(path).map_err(|e| unreadable(&name, &e))?;
    Session::open(&name, &contents)
}

fn read_facts(session: &Session, path: &Path) -> Result<FactsFile, Diagnostic> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(&name, &e))?;
    let facts = FactsFile::parse(&name, &text)?;
    session.check_facts(&facts)?;
    Ok(facts)
}

fn unreadable(file: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot be read: {error}")).in_file(file)
}
