//! Extraction of images from a file, decompressed. For example, image 3 of a fat binary as a cubin.

use warpbound_base::Diagnostic;
use warpbound_load::{Bytes, EntryKind, NamePattern};

use crate::Library;

/// Decompressed image.
#[derive(Clone, Debug)]
pub struct ExtractedImage {
    /// Number of the image in the file, from 1.
    pub number: usize,
    /// Name of the architecture, as [`Isa`](warpbound_base::Isa) prints it.
    pub isa: String,
    /// Extension of files of its kind: `cubin`, `msimt`.
    pub extension: &'static str,
    /// Contents of the image.
    pub contents: Bytes,
}

impl Library {
    /// Decompresses the image with a number.
    ///
    /// # Errors
    ///
    /// There is no such image, or it cannot be decompressed.
    pub fn extract(&self, number: usize) -> Result<ExtractedImage, Diagnostic> {
        let entry = self.entry(number)?;
        let contents = self.library.contents(entry);
        Ok(ExtractedImage {
            number,
            isa: entry.isa.to_string(),
            extension: match entry.kind {
                EntryKind::Text => "msimt",
                EntryKind::CodeObject => "co",
                _ => "cubin",
            },
            contents: contents.map_err(|d| d.in_file(self.image_name(number)))?,
        })
    }

    /// Whether the image with a number has a kernel that a name fits; this works for unsupported architectures too.
    ///
    /// # Errors
    ///
    /// There is no such image, or it cannot be used.
    pub fn has_kernel(&self, number: usize, name: &NamePattern) -> Result<bool, Diagnostic> {
        let session = self.session(number)?;
        let mut names = session.image.kernel_names();
        Ok(names.any(|symbol| name.match_quality(symbol).is_some()))
    }
}
