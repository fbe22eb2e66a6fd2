//! Progressions: words as functions of the iteration of a loop. For example, a counter that begins at `n` and falls by 2.

use crate::symbolic::atoms::{WordPolynomial, constant};

/// Change of a word from one iteration to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The same in all iterations.
    Exact(WordPolynomial),
    /// A number between these, which may differ from iteration to iteration.
    Between(i64, i64),
}

impl Step {
    /// No change.
    pub(super) fn none() -> Step {
        Step::Exact(constant(0))
    }
}

/// Word as a function of the iteration `k`: `first + k·step`, or `first` and `k` steps.
#[derive(Clone, Debug)]
pub(super) struct Progression {
    pub(super) first: WordPolynomial,
    pub(super) step: Step,
}
