//! Input files: machine code, facts, launches, machines.
//!
//! All readers limit the size of what they read, so that an endless pipe or a wrong file is an error. Files that a
//! launch file names are relative to its folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use warpbound_base::Diagnostic;
use warpbound_ipet::FactsFile;
use warpbound_launch::{LaunchFile, LaunchSet, MarkedSites};
use warpbound_load::{Bytes, FileSource};
use warpbound_machine::GpuModel;

use crate::{Library, mini};

/// Maximum size of an input from a pipe, and of a text file.
const MAX_BYTES: u64 = 256 << 20;

/// Maximum size of a file with buffer contents: the contents of all buffers, and a header.
const MAX_DATA_BYTES: u64 = LaunchFile::MAX_BYTES + (1 << 20);

/// Name of standard input in messages and reports.
pub const STDIN: &str = "standard input";

/// Opens a file with machine code; `-` is standard input. Parts of a regular file are read on demand.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn library(path: &Path) -> Result<Library, Diagnostic> {
    if path == Path::new("-") {
        let contents = read(std::io::stdin().lock(), STDIN, MAX_BYTES);
        return Library::open(STDIN, Bytes::from(contents?));
    }
    let name = path.display().to_string();
    let unreadable = |error: std::io::Error| unreadable(&name, &error);
    let file = File::open(path).map_err(unreadable)?;
    // Only regular files can be read at an offset; pipes and devices are read as a whole.
    if file.metadata().map_err(unreadable)?.is_file() {
        let source = FileSource::new(file).map_err(unreadable)?;
        return Library::open(&name, source);
    }
    Library::open(&name, Bytes::from(read(file, &name, MAX_BYTES)?))
}

/// Whether a file begins like a cubin, a code object, a fat binary or an offload bundle.
pub fn begins_like_code(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = File::open(path).map(|file| file.take(64));
    let read = file.and_then(|mut file| file.read_to_end(&mut head));
    read.is_ok() && warpbound_load::begins_like_code(&head)
}

/// Reads a facts file and checks that its facts are about kernels of the library.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn facts(library: &Library, path: &Path) -> Result<FactsFile, Diagnostic> {
    let facts = FactsFile::parse(&path.display().to_string(), &text(path)?)?;
    library.check_facts(&facts)?;
    Ok(facts)
}

/// Reads a mini-SIMT launch and its machine: `machine`, else the one that the launch file names, else the default.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn launch(
    path: &Path,
    machine: Option<&str>,
) -> Result<(mini::LaunchFile, mini::Machine), Diagnostic> {
    let read_text = text(path)?;
    let launch = mini::LaunchFile::parse(&path.display().to_string(), &read_text);
    // A mix-up of the two kinds of launch files is recognised by a key that only the other kind has.
    let launch = launch.map_err(|diagnostic| match has_key(&read_text, "grid") {
        true => diagnostic.hint("this is a launch of a GPU kernel, and the kernel is mini-SIMT"),
        false => diagnostic,
    })?;
    let machine = match (machine, &launch.machine) {
        // A name from the command line is relative to the working directory.
        (Some(name), _) => read_machine(name, Path::new(""))?,
        (None, Some(name)) => {
            let folder = path.parent().unwrap_or(Path::new(""));
            read_machine(name, folder).map_err(|d| d.in_file(launch.file.as_str()))?
        }
        (None, None) => mini::Machine::built_in(mini::Machine::DEFAULT)?,
    };
    Ok((launch, machine))
}

/// Returns the model of a GPU: from a file, or a built-in one.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn gpu_model(name: &str) -> Result<GpuModel, Diagnostic> {
    if !name.ends_with(".toml") {
        return GpuModel::built_in(name);
    }
    GpuModel::parse(name, &text(Path::new(name))?)
}

/// Reads a marks file.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn marks(name: &str) -> Result<MarkedSites, Diagnostic> {
    MarkedSites::parse(name, &text(Path::new(name))?)
}

/// A launch of a grid, or a launch set.
pub enum Launches {
    /// One launch.
    One(Box<LaunchFile>),
    /// The launches of a host program.
    Set(Box<LaunchSet>),
}

/// Reads a launch of a grid, or a launch set.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn launches(path: &Path) -> Result<Launches, Diagnostic> {
    let text = text(path)?;
    let contents = |name: &str| data(path, name);
    if LaunchSet::is_set(&text) {
        let set = LaunchSet::parse(&path.display().to_string(), &text, &contents)?;
        return Ok(Launches::Set(Box::new(set)));
    }
    let grid = LaunchFile::parse(&path.display().to_string(), &text, &contents);
    let grid = grid.map_err(|diagnostic| match has_key(&text, "threads") {
        true => {
            diagnostic.hint("this is a launch of a mini-SIMT kernel, and the kernel is for a GPU")
        }
        false => diagnostic,
    })?;
    Ok(Launches::One(Box::new(grid)))
}

/// Reads a launch of a grid.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn grid(path: &Path) -> Result<LaunchFile, Diagnostic> {
    match launches(path)? {
        Launches::One(grid) => Ok(*grid),
        Launches::Set(set) => Err(Diagnostic::new("this is a launch set, not one launch")
            .in_file(set.file)
            .hint("run, audit and bound --cost cycles take launch sets")),
    }
}

/// Reads a file that a launch file refers to, relative to the folder of the launch file.
fn data(launch: &Path, name: &str) -> Result<Vec<u8>, Diagnostic> {
    let path = launch.parent().unwrap_or(Path::new("")).join(name);
    let name = path.display().to_string();
    let file = File::open(&path).map_err(|error| unreadable(&name, &error))?;
    read(file, &name, MAX_DATA_BYTES)
}

/// Reads a file of numbers.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn contents(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
    read(file, &name, MAX_DATA_BYTES)
}

/// Whether a line of a file starts with a key.
fn has_key(text: &str, key: &str) -> bool {
    let of_line = |line: &str| line.split('=').next().map(str::trim) == Some(key);
    text.lines().any(of_line)
}

/// Returns the mini-SIMT machine of a name, or of a file in a folder.
fn read_machine(name: &str, folder: &Path) -> Result<mini::Machine, Diagnostic> {
    if !name.ends_with(".toml") {
        return mini::Machine::built_in(name);
    }
    let path = folder.join(name);
    mini::Machine::parse(&path.display().to_string(), &text(&path)?)
}

/// Reads bare instruction words; `-` is standard input.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn words(path: &Path) -> Result<String, Diagnostic> {
    match path == Path::new("-") {
        true => utf8(read(std::io::stdin().lock(), STDIN, MAX_BYTES)?, STDIN),
        false => text(path),
    }
}

/// Reads a file of text.
///
/// # Errors
///
/// The file cannot be read or used.
pub fn text(path: &Path) -> Result<String, Diagnostic> {
    let name = path.display().to_string();
    if let Some(text) = given_by_pipe(path) {
        return Ok(text);
    }
    let mut file = File::open(path).map_err(|error| unreadable(&name, &error))?;
    let is_file = file.metadata().is_ok_and(|known| known.is_file());
    let text = utf8(read(&mut file, &name, MAX_BYTES)?, &name)?;
    if !is_file && let Some(changed) = changed_at(file.metadata()) {
        let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.insert(path.to_owned(), (changed, text.clone()));
    }
    Ok(text)
}

/// Returns the time of the last change of a file, by which pipes with one name are distinguished.
fn changed_at(known: std::io::Result<std::fs::Metadata>) -> Option<SystemTime> {
    known.ok()?.modified().ok()
}

/// Returns the text that a pipe gave, if it is the same pipe and nothing was written since.
fn given_by_pipe(path: &Path) -> Option<String> {
    let pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    let (changed, text) = pipes.get(path)?;
    (changed_at(std::fs::metadata(path)) == Some(*changed)).then(|| text.clone())
}

/// Texts that pipes have given, with the time of their last change: a pipe can be read only once, and commands read
/// some files more than once. For example, a shell passes `<(generate)` as the name of a pipe.
static PIPES: Mutex<BTreeMap<PathBuf, (SystemTime, String)>> = Mutex::new(BTreeMap::new());

fn utf8(contents: Vec<u8>, name: &str) -> Result<String, Diagnostic> {
    String::from_utf8(contents).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..valid).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Diagnostic::new("not UTF-8 text")
            .at(format_args!("line {line}"))
            .in_file(name)
    })
}

/// Reads at most `most` bytes; more are an error, so that an endless pipe ends.
fn read(file: impl Read, name: &str, most: u64) -> Result<Vec<u8>, Diagnostic> {
    let mut contents = Vec::new();
    // One byte more than allowed, which distinguishes a file of exactly `most` bytes from a larger one.
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

/// Returns the diagnostic of a file that cannot be read.
fn unreadable(name: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot be read: {error}")).in_file(name)
}
