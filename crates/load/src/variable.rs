//! Variables of a module: `__constant__` and `__device__`. For example, `__constant__ int n[4]` is 16 bytes in
//! constant bank 3.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::bank;
use crate::elf::{Elf, STT_CUDA_OBJECT, SymbolLocation};
use crate::elf_numbers::{SHF_ALLOC, SHF_EXECINSTR, STT_OBJECT};

/// A variable that a host program can name (`cudaMemcpyToSymbol`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The mangled name.
    pub name: Arc<str>,
    /// Size in bytes.
    pub size: u32,
    /// Location of the variable.
    pub location: VariableLocation,
}

/// Location of a variable in the memory of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VariableLocation {
    /// In a constant bank, at a byte offset.
    Constant {
        /// Number of the bank.
        bank: u8,
        /// Offset of the first byte.
        offset: u32,
    },
    /// In global memory, with its initial contents (empty: zeros); the loader chooses the address.
    Global(Bytes),
    /// In a linked code object, at an address relative to address 0 of the loaded file.
    Loaded(u64),
}

/// Lists the variables in constant banks and in global memory. Variables with inconsistent location or size are left
/// out.
pub(crate) fn read_variables(file: &Bytes, elf: &Elf<'_>) -> Vec<Variable> {
    // Contents by section index. Each read counts against the budget, so a section is read only once.
    let mut initial: BTreeMap<usize, Option<Bytes>> = BTreeMap::new();
    let found = elf.symbols.iter().filter_map(|symbol| {
        let SymbolLocation::Section(index) = symbol.location else {
            return None;
        };
        if !matches!(symbol.kind, STT_OBJECT | STT_CUDA_OBJECT) {
            return None;
        }
        let section = elf.sections.get(index)?;
        let size = u32::try_from(symbol.size).ok()?;
        let end = symbol.value.checked_add(symbol.size)?;
        if end > section.size {
            return None;
        }
        let place = match (bank::parse_name(section.name), section.name) {
            (Some(bank), _) => VariableLocation::Constant {
                bank: bank.number,
                offset: u32::try_from(symbol.value).ok()?,
            },
            (None, ".nv.global.init") => {
                let contents = initial.entry(index).or_insert_with(|| {
                    let contents = elf.contents(section).ok()?;
                    Some(file.slice_ref(contents))
                });
                let contents = contents.as_ref()?;
                let start = usize::try_from(symbol.value).ok()?;
                let end = usize::try_from(end).ok()?;
                if end > contents.len() {
                    return None;
                }
                VariableLocation::Global(contents.slice(start..end))
            }
            // The section has no contents in the file, so its variables begin as zeros.
            (None, ".nv.global") => VariableLocation::Global(Bytes::new()),
            _ => return None,
        };
        Some(Variable {
            name: Arc::clone(&symbol.name),
            size,
            location: place,
        })
    });
    found.collect()
}

/// Lists the variables of a linked code object. Descriptors of kernels and variables that do not fit into their
/// section are left out.
pub(crate) fn read_loaded_variables(elf: &Elf<'_>) -> Vec<Variable> {
    let found = elf.symbols.iter().filter_map(|symbol| {
        let SymbolLocation::Section(index) = symbol.location else {
            return None;
        };
        let section = elf.sections.get(index)?;
        let is_variable = symbol.kind == STT_OBJECT && !symbol.name.ends_with(".kd");
        let offset = symbol.value.checked_sub(section.address)?;
        let fits = offset.checked_add(symbol.size)? <= section.size;
        (is_variable && fits && section.flags & (SHF_ALLOC | SHF_EXECINSTR) == SHF_ALLOC).then_some(
            Variable {
                name: Arc::clone(&symbol.name),
                size: u32::try_from(symbol.size).ok()?,
                location: VariableLocation::Loaded(symbol.value),
            },
        )
    });
    found.collect()
}
