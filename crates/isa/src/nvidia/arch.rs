//! Architectures of Maxwell and Pascal. For example, sm_53 and sm_52 share one encoding, so both are [`Arch::Sm52`].

use crate::encoding::ArchSet;
use crate::encoding::span::Span;
use std::fmt;
use warpbound_base::Family;

/// Lanes of a warp of all NVIDIA GPUs (CUDA C Programming Guide, "SIMT Architecture").
pub const WARP_LANES: u32 = Family::Maxwell.lanes();

/// Instruction-set architecture: chips with the same encoding and timing classes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Arch {
    /// First Maxwell: sm_50.
    Sm50,
    /// Second Maxwell: sm_52 and sm_53, which share one encoding.
    Sm52,
    /// GP100: sm_60.
    Sm60,
    /// Other Pascal: sm_61 and sm_62, which share one encoding.
    Sm61,
}

impl Arch {
    /// Every architecture, oldest first.
    pub const ALL: [Arch; 4] = [Arch::Sm50, Arch::Sm52, Arch::Sm60, Arch::Sm61];

    /// Architecture of an SM number as recorded in binaries (`61` for sm_61); `None` for any
    /// number outside Maxwell and Pascal.
    pub fn from_sm(sm: u32) -> Option<Arch> {
        match sm {
            50 => Some(Arch::Sm50),
            52 | 53 => Some(Arch::Sm52),
            60 => Some(Arch::Sm60),
            61 | 62 => Some(Arch::Sm61),
            _ => None,
        }
    }

    /// SM number that names the architecture; the lower one if two chips share it.
    pub const fn sm(self) -> u32 {
        match self {
            Arch::Sm50 => 50,
            Arch::Sm52 => 52,
            Arch::Sm60 => 60,
            Arch::Sm61 => 61,
        }
    }

    /// Numbers of all architectures, by which the tables name them.
    pub(crate) const NUMBERS: [u32; Arch::ALL.len()] = {
        let mut numbers = [0; Arch::ALL.len()];
        let mut at = 0;
        while at < numbers.len() {
            numbers[at] = Arch::ALL[at].sm();
            at += 1;
        }
        numbers
    };

    /// Index in [`Arch::ALL`].
    pub(crate) const fn index(self) -> usize {
        match self {
            Arch::Sm50 => 0,
            Arch::Sm52 => 1,
            Arch::Sm60 => 2,
            Arch::Sm61 => 3,
        }
    }
}

/// Set of architectures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Archs(ArchSet);

impl Archs {
    /// Every architecture.
    pub(crate) const ALL: Archs = Archs(ArchSet::first(Arch::ALL.len()));

    /// Whether the set contains the architecture.
    pub(crate) const fn has(self, arch: Arch) -> bool {
        self.0.has(arch.index())
    }

    /// Parses `all`, `52+` (from sm_52 on) or a list `50,52`; `None` for anything else.
    pub(crate) const fn parse(file: &str, text: Span) -> Option<Archs> {
        match ArchSet::parse(file, text, &Arch::NUMBERS) {
            Some(set) => Some(Archs(set)),
            None => None,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.sm())
    }
}

#[cfg(test)]
mod tests {
    use super::Arch;

    #[test]
    fn chips_that_share_an_encoding_share_the_architecture() {
        assert_eq!(Arch::from_sm(53), Some(Arch::Sm52));
        assert_eq!(Arch::from_sm(62), Some(Arch::Sm61));
        assert_eq!(Arch::from_sm(70), None);
        assert_eq!(Arch::from_sm(51), None);
    }
}
