use crate::exact::Rational;
use crate::sparse::{CompressedLists, PositionSet, SparseVector, transposed};

/// Exact sparse factors `B = L U` of the basis matrix, followed by the column exchanges since (product form of the
/// inverse, one eta column per exchange).
///
/// Vectors are indexed by *position*: the k-th pivot has position k. It stands for the pivot's row in the right side
/// of `B x = v`, and for the pivot's column (a *slot* of the basis) in the solution. So both factors are triangular
/// without a permutation, and a solve visits only non-zero values. Singleton columns and rows are pivoted first, so
/// matrices of flow networks get no fill-in.
#[derive(Debug)]
pub(crate) struct LuFactors {
    /// Position of each row.
    position: Vec<usize>,
    /// Row of each position.
    row: Vec<usize>,
    /// Columns of L below the diagonal of ones.
    lower: CompressedLists<(usize, Rational)>,
    /// Rows of L below the diagonal.
    lower_rows: CompressedLists<(usize, Rational)>,
    /// Columns of U above its diagonal.
    upper: CompressedLists<(usize, Rational)>,
    /// Rows of U above its diagonal.
    upper_rows: CompressedLists<(usize, Rational)>,
    /// Reciprocals of the diagonal of U.
    inverse: Vec<Rational>,
    exchanges: Vec<Exchange>,
    /// Number of entries of all exchanges.
    exchange_entries: usize,
    /// Estimated number of entries of exchanges that solves have visited.
    exchange_work: usize,
}

/// Number of visited exchange entries per row above which refactoring costs less.
const MAX_WORK_PER_ROW: usize = 100;

/// Column that replaced another: its pivot position, the reciprocal of the pivot, and its other entries.
#[derive(Debug)]
struct Exchange {
    at: usize,
    inverse: Rational,
    others: Vec<(usize, Rational)>,
}

impl LuFactors {
    /// Factorizes `columns` (`height` of them); returns the slot of each too. `None` if they are linearly dependent.
    pub(crate) fn factorize(
        height: usize,
        columns: &[&[(usize, Rational)]],
    ) -> Option<(LuFactors, Vec<usize>)> {
        let mut row_uses = vec![0usize; height];
        for (row, _) in columns.iter().flat_map(|column| column.iter()) {
            row_uses[*row] += 1;
        }
        let mut slots = vec![0; columns.len()];
        let mut pivot_rows = Vec::with_capacity(height);
        let mut position: Vec<Option<usize>> = vec![None; height];
        let mut inverses = Vec::with_capacity(height);
        // Entries of L are indexed by row until all rows have a position.
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
            // Pivot rows without entries of L leave the column as it is, so such a column needs no elimination.
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
            // Pivot choice: the row chosen by the ordering, then unit pivots, then rows that few columns use
            // (Markowitz' criterion, simplified).
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

    /// Position of `row`.
    pub(crate) fn position(&self, row: usize) -> usize {
        self.position[row]
    }

    /// Row at `position`.
    pub(crate) fn row(&self, position: usize) -> usize {
        self.row[position]
    }

    /// Whether columns were exchanged since the factorization.
    pub(crate) fn is_exchanged(&self) -> bool {
        !self.exchanges.is_empty()
    }

    /// Whether refactoring costs less than further solves with the exchanges.
    pub(crate) fn needs_refactoring(&self) -> bool {
        self.exchange_work > MAX_WORK_PER_ROW * self.row.len()
    }

    /// Replaces the column of `slot` by the column `a` with `B alpha = a`; returns `false` if that would be singular.
    pub(crate) fn exchange(&mut self, slot: usize, alpha: &SparseVector) -> bool {
        // A zero pivot would make the new basis singular.
        let Some(inverse) = alpha.get(slot).recip() else {
            return false;
        };
        let others: Vec<_> = alpha
            .iter()
            .filter(|(other, _)| *other != slot)
            .map(|(other, value)| (other, value.clone()))
            .collect();
        self.exchange_entries += others.len() + 1;
        // Each later solve visits the entries of all exchanges so far.
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
            // L has ones on its diagonal, so this pass has no division.
            subtract(v, at, self.lower.list(at));
            next = v.at_or_after(at + 1);
        }
        let mut next = v.before(v.len());
        while let Some(at) = next {
            divide(v, at, &self.inverse[at]);
            subtract(v, at, self.upper.list(at));
            next = v.before(at);
        }
        // B = L U E₁ E₂ ..., so the exchanges are inverted last, the oldest first; `solve_transposed` reverses that.
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

/// `v[other] -= v[at] * entry` for all entries; none is at `at`.
fn subtract(v: &mut SparseVector, at: usize, entries: &[(usize, Rational)]) {
    if entries.is_empty() || v.get(at).is_zero() {
        return;
    }
    let t = v.get(at).clone();
    for (other, entry) in entries {
        v.sub_mul(*other, &t, entry);
    }
}

/// Subtracts the finished columns of L from `work`, which is indexed by row. `pending` has the positions of the rows
/// of `work` that are pivoted.
fn eliminate(
    work: &mut SparseVector,
    pending: &mut PositionSet,
    lower: &CompressedLists<(usize, Rational)>,
    pivot_rows: &[usize],
    position: &[Option<usize>],
) {
    // Entries of L lie below the diagonal, so the positions that a step inserts come after its own: one pass suffices.
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

/// Elimination order of the columns, with the pivot row where the structure alone decides it.
fn elimination_order(
    height: usize,
    columns: &[&[(usize, Rational)]],
) -> Vec<(usize, Option<usize>)> {
    let uses = columns.iter().enumerate();
    let uses = uses.flat_map(|(index, column)| column.iter().map(move |(row, _)| (*row, index)));
    let by_row = CompressedLists::gather(height, 0, uses.clone().map(|(row, _)| row), uses);
    let mut column_count: Vec<usize> = columns.iter().map(|column| column.len()).collect();
    let mut row_done = vec![false; height];
    let mut column_done = vec![false; columns.len()];
    let mut order = Vec::with_capacity(columns.len());

    // Singleton columns, until none is left: upper triangular part.
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

    // Singleton rows among the rest: lower triangular part.
    let mut row_count: Vec<usize> = (0..height)
        .map(|row| {
            by_row
                .list(row)
                .iter()
                .filter(|&&c| !column_done[c])
                .count()
        })
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

    // The rest (the bump) is not triangular; short columns first keep the fill-in small.
    let mut rest: Vec<usize> = (0..columns.len()).filter(|&c| !column_done[c]).collect();
    rest.sort_by_key(|&c| {
        let active = columns[c].iter().filter(|e| !row_done[e.0]).count();
        (active, c)
    });
    order.extend(rest.into_iter().map(|c| (c, None)));
    order
}
