//! Relocations: fields that the linker or the driver still has to write. For example, `MOV32I R2, 32@lo(table)` has a
//! relocation `R_CUDA_ABS32_LO_20`, which writes the low half of the address of `table` into bits 51:20.

use std::fmt;
use std::sync::Arc;

use warpbound_base::{CodeAddr, Diagnostic};

use crate::elf::{Elf, RawRelocation, SymbolLocation, fault};

/// A field of a section that receives an address when the file is linked or loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// Byte offset in the section that holds it.
    pub offset: u32,
    /// Relocation number (`R_CUDA_*`).
    pub number: u32,
    /// The symbol whose address is written.
    pub symbol: Symbol,
    /// Number added to the address; `None` if the field itself holds the addend.
    pub addend: Option<i64>,
}

/// The symbol that a relocation refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The mangled name; the section's name for a section symbol.
    pub name: Arc<str>,
    /// Whether this file defines it.
    pub is_defined: bool,
    /// Whether it is defined in global memory: a variable, whose address the loader chooses.
    pub is_global: bool,
    /// Byte offset in the section that defines it; 0 if it is undefined.
    pub value: u64,
    /// Address in the code of the kernel that has the relocation, if the symbol is there.
    pub in_code: Option<CodeAddr>,
    /// Index of the section that defines it.
    pub(crate) section: Option<usize>,
    /// Whether another file may define it instead.
    pub(crate) is_weak: bool,
}

/// Half of a 64-bit address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AddressHalf {
    /// Bits 31:0.
    Low,
    /// Bits 63:32.
    High,
}

impl Relocation {
    /// NVIDIA's name of the number (`R_CUDA_ABS32_LO_20`), if known.
    pub fn name(&self) -> Option<&'static str> {
        let index = usize::try_from(self.number).ok()?;
        NAMES.get(index).copied()
    }

    /// Half of the symbol's address that a 32-bit immediate receives (`MOV32I`: bits 51:20). `None` for relocations
    /// other than `R_CUDA_ABS32_LO_20` and `R_CUDA_ABS32_HI_20`.
    pub fn word_immediate(&self) -> Option<AddressHalf> {
        match self.number {
            43 => Some(AddressHalf::Low),
            44 => Some(AddressHalf::High),
            _ => None,
        }
    }

    /// Resolves the symbol of a relocation entry.
    pub(crate) fn read(elf: &Elf<'_>, raw: &RawRelocation) -> Result<Relocation, Diagnostic> {
        let symbol = elf.symbols.get(raw.symbol).ok_or_else(|| {
            fault(
                raw.offset,
                "a relocation names a symbol that does not exist",
            )
        })?;
        let index = match symbol.location {
            SymbolLocation::Section(index) => Some(index),
            SymbolLocation::Undefined | SymbolLocation::Other => None,
        };
        let section = index.and_then(|index| elf.sections.get(index));
        let offset = u32::try_from(raw.at)
            .map_err(|_| fault(raw.offset, "a relocation lies beyond 4 GiB of its section"))?;
        Ok(Relocation {
            offset,
            number: raw.number,
            symbol: Symbol {
                name: Arc::clone(&symbol.name),
                is_defined: symbol.location != SymbolLocation::Undefined,
                is_global: section.is_some_and(|section| is_global(section.name)),
                value: symbol.value,
                in_code: None,
                section: index,
                is_weak: symbol.is_weak,
            },
            addend: raw.addend,
        })
    }
}

/// Instruction operand that receives an address, as nvdisasm 12.4 spells it (experiment: each number on several
/// instructions).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RelocatedOperand {
    /// Lowest bit of the field in the instruction word; `None` if the relocation number is not known.
    pub low_bit: Option<u8>,
    /// `32@lo(table)`, `` `((table + 0x10)) ``; for an unknown number, its name and the symbol.
    pub text: String,
}

/// Lowest bit of the operand field that relocations with names in `_20` change.
const OPERAND_LOW_BIT: u8 = 20;

impl Relocation {
    /// Addend of an address that becomes an operand of an instruction with this word; `None` if the field of the
    /// operand is not known.
    pub fn operand_addend(&self, word: u64) -> Option<i64> {
        let in_place = || {
            // An entry of `SHT_REL` has its addend in the field that the relocation overwrites.
            let field = (word >> OPERAND_LOW_BIT) & u64::from(u32::MAX);
            match self.name()? {
                "R_CUDA_ABS32_20" => i64::try_from(field).ok(),
                "R_CUDA_ABS24_20" => i64::try_from(field & 0xff_ffff).ok(),
                _ => None,
            }
        };
        self.addend.or_else(in_place)
    }

    /// The operand of an instruction with this word that receives the address.
    pub fn operand(&self, word: u64) -> RelocatedOperand {
        // The fields of all these relocations begin at one bit and differ only in width.
        let stored = word >> OPERAND_LOW_BIT;
        let low = |bits: u32| stored & ((1 << bits) - 1);
        // The addend in the instruction word, and the text before and after the symbol.
        let (stored, before, after) = match self.name() {
            Some("R_CUDA_ABS32_20") => (low(32), "`(", ")"),
            Some("R_CUDA_ABS24_20") => (low(24), "`(", ")"),
            Some("R_CUDA_ABS16_20") => (low(16), "`(", ")"),
            Some("R_CUDA_ABS32_LO_20") => (low(32), "32@lo(", ")"),
            // The field holds the upper half of the addend.
            Some("R_CUDA_ABS32_HI_20") => (low(32) << 32, "32@hi(", ")"),
            Some("R_CUDA_FUNC_DESC32_20") => (low(32), "fun@fdesc(", ")"),
            Some("R_CUDA_FUNC_DESC32_LO_20") => (low(32), "32@lo(fun@fdesc(", "))"),
            Some("R_CUDA_FUNC_DESC32_HI_20") => (low(32) << 32, "32@hi(fun@fdesc(", "))"),
            // These fields hold bank and offset, not an addend.
            Some("R_CUDA_CONST_FIELD19_20" | "R_CUDA_CONST_FIELD21_20") => (0, "`(", ")"),
            _ => {
                return RelocatedOperand {
                    low_bit: None,
                    text: self.to_string(),
                };
            }
        };
        let name = &self.symbol.name;
        let text = match self.addend.map_or(stored, |addend| addend as u64) {
            // The disassembler leaves out an addend of 0.
            0 => format!("{before}{name}{after}"),
            addend => format!("{before}({name} + 0x{addend:x}){after}"),
        };
        RelocatedOperand {
            low_bit: Some(OPERAND_LOW_BIT),
            text,
        }
    }
}

impl fmt::Display for Relocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x} ", self.offset)?;
        match self.name() {
            Some(name) => f.write_str(name)?,
            None => write!(f, "R_CUDA #{}", self.number)?,
        }
        write!(f, " {}", self.symbol.name)?;
        match self.addend {
            Some(addend) if addend != 0 => write!(f, "{addend:+}"),
            _ => Ok(()),
        }
    }
}

/// Names by number: the order of the list in the machine descriptions inside NVIDIA's tools, as denvdis
/// extracted it; 11 of the numbers agree with CuAssembler's list.
const NAMES: [&str; 75] = [
    "R_CUDA_NONE",
    "R_CUDA_32",
    "R_CUDA_64",
    "R_CUDA_G32",
    "R_CUDA_G64",
    "R_CUDA_ABS32_26",
    "R_CUDA_TEX_HEADER_INDEX",
    "R_CUDA_SAMP_HEADER_INDEX",
    "R_CUDA_SURF_HW_DESC",
    "R_CUDA_SURF_HW_SW_DESC",
    "R_CUDA_ABS32_LO_26",
    "R_CUDA_ABS32_HI_26",
    "R_CUDA_ABS32_23",
    "R_CUDA_ABS32_LO_23",
    "R_CUDA_ABS32_HI_23",
    "R_CUDA_ABS24_26",
    "R_CUDA_ABS24_23",
    "R_CUDA_ABS16_26",
    "R_CUDA_ABS16_23",
    "R_CUDA_TEX_SLOT",
    "R_CUDA_SAMP_SLOT",
    "R_CUDA_SURF_SLOT",
    "R_CUDA_TEX_BINDLESSOFF13_32",
    "R_CUDA_TEX_BINDLESSOFF13_47",
    "R_CUDA_CONST_FIELD19_28",
    "R_CUDA_CONST_FIELD19_23",
    "R_CUDA_TEX_SLOT9_49",
    "R_CUDA_6_31",
    "R_CUDA_2_47",
    "R_CUDA_TEX_BINDLESSOFF13_41",
    "R_CUDA_TEX_BINDLESSOFF13_45",
    "R_CUDA_FUNC_DESC32_23",
    "R_CUDA_FUNC_DESC32_LO_23",
    "R_CUDA_FUNC_DESC32_HI_23",
    "R_CUDA_FUNC_DESC_32",
    "R_CUDA_FUNC_DESC_64",
    "R_CUDA_CONST_FIELD21_26",
    "R_CUDA_QUERY_DESC21_37",
    "R_CUDA_CONST_FIELD19_26",
    "R_CUDA_CONST_FIELD21_23",
    "R_CUDA_PCREL_IMM24_26",
    "R_CUDA_PCREL_IMM24_23",
    "R_CUDA_ABS32_20",
    "R_CUDA_ABS32_LO_20",
    "R_CUDA_ABS32_HI_20",
    "R_CUDA_ABS24_20",
    "R_CUDA_ABS16_20",
    "R_CUDA_FUNC_DESC32_20",
    "R_CUDA_FUNC_DESC32_LO_20",
    "R_CUDA_FUNC_DESC32_HI_20",
    "R_CUDA_CONST_FIELD19_20",
    "R_CUDA_BINDLESSOFF13_36",
    "R_CUDA_SURF_HEADER_INDEX",
    "R_CUDA_INSTRUCTION64",
    "R_CUDA_CONST_FIELD21_20",
    "R_CUDA_ABS32_32",
    "R_CUDA_ABS32_LO_32",
    "R_CUDA_ABS32_HI_32",
    "R_CUDA_ABS47_34",
    "R_CUDA_ABS16_32",
    "R_CUDA_ABS24_32",
    "R_CUDA_FUNC_DESC32_32",
    "R_CUDA_FUNC_DESC32_LO_32",
    "R_CUDA_FUNC_DESC32_HI_32",
    "R_CUDA_CONST_FIELD19_40",
    "R_CUDA_BINDLESSOFF14_40",
    "R_CUDA_CONST_FIELD21_38",
    "R_CUDA_INSTRUCTION128",
    "R_CUDA_YIELD_OPCODE9_0",
    "R_CUDA_YIELD_CLEAR_PRED4_87",
    "R_CUDA_32_LO",
    "R_CUDA_32_HI",
    "R_CUDA_UNUSED_CLEAR32",
    "R_CUDA_UNUSED_CLEAR64",
    "R_CUDA_ABS24_40",
];

/// Whether a section is in global memory.
fn is_global(section: &str) -> bool {
    matches!(section, ".nv.global" | ".nv.global.init")
}
