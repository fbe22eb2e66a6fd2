//! Iterations of a loop after which it goes on, from the test of its only exit.

use warpbound_graph::LoopIndex;
use warpbound_ir::OpIndex;

use super::expression::Test;
use super::words::Words;
use crate::symbolic::atoms::WordPolynomial;
use crate::symbolic::conditions::Condition;
use crate::symbolic::span::Reading;

/// Iterations of a loop each time that it is entered.
pub(super) struct LoopRounds {
    /// Branch by which it is left.
    pub(super) exit: OpIndex,
    /// Test that it goes on, in terms of the completed iterations.
    pub(super) test: Test,
    /// The test as distances that are closed by equal steps; the first distance that is closed ends the loop. If
    /// there are none, the evaluation searches for the first iteration that fails the test.
    pub(super) distances: Vec<Distance>,
}

/// Condition on words that change by the same step in each iteration: first word, step.
pub(super) enum Distance {
    /// `a < b`, or `a <= b`.
    Less {
        a: [WordPolynomial; 2],
        b: [WordPolynomial; 2],
        or_equal: bool,
        reading: Reading,
    },
    /// The word is not 0; its step is a constant.
    NotZero { first: WordPolynomial, step: i32 },
}

impl LoopRounds {
    pub(super) fn new(
        words: &mut Words<'_>,
        index: LoopIndex,
        exit: OpIndex,
        test: Test,
    ) -> LoopRounds {
        let conditions = test.conditions.iter();
        let distances = conditions.map(|condition| Distance::new(words, index, condition));
        let distances: Option<Vec<Distance>> = distances.collect();
        LoopRounds {
            exit,
            // A negated test ends the loop where all conditions hold, while a distance gives where one of them fails.
            distances: distances.filter(|_| test.all_hold).unwrap_or_default(),
            test,
        }
    }

    /// Words of the test.
    pub(super) fn words(&self) -> impl Iterator<Item = &WordPolynomial> {
        self.test.conditions.iter().flat_map(Condition::words)
    }
}

impl Distance {
    fn new(words: &mut Words<'_>, index: LoopIndex, condition: &Condition) -> Option<Distance> {
        match condition {
            Condition::Less {
                a,
                b,
                or_equal,
                reading,
            } => Some(Distance::Less {
                a: words.progression(a, index)?,
                b: words.progression(b, index)?,
                or_equal: *or_equal,
                reading: *reading,
            }),
            Condition::NotZero(word) => {
                let [first, step] = words.progression(word, index)?;
                let step = step.as_constant()? as i32;
                (step != 0).then_some(Distance::NotZero { first, step })
            }
            Condition::Zero(_) | Condition::Never => None,
        }
    }
}
