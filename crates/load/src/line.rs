//! The line table: the source lines of instructions.
//!
//! In a cubin, `.debug_line` holds one sequence of rows per code section. Its start address is 0 in the file; a
//! relocation against the kernel's symbol identifies the section. The relocations are applied to a copy of the table,
//! with the section's index in the upper half of each address. For example, address 0x18 of section 5 becomes
//! 0x5_0000_0018. The same holds for code objects that are not linked; in linked ones the addresses are those in the
//! loaded file, and the upper half is 0.

use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::{
    DebugLine, DebugLineOffset, DebugLineStr, EndianSlice, LineProgramHeader, LittleEndian,
};
use warpbound_base::{CodeAddr, Diagnostic};

use crate::elf::{Budget, Elf, LINE_TABLE, RawRelocation, Relocations, SymbolLocation, fault};
use crate::elf_numbers::EM_AMDGPU;

/// A line of a source file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourceLine {
    /// The path as the compiler recorded it: directory and name.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
}

impl std::fmt::Display for SourceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The rows of one code section.
#[derive(Clone, Default, Debug)]
pub(crate) struct LineTable {
    files: Arc<[FileName]>,
    /// Rows by address. Each applies up to the next.
    rows: Arc<[Row]>,
    /// Address of the first byte of the code in the rows.
    base: u32,
}

/// Name of a source file.
#[derive(Clone, Debug)]
struct FileName {
    directory: Arc<str>,
    name: String,
}

/// A row of the line table.
#[derive(Clone, Copy, Debug)]
struct Row {
    address: u32,
    /// Index of the file and line number. `None` at the end of a sequence and for code without a line.
    line: Option<(u32, u32)>,
}

impl LineTable {
    /// Table for code whose first byte is at the address `base` of the rows.
    pub(crate) fn at(&self, base: u32) -> LineTable {
        LineTable {
            base,
            ..self.clone()
        }
    }

    /// The source line of an address.
    pub(crate) fn find(&self, address: CodeAddr) -> Option<SourceLine> {
        let address = self.base.checked_add(address.0)?;
        let next = self.rows.partition_point(|row| row.address <= address);
        let row = self.rows.get(next.checked_sub(1)?)?;
        let (file, line) = row.line?;
        let file = self.files.get(usize::try_from(file).ok()?)?;
        Some(SourceLine {
            file: if file.directory.is_empty() || file.name.starts_with('/') {
                file.name.clone()
            } else {
                format!("{}/{}", file.directory, file.name)
            },
            line,
        })
    }
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// `R_CUDA_64`: the only relocation that ptxas puts into line tables (experiment).
const R_CUDA_64: u32 = 2;

/// Relocations in line tables of code objects: an address (`R_AMDGPU_ABS64`), and an offset in a section of names
/// (`R_AMDGPU_ABS32`).
const R_AMDGPU_ABS64: u32 = 3;
const R_AMDGPU_ABS32: u32 = 6;

/// Section with names of files.
const LINE_NAMES: &str = ".debug_line_str";

/// Reads `.debug_line`: one table per code section index. Empty if the file has no line table.
pub(crate) fn read(
    elf: &Elf<'_>,
    relocations: &Relocations,
) -> Result<BTreeMap<usize, LineTable>, Diagnostic> {
    let Some((index, section)) = elf
        .sections
        .iter()
        .enumerate()
        .find(|(_, section)| section.name == LINE_TABLE)
    else {
        return Ok(BTreeMap::new());
    };
    let mut contents = elf.contents(section)?.to_vec();
    if let Some(relocations) = relocations.get(&index) {
        for relocation in relocations.as_ref().map_err(Diagnostic::clone)? {
            relocate(elf, &mut contents, relocation)?;
        }
    }
    let names = elf
        .sections
        .iter()
        .find(|section| section.name == LINE_NAMES);
    // Before DWARF 5 all names are in the table itself.
    let names = names.map_or(Ok(&[][..]), |names| elf.contents(names))?;
    let mut reader = TableReader {
        section_offset: section.offset,
        newest_version: if elf.header.machine == EM_AMDGPU {
            5
        } else {
            4
        },
        names: DebugLineStr::new(names, LittleEndian),
        budget: Budget::new((contents.len() + names.len()) as u64),
        files: Vec::new(),
        rows: BTreeMap::new(),
    };
    reader.read(&contents)?;
    let files = Arc::<[FileName]>::from(reader.files);
    Ok(reader
        .rows
        .into_iter()
        .map(|(section, mut rows)| {
            // The end of one sequence may be the start of the next: the start takes precedence. The sort is
            // stable, so of several rows at one address the last in the program applies.
            rows.sort_by_key(|row| (row.address, row.line.is_some()));
            let files = Arc::clone(&files);
            let table = LineTable {
                files,
                rows: rows.into(),
                base: 0,
            };
            (section, table)
        })
        .collect())
}

/// Writes the address of a symbol into the table: the section index in bits 63:32, the byte offset in bits 31:0.
fn relocate(
    elf: &Elf<'_>,
    contents: &mut [u8],
    relocation: &RawRelocation,
) -> Result<(), Diagnostic> {
    let bad = |message: &str| {
        fault(
            relocation.offset,
            format!("line table relocation: {message}"),
        )
    };
    let is_amd = elf.header.machine == EM_AMDGPU;
    match (is_amd, relocation.number) {
        (false, R_CUDA_64) | (true, R_AMDGPU_ABS64 | R_AMDGPU_ABS32) => {}
        (false, _) => return Err(bad("is not R_CUDA_64")),
        (true, _) => return Err(bad("is neither R_AMDGPU_ABS64 nor R_AMDGPU_ABS32")),
    }
    let symbol = elf
        .symbols
        .get(relocation.symbol)
        .ok_or_else(|| bad("the symbol does not exist"))?;
    let SymbolLocation::Section(section) = symbol.location else {
        return Err(bad("the symbol has no section"));
    };
    let tail = usize::try_from(relocation.at)
        .ok()
        .and_then(|at| contents.get_mut(at..));
    let tail = tail.ok_or_else(|| bad("lies outside the table"))?;
    if is_amd && relocation.number == R_AMDGPU_ABS32 {
        let name = symbol
            .value
            .wrapping_add_signed(relocation.addend.unwrap_or(0));
        let field = tail
            .first_chunk_mut::<4>()
            .ok_or_else(|| bad("lies outside the table"))?;
        let [a, b, c, d, ..] = name.to_le_bytes();
        *field = [a, b, c, d];
        return Ok(());
    }
    let field = tail
        .first_chunk_mut::<8>()
        .ok_or_else(|| bad("lies outside the table"))?;
    let addend = relocation.addend.unwrap_or(i64::from_le_bytes(*field));
    // An offset of 32 bits or more would change the section index in the upper half.
    let offset = symbol
        .value
        .checked_add_signed(addend)
        .and_then(|offset| u32::try_from(offset).ok())
        .ok_or_else(|| bad("the address leaves the section"))?;
    let section = u32::try_from(section).map_err(|_| bad("the section index is too large"))?;
    *field = (u64::from(section) << 32 | u64::from(offset)).to_le_bytes();
    Ok(())
}

/// Reader of a `.debug_line` section; rows are grouped by code section.
struct TableReader<'a> {
    /// Offset of the table in the file.
    section_offset: u64,
    /// Newest version of DWARF that is read.
    newest_version: u8,
    /// Names of files outside the table (DWARF 5).
    names: DebugLineStr<Bytes<'a>>,
    /// Limits the names, because several of them may be the same bytes.
    budget: Budget,
    files: Vec<FileName>,
    rows: BTreeMap<usize, Vec<Row>>,
}

impl TableReader<'_> {
    /// Reads all units of the table.
    fn read(&mut self, contents: &[u8]) -> Result<(), Diagnostic> {
        let table = DebugLine::new(contents, LittleEndian);
        let mut offset = 0;
        while offset < contents.len() {
            let position = self.section_offset.saturating_add(offset as u64);
            let bad = |message: &str| fault(position, format!("line table: {message}"));
            // DWARF 5 changed the header; ptxas writes version 2 for these architectures, clang 5 for AMD's.
            match contents.get(offset..).and_then(<[u8]>::first_chunk) {
                Some([_, _, _, _, version, 0]) if (2..=self.newest_version).contains(version) => {}
                Some([0xff, 0xff, 0xff, 0xff, ..]) => return Err(bad("is a 64-bit DWARF table")),
                Some(_) => {
                    let newest = self.newest_version;
                    return Err(bad(&format!("has a version other than 2 to {newest}")));
                }
                None => return Err(bad("a unit is cut short")),
            }
            let program = table
                .program(DebugLineOffset(offset), 8, None, None)
                .map_err(|_| bad("a unit's header is malformed"))?;
            let header = program.header();
            // `unit_length` does not count its own field of four bytes.
            offset = offset
                .checked_add(4)
                .and_then(|start| start.checked_add(header.unit_length()))
                .ok_or_else(|| bad("a unit is too long"))?;
            let base = self.files.len();
            self.add_files(header, position)?;
            // DWARF 2 to 4 number the files from 1.
            let first_file = usize::from(header.version() <= 4);
            let mut rows = program.rows();
            while let Some((header, row)) = rows
                .next_row()
                .map_err(|_| bad("a unit's program is malformed"))?
            {
                let section = (row.address() >> 32) as usize;
                let file = row
                    .file(header)
                    .and_then(|_| {
                        usize::try_from(row.file_index())
                            .ok()?
                            .checked_sub(first_file)
                    })
                    .and_then(|index| u32::try_from(base.checked_add(index)?).ok());
                let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
                // The row that ends a sequence has the file and line of the last instruction, but applies to no code.
                let line = file.zip(line).filter(|_| !row.end_sequence());
                // The high word is the index of the code section, see `relocate`.
                let [a, b, c, d, ..] = row.address().to_le_bytes();
                let address = u32::from_le_bytes([a, b, c, d]);
                self.rows
                    .entry(section)
                    .or_default()
                    .push(Row { address, line });
            }
        }
        Ok(())
    }

    /// Adds the file names of a unit.
    fn add_files(
        &mut self,
        header: &LineProgramHeader<Bytes<'_>>,
        position: u64,
    ) -> Result<(), Diagnostic> {
        let text = |value| {
            let text = match value {
                gimli::AttributeValue::String(text) => text,
                gimli::AttributeValue::DebugLineStrRef(at) => {
                    let name = self.names.get_str(at);
                    name.map_err(|_| {
                        fault(position, "line table: a name lies outside its section")
                    })?
                }
                // DWARF 2 to 4 have no other form, and compilers write no other in DWARF 5.
                _ => return Ok(String::new()),
            };
            let size = text.len() as u64;
            self.budget.spend(size, position, "names of files")?;
            Ok(text.to_string_lossy().replace(char::is_control, "\u{fffd}"))
        };
        let directories: Vec<Arc<str>> = header
            .include_directories()
            .iter()
            .map(|directory| text(*directory).map(Arc::from))
            .collect::<Result<_, Diagnostic>>()?;
        let first_directory = usize::from(header.version() <= 4);
        let mut files = Vec::with_capacity(header.file_names().len());
        for file in header.file_names() {
            let directory = usize::try_from(file.directory_index())
                .ok()
                .and_then(|index| directories.get(index.checked_sub(first_directory)?));
            files.push(FileName {
                directory: directory.cloned().unwrap_or_default(),
                name: text(file.path_name())?,
            });
        }
        self.files.extend(files);
        Ok(())
    }
}
