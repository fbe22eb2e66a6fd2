//! Output to standard output, or to a file that appears under its name once it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tempfile::NamedTempFile;

/// Exit code after SIGINT: 128 plus the number of the signal, as shells report it.
const INTERRUPTED: i32 = 130;

/// Standard output, or a file that appears under its name once it is complete. Errors contain the name.
pub(crate) struct Output {
    sink: Sink,
    /// Name of the file as the user gave it.
    name: String,
}

/// Destination of the output.
enum Sink {
    Stdout(BufWriter<Stdout>),
    /// Existing file other than a regular file, such as a device or a pipe.
    Special(BufWriter<File>),
    File {
        /// Temporary file in the folder of the destination, so that a rename completes it. Dropping it removes it.
        temporary: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
}

impl Output {
    /// Opens a file, or standard output for `None` and `-`.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Output> {
        match path {
            Some(path) if path != Path::new("-") => Output::file(path),
            _ => Ok(Output::stdout()),
        }
    }

    fn stdout() -> Output {
        Output {
            sink: Sink::Stdout(BufWriter::new(io::stdout())),
            name: "standard output".to_owned(),
        }
    }

    /// Opens a file. From then on, an interrupt removes incomplete files and ends the process.
    pub(crate) fn file(path: &Path) -> io::Result<Output> {
        let name = path.display().to_string();
        match Sink::file(path) {
            Ok(sink) => Ok(Output { sink, name }),
            Err(error) => Err(with_name(&name, &error)),
        }
    }

    /// Flushes the output. A file appears under its name.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Output { sink, name } = self;
        sink.finish().map_err(|error| with_name(&name, &error))
    }
}

/// Adds the name of the output to an error.
fn with_name(name: &str, error: &io::Error) -> io::Error {
    // The kind stays, because `main` takes a closed pipe for success.
    io::Error::new(error.kind(), format!("{name}: cannot be written: {error}"))
}

impl Sink {
    fn file(path: &Path) -> io::Result<Sink> {
        // A symbolic link stays, and its target is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        // A rename would replace a device or a pipe by a regular file.
        if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
            let file = File::options().write(true).open(&path)?;
            return Ok(Sink::Special(BufWriter::new(file)));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // In the same folder, because a rename works only within one file system.
        let temporary = create_temporary(folder)?;
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
                // Listed until the rename is done, so that an interrupt before it still removes the file.
                let own = temporary.path().to_owned();
                temporary.persist(path)?;
                incomplete().retain(|other| *other != own);
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

/// Incomplete files, which an interrupt removes.
static INCOMPLETE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn incomplete() -> MutexGuard<'static, Vec<PathBuf>> {
    // A panic in another thread leaves the list usable.
    INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a temporary file with the default permissions of new files. An interrupt removes it.
fn create_temporary(folder: &Path) -> io::Result<NamedTempFile> {
    // One handler for the process: a second call of `set_handler` would fail.
    static HANDLED: OnceLock<Option<ctrlc::Error>> = OnceLock::new();
    let handled = HANDLED.get_or_init(|| ctrlc::set_handler(on_interrupt).err());
    if let Some(error) = handled {
        return Err(io::Error::other(error.to_string()));
    }
    // For a missing folder, the error of `metadata` is shorter than the error of `tempfile`.
    fs::metadata(folder)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The lock delays the interrupt handler until the new file is on the list.
    let mut list = incomplete();
    let file = builder.tempfile_in(folder)?;
    list.push(file.path().to_owned());
    Ok(file)
}

/// Removes incomplete files and ends the process.
fn on_interrupt() {
    for path in &*incomplete() {
        // Fails if `persist` has already renamed the file.
        let _ = fs::remove_file(path);
    }
    std::process::exit(INTERRUPTED);
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.writer().write(bytes);
        written.map_err(|error| with_name(&self.name, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.sink.writer().flush();
        flushed.map_err(|error| with_name(&self.name, &error))
    }
}
