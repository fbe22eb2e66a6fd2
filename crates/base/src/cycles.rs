use std::fmt;
use std::ops::{Add, AddAssign};

/// Time in clock cycles of the simulated or analysed machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cycles(pub u64);

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

/// Duration of one run. There is deliberately no conversion to [`UpperBound`]: an observation is not a bound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Observed(pub Cycles);

/// Duration that no run exceeds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UpperBound(pub Cycles);
