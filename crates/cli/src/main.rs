//! `warpbound`: bounds of GPU kernels from their machine code.
//!
//! The only crate that prints. Exit codes: 0 done, 1 an audit found a violation, 2 some kernel has no bound,
//! 3 unusable input, 64 wrong usage.

mod arguments;
mod audit;
mod bound;
mod extract;
mod input;
mod kernels;
mod later;
mod list;
mod output;
mod progress;
mod run;
mod values;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use clap::error::ErrorKind;
use warpbound_base::Diagnostic;
use warpbound_driver::audit::AuditRuns;
use warpbound_driver::{FactsFile, LaunchFile, Library, BoundOptions, Session};
use warpbound_report::{BoundWriter, to_json};

use arguments::{Arguments, Command, Domains, FactsArguments, GraphFormat, Input, LaunchArguments};
use bound::Wanted;
use output::Output;

const VIOLATED: u8 = 1;
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
    match execute(arguments.command) {
        Ok(code) => ExitCode::from(code),
        Err(Stop::Input(diagnostic)) => {
            say(&diagnostic);
            ExitCode::from(UNUSABLE)
        }
        // A reader that has seen enough (`head`) is no error.
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Stop::Output(error)) => {
            eprintln!("warpbound: {error}");
            ExitCode::from(UNUSABLE)
        }
    }
}

/// Why a command stops before its end.
enum Stop {
    Input(Diagnostic),
    Output(io::Error),
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Stop {
        Stop::Input(diagnostic)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Output(error)
    }
}

/// Does what was asked; the exit code.
fn execute(command: Command) -> Result<u8, Stop> {
    match command {
        Command::List(arguments) => {
            let arguments::ListArguments {
                input,
                kernel,
                format,
                output,
            } = *arguments.0;
            list::list(&input, kernel.as_deref(), format, &output)
        }
        Command::Extract(arguments) => {
            let arguments::ExtractArguments {
                input,
                kernel,
                output,
            } = *arguments.0;
            extract::extract(&input, kernel.as_deref(), output.as_deref())
        }
        Command::Disasm(arguments) => {
            let arguments::DisasmArguments {
                input,
                kernel,
                style,
                output,
            } = *arguments.0;
            kernels::disasm(&input, kernel.as_deref(), style, &output)
        }
        Command::Cfg(arguments) => {
            let arguments::CfgArguments {
                input,
                kernel,
                level,
                format,
                output,
                launch,
                domains,
            } = *arguments.0;
            let options = flow_options(&launch, &domains);
            let library = input::library(&input.file)?;
            let images = library.select(&input.selection())?;
            let (session, index) = library.only_kernel(&images, &kernel)?;
            let out = Output::open(output.output.as_deref())?;
            let graph = session.graph(session.kernel_at(index)?, level.into(), &options)?;
            let text = match format {
                GraphFormat::Text => graph.text(),
                GraphFormat::Dot => graph.dot(),
                GraphFormat::Json => to_json(&graph),
                GraphFormat::Svg => graph.svg(),
            };
            print(out, &text)?;
            Ok(0)
        }
        Command::Run(arguments) => run::run(&arguments.0),
        Command::Cta(arguments) => {
            let arguments::CtaArguments {
                input,
                launch,
                facts,
                format,
                output,
            } = *arguments.0;
            let library = input::library(&input.file)?;
            if !library.is_text() {
                let what =
                    "cta bounds blocks of mini-SIMT kernels, and this is machine code of a GPU";
                return Err(Diagnostic::new(what)
                    .in_file(library.name())
                    .hint(
                        "`warpbound bound` bounds the instructions that a warp of it issues, `warpbound run` simulates it",
                    )
                    .into());
            }
            let options = facts_options(&library, facts)?;
            let (file, machine) = input::launch(&launch.launch, launch.machine.as_deref())?;
            let session = library.only_session(&input.selection())?;
            let kernel = session.launched(launch.kernel.as_deref(), &file)?;
            let out = Output::open(output.output.as_deref())?;
            let report = session.cta(kernel, &file, &machine, &options)?;
            let text = match format {
                GraphFormat::Text => report.text(),
                GraphFormat::Json => to_json(&report),
                GraphFormat::Dot => report.dot(),
                GraphFormat::Svg => report.svg(),
            };
            print(out, &text)?;
            Ok(if report.sound.is_some() { 0 } else { NO_BOUND })
        }
        Command::Audit(arguments) => {
            let arguments::AuditArguments {
                input,
                launch,
                facts,
                runs,
                seed,
                max_instructions,
                write_facts,
                format,
                output,
            } = *arguments.0;
            let runs = AuditRuns {
                runs,
                seed,
                max_instructions,
            };
            audit::audit(
                &input,
                &launch,
                facts,
                &runs,
                write_facts.as_deref(),
                format,
                &output,
            )
        }
        Command::Divergence(arguments) => {
            let arguments::DivergenceArguments {
                input,
                kernel,
                format,
                output,
                launch,
                domains,
            } = *arguments.0;
            let options = flow_options(&launch, &domains);
            kernels::divergence(&input, kernel.as_deref(), &options, format, &output)
        }
        Command::Facts(arguments) => {
            let arguments::TemplateArguments {
                input,
                kernel,
                output,
            } = *arguments.0;
            kernels::facts(&input, kernel.as_deref(), &output)
        }
        Command::Bound(arguments) => {
            let arguments::BoundArguments {
                input,
                kernel,
                facts,
                call_default,
                launch,
                domains,
                flow,
                format,
                output,
                explain,
                time_limit,
                timing,
                jobs,
                cost: _,
            } = *arguments.0;
            let library = input::library(&input.file)?;
            let options = BoundOptions {
                block: launch.block,
                warp_width: launch.warp_width,
                model: domains.model(),
                reading: flow.into(),
                call_default,
                time_limit,
                timing,
                ..facts_options(&library, facts)?
            };
            let jobs = jobs.and_then(|jobs| usize::try_from(jobs).ok());
            let out = Output::open(output.output.as_deref())?;
            let spool = tempfile::spooled_tempfile(bound::SPOOLED);
            let report = BoundWriter::new(out, format.into(), &input.name())
                .spooled(spool)
                .explained(explain);
            let wanted = Wanted {
                library: &library,
                selection: input.selection(),
                kernel: kernel.as_deref(),
            };
            bound::bound(&wanted, &options, jobs, report)
        }
    }
}

fn flow_options(launch: &LaunchArguments, domains: &Domains) -> BoundOptions {
    BoundOptions {
        block: launch.block,
        warp_width: launch.warp_width,
        model: domains.model(),
        ..BoundOptions::default()
    }
}

fn facts_options(library: &Library, facts: FactsArguments) -> Result<BoundOptions, Diagnostic> {
    Ok(BoundOptions {
        facts: match facts.facts {
            Some(path) => input::facts(library, &path)?,
            None => FactsFile::default(),
        },
        loop_default: facts.loop_default,
        ..BoundOptions::default()
    })
}

/// The image whose kernel is launched: the one that has it, or the only one.
fn launched_session(
    library: &Library,
    input: &Input,
    kernel: Option<&str>,
    grid: &LaunchFile,
) -> Result<Arc<Session>, Diagnostic> {
    let images = library.select(&input.selection())?;
    match kernel.or(grid.kernel.as_deref()) {
        Some(name) => Ok(library.only_kernel(&images, name)?.0),
        None => Ok(Arc::new(library.only_session(&input.selection())?)),
    }
}

/// Writes a report.
fn print(mut out: Output, text: &str) -> Result<(), Stop> {
    out.write_all(text.as_bytes())?;
    Ok(out.finish()?)
}

/// Says what is wrong.
fn say(diagnostic: &Diagnostic) {
    eprintln!("warpbound: {diagnostic}");
}
