//! Folders of pages of HTML.

use std::io::{self, Write as _};
use std::path::Path;

use crate::output::Output;

/// Returns the folder that an output names: an existing folder, or a name that ends in `/`.
pub(crate) fn folder(output: Option<&Path>) -> Option<&Path> {
    let path = output?;
    let is_named = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    (is_named || path.is_dir()).then_some(path)
}

/// Creates a folder and returns the receiver of its pages. Each page appears once it is complete.
pub(crate) fn page_writer(folder: &Path) -> io::Result<impl FnMut(&str, &str) -> io::Result<()>> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let message = format!("{}: cannot be created: {error}", folder.display());
        io::Error::new(error.kind(), message)
    })?;
    Ok(|name: &str, page: &str| {
        let mut out = Output::file(&folder.join(name))?;
        out.write_all(page.as_bytes())?;
        out.finish()
    })
}
