//! The kernels of the files that a command was given.

use std::fs::File;
use std::path::PathBuf;

use warpbound_driver::{FileSource, Kernel, Library, Selection, Session};

/// Does something with each kernel of the images that `selection` leaves, in the order of the files.
pub(crate) fn each_kernel(
    files: &[PathBuf],
    selection: &Selection,
    mut work: impl FnMut(&Session, &Kernel) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let library = Library::open(&name, FileSource::new(File::open(path)?)?)?;
        // A library need not have the architecture.
        let images = library.select(selection).unwrap_or_default();
        for item in library.kernels(&images, None) {
            let (session, index) = item?;
            work(&session, session.kernel_at(index)?)?;
        }
    }
    Ok(())
}
