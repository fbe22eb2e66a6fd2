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

    /// The value of an attribute of 8 or 16 bits.
    pub(crate) fn number(&self) -> Result<u16, Diagnostic> {
        match (self.format, self.payload.as_ref()) {
            (FORMAT_BYTE, &[value, _]) => Ok(value.into()),
            _ => self.half(),
        }
    }

    /// The value of a 16-bit attribute.
    pub(crate) fn half(&self) -> Result<u16, Diagnostic> {
        match (self.format, self.payload.as_ref()) {
            (2 | 3, &[low, high]) => Ok(u16::from_le_bytes([low, high])),
            _ => Err(self.fault("is not a 16-bit value")),
        }
    }
}

/// Format of records with a value of 8 bits, which take as many bytes as one of 16.
const FORMAT_BYTE: u8 = 2;

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
pub(crate) const CTA_PER_CLUSTER: u8 = 0x3d;
pub(crate) const MAX_CLUSTER_RANK: u8 = 0x3f;
pub(crate) const KPARAM_INFO_V2: u8 = 0x45;
pub(crate) const SYSCALL_OFFSETS: u8 = 0x46;
pub(crate) const NUM_BARRIERS: u8 = 0x4c;

/// Attribute numbers and names, from the lists of CuAssembler and denvdis and what `cuobjdump -elf` 12.4 and 13.5 print
/// for a record of each number.
const NAMES: [(u8, &str); 103] = [
    (0x00, "ERROR"),
    (0x01, "PAD"),
    (0x02, "IMAGE_SLOT"),
    (0x03, "JUMPTABLE_RELOCS"),
    (CTAIDZ_USED, "CTAIDZ_USED"),
    (MAX_THREADS, "MAX_THREADS"),
    (0x06, "IMAGE_OFFSET"),
    (0x07, "IMAGE_SIZE"),
    (0x08, "TEXTURE_NORMALIZED"),
    (0x09, "SAMPLER_INIT"),
    (PARAM_CBANK, "PARAM_CBANK"),
    (0x0b, "SMEM_PARAM_OFFSETS"),
    (0x0c, "CBANK_PARAM_OFFSETS"),
    (0x0d, "SYNC_STACK"),
    (0x0e, "TEXID_SAMPID_MAP"),
    (EXTERNS, "EXTERNS"),
    (REQNTID, "REQNTID"),
    (FRAME_SIZE, "FRAME_SIZE"),
    (MIN_STACK_SIZE, "MIN_STACK_SIZE"),
    (0x13, "SAMPLER_FORCE_UNNORMALIZED"),
    (0x14, "BINDLESS_IMAGE_OFFSETS"),
    (0x15, "BINDLESS_TEXTURE_BANK"),
    (0x16, "BINDLESS_SURFACE_BANK"),
    (KPARAM_INFO, "KPARAM_INFO"),
    (0x18, "SMEM_PARAM_SIZE"),
    (CBANK_PARAM_SIZE, "CBANK_PARAM_SIZE"),
    (0x1a, "QUERY_NUMATTRIB"),
    (MAXREG_COUNT, "MAXREG_COUNT"),
    (EXIT_INSTR_OFFSETS, "EXIT_INSTR_OFFSETS"),
    (S2RCTAID_INSTR_OFFSETS, "S2RCTAID_INSTR_OFFSETS"),
    (CRS_STACK_SIZE, "CRS_STACK_SIZE"),
    (0x1f, "NEED_CNP_WRAPPER"),
    (0x20, "NEED_CNP_PATCH"),
    (0x21, "EXPLICIT_CACHING"),
    (0x22, "ISTYPEP_USED"),
    (MAX_STACK_SIZE, "MAX_STACK_SIZE"),
    (0x24, "SUQ_USED"),
    (0x25, "LD_CACHEMOD_INSTR_OFFSETS"),
    (0x26, "LOAD_CACHE_REQUEST"),
    (0x27, "ATOM_SYS_INSTR_OFFSETS"),
    (0x28, "COOP_GROUP_INSTR_OFFSETS"),
    (0x29, "COOP_GROUP_MASK_REGIDS"),
    (SW1850030_WAR, "SW1850030_WAR"),
    (0x2b, "WMMA_USED"),
    (0x2c, "HAS_PRE_V10_OBJECT"),
    (0x2d, "ATOMF16_EMUL_INSTR_OFFSETS"),
    (0x2e, "ATOM16_EMUL_INSTR_REG_MAP"),
    (REGCOUNT, "REGCOUNT"),
    (SW2393858_WAR, "SW2393858_WAR"),
    (0x31, "INT_WARP_WIDE_INSTR_OFFSETS"),
    (0x32, "SHARED_SCRATCH"),
    (0x33, "STATISTICS"),
    (INDIRECT_BRANCH_TARGETS, "INDIRECT_BRANCH_TARGETS"),
    (0x35, "SW2861232_WAR"),
    (0x36, "SW_WAR"),
    (CUDA_API_VERSION, "CUDA_API_VERSION"),
    (0x38, "NUM_MBARRIERS"),
    (0x39, "MBARRIER_INSTR_OFFSETS"),
    (0x3a, "COROUTINE_RESUME_ID_OFFSETS"),
    (0x3b, "SAM_REGION_STACK_SIZE"),
    (0x3c, "PER_REG_TARGET_PERF_STATS"),
    (CTA_PER_CLUSTER, "CTA_PER_CLUSTER"),
    (0x3e, "EXPLICIT_CLUSTER"),
    (MAX_CLUSTER_RANK, "MAX_CLUSTER_RANK"),
    (0x40, "INSTR_REG_MAP"),
    (0x41, "RESERVED_SMEM_USED"),
    (0x42, "RESERVED_SMEM_0_SIZE"),
    (0x43, "UCODE_SECTION_DATA"),
    (0x44, "UNUSED_LOAD_BYTE_OFFSET"),
    (KPARAM_INFO_V2, "KPARAM_INFO_V2"),
    (SYSCALL_OFFSETS, "SYSCALL_OFFSETS"),
    (0x48, "GRAPHICS_GLOBAL_CBANK"),
    (0x49, "SHADER_TYPE"),
    (0x4a, "VRC_CTA_INIT_COUNT"),
    (0x4b, "TOOLS_PATCH_FUNC"),
    (NUM_BARRIERS, "NUM_BARRIERS"),
    (0x4d, "TEXMODE_INDEPENDENT"),
    (0x4e, "PERF_STATISTICS"),
    (0x4f, "AT_ENTRY_FRAGMENTS"),
    (0x50, "SPARSE_MMA_MASK"),
    (0x51, "TCGEN05_1CTA_USED"),
    (0x52, "TCGEN05_2CTA_USED"),
    (0x53, "GEN_ERRBAR_AT_EXIT"),
    (0x54, "REG_RECONFIG"),
    (0x55, "ANNOTATIONS"),
    (0x57, "STACK_CANARY_TRAP_OFFSETS"),
    (0x58, "STUB_FUNCTION_KIND"),
    (0x59, "LOCAL_CTA_ASYNC_STORE_OFFSETS"),
    (0x5b, "BLOCKS_ARE_CLUSTERS"),
    (0x5c, "SANITIZE"),
    (0x5d, "SYSCALLS_FALLBACK"),
    (0x5e, "CUDA_REQ"),
    (0x61, "RTCORE_ENTRY"),
    (0x62, "CLUSTER_LAUNCH_CONTROL_USED"),
    (0x64, "MIN_PER_CTA_MEMORY_SIZE"),
    (0x65, "IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS"),
    (0x66, "LANGUAGE"),
    (0x68, "GRID_ATTRIBUTES"),
    (0x69, "STACK_OFFSET"),
    (0x6a, "RT_LIVESTATE_SASS_MAP"),
    (0x6b, "NVSAL_SW_WAR"),
    (0x6c, "INSTR_OFFSETS"),
    (0x6d, "PREEXIT_USED"),
];
