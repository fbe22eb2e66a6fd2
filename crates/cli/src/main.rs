//! `warpbound`: bounds of GPU kernels from their machine code.
//!
//! The only crate that prints. Exit codes: 0 done, 2 some kernel has no bound, 3 unusable input,
//! 64 wrong usage.

mod arguments;
mod progress;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;
use warpbound_base::Diagnostic;
use warpbound_driver::{FactsFile, Kernel, Options, Session};
use warpbound_report::bound::Status;
use warpbound_report::to_json;

use arguments::{Arguments, BoundFormat, Command, GraphFormat, Style};
use progress::Progress;

const NO_BOUND: u8 = 2;
const UNUSABLE: u8 = 3;
const USAGE: u8 = 64;

/// The largest input; the cubins of big libraries have some ten million bytes.
const MOST_BYTES: u64 = 256 << 20;

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
        Ok(Output { text, code }) => match std::io::stdout().lock().write_all(text.as_bytes()) {
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
struct Output {
    text: String,
    code: u8,
}

impl Output {
    fn done(text: String) -> Output {
        Output { text, code: 0 }
    }
}

fn run(command: Command) -> Result<Output, Diagnostic> {
    match command {
        Command::List { file } => {
            let report = open(&file)?.list();
            let mut output = Output::done(report.text());
            if let Some(why) = report.refused {
                // The names of the kernels are worth printing all the same.
                eprintln!("warpbound: {}", Diagnostic::new(why).in_file(report.file));
                output.code = UNUSABLE;
            }
            Ok(output)
        }
        Command::Disasm {
            file,
            kernel,
            style,
        } => {
            let session = open(&file)?;
            let mut text = String::new();
            for kernel in kernels(&session, &file, kernel.as_deref())? {
                if !text.is_empty() {
                    text.push('\n');
                }
                match style {
                    Style::Columns => text.push_str(&session.disassemble(kernel)?.columns()),
                    Style::Nvdisasm => session.disassemble_plain(kernel, &mut text)?,
                }
            }
            Ok(Output::done(text))
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
            Ok(Output::done(text))
        }
        Command::Facts { file, kernel } => {
            let session = open(&file)?;
            let kernels = kernels(&session, &file, kernel.as_deref())?;
            Ok(Output::done(session.facts(&kernels)?))
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
            let kernels = kernels(&session, &file, kernel.as_deref())?;
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
            let code = if bounded { 0 } else { NO_BOUND };
            Ok(Output { text, code })
        }
    }
}

fn open(path: &Path) -> Result<Session, Diagnostic> {
    let name = path.display().to_string();
    let contents = read(path, &name)?;
    Session::open(&name, &contents)
}

/// The kernel of a name, or all; at least one.
fn kernels<'a>(
    session: &'a Session,
    file: &Path,
    name: Option<&str>,
) -> Result<Vec<&'a Kernel>, Diagnostic> {
    let kernels = session.kernels(name)?;
    if kernels.is_empty() {
        let hint = "`warpbound list` prints what it has";
        return Err(Diagnostic::new("the file has no kernels")
            .hint(hint)
            .in_file(file.display().to_string()));
    }
    Ok(kernels)
}

fn read_facts(session: &Session, path: &Path) -> Result<FactsFile, Diagnostic> {
    let name = path.display().to_string();
    let contents = read(path, &name)?;
    let text = std::str::from_utf8(&contents).map_err(|error| {
        let before = contents.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Diagnostic::new("not UTF-8 text")
            .at(format_args!("line {line}"))
            .in_file(name.as_str())
    })?;
    let facts = FactsFile::parse(&name, text)?;
    session.check_facts(&facts)?;
    Ok(facts)
}

/// The contents of a file, which may be a pipe but not one without end.
fn read(path: &Path, name: &str) -> Result<Vec<u8>, Diagnostic> {
    let refused = |what: String| Diagnostic::new(what).in_file(name);
    let unreadable = |error: std::io::Error| refused(format!("cannot be read: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    let mut contents = Vec::new();
    let size = file.metadata().map_err(unreadable)?.len();
    if size <= MOST_BYTES {
        let mut limited = file.take(MOST_BYTES + 1);
        limited.read_to_end(&mut contents).map_err(unreadable)?;
    }
    if size.max(contents.len() as u64) > MOST_BYTES {
        let most = MOST_BYTES >> 20;
        return Err(refused(format!(
            "larger than {most} MiB, which no input of warpbound is"
        )));
    }
    Ok(contents)
}
