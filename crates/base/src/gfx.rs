//! Instruction sets of AMD's GPUs.

use std::fmt;
use std::str::FromStr;

use crate::{Diagnostic, Family};

/// Instruction set of an AMD GPU, by LLVM's name of the target: `gfx803`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Gfx(&'static str);

/// Targets by their number in bits 7:0 of the ELF flags (LLVM, "User Guide for AMDGPU Backend", `EF_AMDGPU_MACH`).
const TARGETS: [(u8, &str); 55] = [
    (0x20, "gfx600"),
    (0x21, "gfx601"),
    (0x22, "gfx700"),
    (0x23, "gfx701"),
    (0x24, "gfx702"),
    (0x25, "gfx703"),
    (0x26, "gfx704"),
    (0x28, "gfx801"),
    (0x29, "gfx802"),
    (0x2a, "gfx803"),
    (0x2b, "gfx810"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3a, "gfx602"),
    (0x3b, "gfx705"),
    (0x3c, "gfx805"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x49, "gfx1250"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"),
    (0x5f, "gfx9-4-generic"),
];

impl Gfx {
    /// GCN 3: the only target whose kernels can be read.
    pub const GFX803: Gfx = Gfx("gfx803");

    /// Target that stands for any name in an offload bundle that this crate does not know.
    pub const UNKNOWN: Gfx = Gfx("unknown-gfx");

    /// Family of the target; `None` if its kernels cannot be read.
    pub fn family(self) -> Option<Family> {
        (self == Gfx::GFX803).then_some(Family::Gcn3)
    }

    /// Refuses an unsupported target.
    ///
    /// # Errors
    ///
    /// A diagnostic with the names of the target and of the supported one.
    pub fn check_supported(self) -> Result<(), Diagnostic> {
        match self.family().is_some() {
            true => Ok(()),
            false => Err(Diagnostic::new(format!(
                "{self} is not supported ({} is)",
                Gfx::GFX803
            ))),
        }
    }

    /// Target with a number in the ELF flags.
    pub fn from_number(number: u8) -> Option<Gfx> {
        let target = TARGETS.iter().find(|(known, _)| *known == number);
        target.map(|(_, name)| Gfx(name))
    }
}

impl FromStr for Gfx {
    type Err = String;

    /// Reads `gfx803`.
    fn from_str(text: &str) -> Result<Gfx, String> {
        let target = TARGETS.iter().find(|(_, name)| *name == text);
        let target = target.map(|(_, name)| Gfx(name));
        target.ok_or_else(|| format!("{text:?} is no AMD target like gfx803"))
    }
}

impl fmt::Display for Gfx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
