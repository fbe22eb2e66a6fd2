//! Echelon form of sparse rows over the rationals, with the steps that led to it.
//!
//! Row i of the form is `orig_i - Σ factor · row_j` over earlier rows j. Its pivot is in a column where all later
//! rows are 0, and it keeps these factors. So a form is reduced by the rows in order, and its combination of the
//! original rows follows by going through the factors in reverse (an LU decomposition by rows).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::exact::Rational;

/// Sparse vector: positions ascending, no value is 0.
type Sparse = Vec<(usize, Rational)>;

/// Row of the form.
#[derive(Debug)]
struct EchelonRow {
    /// Column of the pivot.
    column: usize,
    /// Value there.
    pivot: Rational,
    /// The row, pivot included.
    values: Sparse,
    /// Earlier rows that were subtracted from the original, with factors.
    subtracted: Sparse,
}

/// Independent rows in echelon form.
#[derive(Debug, Default)]
pub(super) struct Echelon {
    rows: Vec<EchelonRow>,
    /// For each column with a pivot, its row.
    row_of: BTreeMap<usize, usize>,
}

impl Echelon {
    /// Makes the form of `rows`, and returns the indices of the independent rows, in the order of the form.
    ///
    /// The next row is always one with the fewest values, and its pivot is in a column that the fewest rows share.
    /// Each column of a flow is in two rows, so a step adds one row to another.
    pub(super) fn of_rows(rows: Vec<Sparse>) -> (Echelon, Vec<usize>) {
        let mut columns: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (number, row) in rows.iter().enumerate() {
            for (column, _) in row {
                columns.entry(*column).or_default().insert(number);
            }
        }
        let mut queue: BinaryHeap<Reverse<(usize, usize)>> = rows
            .iter()
            .enumerate()
            .map(|(number, row)| Reverse((row.len(), number)))
            .collect();
        let mut open: Vec<Option<(Sparse, Sparse)>> = rows
            .into_iter()
            .map(|row| Some((row, Vec::new())))
            .collect();
        let (mut echelon, mut kept) = (Echelon::default(), Vec::new());
        while let Some(Reverse((len, number))) = queue.pop() {
            // A row that changed is in the queue again with its new length.
            let is_current = |slot: &&mut Option<(Sparse, Sparse)>| {
                slot.as_ref().is_some_and(|(row, _)| row.len() == len)
            };
            let slot = open.get_mut(number).filter(is_current);
            let Some((values, subtracted)) = slot.and_then(Option::take) else {
                continue;
            };
            let rarity = |column: &usize| columns.get(column).map_or(0, BTreeSet::len);
            let best = values
                .iter()
                .min_by_key(|(column, value)| (rarity(column), !value.is_unit()));
            let Some((column, pivot)) = best.cloned() else {
                continue;
            };
            for (column, _) in &values {
                if let Some(users) = columns.get_mut(column) {
                    users.remove(&number);
                }
            }
            let order = echelon.rows.len();
            for other in columns.remove(&column).unwrap_or_default() {
                let Some(Some((row, steps))) = open.get_mut(other) else {
                    continue;
                };
                let Some(factor) = value_at(row, column).and_then(|v| quotient(v, &pivot)) else {
                    continue;
                };
                let next = minus(row, &factor, &values);
                update_users(&mut columns, other, row, &next);
                queue.push(Reverse((next.len(), other)));
                *row = next;
                steps.push((order, factor));
            }
            echelon.push(column, pivot, values, subtracted);
            kept.push(number);
        }
        (echelon, kept)
    }

    /// Adds `row` if it is independent of the rows so far; returns whether it is.
    pub(super) fn insert(&mut self, row: &[(usize, Rational)]) -> bool {
        let (rest, subtracted) = self.reduce(row);
        // A column that later rows do not have would be best, but the later rows are not known yet.
        let pivot = rest
            .iter()
            .find(|(_, value)| value.is_unit())
            .or_else(|| rest.first())
            .cloned();
        let Some((column, pivot)) = pivot else {
            return false;
        };
        self.push(column, pivot, rest, subtracted);
        true
    }

    /// Returns the combination of the original rows that is `row`, by their order in the form; `None` if there is
    /// none.
    pub(super) fn express(&self, row: &[(usize, Rational)]) -> Option<Sparse> {
        let (rest, steps) = self.reduce(row);
        if !rest.is_empty() {
            return None;
        }
        let mut open: BTreeMap<usize, Rational> = steps.into_iter().collect();
        let mut combination = Vec::new();
        // The last row first: only earlier rows were subtracted from it, so no factor that was taken changes again.
        while let Some((order, factor)) = open.pop_last() {
            if factor.is_zero() {
                continue;
            }
            for (earlier, by) in &self.rows.get(order)?.subtracted {
                open.entry(*earlier)
                    .or_insert(Rational::ZERO)
                    .sub_mul(&factor, by);
            }
            combination.push((order, factor));
        }
        Some(combination)
    }

    fn push(&mut self, column: usize, pivot: Rational, values: Sparse, subtracted: Sparse) {
        self.row_of.insert(column, self.rows.len());
        self.rows.push(EchelonRow {
            column,
            pivot,
            values,
            subtracted,
        });
    }

    /// Subtracts rows of the form until no column of a pivot is left; returns the rest, and the rows with factors.
    fn reduce(&self, row: &[(usize, Rational)]) -> (Sparse, Sparse) {
        let mut values: BTreeMap<usize, Rational> = row.iter().cloned().collect();
        let orders = values.keys().filter_map(|c| self.row_of.get(c).copied());
        // Row j is 0 in the pivots of rows before it, so in order no column comes back.
        let mut pending: BTreeSet<usize> = orders.collect();
        let mut steps = Vec::new();
        while let Some(order) = pending.pop_first() {
            let Some(by) = self.rows.get(order) else {
                continue;
            };
            let value = values.get(&by.column).filter(|value| !value.is_zero());
            let Some(factor) = value.and_then(|value| quotient(value, &by.pivot)) else {
                continue;
            };
            for (column, value) in &by.values {
                let left = values.entry(*column).or_insert(Rational::ZERO);
                left.sub_mul(&factor, value);
                if left.is_zero() {
                    values.remove(column);
                } else if let Some(&later) = self.row_of.get(column) {
                    pending.insert(later);
                }
            }
            steps.push((order, factor));
        }
        (values.into_iter().collect(), steps)
    }
}

/// `a / b`; `None` for b = 0.
fn quotient(a: &Rational, b: &Rational) -> Option<Rational> {
    b.recip().map(|b| a.mul(&b))
}

fn value_at(row: &Sparse, column: usize) -> Option<&Rational> {
    let at = row.binary_search_by_key(&column, |value| value.0).ok()?;
    row.get(at).map(|value| &value.1)
}

/// `row - factor · by`.
fn minus(row: &Sparse, factor: &Rational, by: &Sparse) -> Sparse {
    let mut values: BTreeMap<usize, Rational> = row.iter().cloned().collect();
    for (column, value) in by {
        values
            .entry(*column)
            .or_insert(Rational::ZERO)
            .sub_mul(factor, value);
    }
    values.retain(|_, value| !value.is_zero());
    values.into_iter().collect()
}

/// Notes the columns where a row has values now.
fn update_users(
    columns: &mut BTreeMap<usize, BTreeSet<usize>>,
    number: usize,
    before: &Sparse,
    now: &Sparse,
) {
    for (column, _) in before {
        if value_at(now, *column).is_none()
            && let Some(users) = columns.get_mut(column)
        {
            users.remove(&number);
        }
    }
    for (column, _) in now {
        columns.entry(*column).or_default().insert(number);
    }
}
