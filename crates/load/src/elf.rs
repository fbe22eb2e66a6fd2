//! The ELF layer of a cubin or code object: header, sections, symbols and relocations as plain values.
//!
//! Work is bounded by the size of the file: a table must lie inside it, and the names and the contents read are each
//! limited to a few times its size ([`Budget`]). Otherwise overlapping sections or strings would make a small file
//! expensive. For example, a thousand symbols whose names all begin in one long string cost a thousand copies of it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use object::LittleEndian as LE;
use object::elf;
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};
use warpbound_base::Diagnostic;

use crate::elf_numbers::{CUDA_WITHOUT_CONTENTS, EM_AMDGPU, EM_CUDA, SHT_NOBITS};

/// Returns a diagnostic located at a byte offset of the file.
pub(crate) fn fault(offset: u64, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(message).at(format_args!("offset 0x{offset:x}"))
}

/// Symbol type of variables in relocatable files of NVIDIA.
pub(crate) const STT_CUDA_OBJECT: u8 = 13;

/// Section with the line table.
pub(crate) const LINE_TABLE: &str = ".debug_line";

/// Accepts an ELF file for a GPU; the error names any other machine.
pub(crate) fn check_machine(header: &Header) -> Result<(), Diagnostic> {
    let machine = match header.machine {
        EM_CUDA | EM_AMDGPU => return Ok(()),
        3 => "x86".to_owned(),
        62 => "x86-64".to_owned(),
        183 => "AArch64".to_owned(),
        243 => "RISC-V".to_owned(),
        number => format!("machine number {number}"),
    };
    // 18 is the offset of `e_machine` in the header.
    Err(fault(
        18,
        format!("this is an ELF file for {machine} without NVIDIA machine code inside"),
    ))
}

/// Header fields that identify the kind of an ELF file.
pub(crate) struct Header {
    pub(crate) os_abi: u8,
    pub(crate) abi_version: u8,
    pub(crate) file_type: u16,
    pub(crate) machine: u16,
    pub(crate) flags: u32,
}

impl Header {
    /// Parses the header at the start of `data`; 64 bytes suffice.
    pub(crate) fn read(data: &[u8]) -> Result<Header, Diagnostic> {
        let raw = raw_header(data)?;
        Ok(Header {
            os_abi: raw.e_ident.os_abi.0,
            abi_version: raw.e_ident.abi_version,
            file_type: raw.e_type.get(LE).0,
            machine: raw.e_machine.get(LE).0,
            flags: raw.e_flags.get(LE).0,
        })
    }
}

fn raw_header(data: &[u8]) -> Result<&elf::FileHeader64<LE>, Diagnostic> {
    elf::FileHeader64::<LE>::parse(data)
        .map_err(|_| fault(0, "the ELF header is cut short or not of a known version"))
}

/// One section header with its name.
#[derive(Clone)]
pub(crate) struct Section<'data> {
    pub(crate) name: &'data str,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) address: u64,
    /// Byte offset of the contents in the file.
    pub(crate) offset: u64,
    /// Size in bytes, also for a section without contents in the file.
    pub(crate) size: u64,
    pub(crate) info: u32,
    link: u32,
}

impl Section<'_> {
    /// Whether the file holds bytes for this section.
    pub(crate) fn has_contents(&self) -> bool {
        self.kind != SHT_NOBITS && !CUDA_WITHOUT_CONTENTS.contains(&self.kind)
    }
}

/// A part of the file that the loader places in memory.
pub(crate) struct RawSegment {
    pub(crate) address: u64,
    /// Byte offset of the contents in the file.
    pub(crate) offset: u64,
    /// Size in the file, and in memory, where zeros follow the contents.
    pub(crate) file_size: u64,
    pub(crate) memory_size: u64,
}

/// Location of a symbol's definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SymbolLocation {
    Undefined,
    /// In the section with this index.
    Section(usize),
    /// An absolute value, a common block, or another reserved index.
    Other,
}

/// One entry of the symbol table.
#[derive(Clone)]
pub(crate) struct RawSymbol {
    /// The name; for a section symbol the section's name.
    pub(crate) name: Arc<str>,
    pub(crate) kind: u8,
    /// Whether another file may define it instead (`STB_WEAK`).
    pub(crate) is_weak: bool,
    pub(crate) other: u8,
    pub(crate) location: SymbolLocation,
    pub(crate) value: u64,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Offset of the entry in the file.
    pub(crate) offset: u64,
}

/// One relocation entry.
pub(crate) struct RawRelocation {
    /// Byte offset in the relocated section.
    pub(crate) at: u64,
    pub(crate) number: u32,
    /// Index in the symbol table.
    pub(crate) symbol: usize,
    /// `None` if the relocated field itself holds the addend (`SHT_REL`).
    pub(crate) addend: Option<i64>,
    /// Offset of the entry in the file.
    pub(crate) offset: u64,
}

/// Splits `r_info` into the index of a symbol, in the high word, and the number of the relocation.
fn symbol_and_number(info: u64) -> (usize, u32) {
    let [a, b, c, d, e, f, g, h] = info.to_le_bytes();
    let symbol = u32::from_le_bytes([e, f, g, h]);
    // An index beyond `usize` refers to no symbol.
    let symbol = usize::try_from(symbol).unwrap_or(usize::MAX);
    (symbol, u32::from_le_bytes([a, b, c, d]))
}

impl RawRelocation {
    fn from_rel(offset: u64, entry: &elf::Rel64<LE>) -> RawRelocation {
        let (symbol, number) = symbol_and_number(entry.r_info.get(LE));
        RawRelocation {
            at: entry.r_offset.get(LE),
            number,
            symbol,
            addend: None,
            offset,
        }
    }

    fn from_rela(offset: u64, entry: &elf::Rela64<LE>) -> RawRelocation {
        let (symbol, number) = symbol_and_number(entry.r_info.get(LE));
        RawRelocation {
            at: entry.r_offset.get(LE),
            number,
            symbol,
            addend: Some(entry.r_addend.get(LE)),
            offset,
        }
    }
}

/// Relocations by the index of the relocated section, or the error of reading them.
pub(crate) type Relocations = BTreeMap<usize, Result<Vec<RawRelocation>, Diagnostic>>;

/// Number of bytes that may still be read. In a real file, every byte is in one section, and each section and symbol
/// is named once: four times the size of the file is ample.
pub(crate) struct Budget(Cell<u64>);

impl Budget {
    /// Returns the budget of a file of `size` bytes.
    pub(crate) fn new(size: u64) -> Budget {
        Budget(Cell::new(size.saturating_mul(4)))
    }

    /// Takes bytes from the budget.
    ///
    /// # Errors
    ///
    /// A diagnostic at `offset` if they exceed the rest; `item` names them.
    pub(crate) fn spend(&self, bytes: u64, offset: u64, item: &str) -> Result<(), Diagnostic> {
        match self.0.get().checked_sub(bytes) {
            Some(left) => {
                self.0.set(left);
                Ok(())
            }
            None => Err(fault(
                offset,
                format!("{item} overlap: together they are more than four times the file"),
            )),
        }
    }
}

/// The ELF view of a file.
pub(crate) struct Elf<'data> {
    pub(crate) header: Header,
    pub(crate) sections: Vec<Section<'data>>,
    pub(crate) symbols: Vec<RawSymbol>,
    /// Parts that the loader places in memory, in the order of the file.
    pub(crate) segments: Vec<RawSegment>,
    reader: Reader<'data>,
}

/// Bounded access to the bytes of the file.
struct Reader<'data> {
    data: &'data [u8],
    names: Budget,
    contents: Budget,
}

impl<'data> Reader<'data> {
    /// Reads the contents of a section.
    fn contents(&self, section: &Section<'_>) -> Result<&'data [u8], Diagnostic> {
        // Offset and size of such a section may lie anywhere, so they are not checked.
        if !section.has_contents() {
            return Ok(&[]);
        }
        let range = usize::try_from(section.offset).ok().and_then(|start| {
            let end = start.checked_add(usize::try_from(section.size).ok()?)?;
            self.data.get(start..end)
        });
        let bytes = range.ok_or_else(|| {
            let (name, size, length) = (section.name, section.size, self.data.len());
            let message = format!(
                "section {name:?} of 0x{size:x} bytes reaches beyond the end of the file (0x{length:x} bytes)"
            );
            fault(section.offset, message)
        })?;
        self.contents
            .spend(bytes.len() as u64, section.offset, "sections")?;
        Ok(bytes)
    }

    /// Reads the name at `index` of a string table that starts at file offset `table_offset`.
    fn name(
        &self,
        table: &'data [u8],
        table_offset: u64,
        index: u32,
    ) -> Result<&'data str, Diagnostic> {
        let offset = table_offset.saturating_add(u64::from(index));
        let tail = usize::try_from(index)
            .ok()
            .and_then(|start| table.get(start..))
            .ok_or_else(|| fault(offset, "a name lies outside its string table"))?;
        let length = tail
            .iter()
            .position(|&byte| byte == 0)
            .ok_or_else(|| fault(offset, "a name does not end inside its string table"))?;
        // Many names may share one string: each copy counts, not each byte of the table.
        self.names.spend(length as u64, offset, "names")?;
        let name = tail.get(..length).unwrap_or_default();
        std::str::from_utf8(name)
            .ok()
            // Names are printed in messages and reports of one line.
            .filter(|name| !name.contains(char::is_control))
            .ok_or_else(|| fault(offset, "a name is not plain UTF-8 text"))
    }

    /// Reads the entries of a section that is an array of `T`, each with its file offset.
    fn table<T: object::Pod>(
        &self,
        section: &Section<'data>,
        item: &str,
    ) -> Result<impl Iterator<Item = (u64, &'data T)> + use<'data, T>, Diagnostic> {
        let entries =
            object::pod::slice_from_all_bytes::<T>(self.contents(section)?).map_err(|()| {
                let message = format!(
                    "the {item} {:?} is not a whole number of entries",
                    section.name
                );
                fault(section.offset, message)
            })?;
        let start = section.offset;
        Ok(entries.iter().enumerate().map(move |(index, entry)| {
            (start.saturating_add((index * size_of::<T>()) as u64), entry)
        }))
    }
}

impl<'data> Elf<'data> {
    /// Reads headers, sections and symbols of a cubin. The caller has checked the ELF magic.
    pub(crate) fn parse(data: &'data [u8]) -> Result<Elf<'data>, Diagnostic> {
        let raw = raw_header(data)?;
        let header = Header::read(data)?;
        check_machine(&header)?;
        // Cubins need no program headers, but a file that is cut short inside them is damaged.
        let segments = raw.program_headers(LE, data).map_err(|_| {
            fault(
                raw.e_phoff.get(LE),
                "the program header table reaches beyond the end of the file or has entries of an unknown size",
            )
        })?;
        let reader = Reader {
            data,
            names: Budget::new(data.len() as u64),
            contents: Budget::new(data.len() as u64),
        };
        let sections = read_sections(&reader, raw)?;
        let mut symbols = read_symbols(&reader, &sections, elf::SHT_SYMTAB)?;
        if symbols.is_empty() && header.machine == EM_AMDGPU {
            // The linker's table may be stripped; the loader's table still names the kernels.
            symbols = read_symbols(&reader, &sections, elf::SHT_DYNSYM)?;
        }
        let segments = segments
            .iter()
            .filter(|segment| segment.p_type(LE) == elf::PT_LOAD);
        Ok(Elf {
            header,
            sections,
            symbols,
            segments: segments.map(read_segment).collect(),
            reader,
        })
    }

    /// The contents of a section; empty for a section without contents.
    pub(crate) fn contents(&self, section: &Section<'data>) -> Result<&'data [u8], Diagnostic> {
        self.reader.contents(section)
    }

    /// The contents of a part that the loader places in memory.
    pub(crate) fn segment_contents(&self, segment: &RawSegment) -> Result<&'data [u8], Diagnostic> {
        let range = usize::try_from(segment.offset).ok().and_then(|start| {
            let end = start.checked_add(usize::try_from(segment.file_size).ok()?)?;
            self.reader.data.get(start..end)
        });
        range.ok_or_else(|| {
            fault(
                segment.offset,
                format!(
                    "a segment of 0x{:x} bytes reaches beyond the end of the file",
                    segment.file_size
                ),
            )
        })
    }

    /// Bytes inside a section. They do not count against the budget of contents, so this is for a few bytes only.
    pub(crate) fn peek(&self, section: &Section<'_>, at: u64, size: u64) -> Option<&'data [u8]> {
        let inside = at.checked_add(size)? <= section.size && section.has_contents();
        let start = usize::try_from(section.offset.checked_add(at)?).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        self.reader.data.get(start..end).filter(|_| inside)
    }

    /// Whether a section is a relocation table of the loader: its fields are addresses in the loaded file, and its
    /// symbols are in the dynamic symbol table.
    fn is_dynamic(&self, table: &Section<'_>) -> bool {
        let symbols = self.sections.get(table.link as usize);
        symbols.is_some_and(|symbols| symbols.kind == elf::SHT_DYNSYM.0)
    }

    /// Reads the relocations that the loader applies, each with its symbol; [`RawRelocation::at`] is the address of the
    /// field.
    pub(crate) fn dynamic_relocations(
        &self,
    ) -> Result<Vec<(RawRelocation, RawSymbol)>, Diagnostic> {
        let symbols = read_symbols(&self.reader, &self.sections, elf::SHT_DYNSYM)?;
        let mut all = Vec::new();
        let tables = self
            .sections
            .iter()
            .filter(|table| table.kind == elf::SHT_RELA.0 && self.is_dynamic(table));
        for table in tables {
            for (offset, entry) in self.reader.table(table, "relocation table")? {
                let relocation = RawRelocation::from_rela(offset, entry);
                let symbol = symbols.get(relocation.symbol).ok_or_else(|| {
                    fault(offset, "a relocation names a symbol that does not exist")
                })?;
                // Names are shared, so a clone costs little even if many entries refer to one symbol.
                all.push((relocation, symbol.clone()));
            }
        }
        Ok(all)
    }

    /// Reads all relocations of sections, by the index of the relocated section, in the order of the file. A damaged
    /// table is an error of that section only.
    pub(crate) fn relocations(&self) -> Relocations {
        let mut relocations = Relocations::new();
        for section in &self.sections {
            // Their offsets are addresses in the loaded file, not offsets in a section.
            if self.header.machine == EM_AMDGPU && self.is_dynamic(section) {
                continue;
            }
            let entries = match elf::SectionType(section.kind) {
                elf::SHT_REL => self.entries(section, RawRelocation::from_rel),
                elf::SHT_RELA => self.entries(section, RawRelocation::from_rela),
                _ => continue,
            };
            let all = relocations
                .entry(section.info as usize)
                .or_insert_with(|| Ok(Vec::new()));
            match (&mut *all, entries) {
                (Ok(all), Ok(entries)) => all.extend(entries),
                // Some relocations of a section without the rest would leave fields with wrong contents.
                (Ok(_), Err(error)) => *all = Err(error),
                (Err(_), _) => {}
            }
        }
        relocations
    }

    /// Reads and checks the entries of a relocation table.
    fn entries<T: object::Pod>(
        &self,
        table: &Section<'data>,
        read: impl Fn(u64, &T) -> RawRelocation,
    ) -> Result<Vec<RawRelocation>, Diagnostic> {
        let entries: Vec<RawRelocation> = self
            .reader
            .table(table, "relocation table")?
            .map(|(offset, entry)| read(offset, entry))
            .collect();
        self.check_relocations(table, &entries)?;
        Ok(entries)
    }

    /// Checks that every entry changes an existing byte and refers to an existing symbol.
    fn check_relocations(
        &self,
        table: &Section<'data>,
        entries: &[RawRelocation],
    ) -> Result<(), Diagnostic> {
        // An empty table may name a section that does not exist.
        if entries.is_empty() {
            return Ok(());
        }
        let name = table.name;
        let changed = self.sections.get(table.info as usize).ok_or_else(|| {
            let message = format!(
                "{name:?} changes section {}, which does not exist",
                table.info
            );
            fault(table.offset, message)
        })?;
        for entry in entries {
            if entry.symbol >= self.symbols.len() {
                let message = format!(
                    "{name:?} names symbol {}, which does not exist",
                    entry.symbol
                );
                return Err(fault(entry.offset, message));
            }
            // Later code may then rely on each relocation being inside its section.
            if entry.at >= changed.size {
                let (at, size) = (entry.at, changed.size);
                let message =
                    format!("{name:?} changes offset 0x{at:x} of a section of 0x{size:x} bytes");
                return Err(fault(entry.offset, message));
            }
        }
        Ok(())
    }
}

/// Reads the section headers with their names.
fn read_sections<'data>(
    reader: &Reader<'data>,
    header: &elf::FileHeader64<LE>,
) -> Result<Vec<Section<'data>>, Diagnostic> {
    let headers = header.section_headers(LE, reader.data).map_err(|_| {
        fault(
            header.e_shoff.get(LE),
            "the section header table reaches beyond the end of the file or has entries of an unknown size",
        )
    })?;
    let mut sections: Vec<Section<'data>> = headers
        .iter()
        .map(|raw| Section {
            name: "",
            kind: raw.sh_type(LE).0,
            flags: raw.sh_flags(LE).0,
            address: raw.sh_addr(LE),
            offset: raw.sh_offset(LE),
            size: raw.sh_size(LE),
            info: raw.sh_info(LE),
            link: raw.sh_link(LE),
        })
        .collect();
    if sections.is_empty() {
        return Ok(sections);
    }
    let strings = header
        .section_strings_index(LE, reader.data)
        .ok()
        .and_then(|index| sections.get(index.0))
        .cloned()
        // 62 is the offset of `e_shstrndx` in the header.
        .ok_or_else(|| fault(62, "the section names are not where the header says"))?;
    let text = reader.contents(&strings)?;
    for (section, raw) in sections.iter_mut().zip(headers) {
        section.name = reader.name(text, strings.offset, raw.sh_name.get(LE))?;
    }
    Ok(sections)
}

/// Reads the fields of a program header.
fn read_segment(raw: &elf::ProgramHeader64<LE>) -> RawSegment {
    RawSegment {
        address: raw.p_vaddr(LE),
        offset: raw.p_offset(LE),
        file_size: raw.p_filesz(LE),
        memory_size: raw.p_memsz(LE),
    }
}

/// Reads the symbol table of a kind; a file has at most one.
fn read_symbols(
    reader: &Reader<'_>,
    sections: &[Section<'_>],
    kind: elf::SectionType,
) -> Result<Vec<RawSymbol>, Diagnostic> {
    let mut tables = sections.iter().filter(|section| section.kind == kind.0);
    let Some(table) = tables.next() else {
        return Ok(Vec::new());
    };
    // Relocations name symbols by index in one table.
    if let Some(second) = tables.next() {
        return Err(fault(second.offset, "there are two symbol tables"));
    }
    let strings = sections.get(table.link as usize).ok_or_else(|| {
        fault(
            table.offset,
            "the symbol table names a string table that does not exist",
        )
    })?;
    let text = reader.contents(strings)?;
    reader
        .table::<elf::Sym64<LE>>(table, "symbol table")?
        .map(|(offset, entry)| {
            let place = symbol_place(offset, entry.st_shndx.get(LE), sections.len())?;
            let name = match place {
                SymbolLocation::Section(index) if entry.st_type() == elf::STT_SECTION => {
                    let name = sections.get(index).map_or("", |section| section.name);
                    // Each symbol copies the name, so a large number of symbols of one section must not escape the
                    // budget.
                    reader.names.spend(name.len() as u64, offset, "names")?;
                    name
                }
                _ => reader.name(text, strings.offset, entry.st_name.get(LE))?,
            };
            Ok(RawSymbol {
                name: Arc::from(name),
                kind: entry.st_type().0,
                is_weak: entry.st_bind() == elf::STB_WEAK,
                other: entry.st_other.0,
                location: place,
                value: entry.st_value.get(LE),
                size: entry.st_size.get(LE),
                offset,
            })
        })
        .collect()
}

/// Location of the definition of the symbol whose entry is at file `offset`; `sections` is the number of sections.
fn symbol_place(
    offset: u64,
    index: elf::SymbolSection,
    sections: usize,
) -> Result<SymbolLocation, Diagnostic> {
    if index == elf::SHN_UNDEF {
        return Ok(SymbolLocation::Undefined);
    }
    // The index would be in a section of its own (`SHT_SYMTAB_SHNDX`), which only files with 65 280 sections or more
    // need.
    if index == elf::SHN_XINDEX {
        let message = "a symbol has an extended section index, which is not supported";
        return Err(fault(offset, message));
    }
    match index.index().map(usize::from) {
        Some(index) if index < sections => Ok(SymbolLocation::Section(index)),
        Some(index) => {
            let message = format!("a symbol lies in section {index}, which does not exist");
            Err(fault(offset, message))
        }
        None => Ok(SymbolLocation::Other),
    }
}
