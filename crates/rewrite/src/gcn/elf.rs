//! Parts of a linked code object that a change of its code affects.

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_load::GcnDescriptor;
use warpbound_load::elf_numbers::{
    EM_AMDGPU, PF_W, PT_LOAD, SECTION_HEADER_SIZE, SEGMENT_HEADER_SIZE, SHF_EXECINSTR, SHT_DYNSYM,
    SHT_NOBITS, SHT_PROGBITS, SHT_SYMTAB, SYMBOL_SIZE,
};

use super::ObjectKernel;

/// Bytes of a kernel descriptor.
const DESCRIPTOR: usize = 64;

/// Header of a section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ObjectSection {
    pub(super) name: String,
    pub(super) kind: u32,
    flags: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: usize,
}

/// Program header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ObjectSegment {
    pub(super) kind: u32,
    flags: u32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) file_size: u64,
    pub(super) memory_size: u64,
}

impl ObjectSegment {
    /// Address after the last byte in memory.
    pub(super) fn end(&self) -> u64 {
        self.address.saturating_add(self.memory_size)
    }
}

/// A linked code object for gfx803.
#[derive(Clone, Debug)]
pub(super) struct ObjectFile<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) sections: Vec<ObjectSection>,
    /// All program headers, in their order.
    pub(super) segments: Vec<ObjectSegment>,
    pub(super) sections_at: usize,
    pub(super) segments_at: usize,
    pub(super) names: usize,
    /// Index of the code section.
    pub(super) text: usize,
    /// Index of the segment that consists of the code section.
    pub(super) text_segment: usize,
    text_header: ObjectSection,
}

/// Little-endian number of `N` bytes at an offset.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_le_bytes)
}

/// Offset of entry `index` of a table.
pub(super) fn entry(at: usize, index: usize, size: usize) -> Option<usize> {
    at.checked_add(index.checked_mul(size)?)
}

/// Text at an offset of a string table.
fn text_at(table: &[u8], at: usize) -> Option<String> {
    let tail = table.get(at..)?;
    let text = tail.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn fault(at: usize, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(message).at(format_args!("offset 0x{at:x}"))
}

fn damaged(at: usize) -> Diagnostic {
    fault(at, "the ELF file is damaged")
}

impl<'a> ObjectFile<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<ObjectFile<'a>, Diagnostic> {
        check_header(bytes)?;
        let number = |at: usize| u64_at(bytes, at).and_then(|at| usize::try_from(at).ok());
        let half = |at: usize| u16_at(bytes, at).map(usize::from);
        let header = || {
            let tables = (number(32)?, number(40)?);
            let segments = (half(54)?, half(56)?);
            Some((tables, segments, (half(58)?, half(60)?, half(62)?)))
        };
        let found = header().ok_or_else(|| damaged(0))?;
        let ((segments_at, sections_at), (segment_size, segment_count), sections) = found;
        let (section_size, section_count, names) = sections;
        if segment_size != SEGMENT_HEADER_SIZE || section_size != SECTION_HEADER_SIZE {
            return Err(fault(54, "the tables of the ELF file have unknown sizes"));
        }
        let segments = (0..segment_count).map(|index| segment(bytes, segments_at, index));
        let segments: Option<Vec<_>> = segments.collect();
        let segments = segments.ok_or_else(|| damaged(segments_at))?;
        let sections = sections_of(bytes, sections_at, section_count, names);
        let sections = sections.ok_or_else(|| damaged(sections_at))?;
        let is_code = |section: &ObjectSection| {
            section.kind == SHT_PROGBITS && section.flags & SHF_EXECINSTR != 0 && section.size > 0
        };
        let code = sections.iter().enumerate();
        let code: Vec<_> = code.filter(|(_, section)| is_code(section)).collect();
        // Addresses are relative to one section, and all instructions of the file must be known (SOUNDNESS 19).
        let [(text, header)] = code.as_slice() else {
            return Err(fault(
                sections_at,
                format!(
                    "the code object has {} sections of code, not one",
                    code.len()
                ),
            ));
        };
        // The code may move to another address, so its segment must hold nothing else.
        let is_text = |segment: &ObjectSegment| {
            segment.kind == PT_LOAD
                && segment.address == header.address
                && segment.offset == header.offset
                && segment.file_size == header.size
                && segment.memory_size == header.size
        };
        let text_segment = segments.iter().position(is_text).ok_or_else(|| {
            fault(
                segments_at,
                "no segment of the code object has its code and nothing else",
            )
        })?;
        let (text, text_header) = (*text, (*header).clone());
        let file = ObjectFile {
            bytes,
            segments,
            sections_at,
            segments_at,
            names,
            text,
            text_segment,
            text_header,
            sections,
        };
        match file.contents(text) {
            Some(_) => Ok(file),
            None => Err(damaged(sections_at)),
        }
    }

    /// Header of the code section.
    pub(super) fn text(&self) -> &ObjectSection {
        &self.text_header
    }

    /// Bytes of the code section.
    pub(super) fn code(&self) -> &'a [u8] {
        self.contents(self.text).unwrap_or_default()
    }

    /// Contents of a section in the file.
    pub(super) fn contents(&self, index: usize) -> Option<&'a [u8]> {
        let section = self.sections.get(index)?;
        if section.kind == SHT_NOBITS {
            return Some(&[]);
        }
        let start = usize::try_from(section.offset).ok()?;
        let size = usize::try_from(section.size).ok()?;
        self.bytes.get(start..start.checked_add(size)?)
    }

    /// Offset in the file for `size` bytes at an address of the loaded file.
    pub(super) fn offset_of(&self, address: u64, size: u64) -> Option<usize> {
        let end = address.checked_add(size)?;
        let mut loaded = self.segments.iter().filter(|s| s.kind == PT_LOAD);
        let segment = loaded.find(|segment| {
            segment.address <= address && end <= segment.address.saturating_add(segment.file_size)
        })?;
        let offset = segment.offset.checked_add(address - segment.address)?;
        let is_inside = offset.checked_add(size)? <= self.bytes.len() as u64;
        usize::try_from(offset).ok().filter(|_| is_inside)
    }

    /// Address at which an added variable begins: the end of the last segment, which must be writable.
    pub(super) fn variable_address(&self) -> Result<u64, Diagnostic> {
        // Counters have 64 bits, and an atomic addition needs them aligned.
        let end = self.last_segment()?.1.end().checked_next_multiple_of(8);
        end.ok_or_else(|| {
            fault(
                self.segments_at,
                "the loaded file has no room for a variable",
            )
        })
    }

    /// Returns the segment that ends last in memory, with its index. Fails if it is not writable.
    pub(super) fn last_segment(&self) -> Result<(usize, ObjectSegment), Diagnostic> {
        let loaded = self.segments.iter().copied().enumerate();
        let last = loaded
            .filter(|(_, segment)| segment.kind == PT_LOAD)
            .max_by_key(|(_, segment)| segment.end());
        match last {
            Some((index, segment)) if segment.flags & PF_W != 0 => Ok((index, segment)),
            _ => Err(fault(
                self.segments_at,
                "the last segment of the code object is not writable",
            )),
        }
    }

    /// Name, value, size and section of each symbol in a table, by its index.
    pub(super) fn symbols(&self, table: usize) -> Option<Vec<(String, u64, u64, usize)>> {
        let section = self.sections.get(table)?;
        let (entries, strings) = (self.contents(table)?, self.contents(section.link)?);
        let symbols = entries.chunks_exact(SYMBOL_SIZE).map(|symbol| {
            let name = text_at(strings, u32_at(symbol, 0)? as usize)?;
            let (value, size) = (u64_at(symbol, 8)?, u64_at(symbol, 16)?);
            Some((name, value, size, usize::from(u16_at(symbol, 6)?)))
        });
        symbols.collect()
    }

    /// Kernels in the order of their entries. A kernel is a symbol of a descriptor, whose name ends in `.kd`.
    pub(super) fn kernels(&self) -> Result<Vec<ObjectKernel>, Diagnostic> {
        let of_kind = |kind| {
            self.sections
                .iter()
                .position(|section| section.kind == kind)
        };
        // The full table has the sizes of local functions as well; a stripped file has the dynamic one alone.
        let table = of_kind(SHT_SYMTAB).or_else(|| of_kind(SHT_DYNSYM));
        let table = table.ok_or_else(|| fault(self.sections_at, "there is no symbol table"))?;
        let symbols = self
            .symbols(table)
            .ok_or_else(|| damaged(self.sections_at))?;
        let text = self.text();
        let mut kernels = Vec::new();
        for (symbol, address, ..) in &symbols {
            let Some(name) = symbol.strip_suffix(".kd") else {
                continue;
            };
            let refuse = |message: &str| Diagnostic::new(message).in_kernel(name);
            let offset = self.offset_of(*address, DESCRIPTOR as u64);
            let offset = offset.ok_or_else(|| refuse("its descriptor is not in the file"))?;
            let word = |at: usize| u32_at(self.bytes, offset + at).unwrap_or(0);
            // The descriptor holds the entry relative to itself.
            let distance = u64_at(self.bytes, offset + 16).unwrap_or(0);
            let entry = address.wrapping_add(distance).checked_sub(text.address);
            let entry = entry.filter(|entry| *entry < text.size);
            let entry = entry.and_then(|entry| u32::try_from(entry).ok());
            let entry = entry.ok_or_else(|| refuse("its first instruction is not in the code"))?;
            // The descriptor does not say where the code ends, but the symbol of the function may.
            let function = symbols.iter().find(|(function, ..)| function == name);
            let size = function.map_or(0, |(_, _, size, _)| *size);
            kernels.push(ObjectKernel {
                name: name.to_owned(),
                entry: CodeAddr(entry),
                end: CodeAddr(entry.saturating_add(u32::try_from(size).unwrap_or(u32::MAX))),
                descriptor: (*address, offset),
                facts: GcnDescriptor {
                    rsrc1: word(48),
                    rsrc2: word(52),
                    properties: word(56) & 0xffff,
                    private_segment: word(4),
                    group_segment: word(0),
                },
            });
        }
        kernels.sort_by_key(|kernel| (kernel.entry, kernel.name.clone()));
        kernels.dedup_by(|a, b| a.name == b.name);
        // A function without a size is taken to end where the next kernel begins.
        let mut end = CodeAddr(u32::try_from(text.size).unwrap_or(u32::MAX));
        for kernel in kernels.iter_mut().rev() {
            if kernel.end == kernel.entry {
                kernel.end = end;
            }
            end = kernel.entry;
        }
        Ok(kernels)
    }
}

/// Whether a file is an ELF file of 64 bits for an AMD GPU.
pub(super) fn is_for_amd(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF\x02\x01") && u16_at(bytes, 18) == Some(EM_AMDGPU)
}

/// Refuses files other than linked code objects of version 3 or later for gfx803.
fn check_header(bytes: &[u8]) -> Result<(), Diagnostic> {
    /// ELF version 1, HSA.
    const IDENTITY: [u8; 2] = [1, 64];
    const GFX803: u8 = 0x2a;
    if !is_for_amd(bytes) || bytes.get(6..8) != Some(IDENTITY.as_slice()) {
        return Err(fault(0, "this is no code object for an AMD GPU"));
    }
    if u16_at(bytes, 16) != Some(3) {
        return Err(fault(16, "the code object is not linked")
            .hint("link it first, e.g. with `ld.lld -shared`"));
    }
    // Byte 8 is the ABI version. Version 2 has no symbols of descriptors.
    if bytes.get(8) == Some(&0) {
        return Err(fault(8, "code objects of version 2 cannot be rewritten"));
    }
    match bytes.get(48) {
        Some(&GFX803) => Ok(()),
        _ => Err(fault(48, "the code object is not for gfx803")),
    }
}

fn segment(bytes: &[u8], table: usize, index: usize) -> Option<ObjectSegment> {
    let at = entry(table, index, SEGMENT_HEADER_SIZE)?;
    Some(ObjectSegment {
        kind: u32_at(bytes, at)?,
        flags: u32_at(bytes, at + 4)?,
        offset: u64_at(bytes, at + 8)?,
        address: u64_at(bytes, at + 16)?,
        file_size: u64_at(bytes, at + 32)?,
        memory_size: u64_at(bytes, at + 40)?,
    })
}

fn sections_of(
    bytes: &[u8],
    table: usize,
    count: usize,
    names: usize,
) -> Option<Vec<ObjectSection>> {
    let header = |index: usize| {
        let at = entry(table, index, SECTION_HEADER_SIZE)?;
        bytes.get(at..at.checked_add(SECTION_HEADER_SIZE)?)
    };
    let names = header(names)?;
    let start = usize::try_from(u64_at(names, 24)?).ok()?;
    let size = usize::try_from(u64_at(names, 32)?).ok()?;
    let names = bytes.get(start..start.checked_add(size)?)?;
    let sections = (0..count).map(|index| {
        let header = header(index)?;
        Some(ObjectSection {
            name: text_at(names, u32_at(header, 0)? as usize)?,
            kind: u32_at(header, 4)?,
            flags: u64_at(header, 8)?,
            address: u64_at(header, 16)?,
            offset: u64_at(header, 24)?,
            size: u64_at(header, 32)?,
            link: u32_at(header, 40)? as usize,
        })
    });
    sections.collect()
}
