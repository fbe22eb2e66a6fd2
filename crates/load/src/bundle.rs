//! Offload bundles: containers of clang with one program for several targets, mostly AMD GPUs (LLVM, "Clang Offload
//! Bundler").
//!
//! A bundle begins with a directory: for each target its name, offset and size. For example, the target
//! `hipv4-amdgcn-amd-amdhsa--gfx803:xnack-` gives an entry for gfx803. Entries of the host are skipped.

mod compressed;

use bytes::Bytes;
use warpbound_base::Diagnostic;

use crate::elf::fault;
use crate::entry::{EntryKind, FatbinEntry, Packing};
use crate::source::Window;
use warpbound_base::Gfx;
use warpbound_base::Isa;

/// First bytes of a bundle, and of a compressed one.
pub(crate) const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
pub(crate) const COMPRESSED_MAGIC: &[u8] = b"CCOB";

/// Maximum length of a target name in bytes.
const MAX_NAME: u64 = 4096;

/// Maximum number of targets in a bundle.
const MAX_TARGETS: u64 = 4096;

/// Adds the entries of all bundles in a file or section. Zeros may pad the space between bundles.
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

/// Adds the entries of the bundle at the start of a window; returns the offset of its end.
fn scan_bundle(bundle: Window<'_>, entries: &mut Vec<FatbinEntry>) -> Result<u64, Diagnostic> {
    let head = bundle.head(MAGIC.len() as u64)?;
    if head.starts_with(COMPRESSED_MAGIC) {
        return compressed::scan(bundle, entries);
    }
    let mut at = 0;
    let targets = targets(bundle.start, &mut |size, item| {
        let bytes = bundle.read(at, size, item)?;
        at += size;
        Ok(bytes)
    })?;
    let mut end = at;
    for Target { name, offset, size } in targets {
        let contents = bundle.slice(offset, size, "an entry")?;
        end = end.max(offset + size);
        if let Some((kind, isa)) = kind_and_isa(&name, size) {
            entries.push(FatbinEntry {
                kind,
                isa,
                packing: Packing::None,
                offset: contents.start,
                packed_size: size,
                size,
                bundle_offset: None,
                member: None,
            });
        }
    }
    Ok(end)
}

/// Entry of the directory of a bundle.
struct Target {
    name: Bytes,
    /// Offset of the contents in the bundle, in bytes.
    offset: u64,
    /// Size of the contents in bytes.
    size: u64,
}

/// Reads the directory of a bundle that begins at an offset in the file. `next` returns the next bytes of the bundle,
/// in order.
fn targets(
    start: u64,
    next: &mut dyn FnMut(u64, &str) -> Result<Bytes, Diagnostic>,
) -> Result<Vec<Target>, Diagnostic> {
    if next(MAGIC.len() as u64, "the head of a bundle")? != MAGIC {
        let message = "an offload bundle is expected here, and its first bytes are missing";
        return Err(fault(start, message));
    }
    let number = |next: &mut dyn FnMut(u64, &str) -> Result<Bytes, Diagnostic>, item: &str| {
        let bytes = next(8, item)?.first_chunk().copied();
        Ok::<u64, Diagnostic>(u64::from_le_bytes(bytes.unwrap_or_default()))
    };
    let count = number(next, "the number of entries")?;
    // Each entry takes memory, so a forged count must not decide how much.
    if count > MAX_TARGETS {
        let message = format!("a bundle of {count} entries is more than {MAX_TARGETS}");
        return Err(fault(start + MAGIC.len() as u64, message));
    }
    let mut targets = Vec::new();
    for _ in 0..count {
        let offset = number(next, "the header of an entry")?;
        let size = number(next, "the header of an entry")?;
        let name_size = number(next, "the header of an entry")?;
        if name_size > MAX_NAME {
            let message = format!("the name of a target has {name_size} bytes");
            return Err(fault(start, message));
        }
        let name = next(name_size, "the name of a target")?;
        targets.push(Target { name, offset, size });
    }
    Ok(targets)
}

/// Kind and instruction set of an entry, from the name of its target (`hipv4-amdgcn-amd-amdhsa--gfx803:xnack-`).
/// `None` for entries of the host and for empty ones.
fn kind_and_isa(name: &[u8], size: u64) -> Option<(EntryKind, Isa)> {
    // A name that is not UTF-8 fits no known target, so a lossy conversion suffices.
    let name = String::from_utf8_lossy(name);
    if size == 0 || name.starts_with("host-") {
        return None;
    }
    let gpu = |prefix: &str| {
        let (_, rest) = name.split_once(prefix)?;
        // Features such as `:xnack-` follow the target; they do not change the instruction set.
        let end = rest.find(':').unwrap_or(rest.len());
        Some(format!("{}{}", prefix.get(1..)?, rest.get(..end)?))
    };
    if let Some(Ok(sm)) = gpu("-sm_").map(|name| name.parse()) {
        return Some((EntryKind::Cubin, Isa::Sm(sm)));
    }
    // An unknown target is kept, so that `list` shows the entry instead of dropping it.
    let gfx = gpu("-gfx").and_then(|name| name.parse().ok());
    Some((EntryKind::CodeObject, Isa::Gfx(gfx.unwrap_or(Gfx::UNKNOWN))))
}
