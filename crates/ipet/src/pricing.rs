use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::exact::Rational;

/// Pricing of the simplex method: reduced costs, and the columns that can improve the objective, best first.
///
/// The score of a column is its squared reduced cost over its Devex reference weight (Harris 1973). A step changes few
/// scores, so candidates are kept in a heap with lazy deletion: a change pushes an entry, and entries with an outdated
/// score are dropped at the top. Floats decide only the order of improving columns, never whether one improves.
#[derive(Debug)]
pub(crate) struct Pricing {
    /// Reduced cost of each column, 0 for the basic ones.
    reduced: Vec<Rational>,
    weight: Vec<f64>,
    /// Current score of each column; `None` for columns that cannot improve.
    score: Vec<Option<f64>>,
    heap: BinaryHeap<Candidate>,
}

/// Heap entry: a column with its score at the time.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f64,
    column: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        // Among equal scores the smallest column is the greatest candidate, so that the result is reproducible.
        self.score
            .total_cmp(&other.score)
            .then(other.column.cmp(&self.column))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl Pricing {
    /// Creates the pricing of columns with these reduced costs; none is a candidate before [`Pricing::refresh`].
    pub(crate) fn new(reduced: Vec<Rational>) -> Pricing {
        Pricing {
            weight: vec![1.0; reduced.len()],
            score: vec![None; reduced.len()],
            heap: BinaryHeap::new(),
            reduced,
        }
    }

    pub(crate) fn reduced(&self, column: usize) -> &Rational {
        &self.reduced[column]
    }

    pub(crate) fn weight(&self, column: usize) -> f64 {
        self.weight[column]
    }

    /// Sets the reduced cost and the weight of `column`; a [`Pricing::refresh`] must follow.
    pub(crate) fn update(&mut self, column: usize, reduced: Rational, weight: f64) {
        self.reduced[column] = reduced;
        self.weight[column] = weight;
    }

    /// Recomputes the score of `column`; `gains` says whether the column can move and improve the objective.
    pub(crate) fn refresh(&mut self, column: usize, gains: bool) {
        let score = gains.then(|| {
            let d = self.reduced[column].approximate();
            d * d / self.weight[column]
        });
        self.score[column] = score;
        if let Some(score) = score {
            self.heap.push(Candidate { score, column });
        }
    }

    /// Returns the best candidate. It stays one until its next [`Pricing::refresh`].
    pub(crate) fn best(&mut self) -> Option<usize> {
        // Rebuild: outdated entries below the top would otherwise accumulate.
        if self.heap.len() > 8 * self.score.len() {
            let scores = self.score.iter().enumerate();
            self.heap = scores
                .filter_map(|(column, score)| score.map(|score| Candidate { score, column }))
                .collect();
        }
        while let Some(entry) = self.heap.peek() {
            if entry.is_current(&self.score) {
                return Some(entry.column);
            }
            self.heap.pop();
        }
        None
    }
}

impl Candidate {
    fn is_current(&self, score: &[Option<f64>]) -> bool {
        // `==` would drop a current entry whose score is NaN, such as the quotient of two infinities.
        score[self.column].is_some_and(|score| score.total_cmp(&self.score).is_eq())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_column_comes_up_however_often_ranks_change() {
        let mut pricing = Pricing::new(vec![Rational::int(1), Rational::int(3), Rational::int(3)]);
        assert_eq!(pricing.best(), None);
        for column in 0..3 {
            pricing.refresh(column, true);
        }
        assert_eq!(pricing.best(), Some(1));
        pricing.refresh(1, false);
        assert_eq!(pricing.best(), Some(2));
        for round in 0..100 {
            pricing.update(0, Rational::int(if round % 2 == 0 { 5 } else { 2 }), 1.0);
            pricing.refresh(0, true);
            let expected = if round % 2 == 0 { 0 } else { 2 };
            assert_eq!(pricing.best(), Some(expected), "{round}");
            assert!(pricing.heap.len() <= 8 * 3 + 1);
        }
        pricing.refresh(0, false);
        pricing.refresh(2, false);
        assert_eq!(pricing.best(), None);
    }
}
