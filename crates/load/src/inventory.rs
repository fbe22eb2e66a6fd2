//! Classification of the contents of a cubin: kernels, functions, variables, sections. For example, the section
//! `.text.add` is code, and the symbol `add` in it is a kernel if bit 4 of its `st_other` is set, else a device
//! function.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpbound_base::Diagnostic;

use crate::bank;
use crate::elf::{Elf, LINE_TABLE, RawSymbol, STT_CUDA_OBJECT, Section, SymbolLocation, fault};
use crate::elf_numbers::{
    SHT_CUDA_INFO, SHT_NULL, SHT_REL, SHT_RELA, SHT_STRTAB, SHT_SYMTAB, STT_FUNC, STT_OBJECT,
};
use crate::image::{OtherItem, OtherKind};

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
    /// The functions that are kernels. A section with more than one is refused.
    pub(crate) kernels: Vec<FunctionSymbol<'elf>>,
    /// All functions, by address.
    pub(crate) functions: Vec<FunctionSymbol<'elf>>,
    /// The first error in them.
    pub(crate) fault: Option<Diagnostic>,
}

/// The code of a file.
#[derive(Default)]
pub(crate) struct CodeSections<'elf> {
    /// Code sections with at least one function, by the section's index.
    pub(crate) sections: BTreeMap<usize, CodeSection<'elf>>,
    /// Kernels that have no code section.
    pub(crate) without_code: Vec<FunctionSymbol<'elf>>,
}

/// Sorts the functions of the symbol table into code sections.
pub(crate) fn code_sections<'elf>(elf: &'elf Elf<'_>) -> CodeSections<'elf> {
    let mut code = CodeSections::default();
    let functions = elf
        .symbols
        .iter()
        .enumerate()
        .filter(|(_, symbol)| symbol.kind == STT_FUNC);
    for (index, symbol) in functions {
        let is_kernel = symbol.other & STO_CUDA_ENTRY != 0;
        let function = FunctionSymbol { index, symbol };
        let place = match symbol.location {
            SymbolLocation::Section(place) => {
                let section = elf.sections.get(place).filter(|section| is_code(section));
                section.map(|section| (place, section.size))
            }
            SymbolLocation::Undefined | SymbolLocation::Other => None,
        };
        let Some((place, section_size)) = place else {
            if is_kernel {
                code.without_code.push(function);
            }
            continue;
        };
        let section = code.sections.entry(place).or_default();
        // An error is kept with its section, so that kernels of other sections are still read.
        let end = symbol.value.checked_add(symbol.size);
        if end.is_none_or(|end| end > section_size) {
            let message = format!("function {} reaches beyond its section", symbol.name);
            section.fault.get_or_insert(fault(symbol.offset, message));
        }
        if is_kernel {
            // Attributes and banks name a code section, not a kernel, so the parts of two kernels could not be
            // separated.
            if let Some(first) = section.kernels.first() {
                let (first, second) = (&first.symbol.name, &symbol.name);
                let message = format!("kernels {first} and {second} share a code section");
                section.fault.get_or_insert(fault(symbol.offset, message));
            }
            section.kernels.push(function);
        }
        section.functions.push(function);
    }
    for section in code.sections.values_mut() {
        section
            .functions
            // The index makes the order of functions at one address independent of the sort.
            .sort_by_key(|function| (function.symbol.value, function.index));
    }
    code
}

/// Whether a section holds code.
pub(crate) fn is_code(section: &Section<'_>) -> bool {
    code_name(section).is_some()
}

/// The function that a code section is named after.
pub(crate) fn code_name<'data>(section: &Section<'data>) -> Option<&'data str> {
    section.name.strip_prefix(".text.")
}

/// Function that an `.nv` section belongs to, from the section's name. For example, `.nv.info.f` belongs to `f`.
pub(crate) fn owner(section_name: &str) -> Option<&str> {
    let (_, function) = section_name.strip_prefix(".nv.")?.split_once('.')?;
    Some(function)
}

/// Lists the items that are neither a kernel nor a part of one.
pub(crate) fn other_items(
    elf: &Elf<'_>,
    code_sections: &BTreeMap<usize, CodeSection<'_>>,
) -> Vec<OtherItem> {
    let symbols = elf.symbols.iter().filter_map(|symbol| {
        let in_kernel = match symbol.location {
            SymbolLocation::Section(index) => code_sections
                .get(&index)
                .is_some_and(|code| !code.kernels.is_empty()),
            SymbolLocation::Undefined | SymbolLocation::Other => false,
        };
        let kind = match (symbol.location, symbol.kind) {
            (SymbolLocation::Undefined, STT_FUNC | STT_OBJECT | STT_CUDA_OBJECT) => {
                OtherKind::External
            }
            (_, STT_CUDA_TEXTURE) => OtherKind::TextureReference,
            (_, STT_CUDA_SURFACE) => OtherKind::SurfaceReference,
            // A function in the section of a kernel is part of that kernel.
            (_, STT_FUNC) if !in_kernel => OtherKind::DeviceFunction,
            (_, STT_OBJECT | STT_CUDA_OBJECT) => OtherKind::Variable,
            _ => return None,
        };
        Some(OtherItem {
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
        .chain(sections.map(|(_, section)| OtherItem {
            name: Arc::from(section.name),
            kind: OtherKind::Section(section.kind),
            size: section.size,
        }))
        .collect()
}

/// Whether a section represents the static shared memory of one kernel.
pub(crate) fn is_static_shared(section: &Section<'_>) -> bool {
    // `.nv.shared.reserved.*` holds no variables of a kernel.
    section.name.starts_with(".nv.shared.") && !section.name.starts_with(".nv.shared.reserved.")
}

/// Whether a section other than code is read.
fn is_read(section: &Section<'_>) -> bool {
    matches!(
        section.kind,
        SHT_NULL | SHT_SYMTAB | SHT_STRTAB | SHT_RELA | SHT_REL | SHT_CUDA_INFO
    ) || section.name == LINE_TABLE
        || is_static_shared(section)
        || bank::parse_name(section.name).is_some()
}

/// Whether the relocations of a section are read.
pub(crate) fn is_relocated(section: &Section<'_>) -> bool {
    is_code(section) || section.name == LINE_TABLE || bank::parse_name(section.name).is_some()
}
