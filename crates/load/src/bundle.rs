//! Offload bundles: containers of clang with one program for several targets, most of them AMD's GPUs (LLVM, "Clang
//! Offload Bundler").

use warpbound_base::Diagnostic;

use crate::elf::fault;
use crate::fatbin::{EntryKind, FatbinEntry, Packing};
use crate::gfx::Gfx;
use crate::isa::Isa;
use crate::source::Window;

/// First bytes of a bundle, and of a compressed one.
pub(crate) const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
pub(crate) const COMPRESSED_MAGIC: &[u8] = b"CCOB";

/// Longest name of a target in bytes.
const MAX_NAME: u64 = 4096;

/// Adds the entries of all bundles in a file or section: bundles with padding of zeros between them.
pub(crate) fn scan(window: Window<'_>, entries: &mut Vec<FatbinEntry>) -> Result<(), Diagnostic> {
    /// Bytes searched per step.
    const STEP: u64 = 4096;
    let mut at = 0;
    while at < window.size {
        let bytes = window.read(at, STEP.min(window.size - at), "a bundle")?;
        match bytes.iter().position(|&byte| byte != 0) {
            None => at += bytes.len() as u64,
            Some(zeros) => {
                let start = at + zeros as u64;
                let rest = window.slice(start, window.size - start, "a bundle")?;
                // The end of the last entry is more than 0, as the magic lies before it.
                at = start + scan_bundle(rest, entries)?;
            }
        }
    }
    Ok(())
}

/// Refuses a compressed bundle; `head` are its first bytes.
pub(crate) fn refuse_compressed(head: &[u8], start: u64) -> Diagnostic {
    let number = |at: usize| head.get(at..).and_then(<[u8]>::first_chunk::<2>);
    let number = |at| number(at).map_or(0, |bytes| u16::from_le_bytes(*bytes));
    let method = match number(6) {
        0 => "zlib".to_owned(),
        1 => "zstd".to_owned(),
        other => format!("method {other}"),
    };
    let version = number(4);
    fault(
        start,
        format!("this is a compressed offload bundle (version {version}, {method}), which is not read"),
    )
    .hint("unpack it first, e.g. with `clang-offload-bundler --unbundle`, or compile with `--no-offload-compress`")
}

/// Adds the entries of the bundle at the start of a window; returns the offset of its end.
fn scan_bundle(bundle: Window<'_>, entries: &mut Vec<FatbinEntry>) -> Result<u64, Diagnostic> {
    let size = MAGIC.len() as u64;
    let head = bundle.head(size)?;
    if head.starts_with(COMPRESSED_MAGIC) {
        return Err(refuse_compressed(&head, bundle.start));
    }
    if head != MAGIC {
        let message = "an offload bundle is expected here, and its first bytes are missing";
        return Err(fault(bundle.start, message));
    }
    let count = number_at(bundle, size, "the number of entries")?;
    let mut at = size + 8;
    let mut end = at;
    for _ in 0..count {
        let offset = number_at(bundle, at, "the header of an entry")?;
        let size = number_at(bundle, at + 8, "the header of an entry")?;
        let name_size = number_at(bundle, at + 16, "the header of an entry")?;
        let here = bundle.start + at;
        if name_size > MAX_NAME {
            let message = format!("the name of a target has {name_size} bytes");
            return Err(fault(here + 16, message));
        }
        let name = bundle.read(at + 24, name_size, "the name of a target")?;
        at += 24 + name_size;
        let contents = bundle.slice(offset, size, "an entry")?;
        end = end.max(at).max(offset + size);
        if let Some((kind, isa)) = target(&name, size) {
            entries.push(FatbinEntry {
                kind,
                isa,
                packing: Packing::None,
                offset: contents.start,
                packed_size: size,
                size,
                member: None,
            });
        }
    }
    Ok(end)
}

/// Kind and instruction set of an entry by the name of its target (`hipv4-amdgcn-amd-amdhsa--gfx803:xnack-`); `None` for
/// the host's entries and for empty ones.
fn target(name: &[u8], size: u64) -> Option<(EntryKind, Isa)> {
    let name = String::from_utf8_lossy(name);
    if size == 0 || name.starts_with("host-") {
        return None;
    }
    let gpu = |prefix: &str| {
        let (_, rest) = name.split_once(prefix)?;
        let end = rest.find(':').unwrap_or(rest.len());
        Some(format!("{}{}", prefix.get(1..)?, rest.get(..end)?))
    };
    if let Some(Ok(sm)) = gpu("-sm_").map(|name| name.parse()) {
        return Some((EntryKind::Cubin, Isa::Sm(sm)));
    }
    let gfx = gpu("-gfx").and_then(|name| name.parse().ok());
    Some((EntryKind::CodeObject, Isa::Gfx(gfx.unwrap_or(Gfx::UNKNOWN))))
}

/// Little-endian number of 8 bytes.
fn number_at(window: Window<'_>, at: u64, item: &str) -> Result<u64, Diagnostic> {
    let bytes = window.read(at, 8, item)?;
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    Ok(u64::from_le_bytes(bytes))
}
