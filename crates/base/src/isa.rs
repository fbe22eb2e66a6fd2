//! Instruction sets of the files that can be loaded. For example, `gfx803` names one; mini-SIMT text has no
//! architectures.

use std::fmt;
use std::str::FromStr;

use crate::{Diagnostic, Family, Gfx, LaunchBlock, Sm};

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
    /// Family of the machines that execute it; `None` if kernels of this instruction set cannot be read.
    pub fn family(self) -> Option<Family> {
        match self {
            Isa::Sm(sm) => sm.family(),
            Isa::Gfx(gfx) => gfx.family(),
            Isa::MiniSimt => Some(Family::MiniSimt),
        }
    }

    /// Layout of the launch block in bank 0 for an architecture of NVIDIA; `None` for others.
    pub fn launch_block(self) -> Option<&'static LaunchBlock> {
        match self {
            Isa::Sm(sm) => Some(LaunchBlock::of(sm)),
            Isa::Gfx(_) | Isa::MiniSimt => None,
        }
    }

    /// Bytes at the beginning of the shared memory of a block that the system keeps for itself (experiments with compilers).
    pub fn reserved_shared(self) -> u32 {
        match self {
            Isa::Sm(sm) if sm.number >= 90 => 0x400,
            Isa::Sm(_) | Isa::Gfx(_) | Isa::MiniSimt => 0,
        }
    }

    /// Whether kernels of this instruction set are analysed.
    pub fn is_supported(self) -> bool {
        let facts = self.family().map(Family::facts);
        match self {
            Isa::Sm(sm) => sm.is_supported(),
            Isa::Gfx(_) | Isa::MiniSimt => facts.is_some_and(|facts| facts.is_analysed),
        }
    }

    /// Whether the code is for GPUs of NVIDIA.
    pub fn is_of_nvidia(self) -> bool {
        matches!(self, Isa::Sm(_))
    }

    /// Whether the instructions of kernels are decoded, so that they can be listed.
    pub fn is_decoded(self) -> bool {
        self.family().is_some()
    }

    /// Whether the metadata of kernels can be read, even if their instructions cannot be decoded.
    pub fn has_readable_metadata(self) -> bool {
        match self {
            Isa::Sm(sm) => sm.facts().is_some(),
            Isa::Gfx(_) | Isa::MiniSimt => self.is_supported(),
        }
    }

    /// Refuses an unsupported instruction set.
    ///
    /// # Errors
    ///
    /// A diagnostic with the names of the instruction set and of the supported ones.
    pub fn check_supported(self) -> Result<(), Diagnostic> {
        match self {
            Isa::Sm(sm) => sm.check_supported(),
            Isa::Gfx(gfx) => gfx.check_supported(),
            Isa::MiniSimt => Ok(()),
        }
    }
}

impl Isa {
    /// Whether kernels of this instruction set are run.
    pub fn is_run(self) -> bool {
        let facts = self.family().map(Family::facts);
        self.is_supported() && facts.is_some_and(|facts| facts.is_run)
    }

    /// Refuses an instruction set whose kernels are not run.
    ///
    /// # Errors
    ///
    /// As [`Isa::check_supported`], or a diagnostic with the name of the family.
    pub fn check_run(self) -> Result<(), Diagnostic> {
        self.check_supported()?;
        self.family().map_or(Ok(()), Family::check_run)
    }

    /// Refuses an instruction set whose kernels are not timed.
    ///
    /// # Errors
    ///
    /// As [`Isa::check_run`], or a diagnostic with the name of the family.
    pub fn check_timed(self) -> Result<(), Diagnostic> {
        self.check_run()?;
        self.family().map_or(Ok(()), Family::check_timed)
    }

    /// Refuses an instruction set whose kernels are neither measured nor rewritten.
    ///
    /// # Errors
    ///
    /// As [`Isa::check_timed`], or a diagnostic with the name of the family.
    pub fn check_measured(self) -> Result<(), Diagnostic> {
        self.check_timed()?;
        self.family().map_or(Ok(()), Family::check_measured)
    }

    /// Instruction set whose code is used if a file has none for this one, see [`Sm::fallback`].
    pub fn fallback(self) -> Option<Isa> {
        match self {
            Isa::Sm(sm) => sm.fallback().map(Isa::Sm),
            Isa::Gfx(_) | Isa::MiniSimt => None,
        }
    }
}

impl FromStr for Isa {
    type Err = String;

    /// Reads the name of a GPU's instruction set: `gfx803`, or a number or name as [`Sm`] reads it.
    fn from_str(text: &str) -> Result<Isa, String> {
        // Architectures of NVIDIA may be given as a bare number, so only AMD's have a prefix to test.
        match text.starts_with("gfx") {
            true => text.parse().map(Isa::Gfx),
            false => text.parse().map(Isa::Sm),
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
