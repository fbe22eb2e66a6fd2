//! Where the output goes.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::NamedTempFile;

/// Standard output, or a file that appears when all is written.
pub(crate) enum Output {
    Stdout(BufWriter<StdoutLock<'static>>),
    File {
        /// Beside the file, so that it only needs to be renamed. Removed when dropped.
        temporary: BufWriter<NamedTempFile>,
        path: PathBuf,
        interrupted: Arc<AtomicBool>,
    },
}

impl Output {
    pub(crate) fn stdout() -> Output {
        Output::Stdout(BufWriter::new(io::stdout().lock()))
    }

    /// A file. From here on an interrupt is an error of the next write, so that nothing stays behind.
    pub(crate) fn file(path: &Path) -> io::Result<Output> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
            .map_err(io::Error::other)?;
        Ok(Output::File {
            temporary: BufWriter::new(NamedTempFile::new_in(folder)?),
            path: path.to_owned(),
            interrupted,
        })
    }

    /// Makes what was written visible.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Output::Stdout(mut out) => out.flush(),
            Output::File {
                temporary, path, ..
            } => {
                let temporary = temporary.into_inner().map_err(|error| error.into_error())?;
                temporary.persist(path)?;
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Stdout(out) => out.write(bytes),
            Output::File {
                temporary,
                interrupted,
                ..
            } => match interrupted.load(Ordering::Relaxed) {
                true => Err(io::Error::other("interrupted, nothing is written")),
                false => temporary.write(bytes),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Stdout(out) => out.flush(),
            Output::File { temporary, .. } => temporary.flush(),
        }
    }
}
