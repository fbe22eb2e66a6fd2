use crate::exact::Rational;
use crate::sparse::{CompressedLists, PositionSet, SparseVector, transposed};

/// Exact factors `B = L U` of a square sparse matrix, followed by the column exchanges made since.
///
/// Vectors are indexed by *position*: the k-th pivot has position k, which stands for its row in what goes into a
/// solve of `B x = v` and for its column (a *slot* of the basis) in what comes out. So both factors are triangular as
/// they stand, and a solve walks from one non-zero value to the next. Columns and rows that stand alone are pivoted
/// first, so flow-like matrices get no fill.
#[derive(Debug)]
pub(crate) struct LuFactors {
    /// Position of each row.
    position: Vec<usize>,
    /// Row of each position.
    row: Vec<usize>,
    /// Columns of L below the diagonal of ones.
    lower: CompressedLists<(usize, Rational)>,
    /// The same by rows.
    lower_rows: CompressedLists<(usize, Rational)>,
    /// Columns of U above its diagonal.
    upper: CompressedLists<(usize, Rational)>,
    /// The same by rows.
    upper_rows: CompressedLists<(usize, Rational)>,
    /// The diagonal of U, inverted.
    inverse: Vec<Rational>,
    exchanges: Vec<Exchange>,
    /// Entries of all exchanges.
    exchange_entries: usize,
    /// How many of them the solves have walked, about.
    exchange_work: usize,
}

/// How many entries of exchanges may be walked per row before factoring anew costs less.
const MAX_WORK_PER_ROW: usize = 100;

/// A column that replaced another: where it is pivoted, the inverse of its entry there, and its other entries.
#[derive(Debug)]
struct Exchange {
    at: usize,
    inverse: Rational,
    others: Vec<(usize, Rational)>,
}

impl LuFactors {
    /// Factors `columns` (as many as `height`) and tells the slot of each; `None` when they are dependent.
    pub(crate) fn factorize(height: usize, columns: &[&[(usize, Rational)]]) -> Option<(LuFactors, Vec<usize>)> {
        let mut row_uses = vec![0usize; height];
        for (row, _) in columns.iter().flat_map(|column| column.iter()) {
            row_uses[*row] += 1;
        }
        let mut slots = vec![0; columns.len()];
        let mut pivot_rows = Vec::with_capacity(height);
        let mut position: Vec<Option<usize>> = vec![None; height];
        let mut inverses = Vec::with_capacity(height);
        // The entries of L keep their rows until all rows have a position.
        let mut lower = CompressedLists::with_capacity(height);
        let mut upper = CompressedLists::with_capacity(height);
        let mut has_lower = vec![false; height];
        let mut work = SparseVector::new(height);
        let mut pending = PositionSet::new(height);
        let mut below: Vec<(usize, Rational)> = Vec::new();
        let mut above: Vec<(usize, Rational)> = Vec::new();
        for (index, fixed_row) in elimination_order(height, columns) {
            let mut sort = |row: usize, value: &Rational| match position[row] {
                Some(position) => above.push((position, value.clone())),
                None => below.push((row, value.clone())),
            };
            if columns[index].iter().any(|(row, _)| has_lower[*row]) {
                for (row, value) in columns[index] {
                    work.set(*row, value.clone());
                    if let Some(position) = position[*row] {
                        pending.insert(position);
                    }
                }
                eliminate(&mut work, &mut pending, &lower, &pivot_rows, &position);
                work.iter().for_each(|(row, value)| sort(row, value));
                work.clear();
                pending.clear();
            } else {
                columns[index].iter().for_each(|(row, v)| sort(*row, v));
            }
            // Prefer the row chosen by the ordering, then unit pivots, then rows few other columns use.
            let chosen = (0..below.len()).min_by_key(|&p| {
                let (row, value) = &below[p];
                (
                    Some(*row) != fixed_row,
                    !value.is_unit(),
                    row_uses[*row],
                    *row,
                )
            })?;
            let (row, pivot) = below.swap_remove(chosen);
            let inverse = pivot.recip()?;
            slots[index] = pivot_rows.len();
            position[row] = Some(pivot_rows.len());
            pivot_rows.push(row);
            has_lower[row] = !below.is_empty();
            lower.push(below.drain(..).map(|(row, v)| (row, v.mul(&inverse))));
            upper.push(above.drain(..));
            inverses.push(inverse);
        }
        let position = position.into_iter().collect::<Option<Vec<usize>>>()?;
        for (row, _) in lower.entries_mut() {
            *row = position[*row];
        }
        let factor = LuFactors {
            position,
            row: pivot_rows,
            lower_rows: transposed(height, &lower),
            lower,
            upper_rows: transposed(height, &upper),
            upper,
            inverse: inverses,
            exchanges: Vec::new(),
            exchange_entries: 0,
            exchange_work: 0,
        };
        Some((factor, slots))
    }

    /// The position of `row`.
    pub(crate) fn position(&self, row: usize) -> usize {
        self.position[row]
    }

    /// The row at `position`.
    pub(crate) fn row(&self, position: usize) -> usize {
        self.row[position]
    }

    /// Whether columns were exchanged since the matrix was factored.
    pub(crate) fn is_exchanged(&self) -> bool {
        !self.exchanges.is_empty()
    }

    /// Whether factoring anew costs less than to go on with the exchanges.
    pub(crate) fn needs_refactoring(&self) -> bool {
        self.exchange_work > MAX_WORK_PER_ROW * self.row.len()
    }

    /// Replaces the column of `slot` by one whose solution is `alpha`; `false` when that would be singular.
    pub(crate) fn exchange(&mut self, slot: usize, alpha: &SparseVector) -> bool {
        let Some(inverse) = alpha.get(slot).recip() else {
            return false;
        };
        let others: Vec<_> = alpha
            .iter()
            .filter(|(other, _)| *other != slot)
            .map(|(other, value)| (other, value.clone()))
            .collect();
        self.exchange_entries += others.len() + 1;
        self.exchange_work += self.exchange_entries;
        self.exchanges.push(Exchange {
            at: slot,
            inverse,
            others,
        });
        true
    }

    /// Overwrites `v`, by positions of rows, with the solution `x` of `B x = v`, by slots.
    pub(crate) fn solve(&self, v: &mut SparseVector) {
        let mut next = v.at_or_after(0);
        while let Some(at) = next {
            subtract(v, at, self.lower.list(at));
            next = v.at_or_after(at + 1);
        }
        let mut next = v.before(v.len());
        while let Some(at) = next {
            divide(v, at, &self.inverse[at]);
            subtract(v, at, self.upper.list(at));
            next = v.before(at);
        }
        for exchange in &self.exchanges {
            divide(v, exchange.at, &exchange.inverse);
            subtract(v, exchange.at, &exchange.others);
        }
    }

    /// Overwrites `v`, by slots, with the solution `y` of `y B = v`, by positions of rows.
    pub(crate) fn solve_transposed(&self, v: &mut SparseVector) {
        for exchange in self.exchanges.iter().rev() {
            let mut sum = None;
            for (other, entry) in &exchange.others {
                if v.is_touched(*other) {
                    sum.get_or_insert_with(|| v.get(exchange.at).clone())
                        .sub_mul(entry, v.get(*other));
                }
            }
            if let Some(sum) = sum {
                v.set(exchange.at, sum);
            }
            divide(v, exchange.at, &exchange.inverse);
        }
        let mut next = v.at_or_after(0);
        while let Some(at) = next {
            divide(v, at, &self.inverse[at]);
            subtract(v, at, self.upper_rows.list(at));
            next = v.at_or_after(at + 1);
        }
        let mut next = v.before(v.len());
        while let Some(at) = next {
            subtract(v, at, self.lower_rows.list(at));
            next = v.before(at);
        }
    }
}

/// `v[at] *= inverse`.
fn divide(v: &mut SparseVector, at: usize, inverse: &Rational) {
    if *inverse != Rational::ONE && !v.get(at).is_zero() {
        v.set(at, v.get(at).mul(inverse));
    }
}

/// `v[other] -= v[at] * entry` for all entries, none of which is at `at`.
fn subtract(v: &mut SparseVector, at: usize, entries: &[(usize, Rational)]) {
    if entries.is_empty() || v.get(at).is_zero() {
        return;
    }
    let t = v.get(at).clone();
    for (other, entry) in entries {
        v.sub_mul(*other, &t, entry);
    }
}

/// Subtracts the finished columns of L from `work`, which is indexed by row; `pending` are the positions of its rows
/// that have one.
fn eliminate(
    work: &mut SparseVector,
    pending: &mut PositionSet,
    lower: &CompressedLists<(usize, Rational)>,
    pivot_rows: &[usize],
    position: &[Option<usize>],
) {
    let mut next = pending.at_or_after(0);
    while let Some(at) = next {
        let t = work.get(pivot_rows[at]).clone();
        if !t.is_zero() {
            for (row, entry) in lower.list(at) {
                work.sub_mul(*row, &t, entry);
                if let Some(position) = position[*row] {
                    pending.insert(position);
                }
            }
        }
        next = pending.at_or_after(at + 1);
    }
}

/// Columns in the order to eliminate them, with their pivot row where the structure alone decides it.
fn elimination_order(height: usize, columns: &[&[(usize, Rational)]]) -> Vec<(usize, Option<usize>)> {
    let uses = columns.iter().enumerate();
    let uses = uses.flat_map(|(index, column)| column.iter().map(move |(row, _)| (*row, index)));
    let by_row = CompressedLists::gather(height, 0, uses.clone().map(|(row, _)| row), uses);
    let mut column_count: Vec<usize> = columns.iter().map(|column| column.len()).collect();
    let mut row_done = vec![false; height];
    let mut column_done = vec![false; columns.len()];
    let mut order = Vec::with_capacity(columns.len());

    let mut single: Vec<usize> = (0..columns.len())
        .filter(|&c| column_count[c] == 1)
        .collect();
    while let Some(column) = single.pop() {
        let row = columns[column].iter().map(|e| e.0).find(|&r| !row_done[r]);
        let Some(row) = row.filter(|_| !column_done[column]) else {
            continue;
        };
        column_done[column] = true;
        row_done[row] = true;
        order.push((column, Some(row)));
        for &other in by_row.list(row).iter().filter(|&&c| !column_done[c]) {
            column_count[other] -= 1;
            if column_count[other] == 1 {
                single.push(other);
            }
        }
    }

    let mut row_count: Vec<usize> = (0..height)
        .map(|row| by_row.list(row).iter().filter(|&&c| !column_done[c]).count())
        .collect();
    let mut single: Vec<usize> = (0..height)
        .filter(|&r| !row_done[r] && row_count[r] == 1)
        .collect();
    while let Some(row) = single.pop() {
        let column = by_row.list(row).iter().copied().find(|&c| !column_done[c]);
        let Some(column) = column.filter(|_| !row_done[row]) else {
            continue;
        };
        column_done[column] = true;
        row_done[row] = true;
        order.push((column, Some(row)));
        for (other, _) in columns[column].iter().filter(|e| !row_done[e.0]) {
            row_count[*other] -= 1;
            if row_count[*other] == 1 {
                single.push(*other);
            }
        }
    }

    // What is left has no triangular shape; short columns first keeps the fill small.
    let mut rest: Vec<usize> = (0..columns.len()).filter(|&c| !column_done[c]).collect();
    rest.sort_by_key(|&c| {
        let active = columns[c].iter().filter(|e| !row_done[e.0]).count();
        (active, c)
    });
    order.extend(rest.into_iter().map(|c| (c, None)));
    order
}
