//! Variables of a module: `__constant__` and `__device__`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::bank;
use crate::elf::{Elf, SymbolPlace};
use crate::inventory::{STT_CUDA_OBJECT, STT_OBJECT};

/// A variable that a host program can name (`cudaMemcpyToSymbol`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The mangled name.
    pub name: Arc<str>,
    /// Bytes.
    pub size: u32,
    /// Where it is.
    pub place: VariablePlace,
}

/// Where a variable is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VariablePlace {
    /// In a constant bank, from a byte offset on.
    Constant {
        /// The bank.
        bank: u8,
        /// The first byte.
        offset: u32,
    },
    /// In global memory, with what it holds at the start; where, the loader decides.
    Global(Bytes),
}

/// Tells if a section lies in global memory.
pub(crate) fn is_global(section: &str) -> bool {
    matches!(section, ".nv.global" | ".nv.global.init")
}

/// The variables of a file whose contents it gives or leaves zero; others are left out.
pub(crate) fn variables(file: &Bytes, elf: &Elf<'_>) -> Vec<Variable> {
    // Read once for each section, however many variables lie in it.
    let mut initial: BTreeMap<usize, Option<Bytes>> = BTreeMap::new();
    let found = elf.symbols.iter().filter_map(|symbol| {
        let SymbolPlace::Section(index) = symbol.place else {
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
            (Some(bank), _) => VariablePlace::Constant {
                bank: bank.number,
                offset: u32::try_from(symbol.value).ok()?,
            },
            (None, ".nv.global.init") => {
                let contents = initial.entry(index).or_insert_with(|| {
                    let contents = elf.contents(section).ok()?;
                    Some(file.slice_ref(contents))
                });
                let contents = contents.as_ref()?;
                let (start, end) = (symbol.value as usize, end as usize);
                if end > contents.len() {
                    return None;
                }
                VariablePlace::Global(contents.slice(start..end))
            }
            (None, ".nv.global") => VariablePlace::Global(Bytes::new()),
            _ => return None,
        };
        Some(Variable {
            name: Arc::clone(&symbol.name),
            size,
            place,
        })
    });
    found.collect()
}
