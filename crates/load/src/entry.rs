//! Entries of containers: one form of a program each, for one architecture, and its unpacking. For example, a fat binary
//! has an entry with a cubin that LZ4 has compressed.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use flate2::bufread::ZlibDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use warpbound_base::{Diagnostic, Isa};

use crate::elf::fault;
use crate::lz4_head::lz4_head;
use crate::source::Window;

/// Maximum size of a loaded cubin in bytes; cubins of large libraries have some ten million.
const MAX_IMAGE_SIZE: u64 = 256 << 20;

/// Upper bound on the compression ratio of LZ4, in unpacked bytes per packed byte: each length byte adds at most 255.
const MAX_LZ4_RATIO: u64 = 255;

/// Kind of an entry's contents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EntryKind {
    /// Machine code: a cubin.
    Cubin,
    /// Machine code of an AMD GPU: a code object.
    CodeObject,
    /// Machine code as text: mini-SIMT.
    Text,
    /// PTX text.
    Ptx,
    /// PTX text that is compiled for later linking.
    RelocatablePtx,
    /// Intermediate code for optimisation when the program is linked.
    Lto,
    /// Intermediate code of tile programs.
    Tile,
    /// Another kind, by its number.
    Other(u16),
}

impl EntryKind {
    /// Whether this is machine code, which can be loaded as an image.
    pub fn is_code(self) -> bool {
        matches!(
            self,
            EntryKind::Cubin | EntryKind::CodeObject | EntryKind::Text
        )
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntryKind::Cubin => f.write_str("cubin"),
            EntryKind::CodeObject => f.write_str("code object"),
            EntryKind::Text => f.write_str("text"),
            EntryKind::Ptx => f.write_str("PTX"),
            EntryKind::RelocatablePtx => f.write_str("relocatable PTX"),
            EntryKind::Lto => f.write_str("LTO"),
            EntryKind::Tile => f.write_str("tile IR"),
            EntryKind::Other(number) => write!(f, "kind {number}"),
        }
    }
}

/// Compression of an entry's contents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Packing {
    /// Uncompressed.
    None,
    /// LZ4, one block.
    Lz4,
    /// Zstandard.
    Zstd,
    /// zlib: the stream of a compressed offload bundle.
    Zlib,
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Packing::None => "plain",
            Packing::Lz4 => "lz4",
            Packing::Zstd => "zstd",
            Packing::Zlib => "zlib",
        })
    }
}

/// One form of a program for one architecture, not loaded yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FatbinEntry {
    /// Kind of the contents.
    pub kind: EntryKind,
    /// Instruction set of the code.
    pub isa: Isa,
    /// Compression of the contents.
    pub packing: Packing,
    /// Offset of the contents in the file. For a part of a compressed bundle: offset of the stream.
    pub offset: u64,
    /// Size of the contents in the file in bytes. For a part of a compressed bundle: size of the stream.
    pub packed_size: u64,
    /// Size of the unpacked contents, in bytes.
    pub size: u64,
    /// Offset of the contents in the unpacked bundle, if the bundle is compressed.
    pub bundle_offset: Option<u64>,
    /// Archive member that contains the entry.
    pub member: Option<Arc<str>>,
}

impl FatbinEntry {
    /// Reads and unpacks the contents.
    pub(crate) fn contents(&self, file: Window<'_>) -> Result<Bytes, Diagnostic> {
        let failed = |error: String| fault(self.offset, format!("cannot be unpacked: {error}"));
        // A forged header must not decide the size of the allocation, so the packed bytes limit it as well.
        let limit = match self.packing {
            Packing::Lz4 => MAX_IMAGE_SIZE.min(self.packed_size.saturating_mul(MAX_LZ4_RATIO)),
            _ => MAX_IMAGE_SIZE,
        };
        // Only one part of a compressed bundle is unpacked, so the size of the whole stream is no limit.
        let largest = match self.bundle_offset {
            Some(_) => self.size,
            None => self.size.max(self.packed_size),
        };
        let size = usize::try_from(self.size)
            .ok()
            .filter(|_| largest <= limit)
            .ok_or_else(|| {
                let size = self.size;
                fault(
                    self.offset,
                    format!("0x{size:x} bytes are more than a cubin has"),
                )
            })?;
        let packed = file.read(self.offset, self.packed_size, "an entry")?;
        let unpacked = match self.packing {
            // Uncompressed contents share the bytes of the file.
            Packing::None => return Ok(packed),
            Packing::Lz4 => lz4_flex::block::decompress(&packed, size)
                .map_err(|error| failed(error.to_string()))?,
            Packing::Zstd | Packing::Zlib => self.unpack(&packed).map_err(failed)?,
        };
        if unpacked.len() != size {
            return Err(failed(format!(
                "0x{:x} bytes where the header states 0x{size:x}",
                unpacked.len()
            )));
        }
        Ok(unpacked.into())
    }

    /// Reads and unpacks the first bytes of the contents, fewer than `count` if the contents are shorter.
    pub(crate) fn head(&self, file: Window<'_>, count: usize) -> Result<Bytes, Diagnostic> {
        let size = self.packed_size.min(match self.packing {
            Packing::None => count as u64,
            // A block or stream may need any number of bytes, but no more than it has.
            Packing::Lz4 | Packing::Zstd | Packing::Zlib => self.packed_size,
        });
        let packed = file.read(self.offset, size, "an entry")?;
        let head = match self.packing {
            Packing::None => return Ok(packed),
            Packing::Lz4 => lz4_head(&packed, count).ok_or("a damaged block".to_owned()),
            Packing::Zstd | Packing::Zlib => self.unpack_head(&packed, count as u64),
        };
        let failed = |error| fault(self.offset, format!("cannot be unpacked: {error}"));
        Ok(head.map_err(failed)?.into())
    }

    /// Unpacks the first bytes of a stream or of a part of one.
    fn unpack_head(&self, packed: &[u8], count: u64) -> Result<Vec<u8>, String> {
        let mut unpacker = Unpacker::new(self.packing, packed)?;
        unpacker.skip(self.bundle_offset.unwrap_or_default())?;
        unpacker.take_bytes(count.min(self.size))
    }

    /// Unpacks a stream or a part of one. Reads at most one byte more than the contents have.
    fn unpack(&self, packed: &[u8]) -> Result<Vec<u8>, String> {
        let mut unpacker = Unpacker::new(self.packing, packed)?;
        match self.bundle_offset {
            // One byte more than the header states suffices to detect that the stated size is wrong.
            None => unpacker.take_bytes(self.size.saturating_add(1)),
            Some(offset) => {
                unpacker.skip(offset)?;
                unpacker.take_bytes(self.size)
            }
        }
    }
}

/// Unpacks a stream, in order, without more memory than the format needs.
pub(crate) enum Unpacker<'a> {
    Zlib(ZlibDecoder<&'a [u8]>),
    Zstd(Box<StreamingDecoder<&'a [u8], FrameDecoder>>),
}

impl<'a> Unpacker<'a> {
    /// Begins to unpack.
    ///
    /// # Errors
    ///
    /// The head of the stream is damaged, or it is packed in another way.
    pub(crate) fn new(packing: Packing, packed: &'a [u8]) -> Result<Unpacker<'a>, String> {
        match packing {
            Packing::Zlib => Ok(Unpacker::Zlib(ZlibDecoder::new(packed))),
            Packing::Zstd => {
                let decoder = StreamingDecoder::new(packed).map_err(|error| error.to_string())?;
                Ok(Unpacker::Zstd(Box::new(decoder)))
            }
            Packing::None | Packing::Lz4 => Err(format!("{packing} is no stream")),
        }
    }

    /// Returns the next bytes, fewer than `size` at the end of the stream.
    pub(crate) fn take_bytes(&mut self, size: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        // The vector grows with the bytes that arrive, so a forged size allocates nothing.
        let read = self.take(size).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Skips bytes; returns their number, which is less than `size` at the end of the stream.
    pub(crate) fn skip(&mut self, size: u64) -> Result<u64, String> {
        io::copy(&mut self.take(size), &mut io::sink()).map_err(|error| error.to_string())
    }

    /// Number of packed bytes that no step has used. Once the stream has ended, they all follow it.
    pub(crate) fn unused(&self) -> usize {
        match self {
            Unpacker::Zlib(decoder) => decoder.get_ref().len(),
            Unpacker::Zstd(decoder) => decoder.get_ref().len(),
        }
    }
}

impl Read for Unpacker<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Unpacker::Zlib(decoder) => decoder.read(buffer),
            Unpacker::Zstd(decoder) => decoder.read(buffer),
        }
    }
}
