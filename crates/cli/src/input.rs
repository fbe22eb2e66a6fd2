//! Files that the user names.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_driver::{
    Bytes, GpuModel, FactsFile, FileSource, LaunchFile, MiniLaunchFile, Library, Machine,
};

/// The largest input that comes through a pipe, and the largest facts file.
const MOST_BYTES: u64 = 256 << 20;

/// The largest file with numbers of a buffer: all buffers together, and a header.
const MOST_DATA: u64 = LaunchFile::MOST_BYTES + (1 << 20);

/// The name of standard input in messages and reports.
pub(crate) const STDIN: &str = "standard input";

/// A file with machine code, or standard input where it is `-`. Of a regular file only what is asked for is read.
pub(crate) fn library(path: &Path) -> Result<Library, Diagnostic> {
    if path == Path::new("-") {
        let contents = read(std::io::stdin().lock(), STDIN, MOST_BYTES);
        return Library::open(STDIN, Bytes::from(contents?));
    }
    let name = path.display().to_string();
    let unreadable = |error: std::io::Error| unreadable(&name, &error);
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_file() {
        let source = FileSource::new(file).map_err(unreadable)?;
        return Library::open(&name, source);
    }
    Library::open(&name, Bytes::from(read(file, &name, MOST_BYTES)?))
}

pub(crate) fn facts(library: &Library, path: &Path) -> Result<FactsFile, Diagnostic> {
    let facts = FactsFile::parse(&path.display().to_string(), &text(path)?)?;
    library.check_facts(&facts)?;
    Ok(facts)
}

/// A launch, and the machine that it is for: `machine`, or else what the launch file names.
pub(crate) fn launch(
    path: &Path,
    machine: Option<&str>,
) -> Result<(MiniLaunchFile, Machine), Diagnostic> {
    let text = text(path)?;
    let launch = MiniLaunchFile::parse(&path.display().to_string(), &text);
    let launch = launch.map_err(|diagnostic| match has_key(&text, "grid") {
        true => diagnostic.hint("this is a launch of a GPU kernel, and the kernel is mini-SIMT"),
        false => diagnostic,
    })?;
    let machine = match (machine, &launch.machine) {
        (Some(name), _) => machine_of(name, Path::new(""))?,
        (None, Some(name)) => {
            let folder = path.parent().unwrap_or(Path::new(""));
            machine_of(name, folder).map_err(|d| d.in_file(launch.file.as_str()))?
        }
        (None, None) => Machine::built_in(Machine::DEFAULT)?,
    };
    Ok((launch, machine))
}

/// A machine for GPU kernels: a file, or one that comes with warpbound.
pub(crate) fn device(name: &str) -> Result<GpuModel, Diagnostic> {
    if !name.ends_with(".toml") {
        return GpuModel::built_in(name);
    }
    GpuModel::parse(name, &text(Path::new(name))?)
}

/// A launch of a grid.
pub(crate) fn grid(path: &Path) -> Result<LaunchFile, Diagnostic> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let contents = |name: &str| {
        let path = folder.join(name);
        let name = path.display().to_string();
        let file = File::open(&path).map_err(|error| unreadable(&name, &error))?;
        read(file, &name, MOST_DATA)
    };
    let text = text(path)?;
    let grid = LaunchFile::parse(&path.display().to_string(), &text, &contents);
    grid.map_err(|diagnostic| match has_key(&text, "threads") {
        true => {
            diagnostic.hint("this is a launch of a mini-SIMT kernel, and the kernel is for a GPU")
        }
        false => diagnostic,
    })
}

/// Tells if a line of a file begins with a key.
fn has_key(text: &str, key: &str) -> bool {
    let of_line = |line: &str| line.split('=').next().map(str::trim) == Some(key);
    text.lines().any(of_line)
}

/// The machine of a name, or of a file in a folder.
fn machine_of(name: &str, folder: &Path) -> Result<Machine, Diagnostic> {
    if !name.ends_with(".toml") {
        return Machine::built_in(name);
    }
    let path = folder.join(name);
    Machine::parse(&path.display().to_string(), &text(&path)?)
}

fn text(path: &Path) -> Result<String, Diagnostic> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
    let contents = read(file, &name, MOST_BYTES)?;
    String::from_utf8(contents).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..valid).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Diagnostic::new("not UTF-8 text")
            .at(format_args!("line {line}"))
            .in_file(name.as_str())
    })
}

/// The contents of a file of at most so many bytes, which may be a pipe but not one without end.
fn read(file: impl Read, name: &str, most: u64) -> Result<Vec<u8>, Diagnostic> {
    let mut contents = Vec::new();
    let mut limited = file.take(most + 1);
    limited
        .read_to_end(&mut contents)
        .map_err(|error| unreadable(name, &error))?;
    if contents.len() as u64 > most {
        let most = most >> 20;
        return Err(Diagnostic::new(format!(
            "larger than {most} MiB, which no input of warpbound is"
        ))
        .in_file(name));
    }
    Ok(contents)
}

fn unreadable(name: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot be read: {error}")).in_file(name)
}
