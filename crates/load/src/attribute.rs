//! Records of `.nv.info` sections ("EIATTR").
//!
//! A record is a format byte, an attribute number, and a value. For example, the bytes `04 1c 04 00 48 00 00 00` are
//! attribute 0x1c (`EXIT_INSTR_OFFSETS`) in format 4 with a payload of four bytes: one EXIT at 0x48. This module
//! splits records; `metadata` interprets them.

use bytes::Bytes;
use warpbound_base::Diagnostic;

use crate::elf::fault;

/// One attribute record as encoded in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// Attribute number, e.g. 0x1c for the exit instruction offsets.
    pub code: u8,
    /// Format byte: 1 for no value, 2 and 3 for a 16-bit value, 4 for a length and that number of bytes.
    pub format: u8,
    /// The value: two bytes for formats 1 to 3, the payload for format 4.
    pub payload: Bytes,
    /// Byte offset of the payload in the file.
    pub file_offset: u64,
}

impl Attribute {
    /// NVIDIA's name of the attribute, without its `EIATTR_` prefix, if known.
    pub fn name(&self) -> Option<&'static str> {
        NAMES
            .iter()
            .find(|(code, _)| *code == self.code)
            .map(|(_, name)| *name)
    }

    /// Returns a diagnostic located at this record.
    pub(crate) fn fault(&self, message: impl std::fmt::Display) -> Diagnostic {
        let name = match self.name() {
            Some(name) => format!("attribute {name}"),
            None => format!("attribute 0x{:02x}", self.code),
        };
        fault(self.file_offset, format!("{name}: {message}"))
    }

    /// The payload as a list of 32-bit words.
    pub(crate) fn words(&self) -> Result<Vec<u32>, Diagnostic> {
        let (words, rest) = self.payload.as_chunks::<4>();
        if self.format != FORMAT_SIZED || !rest.is_empty() {
            return Err(self.fault("is not a list of 32-bit words"));
        }
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// The payload as exactly `N` 32-bit words.
    pub(crate) fn exact_words<const N: usize>(&self) -> Result<[u32; N], Diagnostic> {
        let words = self.words()?;
        <[u32; N]>::try_from(words).map_err(|words| {
            self.fault(format_args!(
                "has {} 32-bit words, expected {N}",
                words.len()
            ))
        })
    }

    /// The value of a 16-bit attribute.
    pub(crate) fn half(&self) -> Result<u16, Diagnostic> {
        match (self.format, self.payload.as_ref()) {
            (2 | 3, &[low, high]) => Ok(u16::from_le_bytes([low, high])),
            _ => Err(self.fault("is not a 16-bit value")),
        }
    }
}

/// Format of records with a length.
const FORMAT_SIZED: u8 = 4;

/// Splits the contents of a `.nv.info` section into its records.
///
/// `file_offset` is the offset of the contents in the file.
pub(crate) fn parse_records(
    contents: &Bytes,
    file_offset: u64,
) -> Result<Vec<Attribute>, Diagnostic> {
    let mut records = Vec::new();
    let mut position = 0;
    while let Some(&[format, code, low, high]) =
        contents.get(position..).and_then(<[u8]>::first_chunk)
    {
        let here = file_offset.saturating_add(position as u64);
        // Format 1 has no value, but its record still has the two bytes of one.
        let (start, length) = match format {
            1..=3 => (position + 2, 2),
            FORMAT_SIZED => (position + 4, usize::from(u16::from_le_bytes([low, high]))),
            _ => {
                return Err(fault(
                    here,
                    format!("attribute 0x{code:02x} has the unknown format {format}"),
                ));
            }
        };
        // No overflow: `position` is at most the length of the contents, and `length` has 16 bits.
        let end = start + length;
        if end > contents.len() {
            return Err(fault(
                here,
                format!("attribute 0x{code:02x} of {length} bytes reaches beyond its section"),
            ));
        }
        // The payload shares the bytes of the file, so that no record needs a copy.
        records.push(Attribute {
            code,
            format,
            payload: contents.slice(start..end),
            file_offset: file_offset.saturating_add(start as u64),
        });
        position = end;
    }
    if position == contents.len() {
        Ok(records)
    } else {
        Err(fault(
            file_offset.saturating_add(position as u64),
            "an attribute record is cut short",
        ))
    }
}

pub(crate) const CTAIDZ_USED: u8 = 0x04;
pub(crate) const MAX_THREADS: u8 = 0x05;
pub(crate) const PARAM_CBANK: u8 = 0x0a;
pub(crate) const EXTERNS: u8 = 0x0f;
pub(crate) const REQNTID: u8 = 0x10;
pub(crate) const FRAME_SIZE: u8 = 0x11;
pub(crate) const MIN_STACK_SIZE: u8 = 0x12;
pub(crate) const KPARAM_INFO: u8 = 0x17;
pub(crate) const CBANK_PARAM_SIZE: u8 = 0x19;
pub(crate) const MAXREG_COUNT: u8 = 0x1b;
pub(crate) const EXIT_INSTR_OFFSETS: u8 = 0x1c;
pub(crate) const S2RCTAID_INSTR_OFFSETS: u8 = 0x1d;
pub(crate) const CRS_STACK_SIZE: u8 = 0x1e;
pub(crate) const MAX_STACK_SIZE: u8 = 0x23;
pub(crate) const SW1850030_WAR: u8 = 0x2a;
pub(crate) const REGCOUNT: u8 = 0x2f;
pub(crate) const SW2393858_WAR: u8 = 0x30;
pub(crate) const INDIRECT_BRANCH_TARGETS: u8 = 0x34;
pub(crate) const CUDA_API_VERSION: u8 = 0x37;
pub(crate) const SYSCALL_OFFSETS: u8 = 0x46;

/// Attribute numbers and names, from the lists of CuAssembler and denvdis and `cuobjdump -elf`.
const NAMES: [(u8, &str); 28] = [
    (CTAIDZ_USED, "CTAIDZ_USED"),
    (MAX_THREADS, "MAX_THREADS"),
    (PARAM_CBANK, "PARAM_CBANK"),
    (EXTERNS, "EXTERNS"),
    (REQNTID, "REQNTID"),
    (FRAME_SIZE, "FRAME_SIZE"),
    (MIN_STACK_SIZE, "MIN_STACK_SIZE"),
    (0x15, "BINDLESS_TEXTURE_BANK"),
    (0x16, "BINDLESS_SURFACE_BANK"),
    (KPARAM_INFO, "KPARAM_INFO"),
    (CBANK_PARAM_SIZE, "CBANK_PARAM_SIZE"),
    (MAXREG_COUNT, "MAXREG_COUNT"),
    (EXIT_INSTR_OFFSETS, "EXIT_INSTR_OFFSETS"),
    (S2RCTAID_INSTR_OFFSETS, "S2RCTAID_INSTR_OFFSETS"),
    (CRS_STACK_SIZE, "CRS_STACK_SIZE"),
    (MAX_STACK_SIZE, "MAX_STACK_SIZE"),
    (0x28, "COOP_GROUP_INSTR_OFFSETS"),
    (0x29, "COOP_GROUP_MASK_REGIDS"),
    (SW1850030_WAR, "SW1850030_WAR"),
    (REGCOUNT, "REGCOUNT"),
    (SW2393858_WAR, "SW2393858_WAR"),
    (0x31, "INT_WARP_WIDE_INSTR_OFFSETS"),
    (INDIRECT_BRANCH_TARGETS, "INDIRECT_BRANCH_TARGETS"),
    (0x36, "SW_WAR"),
    (CUDA_API_VERSION, "CUDA_API_VERSION"),
    (0x39, "MBARRIER_INSTR_OFFSETS"),
    (SYSCALL_OFFSETS, "SYSCALL_OFFSETS"),
    (0x4c, "NUM_BARRIERS"),
];
