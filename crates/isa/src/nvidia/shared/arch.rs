//! Architectures of NVIDIA's GPUs. For example, sm_53 and sm_52 share one encoding, so both are [`Arch::Sm52`].

use std::fmt;

use warpbound_base::Family;

/// Lanes of a warp of all NVIDIA GPUs (CUDA C Programming Guide, "SIMT Architecture").
pub const WARP_LANES: u32 = Family::Maxwell.lanes();

/// Table of architectures: variant, number, family, and further numbers with the same encoding.
macro_rules! archs {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $family:ident, [$($same:literal)*];)+) => {
        /// Instruction-set architecture: chips with the same encoding and timing classes.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Arch {
            $($(#[$doc])* $variant,)+
        }

        impl Arch {
            /// Every architecture, oldest first.
            pub const ALL: &[Arch] = &[$(Arch::$variant),+];

            /// Architecture of an SM number as recorded in binaries (`61` for sm_61); `None` if no table has it.
            pub fn from_sm(sm: u32) -> Option<Arch> {
                $(
                    if [$number $(, $same)*].contains(&sm) {
                        return Some(Arch::$variant);
                    }
                )+
                None
            }

            /// SM number that names the architecture; the lowest one if several chips share it.
            pub const fn sm(self) -> u32 {
                match self {
                    $(Arch::$variant => $number,)+
                }
            }

            /// Family of its GPUs.
            pub const fn family(self) -> Family {
                match self {
                    $(Arch::$variant => Family::$family,)+
                }
            }
        }
    };
}

archs! {
    /// First Maxwell: sm_50.
    Sm50 = 50, Maxwell, [];
    /// Second Maxwell: sm_52 and sm_53.
    Sm52 = 52, Maxwell, [53];
    /// GP100: sm_60.
    Sm60 = 60, Maxwell, [];
    /// Other Pascal: sm_61 and sm_62.
    Sm61 = 61, Maxwell, [62];
    /// Volta: sm_70.
    Sm70 = 70, Volta, [];
    /// Xavier: sm_72.
    Sm72 = 72, Volta, [];
    /// Turing: sm_75.
    Sm75 = 75, Volta, [];
    /// GA100: sm_80.
    Sm80 = 80, Volta, [];
    /// Other Ampere, Orin among them: sm_86, sm_87 and sm_88.
    Sm86 = 86, Volta, [87 88];
    /// Ada: sm_89.
    Sm89 = 89, Volta, [];
    /// Hopper: sm_90.
    Sm90 = 90, Volta, [];
    /// GB100: sm_100.
    Sm100 = 100, Volta, [];
    /// GB110: sm_103.
    Sm103 = 103, Volta, [];
    /// sm_107.
    Sm107 = 107, Volta, [];
    /// Thor: sm_110, whose older number is 101.
    Sm110 = 110, Volta, [101];
    /// Other Blackwell: sm_120 and sm_121.
    Sm120 = 120, Volta, [121];
}

impl Arch {
    /// Architectures of a family, oldest first; none if it is not a family of NVIDIA's.
    pub fn of_family(family: Family) -> impl Iterator<Item = Arch> {
        Arch::ALL
            .iter()
            .copied()
            .filter(move |arch| arch.family() == family)
    }

    /// Numbers of the architectures of a family, by which its tables name them.
    pub(crate) const fn numbers<const COUNT: usize>(family: Family) -> [u32; COUNT] {
        let mut numbers = [0; COUNT];
        let (mut arch, mut count) = (0, 0);
        while arch < Arch::ALL.len() {
            // `==` of enums is not available at compile time.
            if Arch::ALL[arch].family() as u8 == family as u8 {
                numbers[count] = Arch::ALL[arch].sm();
                count += 1;
            }
            arch += 1;
        }
        assert!(count == COUNT, "another number of architectures");
        numbers
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
    use warpbound_base::Family;

    #[test]
    fn chips_that_share_an_encoding_share_the_architecture() {
        assert_eq!(Arch::from_sm(53), Some(Arch::Sm52));
        assert_eq!(Arch::from_sm(62), Some(Arch::Sm61));
        assert_eq!(Arch::from_sm(87), Some(Arch::Sm86));
        assert_eq!(Arch::from_sm(71), None);
        assert_eq!(Arch::from_sm(51), None);
    }

    #[test]
    fn families_divide_the_architectures() {
        assert_eq!(Arch::of_family(Family::Maxwell).count(), 4);
        assert_eq!(Arch::of_family(Family::Volta).count(), 12);
        assert_eq!(Arch::of_family(Family::Gcn3).count(), 0);
    }
}
