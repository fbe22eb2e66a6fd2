//! Images of a file, as they are.

use warpbound_base::Diagnostic;
use warpbound_load::{Bytes, EntryKind, NamePattern};

use crate::Library;

/// An image, unpacked.
#[derive(Clone, Debug)]
pub struct Extracted {
    /// Its number in the file, from 1.
    pub number: usize,
    /// The name of its architecture: `sm_61`.
    pub isa: String,
    /// The extension of such files: `cubin`, `msimt`.
    pub extension: &'static str,
    /// Its bytes.
    pub contents: Bytes,
}

impl Library {
    /// The image of a number, unpacked.
    ///
    /// # Errors
    ///
    /// Where there is no such image, or it cannot be unpacked.
    pub fn extract(&self, number: usize) -> Result<Extracted, Diagnostic> {
        let entry = self.entry(number)?;
        let contents = self.library.contents(entry);
        Ok(Extracted {
            number,
            isa: entry.isa.to_string(),
            extension: match entry.kind {
                EntryKind::Text => "msimt",
                _ => "cubin",
            },
            contents: contents.map_err(|d| d.in_file(self.image_name(number)))?,
        })
    }

    /// Tells if the image of a number has a kernel that a name fits; of an architecture that is not supported as well.
    ///
    /// # Errors
    ///
    /// Where there is no such image, or it cannot be used.
    pub fn has_kernel(&self, number: usize, name: &NamePattern) -> Result<bool, Diagnostic> {
        let session = self.session(number)?;
        let mut names = session.image.kernel_names();
        Ok(names.any(|symbol| name.fit(symbol).is_some()))
    }
}
