//! Fat binaries: containers with one program in several forms, for several architectures. For example, with
//! `nvcc -gencode arch=compute_N,code=[sm_N,compute_N]` there are a cubin for architecture N and PTX for later GPUs.
//!
//! The layout is NVIDIA's; the numbers come from `fatbinary_section.h`, from denvdis, and from experiments
//! with `fatbinary` and `cuobjdump` 13 and with the libraries of CUDA 11 to 13.

use warpbound_base::{Diagnostic, Isa, Sm, SmReach};

use crate::elf::{Budget, fault};
use crate::entry::{EntryKind, FatbinEntry, Packing};
use crate::source::Window;

/// Magic number of a container.
const MAGIC: u32 = 0xba55_ed50;
/// Minimum size of a container header in bytes.
const CONTAINER_HEADER: u64 = 16;
/// Minimum size of an entry header in bytes.
const ENTRY_HEADER: u64 = 64;

/// Alignment of containers in their section, in bytes.
const ALIGNMENT: u64 = 8;

/// Adds the entries of all containers in a section or file.
pub(crate) fn scan(window: Window<'_>, entries: &mut Vec<FatbinEntry>) -> Result<(), Diagnostic> {
    let mut at = 0;
    while let Some(container) = next_container(window, at)? {
        at = scan_container(window, container, entries)?;
    }
    Ok(())
}

/// Adds the entries of all containers among other data; skips data that only resembles a container.
pub(crate) fn search(window: Window<'_>, entries: &mut Vec<FatbinEntry>) -> Result<(), Diagnostic> {
    /// Bytes searched per step; a multiple of the alignment.
    const STEP: u64 = 1 << 18;
    // False containers may begin at every eighth byte, each with headers up to the end: without a budget the
    // search would be quadratic.
    let budget = Budget::new(window.size);
    let mut at = 0;
    while at < window.size {
        let bytes = window.read(at, STEP.min(window.size - at), "data")?;
        let mut next_step = at + STEP;
        let mut start = 0;
        while let Some(index) = find_magic(bytes.get(start..).unwrap_or_default()) {
            let container = at + (start + index) as u64;
            let before = entries.len();
            let end = match scan_container(window, container, entries) {
                Ok(end) => end.next_multiple_of(ALIGNMENT),
                // Data may contain the magic by chance, so an error means only that there is no container here.
                Err(_) => {
                    let headers = (entries.len() - before) as u64 * ENTRY_HEADER;
                    let here = window.start + container;
                    budget.spend(headers, here, "things that look like fat binaries")?;
                    // Entries that were read before the error belong to no container.
                    entries.truncate(before);
                    container + ALIGNMENT
                }
            };
            match usize::try_from(end - at) {
                Ok(next) if next < bytes.len() => start = next,
                _ => {
                    next_step = end;
                    break;
                }
            }
        }
        at = next_step;
    }
    Ok(())
}

/// Offset of the first aligned container magic.
fn find_magic(bytes: &[u8]) -> Option<usize> {
    let alignment = usize::try_from(ALIGNMENT).ok()?;
    let mut words = bytes.chunks_exact(alignment);
    let index = words.position(|word| word.starts_with(&MAGIC.to_le_bytes()))?;
    Some(index * alignment)
}

/// Offset of the next container at or after `at`, past zero padding; `None` at the end.
fn next_container(window: Window<'_>, at: u64) -> Result<Option<u64>, Diagnostic> {
    /// Bytes searched per step.
    const STEP: u64 = 4096;
    let mut at = at;
    while at < window.size {
        let step = STEP.min(window.size - at);
        let bytes = window.read(at, step, "the rest")?;
        match bytes.iter().position(|&byte| byte != 0) {
            None => at += step,
            Some(zeros) => {
                let found = at + zeros as u64;
                let magic = u32_at(&bytes, zeros);
                let cut = zeros + 4 > bytes.len();
                // The magic may reach into the next step.
                let magic = match cut {
                    false => magic,
                    true => u32_at(&window.read(found, 4, "a fat binary's header")?, 0),
                };
                // The toolchain aligns containers, so a magic elsewhere means that the section is not understood.
                let aligned = found.is_multiple_of(ALIGNMENT);
                return match magic == MAGIC && aligned {
                    true => Ok(Some(found)),
                    false => Err(fault(
                        window.start + found,
                        "a fat binary is expected here, and its magic number is missing",
                    )),
                };
            }
        }
    }
    Ok(None)
}

/// Adds the entries of the container at an offset; returns the offset of its end.
fn scan_container(
    window: Window<'_>,
    container: u64,
    entries: &mut Vec<FatbinEntry>,
) -> Result<u64, Diagnostic> {
    let header = window.read(container, CONTAINER_HEADER, "a fat binary's header")?;
    let here = window.start + container;
    let (version, size) = (u16_at(&header, 4), u64_at(&header, 8));
    let header_size = u64::from(u16_at(&header, 6));
    if version != 1 || header_size < CONTAINER_HEADER {
        return Err(fault(
            here,
            format!("fat binary of version {version} with a header of {header_size} bytes"),
        )
        .hint("version 1 is known"));
    }
    let body = window.slice(container + header_size, size, "a fat binary")?;
    scan_entries(body, entries)?;
    Ok(container + header_size + size)
}

/// Adds the entries of a container without its header.
fn scan_entries(body: Window<'_>, entries: &mut Vec<FatbinEntry>) -> Result<(), Diagnostic> {
    let mut at = 0;
    while at < body.size {
        let header = body.read(at, ENTRY_HEADER, "the header of an entry")?;
        let here = body.start + at;
        let header_size = u64::from(u32_at(&header, 4));
        let padded = u64_at(&header, 8);
        // The check also makes the loop advance where an entry has no contents.
        if header_size < ENTRY_HEADER {
            return Err(fault(
                here + 4,
                format!(
                    "the header of an entry has {header_size} bytes, not at least {ENTRY_HEADER}"
                ),
            ));
        }
        let contents = at
            .checked_add(header_size)
            .ok_or_else(|| fault(here, "the header of an entry has no end"))?;
        let part = body.slice(contents, padded, "an entry")?;
        let flags = u64_at(&header, 40);
        // Bits 13:12 of the flags mark LZ4, bit 15 Zstandard.
        let packing = match (flags & 0x3000 != 0, flags & 0x8000 != 0) {
            (false, false) => Packing::None,
            (true, false) => Packing::Lz4,
            (false, true) => Packing::Zstd,
            (true, true) => {
                return Err(fault(here + 40, "an entry is packed in two ways"));
            }
        };
        let packed = u64::from(u32_at(&header, 16));
        // An uncompressed entry has no packed size: it fills its padded part.
        let (stored, size) = match packing {
            Packing::None => (padded, padded),
            _ => (packed, u64_at(&header, 56)),
        };
        // The contents would reach into the next entry.
        if stored > padded {
            return Err(fault(
                here + 16,
                format!("0x{stored:x} packed bytes in an entry of 0x{padded:x}"),
            ));
        }
        entries.push(FatbinEntry {
            // Entries of unknown kinds are listed, not dropped.
            kind: match u16_at(&header, 0) {
                1 => EntryKind::Ptx,
                2 => EntryKind::Cubin,
                8 => EntryKind::Lto,
                64 => EntryKind::RelocatablePtx,
                128 => EntryKind::Tile,
                other => EntryKind::Other(other),
            },
            isa: Isa::Sm(Sm {
                number: u8::try_from(u32_at(&header, 28))
                    .map_err(|_| fault(here + 28, "an entry is for no known architecture"))?,
                reach: reach(flags),
            }),
            packing,
            offset: part.start,
            packed_size: stored,
            size,
            bundle_offset: None,
            member: None,
        });
        at = contents + padded;
    }
    Ok(())
}

/// Suffix of the architecture in the flags of an entry, which `fatbinary` 13 writes (experiment); earlier versions write
/// none.
fn reach(flags: u64) -> SmReach {
    match (flags & 1 << 20 != 0, flags & 1 << 21 != 0) {
        (true, _) => SmReach::Alone,
        (false, true) => SmReach::Related,
        (false, false) => SmReach::Generation,
    }
}

/// Little-endian bytes at `at`; bytes past the end are zero.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut found = [0; N];
    let tail = bytes.get(at..).unwrap_or_default();
    for (to, from) in found.iter_mut().zip(tail) {
        *to = *from;
    }
    found
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, at))
}
