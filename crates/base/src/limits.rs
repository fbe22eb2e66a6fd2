use crate::Quantity;

/// Quantity of one run. There is deliberately no conversion to [`UpperBound`]: an observation is not a bound.
///
/// ```
/// use warpbound_base::{Cycles, Observed, UpperBound};
/// let seen = Observed(Cycles(7));
/// let bound: UpperBound<Cycles> = UpperBound::proven(Cycles(9));
/// assert!(seen.0 <= bound.limit());
/// ```
///
/// ```compile_fail
/// use warpbound_base::{Cycles, Observed, UpperBound};
/// let seen = Observed(Cycles(7));
/// let bound: UpperBound<Cycles> = seen.into();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Observed<Q>(pub Q);

/// Quantity that no run exceeds. A bound in one unit says nothing about another:
///
/// ```compile_fail
/// use warpbound_base::{Cycles, Instructions, UpperBound};
/// let issued = UpperBound::proven(Instructions(9));
/// let cycles: UpperBound<Cycles> = issued.into();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UpperBound<Q>(Q);

impl<Q: Quantity> UpperBound<Q> {
    /// States that no run exceeds `limit`. Only the crate `bound` calls it, next to the argument for the number.
    pub fn proven(limit: Q) -> UpperBound<Q> {
        UpperBound(limit)
    }

    /// Returns the quantity that no run exceeds.
    pub fn limit(self) -> Q {
        self.0
    }
}

/// Quantity that a method gives for all runs without a proof that no run exceeds it. For example, the longest path
/// over observed times is an estimate. No conversion makes it a bound:
///
/// ```compile_fail
/// use warpbound_base::{Cycles, Estimated, UpperBound};
/// let guess = Estimated(Cycles(7));
/// let bound: UpperBound<Cycles> = guess.into();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Estimated<Q>(pub Q);
