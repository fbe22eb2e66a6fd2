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
        self.row().map(|row| row.name)
    }

    /// Half of the symbol's address that a 32-bit immediate receives (`MOV32I`: bits 51:20; `MOV` from Volta on: bits
    /// 63:32). `None` for relocations that do not write a half of an address.
    pub fn word_immediate(&self) -> Option<AddressHalf> {
        match self.row()?.written? {
            Written::Low => Some(AddressHalf::Low),
            Written::High => Some(AddressHalf::High),
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

/// Instruction operand that receives an address, as nvdisasm 12.4 and 13.5 spell it (experiment: each number on several
/// instructions).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RelocatedOperand {
    /// Lowest bit of the field in the instruction word; `None` if the relocation writes no operand that is known.
    pub low_bit: Option<u8>,
    /// `32@lo(table)`, `` `((table + 0x10)) ``; for an unknown number, its name and the symbol.
    pub text: String,
}

impl Relocation {
    /// Addend of an address that becomes an operand of an instruction with this word; `None` if the field of the
    /// operand is not known.
    pub fn operand_addend(&self, word: u128) -> Option<i64> {
        let in_place = || {
            // An entry of `SHT_REL` has its addend in the field that the relocation overwrites.
            let row = self.row()?;
            match row.written? {
                Written::Address | Written::Target if row.has_whole_address() => {
                    i64::try_from(row.addend(word)).ok()
                }
                _ => None,
            }
        };
        self.addend.or_else(in_place)
    }

    /// The operand of an instruction with this word that receives the address.
    pub fn operand(&self, word: u128) -> RelocatedOperand {
        let row = self.row();
        let shape = row.and_then(|row| Some((row, row.written?.text()?)));
        let Some((row, (before, after))) = shape else {
            return RelocatedOperand {
                low_bit: None,
                text: self.to_string(),
            };
        };
        let name = &self.symbol.name;
        // A negative addend has the same bits as the address that it stands for.
        let addend = self.addend.map(i64::cast_unsigned);
        let text = match addend.unwrap_or_else(|| row.addend(word)) {
            // The disassembler leaves out an addend of 0.
            0 => format!("{before}{name}{after}"),
            addend => format!("{before}({name} + 0x{addend:x}){after}"),
        };
        RelocatedOperand {
            low_bit: row.low_bit(),
            text,
        }
    }

    /// Whether the linker may turn the instruction into a YIELD, or a YIELD off. Analyses must take it for one.
    pub fn switches_yield(&self) -> bool {
        self.row()
            .is_some_and(|row| row.written == Some(Written::Yield))
    }

    /// The row of the number.
    fn row(&self) -> Option<&'static Row> {
        ROWS.get(usize::try_from(self.number).ok()?)
    }
}

/// Value that a relocation writes into an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Written {
    /// The address, or its low bits.
    Address,
    /// The address of code in units of four bytes.
    Target,
    /// Bits 31:0 of the address.
    Low,
    /// Bits 63:32 of the address.
    High,
    /// The address of a function's descriptor.
    Descriptor,
    /// Bits 31:0 of the address of a function's descriptor.
    DescriptorLow,
    /// Bits 63:32 of the address of a function's descriptor.
    DescriptorHigh,
    /// A constant bank and an offset in it.
    Constant,
    /// The opcode or the predicate that makes the instruction a YIELD or not.
    Yield,
}

impl Written {
    /// Text before and after the symbol; `None` if no operand is written.
    fn text(self) -> Option<(&'static str, &'static str)> {
        match self {
            Written::Address | Written::Target | Written::Constant => Some(("`(", ")")),
            Written::Low => Some(("32@lo(", ")")),
            Written::High => Some(("32@hi(", ")")),
            Written::Descriptor => Some(("fun@fdesc(", ")")),
            Written::DescriptorLow => Some(("32@lo(fun@fdesc(", "))")),
            Written::DescriptorHigh => Some(("32@hi(fun@fdesc(", "))")),
            Written::Yield => None,
        }
    }
}

/// One relocation number.
struct Row {
    name: &'static str,
    /// Value that is written into an instruction; `None` if it is written into data, or not known.
    written: Option<Written>,
    /// Parts of the field, from the low bits of the value on: lowest bit in the word, and number of bits.
    parts: &'static [(u8, u8)],
}

impl Row {
    /// A number that changes no operand of an instruction.
    const fn named(name: &'static str) -> Row {
        Row {
            name,
            written: None,
            parts: &[],
        }
    }

    const fn of(name: &'static str, written: Written, parts: &'static [(u8, u8)]) -> Row {
        Row {
            name,
            written: Some(written),
            parts,
        }
    }

    /// Lowest bit of the part with the high bits of the value: the operand, as tables of encodings name it.
    fn low_bit(&self) -> Option<u8> {
        self.parts.last().map(|(low, _)| *low)
    }

    /// Whether the field has all bits that an address in the code of a kernel needs.
    fn has_whole_address(&self) -> bool {
        let bits = self.parts.iter().map(|(_, bits)| u32::from(*bits));
        bits.sum::<u32>() >= 24
    }

    /// The addend that the field of an instruction holds.
    fn addend(&self, word: u128) -> u64 {
        let (mut value, mut filled) = (0u128, 0u32);
        for &(low, bits) in self.parts {
            let part = (word >> low) & ((1 << bits) - 1);
            value |= part << filled;
            filled += u32::from(bits);
        }
        let value = match self.written {
            Some(Written::Target) => value << 2,
            // The field holds the upper half of the addend.
            Some(Written::High | Written::DescriptorHigh) => value << 32,
            // These fields hold bank and offset, not an addend.
            Some(Written::Constant | Written::Yield) | None => 0,
            Some(
                Written::Address | Written::Low | Written::Descriptor | Written::DescriptorLow,
            ) => value,
        };
        // The fields of targets have at most 56 bits.
        u64::try_from(value).unwrap_or(u64::MAX)
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

/// Rows by number: the order of the list in the machine descriptions inside NVIDIA's tools, as denvdis extracted it; 11 of
/// the numbers agree with CuAssembler's list. `cuobjdump` 13.5 prints the same names, and those from 75 on, for records of
/// each number; the two parts of targets are as in the instructions.
const ROWS: [Row; 116] = [
    Row::named("R_CUDA_NONE"),
    Row::named("R_CUDA_32"),
    Row::named("R_CUDA_64"),
    Row::named("R_CUDA_G32"),
    Row::named("R_CUDA_G64"),
    Row::named("R_CUDA_ABS32_26"),
    Row::named("R_CUDA_TEX_HEADER_INDEX"),
    Row::named("R_CUDA_SAMP_HEADER_INDEX"),
    Row::named("R_CUDA_SURF_HW_DESC"),
    Row::named("R_CUDA_SURF_HW_SW_DESC"),
    Row::named("R_CUDA_ABS32_LO_26"),
    Row::named("R_CUDA_ABS32_HI_26"),
    Row::named("R_CUDA_ABS32_23"),
    Row::named("R_CUDA_ABS32_LO_23"),
    Row::named("R_CUDA_ABS32_HI_23"),
    Row::named("R_CUDA_ABS24_26"),
    Row::named("R_CUDA_ABS24_23"),
    Row::named("R_CUDA_ABS16_26"),
    Row::named("R_CUDA_ABS16_23"),
    Row::named("R_CUDA_TEX_SLOT"),
    Row::named("R_CUDA_SAMP_SLOT"),
    Row::named("R_CUDA_SURF_SLOT"),
    Row::named("R_CUDA_TEX_BINDLESSOFF13_32"),
    Row::named("R_CUDA_TEX_BINDLESSOFF13_47"),
    Row::named("R_CUDA_CONST_FIELD19_28"),
    Row::named("R_CUDA_CONST_FIELD19_23"),
    Row::named("R_CUDA_TEX_SLOT9_49"),
    Row::named("R_CUDA_6_31"),
    Row::named("R_CUDA_2_47"),
    Row::named("R_CUDA_TEX_BINDLESSOFF13_41"),
    Row::named("R_CUDA_TEX_BINDLESSOFF13_45"),
    Row::named("R_CUDA_FUNC_DESC32_23"),
    Row::named("R_CUDA_FUNC_DESC32_LO_23"),
    Row::named("R_CUDA_FUNC_DESC32_HI_23"),
    Row::named("R_CUDA_FUNC_DESC_32"),
    Row::named("R_CUDA_FUNC_DESC_64"),
    Row::named("R_CUDA_CONST_FIELD21_26"),
    Row::named("R_CUDA_QUERY_DESC21_37"),
    Row::named("R_CUDA_CONST_FIELD19_26"),
    Row::named("R_CUDA_CONST_FIELD21_23"),
    Row::named("R_CUDA_PCREL_IMM24_26"),
    Row::named("R_CUDA_PCREL_IMM24_23"),
    Row::of("R_CUDA_ABS32_20", Written::Address, &[(20, 32)]),
    Row::of("R_CUDA_ABS32_LO_20", Written::Low, &[(20, 32)]),
    Row::of("R_CUDA_ABS32_HI_20", Written::High, &[(20, 32)]),
    Row::of("R_CUDA_ABS24_20", Written::Address, &[(20, 24)]),
    Row::of("R_CUDA_ABS16_20", Written::Address, &[(20, 16)]),
    Row::of("R_CUDA_FUNC_DESC32_20", Written::Descriptor, &[(20, 32)]),
    Row::of(
        "R_CUDA_FUNC_DESC32_LO_20",
        Written::DescriptorLow,
        &[(20, 32)],
    ),
    Row::of(
        "R_CUDA_FUNC_DESC32_HI_20",
        Written::DescriptorHigh,
        &[(20, 32)],
    ),
    Row::of("R_CUDA_CONST_FIELD19_20", Written::Constant, &[(20, 19)]),
    Row::named("R_CUDA_BINDLESSOFF13_36"),
    Row::named("R_CUDA_SURF_HEADER_INDEX"),
    Row::named("R_CUDA_INSTRUCTION64"),
    Row::of("R_CUDA_CONST_FIELD21_20", Written::Constant, &[(20, 21)]),
    Row::of("R_CUDA_ABS32_32", Written::Address, &[(32, 32)]),
    Row::of("R_CUDA_ABS32_LO_32", Written::Low, &[(32, 32)]),
    Row::of("R_CUDA_ABS32_HI_32", Written::High, &[(32, 32)]),
    Row::of("R_CUDA_ABS47_34", Written::Target, &[(34, 47)]),
    Row::of("R_CUDA_ABS16_32", Written::Address, &[(32, 16)]),
    Row::of("R_CUDA_ABS24_32", Written::Address, &[(32, 24)]),
    Row::of("R_CUDA_FUNC_DESC32_32", Written::Descriptor, &[(32, 32)]),
    Row::of(
        "R_CUDA_FUNC_DESC32_LO_32",
        Written::DescriptorLow,
        &[(32, 32)],
    ),
    Row::of(
        "R_CUDA_FUNC_DESC32_HI_32",
        Written::DescriptorHigh,
        &[(32, 32)],
    ),
    Row::of("R_CUDA_CONST_FIELD19_40", Written::Constant, &[(40, 19)]),
    Row::named("R_CUDA_BINDLESSOFF14_40"),
    Row::of("R_CUDA_CONST_FIELD21_38", Written::Constant, &[(38, 21)]),
    Row::named("R_CUDA_INSTRUCTION128"),
    Row::of("R_CUDA_YIELD_OPCODE9_0", Written::Yield, &[(0, 9)]),
    Row::of("R_CUDA_YIELD_CLEAR_PRED4_87", Written::Yield, &[(87, 4)]),
    Row::named("R_CUDA_32_LO"),
    Row::named("R_CUDA_32_HI"),
    Row::named("R_CUDA_UNUSED_CLEAR32"),
    Row::named("R_CUDA_UNUSED_CLEAR64"),
    Row::of("R_CUDA_ABS24_40", Written::Address, &[(40, 24)]),
    Row::of("R_CUDA_ABS55_16_34", Written::Target, &[(16, 8), (34, 47)]),
    Row::named("R_CUDA_8_0"),
    Row::named("R_CUDA_8_8"),
    Row::named("R_CUDA_8_16"),
    Row::named("R_CUDA_8_24"),
    Row::named("R_CUDA_8_32"),
    Row::named("R_CUDA_8_40"),
    Row::named("R_CUDA_8_48"),
    Row::named("R_CUDA_8_56"),
    Row::named("R_CUDA_G8_0"),
    Row::named("R_CUDA_G8_8"),
    Row::named("R_CUDA_G8_16"),
    Row::named("R_CUDA_G8_24"),
    Row::named("R_CUDA_G8_32"),
    Row::named("R_CUDA_G8_40"),
    Row::named("R_CUDA_G8_48"),
    Row::named("R_CUDA_G8_56"),
    Row::named("R_CUDA_FUNC_DESC_8_0"),
    Row::named("R_CUDA_FUNC_DESC_8_8"),
    Row::named("R_CUDA_FUNC_DESC_8_16"),
    Row::named("R_CUDA_FUNC_DESC_8_24"),
    Row::named("R_CUDA_FUNC_DESC_8_32"),
    Row::named("R_CUDA_FUNC_DESC_8_40"),
    Row::named("R_CUDA_FUNC_DESC_8_48"),
    Row::named("R_CUDA_FUNC_DESC_8_56"),
    Row::of("R_CUDA_ABS20_44", Written::Address, &[(44, 20)]),
    Row::named("R_CUDA_SAMP_HEADER_INDEX_0"),
    Row::named("R_CUDA_UNIFIED"),
    Row::named("R_CUDA_UNIFIED_32"),
    Row::named("R_CUDA_UNIFIED_8_0"),
    Row::named("R_CUDA_UNIFIED_8_8"),
    Row::named("R_CUDA_UNIFIED_8_16"),
    Row::named("R_CUDA_UNIFIED_8_24"),
    Row::named("R_CUDA_UNIFIED_8_32"),
    Row::named("R_CUDA_UNIFIED_8_40"),
    Row::named("R_CUDA_UNIFIED_8_48"),
    Row::named("R_CUDA_UNIFIED_8_56"),
    Row::of("R_CUDA_UNIFIED32_LO_32", Written::Low, &[(32, 32)]),
    Row::of("R_CUDA_UNIFIED32_HI_32", Written::High, &[(32, 32)]),
    Row::of("R_CUDA_ABS56_16_34", Written::Target, &[(16, 8), (34, 48)]),
    Row::of("R_CUDA_CONST_FIELD22_37", Written::Constant, &[(37, 22)]),
];

/// Whether a section is in global memory.
fn is_global(section: &str) -> bool {
    matches!(section, ".nv.global" | ".nv.global.init")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relocation of a table, with the addend in the field or not.
    fn relocation(number: u32, addend: Option<i64>) -> Relocation {
        Relocation {
            offset: 0x40,
            number,
            symbol: Symbol {
                name: Arc::from("table"),
                is_defined: true,
                is_global: true,
                value: 0,
                in_code: None,
                section: None,
                is_weak: false,
            },
            addend,
        }
    }

    /// Names and positions: the numbers in a name are the bits of the field.
    #[test]
    fn numbers_in_names_are_those_of_the_fields() {
        for row in &ROWS {
            let Some((low, bits)) = row.parts.last() else {
                continue;
            };
            assert!(row.name.ends_with(&format!("_{low}")), "{}", row.name);
            let all: u32 = row.parts.iter().map(|(_, bits)| u32::from(*bits)).sum();
            let stated = [format!("{all}_"), format!("{bits}_")];
            assert!(
                stated
                    .iter()
                    .any(|stated| row.name.contains(stated.as_str())),
                "{}",
                row.name
            );
            assert!(low + bits <= 128);
        }
    }

    #[test]
    fn operands_of_wide_instructions() {
        // `MOV R4, 32@lo(table)` and `32@hi` of sm_75 and later.
        for (number, text, half) in [
            (56, "32@lo(table)", Some(AddressHalf::Low)),
            (57, "32@hi(table)", Some(AddressHalf::High)),
            (55, "`(table)", None),
        ] {
            let relocation = relocation(number, Some(0));
            let operand = relocation.operand(u128::MAX);
            assert_eq!((operand.low_bit, &*operand.text), (Some(32), text));
            assert_eq!(relocation.word_immediate(), half);
        }
        // The addend in the field: a target is in units of four bytes, in two parts on sm_90 and later.
        let in_field = |number, word| relocation(number, None).operand_addend(word);
        assert_eq!(in_field(58, 0x30 << 34), Some(0xc0));
        assert_eq!(in_field(75, (0x30 << 16) | (1 << 34)), Some(0x4c0));
        assert_eq!(in_field(114, (0x30 << 16) | (1 << 34)), Some(0x4c0));
        assert_eq!(
            relocation(114, None).operand(0x30 << 16).text,
            "`((table + 0xc0))"
        );
    }

    #[test]
    fn yields_are_switched() {
        let switches = |number| relocation(number, Some(0)).switches_yield();
        assert!(switches(68) && switches(69));
        assert!(!switches(67) && !switches(70) && !switches(1000));
        let text = relocation(68, Some(0)).operand(0).text;
        assert_eq!(text, "0x0040 R_CUDA_YIELD_OPCODE9_0 table");
        assert_eq!(
            relocation(115, None).name(),
            Some("R_CUDA_CONST_FIELD22_37")
        );
        assert_eq!(relocation(116, None).name(), None);
    }
}
