//! Code sections of a code object, and the part of a section that is the code of a kernel.
//!
//! All kernels and functions of a linked file are in one section. If every instruction of a kernel's function that
//! may leave it is a branch with a constant distance, the code of the kernel is that function alone; otherwise it is
//! the whole section, with all functions. Decoders report branches out of the code, so the choice loses nothing
//! silently. For example, a kernel that calls a function by `s_swappc_b64` gets the whole section.

use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::{CodeAddr, Diagnostic};

use crate::elf::{Elf, RawRelocation, Section, SymbolLocation, fault};
use crate::elf_numbers::SHF_EXECINSTR;
use crate::kernel::Function;

/// Relocations that write one half of the distance from their field to a symbol (LLVM, `R_AMDGPU_REL32_LO`, `_HI`).
const DISTANCE_LOW: u32 = 10;
const DISTANCE_HIGH: u32 = 11;
/// Relocation that writes this distance in 32 bits (`R_AMDGPU_REL32`).
const DISTANCE: u32 = 4;

/// Whether a section holds code.
pub(super) fn is_code(section: &Section<'_>) -> bool {
    section.flags & SHF_EXECINSTR != 0 && section.has_contents() && section.size > 0
}

/// A code section.
pub(super) struct CodeSection {
    /// Address of the first byte in the loaded file; 0 in a file that is not linked.
    pub(super) address: u64,
    /// Byte offset of the section in the file.
    pub(super) file_offset: u64,
    bytes: Bytes,
    /// Functions by address, one per address.
    functions: Arc<[Function]>,
    /// Offsets at which a function may end: it ends at the first of them after its start.
    starts: Vec<u32>,
    /// Offsets of words that may be instructions with a target in a register.
    leaving: Vec<u32>,
    /// Offsets of fields that a linker has not written.
    missing: Vec<(u32, Arc<str>)>,
}

/// A function before the sections are complete.
pub(super) struct FunctionPlace {
    pub(super) name: Arc<str>,
    /// Address of the symbol, relative to the section. The function before it ends here.
    pub(super) symbol: u32,
    /// Address of the first instruction, relative to the section.
    pub(super) start: u32,
    /// Size in bytes from the first instruction; 0 if the file does not state it.
    pub(super) size: u32,
}

/// The code of a kernel.
pub(super) struct KernelCode {
    pub(super) bytes: Bytes,
    /// Offset of the code in its section.
    pub(super) start: u32,
    /// First instruction, relative to the code.
    pub(super) entry: CodeAddr,
    pub(super) functions: Arc<[Function]>,
}

impl CodeSection {
    /// Reads a section that contains `functions`.
    pub(super) fn read(
        file: &Bytes,
        elf: &Elf<'_>,
        index: usize,
        relocations: &[RawRelocation],
        mut functions: Vec<FunctionPlace>,
    ) -> Result<CodeSection, Diagnostic> {
        let section = elf
            .sections
            .get(index)
            .ok_or_else(|| fault(0, "a code section does not exist"))?;
        let contents = elf.contents(section)?;
        if u32::try_from(contents.len()).is_err() {
            return Err(fault(section.offset, "code of more than 4 GiB"));
        }
        let mut bytes = file.slice_ref(contents);
        let mut missing = Vec::new();
        if !relocations.is_empty() {
            let mut linked = contents.to_vec();
            for relocation in relocations {
                if !link(elf, index, &mut linked, relocation) {
                    let symbol = elf.symbols.get(relocation.symbol);
                    let name = symbol.map_or_else(|| Arc::from("?"), |s| Arc::clone(&s.name));
                    // Only a kernel whose code has the field is refused; other code of the section does not need it.
                    missing.push((u32::try_from(relocation.at).unwrap_or(u32::MAX), name));
                }
            }
            bytes = linked.into();
        }
        missing.sort();
        functions.sort_by(|a, b| (a.start, a.symbol, &a.name).cmp(&(b.start, b.symbol, &b.name)));
        let mut starts: Vec<u32> = functions.iter().map(|function| function.symbol).collect();
        starts.sort_unstable();
        starts.dedup();
        // Aliases share an address. The sort put the names in order, so the one that is kept does not depend on the
        // symbol table.
        functions.dedup_by_key(|function| function.start);
        let functions = functions.into_iter().map(|function| Function {
            name: function.name,
            start: CodeAddr(function.start),
            size: function.size,
            frame_size: None,
        });
        Ok(CodeSection {
            address: section.address,
            file_offset: section.offset,
            leaving: leaving_words(&bytes),
            bytes,
            functions: functions.collect(),
            starts,
            missing,
        })
    }

    /// Offset in the section of an address of the loaded file; `None` if it is outside.
    pub(super) fn offset_of(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.address)?;
        let is_inside = offset < self.bytes.len() as u64;
        u32::try_from(offset).ok().filter(|_| is_inside)
    }

    /// Code of the kernel `name`, which begins at the offset `entry`.
    pub(super) fn kernel_code(&self, name: &Arc<str>, entry: u32) -> Result<KernelCode, String> {
        let end = self.bytes.len() as u64;
        let whole = u32::try_from(end).unwrap_or(u32::MAX);
        // The next symbol ends a function whose size the file does not state, and limits every other one.
        let next = self.starts.partition_point(|start| *start <= entry);
        let next = self.starts.get(next).copied().unwrap_or(whole);
        let index = self
            .functions
            .binary_search_by_key(&entry, |function| function.start.0);
        let stated = index.ok().and_then(|index| self.functions.get(index));
        let size = stated.map_or(0, |function| function.size);
        let own_end = match size {
            0 => next,
            size => entry.saturating_add(size),
        };
        let stays = |from: u32, to: u32| {
            let first = self.leaving.partition_point(|at| *at < from);
            self.leaving.get(first).is_none_or(|at| *at >= to)
        };
        // If the stated size passes the next symbol, two functions share code, and only the whole section has all of
        // it.
        let is_own = own_end <= next && stays(entry, own_end);
        let (start, end) = if is_own { (entry, own_end) } else { (0, whole) };
        let first = self.missing.partition_point(|(at, _)| *at < start);
        if let Some((at, symbol)) = self.missing.get(first).filter(|(at, _)| *at < end) {
            return Err(format!(
                "the code at 0x{at:x} of its section needs the address of {symbol}: link the file first, e.g. with `ld.lld -shared`"
            ));
        }
        let functions = match is_own {
            true => Arc::from([Function {
                name: Arc::clone(name),
                start: CodeAddr(0),
                size: own_end - entry,
                frame_size: None,
            }]),
            false => Arc::clone(&self.functions),
        };
        let range = start as usize..end as usize;
        Ok(KernelCode {
            bytes: self.bytes.slice(range),
            start,
            entry: CodeAddr(entry - start),
            functions,
        })
    }
}

/// Offsets of the words that may be instructions with a target in a register, or that change the execution mask by a
/// stack: `s_setpc`, `s_swappc`, `s_rfe`, forks and joins. A literal with the bits of one is also listed, which is
/// safe: the kernel then gets more code, not less.
fn leaving_words(bytes: &[u8]) -> Vec<u32> {
    // Each word is tested, because only decoding from an entry could separate instructions from literals.
    let leaves = |word: u32| match word >> 23 {
        // SOP1: operation in bits 15:8.
        0b1_0111_1101 => matches!(word >> 8 & 0xff, 29 | 30 | 31 | 46),
        // SOPK `s_cbranch_i_fork`, SOP2 `s_cbranch_g_fork` and `s_rfe_restore_b64`: operation in bits 27:23 and 29:23.
        key => key == 0b1011 << 5 | 16 || key == 0b10 << 7 | 41 || key == 0b10 << 7 | 43,
    };
    let words = bytes.chunks_exact(4).zip((0u32..).step_by(4));
    words
        .filter(|(word, _)| {
            let word = word
                .first_chunk()
                .map_or(0, |word| u32::from_le_bytes(*word));
            leaves(word)
        })
        .map(|(_, at)| at)
        .collect()
}

/// Writes the distance to a symbol of the same section into a field, as a linker does. Returns false for any other
/// relocation.
fn link(elf: &Elf<'_>, index: usize, bytes: &mut [u8], relocation: &RawRelocation) -> bool {
    let symbol = elf.symbols.get(relocation.symbol);
    let Some(symbol) = symbol.filter(|s| s.location == SymbolLocation::Section(index)) else {
        return false;
    };
    let Some(addend) = relocation.addend else {
        return false;
    };
    // Distances are modulo 2⁶⁴, as in the linker: a backward call has a negative one.
    let target = symbol.value.wrapping_add_signed(addend);
    let distance = target.wrapping_sub(relocation.at);
    let [a, b, c, d, e, f, g, h] = distance.to_le_bytes();
    let word = match relocation.number {
        DISTANCE | DISTANCE_LOW => [a, b, c, d],
        DISTANCE_HIGH => [e, f, g, h],
        _ => return false,
    };
    let field = usize::try_from(relocation.at)
        .ok()
        .and_then(|at| bytes.get_mut(at..)?.first_chunk_mut());
    field.map(|field| *field = word).is_some()
}
