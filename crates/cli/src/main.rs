//! `warpbound`: bounds of GPU kernels from their machine code.
//!
//! The only crate that prints. Exit codes: 0 done, 1 an audit found a violation, 2 some kernel has no bound,
//! 3 unusable input, 64 wrong usage.

mod arguments;
mod audit;
mod input;
mod output;
mod progress;
mod run;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use clap::error::ErrorKind;
use warpbound_base::Diagnostic;
use warpbound_driver::audit::AuditRuns;
use warpbound_driver::{FactsFile, GridFile, Library, Options, Selection, Session};
use warpbound_report::bound::Status;
use warpbound_report::{BoundWriter, KernelBound, to_json};

use arguments::{
    Arguments, Command, Domains, FactsArguments, Format, GraphFormat, Input, LaunchArguments, Style,
};
use output::Output;
use progress::Progress;

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
            eprintln!("warpbound: {diagnostic}");
            ExitCode::from(UNUSABLE)
        }
        // A reader that has seen enough (`head`) is no error.
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Stop::Output(error)) => {
            eprintln!("warpbound: output: {error}");
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
        Command::List { input } => list(&input),
        Command::Disasm {
            input,
            kernel,
            style,
        } => disasm(&input, kernel.as_deref(), style),
        Command::Cfg {
            input,
            kernel,
            level,
            format,
            launch,
            domains,
        } => {
            let options = flow_options(&launch, &domains);
            let library = input::library(&input.file)?;
            let images = library.select(&input.selection())?;
            let (session, index) = library.only_kernel(&images, &kernel)?;
            let graph = session.graph(session.kernel_at(index)?, level.into(), &options)?;
            let text = match format {
                GraphFormat::Text => graph.text(),
                GraphFormat::Dot => graph.dot(),
                GraphFormat::Json => to_json(&graph),
                GraphFormat::Svg => graph.svg(),
            };
            let mut out = Output::stdout();
            out.write_all(text.as_bytes())?;
            out.finish()?;
            Ok(0)
        }
        Command::Run(arguments) => run::run(&arguments),
        Command::Cta {
            input,
            launch,
            facts,
            format,
        } => {
            let library = input::library(&input.file)?;
            let options = facts_options(&library, facts)?;
            let (file, machine) = input::launch(&launch.launch, launch.machine.as_deref())?;
            let session = library.only_session(&input.selection())?;
            let kernel = session.launched(launch.kernel.as_deref(), &file)?;
            let report = session.cta(kernel, &file, &machine, &options)?;
            let text = match format {
                GraphFormat::Text => report.text(),
                GraphFormat::Json => to_json(&report),
                GraphFormat::Dot => report.dot(),
                GraphFormat::Svg => report.svg(),
            };
            let mut out = Output::stdout();
            out.write_all(text.as_bytes())?;
            out.finish()?;
            Ok(if report.sound.is_some() { 0 } else { NO_BOUND })
        }
        Command::Audit {
            input,
            launch,
            facts,
            runs,
            seed,
            max_instructions,
            write_facts,
            format,
        } => {
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
            )
        }
        Command::Divergence {
            input,
            kernel,
            format,
            launch,
            domains,
        } => {
            let options = flow_options(&launch, &domains);
            divergence(&input, kernel.as_deref(), &options, format)
        }
        Command::Facts { input, kernel } => facts(&input, kernel.as_deref()),
        Command::Bound {
            input,
            kernel,
            facts,
            call_default,
            launch,
            domains,
            flow,
            format,
            output,
            jobs,
            cost: _,
        } => {
            let library = input::library(&input.file)?;
            let options = Options {
                block: launch.block,
                warp_width: launch.warp_width,
                model: domains.model(),
                reading: flow.into(),
                call_default,
                ..facts_options(&library, facts)?
            };
            let jobs = jobs.and_then(|jobs| usize::try_from(jobs).ok());
            let out = match &output {
                Some(path) => Output::file(path)?,
                None => Output::stdout(),
            };
            let report = BoundWriter::new(out, format.into(), &input.file.display().to_string());
            let wanted = Wanted {
                library: &library,
                selection: input.selection(),
                kernel: kernel.as_deref(),
            };
            bound(&wanted, &options, jobs, report)
        }
    }
}

fn flow_options(launch: &LaunchArguments, domains: &Domains) -> Options {
    Options {
        block: launch.block,
        warp_width: launch.warp_width,
        model: domains.model(),
        ..Options::default()
    }
}

fn facts_options(library: &Library, facts: FactsArguments) -> Result<Options, Diagnostic> {
    Ok(Options {
        facts: match facts.facts {
            Some(path) => input::facts(library, &path)?,
            None => FactsFile::default(),
        },
        loop_default: facts.loop_default,
        ..Options::default()
    })
}

/// The image whose kernel is launched: the one that has it, or the only one.
fn launched_session(
    library: &Library,
    input: &Input,
    kernel: Option<&str>,
    grid: &GridFile,
) -> Result<Arc<Session>, Diagnostic> {
    let images = library.select(&input.selection())?;
    match kernel.or(grid.kernel.as_deref()) {
        Some(name) => Ok(library.only_kernel(&images, name)?.0),
        None => Ok(Arc::new(library.only_session(&input.selection())?)),
    }
}

fn list(input: &Input) -> Result<u8, Stop> {
    let library = input::library(&input.file)?;
    let selection = input.selection();
    let mut out = Output::stdout();
    let all = selection.image.is_none() && selection.sm.is_none();
    if all && !library.is_single() {
        out.write_all(library.directory().text().as_bytes())?;
        out.finish()?;
        return Ok(0);
    }
    let mut code = 0;
    for (count, number) in library.select(&selection)?.into_iter().enumerate() {
        let report = match library.session(number) {
            Ok(session) => session.list(),
            Err(diagnostic) => {
                out.flush()?;
                code = unusable(&library, diagnostic)?;
                continue;
            }
        };
        if count > 0 {
            writeln!(out)?;
        }
        out.write_all(report.text().as_bytes())?;
        if let Some(why) = report.refused {
            // The names of the kernels are worth printing all the same.
            out.flush()?;
            eprintln!("warpbound: {}", Diagnostic::new(why).in_file(report.file));
            code = UNUSABLE;
        }
    }
    out.finish()?;
    Ok(code)
}

fn disasm(input: &Input, kernel: Option<&str>, style: Style) -> Result<u8, Stop> {
    let mut first = true;
    let mut text = String::new();
    each_kernel(input, kernel, |session, index, out| {
        let kernel = session.kernel_at(index)?;
        text.clear();
        if !first {
            text.push('\n');
        }
        first = false;
        match style {
            Style::Columns => text.push_str(&session.disassemble(kernel)?.columns()),
            Style::Nvdisasm => session.disassemble_plain(kernel, &mut text)?,
        }
        Ok(out.write_all(text.as_bytes())?)
    })
}

fn divergence(
    input: &Input,
    kernel: Option<&str>,
    options: &Options,
    format: Format,
) -> Result<u8, Stop> {
    let mut first = true;
    let mut refused = Vec::new();
    let code = each_kernel(input, kernel, |session, index, out| {
        let report = match session.divergence(session.kernel_at(index)?, options) {
            Ok(report) => report,
            // One kernel that cannot be followed is no reason to say nothing about the others.
            Err(diagnostic) => {
                refused.push(diagnostic);
                return Ok(());
            }
        };
        if !first && format == Format::Text {
            out.write_all(b"\n")?;
        }
        first = false;
        let text = match format {
            Format::Text => report.text(),
            Format::Json => to_json(&report),
        };
        Ok(out.write_all(text.as_bytes())?)
    })?;
    for diagnostic in &refused {
        eprintln!("warpbound: {diagnostic}");
    }
    Ok(if refused.is_empty() { code } else { UNUSABLE })
}

fn facts(input: &Input, kernel: Option<&str>) -> Result<u8, Stop> {
    let mut first = true;
    each_kernel(input, kernel, |session, index, out| {
        if first {
            out.write_all(Session::FACTS_HEAD.as_bytes())?;
        }
        first = false;
        let text = session.facts(session.kernel_at(index)?)?;
        Ok(out.write_all(text.as_bytes())?)
    })
}

/// Does something with each kernel that was asked for; there must be one.
fn each_kernel(
    input: &Input,
    name: Option<&str>,
    mut work: impl FnMut(&Session, usize, &mut Output) -> Result<(), Stop>,
) -> Result<u8, Stop> {
    let library = input::library(&input.file)?;
    let mut out = Output::stdout();
    let images = library.select(&input.selection())?;
    let (mut none, mut code) = (true, 0);
    for item in library.kernels(&images, name) {
        match item {
            Ok((session, index)) => {
                none = false;
                work(&session, index, &mut out)?;
            }
            Err(diagnostic) => {
                out.flush()?;
                code = unusable(&library, diagnostic)?;
            }
        }
    }
    if none {
        return Err(library.no_kernel(&images, name).into());
    }
    out.finish()?;
    Ok(code)
}

/// In a library, one image that is damaged is no reason to say nothing about the others.
fn unusable(library: &Library, diagnostic: Diagnostic) -> Result<u8, Stop> {
    if library.is_single() {
        return Err(Stop::Input(diagnostic));
    }
    eprintln!("warpbound: {diagnostic}");
    Ok(UNUSABLE)
}

/// What is to be bounded.
struct Wanted<'a> {
    library: &'a Library,
    selection: Selection,
    kernel: Option<&'a str>,
}

fn bound(
    wanted: &Wanted<'_>,
    options: &Options,
    jobs: Option<usize>,
    mut report: BoundWriter<Output>,
) -> Result<u8, Stop> {
    let images = wanted.library.select(&wanted.selection)?;
    let jobs = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let mut progress = Progress::new();
    let (mut none, mut code) = (true, 0);
    let each = |result: Result<KernelBound, Diagnostic>| {
        match result {
            Ok(kernel) => {
                none = false;
                let place = kernel.image.and_then(|n| images.binary_search(&n).ok());
                progress.show(&kernel, place.unwrap_or(0), images.len());
                if kernel.status != Status::Bounded {
                    code = code.max(NO_BOUND);
                }
                report.kernel(&kernel)?;
            }
            Err(diagnostic) => {
                progress.clear();
                code = unusable(wanted.library, diagnostic)?;
            }
        }
        Ok(())
    };
    let done: Result<(), Stop> = wanted
        .library
        .bounds(&images, wanted.kernel, options, jobs, each);
    progress.clear();
    done?;
    if none {
        return Err(wanted.library.no_kernel(&images, wanted.kernel).into());
    }
    report.finish()?.finish()?;
    Ok(code)
}
