//! Sources of a file's bytes: memory, or a file read in pieces. For example, the directory of a library of 1 GB is
//! read with a few kilobytes in memory.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use warpbound_base::Diagnostic;

use crate::elf::fault;

/// Random access to the bytes of a file, so that only the requested parts of a large library are in memory.
pub trait ByteSource: Send + Sync {
    /// Size in bytes.
    fn size(&self) -> u64;

    /// Reads exactly `length` bytes at `offset`.
    ///
    /// # Errors
    ///
    /// The operating system's error, or `UnexpectedEof` past the end.
    fn read(&self, offset: u64, length: usize) -> io::Result<Bytes>;
}

impl ByteSource for Bytes {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let range = usize::try_from(offset)
            .ok()
            .and_then(|start| Some(start..start.checked_add(length)?))
            .filter(|range| range.end <= self.len());
        range
            .map(|range| self.slice(range))
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// A file of the operating system, which must not change while it is read.
pub struct FileSource {
    file: Mutex<File>,
    size: u64,
}

impl FileSource {
    /// Wraps a seekable file.
    ///
    /// # Errors
    ///
    /// The operating system's error when the size is queried.
    pub fn new(file: File) -> io::Result<FileSource> {
        let size = file.metadata()?.len();
        Ok(FileSource {
            file: Mutex::new(file),
            size,
        })
    }
}

impl ByteSource for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        // A poisoned lock is harmless: each read seeks first, so no state carries over.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        // `length` is at most the size of the file, because a window checks each part.
        let mut bytes = vec![0; length];
        file.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// A contiguous part of a source.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    source: &'a dyn ByteSource,
    /// Offset of the first byte in the file.
    pub(crate) start: u64,
    /// Size in bytes.
    pub(crate) size: u64,
}

impl<'a> Window<'a> {
    /// Window of a whole source.
    pub(crate) fn all(source: &'a dyn ByteSource) -> Window<'a> {
        Window {
            source,
            start: 0,
            size: source.size(),
        }
    }

    /// A part of this window; `item` names it in the diagnostic for a part that reaches past the end.
    pub(crate) fn slice(
        &self,
        offset: u64,
        size: u64,
        item: &str,
    ) -> Result<Window<'a>, Diagnostic> {
        let inside = offset.checked_add(size).is_some_and(|end| end <= self.size);
        if !inside {
            return Err(fault(
                self.start.saturating_add(offset),
                format!(
                    "{item} of 0x{size:x} bytes reaches beyond the end at 0x{:x}",
                    self.start.saturating_add(self.size)
                ),
            ));
        }
        Ok(Window {
            source: self.source,
            // No overflow: the part lies inside this window, which lies inside the file.
            start: self.start + offset,
            size,
        })
    }

    /// Reads the bytes of a part of this window.
    pub(crate) fn read(&self, offset: u64, size: u64, item: &str) -> Result<Bytes, Diagnostic> {
        self.slice(offset, size, item)?.bytes()
    }

    /// Reads all bytes of this window.
    pub(crate) fn bytes(&self) -> Result<Bytes, Diagnostic> {
        let failed = |error: io::Error| fault(self.start, format!("cannot be read: {error}"));
        let length =
            usize::try_from(self.size).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        self.source.read(self.start, length).map_err(failed)
    }

    /// Reads the first bytes: `size`, or fewer if the window is shorter.
    pub(crate) fn head(&self, size: u64) -> Result<Bytes, Diagnostic> {
        self.read(0, size.min(self.size), "the head")
    }
}
