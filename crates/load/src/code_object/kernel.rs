//! Kernels in the symbol table, and their descriptors.

use std::collections::HashMap;
use std::sync::Arc;

use warpbound_base::Diagnostic;

use super::metadata::StatedKernel;
use super::{CodeObjectVersion, GcnDescriptor};
use crate::elf::{Elf, RawRelocation, RawSymbol, Relocations, SymbolLocation, fault};

/// Symbol type of the kernels of version 2.
pub(super) const STT_KERNEL: u8 = 10;

/// Symbol of a kernel: it marks the descriptor, or in version 2 the header before the code.
pub(super) struct KernelSymbol<'elf> {
    /// Name of the kernel.
    pub(super) name: Arc<str>,
    pub(super) symbol: &'elf RawSymbol,
}

/// The kernels of a file, by the place of their descriptors.
pub(super) fn symbols<'elf>(
    elf: &'elf Elf<'_>,
    version: CodeObjectVersion,
) -> Vec<KernelSymbol<'elf>> {
    let defined = elf
        .symbols
        .iter()
        .filter_map(|symbol| match symbol.location {
            SymbolLocation::Section(index) => Some((index, symbol)),
            SymbolLocation::Undefined | SymbolLocation::Other => None,
        });
    let mut kernels: Vec<(usize, KernelSymbol<'elf>)> = defined
        .filter_map(|(index, symbol)| {
            let name = match version {
                CodeObjectVersion::V2 if symbol.kind == STT_KERNEL => Arc::clone(&symbol.name),
                CodeObjectVersion::V2 => return None,
                _ => Arc::from(symbol.name.strip_suffix(".kd")?),
            };
            Some((index, KernelSymbol { name, symbol }))
        })
        .collect();
    // By place, so that the order of kernels does not depend on the order of the symbol table.
    kernels.sort_by_key(|(index, kernel)| (*index, kernel.symbol.value));
    kernels.into_iter().map(|(_, kernel)| kernel).collect()
}

/// Descriptor as stored in the file.
pub(super) struct RawDescriptor {
    pub(super) descriptor: GcnDescriptor,
    /// Offset in the file.
    pub(super) offset: u64,
    /// Address in the loaded file.
    pub(super) address: u64,
    /// First instruction: a section and an offset in it, or an address in a linked file.
    pub(super) entry: (Option<usize>, u64),
    /// Bytes between the kernel's symbol and its first instruction.
    pub(super) header_size: u64,
    /// Size of the arguments in bytes; 0 if the descriptor does not state it.
    kernarg_size: u32,
    pub(super) uses_dynamic_stack: bool,
}

/// 64-bit relocation that writes the distance from its field to a symbol (LLVM, `R_AMDGPU_REL64`).
const DISTANCE: u32 = 5;

/// Bits of the properties: waves have 32 lanes; the kernel calls functions whose stack has no static size.
const WAVE32: u32 = 1 << 10;
const DYNAMIC_STACK: u32 = 1 << 11;

/// Relocations by the index of the relocated section and the offset there.
pub(super) struct FieldRelocations<'a> {
    all: &'a Relocations,
    by_place: HashMap<(usize, u64), &'a RawRelocation>,
}

impl<'a> FieldRelocations<'a> {
    /// Indexes relocations. If several are at one place, the first counts.
    pub(super) fn new(all: &'a Relocations) -> FieldRelocations<'a> {
        let mut by_place = HashMap::new();
        for (section, relocations) in all {
            for relocation in relocations.iter().flatten() {
                by_place
                    .entry((*section, relocation.at))
                    .or_insert(relocation);
            }
        }
        FieldRelocations { all, by_place }
    }

    /// The relocations of a section.
    pub(super) fn of_section(&self, section: usize) -> Result<&'a [RawRelocation], Diagnostic> {
        match self.all.get(&section) {
            Some(relocations) => Ok(relocations.as_ref().map_err(Diagnostic::clone)?),
            None => Ok(&[]),
        }
    }

    /// The relocation of a field.
    fn at(&self, section: usize, at: u64) -> Result<Option<&'a RawRelocation>, Diagnostic> {
        // A damaged table must not look like a field without a relocation.
        self.of_section(section)?;
        Ok(self.by_place.get(&(section, at)).copied())
    }
}

/// ELF file with its relocations by place.
#[derive(Clone, Copy)]
pub(super) struct RelocatedElf<'a> {
    /// Sections and symbols.
    pub(super) elf: &'a Elf<'a>,
    /// Relocations of all sections.
    pub(super) relocations: &'a FieldRelocations<'a>,
}

/// Reads the descriptor of a kernel.
pub(super) fn descriptor(
    file: RelocatedElf<'_>,
    kernel: &KernelSymbol<'_>,
) -> Result<RawDescriptor, Diagnostic> {
    let RelocatedElf { elf, relocations } = file;
    let symbol = kernel.symbol;
    let is_v2 = symbol.kind == STT_KERNEL;
    let (name, size) = if is_v2 {
        ("header", 256)
    } else {
        ("descriptor", 64)
    };
    let here = |message: &str| fault(symbol.offset, format!("the kernel's {name} {message}"));
    let outside = || here("lies outside its section");
    let SymbolLocation::Section(index) = symbol.location else {
        return Err(outside());
    };
    let section = elf.sections.get(index).ok_or_else(outside)?;
    let at = symbol
        .value
        .checked_sub(section.address)
        .ok_or_else(outside)?;
    let bytes = elf.peek(section, at, size).ok_or_else(outside)?;
    let offset = section.offset.saturating_add(at);
    let word = |at: usize| word_at(bytes, at);
    let entry = u64::from(word(16)) | u64::from(word(20)) << 32;
    // The distance is signed: code may precede the descriptor.
    let wrapped = symbol.value.wrapping_add(entry);
    let mut place = (is_v2.then_some(index), wrapped);
    if let Some(relocation) = relocations.at(index, at.saturating_add(16))? {
        let target = elf.symbols.get(relocation.symbol);
        let section = target.map(|target| target.location);
        let (Some(target), Some(SymbolLocation::Section(section)), Some(addend), DISTANCE) =
            (target, section, relocation.addend, relocation.number)
        else {
            return Err(here("names no first instruction"));
        };
        // The addend counts from the field, not from the descriptor.
        let value = target.value.wrapping_add_signed(addend).wrapping_sub(16);
        place = (Some(section), value);
    }
    let descriptor = match is_v2 {
        true => GcnDescriptor {
            rsrc1: word(48),
            rsrc2: word(52),
            properties: word(56),
            private_segment: word(60),
            group_segment: word(64),
        },
        false => GcnDescriptor {
            rsrc1: word(48),
            rsrc2: word(52),
            properties: word(56) & 0xffff,
            private_segment: word(4),
            group_segment: word(0),
        },
    };
    let refuse = |at: u64, message: &str| Err(fault(offset + at, message));
    // `amd_kernel_code_version_major` and `amd_machine_kind`: other headers have other fields.
    if is_v2 && (word(0), word(8) & 0xffff) != (1, 1) {
        return refuse(0, "the kernel's header is not of version 1 for AMD GPUs");
    }
    if is_v2 && word(76) != 0 {
        return refuse(76, "the kernel has 4 GiB of arguments or more");
    }
    if !is_v2 && descriptor.has(WAVE32) {
        return refuse(56, "the kernel has waves of 32 lanes, which gfx803 has not");
    }
    // Preloaded arguments take user SGPRs, so ignoring them would give a wave wrong registers.
    if !is_v2 && word(56) >> 16 != 0 {
        return refuse(
            58,
            "the kernel has arguments in registers, which gfx803 has not",
        );
    }
    Ok(RawDescriptor {
        descriptor,
        offset,
        address: symbol.value,
        entry: place,
        header_size: if is_v2 { entry } else { 0 },
        kernarg_size: word(if is_v2 { 72 } else { 8 }),
        uses_dynamic_stack: !is_v2 && descriptor.has(DYNAMIC_STACK),
    })
}

/// Little-endian word at an offset; 0 past the end.
fn word_at(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

/// Compares descriptor and metadata; returns the size of the arguments in bytes.
pub(super) fn check(raw: &RawDescriptor, stated: &StatedKernel) -> Result<u32, String> {
    let descriptor = &raw.descriptor;
    let differs = |what: &str, own: u32, stated: u32| {
        format!("the descriptor states {own} {what}, the metadata {stated}")
    };
    let pairs = [
        (
            "bytes of LDS",
            descriptor.group_segment,
            stated.group_segment,
        ),
        (
            "bytes of scratch",
            descriptor.private_segment,
            stated.private_segment,
        ),
    ];
    for (what, own, stated) in pairs {
        if let Some(stated) = stated.filter(|stated| *stated != own) {
            return Err(differs(what, own, stated));
        }
    }
    let allocated = u32::from(descriptor.vector_registers());
    // Fewer used than allocated is usual, because allocation is in granules.
    if let Some(used) = stated.vector_registers.filter(|used| *used > allocated) {
        return Err(differs("VGPRs", allocated, used));
    }
    // Compilers of version 3 leave the size in the descriptor 0.
    let size = match (raw.kernarg_size, stated.kernarg_size) {
        (own, None) => own,
        (0, Some(stated)) => stated,
        (own, Some(stated)) if own == stated => own,
        (own, Some(stated)) => return Err(differs("bytes of arguments", own, stated)),
    };
    // A sum that saturates is larger than any size, so the argument is refused.
    let end = |arg: &super::KernelArg| arg.offset.saturating_add(arg.size);
    match stated.args.iter().find(|arg| end(arg) > size) {
        Some(arg) => Err(format!(
            "an argument at offset {} reaches beyond the {size} bytes of arguments",
            arg.offset
        )),
        None => Ok(size),
    }
}
