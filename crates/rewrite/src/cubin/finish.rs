//! Last step of rewriting: the file with all edits.

use std::collections::{BTreeMap, BTreeSet};
use warpbound_load::elf_numbers::{SHT_CUDA_INFO, SHT_REL, SHT_RELA, STT_FUNC, STT_SECTION};

use warpbound_base::{CodeAddr, Diagnostic};

use super::lines::{self, Base};
use super::tables::{self, ListedBranch};
use super::{CubinRewriter, attributes};
use crate::code::{Assembled, CodeMap};
use crate::elf::{ElfRelocation, ElfSymbol, fault};

/// Rewritten file, with the new places of its instructions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RewrittenCubin {
    /// The file.
    pub bytes: Vec<u8>,
    /// New addresses, by the name of the code section without `.text.`; sections without edits are left out.
    pub maps: BTreeMap<String, CodeMap>,
    /// Debug sections that were emptied because their addresses could not be moved.
    pub emptied: Vec<String>,
}

/// Code sections that were laid out anew, by section index.
type Maps = BTreeMap<usize, CodeMap>;

impl CubinRewriter<'_> {
    /// Writes the file.
    ///
    /// # Errors
    ///
    /// A diagnostic with address or offset for a part of the file that cannot be moved.
    pub fn finish(self) -> Result<Vec<u8>, Diagnostic> {
        Ok(self.finish_with_maps()?.bytes)
    }

    /// Writes the file and returns where its instructions went.
    ///
    /// # Errors
    ///
    /// See [`CubinRewriter::finish`].
    pub fn finish_with_maps(mut self) -> Result<RewrittenCubin, Diagnostic> {
        let mut maps = Maps::new();
        let mut named = BTreeMap::new();
        let mut addresses = Vec::new();
        for (section, code) in std::mem::take(&mut self.codes) {
            if !code.is_edited() {
                continue;
            }
            let name = code.section.strip_prefix(".text.").unwrap_or(&code.section);
            let in_kernel = |error: Diagnostic| error.in_kernel(name);
            let assembled = code.assemble()?;
            let old = self.elf.sections.get(section).map(|section| &section.data);
            // Nothing has moved, so nothing refers to an old place, and there is no reason to refuse the rest.
            if old == Some(&assembled.bytes) {
                continue;
            }
            // Before the section gets the new code, because the search for tables decodes the old one.
            if code.has_indirect_branches() {
                self.move_tables(section, &assembled.map)
                    .map_err(in_kernel)?;
            }
            self.move_attributes(section, &assembled)
                .map_err(in_kernel)?;
            named.insert(name.to_owned(), assembled.map.clone());
            maps.insert(section, assembled.map);
            addresses.push((section, assembled.addresses));
            if let Some(section) = self.elf.sections.get_mut(section) {
                section.data = assembled.bytes;
            }
        }
        let mut emptied = Vec::new();
        if !maps.is_empty() {
            // Line tables state addresses relative to the old values, which `move_symbols` overwrites.
            let old_values: Vec<u64> = self.symbols.iter().map(|symbol| symbol.value).collect();
            // Fields before addends: the addend of a relocated instruction is read at its new place. Addends before
            // symbols: they are relative to the old values.
            self.move_fields(&maps)?;
            self.move_addends(&maps)?;
            self.move_symbols(&maps)?;
            emptied = self.move_debug_sections(&maps, &old_values);
        }
        // Last, because these places are in the new code already and must not be moved again.
        for (section, addresses) in addresses {
            self.relocate(section, &addresses)?;
        }
        self.write_registers()?;
        Ok(RewrittenCubin {
            bytes: self.elf.write()?,
            maps: named,
            emptied,
        })
    }

    /// Moves the symbols of edited sections and updates their sizes.
    fn move_symbols(&mut self, maps: &Maps) -> Result<(), Diagnostic> {
        for symbol in &mut self.symbols {
            let Some(map) = maps.get(&usize::from(symbol.section)) else {
                continue;
            };
            // The start of a section stays at 0.
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
            // A size of 0 stays, because it means that the size is unknown.
            if symbol.size != 0 {
                symbol.size = end.0.saturating_sub(start.0).into();
            }
        }
        self.elf.set_symbols(&self.symbols)
    }

    /// Moves the places in edited sections that relocations change.
    fn move_fields(&mut self, maps: &Maps) -> Result<(), Diagnostic> {
        for table in 0..self.elf.sections.len() {
            let Some((changed, offset)) = self.relocated_section(table) else {
                continue;
            };
            let Some(map) = maps.get(&changed) else {
                continue;
            };
            let mut entries = self.elf.relocations(table);
            for entry in &mut entries {
                entry.at = moved_field(map, entry.at, offset)?;
            }
            self.elf.set_relocations(table, &entries);
        }
        Ok(())
    }

    /// Moves the addends of relocations that refer to edited sections, except in debug sections.
    fn move_addends(&mut self, maps: &Maps) -> Result<(), Diagnostic> {
        for table in 0..self.elf.sections.len() {
            let Some((changed, offset)) = self.relocated_section(table) else {
                continue;
            };
            // Debug sections are rewritten row by row or emptied afterwards.
            if self.elf.sections.get(changed).is_some_and(is_debug) {
                continue;
            }
            let mut entries = self.elf.relocations(table);
            let mut is_changed = false;
            for entry in &mut entries {
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

    /// Returns the section that a relocation table changes, and the offset of the table in the file.
    fn relocated_section(&self, table: usize) -> Option<(usize, u64)> {
        let section = self.elf.sections.get(table)?;
        matches!(section.kind, SHT_REL | SHT_RELA)
            .then_some((section.info as usize, section.offset))
    }

    /// Moves the addend of a relocation whose symbol is in an edited section. Returns whether the entry changed.
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
            let at = usize::try_from(entry.at).unwrap_or(usize::MAX);
            let field = held.and_then(|data| data.get(at..)?.first_chunk::<8>());
            let is_zero = match (field, entry.number) {
                // In an instruction the field is in bits 51:20; a word of data is the field alone.
                (Some(word), 42..=50 | 54) => u64::from_le_bytes(*word) >> 20 & 0xffff_ffff == 0,
                (Some(word), _) => word.get(..4) == Some(&[0; 4]),
                // A field that cannot be read may hold an addend, so it is refused.
                (None, _) => false,
            };
            if is_zero {
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
        // Without an addend the relocation names the symbol itself, which `move_symbols` moves.
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

    /// Moves the addresses in the attributes of a code section, and adds the addresses of inserted instructions.
    fn move_attributes(&mut self, section: usize, assembled: &Assembled) -> Result<(), Diagnostic> {
        for attributes in &mut self.elf.sections {
            if attributes.kind == SHT_CUDA_INFO && attributes.info as usize == section {
                let (data, offset) = (&mut attributes.data, attributes.offset);
                attributes::move_addresses(data, offset, &assembled.map)?;
                attributes::add_addresses(data, offset, assembled)?;
            }
        }
        Ok(())
    }

    /// Moves the addresses in constant bank 2 of a code section with indirect branches. Requires that the section
    /// still has the contents of the file.
    fn move_tables(&mut self, section: usize, map: &CodeMap) -> Result<(), Diagnostic> {
        let Some(code) = self.elf.sections.get(section) else {
            return Ok(());
        };
        let program = warpbound_isa::nvidia::SassProgram::decode(self.arch, &code.data)?;
        let kernel = (code.info & 0xff_ffff) as usize;
        let symbols = self.symbols.iter().enumerate();
        let functions: BTreeSet<u32> = symbols
            .filter(|(index, s)| {
                *index != kernel && usize::from(s.section) == section && s.kind() == STT_FUNC
            })
            .filter_map(|(_, symbol)| u32::try_from(symbol.value).ok())
            .collect();
        let mut listed: BTreeMap<CodeAddr, ListedBranch> = BTreeMap::new();
        for info in &self.elf.sections {
            if info.kind == SHT_CUDA_INFO && info.info as usize == section {
                listed.extend(attributes::listed_branches(&info.data, info.offset)?);
            }
        }
        let prefix = format!(".nv.constant{}.", tables::LITERALS);
        let bank = self
            .elf
            .sections
            .iter_mut()
            .find(|bank| bank.name.starts_with(&prefix) && bank.info as usize == section);
        let mut nothing = Vec::new();
        let bank = bank.map_or(&mut nothing, |bank| &mut bank.data);
        tables::move_tables(&program, bank, &listed, &functions, map)
    }

    /// Moves the line tables. Empties the other debug sections that hold addresses, and each line table that cannot
    /// be moved. Returns the names of the emptied sections; `old_values` are the values of the symbols in the file.
    fn move_debug_sections(&mut self, maps: &Maps, old_values: &[u64]) -> Vec<String> {
        let mut emptied = Vec::new();
        for index in 0..self.elf.sections.len() {
            let Some(section) = self.elf.sections.get(index) else {
                continue;
            };
            let name = section.name.clone();
            let is_kept = WITHOUT_ADDRESSES.contains(&name.as_str());
            if !is_debug(section) || section.data.is_empty() || is_kept {
                continue;
            }
            let is_line_table = LINE_TABLES.contains(&name.as_str());
            if is_line_table && self.move_lines(index, maps, old_values).is_ok() {
                continue;
            }
            // No addresses are better than wrong ones: a debugger would show the wrong lines.
            emptied.push(name);
            // Relocations of an empty section would be out of its range.
            let tables = self.elf.relocation_tables(index);
            for emptied in tables.into_iter().chain([index]) {
                if let Some(section) = self.elf.sections.get_mut(emptied) {
                    section.data.clear();
                }
            }
        }
        emptied
    }

    /// Moves the addresses of a line table.
    fn move_lines(
        &mut self,
        index: usize,
        maps: &Maps,
        old_values: &[u64],
    ) -> Result<(), Diagnostic> {
        let tables = self.elf.relocation_tables(index);
        let mut bases = BTreeMap::new();
        for &table in &tables {
            for entry in self.elf.relocations(table) {
                let at = entry.symbol as usize;
                let symbol = self.symbols.get(at);
                let map = symbol.and_then(|symbol| maps.get(&usize::from(symbol.section)));
                let base = Base {
                    old_value: old_values.get(at).copied().unwrap_or(0),
                    new_value: symbol.map_or(0, |symbol| symbol.value),
                    map,
                };
                bases.insert(entry.at, base);
            }
        }
        let Some(section) = self.elf.sections.get(index) else {
            return Ok(());
        };
        let moved = lines::moved(&section.data, section.offset, &bases)?;
        drop(bases);
        let mut entries = Vec::new();
        for table in tables {
            let mut of_table = self.elf.relocations(table);
            for entry in &mut of_table {
                entry.at = *moved.fields.get(&entry.at).ok_or_else(|| {
                    Diagnostic::new("a relocation of a line table is no address of a sequence")
                })?;
            }
            entries.push((table, of_table));
        }
        for (table, of_table) in entries {
            self.elf.set_relocations(table, &of_table);
        }
        if let Some(section) = self.elf.sections.get_mut(index) {
            section.data = moved.bytes;
        }
        Ok(())
    }

    /// Writes the register counts into the attributes of the file.
    fn write_registers(&mut self) -> Result<(), Diagnostic> {
        for section in &mut self.elf.sections {
            // The section of the whole file names no code section.
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

/// Debug sections without addresses: texts, and the forms of entries.
const WITHOUT_ADDRESSES: [&str; 4] = [
    ".nv_debug_ptx_txt",
    ".debug_str",
    ".debug_line_str",
    ".debug_abbrev",
];

/// Tables of source lines, and of lines in the PTX text.
const LINE_TABLES: [&str; 2] = [".debug_line", ".nv_debug_line_sass"];

/// Whether a section serves debuggers only.
fn is_debug(section: &crate::elf::ElfSection) -> bool {
    section.name.starts_with(".debug") || section.name.starts_with(".nv_debug")
}

/// New offset of a field of an instruction.
fn moved_field(map: &CodeMap, at: u64, offset: u64) -> Result<u64, Diagnostic> {
    let old = u32::try_from(at).ok().map(|at| (CodeAddr(at & !7), at & 7));
    let moved = old.and_then(|(word, within)| {
        // A control word is no instruction, so no field can be in it.
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
