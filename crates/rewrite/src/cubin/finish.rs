//! The file with all edits.

use std::collections::BTreeMap;

use warpbound_base::{CodeAddr, Diagnostic};

use super::{CubinRewriter, attributes};
use crate::code::CodeMap;
use crate::elf::{ElfRelocation, ElfSymbol, fault};

/// Section type of attributes (`.nv.info`).
const SHT_CUDA_INFO: u32 = 0x7000_0000;

/// Type of section symbols.
const STT_SECTION: u8 = 3;

/// A file that was written, with where everything went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RewrittenCubin {
    /// The file.
    pub bytes: Vec<u8>,
    /// New addresses, by the name of the code section without `.text.`; sections without edits are left out.
    pub maps: BTreeMap<String, CodeMap>,
    /// Debug sections that were emptied, since their addresses could not be moved.
    pub emptied: Vec<String>,
}

/// Code sections that were laid out anew, by section index.
pub(super) type Maps = BTreeMap<usize, CodeMap>;

impl CubinRewriter<'_> {
    /// Writes the file.
    ///
    /// # Errors
    ///
    /// A diagnostic with address or offset for a part of the file that cannot be moved.
    pub fn finish(self) -> Result<Vec<u8>, Diagnostic> {
        Ok(self.finish_with_maps()?.bytes)
    }

    /// Writes the file, and says where its instructions went.
    ///
    /// # Errors
    ///
    /// See [`CubinRewriter::finish`].
    pub fn finish_with_maps(mut self) -> Result<RewrittenCubin, Diagnostic> {
        let mut maps = Maps::new();
        let mut named = BTreeMap::new();
        for (&section, code) in &self.codes {
            if !code.is_edited() {
                continue;
            }
            let assembled = code.assemble()?;
            let name = code.section.strip_prefix(".text.").unwrap_or(&code.section);
            named.insert(name.to_owned(), assembled.map.clone());
            maps.insert(section, assembled.map);
            if let Some(section) = self.elf.sections.get_mut(section) {
                section.data = assembled.bytes;
            }
        }
        let mut emptied = Vec::new();
        if !maps.is_empty() {
            emptied = self.move_debug_sections(&maps)?;
            self.move_relocations(&maps)?;
            self.move_attributes(&maps)?;
            self.move_symbols(&maps)?;
        }
        self.write_registers()?;
        Ok(RewrittenCubin {
            bytes: self.elf.write()?,
            maps: named,
            emptied,
        })
    }

    /// Moves the symbols of edited sections, and their sizes.
    fn move_symbols(&mut self, maps: &Maps) -> Result<(), Diagnostic> {
        for symbol in &mut self.symbols {
            let Some(map) = maps.get(&usize::from(symbol.section)) else {
                continue;
            };
            if symbol.kind() == STT_SECTION {
                continue;
            }
            let moved = |at: u64| {
                let old = u32::try_from(at).ok().map(CodeAddr);
                old.and_then(|old| map.boundary(old)).ok_or_else(|| {
                    let message = format!(
                        "the symbol begins or ends at 0x{at:x}, which is not between instructions"
                    );
                    Diagnostic::new(message).in_kernel(&*symbol.name)
                })
            };
            let start = moved(symbol.value)?;
            let end = moved(symbol.value.saturating_add(symbol.size))?;
            symbol.value = start.0.into();
            if symbol.size != 0 {
                symbol.size = end.0.saturating_sub(start.0).into();
            }
        }
        self.elf.set_symbols(&self.symbols)
    }

    /// Moves the addresses that relocations change, and the addresses that they refer to.
    fn move_relocations(&mut self, maps: &Maps) -> Result<(), Diagnostic> {
        for table in 0..self.elf.sections.len() {
            let Some((changed, offset)) = self.relocated_section(table) else {
                continue;
            };
            let mut entries = self.elf.relocations(table);
            let mut is_changed = false;
            for entry in &mut entries {
                if let Some(map) = maps.get(&changed) {
                    entry.at = moved_field(map, entry.at, offset)?;
                    is_changed = true;
                }
                let symbol = self.symbols.get(entry.symbol as usize);
                let target = symbol
                    .and_then(|symbol| Some((symbol, maps.get(&usize::from(symbol.section))?)));
                if let Some((symbol, map)) = target {
                    is_changed |= self.move_addend(changed, entry, symbol, map, offset)?;
                }
            }
            if is_changed {
                self.elf.set_relocations(table, &entries);
            }
        }
        Ok(())
    }

    /// The section that a relocation table changes, and the offset of the table in the file.
    fn relocated_section(&self, table: usize) -> Option<(usize, u64)> {
        let section = self.elf.sections.get(table)?;
        matches!(section.kind, crate::elf::SHT_REL | crate::elf::SHT_RELA)
            .then_some((section.info as usize, section.offset))
    }

    /// Moves the addend of a relocation whose symbol is in an edited section; returns whether the entry changed.
    fn move_addend(
        &self,
        changed: usize,
        entry: &mut ElfRelocation,
        symbol: &ElfSymbol,
        map: &CodeMap,
        offset: u64,
    ) -> Result<bool, Diagnostic> {
        let Some(addend) = entry.addend else {
            let held = self.elf.sections.get(changed).map(|section| &section.data);
            let is_debug = self.elf.sections.get(changed).is_some_and(is_debug);
            let at = usize::try_from(entry.at).unwrap_or(usize::MAX);
            let field = held.and_then(|data| data.get(at..)?.first_chunk::<8>());
            let is_zero = match (field, entry.number) {
                // Of an instruction the field is in the middle; a word of data holds nothing else.
                (Some(word), 42..=50 | 54) => u64::from_le_bytes(*word) >> 20 & 0xffff_ffff == 0,
                (Some(word), _) => word.get(..4) == Some(&[0; 4]),
                (None, _) => false,
            };
            if is_zero || is_debug {
                return Ok(false);
            }
            return Err(fault(
                offset,
                format!(
                    "a relocation refers to the inside of {:?}, which cannot be moved",
                    symbol.name
                ),
            ));
        };
        if addend == 0 {
            return Ok(false);
        }
        let inside = || {
            let old = i64::try_from(symbol.value).ok()?.checked_add(addend)?;
            let new = map.target(CodeAddr(u32::try_from(old).ok()?))?;
            let base = match symbol.kind() {
                STT_SECTION => CodeAddr(0),
                _ => map.boundary(CodeAddr(u32::try_from(symbol.value).ok()?))?,
            };
            Some(i64::from(new.0) - i64::from(base.0))
        };
        entry.addend = Some(inside().ok_or_else(|| {
            let name = &symbol.name;
            fault(
                offset,
                format!("a relocation refers to {name:?} + 0x{addend:x}, which is no instruction"),
            )
        })?);
        Ok(true)
    }

    /// Moves the addresses in the attributes of edited sections.
    fn move_attributes(&mut self, maps: &Maps) -> Result<(), Diagnostic> {
        for section in &mut self.elf.sections {
            if section.kind != SHT_CUDA_INFO {
                continue;
            }
            if let Some(map) = maps.get(&(section.info as usize)) {
                attributes::move_addresses(&mut section.data, section.offset, map)?;
            }
        }
        Ok(())
    }

    /// Moves or empties the debug sections that refer to edited code; returns the names of those that were emptied.
    fn move_debug_sections(&mut self, _maps: &Maps) -> Result<Vec<String>, Diagnostic> {
        let mut emptied = Vec::new();
        for index in 0..self.elf.sections.len() {
            let Some(section) = self.elf.sections.get(index) else {
                continue;
            };
            if !is_debug(section) || section.data.is_empty() || section.name == PTX_TEXT {
                continue;
            }
            emptied.push(section.name.clone());
            let tables = self.elf.relocation_tables(index);
            for emptied in tables.into_iter().chain([index]) {
                if let Some(section) = self.elf.sections.get_mut(emptied) {
                    section.data.clear();
                }
            }
        }
        Ok(emptied)
    }

    /// Writes the register counts into the attributes of the file.
    fn write_registers(&mut self) -> Result<(), Diagnostic> {
        for section in &mut self.elf.sections {
            if section.kind != SHT_CUDA_INFO || section.info != 0 {
                continue;
            }
            for (&symbol, &registers) in &self.registers {
                attributes::set_registers(&mut section.data, section.offset, symbol, registers)?;
            }
        }
        Ok(())
    }
}

/// The PTX text, which refers to no address.
const PTX_TEXT: &str = ".nv_debug_ptx_txt";

/// Whether a section has facts for debuggers only.
fn is_debug(section: &crate::elf::ElfSection) -> bool {
    section.name.starts_with(".debug") || section.name.starts_with(".nv_debug")
}

/// The new offset of a field of an instruction.
fn moved_field(map: &CodeMap, at: u64, offset: u64) -> Result<u64, Diagnostic> {
    let old = u32::try_from(at).ok().map(|at| (CodeAddr(at & !7), at & 7));
    let moved = old.and_then(|(word, within)| {
        // The address of a control word is no field of an instruction.
        (word.0 % 32 != 0).then_some(())?;
        Some(u64::from(map.instr(word)?.0 + within))
    });
    moved.ok_or_else(|| {
        fault(
            offset,
            format!("a relocation changes 0x{at:x}, which is no instruction"),
        )
    })
}
