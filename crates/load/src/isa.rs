use std::fmt;

use warpbound_base::Diagnostic;

use crate::gfx::Gfx;
use crate::sm::Sm;

/// The instruction set of machine code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Isa {
    /// An NVIDIA GPU.
    Sm(Sm),
    /// An AMD GPU.
    Gfx(Gfx),
    /// Text for the mini-SIMT machine.
    MiniSimt,
}

impl Isa {
    /// Whether kernels of this instruction set can be read.
    pub fn is_supported(self) -> bool {
        match self {
            Isa::Sm(sm) => sm.is_supported(),
            Isa::Gfx(gfx) => gfx.is_supported(),
            Isa::MiniSimt => true,
        }
    }

    /// Refuses an unsupported instruction set; the diagnostic names it.
    pub(crate) fn check_supported(self) -> Result<(), Diagnostic> {
        match self {
            Isa::Sm(sm) => sm.check_supported(),
            Isa::Gfx(gfx) => gfx.check_supported(),
            Isa::MiniSimt => Ok(()),
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Isa::Sm(sm) => sm.fmt(f),
            Isa::Gfx(gfx) => gfx.fmt(f),
            Isa::MiniSimt => f.write_str("mini-SIMT"),
        }
    }
}
