//! Code sections of a code object, and the part of a section that is the code of a kernel.
//!
//! All kernels and functions of a linked file are in one section. The code of a kernel is its own function if no
//! instruction there can leave it other than by a branch with a constant distance; else it is the section, with all
//! functions. Branches out of the code are no targets for those who decode it, so the choice loses nothing silently.

use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::{CodeAddr, Diagnostic};

use crate::elf::{Elf, RawRelocation, Section, SymbolLocation, fault};
use crate::kernel::Function;

/// Flag of sections that hold code (ELF, `SHF_EXECINSTR`).
const SHF_EXECINSTR: u64 = 4;

/// Relocations that receive a half of the distance from their field to a symbol (LLVM, `R_AMDGPU_REL32_LO`, `_HI`).
const DISTANCE_LOW: u32 = 10;
const DISTANCE_HIGH: u32 = 11;
/// The same without a half: 32 bits (`R_AMDGPU_REL32`).
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
    /// Functions by address, one for each address.
    functions: Arc<[Function]>,
    /// Places that end a function: its own end is the first of them after its start.
    starts: Vec<u32>,
    /// Offsets of words that may be instructions whose target is in a register.
    leaving: Vec<u32>,
    /// Offsets of fields that a linker has not written.
    missing: Vec<(u32, Arc<str>)>,
}

/// A function before the sections are complete.
pub(super) struct FunctionPlace {
    pub(super) name: Arc<str>,
    /// Address of the symbol, relative to the section: where the function before it ends.
    pub(super) symbol: u32,
    /// Address of the first instruction, relative to the section.
    pub(super) start: u32,
    /// Bytes from the first instruction on; 0 if the file does not state them.
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
    /// Reads a section; `functions` are those in it.
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

    /// Whether an address of the loaded file is in the section; its offset.
    pub(super) fn offset_of(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.address)?;
        let is_inside = offset < self.bytes.len() as u64;
        u32::try_from(offset).ok().filter(|_| is_inside)
    }

    /// The code of the kernel that begins at an offset and is called `name`.
    pub(super) fn kernel_code(&self, name: &Arc<str>, entry: u32) -> Result<KernelCode, String> {
        let end = self.bytes.len() as u64;
        let whole = u32::try_from(end).unwrap_or(u32::MAX);
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

/// Offsets of the words that may be instructions whose target is in a register, or that change the execution mask by a
/// stack: `s_setpc`, `s_swappc`, `s_rfe`, forks and joins. Literals that look like one are among them.
fn leaving_words(bytes: &[u8]) -> Vec<u32> {
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

/// Writes the distance to a symbol of the same section into a field, as a linker does; returns whether it is one.
fn link(elf: &Elf<'_>, index: usize, bytes: &mut [u8], relocation: &RawRelocation) -> bool {
    let symbol = elf.symbols.get(relocation.symbol);
    let Some(symbol) = symbol.filter(|s| s.location == SymbolLocation::Section(index)) else {
        return false;
    };
    let Some(addend) = relocation.addend else {
        return false;
    };
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
