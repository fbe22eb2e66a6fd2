//! Records of `.nv.info` sections. Addresses of instructions in them move with the code.
//!
//! For example, the record `04 1c 08 00 | 48 00 00 00 | 88 00 00 00` (format 4, attribute 0x1c, 8 bytes) says that
//! the kernel exits at 0x48 and 0x88. A record whose attribute is unknown may hold addresses as well, so the kernel
//! is refused.

use std::ops::Range;

use warpbound_base::{CodeAddr, Diagnostic};

use super::tables::ListedBranch;
use crate::code::{Assembled, CodeMap};
use crate::elf::{Fields, fault};

/// Kind of value of an attribute, as far as addresses of code are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Contents {
    /// No addresses.
    Plain,
    /// List of addresses of instructions.
    Addresses,
    /// Records of an instruction, a kind, a count and as many targets.
    Branches,
    /// Places of instructions for tools, in an unknown layout. The loader needs none of them, so the record is left
    /// out.
    Informs,
}

/// Attributes by number. Sources of the names and meanings: the lists of CuAssembler and denvdis, and `cuobjdump
/// -elf`.
const CONTENTS: [(u8, Contents); 67] = [
    (0x01, Contents::Plain),     // PAD
    (0x04, Contents::Plain),     // CTAIDZ_USED
    (0x05, Contents::Plain),     // MAX_THREADS
    (0x08, Contents::Plain),     // TEXTURE_NORMALIZED
    (0x09, Contents::Plain),     // SAMPLER_INIT
    (0x0a, Contents::Plain),     // PARAM_CBANK
    (0x0b, Contents::Plain),     // SMEM_PARAM_OFFSETS
    (0x0c, Contents::Plain),     // CBANK_PARAM_OFFSETS
    (0x0d, Contents::Plain),     // SYNC_STACK
    (0x0e, Contents::Plain),     // TEXID_SAMPID_MAP
    (0x0f, Contents::Plain),     // EXTERNS
    (0x10, Contents::Plain),     // REQNTID
    (0x11, Contents::Plain),     // FRAME_SIZE
    (0x12, Contents::Plain),     // MIN_STACK_SIZE
    (0x13, Contents::Plain),     // SAMPLER_FORCE_UNNORMALIZED
    (0x15, Contents::Plain),     // BINDLESS_TEXTURE_BANK
    (0x16, Contents::Plain),     // BINDLESS_SURFACE_BANK
    (0x17, Contents::Plain),     // KPARAM_INFO
    (0x18, Contents::Plain),     // SMEM_PARAM_SIZE
    (0x19, Contents::Plain),     // CBANK_PARAM_SIZE
    (0x1a, Contents::Plain),     // QUERY_NUMATTRIB
    (0x1b, Contents::Plain),     // MAXREG_COUNT
    (0x1c, Contents::Addresses), // EXIT_INSTR_OFFSETS
    (0x1d, Contents::Addresses), // S2RCTAID_INSTR_OFFSETS
    (0x1e, Contents::Plain),     // CRS_STACK_SIZE
    (0x1f, Contents::Plain),     // NEED_CNP_WRAPPER
    (0x20, Contents::Plain),     // NEED_CNP_PATCH
    (0x21, Contents::Plain),     // EXPLICIT_CACHING
    (0x22, Contents::Plain),     // ISTYPEP_USED
    (0x23, Contents::Plain),     // MAX_STACK_SIZE
    (0x24, Contents::Plain),     // SUQ_USED
    (0x25, Contents::Addresses), // LD_CACHEMOD_INSTR_OFFSETS
    (0x26, Contents::Plain),     // LOAD_CACHE_REQUEST
    (0x27, Contents::Addresses), // ATOM_SYS_INSTR_OFFSETS
    (0x28, Contents::Addresses), // COOP_GROUP_INSTR_OFFSETS
    (0x29, Contents::Plain),     // COOP_GROUP_MASK_REGIDS
    (0x2a, Contents::Plain),     // SW1850030_WAR
    (0x2b, Contents::Plain),     // WMMA_USED
    (0x2c, Contents::Plain),     // HAS_PRE_V10_OBJECT
    (0x2f, Contents::Plain),     // REGCOUNT
    (0x30, Contents::Plain),     // SW2393858_WAR
    (0x31, Contents::Addresses), // INT_WARP_WIDE_INSTR_OFFSETS
    (0x32, Contents::Plain),     // SHARED_SCRATCH
    (0x33, Contents::Informs),   // STATISTICS
    (0x34, Contents::Branches),  // INDIRECT_BRANCH_TARGETS
    (0x35, Contents::Plain),     // SW2861232_WAR
    (0x36, Contents::Plain),     // SW_WAR
    (0x37, Contents::Plain),     // CUDA_API_VERSION
    (0x38, Contents::Plain),     // NUM_MBARRIERS
    (0x39, Contents::Addresses), // MBARRIER_INSTR_OFFSETS
    (0x3b, Contents::Plain),     // SAM_REGION_STACK_SIZE
    (0x3c, Contents::Informs),   // PER_REG_TARGET_PERF_STATS
    (0x3d, Contents::Plain),     // CTA_PER_CLUSTER
    (0x3e, Contents::Plain),     // EXPLICIT_CLUSTER
    (0x3f, Contents::Plain),     // MAX_CLUSTER_RANK
    (0x41, Contents::Plain),     // RESERVED_SMEM_USED
    (0x42, Contents::Plain),     // RESERVED_SMEM_0_SIZE
    (0x44, Contents::Informs),   // UNUSED_LOAD_BYTE_OFFSET
    (0x45, Contents::Plain),     // KPARAM_INFO_V2
    (0x46, Contents::Addresses), // SYSCALL_OFFSETS
    (0x47, Contents::Addresses), // SW_WAR_MEMBAR_SYS_INSTR_OFFSETS
    (0x48, Contents::Plain),     // GRAPHICS_GLOBAL_CBANK
    (0x49, Contents::Plain),     // SHADER_TYPE
    (0x4c, Contents::Plain),     // NUM_BARRIERS
    (0x4d, Contents::Plain),     // TEXMODE_INDEPENDENT
    (0x4e, Contents::Informs),   // PERF_STATISTICS
    (0x55, Contents::Informs),   // ANNOTATIONS
];

/// Attributes of register counts, exits, reads of the block's index, and indirect branches.
const REGCOUNT: u8 = 0x2f;
const EXITS: u8 = 0x1c;
const BLOCK_INDICES: u8 = 0x1d;
const INDIRECT_BRANCHES: u8 = 0x34;

/// One record in a section.
struct Record {
    number: u8,
    /// Offset of the record.
    at: usize,
    /// Offset and length of the value.
    start: usize,
    length: usize,
}

impl Record {
    /// Bytes of the record.
    fn range(&self) -> Range<usize> {
        self.at..self.start + self.length
    }
}

/// Splits a section into its records; `offset` is the place of the section in the file, for diagnostics.
fn records(data: &[u8], offset: u64) -> Result<Vec<Record>, Diagnostic> {
    let mut records = Vec::new();
    let mut at = 0;
    while let Some(&[format, number, low, high]) = data.get(at..).and_then(<[u8]>::first_chunk) {
        let (start, length) = match format {
            // The value is in the record's head: these formats have no length.
            1..=3 => (at + 2, 2),
            4 => (at + 4, usize::from(u16::from_le_bytes([low, high]))),
            _ => {
                // Without the length of this record, the next one cannot be found.
                let message = format!("attribute 0x{number:02x} has the unknown format {format}");
                return Err(fault(offset.saturating_add(at as u64), message));
            }
        };
        records.push(Record {
            number,
            at,
            start,
            length,
        });
        at = start + length;
    }
    // The last record may claim more bytes than there are.
    if at == data.len() {
        Ok(records)
    } else {
        let at = offset.saturating_add(at as u64);
        Err(fault(at, "an attribute record is cut short"))
    }
}

/// Moves the addresses in the attributes of a kernel.
///
/// # Errors
///
/// For an unknown attribute, which may hold addresses, and for an address that is no instruction.
pub(super) fn move_addresses(
    data: &mut Vec<u8>,
    offset: u64,
    map: &CodeMap,
) -> Result<(), Diagnostic> {
    let mut left_out = Vec::new();
    for record in records(data, offset)? {
        let number = record.number;
        let at = offset.saturating_add(record.start as u64);
        let contents = CONTENTS.iter().find(|(known, _)| *known == number);
        let contents = contents.map(|(_, contents)| *contents).ok_or_else(|| {
            fault(
                at,
                format!("attribute 0x{number:02x} is not known: it may hold addresses of code"),
            )
        })?;
        let value = data
            .get_mut(record.start..record.start + record.length)
            .unwrap_or_default();
        let (words, rest) = value.as_chunks_mut::<4>();
        let has_addresses = matches!(contents, Contents::Addresses | Contents::Branches);
        if has_addresses && !rest.is_empty() {
            let message = format!("attribute 0x{number:02x} is not a list of words");
            return Err(fault(at, message));
        }
        match contents {
            // Sizes and settings hold for the moved code as well.
            Contents::Plain => {}
            Contents::Addresses => {
                for word in words {
                    move_word(word, |old| map.instr(old), at, number)?;
                }
            }
            Contents::Branches => move_branches(words, map, at)?,
            Contents::Informs => left_out.push(record),
        }
    }
    // From the last one on, because each removal shifts the records after it.
    for record in left_out.iter().rev() {
        data.drain(record.range());
    }
    Ok(())
}

/// Moves an address.
fn move_word(
    word: &mut [u8; 4],
    new: impl Fn(CodeAddr) -> Option<CodeAddr>,
    at: u64,
    number: u8,
) -> Result<(), Diagnostic> {
    let old = CodeAddr(u32::from_le_bytes(*word));
    let moved = new(old).ok_or_else(|| {
        fault(
            at,
            format!("attribute 0x{number:02x}: {old} is not the address of an instruction"),
        )
    })?;
    *word = moved.0.to_le_bytes();
    Ok(())
}

/// Moves the addresses in records of indirect branches.
fn move_branches(words: &mut [[u8; 4]], map: &CodeMap, at: u64) -> Result<(), Diagnostic> {
    let mut rest = words;
    while !rest.is_empty() {
        let Some(([branch, _kind, count], tail)) = rest.split_first_chunk_mut::<3>() else {
            return Err(fault(at, "the last indirect branch is cut short"));
        };
        // The branch is named by its own address, but its targets are where jumps arrive, with the code inserted for
        // them.
        move_word(branch, |old| map.instr(old), at, INDIRECT_BRANCHES)?;
        let count = usize::try_from(u32::from_le_bytes(*count)).unwrap_or(usize::MAX);
        let Some((targets, tail)) = tail.split_at_mut_checked(count) else {
            return Err(fault(at, "an indirect branch has too few targets"));
        };
        for target in targets {
            move_word(target, |old| map.target(old), at, INDIRECT_BRANCHES)?;
        }
        rest = tail;
    }
    Ok(())
}

/// Adds the addresses of inserted instructions to the lists of a kernel's attributes.
pub(super) fn add_addresses(
    data: &mut Vec<u8>,
    offset: u64,
    assembled: &Assembled,
) -> Result<(), Diagnostic> {
    for (number, added) in [
        (EXITS, &assembled.exits),
        (BLOCK_INDICES, &assembled.block_indices),
    ] {
        if added.is_empty() {
            continue;
        }
        // Read again for each list, because the first splice may have shifted the records.
        let found = records(data, offset)?;
        let record = found.into_iter().find(|record| record.number == number);
        // The head of the record has 4 bytes: `move_addresses` has refused the short formats for these attributes.
        let (start, length) = record.map_or((data.len(), 0), |r| (r.start - 4, r.length + 4));
        let old = data.get(start + 4..start + length).unwrap_or_default();
        let (words, _) = old.as_chunks::<4>();
        let mut all: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        all.extend(added.iter().map(|address| address.0));
        all.sort_unstable();
        let size = u16::try_from(all.len() * 4)
            .map_err(|_| fault(offset, "a list of addresses is too long for its attribute"))?;
        let mut new = vec![4, number];
        new.extend(size.to_le_bytes());
        new.extend(all.iter().flat_map(|word| word.to_le_bytes()));
        data.splice(start..start + length, new);
    }
    Ok(())
}

/// Returns the indirect branches that a section of attributes lists, with their addresses.
pub(super) fn listed_branches(
    data: &[u8],
    offset: u64,
) -> Result<Vec<(CodeAddr, ListedBranch)>, Diagnostic> {
    let mut branches = Vec::new();
    for record in records(data, offset)? {
        if record.number != INDIRECT_BRANCHES {
            continue;
        }
        let value = data.get(record.start..record.start + record.length);
        let fields = Fields(value.unwrap_or_default());
        let mut at = 0;
        while let (Some(branch), Some(kind), Some(count)) =
            (fields.u32(at), fields.u32(at + 4), fields.u32(at + 8))
        {
            at += 12;
            let end = usize::try_from(count)
                .ok()
                .and_then(|n| at.checked_add(n.checked_mul(4)?));
            // A damaged count could reach into the next record.
            let end = end.filter(|end| *end <= record.length).ok_or_else(|| {
                fault(
                    offset,
                    "an indirect branch has more targets than its attribute",
                )
            })?;
            let targets = (at..end)
                .step_by(4)
                .filter_map(|at| fields.u32(at).map(CodeAddr));
            let listed = ListedBranch {
                is_call: kind == 1,
                targets: targets.collect(),
            };
            branches.push((CodeAddr(branch), listed));
            at = end;
        }
    }
    Ok(branches)
}

/// Sets the register count of a kernel in the attributes of the file.
pub(super) fn set_registers(
    data: &mut [u8],
    offset: u64,
    symbol: usize,
    registers: u8,
) -> Result<(), Diagnostic> {
    for record in records(data, offset)? {
        if record.number != REGCOUNT {
            continue;
        }
        let value = data.get_mut(record.start..record.start + record.length);
        // The value is the index of the kernel's symbol, then the count, four bytes each.
        if let Some([a, b, c, d, count @ ..]) = value
            && u32::from_le_bytes([*a, *b, *c, *d]) as usize == symbol
            && let Some(count) = count.first_chunk_mut::<4>()
        {
            *count = u32::from(registers).to_le_bytes();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u8, words: &[u32]) -> Vec<u8> {
        let mut bytes = vec![4, number, (4 * words.len()) as u8, 0];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    fn no_code() -> CodeMap {
        CodeMap {
            own: Vec::new(),
            entry: Vec::new(),
            boundary: vec![0],
            len: 0,
        }
    }

    #[test]
    fn a_record_that_only_informs_is_left_out() {
        let kept = [record(0x1e, &[0x600]), record(0x37, &[0x7b])];
        let informs = [record(0x44, &[0x28, 0x1]), record(0x33, &[7])];
        let mut data = [&kept[0], &informs[0], &kept[1], &informs[1]]
            .map(Vec::as_slice)
            .concat();
        move_addresses(&mut data, 0, &no_code()).expect("all are known");
        assert_eq!(data, kept.concat());
    }

    #[test]
    fn a_record_of_an_unknown_number_is_refused() {
        let mut data = record(0xee, &[0x28]);
        let refused = move_addresses(&mut data, 0, &no_code());
        assert!(refused.is_err_and(|why| why.to_string().contains("0xee")));
    }
}
