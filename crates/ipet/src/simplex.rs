use std::cmp::Ordering;

use warpbound_base::Deadline;

use crate::exact::{Perturbed, Rational};
use crate::factor::LuFactors;
use crate::linear::LinearProgram;
use crate::model::Relation;
use crate::pricing::Pricing;
use crate::sparse::{CompressedLists, SparseVector, transposed};

/// Revised simplex method with bounded variables, in exact arithmetic: two phases, Devex pricing, a ratio test with
/// perturbed bounds against cycling.
///
/// The columns of the program come first, then one *slack* for each row (`row + slack = rhs`), then one *artificial*
/// for each row that the origin violates. For example, with 3 variables and 2 rows, column 3 is the slack of row 0.
/// All decisions are exact; floats only rank candidates.
#[derive(Debug)]
pub(crate) struct Simplex {
    height: usize,
    /// Number of columns of the program itself.
    width: usize,
    columns: CompressedLists<(usize, Rational)>,
    /// Rows of the program, without slacks and artificials, for pricing.
    rows: CompressedLists<(usize, Rational)>,
    cost: Vec<Rational>,
    lower: Vec<Option<Perturbed>>,
    upper: Vec<Option<Perturbed>>,
    rhs: Vec<Rational>,
    status: Vec<ColumnStatus>,
    /// Basic column of each slot.
    basis: Vec<usize>,
    /// Value of the basic column of each slot.
    values: Vec<Perturbed>,
    factor: LuFactors,
    pivots_left: usize,
    deadline: Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnStatus {
    /// Basic, in a slot of the basis.
    Basic(usize),
    AtLower,
    AtUpper,
}

/// Outcome of the simplex method.
#[derive(Clone, Debug)]
pub(crate) enum SimplexOutcome {
    /// Optimum found; see [`Simplex::point`] and [`Simplex::multipliers`].
    Optimal,
    /// Unbounded: the direction of the program's columns stays feasible and always improves; `column` is the entering
    /// column that gave it.
    Unbounded {
        direction: Vec<Rational>,
        column: usize,
    },
    /// No point satisfies the rows; with these row multipliers they contradict each other.
    Infeasible { multipliers: Vec<Rational> },
    /// The limits are exhausted, or an internal invariant failed.
    GaveUp(&'static str),
}

/// Result of the ratio test: the step length, and the blocking slot with the bound that its column reaches; `None` if
/// the entering column reaches its own other bound.
type RatioStep = (Perturbed, Option<(usize, ColumnStatus)>);

impl Simplex {
    /// Prepares the starting basis of `linear`, with a limit of `pivots` steps in total and a deadline.
    pub(crate) fn new(
        linear: &LinearProgram,
        pivots: usize,
        deadline: Deadline,
    ) -> Option<Simplex> {
        let (height, width) = (linear.height(), linear.width());
        let mut columns = CompressedLists::with_capacity(width + 2 * height);
        for column in &linear.columns {
            columns.push(column.iter().cloned());
        }
        let rows = transposed(height, &columns);
        for row in 0..height {
            columns.push([(row, Rational::ONE)]);
        }
        let mut cost = linear.cost.clone();
        cost.resize(columns.len(), Rational::ZERO);
        let mut lower = vec![Some(Perturbed::ZERO); width];
        let mut upper: Vec<Option<Perturbed>> = linear
            .upper
            .iter()
            .map(|upper| upper.clone().map(Perturbed::unperturbed))
            .collect();
        for (row, relation) in linear.relation.iter().enumerate() {
            let (below, above) = slack_bounds(row, *relation);
            lower.push(below);
            upper.push(above);
        }
        let mut status = vec![ColumnStatus::AtLower; columns.len()];
        let mut basis = Vec::with_capacity(height);
        for (row, rhs) in linear.rhs.iter().enumerate() {
            let slack = width + row;
            let value = Perturbed::unperturbed(rhs.clone());
            let nearest = match (&lower[slack], &upper[slack]) {
                (Some(bound), _) if value < *bound => Some((ColumnStatus::AtLower, bound)),
                (_, Some(bound)) if value > *bound => Some((ColumnStatus::AtUpper, bound)),
                _ => None,
            };
            match nearest {
                None => {
                    basis.push(slack);
                }
                // The slack violates its bound: it starts at the bound, and an artificial column takes up the rest.
                Some((side, bound)) => {
                    let sign = if value < *bound { -1 } else { 1 };
                    status[slack] = side;
                    basis.push(columns.len());
                    status.push(ColumnStatus::AtLower);
                    columns.push([(row, Rational::int(sign))]);
                    cost.push(Rational::ZERO);
                    lower.push(Some(Perturbed::ZERO));
                    upper.push(None);
                }
            }
        }
        let starting: Vec<&[(usize, Rational)]> = basis.iter().map(|&c| columns.list(c)).collect();
        let (factor, slots) = LuFactors::factorize(height, &starting)?;
        let mut slotted = basis.clone();
        for (&column, &slot) in basis.iter().zip(&slots) {
            slotted[slot] = column;
            status[column] = ColumnStatus::Basic(slot);
        }
        let mut simplex = Simplex {
            height,
            width,
            columns,
            rows,
            cost,
            lower,
            upper,
            rhs: linear.rhs.clone(),
            status,
            basis: slotted,
            values: Vec::new(),
            factor,
            pivots_left: pivots,
            deadline,
        };
        simplex.compute_basic_values();
        Some(simplex)
    }

    /// Solves from the starting basis.
    pub(crate) fn run(&mut self) -> SimplexOutcome {
        let first_artificial = self.width + self.height;
        // Phase one: maximise minus the sum of the artificial columns; the rows can hold iff that reaches 0.
        if self.columns.len() > first_artificial {
            let mut phase_one = vec![Rational::ZERO; first_artificial];
            phase_one.resize(self.columns.len(), Rational::int(-1));
            match self.maximise(&phase_one) {
                SimplexOutcome::Optimal => {}
                // Cannot occur: artificial columns are at least 0, so the objective of phase one is at most 0.
                SimplexOutcome::Unbounded { .. } => {
                    return SimplexOutcome::GaveUp("phase one without end");
                }
                other => return other,
            }
            // A nonbasic artificial column is at its lower bound 0, so only basic ones can violate a row.
            let violated = (0..self.height)
                .any(|slot| self.basis[slot] >= first_artificial && !self.values[slot].is_zero());
            if violated {
                return SimplexOutcome::Infeasible {
                    multipliers: self.multipliers_for(&phase_one),
                };
            }
            // Phase two keeps the artificial columns at 0.
            for column in first_artificial..self.columns.len() {
                self.upper[column] = Some(Perturbed::ZERO);
            }
        }
        let cost = self.cost.clone();
        self.maximise(&cost)
    }

    /// Fixes a nonbasic `column` at its value, so that the next [`Simplex::resume`] finds another direction.
    pub(crate) fn freeze(&mut self, column: usize) {
        match self.status[column] {
            ColumnStatus::AtLower => self.upper[column] = self.lower[column].clone(),
            ColumnStatus::AtUpper => self.lower[column] = self.upper[column].clone(),
            ColumnStatus::Basic(_) => {}
        }
    }

    /// Gives the program another objective, and a new limit of steps.
    pub(crate) fn set_cost(&mut self, cost: &[Rational], pivots: usize) {
        self.cost.fill(Rational::ZERO);
        for (own, cost) in self.cost.iter_mut().zip(cost) {
            own.clone_from(cost);
        }
        self.pivots_left = pivots;
    }

    /// Maximises the program's own objective from the current feasible basis.
    pub(crate) fn resume(&mut self) -> SimplexOutcome {
        let cost = self.cost.clone();
        self.maximise(&cost)
    }

    /// Restricts the program to its optimal face: fixes every column with a non-zero reduced cost, so that all further
    /// moves keep the objective. The basis must be optimal.
    pub(crate) fn restrict_to_optimal_face(&mut self) {
        // The objective is its optimum plus Σ reduced cost · distance from the bound, and no term of the sum is
        // positive. So a point is optimal only if each of these columns is at its bound.
        let reduced = self.reduced_costs(&self.cost);
        for (column, reduced) in reduced.iter().enumerate() {
            if !reduced.is_zero() {
                self.freeze(column);
            }
        }
    }

    /// Moves `column`, which is above `least`, down to it and fixes it there; returns `false` if it cannot reach it.
    pub(crate) fn lower_to(&mut self, column: usize, least: Rational) -> bool {
        // The bound keeps the column from moving beyond the value.
        self.lower[column] = Some(Perturbed::unperturbed(least.clone()));
        self.move_to(column, &least, -1)
    }

    /// Moves `column`, which is below `most`, up to it and fixes it there; returns `false` if it cannot reach it.
    pub(crate) fn raise_to(&mut self, column: usize, most: Rational) -> bool {
        self.upper[column] = Some(Perturbed::unperturbed(most.clone()));
        self.move_to(column, &most, 1)
    }

    fn move_to(&mut self, column: usize, end: &Rational, direction: i128) -> bool {
        let mut cost = vec![Rational::ZERO; self.columns.len()];
        cost[column] = Rational::int(direction);
        let optimal = matches!(self.maximise(&cost), SimplexOutcome::Optimal);
        let value = self.value_of(column);
        let reached = optimal && value.value == *end;
        if reached {
            self.lower[column] = Some(value.clone());
            self.upper[column] = Some(value);
        }
        reached
    }

    /// Current values of the program's columns.
    pub(crate) fn point(&self) -> Vec<Rational> {
        (0..self.width)
            .map(|column| self.value_of(column).value)
            .collect()
    }

    /// Row multipliers of the current basis for the program's own objective.
    pub(crate) fn multipliers(&self) -> Vec<Rational> {
        self.multipliers_for(&self.cost)
    }

    /// Columns of the program that are basic, ascending.
    pub(crate) fn basic_columns(&self) -> Vec<usize> {
        (0..self.width).filter(|&c| self.is_basic(c)).collect()
    }

    /// Rows that have neither a basic slack nor a basic artificial column, ascending. Only their multipliers may
    /// differ from 0.
    pub(crate) fn tight_rows(&self) -> Vec<usize> {
        let mut is_tight = vec![true; self.height];
        for &column in self.basis.iter().filter(|&&c| c >= self.width) {
            for (row, _) in self.columns.list(column) {
                is_tight[*row] = false;
            }
        }
        (0..self.height).filter(|&row| is_tight[row]).collect()
    }

    fn multipliers_for(&self, cost: &[Rational]) -> Vec<Rational> {
        let mut y = SparseVector::new(self.height);
        for (slot, &column) in self.basis.iter().enumerate() {
            if !cost[column].is_zero() {
                y.set(slot, cost[column].clone());
            }
        }
        self.factor.solve_transposed(&mut y);
        let mut multipliers = vec![Rational::ZERO; self.height];
        for (position, value) in y.iter() {
            multipliers[self.factor.row(position)] = value.clone();
        }
        multipliers
    }

    fn value_of(&self, column: usize) -> Perturbed {
        match self.status[column] {
            ColumnStatus::Basic(slot) => self.values[slot].clone(),
            ColumnStatus::AtLower => self.lower[column].clone().unwrap_or(Perturbed::ZERO),
            ColumnStatus::AtUpper => self.upper[column].clone().unwrap_or(Perturbed::ZERO),
        }
    }

    /// Computes the basic values from the bounds of the nonbasic columns.
    fn compute_basic_values(&mut self) {
        let mut value = SparseVector::new(self.height);
        let mut perturbation = SparseVector::new(self.height);
        for (row, rhs) in self.rhs.iter().enumerate() {
            value.set(self.factor.position(row), rhs.clone());
        }
        for column in 0..self.columns.len() {
            if self.is_basic(column) {
                continue;
            }
            let at = self.value_of(column);
            if at.is_zero() {
                continue;
            }
            for (row, entry) in self.columns.list(column) {
                let position = self.factor.position(*row);
                value.sub_mul(position, &at.value, entry);
                perturbation.sub_mul(position, &at.perturbation, entry);
            }
        }
        self.factor.solve(&mut value);
        self.factor.solve(&mut perturbation);
        self.values = (0..self.height)
            .map(|slot| Perturbed {
                value: value.get(slot).clone(),
                perturbation: perturbation.get(slot).clone(),
            })
            .collect();
    }

    /// Refactors the basis and renumbers its slots. Returns `false` if the basis is singular, which cannot happen: the
    /// pivots are exact and non-zero.
    fn refactor(&mut self) -> bool {
        let columns: Vec<&[(usize, Rational)]> =
            self.basis.iter().map(|&c| self.columns.list(c)).collect();
        let Some((factor, slots)) = LuFactors::factorize(self.height, &columns) else {
            return false;
        };
        let mut basis = self.basis.clone();
        let mut values = vec![Perturbed::ZERO; self.height];
        for (old, &slot) in slots.iter().enumerate() {
            basis[slot] = self.basis[old];
            values[slot] = std::mem::replace(&mut self.values[old], Perturbed::ZERO);
            self.status[self.basis[old]] = ColumnStatus::Basic(slot);
        }
        self.basis = basis;
        self.values = values;
        self.factor = factor;
        true
    }

    fn reduced_costs(&self, cost: &[Rational]) -> Vec<Rational> {
        let y = self.multipliers_for(cost);
        let mut reduced = vec![Rational::ZERO; self.columns.len()];
        for column in 0..self.columns.len() {
            if self.is_basic(column) {
                continue;
            }
            let mut d = cost[column].clone();
            for (row, entry) in self.columns.list(column) {
                if !y[*row].is_zero() {
                    d.sub_mul(&y[*row], entry);
                }
            }
            reduced[column] = d;
        }
        reduced
    }

    /// Computes the tableau row of `slot`: the entries of the nonbasic columns. `rho` is scratch space.
    fn tableau_row(&self, slot: usize, rho: &mut SparseVector, entries: &mut SparseVector) {
        rho.clear();
        rho.set(slot, Rational::ONE);
        self.factor.solve_transposed(rho);
        entries.clear();
        // Artificial columns are left out: one that has left the basis need not return.
        for (position, factor) in rho.iter() {
            let row = self.factor.row(position);
            let negated = factor.neg();
            for (column, entry) in self.rows.list(row) {
                if !self.is_basic(*column) {
                    entries.sub_mul(*column, &negated, entry);
                }
            }
            let slack = self.width + row;
            if !self.is_basic(slack) {
                entries.set(slack, factor.clone());
            }
        }
    }

    /// Computes `alpha = B⁻¹ a` for `column`: the change of the basic columns, by slot, when `column` moves.
    fn solved_column(&self, column: usize, alpha: &mut SparseVector) {
        alpha.clear();
        for (row, entry) in self.columns.list(column) {
            alpha.set(self.factor.position(*row), entry.clone());
        }
        self.factor.solve(alpha);
    }

    fn is_basic(&self, column: usize) -> bool {
        matches!(self.status[column], ColumnStatus::Basic(_))
    }

    /// Pivots until no column improves the objective. The basis must be feasible.
    fn maximise(&mut self, cost: &[Rational]) -> SimplexOutcome {
        if self.factor.is_exchanged() && !self.refactor() {
            return SimplexOutcome::GaveUp("singular basis");
        }
        let mut pricing = Pricing::new(self.reduced_costs(cost));
        for column in 0..self.columns.len() {
            pricing.refresh(column, self.can_improve(column, &pricing));
        }
        let mut alpha = SparseVector::new(self.height);
        let mut rho = SparseVector::new(self.height);
        let mut row = SparseVector::new(self.width + self.height);
        loop {
            let Some(entering) = pricing.best() else {
                return SimplexOutcome::Optimal;
            };
            if self.pivots_left == 0 {
                return SimplexOutcome::GaveUp("step budget used up");
            }
            if self.deadline.is_past() {
                return SimplexOutcome::GaveUp("the time limit is over");
            }
            self.pivots_left -= 1;
            let up = self.status[entering] == ColumnStatus::AtLower;
            self.solved_column(entering, &mut alpha);
            match self.ratio_test(entering, up, &alpha) {
                None => {
                    return SimplexOutcome::Unbounded {
                        direction: self.direction(entering, up, &alpha),
                        column: entering,
                    };
                }
                // Bound flip: the entering column reaches its other bound, and the basis stays.
                Some((step, None)) => {
                    self.move_basic_values(&step, up, &alpha);
                    self.status[entering] = if up {
                        ColumnStatus::AtUpper
                    } else {
                        ColumnStatus::AtLower
                    };
                    pricing.refresh(entering, false);
                }
                Some((step, Some((slot, side)))) => {
                    // The update of the reduced costs needs the row of the old basis, so `pivot` comes later.
                    self.tableau_row(slot, &mut rho, &mut row);
                    // The ratio test chooses among non-zero entries, so a zero pivot is a fault of the solver.
                    let Some(inverse) = alpha.get(slot).recip() else {
                        return SimplexOutcome::GaveUp("zero pivot");
                    };
                    let theta = pricing.reduced(entering).mul(&inverse);
                    let scale = inverse.approximate();
                    let leaving = self.basis[slot];
                    let reference = pricing.weight(entering);
                    if !self.pivot(entering, up, &alpha, &step, slot, side) {
                        return SimplexOutcome::GaveUp("singular basis");
                    }
                    for (column, entry) in row.iter().filter(|(column, _)| *column != entering) {
                        let mut reduced = pricing.reduced(column).clone();
                        reduced.sub_mul(&theta, entry);
                        // Devex update of the reference weight (Harris 1973).
                        let ratio = entry.approximate() * scale;
                        let weight = pricing.weight(column).max(ratio * ratio * reference);
                        pricing.update(column, reduced, weight);
                        pricing.refresh(column, self.can_improve(column, &pricing));
                    }
                    pricing.update(entering, Rational::ZERO, reference);
                    pricing.refresh(entering, false);
                    let weight = (reference * scale * scale).max(1.0);
                    pricing.update(leaving, theta.neg(), weight);
                    pricing.refresh(leaving, self.can_improve(leaving, &pricing));
                }
            }
        }
    }

    /// Whether `column` can move in the direction that improves the objective.
    fn can_improve(&self, column: usize, pricing: &Pricing) -> bool {
        let gains = matches!(
            (self.status[column], pricing.reduced(column).signum()),
            (ColumnStatus::AtLower, 1) | (ColumnStatus::AtUpper, -1)
        );
        // A fixed column has equal bounds and cannot move; two absent bounds also compare equal but fix nothing.
        gains && (self.lower[column].is_none() || self.lower[column] != self.upper[column])
    }

    /// Replaces the basic column of `slot`, which leaves to the bound `side`, by `entering`.
    fn pivot(
        &mut self,
        entering: usize,
        up: bool,
        alpha: &SparseVector,
        step: &Perturbed,
        slot: usize,
        side: ColumnStatus,
    ) -> bool {
        let leaving = self.basis[slot];
        let start = self.value_of(entering);
        self.move_basic_values(step, up, alpha);
        self.status[leaving] = side;
        if leaving >= self.width + self.height {
            // An artificial column never enters again.
            self.upper[leaving] = Some(Perturbed::ZERO);
            self.status[leaving] = ColumnStatus::AtLower;
        }
        self.basis[slot] = entering;
        self.status[entering] = ColumnStatus::Basic(slot);
        self.values[slot] = if up { start.add(step) } else { start.sub(step) };
        self.factor.exchange(slot, alpha) && (!self.factor.needs_refactoring() || self.refactor())
    }

    /// Ratio test: how far `entering` can move until a bound is reached; `None` if there is none. Ties are broken by
    /// the smallest column, so that the result is reproducible.
    fn ratio_test(&self, entering: usize, up: bool, alpha: &SparseVector) -> Option<RatioStep> {
        let mut best = match (&self.lower[entering], &self.upper[entering]) {
            (Some(lower), Some(upper)) => Some((upper.sub(lower), None)),
            _ => None,
        };
        for (slot, entry) in alpha.iter() {
            let column = self.basis[slot];
            let falls = entry.is_positive() == up;
            let (distance, side) = if falls {
                match &self.lower[column] {
                    Some(lower) => (self.values[slot].sub(lower), ColumnStatus::AtLower),
                    None => continue,
                }
            } else {
                match &self.upper[column] {
                    Some(upper) => (upper.sub(&self.values[slot]), ColumnStatus::AtUpper),
                    None => continue,
                }
            };
            let size = entry.abs();
            let closer = match &best {
                None => true,
                // Compares distance / size with the least step, without a division for each entry.
                Some((least, stop)) => match (distance.cmp_scaled(least, &size), stop) {
                    (Ordering::Less, _) => true,
                    (Ordering::Equal, Some((other, _))) => column < self.basis[*other],
                    _ => false,
                },
            };
            // `SparseVector::iter` yields non-zero entries only, so the reciprocal exists.
            if closer && let Some(inverse) = size.recip() {
                best = Some((distance.scale(&inverse), Some((slot, side))));
            }
        }
        best
    }

    /// Updates the basic values for a move of the entering column by `step`.
    fn move_basic_values(&mut self, step: &Perturbed, up: bool, alpha: &SparseVector) {
        if step.is_zero() {
            return;
        }
        let step = if up {
            step.clone()
        } else {
            Perturbed::ZERO.sub(step)
        };
        for (slot, entry) in alpha.iter() {
            self.values[slot].sub_mul(&step, entry);
        }
    }

    /// Direction of the program's columns when `entering` moves and the basic columns follow.
    fn direction(&self, entering: usize, up: bool, alpha: &SparseVector) -> Vec<Rational> {
        let mut direction = vec![Rational::ZERO; self.width];
        let sign = Rational::int(if up { 1 } else { -1 });
        // Slacks are no columns of the program and have no place in the direction.
        if let Some(own) = direction.get_mut(entering) {
            *own = sign.clone();
        }
        for (slot, entry) in alpha.iter() {
            if let Some(value) = direction.get_mut(self.basis[slot]) {
                value.sub_mul(&sign, entry);
            }
        }
        direction
    }
}

/// Perturbed bounds of the slack of a row: `row + slack = rhs`, so a `<=` row has a slack from 0 on, a `>=` row one up
/// to 0.
///
/// Every bound is relaxed by its own multiple of ε, which makes ties rare. A relaxation keeps every feasible point, and
/// a basis that is optimal for it is optimal for ε = 0.
fn slack_bounds(row: usize, relation: Relation) -> (Option<Perturbed>, Option<Perturbed>) {
    let perturbation = |salt: u64| Rational::int(perturbation_of(2 * row as u64 + salt).into());
    let below = Perturbed {
        value: Rational::ZERO,
        perturbation: perturbation(0).neg(),
    };
    let above = Perturbed {
        value: Rational::ZERO,
        perturbation: perturbation(1),
    };
    (
        (relation != Relation::Ge).then_some(below),
        (relation != Relation::Le).then_some(above),
    )
}

/// Pseudo-random number in 1..=1024 (splitmix64), the same in every run.
fn perturbation_of(seed: u64) -> i64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) & 0x3ff) as i64 + 1
}
