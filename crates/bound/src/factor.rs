use crate::exact::Exact;

/// Exact factors `B = L U` of a square sparse matrix, followed by the column exchanges made since.
///
/// Vectors are dense and indexed by row; a solution of `B x = v` is indexed by *slot*, the row that the column was
/// pivoted on. Columns and rows that stand alone are taken first, so flow-like matrices get no fill.
#[derive(Debug)]
pub(crate) struct Factor {
    /// Pivot row, column below it divided by the pivot.
    lower: Vec<(usize, Entries)>,
    /// Pivots with the entries in rows pivoted earlier.
    upper: Vec<Pivot>,
    /// Pivots with the other entries of the column that replaced another.
    exchanges: Vec<Pivot>,
}

/// Positions with their non-zero values.
pub(crate) type Entries = Vec<(usize, Exact)>;

/// One column: where it is pivoted, the inverse of its entry there, and its other entries.
#[derive(Debug)]
struct Pivot {
    at: usize,
    inverse: Exact,
    others: Entries,
}

impl Factor {
    /// Factors `columns` (as many as `height`) and tells the slot of each; `None` when they are dependent.
    pub(crate) fn of(height: usize, columns: &[&[(usize, Exact)]]) -> Option<(Factor, Vec<usize>)> {
        let order = elimination_order(height, columns);
        let mut factor = Factor {
            lower: Vec::new(),
            upper: Vec::with_capacity(height),
            exchanges: Vec::new(),
        };
        let mut pivoted = vec![false; height];
        let mut slots = vec![0; columns.len()];
        let mut work = vec![Exact::ZERO; height];
        let mut row_uses = vec![0usize; height];
        for (row, _) in columns.iter().flat_map(|column| column.iter()) {
            row_uses[*row] += 1;
        }
        let mut has_lower = vec![false; height];
        for (index, fixed_row) in order {
            let touched = columns[index].iter().any(|(row, _)| has_lower[*row]);
            let entries: Entries = if touched {
                for (row, value) in columns[index] {
                    work[*row] = value.clone();
                }
                factor.solve_lower(&mut work);
                work.iter_mut()
                    .enumerate()
                    .filter(|(_, value)| !value.is_zero())
                    .map(|(row, value)| (row, std::mem::replace(value, Exact::ZERO)))
                    .collect()
            } else {
                columns[index].to_vec()
            };
            let (above, mut below): (Vec<_>, Vec<_>) =
                entries.into_iter().partition(|(row, _)| pivoted[*row]);
            // Prefer the row chosen by the ordering, then unit pivots, then rows few other columns use.
            let position = (0..below.len()).min_by_key(|&p| {
                let (row, value) = &below[p];
                (
                    Some(*row) != fixed_row,
                    !value.is_unit(),
                    row_uses[*row],
                    *row,
                )
            })?;
            let (row, pivot) = below.swap_remove(position);
            let inverse = pivot.recip()?;
            pivoted[row] = true;
            slots[index] = row;
            if !below.is_empty() {
                below.sort_by_key(|(row, _)| *row);
                for (_, value) in &mut below {
                    *value = value.mul(&inverse);
                }
                has_lower[row] = true;
                factor.lower.push((row, below));
            }
            // A lone 1 changes nothing when solving; most slacks are one.
            if inverse != Exact::ONE || !above.is_empty() {
                factor.upper.push(Pivot {
                    at: row,
                    inverse,
                    others: above,
                });
            }
        }
        Some((factor, slots))
    }

    /// Number of exchanges since the matrix was factored.
    pub(crate) fn age(&self) -> usize {
        self.exchanges.len()
    }

    /// Replaces the column of `slot` by one whose solution is `alpha`; `false` when that would be singular.
    pub(crate) fn exchange(&mut self, slot: usize, alpha: &[Exact]) -> bool {
        let Some(inverse) = alpha[slot].recip() else {
            return false;
        };
        let others = alpha
            .iter()
            .enumerate()
            .filter(|(row, value)| *row != slot && !value.is_zero())
            .map(|(row, value)| (row, value.clone()))
            .collect();
        self.exchanges.push(Pivot {
            at: slot,
            inverse,
            others,
        });
        true
    }

    fn solve_lower(&self, v: &mut [Exact]) {
        for (row, below) in &self.lower {
            if v[*row].is_zero() {
                continue;
            }
            let t = v[*row].clone();
            for (other, factor) in below {
                v[*other].sub_mul(&t, factor);
            }
        }
    }

    /// Overwrites `v` with the solution `x` of `B x = v`.
    pub(crate) fn solve(&self, v: &mut [Exact]) {
        self.solve_lower(v);
        for pivot in self.upper.iter().rev().chain(&self.exchanges) {
            if v[pivot.at].is_zero() {
                continue;
            }
            let t = v[pivot.at].mul(&pivot.inverse);
            for (other, value) in &pivot.others {
                v[*other].sub_mul(&t, value);
            }
            v[pivot.at] = t;
        }
    }

    /// Overwrites `v`, indexed by slot, with the solution `y` of `y B = v`, indexed by row.
    pub(crate) fn solve_transposed(&self, v: &mut [Exact]) {
        for pivot in self.exchanges.iter().rev().chain(&self.upper) {
            dot_into(v, pivot.at, &pivot.others);
            if !v[pivot.at].is_zero() {
                v[pivot.at] = v[pivot.at].mul(&pivot.inverse);
            }
        }
        for (row, below) in self.lower.iter().rev() {
            dot_into(v, *row, below);
        }
    }
}

/// `v[target] -= Σ entry * v[row]`.
fn dot_into(v: &mut [Exact], target: usize, entries: &[(usize, Exact)]) {
    let mut sum = None;
    for (row, entry) in entries {
        if !v[*row].is_zero() {
            sum.get_or_insert_with(|| v[target].clone())
                .sub_mul(entry, &v[*row]);
        }
    }
    if let Some(sum) = sum {
        v[target] = sum;
    }
}

/// Columns in the order to eliminate them, with their pivot row where the structure alone decides it.
fn elimination_order(height: usize, columns: &[&[(usize, Exact)]]) -> Vec<(usize, Option<usize>)> {
    let mut by_row: Vec<Vec<usize>> = vec![Vec::new(); height];
    let mut column_count: Vec<usize> = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        column_count.push(column.len());
        for (row, _) in column.iter() {
            by_row[*row].push(index);
        }
    }
    let mut row_count: Vec<usize> = by_row.iter().map(Vec::len).collect();
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
        for &other in by_row[row].iter().filter(|&&c| !column_done[c]) {
            column_count[other] -= 1;
            if column_count[other] == 1 {
                single.push(other);
            }
        }
    }

    for (row, users) in by_row.iter().enumerate() {
        row_count[row] = users.iter().filter(|&&c| !column_done[c]).count();
    }
    let mut single: Vec<usize> = (0..height)
        .filter(|&r| !row_done[r] && row_count[r] == 1)
        .collect();
    while let Some(row) = single.pop() {
        let column = by_row[row].iter().copied().find(|&c| !column_done[c]);
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
