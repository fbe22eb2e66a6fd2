use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::exact::Rational;

/// The columns that would gain by moving, best first, with the reduced costs that say so.
///
/// The best is the one with the largest squared reduced cost relative to its Devex reference weight. A step changes
/// few of them, so they are kept in a heap: a change adds an entry and leaves the old one, which no longer tells the
/// column's score, to be dropped when it comes up. Floats decide only which of several gains is taken first.
#[derive(Debug)]
pub(crate) struct Pricing {
    /// Reduced cost of each column, 0 for the basic ones.
    reduced: Vec<Rational>,
    weight: Vec<f64>,
    /// What the heap's valid entry of each column says; `None` for columns without gain.
    score: Vec<Option<f64>>,
    heap: BinaryHeap<Candidate>,
}

/// A column with a score that it had.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f64,
    column: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
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
    /// No column is a candidate before [`Pricing::refresh`].
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

    /// Changes the reduced cost and the weight of `column`; a [`Pricing::refresh`] must follow.
    pub(crate) fn update(&mut self, column: usize, reduced: Rational, weight: f64) {
        self.reduced[column] = reduced;
        self.weight[column] = weight;
    }

    /// Ranks `column` anew; `gains` tells whether a move along its reduced cost is possible and gains.
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

    /// The best candidate. It stays one until its next [`Pricing::refresh`].
    pub(crate) fn best(&mut self) -> Option<usize> {
        // Entries that were outdone long ago would otherwise pile up below the top.
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
