//! Iteration over the kernels of the files given to a command.

use std::fs::File;
use std::path::PathBuf;

use warpbound_base::Diagnostic;
use warpbound_load::{FileSource, Kernel};
use warpbound_query::{ImageSelection, Library, Session};

/// Calls `work` for each kernel of the selected images, in the order of the files. Returns the diagnostics of the
/// images and kernels that cannot be read.
pub(crate) fn each_kernel(
    files: &[PathBuf],
    selection: &ImageSelection,
    mut work: impl FnMut(&Session, &Kernel) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Diagnostic>> {
    let mut unreadable = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let library = Library::open(&name, FileSource::new(File::open(path)?)?)?;
        // A library without the selected architecture is not an error.
        let images = library.select(selection).unwrap_or_default();
        for item in library.kernels(&images, None) {
            let read = item.and_then(|(session, index)| {
                session.kernel_at(index)?;
                Ok((session, index))
            });
            match read {
                Ok((session, index)) => work(&session, session.kernel_at(index)?)?,
                Err(diagnostic) => unreadable.push(diagnostic),
            }
        }
    }
    Ok(unreadable)
}
