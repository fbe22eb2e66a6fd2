//! What a file consists of: kernels, functions, variables, sections.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpbound_base::Diagnostic;

use crate::bank;
use crate::elf::{Elf, RawSymbol, Section, SymbolPlace, fault};
use crate::image::{Other, OtherKind};

/// Section types (LLVM's `BinaryFormat/ELF.h`, denvdis, experiment).
const SHT_NULL: u32 = 0;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_RELA: u32 = 4;
const SHT_REL: u32 = 9;
pub(crate) const SHT_CUDA_INFO: u32 = 0x7000_0000;

/// Symbol types; 13 is NVIDIA's type for variables of relocatable files.
pub(crate) const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
pub(crate) const STT_CUDA_OBJECT: u8 = 13;

/// Symbol types of texture and surface references (experiment: NVRTC 11.8).
const STT_CUDA_TEXTURE: u8 = 10;
const STT_CUDA_SURFACE: u8 = 12;

/// The bit of `st_other` that marks a kernel (`STO_CUDA_ENTRY`).
const STO_CUDA_ENTRY: u8 = 0x10;

/// A function of the symbol table.
#[derive(Clone, Copy)]
pub(crate) struct FunctionSymbol<'elf> {
    /// Index in the symbol table.
    pub(crate) index: usize,
    pub(crate) symbol: &'elf RawSymbol,
}

/// The functions of one code section.
#[derive(Default)]
pub(crate) struct CodeSection<'elf> {
    /// The function that is a kernel, if any.
    pub(crate) kernel: Option<FunctionSymbol<'elf>>,
    /// All functions, by address.
    pub(crate) functions: Vec<FunctionSymbol<'elf>>,
}

/// The functions of every code section that has one, by the section's index.
pub(crate) fn code_sections<'elf>(
    elf: &'elf Elf<'_>,
) -> Result<BTreeMap<usize, CodeSection<'elf>>, Diagnostic> {
    let mut sections = BTreeMap::<usize, CodeSection<'elf>>::new();
    let functions = elf
        .symbols
        .iter()
        .enumerate()
        .filter(|(_, symbol)| symbol.kind == STT_FUNC);
    for (index, symbol) in functions {
        let is_kernel = symbol.other & STO_CUDA_ENTRY != 0;
        let place = match symbol.place {
            SymbolPlace::Section(place) => {
                let section = elf.sections.get(place).filter(|section| is_code(section));
                section.map(|section| (place, section.size))
            }
            SymbolPlace::Undefined | SymbolPlace::Other => None,
        };
        let Some((place, section_size)) = place else {
            if is_kernel {
                let what = format!("kernel {} lies outside the code sections", symbol.name);
                return Err(fault(symbol.offset, what));
            }
            continue;
        };
        let end = symbol.value.checked_add(symbol.size);
        if end.is_none_or(|end| end > section_size) {
            let what = format!("function {} reaches beyond its section", symbol.name);
            return Err(fault(symbol.offset, what));
        }
        let function = FunctionSymbol { index, symbol };
        let code = sections.entry(place).or_default();
        code.functions.push(function);
        if is_kernel && let Some(first) = code.kernel.replace(function) {
            let (first, second) = (&first.symbol.name, &symbol.name);
            let what = format!("kernels {first} and {second} share a code section");
            return Err(fault(symbol.offset, what));
        }
    }
    for code in sections.values_mut() {
        code.functions
            .sort_by_key(|function| (function.symbol.value, function.index));
    }
    Ok(sections)
}

pub(crate) fn is_code(section: &Section<'_>) -> bool {
    section.name.starts_with(".text.")
}

/// What is not a kernel and not a part of one.
pub(crate) fn others(
    elf: &Elf<'_>,
    code_sections: &BTreeMap<usize, CodeSection<'_>>,
) -> Vec<Other> {
    let symbols = elf.symbols.iter().filter_map(|symbol| {
        let in_kernel = match symbol.place {
            SymbolPlace::Section(index) => code_sections
                .get(&index)
                .is_some_and(|code| code.kernel.is_some()),
            SymbolPlace::Undefined | SymbolPlace::Other => false,
        };
        let kind = match (symbol.place, symbol.kind) {
            (SymbolPlace::Undefined, STT_FUNC | STT_OBJECT | STT_CUDA_OBJECT) => {
                OtherKind::External
            }
            (_, STT_CUDA_TEXTURE) => OtherKind::TextureReference,
            (_, STT_CUDA_SURFACE) => OtherKind::SurfaceReference,
            (_, STT_FUNC) if !in_kernel => OtherKind::DeviceFunction,
            (_, STT_OBJECT | STT_CUDA_OBJECT) => OtherKind::Variable,
            _ => return None,
        };
        Some(Other {
            name: Arc::clone(&symbol.name),
            kind,
            size: symbol.size,
        })
    });
    let sections = elf
        .sections
        .iter()
        .enumerate()
        .filter(|(index, section)| !(is_read(section) || code_sections.contains_key(index)));
    symbols
        .chain(sections.map(|(_, section)| Other {
            name: Arc::from(section.name),
            kind: OtherKind::Section(section.kind),
            size: section.size,
        }))
        .collect()
}

/// Whether a section stands for the static shared memory of one kernel.
pub(crate) fn is_static_shared(section: &Section<'_>) -> bool {
    section.name.starts_with(".nv.shared.") && !section.name.starts_with(".nv.shared.reserved.")
}

/// Whether a section other than code is read.
fn is_read(section: &Section<'_>) -> bool {
    matches!(
        section.kind,
        SHT_NULL | SHT_SYMTAB | SHT_STRTAB | SHT_RELA | SHT_REL | SHT_CUDA_INFO
    ) || section.name == ".debug_line"
        || is_static_shared(section)
        || bank::parse_name(section.name).is_some()
}
