//! Compressed offload bundles: a header, then a bundle as one stream of zlib or Zstandard (LLVM, "Clang Offload
//! Bundler"; sizes of the fields: `RawCompressedBundleHeader` in its sources). For example, the bytes `CCOB`, 2, 0,
//! 1, 0 begin a bundle of version 2 that Zstandard has compressed.

use bytes::Bytes;
use warpbound_base::Diagnostic;

use super::{COMPRESSED_MAGIC, Target, kind_and_isa, targets};
use crate::elf::fault;
use crate::entry::{FatbinEntry, Packing, Unpacker};
use crate::source::Window;

/// Maximum size of an unpacked bundle in bytes. Without a limit, a small file could state any size, and unpacking
/// takes time for each byte.
const MAX_UNPACKED: u64 = 4 << 30;

/// Header of a compressed bundle. It ends with a hash of the unpacked bytes, which is not checked: no loader needs
/// it.
struct Header {
    packing: Packing,
    /// Size of the header in bytes.
    size: u64,
    /// Size of header and stream in bytes; version 1 does not state it.
    whole: Option<u64>,
    /// Size of the unpacked bundle in bytes.
    unpacked: u64,
}

impl Header {
    fn read(bundle: Window<'_>) -> Result<Header, Diagnostic> {
        let field = |at: u64, size: u64| {
            let bytes = bundle.read(at, size, "the header of a compressed bundle")?;
            let mut number = [0; 8];
            for (to, from) in number.iter_mut().zip(&bytes) {
                *to = *from;
            }
            Ok::<u64, Diagnostic>(u64::from_le_bytes(number))
        };
        let after_magic = COMPRESSED_MAGIC.len() as u64;
        let (version, method) = (field(after_magic, 2)?, field(after_magic + 2, 2)?);
        let (size, whole, unpacked) = match version {
            // The header is magic, version, method, sizes, hash. Version 2 adds the whole size, version 3 widens both
            // sizes.
            1 => (20, None, field(8, 4)?),
            2 => (24, Some(field(8, 4)?), field(12, 4)?),
            3 => (32, Some(field(8, 8)?), field(16, 8)?),
            other => {
                let message = format!("this is a compressed offload bundle of version {other}");
                let hint = "versions 1 to 3 are known: unpack it first, e.g. with `clang-offload-bundler --unbundle`, or compile with `--no-offload-compress`";
                return Err(fault(bundle.start, message).hint(hint));
            }
        };
        let packing = match method {
            0 => Packing::Zlib,
            1 => Packing::Zstd,
            other => {
                let message = format!("this offload bundle is compressed by method {other}");
                return Err(
                    fault(bundle.start + 6, message).hint("0 (zlib) and 1 (zstd) are known")
                );
            }
        };
        if unpacked > MAX_UNPACKED {
            let message = format!("an unpacked bundle of 0x{unpacked:x} bytes is more than 4 GiB");
            return Err(fault(bundle.start, message));
        }
        Ok(Header {
            packing,
            size,
            whole,
            unpacked,
        })
    }
}

/// Adds the entries of the compressed bundle at the start of a window; returns the offset of its end.
pub(super) fn scan(bundle: Window<'_>, entries: &mut Vec<FatbinEntry>) -> Result<u64, Diagnostic> {
    let header = Header::read(bundle)?;
    // Version 1 does not state where the stream ends: it may use the rest of the file until its end is found.
    let whole = header.whole.unwrap_or(bundle.size);
    let Some(stream_size) = whole.checked_sub(header.size) else {
        let message = format!("a compressed bundle of 0x{whole:x} bytes is less than its header");
        return Err(fault(bundle.start, message));
    };
    let stream = bundle.slice(header.size, stream_size, "a compressed bundle")?;
    let packed = stream.bytes()?;
    let failed = |error: String| fault(stream.start, format!("cannot be unpacked: {error}"));
    let mut unpacker = Unpacker::new(header.packing, &packed).map_err(failed)?;
    let mut used = 0;
    let targets = targets(bundle.start, &mut |size, item| {
        let bytes = unpacker.take_bytes(size).map_err(failed)?;
        used += bytes.len() as u64;
        // A directory that is longer than the stated size means that the header or the stream is damaged.
        match bytes.len() as u64 == size && used <= header.unpacked {
            true => Ok(Bytes::from(bytes)),
            false => Err(fault(stream.start, format!("the stream ends in {item}"))),
        }
    })?;
    let packed_size = match header.whole {
        Some(_) => stream.size,
        // The next bundle begins after the stream.
        None => {
            // One byte more than the header states shows that the stream is longer.
            let rest = header.unpacked.saturating_sub(used);
            let skipped = unpacker.skip(rest.saturating_add(1)).map_err(failed)?;
            if skipped != rest {
                let message = "the bytes are not as many as the header states".to_owned();
                return Err(failed(message));
            }
            stream.size - unpacker.unused() as u64
        }
    };
    for Target { name, offset, size } in targets {
        let is_inside = offset
            .checked_add(size)
            .is_some_and(|end| end <= header.unpacked);
        if !is_inside {
            let message = format!(
                "an entry of 0x{size:x} bytes at 0x{offset:x} reaches beyond the end of its unpacked bundle at 0x{:x}",
                header.unpacked
            );
            return Err(fault(bundle.start, message));
        }
        if let Some((kind, isa)) = kind_and_isa(&name, size) {
            entries.push(FatbinEntry {
                kind,
                isa,
                packing: header.packing,
                offset: stream.start,
                packed_size,
                size,
                bundle_offset: Some(offset),
                member: None,
            });
        }
    }
    Ok(header.size + packed_size)
}
