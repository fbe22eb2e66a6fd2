//! A code object as the loader places it in memory.

use bytes::Bytes;
use warpbound_base::Diagnostic;

use crate::elf::{Elf, SymbolLocation, fault};

/// Parts of a linked code object in memory. Addresses are relative to address 0 of the file; the loader chooses its
/// place.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LoadedFile {
    /// Parts with contents, in the order of the file.
    pub segments: Vec<LoadedSegment>,
    /// Fields that receive addresses.
    pub addresses: Vec<AddressField>,
    /// Names of symbols whose addresses another file has to provide.
    pub undefined: Vec<String>,
}

/// A contiguous part of a loaded file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedSegment {
    /// Address of the first byte.
    pub address: u64,
    /// Bytes in memory; zeros follow the contents.
    pub size: u64,
    /// Contents, at most [`LoadedSegment::size`] bytes.
    pub bytes: Bytes,
}

/// A field of 8 bytes that receives an address of the file itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressField {
    /// Address of the field, relative to address 0 of the file.
    pub at: u64,
    /// Address that it receives, relative to address 0 of the file.
    pub target: u64,
}

/// Relocations that the loader applies: the address of a symbol, and an address in the file itself (LLVM,
/// `R_AMDGPU_ABS64`, `R_AMDGPU_RELATIVE64`).
const ADDRESS: u32 = 3;
const OWN_ADDRESS: u32 = 13;

/// Reads the segments and the relocations of the loader.
pub(super) fn read(file: &Bytes, elf: &Elf<'_>) -> Result<LoadedFile, Diagnostic> {
    let mut loaded = LoadedFile::default();
    for segment in &elf.segments {
        let contents = elf.segment_contents(segment)?;
        // The contents would overlap what follows the segment in memory.
        if segment.memory_size < segment.file_size {
            return Err(fault(
                segment.offset,
                "a segment is smaller in memory than in the file",
            ));
        }
        loaded.segments.push(LoadedSegment {
            address: segment.address,
            size: segment.memory_size,
            bytes: file.slice_ref(contents),
        });
    }
    for (relocation, symbol) in elf.dynamic_relocations()? {
        let addend = relocation.addend.unwrap_or(0);
        let base = match (relocation.number, symbol.location) {
            (OWN_ADDRESS, _) => 0,
            (ADDRESS, SymbolLocation::Undefined) => {
                // Not an error here: kernels can be analysed without the address. A launch that binds the file
                // refuses it.
                loaded.undefined.push(symbol.name.to_string());
                continue;
            }
            (ADDRESS, _) => symbol.value,
            // A field that is left out would keep wrong contents, so an unknown relocation refuses the file.
            (number, _) => {
                return Err(fault(
                    relocation.offset,
                    format!("relocation {number} of the loader is not known"),
                ));
            }
        };
        loaded.addresses.push(AddressField {
            at: relocation.at,
            target: base.wrapping_add_signed(addend),
        });
    }
    Ok(loaded)
}
