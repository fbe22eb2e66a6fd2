//! Host files that contain fat binaries: programs, shared objects, object files, static archives. For example, `nvcc`
//! puts the device code of a program into its section `.nv_fatbin`.

use std::sync::Arc;

use bytes::Bytes;
use object::LittleEndian as LE;
use object::elf;
use object::read::ReadCache;
use object::read::ReadCacheOps;
use object::read::archive::ArchiveFile;
use warpbound_base::Diagnostic;

use crate::elf::{Budget, fault};
use crate::source::Window;

/// Names of the sections that hold fat binaries: for linked and for relocatable device code.
const SECTIONS: [&[u8]; 2] = [b".nv_fatbin", b"__nv_relfatbin"];

/// Name of the section that holds offload bundles.
const BUNDLES: &[u8] = b".hip_fatbin";

/// A section that holds, or may hold, fat binaries.
pub(crate) enum FatSection<'a> {
    /// A section of fat binaries only.
    Dedicated(Window<'a>),
    /// A section of offload bundles only.
    Bundles(Window<'a>),
    /// A data section. Libraries that choose kernels at run time embed fat binaries in such sections.
    Data(Window<'a>),
}

/// Finds the sections of a 64-bit little-endian ELF file that may hold fat binaries, in the order of the file.
/// Only the section table and the section names are read.
pub(crate) fn fat_sections<'a>(file: Window<'a>) -> Result<Vec<FatSection<'a>>, Diagnostic> {
    let bytes = file.head(size_of::<elf::FileHeader64<LE>>() as u64)?;
    let (header, _) = object::pod::from_bytes::<elf::FileHeader64<LE>>(&bytes)
        .map_err(|()| fault(file.start, "the ELF header is cut short"))?;
    // The section table is usually at the end of the file, so only its window is read, not the file.
    let table = header.e_shoff.get(LE);
    // A stripped program without a section table is valid; it has no section to search.
    if table == 0 {
        return Ok(Vec::new());
    }
    let entry = size_of::<elf::SectionHeader64<LE>>() as u64;
    if u64::from(header.e_shentsize.get(LE)) != entry {
        // 58 is the offset of `e_shentsize` in the header.
        return Err(fault(
            file.start + 58,
            format!("section headers of other than {entry} bytes"),
        ));
    }
    let first = file.read(table, entry, "the section table")?;
    let first = section_headers(&first)
        .first()
        .ok_or_else(|| fault(file.start, "the section table is cut short"))?;
    // Counts and indices too large for the header are in the first section header (ELF, `e_shnum`, `SHN_XINDEX`).
    let count = match header.e_shnum.get(LE) {
        0 => first.sh_size.get(LE),
        count => count.into(),
    };
    let names = match header.e_shstrndx.get(LE) {
        elf::SHN_XINDEX => first.sh_link.get(LE),
        index => index.0.into(),
    };
    let size = count
        .checked_mul(entry)
        .ok_or_else(|| fault(file.start, "the section table has no end"))?;
    let headers = file.read(table, size, "the section table")?;
    let headers = section_headers(&headers);
    let names = headers.get(names as usize).ok_or_else(|| {
        fault(
            file.start + 62,
            "the section names are not where the header says",
        )
    })?;
    let names = file.read(
        names.sh_offset.get(LE),
        names.sh_size.get(LE),
        "the section names",
    )?;
    let mut found = Vec::new();
    let budget = Budget::new(file.size);
    for header in headers {
        let name = names
            .get(header.sh_name.get(LE) as usize..)
            .unwrap_or_default();
        let flags = header.sh_flags.get(LE);
        // Sections that are not loaded, such as debug information, cannot hold kernels that the program launches.
        let is_data = flags.contains(elf::SHF_ALLOC) && !flags.contains(elf::SHF_EXECINSTR);
        let own = SECTIONS.iter().any(|section| is_named(name, section));
        if header.sh_type.get(LE) == elf::SHT_PROGBITS && (own || is_data) {
            let (at, size) = (header.sh_offset.get(LE), header.sh_size.get(LE));
            let section = file.slice(at, size, "a section with data")?;
            // Sections may overlap; otherwise many of them could make one region be searched many times.
            budget.spend(size, section.start, "sections")?;
            found.push(match own {
                true => FatSection::Dedicated(section),
                false if is_named(name, BUNDLES) => FatSection::Bundles(section),
                false => FatSection::Data(section),
            });
        }
    }
    Ok(found)
}

/// Whether the name at the start of `names` is `name`. Compares only `name.len() + 1` bytes, because names may
/// overlap and each may be as long as the table.
fn is_named(names: &[u8], name: &[u8]) -> bool {
    let rest = names.strip_prefix(name);
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(0)))
}

fn section_headers(bytes: &Bytes) -> &[elf::SectionHeader64<LE>] {
    object::pod::slice_from_all_bytes(bytes).unwrap_or_default()
}

/// Lists the members of a static archive with their names.
pub(crate) fn archive_members<'a>(
    file: Window<'a>,
) -> Result<Vec<(Arc<str>, Window<'a>)>, Diagnostic> {
    let failed =
        |error: object::Error| fault(file.start, format!("the archive cannot be read: {error}"));
    let cache = ReadCache::new(Cursor { file, at: 0 });
    let archive = ArchiveFile::parse(&cache).map_err(failed)?;
    if archive.is_thin() {
        return Err(fault(
            file.start,
            "this is a thin archive, which only names its members; give the members themselves",
        ));
    }
    let mut members = Vec::new();
    // Members may share one long name: the budget keeps the copies linear in the size of the file.
    let budget = Budget::new(file.size);
    for member in archive.members() {
        let member = member.map_err(failed)?;
        let (start, size) = member.file_range();
        budget.spend(member.name().len() as u64, start, "names")?;
        let name = String::from_utf8_lossy(member.name()).replace(char::is_control, "\u{fffd}");
        members.push((
            name.into(),
            file.slice(start, size, "a member of the archive")?,
        ));
    }
    Ok(members)
}

/// Adapter that lets `object` read a window.
struct Cursor<'a> {
    file: Window<'a>,
    at: u64,
}

impl ReadCacheOps for Cursor<'_> {
    fn len(&mut self) -> Result<u64, ()> {
        Ok(self.file.size)
    }

    fn seek(&mut self, at: u64) -> Result<u64, ()> {
        self.at = at;
        Ok(at)
    }

    fn read(&mut self, to: &mut [u8]) -> Result<usize, ()> {
        let rest = self.file.size.saturating_sub(self.at);
        let size = rest.min(to.len() as u64);
        let bytes = self
            .file
            .read(self.at, size, "the archive")
            .map_err(|_| ())?;
        to.get_mut(..bytes.len()).ok_or(())?.copy_from_slice(&bytes);
        self.at += size;
        Ok(bytes.len())
    }

    fn read_exact(&mut self, to: &mut [u8]) -> Result<(), ()> {
        match self.read(to)? == to.len() {
            true => Ok(()),
            false => Err(()),
        }
    }
}
