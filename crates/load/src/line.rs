//! The line table: the source lines of instructions.
//!
//! `.debug_line` holds one sequence of rows per code section. Its start address is 0 in the file; a
//! relocation against the kernel's symbol identifies the section. The relocations are applied to a
//! copy of the table in which an address carries the section's index in its upper half.

use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::{DebugLine, DebugLineOffset, EndianSlice, LineProgramHeader, LittleEndian};
use warpbound_base::{CodeAddr, Diagnostic};

use crate::elf::{Elf, LINE_TABLE, RawRelocation, Relocations, SymbolLocation, fault};

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
    /// By address; a row applies up to the next.
    rows: Vec<Row>,
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
    /// Index of the file, and line; `None` past the end of a sequence and for code without a line.
    line: Option<(u32, u32)>,
}

impl LineTable {
    /// The source line of an address.
    pub(crate) fn find(&self, address: CodeAddr) -> Option<SourceLine> {
        let next = self.rows.partition_point(|row| row.address <= address.0);
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
    let mut reader = TableReader {
        section_offset: section.offset,
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
            (section, LineTable { files, rows })
        })
        .collect())
}

/// Writes the address of a symbol into the table: section index in bits 63:32, byte offset in bits 31:0.
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
    if relocation.number != R_CUDA_64 {
        return Err(bad("is not R_CUDA_64"));
    }
    let symbol = elf
        .symbols
        .get(relocation.symbol)
        .ok_or_else(|| bad("the symbol does not exist"))?;
    let SymbolLocation::Section(section) = symbol.location else {
        return Err(bad("the symbol has no section"));
    };
    let field = usize::try_from(relocation.at)
        .ok()
        .and_then(|at| contents.get_mut(at..)?.first_chunk_mut::<8>())
        .ok_or_else(|| bad("lies outside the table"))?;
    let addend = relocation.addend.unwrap_or(i64::from_le_bytes(*field));
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
struct TableReader {
    /// Offset of the table in the file.
    section_offset: u64,
    files: Vec<FileName>,
    rows: BTreeMap<usize, Vec<Row>>,
}

impl TableReader {
    /// Reads all units of the table.
    fn read(&mut self, contents: &[u8]) -> Result<(), Diagnostic> {
        let table = DebugLine::new(contents, LittleEndian);
        let mut offset = 0;
        while offset < contents.len() {
            let position = self.section_offset.saturating_add(offset as u64);
            let bad = |message: &str| fault(position, format!("line table: {message}"));
            // DWARF 5 changed the header; ptxas writes version 2 for these architectures.
            match contents.get(offset..).and_then(<[u8]>::first_chunk) {
                Some([_, _, _, _, 2..=4, 0]) => {}
                Some([0xff, 0xff, 0xff, 0xff, ..]) => return Err(bad("is a 64-bit DWARF table")),
                Some(_) => return Err(bad("has a version other than 2 to 4")),
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
            self.add_files(header);
            let mut rows = program.rows();
            while let Some((header, row)) = rows
                .next_row()
                .map_err(|_| bad("a unit's program is malformed"))?
            {
                let section = (row.address() >> 32) as usize;
                let file = row
                    .file(header)
                    // DWARF 2 to 4 number the files from 1.
                    .and_then(|_| usize::try_from(row.file_index()).ok()?.checked_sub(1))
                    .and_then(|index| u32::try_from(base.checked_add(index)?).ok());
                let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
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
    fn add_files(&mut self, header: &LineProgramHeader<Bytes<'_>>) {
        let text = |value| match value {
            gimli::AttributeValue::String(text) => {
                Bytes::to_string_lossy(&text).replace(char::is_control, "\u{fffd}")
            }
            // DWARF 2 to 4 have no other form.
            _ => String::new(),
        };
        let directories: Vec<Arc<str>> = header
            .include_directories()
            .iter()
            .map(|directory| Arc::from(text(*directory)))
            .collect();
        self.files.extend(header.file_names().iter().map(|file| {
            let directory = usize::try_from(file.directory_index())
                .ok()
                .and_then(|index| directories.get(index.checked_sub(1)?));
            FileName {
                directory: directory.cloned().unwrap_or_default(),
                name: text(file.path_name()),
            }
        }));
    }
}
