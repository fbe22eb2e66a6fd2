//! Expressions for counts: sums of products, whose factors are tests, iterations of loops, and sums over these.

use warpbound_graph::LoopIndex;

use super::reason::{NoFormula, NoFormulaReason};
use crate::symbolic::conditions::Condition;

/// Maximum number of products of a sum, and of factors of a product.
const MAX_PRODUCTS: usize = 24;
const MAX_FACTORS: usize = 16;

/// Conditions on resolved words: all of them hold, or not all of them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Test {
    pub(super) conditions: Vec<Condition>,
    pub(super) all_hold: bool,
}

impl Test {
    /// The test that holds where this one does not.
    pub(super) fn opposite(&self) -> Test {
        let flipped = match self.conditions.as_slice() {
            [Condition::Zero(word)] => Some(Condition::NotZero(word.clone())),
            [Condition::NotZero(word)] => Some(Condition::Zero(word.clone())),
            [
                Condition::Less {
                    a,
                    b,
                    or_equal,
                    reading,
                },
            ] => Some(Condition::Less {
                a: b.clone(),
                b: a.clone(),
                or_equal: !or_equal,
                reading: *reading,
            }),
            // No single condition is the opposite of several.
            _ => None,
        };
        match flipped {
            Some(condition) => Test {
                conditions: vec![condition],
                all_hold: self.all_hold,
            },
            None => Test {
                all_hold: !self.all_hold,
                ..self.clone()
            },
        }
    }
}

/// Factor of a count.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Factor {
    /// 1 where the test holds, else 0.
    Holds(Test),
    /// 1 in the iterations after which the loop goes on, 0 in the last one.
    GoesOn(LoopIndex),
    /// Number of iterations after which the loop goes on, each time that it is entered.
    Rounds(LoopIndex),
    /// Number of executions of its header: one more.
    Headers(LoopIndex),
    /// Sum over these iterations, or over all executions of the header, of a count that differs between them.
    Sum {
        over: LoopIndex,
        with_last: bool,
        of: Count,
    },
}

/// Sum of products; the empty product is 1.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Count {
    pub(super) products: Vec<Vec<Factor>>,
}

impl Count {
    pub(super) fn zero() -> Count {
        Count {
            products: Vec::new(),
        }
    }

    pub(super) fn one() -> Count {
        Count {
            products: vec![Vec::new()],
        }
    }

    pub(super) fn factor(factor: Factor) -> Count {
        Count {
            products: vec![vec![factor]],
        }
    }

    pub(super) fn plus(&self, other: &Count) -> Result<Count, NoFormula> {
        let products = self.products.iter().chain(&other.products);
        Count::of(products.cloned().collect())
    }

    pub(super) fn times(&self, other: &Count) -> Result<Count, NoFormula> {
        let mut products = Vec::new();
        for own in &self.products {
            for more in &other.products {
                let mut product = own.clone();
                // The square of 0 or 1 is itself.
                let new = more
                    .iter()
                    .filter(|factor| !(factor.is_truth() && own.contains(factor)));
                product.extend(new.cloned());
                products.push(product);
            }
        }
        Count::of(products)
    }

    fn of(products: Vec<Vec<Factor>>) -> Result<Count, NoFormula> {
        let is_long = products.len() > MAX_PRODUCTS
            || products.iter().any(|product| product.len() > MAX_FACTORS);
        match is_long {
            true => Err(NoFormula::new(Default::default(), NoFormulaReason::Long)),
            false => Ok(Count { products }),
        }
    }
}

impl Factor {
    /// Whether the factor is always 0 or 1.
    fn is_truth(&self) -> bool {
        matches!(self, Factor::Holds(_) | Factor::GoesOn(_))
    }
}
