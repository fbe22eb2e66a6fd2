//! A variable added to a cubin, in global memory and initially zero. Its address is in immediates of inserted
//! instructions, where reading it takes no time, or in constant bank 4.
//!
//! For example, two `MOV32I` receive the low and the high half of the address, and the loader writes both immediates.

use warpbound_base::{CodeAddr, ConstantBanks, Diagnostic};
use warpbound_load::AddressHalf;
use warpbound_load::elf_numbers::{
    SHF_ALLOC, SHF_INFO_LINK, SHF_WRITE, SHT_NOBITS, SHT_PROGBITS, SHT_REL, SYMBOL_SIZE,
};

use super::CubinRewriter;
use crate::elf::{ElfRelocation, ElfSection, ElfSymbol, fault};

/// Bank where `ptxas` puts addresses of variables.
const ADDRESS_BANK: u8 = ConstantBanks::OF_CUBINS.addresses;

/// Section types of variables and of addresses.
const GLOBAL: &str = ".nv.global";
const ADDRESSES: &str = ".nv.constant4";

/// Relocation `R_CUDA_64`: the address of the symbol in 64 bits.
const R_CUDA_64: u32 = 2;

/// Relocations `R_CUDA_ABS32_LO_20` and `R_CUDA_ABS32_HI_20`: half of the address of the symbol in bits 51:20 of an
/// instruction.
const R_CUDA_ABS32_LO_20: u32 = 43;
const R_CUDA_ABS32_HI_20: u32 = 44;

/// Symbol with global binding, of type object.
const GLOBAL_OBJECT: u8 = 0x11;

/// Alignment of the variables that are added, in bytes.
const ALIGN: u64 = 16;

/// Bytes of a constant bank, because an instruction cannot name a larger offset.
const BANK_SIZE: usize = 0x1_0000;

/// Place of the address of a variable: 64 bits at `c[bank][offset]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VariableSlot {
    /// Bank number.
    pub bank: u8,
    /// Byte offset, a multiple of 8.
    pub offset: u32,
}

impl CubinRewriter<'_> {
    /// Adds a variable of `bytes` bytes in global memory, initially zero, that a host program finds by its name. A
    /// file has at most one.
    ///
    /// # Errors
    ///
    /// If there is one already, or if the name is taken.
    pub fn add_variable(&mut self, name: &str, bytes: u64) -> Result<(), Diagnostic> {
        if self.variable.is_some() {
            return Err(Diagnostic::new("the file has an added variable already"));
        }
        // A host finds a symbol by name, so a second one of that name could be read by mistake.
        if self.symbols.iter().any(|symbol| symbol.name == name) {
            return Err(Diagnostic::new(format!(
                "the file has a symbol {name:?} already"
            )));
        }
        let (section, value) = self.place_variable(bytes)?;
        let table = self.elf.symbol_table()?;
        let strings = self.elf.sections.get(table).map_or(0, |t| t.link as usize);
        let symbol = self.symbols.len() as u32;
        let name_at = self.elf.add_name(strings, name);
        // Last in the table, so that no index of another symbol changes and the global symbols follow the local ones.
        self.symbols.push(ElfSymbol {
            name: name.to_owned(),
            name_at,
            info: GLOBAL_OBJECT,
            other: 0,
            section: u16::try_from(section)
                .map_err(|_| fault(0, "the file has too many sections"))?,
            value,
            size: bytes,
        });
        self.elf.set_symbols(&self.symbols)?;
        self.variable = Some(symbol);
        Ok(())
    }

    /// Puts the address of the added variable into constant bank 4 as well.
    ///
    /// # Errors
    ///
    /// If there is no variable, or if constant bank 4 has no room for the address.
    pub fn address_in_bank(&mut self) -> Result<VariableSlot, Diagnostic> {
        let symbol = self.added_variable()?;
        let offset = self.place_address(symbol)?;
        Ok(VariableSlot {
            bank: ADDRESS_BANK,
            offset,
        })
    }

    /// Symbol of the added variable.
    fn added_variable(&self) -> Result<u32, Diagnostic> {
        self.variable
            .ok_or_else(|| Diagnostic::new("an instruction needs a variable, and none was added"))
    }

    /// Adds the relocations that write halves of the variable's address into instructions of a section.
    pub(super) fn relocate(
        &mut self,
        section: usize,
        addresses: &[(CodeAddr, AddressHalf)],
    ) -> Result<(), Diagnostic> {
        if addresses.is_empty() {
            return Ok(());
        }
        let symbol = self.added_variable()?;
        let table = self.relocation_table(section)?;
        let mut entries = self.elf.relocations(table);
        entries.extend(addresses.iter().map(|(at, half)| ElfRelocation {
            at: at.0.into(),
            number: match half {
                AddressHalf::Low => R_CUDA_ABS32_LO_20,
                AddressHalf::High => R_CUDA_ABS32_HI_20,
            },
            symbol,
            addend: Some(0),
        }));
        self.elf.set_relocations(table, &entries);
        Ok(())
    }

    /// Returns the relocation table of a section, and adds one if it has none.
    fn relocation_table(&mut self, section: usize) -> Result<usize, Diagnostic> {
        match self.elf.relocation_tables(section).first() {
            Some(&table) => Ok(table),
            None => {
                let symbols = self.elf.symbol_table()?;
                Ok(self.add_relocations(section, symbols))
            }
        }
    }

    /// Makes room in `.nv.global`. Returns the section and the offset in it.
    fn place_variable(&mut self, bytes: u64) -> Result<(usize, u64), Diagnostic> {
        let index = match self.elf.section_named(GLOBAL) {
            Some(index) => index,
            None => {
                let last = self.last_in_memory();
                self.elf.add_section(
                    ElfSection {
                        name: GLOBAL.to_owned(),
                        name_at: 0,
                        // Zeros need no bytes in the file.
                        kind: SHT_NOBITS,
                        flags: SHF_WRITE | SHF_ALLOC,
                        address: 0,
                        offset: 0,
                        memory_size: 0,
                        link: 0,
                        info: 0,
                        align: ALIGN,
                        entry_size: 0,
                        data: Vec::new(),
                    },
                    last,
                )
            }
        };
        let too_large = || Diagnostic::new("the variables are larger than the address space");
        let section = self.elf.sections.get_mut(index).ok_or_else(too_large)?;
        let value = section.memory_size.checked_next_multiple_of(ALIGN);
        let value = value.ok_or_else(too_large)?;
        section.memory_size = value.checked_add(bytes).ok_or_else(too_large)?;
        section.align = section.align.max(ALIGN);
        Ok((index, value))
    }

    /// Index of the last allocated section in the file.
    fn last_in_memory(&self) -> usize {
        let sections = self.elf.sections.iter().enumerate();
        sections
            .filter(|(_, section)| section.flags & SHF_ALLOC != 0)
            .max_by_key(|(index, section)| (section.offset, *index))
            .map_or(0, |(index, _)| index)
    }

    /// Adds an entry to constant bank 4 that receives the address of a symbol. Returns its offset.
    fn place_address(&mut self, symbol: u32) -> Result<u32, Diagnostic> {
        let bank = match self.elf.section_named(ADDRESSES) {
            Some(index) => index,
            None => self.add_bank(),
        };
        let section = self.elf.sections.get_mut(bank);
        let section = section.ok_or_else(|| fault(0, "constant bank 4 does not exist"))?;
        let offset = section.data.len().next_multiple_of(8);
        if offset + 8 > BANK_SIZE {
            return Err(fault(section.offset, "constant bank 4 is full"));
        }
        section.data.resize(offset + 8, 0);
        section.align = section.align.max(8);
        let table = self.relocation_table(bank)?;
        let mut entries = self.elf.relocations(table);
        entries.push(ElfRelocation {
            at: offset as u64,
            number: R_CUDA_64,
            symbol,
            addend: Some(0),
        });
        self.elf.set_relocations(table, &entries);
        Ok(offset as u32)
    }

    /// Adds constant bank 4, in front of the allocated sections of the file.
    fn add_bank(&mut self) -> usize {
        let before = self.last_before_memory();
        self.elf.add_section(
            ElfSection {
                name: ADDRESSES.to_owned(),
                name_at: 0,
                kind: SHT_PROGBITS,
                flags: SHF_ALLOC,
                address: 0,
                offset: 0,
                memory_size: 0,
                link: 0,
                info: 0,
                align: 8,
                entry_size: 0,
                data: Vec::new(),
            },
            before,
        )
    }

    /// Adds the relocation table for a section.
    fn add_relocations(&mut self, changed: usize, symbols: usize) -> usize {
        let before = self.last_before_memory();
        let of = self.elf.sections.get(changed);
        let name = of.map_or(String::new(), |section| format!(".rel{}", section.name));
        self.elf.add_section(
            ElfSection {
                name,
                name_at: 0,
                kind: SHT_REL,
                flags: SHF_INFO_LINK,
                address: 0,
                offset: 0,
                memory_size: 0,
                link: symbols as u32,
                info: changed as u32,
                align: 8,
                entry_size: 16,
                data: Vec::new(),
            },
            before,
        )
    }

    /// Index of the last section before the first allocated one.
    fn last_before_memory(&self) -> usize {
        let in_memory = |section: &&ElfSection| section.flags & SHF_ALLOC != 0;
        let sections = self.elf.sections.iter();
        let first = sections.filter(in_memory).map(|s| s.offset).min();
        let sections = self.elf.sections.iter().enumerate();
        sections
            // The empty entry 0 has no place in the file, so no section can follow it.
            .filter(|(_, section)| section.flags & SHF_ALLOC == 0 && section.kind != 0)
            .filter(|(_, section)| first.is_none_or(|first| section.offset <= first))
            .max_by_key(|(index, section)| (section.offset, *index))
            .map_or(0, |(index, _)| index)
    }
}

const _: () = assert!(SYMBOL_SIZE == 24);
