//! Files that the user names.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_driver::{Bytes, FactsFile, FileSource, Library};

/// The largest input that comes through a pipe, and the largest facts file.
const MOST_BYTES: u64 = 256 << 20;

/// A file with machine code. Of a regular file only what is asked for is read.
pub(crate) fn library(path: &Path) -> Result<Library, Diagnostic> {
    let name = path.display().to_string();
    let unreadable = |error: std::io::Error| unreadable(&name, &error);
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_file() {
        let source = FileSource::new(file).map_err(unreadable)?;
        return Library::open(&name, source);
    }
    Library::open(&name, Bytes::from(read(file, &name)?))
}

pub(crate) fn facts(library: &Library, path: &Path) -> Result<FactsFile, Diagnostic> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
    let contents = read(file, &name)?;
    let text = std::str::from_utf8(&contents).map_err(|error| {
        let before = contents.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Diagnostic::new("not UTF-8 text")
            .at(format_args!("line {line}"))
            .in_file(name.as_str())
    })?;
    let facts = FactsFile::parse(&name, text)?;
    library.check_facts(&facts)?;
    Ok(facts)
}

/// The contents of a file, which may be a pipe but not one without end.
fn read(file: File, name: &str) -> Result<Vec<u8>, Diagnostic> {
    let mut contents = Vec::new();
    let mut limited = file.take(MOST_BYTES + 1);
    limited
        .read_to_end(&mut contents)
        .map_err(|error| unreadable(name, &error))?;
    if contents.len() as u64 > MOST_BYTES {
        let most = MOST_BYTES >> 20;
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
