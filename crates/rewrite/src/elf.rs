//! An editable ELF file: header, sections byte for byte, and segments, written again with new sizes and offsets.
//!
//! Without edits, a file keeps its bytes. If a section changes its size, all sections keep their indices and their
//! order in the file, and each begins at the next multiple of its alignment, as `ptxas` lays them out. For example, a
//! code section that ends at 0x6c0 is followed by one with alignment 32 at 0x6c0, and by one with alignment 128 at
//! 0x700.

mod layout;

use warpbound_base::Diagnostic;
use warpbound_load::elf_numbers::{
    CUDA_WITHOUT_CONTENTS, EM_CUDA, HEADER_SIZE, SECTION_HEADER_SIZE, SEGMENT_HEADER_SIZE,
    SHT_NOBITS, SHT_REL, SHT_RELA, SHT_SYMTAB, SYMBOL_SIZE,
};

/// One section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ElfSection {
    /// Name, and the offset of the name in the string table of section names.
    pub(crate) name: String,
    pub(crate) name_at: u32,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) address: u64,
    /// Offset in the file that was read. An added section has the offset of the section before it.
    pub(crate) offset: u64,
    /// Size in memory, which counts only for a section without contents in the file.
    pub(crate) memory_size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
    pub(crate) align: u64,
    pub(crate) entry_size: u64,
    /// Contents in the file.
    pub(crate) data: Vec<u8>,
}

impl ElfSection {
    /// Whether the file holds bytes for this section.
    pub(crate) fn has_contents(&self) -> bool {
        self.kind != SHT_NOBITS && !CUDA_WITHOUT_CONTENTS.contains(&self.kind)
    }

    /// Size in bytes.
    pub(crate) fn size(&self) -> u64 {
        if self.has_contents() {
            self.data.len() as u64
        } else {
            self.memory_size
        }
    }
}

/// One program header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ElfSegment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_size: u64,
    memory_size: u64,
    align: u64,
}

/// One entry of the symbol table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ElfSymbol {
    pub(crate) name: String,
    /// Offset of the name in the string table.
    pub(crate) name_at: u32,
    /// Binding in bits 7:4, type in bits 3:0.
    pub(crate) info: u8,
    pub(crate) other: u8,
    /// Section index, or a reserved number.
    pub(crate) section: u16,
    pub(crate) value: u64,
    pub(crate) size: u64,
}

impl ElfSymbol {
    /// Type of the symbol: 1 object, 2 function, 3 section.
    pub(crate) fn kind(&self) -> u8 {
        self.info & 0xf
    }
}

/// One relocation, from either kind of table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ElfRelocation {
    /// Byte offset in the section that the relocation changes.
    pub(crate) at: u64,
    pub(crate) number: u32,
    /// Index in the symbol table.
    pub(crate) symbol: u32,
    /// Addend, or `None` if the field itself holds it.
    pub(crate) addend: Option<i64>,
}

/// An ELF file for an NVIDIA GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ElfFile {
    /// The file as read.
    original: Vec<u8>,
    header: [u8; HEADER_SIZE],
    pub(crate) sections: Vec<ElfSection>,
    segments: Vec<ElfSegment>,
    names: usize,
}

/// Reads little-endian fields at fixed offsets.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk::<N>().copied()
    }

    pub(crate) fn u16(&self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&self, at: usize) -> Option<u64> {
        self.bytes(at).map(u64::from_le_bytes)
    }
}

/// Diagnostic at a byte offset of the file.
pub(crate) fn fault(offset: u64, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(message).at(format_args!("offset 0x{offset:x}"))
}

/// Returns `size` bytes of `data` at `offset`.
fn part(data: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    data.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}

/// Returns the text at `at` in a string table.
fn text_at(table: &[u8], at: u32) -> Option<String> {
    let tail = table.get(usize::try_from(at).ok()?..)?;
    let text = tail.split(|&byte| byte == 0).next()?;
    Some(std::str::from_utf8(text).ok()?.to_owned())
}

impl ElfFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A diagnostic with the offset, if the file is no ELF file for an NVIDIA GPU or is damaged.
    pub(crate) fn parse(data: &[u8]) -> Result<ElfFile, Diagnostic> {
        let damaged = |at: u64| fault(at, "the ELF file is damaged");
        let header: [u8; HEADER_SIZE] = *data.first_chunk().ok_or_else(|| damaged(0))?;
        let fields = Fields(&header);
        if header.get(..6) != Some(b"\x7fELF\x02\x01") {
            return Err(fault(0, "this is not a 64-bit little-endian ELF file"));
        }
        if fields.u16(18) != Some(EM_CUDA) {
            return Err(fault(18, "this is not an ELF file for an NVIDIA GPU"));
        }
        let segments_at = fields.u64(32).unwrap_or(0);
        let sections_at = fields.u64(40).unwrap_or(0);
        let half = |at: usize| u64::from(fields.u16(at).unwrap_or(0));
        let (segment_size, segment_count) = (half(54), half(56));
        let (section_size, section_count, names) = (half(58), half(60), half(62));
        // Without segments, the size of their headers does not matter.
        if (segment_count != 0 && segment_size != SEGMENT_HEADER_SIZE as u64)
            || section_size != SECTION_HEADER_SIZE as u64
            || names >= section_count
        {
            return Err(fault(54, "the tables of the ELF file have unknown sizes"));
        }
        let table = part(data, sections_at, section_count * section_size)
            .ok_or_else(|| damaged(sections_at))?;
        // Headers may name overlapping contents, and names may share their ends. The budget keeps the copies of a
        // hostile file within a few times its own size.
        let mut budget = data.len().saturating_mul(4);
        let mut sections = Vec::new();
        for raw in table.chunks_exact(SECTION_HEADER_SIZE) {
            sections.push(read_section(data, raw, &mut budget)?);
        }
        let names = names as usize;
        let strings = sections.get(names).map_or(Vec::new(), |s| s.data.clone());
        for section in &mut sections {
            section.name =
                text_at(&strings, section.name_at).ok_or_else(|| damaged(sections_at))?;
            budget = budget
                .checked_sub(section.name.len())
                .ok_or_else(|| damaged(sections_at))?;
        }
        let table = part(data, segments_at, segment_count * segment_size)
            .ok_or_else(|| damaged(segments_at))?;
        let segments = table.chunks_exact(SEGMENT_HEADER_SIZE);
        let segments: Option<Vec<ElfSegment>> = segments.map(read_segment).collect();
        Ok(ElfFile {
            original: data.to_vec(),
            header,
            sections,
            segments: segments.ok_or_else(|| damaged(segments_at))?,
            names,
        })
    }

    /// Whether the file is linked (`ET_EXEC`).
    pub(crate) fn is_executable(&self) -> bool {
        Fields(&self.header).u16(16) == Some(2)
    }

    /// Index of the first section with a name.
    pub(crate) fn section_named(&self, name: &str) -> Option<usize> {
        self.sections
            .iter()
            .position(|section| section.name == name)
    }

    /// Index of the symbol table.
    pub(crate) fn symbol_table(&self) -> Result<usize, Diagnostic> {
        self.sections
            .iter()
            .position(|section| section.kind == SHT_SYMTAB)
            .ok_or_else(|| fault(0, "the file has no symbol table"))
    }

    /// Reads the symbol table.
    pub(crate) fn symbols(&self) -> Result<Vec<ElfSymbol>, Diagnostic> {
        let table = self.symbol_table()?;
        let Some(section) = self.sections.get(table) else {
            return Ok(Vec::new());
        };
        let strings = self.sections.get(section.link as usize);
        let strings = strings.map_or(&[][..], |strings| &strings.data);
        // All symbols may share one long name, so the copies are limited here as well.
        let mut budget = strings.len().saturating_mul(4);
        let entries = section.data.chunks_exact(SYMBOL_SIZE);
        entries
            .map(|raw| {
                let fields = Fields(raw);
                let name_at = fields.u32(0)?;
                let name = text_at(strings, name_at)?;
                budget = budget.checked_sub(name.len())?;
                Some(ElfSymbol {
                    name,
                    name_at,
                    info: *raw.get(4)?,
                    other: *raw.get(5)?,
                    section: fields.u16(6)?,
                    value: fields.u64(8)?,
                    size: fields.u64(16)?,
                })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| fault(section.offset, "the symbol table is damaged"))
    }

    /// Writes the symbol table.
    pub(crate) fn set_symbols(&mut self, symbols: &[ElfSymbol]) -> Result<(), Diagnostic> {
        let table = self.symbol_table()?;
        let mut data = Vec::with_capacity(symbols.len() * SYMBOL_SIZE);
        for symbol in symbols {
            data.extend(symbol.name_at.to_le_bytes());
            data.extend([symbol.info, symbol.other]);
            data.extend(symbol.section.to_le_bytes());
            data.extend(symbol.value.to_le_bytes());
            data.extend(symbol.size.to_le_bytes());
        }
        if let Some(section) = self.sections.get_mut(table) {
            section.data = data;
        }
        Ok(())
    }

    /// Adds a name to a string table and returns its offset.
    pub(crate) fn add_name(&mut self, table: usize, name: &str) -> u32 {
        let Some(section) = self.sections.get_mut(table) else {
            return 0;
        };
        // The old names stay, because other entries of the table may point into them.
        let at = section.data.len() as u32;
        section.data.extend(name.bytes());
        section.data.push(0);
        at
    }

    /// Adds a section after the section `after` in the file, but last in the table of sections. Returns its index.
    pub(crate) fn add_section(&mut self, mut section: ElfSection, after: usize) -> usize {
        let names = self.names;
        section.name_at = self.add_name(names, &section.name);
        section.offset = self.sections.get(after).map_or(0, |after| after.offset);
        self.sections.push(section);
        self.sections.len() - 1
    }

    /// Reads a relocation table.
    pub(crate) fn relocations(&self, table: usize) -> Vec<ElfRelocation> {
        let Some(section) = self.sections.get(table) else {
            return Vec::new();
        };
        let size = if section.kind == SHT_RELA { 24 } else { 16 };
        let entries = section.data.chunks_exact(size);
        entries
            .filter_map(|raw| {
                let fields = Fields(raw);
                Some(ElfRelocation {
                    at: fields.u64(0)?,
                    number: fields.u32(8)?,
                    symbol: fields.u32(12)?,
                    addend: fields.u64(16).map(u64::cast_signed),
                })
            })
            .collect()
    }

    /// Writes a relocation table.
    pub(crate) fn set_relocations(&mut self, table: usize, entries: &[ElfRelocation]) {
        let Some(section) = self.sections.get_mut(table) else {
            return;
        };
        let has_addend = section.kind == SHT_RELA;
        let mut data = Vec::new();
        for entry in entries {
            data.extend(entry.at.to_le_bytes());
            data.extend(entry.number.to_le_bytes());
            data.extend(entry.symbol.to_le_bytes());
            if has_addend {
                data.extend(entry.addend.unwrap_or(0).to_le_bytes());
            }
        }
        section.data = data;
    }

    /// Indices of the relocation tables that change a section.
    pub(crate) fn relocation_tables(&self, changed: usize) -> Vec<usize> {
        let tables = self.sections.iter().enumerate();
        tables
            .filter(|(_, table)| {
                matches!(table.kind, SHT_REL | SHT_RELA) && table.info as usize == changed
            })
            .map(|(index, _)| index)
            .collect()
    }

    /// Returns the file as bytes.
    pub(crate) fn write(&self) -> Result<Vec<u8>, Diagnostic> {
        layout::write(self)
    }

    /// Returns the file as bytes, laid out anew even if no size changed.
    #[cfg(test)]
    pub(crate) fn write_anew(&self) -> Result<Vec<u8>, Diagnostic> {
        layout::write_anew(self)
    }
}

/// Reads a section header with its contents; `budget` is the number of bytes that may still be copied.
fn read_section(data: &[u8], raw: &[u8], budget: &mut usize) -> Result<ElfSection, Diagnostic> {
    let fields = Fields(raw);
    let long = |at: usize| fields.u64(at).unwrap_or(0);
    let word = |at: usize| fields.u32(at).unwrap_or(0);
    let mut section = ElfSection {
        name: String::new(),
        name_at: word(0),
        kind: word(4),
        flags: long(8),
        address: long(16),
        offset: long(24),
        memory_size: long(32),
        link: word(40),
        info: word(44),
        align: long(48),
        entry_size: long(56),
        data: Vec::new(),
    };
    // The entry for index 0 is empty and has no place.
    if section.kind != 0 && section.has_contents() {
        let contents = part(data, section.offset, section.memory_size).ok_or_else(|| {
            fault(
                section.offset,
                "a section reaches beyond the end of the file",
            )
        })?;
        *budget = budget
            .checked_sub(contents.len())
            .ok_or_else(|| fault(section.offset, "sections overlap"))?;
        section.data = contents.to_vec();
    }
    Ok(section)
}

/// Reads a program header.
fn read_segment(raw: &[u8]) -> Option<ElfSegment> {
    let fields = Fields(raw);
    Some(ElfSegment {
        kind: fields.u32(0)?,
        flags: fields.u32(4)?,
        offset: fields.u64(8)?,
        address: fields.u64(16)?,
        physical: fields.u64(24)?,
        file_size: fields.u64(32)?,
        memory_size: fields.u64(40)?,
        align: fields.u64(48)?,
    })
}

#[cfg(test)]
mod tests {
    use super::ElfFile;

    /// The layout is the same as `ptxas` makes: laid out anew, each of our own cubins has the same bytes.
    #[test]
    fn layout_of_own_cubins() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
        let mut cubins = 0;
        let mut different = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "cubin") {
                continue;
            }
            let data = std::fs::read(&path).unwrap();
            let elf = ElfFile::parse(&data).unwrap();
            assert_eq!(elf.write().unwrap(), data, "{}", path.display());
            if elf.write_anew().unwrap() != data {
                different.push(path.display().to_string());
            }
            cubins += 1;
        }
        assert!(cubins > 300, "{cubins}");
        assert!(
            different.is_empty(),
            "{} of {cubins}: {different:?}",
            different.len()
        );
    }
}
