//! Where output goes.

use std::fs::{self, File};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tempfile::NamedTempFile;

/// What a shell adds to the number of SIGINT.
const INTERRUPTED: i32 = 130;

/// Standard output, or a file that appears when all is written. Errors name it.
pub(crate) struct Output {
    sink: Sink,
    /// The file as the user named it.
    name: String,
}

enum Sink {
    Stdout(BufWriter<StdoutLock<'static>>),
    /// What is there already and is no regular file: a device, a pipe.
    Special(BufWriter<File>),
    File {
        /// Beside the file, so that it only needs to be renamed. Removed when dropped.
        temporary: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
}

impl Output {
    /// Standard output where no file is named, or `-` is.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Output> {
        match path {
            Some(path) if path != Path::new("-") => Output::file(path),
            _ => Ok(Output::stdout()),
        }
    }

    fn stdout() -> Output {
        Output {
            sink: Sink::Stdout(BufWriter::new(io::stdout().lock())),
            name: "standard output".to_owned(),
        }
    }

    /// A file. From here on an interrupt removes what was written and ends the process.
    pub(crate) fn file(path: &Path) -> io::Result<Output> {
        let name = path.display().to_string();
        match Sink::file(path) {
            Ok(sink) => Ok(Output { sink, name }),
            Err(error) => Err(named(&name, &error)),
        }
    }

    /// Makes what was written visible.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Output { sink, name } = self;
        sink.finish().map_err(|error| named(&name, &error))
    }
}

/// An error of an output: which, and why.
fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: cannot be written: {error}"))
}

impl Sink {
    fn file(path: &Path) -> io::Result<Sink> {
        // A link stays a link: what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
            let file = File::options().write(true).open(&path)?;
            return Ok(Sink::Special(BufWriter::new(file)));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let temporary = new_file(folder)?;
        Ok(Sink::File {
            temporary: BufWriter::new(temporary),
            path,
        })
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Sink::Stdout(mut out) => out.flush(),
            Sink::Special(mut out) => out.flush(),
            Sink::File { temporary, path } => {
                let temporary = temporary.into_inner().map_err(|error| error.into_error())?;
                let own = temporary.path().to_owned();
                temporary.persist(path)?;
                half_written().retain(|other| *other != own);
                Ok(())
            }
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Sink::Stdout(out) => out,
            Sink::Special(out) => out,
            Sink::File { temporary, .. } => temporary,
        }
    }
}

/// Files that an interrupt removes.
static HALF_WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn half_written() -> MutexGuard<'static, Vec<PathBuf>> {
    HALF_WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new file with the permissions that files usually get, which an interrupt removes.
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    static HANDLED: OnceLock<Option<ctrlc::Error>> = OnceLock::new();
    let handled = HANDLED.get_or_init(|| ctrlc::set_handler(stop).err());
    if let Some(error) = handled {
        return Err(io::Error::other(error.to_string()));
    }
    // Where there is no such folder, its error says so in fewer words.
    fs::metadata(folder)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // An interrupt waits until the file is on the list.
    let mut list = half_written();
    let file = builder.tempfile_in(folder)?;
    list.push(file.path().to_owned());
    Ok(file)
}

/// Removes what is half written and ends the process.
fn stop() {
    for path in &*half_written() {
        // It may just have become what it was to be.
        let _ = fs::remove_file(path);
    }
    std::process::exit(INTERRUPTED);
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.writer().write(bytes);
        written.map_err(|error| named(&self.name, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.sink.writer().flush();
        flushed.map_err(|error| named(&self.name, &error))
    }
}
