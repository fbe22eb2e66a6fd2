//! Parsing of an [`Image`]: dispatch on the kind of the file.

use bytes::Bytes;
use warpbound_base::Diagnostic;
use warpbound_base::Sm;

use crate::assemble;
use crate::code_object;
use crate::container::{self, Magic};
use crate::elf::{Elf, Header, fault};
use crate::elf_numbers::EM_AMDGPU;
use crate::image::{Image, Linkage};
use crate::text;

impl Image {
    /// Reads a cubin, a code object or a mini-SIMT text.
    ///
    /// A cubin of an unsupported architecture gives only the list of kernels. A kernel with damaged or contradictory
    /// parts is refused, see [`Image::refused`].
    ///
    /// # Errors
    ///
    /// One line naming the file offset and the cause, for a file that is not a cubin, is damaged, or
    /// contradicts itself.
    pub fn parse(bytes: &[u8]) -> Result<Image, Diagnostic> {
        Image::from_bytes(Bytes::copy_from_slice(bytes))
    }

    /// [`Image::parse`] without a copy.
    pub(crate) fn from_bytes(file: Bytes) -> Result<Image, Diagnostic> {
        match container::recognize(&file)? {
            Magic::Elf => {}
            Magic::Text => return text::parse(&file),
            Magic::FatBinary | Magic::OffloadBundle | Magic::Archive => {
                return Err(fault(0, "this is not a single cubin"));
            }
        }
        let elf = Elf::parse(&file)?;
        if elf.header.machine == EM_AMDGPU {
            return code_object::assemble(&file, &elf);
        }
        let sm = architecture(&elf.header)?;
        let file_type = elf.header.file_type;
        let linkage = Linkage::of_file_type(file_type).ok_or_else(|| {
            let message =
                format!("ELF type {file_type} is neither an executable nor a relocatable cubin");
            fault(16, message)
        })?;
        assemble::assemble(&file, &elf, sm, linkage)
    }
}

/// The first architecture that has variants with accelerators (`sm_90a`).
const FIRST_WITH_ACCELERATORS: u8 = 90;

/// Decodes the architecture from the ELF flags. The ABI version determines the layout of the flags (experiment: NVRTC
/// 12.9 and CUDA 13 output). For example, version 7 has the number in bits 7:0, 0x3d for 61, and version 8 has it in
/// bits 15:8. Bit 11 of version 7 has two meanings: on older architectures, nvdisasm calls it `EF_CUDA_SW_1729687`, and
/// NVIDIA's assembler sets it; from sm_90 on it marks accelerators.
pub(crate) fn architecture(header: &Header) -> Result<Sm, Diagnostic> {
    let flags = header.flags;
    let [low, second, ..] = flags.to_le_bytes();
    match header.abi_version {
        7 => Ok(Sm {
            number: low,
            accelerators: flags & 0x800 != 0 && low >= FIRST_WITH_ACCELERATORS,
        }),
        8 => Ok(Sm {
            number: second,
            accelerators: flags & 0x8 != 0,
        }),
        other => Err(fault(
            8,
            format!("ABI version {other} is not known (7 and 8 are)"),
        )),
    }
}
