//! Bound of a warp as a value: only a solution whose certificate was accepted becomes one.

use warpbound_base::{Diagnostic, Quantity, UpperBound};
use warpbound_simt::counts::CountVar;

use crate::model::VarId;
use crate::solve::Certified;

/// Upper bound of a quantity of every warp of a kernel; made by [`Ipet::solve`](crate::Ipet::solve) from a certified
/// solution, or from the profiles of all warps of a launch, which have no certificate.
///
/// ```
/// use std::collections::BTreeMap;
/// use warpbound_base::Instructions;
/// use warpbound_ipet::{Effort, Ipet, Verdict};
/// use warpbound_simt::NodeId;
/// use warpbound_simt::counts::{CountKind, CountRow, CountSystem, CountVar, Factor, RowFamily, RowRelation};
///
/// let start = CountVar(0);
/// let system = CountSystem {
///     variables: vec![CountKind::WarpStart],
///     rows: vec![CountRow {
///         terms: vec![(start, Factor::Number(1))],
///         relation: RowRelation::Exactly,
///         constant: 1,
///         family: RowFamily::Start,
///         label: "warp start".to_owned(),
///     }],
///     executions: BTreeMap::from([(NodeId(0), vec![start])]),
///     lockstep: Vec::new(),
/// };
/// let ipet = Ipet::new(&system, |_| Instructions(7), &[]).unwrap();
/// let Ok(Verdict::Bounded(bound)) = ipet.solve(Effort::default()) else { panic!() };
/// assert_eq!(bound.upper_bound().limit(), Instructions(7));
/// ```
///
/// It cannot be made otherwise:
///
/// ```compile_fail,E0451
/// use warpbound_base::{Instructions, UpperBound};
/// use warpbound_ipet::WarpBound;
///
/// let bound = UpperBound::proven(Instructions(7));
/// let forged = WarpBound { bound, worst_path: None };
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WarpBound<Q> {
    bound: UpperBound<Q>,
    worst_path: Option<WorstPath<Q>>,
}

/// Worst path that was found: executions that satisfy all count rows, and whose quantity is the largest known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorstPath<Q> {
    value: Q,
    /// Value of each count variable.
    counts: Vec<u128>,
}

/// Verdict on a kernel: its bound, or the reason why it has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict<Q> {
    /// The kernel has a bound.
    Bounded(WarpBound<Q>),
    /// The control flow is known, but the count rows leave the quantity without a limit.
    Unbounded {
        /// Number of loops whose bound is not stated.
        missing_bounds: usize,
    },
    /// Nothing is established, for this reason.
    Refused(Diagnostic),
}

/// Times that come on top of the times of a warp's steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delays {
    /// Time before the warp starts. Interruptions in this time do not delay the warp.
    pub before: u128,
    /// Constant.
    pub once: u128,
    /// Interruptions: the minimum time from the start of one to the start of the next, and the maximum delay of the
    /// warp by each. The first one starts a whole interval after the start of the time `before`.
    pub interruptions: Option<(u128, u128)>,
}

impl Delays {
    /// Returns the maximum time of the warp, with the time before it. `None` if there is no maximum, or if it has
    /// more than 127 bits.
    ///
    /// Within a time T from the start of the warp, at most ⌊T / interval⌋ + 1 interruptions start, and at most
    /// ⌊(before + T) / interval⌋ of all; so T ≤ time + once + delay · the smaller number. For example, with an
    /// interval of 100, a delay of 10 and nothing before, a time of 95 becomes 105: an interruption may start at 100
    /// if the warp runs so long.
    pub fn add_to(self, time: u128) -> Option<u128> {
        let time = time.checked_add(self.once)?;
        let Some((interval, delay)) = self.interruptions else {
            return time.checked_add(self.before);
        };
        if delay >= interval {
            // Interruptions that take all the time until the next one never let the warp end.
            return if delay == 0 {
                time.checked_add(self.before)
            } else {
                None
            };
        }
        // The linear map `time + delay · (T / interval + 1)` is never below the exact one, so its fixpoint is at
        // least the maximum; from there the exact map leads down to the maximum.
        let start = time.checked_add(delay)?;
        let mut limit = start.checked_mul(interval)? / (interval - delay) + 1;
        loop {
            let count = (limit / interval + 1).min(self.before.checked_add(limit)? / interval);
            let next = time.checked_add(delay.checked_mul(count)?)?;
            if next >= limit {
                return limit.checked_add(self.before);
            }
            limit = next;
        }
    }
}

/// Error: no execution obeys all count rows and facts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// Labels of the rows of a contradiction that rest on a statement of the user, in the order of the program.
    pub rows: Vec<String>,
}

impl<Q: Quantity> WarpBound<Q> {
    /// Makes the bound of a certified solution; `vars` are the variables of the program for the count variables.
    ///
    /// # Errors
    ///
    /// Fails if the type of the quantity cannot represent the bound.
    pub(crate) fn from_certified(
        certified: &Certified,
        vars: &[VarId],
    ) -> Result<WarpBound<Q>, Diagnostic> {
        // A quantity in words must not wrap: a wrapped bound would be too small.
        let quantity = |number: i128| u128::try_from(number).ok().and_then(Q::from_number);
        let bound = quantity(certified.bound)
            .ok_or_else(|| Diagnostic::new("the bound of a warp has more than 64 bits"))?;
        let counts = || vars.iter().map(|&var| certified.witness_of(var));
        let worst_path = certified.witness_value.and_then(|value| {
            Some(WorstPath {
                value: quantity(value)?,
                counts: counts().collect::<Option<_>>()?,
            })
        });
        Ok(WarpBound {
            bound: UpperBound::proven(bound),
            worst_path,
        })
    }

    /// Returns the bound with times that come on top of it; the value of the worst path is the time of this path with
    /// them. `None` if there is no maximum, or if the quantity cannot represent it.
    #[must_use]
    pub fn delayed(self, delays: Delays) -> Option<WarpBound<Q>> {
        let with = |quantity: Q| Q::from_number(delays.add_to(quantity.number())?);
        Some(WarpBound {
            bound: UpperBound::proven(with(self.bound.limit())?),
            // The delays of the path itself: a path that is shorter than the bound is interrupted less often.
            worst_path: self.worst_path.and_then(|path| {
                Some(WorstPath {
                    value: with(path.value)?,
                    ..path
                })
            }),
        })
    }

    /// Makes the bound of a launch whose warps were all executed: the maximum cost of any of them (SOUNDNESS 6.5).
    /// There is no certificate: audits compare profiles with the instructions that each warp issues in runs.
    pub fn from_profile(most: Q) -> WarpBound<Q> {
        WarpBound {
            bound: UpperBound::proven(most),
            worst_path: None,
        }
    }

    /// Returns the bound.
    pub fn upper_bound(&self) -> UpperBound<Q> {
        self.bound
    }

    /// Returns the worst path; `None` if no integral solution was found, and the bound is sound all the same.
    pub fn worst_path(&self) -> Option<&WorstPath<Q>> {
        self.worst_path.as_ref()
    }
}

impl<Q: Quantity> WorstPath<Q> {
    /// Returns the quantity on the path: a lower bound of the optimum of the integer program.
    pub fn value(&self) -> Q {
        self.value
    }

    /// Returns the value of a count variable; 0 if the variable belongs to another system.
    pub fn count(&self, var: CountVar) -> u128 {
        self.counts.get(var.0).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use warpbound_base::{Cycles, UpperBound};

    use super::{Delays, WarpBound, WorstPath};

    /// The bound of a relaxation may exceed the worst path so far that more interruptions fit into it. They do not
    /// delay the path.
    #[test]
    fn a_path_has_the_interruptions_of_its_own_length() {
        let cycles = |number: u64| Cycles(number);
        let bound = WarpBound {
            bound: UpperBound::proven(cycles(1000)),
            worst_path: Some(WorstPath {
                value: cycles(50),
                counts: Vec::new(),
            }),
        };
        let delays = Delays {
            before: 7,
            once: 3,
            interruptions: Some((100, 10)),
        };
        let delayed = bound.delayed(delays).expect("it has a maximum");
        let of = |time: u128| delays.add_to(time).and_then(|all| u64::try_from(all).ok());
        assert_eq!(Some(delayed.upper_bound().limit().0), of(1000));
        let path = delayed.worst_path().expect("it is kept").value().0;
        assert_eq!((Some(path), path), (of(50), 60));
    }
}
