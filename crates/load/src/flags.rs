//! ELF flags of cubins: the architecture of the code. For example, version 7 of the ABI has its number in bits 7:0.

use warpbound_base::{Diagnostic, Sm, SmReach};

use crate::elf::{Header, fault};

/// Decodes the architecture from the ELF flags. The ABI version determines the layout of the flags (experiment: NVRTC
/// 12.9 and 13.5 output). For example, version 7 has 0x3d (61) in bits 7:0 for architecture 61, and version 8 has the number
/// in bits 15:8. Bit 11 of version 7 has two meanings: on older architectures, nvdisasm calls it `EF_CUDA_SW_1729687`,
/// and NVIDIA's assembler sets it; from sm_90 on it marks accelerators. CUDA 13 marks accelerators elsewhere, see
/// [`crate::compat::architecture`].
pub(crate) fn architecture(header: &Header) -> Result<Sm, Diagnostic> {
    let flags = header.flags;
    let [low, second, ..] = flags.to_le_bytes();
    let (number, has_accelerators) = match header.abi_version {
        ABI_OF_CUDA_12 => (low, flags & 0x800 != 0 && Sm::of(low).may_have_suffix()),
        ABI_OF_CUDA_13 => (second, flags & 0x8 != 0),
        other => {
            return Err(fault(
                8,
                format!("ABI version {other} is not known (7 and 8 are)"),
            ));
        }
    };
    let reach = match has_accelerators {
        true => SmReach::Alone,
        false => SmReach::Generation,
    };
    Ok(Sm { number, reach })
}

/// ABI version of cubins by CUDA 12 and earlier, apart from those for sm_100 and later.
pub(crate) const ABI_OF_CUDA_12: u8 = 7;

/// ABI version of other cubins.
pub(crate) const ABI_OF_CUDA_13: u8 = 8;
