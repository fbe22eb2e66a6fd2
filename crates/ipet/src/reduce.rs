use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::exact::Rational;
use crate::linear::LinearProgram;
use crate::model::Relation;

/// Presolved program: flow rows are solved for one of their variables, which is substituted; solutions can be expanded
/// to the original program.
///
/// A row `x = b + a·y` whose right side cannot be negative defines `x`, so that `x` can be substituted everywhere
/// without losing its bound `x >= 0`. For example, the flow row `x - y - z = 0` defines `x = y + z`. In a flow
/// network this removes chains and node counts, which are most variables. Expansion is exact: a point by evaluating
/// the definitions, multipliers by giving each used row the one value that makes the reduced cost of its variable
/// zero.
#[derive(Debug)]
pub(crate) struct Reduced {
    pub(crate) linear: LinearProgram,
    /// Original column of each remaining column.
    columns: Vec<usize>,
    /// Original row of each remaining row.
    rows: Vec<usize>,
    steps: Vec<Substitution>,
    original_width: usize,
    original_height: usize,
}

/// Substitution of one variable, in the numbering of the original program.
#[derive(Debug)]
struct Substitution {
    row: usize,
    column: usize,
    /// `column = constant + Σ factor * other`.
    constant: Rational,
    terms: Vec<(usize, Rational)>,
    /// 1 / coefficient of `column` in `row`.
    inverse: Rational,
    /// Multiples of `row` that were subtracted from the objective and from each other row.
    from_cost: Rational,
    from_rows: Vec<(usize, Rational)>,
}

/// Maximum number of entries that one substitution may add to the matrix.
const MAX_FILL: usize = 30;

impl Reduced {
    pub(crate) fn new(original: &LinearProgram) -> Reduced {
        let mut work = Elimination::of(original);
        let mut steps = Vec::new();
        let mut queue: VecDeque<usize> = (0..original.height()).collect();
        let mut queued = vec![true; original.height()];
        while let Some(row) = queue.pop_front() {
            queued[row] = false;
            let Some(step) = work.substitute(row, original) else {
                continue;
            };
            // The substitution has changed these rows, so that they may define a variable now.
            for &(other, _) in &step.from_rows {
                if !queued[other] {
                    queued[other] = true;
                    queue.push_back(other);
                }
            }
            steps.push(step);
        }
        work.finish(original, steps)
    }

    /// Gives the program another objective: costs of the original columns.
    pub(crate) fn set_cost(&mut self, mut cost: Vec<Rational>) {
        // In the order of the steps, because a definition may contain variables that later steps substitute.
        for step in &mut self.steps {
            let own = std::mem::replace(&mut cost[step.column], Rational::ZERO);
            step.from_cost = own.mul(&step.inverse);
            for (other, factor) in step.terms.iter().filter(|_| !own.is_zero()) {
                cost[*other] = cost[*other].add(&own.mul(factor));
            }
        }
        let kept = self.columns.iter().map(|&column| cost[column].clone());
        self.linear.cost = kept.collect();
    }

    /// Expands a point of the reduced program to the original program.
    pub(crate) fn expand_point(&self, reduced: &[Rational]) -> Vec<Rational> {
        let mut point = vec![Rational::ZERO; self.original_width];
        for (&column, value) in self.columns.iter().zip(reduced) {
            point[column] = value.clone();
        }
        // A definition may use variables that were substituted later, so the last one is evaluated first.
        for step in self.steps.iter().rev() {
            let mut value = step.constant.clone();
            for (other, factor) in &step.terms {
                value = value.add(&factor.mul(&point[*other]));
            }
            point[step.column] = value;
        }
        point
    }

    /// Expands a direction of the reduced program to the original program.
    pub(crate) fn expand_direction(&self, reduced: &[Rational]) -> Vec<Rational> {
        let mut direction = vec![Rational::ZERO; self.original_width];
        for (&column, value) in self.columns.iter().zip(reduced) {
            direction[column] = value.clone();
        }
        // A direction is a difference of points, so the constants of the definitions cancel.
        for step in self.steps.iter().rev() {
            let mut value = Rational::ZERO;
            for (other, factor) in &step.terms {
                value = value.add(&factor.mul(&direction[*other]));
            }
            direction[step.column] = value;
        }
        direction
    }

    /// Expands a basis of the reduced program, its columns and the rows whose slack is not basic, to the original
    /// program: each substituted variable is basic, and its row tight.
    pub(crate) fn expand_basis(
        &self,
        columns: &[usize],
        rows: &[usize],
    ) -> (Vec<usize>, Vec<usize>) {
        let original = |of: &[usize], reduced: &[usize]| -> Vec<usize> {
            reduced.iter().filter_map(|&i| of.get(i).copied()).collect()
        };
        let mut all_columns = original(&self.columns, columns);
        let mut all_rows = original(&self.rows, rows);
        all_columns.extend(self.steps.iter().map(|step| step.column));
        all_rows.extend(self.steps.iter().map(|step| step.row));
        all_columns.sort_unstable();
        all_rows.sort_unstable();
        (all_columns, all_rows)
    }

    /// Expands row multipliers of the reduced program to the original program. `with_cost` is false for
    /// multipliers of a zero objective (a proof of infeasibility).
    pub(crate) fn expand_multipliers(
        &self,
        reduced: &[Rational],
        with_cost: bool,
    ) -> Vec<Rational> {
        let mut multipliers = vec![Rational::ZERO; self.original_height];
        for (&row, value) in self.rows.iter().zip(reduced) {
            multipliers[row] = value.clone();
        }
        // In reverse: the rows of `from_rows` were removed later or remain, so their multipliers are known.
        for step in self.steps.iter().rev() {
            let mut value = if with_cost {
                step.from_cost.clone()
            } else {
                Rational::ZERO
            };
            for (other, factor) in &step.from_rows {
                value.sub_mul(factor, &multipliers[*other]);
            }
            multipliers[step.row] = value;
        }
        multipliers
    }
}

/// Matrix by rows during the elimination.
struct Elimination {
    rows: Vec<BTreeMap<usize, Rational>>,
    occurs: Vec<BTreeSet<usize>>,
    rhs: Vec<Rational>,
    cost: Vec<Rational>,
    row_alive: Vec<bool>,
    column_alive: Vec<bool>,
}

impl Elimination {
    fn of(original: &LinearProgram) -> Elimination {
        let mut rows = vec![BTreeMap::new(); original.height()];
        let mut occurs = vec![BTreeSet::new(); original.width()];
        for (column, entries) in original.columns.iter().enumerate() {
            for (row, coefficient) in entries {
                rows[*row].insert(column, coefficient.clone());
                occurs[column].insert(*row);
            }
        }
        Elimination {
            rows,
            occurs,
            rhs: original.rhs.clone(),
            cost: original.cost.clone(),
            row_alive: vec![true; original.height()],
            column_alive: vec![true; original.width()],
        }
    }

    /// Cheapest column that `row` defines, with its coefficient.
    fn substitution_candidate(
        &self,
        row: usize,
        original: &LinearProgram,
    ) -> Option<(usize, Rational)> {
        if !self.row_alive[row] || original.relation[row] != Relation::Eq {
            return None;
        }
        let entries = &self.rows[row];
        let positive = entries.values().filter(|c| c.is_positive()).count();
        let negative = entries.len() - positive;
        let mut best: Option<(usize, usize, Rational)> = None;
        for (&column, coefficient) in entries {
            // The other coefficients must have the opposite sign, so that the right side cannot be negative; and
            // |coefficient| must be 1, so that integers stay integers.
            let alone = if coefficient.is_positive() {
                positive == 1
            } else {
                negative == 1
            };
            // An upper bound would be lost with the column.
            let defined = alone
                && coefficient.is_unit()
                && original.upper[column].is_none()
                && !self.rhs[row].mul(coefficient).is_negative();
            if !defined {
                continue;
            }
            let uses = self.occurs[column].len();
            let fill = (entries.len() - 1) * (uses - 1);
            let removed = entries.len() + uses;
            if fill <= removed + MAX_FILL && best.as_ref().is_none_or(|(least, ..)| fill < *least) {
                best = Some((fill, column, coefficient.clone()));
            }
        }
        best.map(|(_, column, coefficient)| (column, coefficient))
    }

    fn substitute(&mut self, row: usize, original: &LinearProgram) -> Option<Substitution> {
        let (column, coefficient) = self.substitution_candidate(row, original)?;
        let inverse = coefficient.recip()?;
        let entries = std::mem::take(&mut self.rows[row]);
        let rhs = self.rhs[row].clone();
        self.row_alive[row] = false;
        self.column_alive[column] = false;
        for other in entries.keys() {
            self.occurs[*other].remove(&row);
        }
        let uses = std::mem::take(&mut self.occurs[column]);
        let mut from_rows = Vec::new();
        for other in uses {
            let Some(factor) = self.rows[other].remove(&column) else {
                continue;
            };
            let factor = factor.mul(&inverse);
            for (&k, value) in entries.iter().filter(|(k, _)| **k != column) {
                let entry = self.rows[other].entry(k).or_insert(Rational::ZERO);
                entry.sub_mul(&factor, value);
                if entry.is_zero() {
                    self.rows[other].remove(&k);
                    self.occurs[k].remove(&other);
                } else {
                    self.occurs[k].insert(other);
                }
            }
            self.rhs[other].sub_mul(&factor, &rhs);
            from_rows.push((other, factor));
        }
        let from_cost = self.cost[column].mul(&inverse);
        for (&k, value) in entries.iter().filter(|(k, _)| **k != column) {
            self.cost[k].sub_mul(&from_cost, value);
        }
        Some(Substitution {
            row,
            column,
            constant: rhs.mul(&inverse),
            terms: entries
                .iter()
                .filter(|(k, _)| **k != column)
                .map(|(&k, value)| (k, value.mul(&inverse).neg()))
                .collect(),
            inverse,
            from_cost,
            from_rows,
        })
    }

    /// Renumbers the remaining rows and columns. Rows without variables that hold are dropped: their multiplier is 0.
    fn finish(self, original: &LinearProgram, steps: Vec<Substitution>) -> Reduced {
        let rows: Vec<usize> = (0..original.height())
            .filter(|&row| {
                // An empty row that fails stays: the simplex method then reports the program as infeasible.
                let empty = self.rows[row].is_empty();
                let holds = match original.relation[row] {
                    Relation::Le => !self.rhs[row].is_negative(),
                    Relation::Ge => !self.rhs[row].is_positive(),
                    Relation::Eq => self.rhs[row].is_zero(),
                };
                self.row_alive[row] && !(empty && holds)
            })
            .collect();
        let columns: Vec<usize> = (0..original.width())
            .filter(|&column| self.column_alive[column])
            .collect();
        let mut new_column = vec![0; original.width()];
        for (new, &column) in columns.iter().enumerate() {
            new_column[column] = new;
        }
        let mut entries: Vec<Vec<(usize, Rational)>> = vec![Vec::new(); columns.len()];
        for (new, &row) in rows.iter().enumerate() {
            for (&column, value) in &self.rows[row] {
                entries[new_column[column]].push((new, value.clone()));
            }
        }
        Reduced {
            linear: LinearProgram {
                columns: entries,
                upper: columns
                    .iter()
                    .map(|&column| original.upper[column].clone())
                    .collect(),
                cost: columns
                    .iter()
                    .map(|&column| self.cost[column].clone())
                    .collect(),
                relation: rows.iter().map(|&row| original.relation[row]).collect(),
                rhs: rows.iter().map(|&row| self.rhs[row].clone()).collect(),
            },
            columns,
            rows,
            steps,
            original_width: original.width(),
            original_height: original.height(),
        }
    }
}
