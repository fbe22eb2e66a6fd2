//! Largest sizes of a launch, by family of GPUs.

use crate::{Family, Isa};

/// Largest sizes of a launch, in x, y, z.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeLimits {
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a grid.
    pub grid: [u32; 3],
}

impl SizeLimits {
    /// Limits of CUDA (CUDA C++ Programming Guide, technical specifications per compute capability).
    pub const CUDA: SizeLimits = SizeLimits {
        block: [1024, 1024, 64],
        grid: [i32::MAX as u32, u16::MAX as u32, u16::MAX as u32],
    };

    /// Limits of HSA: groups have at most 1024 work-items in the hardware; grids have 32 bits in work-items.
    pub const HSA: SizeLimits = SizeLimits {
        block: [1024; 3],
        grid: [u32::MAX; 3],
    };

    /// Returns the limits of the machines of a family.
    pub fn of(family: Family) -> SizeLimits {
        match family {
            // Mini-SIMT has no index of a thread or block that these limits are about.
            Family::Maxwell | Family::Volta | Family::MiniSimt => SizeLimits::CUDA,
            Family::Gcn3 => SizeLimits::HSA,
        }
    }

    /// Returns the limits of the machines that execute an instruction set. If its family is unknown, the limits of CUDA
    /// hold, which all GPUs of NVIDIA share.
    pub fn of_isa(isa: Isa) -> SizeLimits {
        isa.family().map(SizeLimits::of).unwrap_or_default()
    }
}

impl Default for SizeLimits {
    fn default() -> SizeLimits {
        SizeLimits::CUDA
    }
}
