//! Floating-point arithmetic of the matrix units of each architecture.
//!
//! Held to recorded results: V100, A100, A2 (sm_86), RTX 1000 Ada and L40S, H100 and H200, B200. By the same authors, without
//! records: RTX Pro 6000 (sm_120). Assumed: Turing as V100 (Fasi et al. saw no difference), Orin as A2, sm_103 and sm_110 as
//! B200.
//!
//! Only Ada and sm_120 have instructions for products of bytes, and nothing is known of their sums on sm_120. For other
//! chips, compilers translate these products to products of halves.

use warpbound_isa::nvidia::Arch;

use super::{ElementFormat, SumRule};

/// Units of an architecture: the rule for each width of elements, `None` where the unit has none.
struct MatrixUnit {
    arch: Arch,
    /// Halves and bfloat16.
    halves: SumRule,
    /// tf32.
    singles: Option<SumRule>,
    /// Formats of 8 bits.
    bytes: Option<SumRule>,
}

const UNITS: &[MatrixUnit] = &[
    MatrixUnit::of_halves(Arch::Sm70, SumRule::aligned(4, 23)),
    MatrixUnit::of_halves(Arch::Sm72, SumRule::aligned(4, 23)),
    MatrixUnit::of_halves(Arch::Sm75, SumRule::aligned(4, 23)),
    MatrixUnit::ampere(Arch::Sm80),
    MatrixUnit::ampere(Arch::Sm86),
    MatrixUnit {
        bytes: Some(SumRule::aligned(16, 13)),
        ..MatrixUnit::ampere(Arch::Sm89)
    },
    MatrixUnit::hopper(Arch::Sm90),
    MatrixUnit::hopper(Arch::Sm100),
    MatrixUnit::hopper(Arch::Sm103),
    MatrixUnit::hopper(Arch::Sm110),
    MatrixUnit::hopper(Arch::Sm120),
];

impl MatrixUnit {
    const fn of_halves(arch: Arch, halves: SumRule) -> MatrixUnit {
        MatrixUnit {
            arch,
            halves,
            singles: None,
            bytes: None,
        }
    }

    const fn ampere(arch: Arch) -> MatrixUnit {
        MatrixUnit {
            singles: Some(SumRule::aligned(4, 24)),
            ..MatrixUnit::of_halves(arch, SumRule::aligned(8, 24))
        }
    }

    const fn hopper(arch: Arch) -> MatrixUnit {
        MatrixUnit {
            singles: Some(SumRule::aligned(8, 25)),
            ..MatrixUnit::of_halves(arch, SumRule::aligned(16, 25))
        }
    }
}

impl SumRule {
    /// Returns the way in which the unit of an architecture adds floating-point products of a format; `None` if it has no such
    /// products, or nothing is known of them.
    pub fn of_unit(arch: Arch, format: ElementFormat) -> Option<SumRule> {
        let unit = UNITS.iter().find(|unit| unit.arch == arch)?;
        match format {
            ElementFormat::F16 | ElementFormat::Bf16 => Some(unit.halves),
            ElementFormat::Tf32 => unit.singles,
            ElementFormat::E4m3 | ElementFormat::E5m2 => unit.bytes,
            _ => None,
        }
    }
}
