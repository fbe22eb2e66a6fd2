use std::fmt;
use std::ops::{Add, AddAssign};

/// Quantity that observations measure and bounds limit. Each unit has a type of its own, without conversions between
/// them.
pub trait Quantity: Copy + Ord + fmt::Display {
    /// Returns the quantity of this many units; `None` if the type cannot represent it.
    fn from_number(number: u128) -> Option<Self>;

    /// Returns the number of units.
    fn number(self) -> u128;
}

/// Time in clock cycles of the simulated or analysed machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cycles(pub u64);

impl Quantity for Cycles {
    fn from_number(number: u128) -> Option<Cycles> {
        u64::try_from(number).ok().map(Cycles)
    }

    fn number(self) -> u128 {
        self.0.into()
    }
}

impl Add for Cycles {
    type Output = Cycles;

    /// Saturates: `u64::MAX` is above every limit on cycles.
    fn add(self, other: Cycles) -> Cycles {
        Cycles(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Cycles {
    fn add_assign(&mut self, other: Cycles) {
        *self = *self + other;
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of instructions that warps issue. Nested loops exceed 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instructions(pub u128);

impl Quantity for Instructions {
    fn from_number(number: u128) -> Option<Instructions> {
        Some(Instructions(number))
    }

    fn number(self) -> u128 {
        self.0
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
