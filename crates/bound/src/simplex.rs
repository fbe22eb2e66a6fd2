use std::cmp::Ordering;

use warpbound_base::Deadline;

use crate::exact::{Exact, Nudged};
use crate::factor::Factor;
use crate::linear::Linear;
use crate::model::Relation;
use crate::pricing::Pricing;
use crate::sparse::{Lists, Sparse, transposed};

/// The exact bounded revised simplex method.
///
/// Columns are numbered: the program's, then one *slack* per row (`row + slack = rhs`), then one *artificial* per row
/// that the origin violates. Everything that decides is exact; floats only rank candidates.
#[derive(Debug)]
pub(crate) struct Simplex {
    height: usize,
    /// Columns of the program itself.
    width: usize,
    columns: Lists<(usize, Exact)>,
    /// The program by rows, for pricing; slacks and artificials are not in it.
    rows: Lists<(usize, Exact)>,
    cost: Vec<Exact>,
    lower: Vec<Option<Nudged>>,
    upper: Vec<Option<Nudged>>,
    rhs: Vec<Exact>,
    status: Vec<Status>,
    /// Column that is basic in each slot.
    basis: Vec<usize>,
    /// Value of the basic column of each slot.
    values: Vec<Nudged>,
    factor: Factor,
    pivots_left: usize,
    deadline: Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Basic, in this slot.
    Basic(usize),
    AtLower,
    AtUpper,
}

/// How a linear program ended.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// Solved; ask [`Simplex::point`] and [`Simplex::multipliers`].
    Optimal,
    /// This direction of the program's columns never leaves the feasible set and always gains. Also given: the column
    /// that started it.
    Unbounded {
        direction: Vec<Exact>,
        column: usize,
    },
    /// No point obeys the rows; with these row multipliers the rows contradict each other.
    Infeasible { multipliers: Vec<Exact> },
    /// The step budget is used up, or an internal invariant failed.
    GaveUp(&'static str),
}

/// How far a column can move, and the slot that stops it with the bound it reaches; `None`: its own other bound.
type Step = (Nudged, Option<(usize, Status)>);

impl Simplex {
    /// Prepares `linear`, allowing `pivots` steps in total until the deadline.
    pub(crate) fn new(linear: &Linear, pivots: usize, deadline: Deadline) -> Option<Simplex> {
        let (height, width) = (linear.height(), linear.width());
        let mut columns = Lists::with_capacity(width + 2 * height);
        for column in &linear.columns {
            columns.push(column.iter().cloned());
        }
        let rows = transposed(height, &columns);
        for row in 0..height {
            columns.push([(row, Exact::ONE)]);
        }
        let mut cost = linear.cost.clone();
        cost.resize(columns.len(), Exact::ZERO);
        let mut lower = vec![Some(Nudged::ZERO); width];
        let mut upper: Vec<Option<Nudged>> = linear
            .upper
            .iter()
            .map(|upper| upper.clone().map(Nudged::plain))
            .collect();
        for (row, relation) in linear.relation.iter().enumerate() {
            // Relaxing every row by its own multiple of ε makes ties rare. A relaxation keeps every feasible
            // point, and a basis optimal for it is optimal for ε = 0.
            let nudge = |salt: u64| Exact::int(nudge_of(2 * row as u64 + salt).into());
            let below = Nudged {
                value: Exact::ZERO,
                nudge: nudge(0).neg(),
            };
            let above = Nudged {
                value: Exact::ZERO,
                nudge: nudge(1),
            };
            lower.push((*relation != Relation::Ge).then_some(below));
            upper.push((*relation != Relation::Le).then_some(above));
        }
        let mut status = vec![Status::AtLower; columns.len()];
        let mut basis = Vec::with_capacity(height);
        for (row, rhs) in linear.rhs.iter().enumerate() {
            let slack = width + row;
            let value = Nudged::plain(rhs.clone());
            let nearest = match (&lower[slack], &upper[slack]) {
                (Some(bound), _) if value < *bound => Some((Status::AtLower, bound)),
                (_, Some(bound)) if value > *bound => Some((Status::AtUpper, bound)),
                _ => None,
            };
            match nearest {
                None => {
                    basis.push(slack);
                }
                Some((side, bound)) => {
                    let sign = if value < *bound { -1 } else { 1 };
                    status[slack] = side;
                    basis.push(columns.len());
                    status.push(Status::AtLower);
                    columns.push([(row, Exact::int(sign))]);
                    cost.push(Exact::ZERO);
                    lower.push(Some(Nudged::ZERO));
                    upper.push(None);
                }
            }
        }
        let starting: Vec<&[(usize, Exact)]> = basis.iter().map(|&c| columns.of(c)).collect();
        let (factor, slots) = Factor::of(height, &starting)?;
        let mut slotted = basis.clone();
        for (&column, &slot) in basis.iter().zip(&slots) {
            slotted[slot] = column;
            status[column] = Status::Basic(slot);
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
        simplex.evaluate();
        Some(simplex)
    }

    /// Solves from the starting basis.
    pub(crate) fn run(&mut self) -> Verdict {
        let first_artificial = self.width + self.height;
        if self.columns.len() > first_artificial {
            let mut phase_one = vec![Exact::ZERO; first_artificial];
            phase_one.resize(self.columns.len(), Exact::int(-1));
            match self.maximise(&phase_one) {
                Verdict::Optimal => {}
                Verdict::Unbounded { .. } => return Verdict::GaveUp("phase one without end"),
                other => return other,
            }
            let violated = (0..self.height)
                .any(|slot| self.basis[slot] >= first_artificial && !self.values[slot].is_zero());
            if violated {
                return Verdict::Infeasible {
                    multipliers: self.multipliers_for(&phase_one),
                };
            }
            for column in first_artificial..self.columns.len() {
                self.upper[column] = Some(Nudged::ZERO);
            }
        }
        let cost = self.cost.clone();
        self.maximise(&cost)
    }

    /// Keeps `column` at the value it has, so that the next [`Simplex::resume`] looks elsewhere.
    pub(crate) fn freeze(&mut self, column: usize) {
        match self.status[column] {
            Status::AtLower => self.upper[column] = self.lower[column].clone(),
            Status::AtUpper => self.lower[column] = self.upper[column].clone(),
            Status::Basic(_) => {}
        }
    }

    /// Goes on with the program's own objective from a feasible basis.
    pub(crate) fn resume(&mut self) -> Verdict {
        let cost = self.cost.clone();
        self.maximise(&cost)
    }

    /// Keeps every column that would change the objective where it is: what can still move leaves it at its optimum.
    /// The basis must be optimal.
    pub(crate) fn keep_optimal(&mut self) {
        let reduced = self.reduced_costs(&self.cost);
        for (column, reduced) in reduced.iter().enumerate() {
            if !reduced.is_zero() {
                self.freeze(column);
            }
        }
    }

    /// Moves `column`, which is above `least`, down to it and keeps it there; `false` where it does not reach it.
    pub(crate) fn lower_to(&mut self, column: usize, least: Exact) -> bool {
        self.lower[column] = Some(Nudged::plain(least.clone()));
        self.take_to(column, &least, -1)
    }

    /// Moves `column`, which is below `most`, up to it and keeps it there; `false` where it does not reach it.
    pub(crate) fn raise_to(&mut self, column: usize, most: Exact) -> bool {
        self.upper[column] = Some(Nudged::plain(most.clone()));
        self.take_to(column, &most, 1)
    }

    fn take_to(&mut self, column: usize, end: &Exact, direction: i128) -> bool {
        let mut cost = vec![Exact::ZERO; self.columns.len()];
        cost[column] = Exact::int(direction);
        let optimal = matches!(self.maximise(&cost), Verdict::Optimal);
        let value = self.value_of(column);
        let reached = optimal && value.value == *end;
        if reached {
            self.lower[column] = Some(value.clone());
            self.upper[column] = Some(value);
        }
        reached
    }

    /// The current point of the program's columns.
    pub(crate) fn point(&self) -> Vec<Exact> {
        (0..self.width)
            .map(|column| self.value_of(column).value)
            .collect()
    }

    /// The row multipliers of the current basis for the program's own objective.
    pub(crate) fn multipliers(&self) -> Vec<Exact> {
        self.multipliers_for(&self.cost)
    }

    fn multipliers_for(&self, cost: &[Exact]) -> Vec<Exact> {
        let mut y = Sparse::new(self.height);
        for (slot, &column) in self.basis.iter().enumerate() {
            if !cost[column].is_zero() {
                y.set(slot, cost[column].clone());
            }
        }
        self.factor.solve_transposed(&mut y);
        let mut multipliers = vec![Exact::ZERO; self.height];
        for (position, value) in y.iter() {
            multipliers[self.factor.row(position)] = value.clone();
        }
        multipliers
    }

    fn value_of(&self, column: usize) -> Nudged {
        match self.status[column] {
            Status::Basic(slot) => self.values[slot].clone(),
            Status::AtLower => self.lower[column].clone().unwrap_or(Nudged::ZERO),
            Status::AtUpper => self.upper[column].clone().unwrap_or(Nudged::ZERO),
        }
    }

    /// Computes the basic values from the bounds the others sit at.
    fn evaluate(&mut self) {
        let mut value = Sparse::new(self.height);
        let mut nudge = Sparse::new(self.height);
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
            for (row, entry) in self.columns.of(column) {
                let position = self.factor.position(*row);
                value.sub_mul(position, &at.value, entry);
                nudge.sub_mul(position, &at.nudge, entry);
            }
        }
        self.factor.solve(&mut value);
        self.factor.solve(&mut nudge);
        self.values = (0..self.height)
            .map(|slot| Nudged {
                value: value.get(slot).clone(),
                nudge: nudge.get(slot).clone(),
            })
            .collect();
    }

    /// Factors the basis anew; slots are renumbered. `false` if the basis is singular, which cannot happen.
    fn refactor(&mut self) -> bool {
        let columns: Vec<&[(usize, Exact)]> =
            self.basis.iter().map(|&c| self.columns.of(c)).collect();
        let Some((factor, slots)) = Factor::of(self.height, &columns) else {
            return false;
        };
        let mut basis = self.basis.clone();
        let mut values = vec![Nudged::ZERO; self.height];
        for (old, &slot) in slots.iter().enumerate() {
            basis[slot] = self.basis[old];
            values[slot] = std::mem::replace(&mut self.values[old], Nudged::ZERO);
            self.status[self.basis[old]] = Status::Basic(slot);
        }
        self.basis = basis;
        self.values = values;
        self.factor = factor;
        true
    }

    fn reduced_costs(&self, cost: &[Exact]) -> Vec<Exact> {
        let y = self.multipliers_for(cost);
        let mut reduced = vec![Exact::ZERO; self.columns.len()];
        for column in 0..self.columns.len() {
            if self.is_basic(column) {
                continue;
            }
            let mut d = cost[column].clone();
            for (row, entry) in self.columns.of(column) {
                if !y[*row].is_zero() {
                    d.sub_mul(&y[*row], entry);
                }
            }
            reduced[column] = d;
        }
        reduced
    }

    /// The row of `slot` of the tableau: the entries of the columns that are not basic. `rho` is room to work in.
    fn tableau_row(&self, slot: usize, rho: &mut Sparse, entries: &mut Sparse) {
        rho.clear();
        rho.set(slot, Exact::ONE);
        self.factor.solve_transposed(rho);
        entries.clear();
        for (position, factor) in rho.iter() {
            let row = self.factor.row(position);
            let negated = factor.neg();
            for (column, entry) in self.rows.of(row) {
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

    /// How the basic columns follow when `column` moves: `alpha`, by slot.
    fn solved_column(&self, column: usize, alpha: &mut Sparse) {
        alpha.clear();
        for (row, entry) in self.columns.of(column) {
            alpha.set(self.factor.position(*row), entry.clone());
        }
        self.factor.solve(alpha);
    }

    fn is_basic(&self, column: usize) -> bool {
        matches!(self.status[column], Status::Basic(_))
    }

    /// Moves along improving edges until none is left. The basis must be feasible.
    fn maximise(&mut self, cost: &[Exact]) -> Verdict {
        if self.factor.is_exchanged() && !self.refactor() {
            return Verdict::GaveUp("singular basis");
        }
        let mut pricing = Pricing::new(self.reduced_costs(cost));
        for column in 0..self.columns.len() {
            pricing.refresh(column, self.gains(column, &pricing));
        }
        let mut alpha = Sparse::new(self.height);
        let mut rho = Sparse::new(self.height);
        let mut row = Sparse::new(self.width + self.height);
        loop {
            let Some(entering) = pricing.best() else {
                return Verdict::Optimal;
            };
            if self.pivots_left == 0 {
                return Verdict::GaveUp("step budget used up");
            }
            if self.deadline.is_past() {
                return Verdict::GaveUp("the time limit is over");
            }
            self.pivots_left -= 1;
            let up = self.status[entering] == Status::AtLower;
            self.solved_column(entering, &mut alpha);
            match self.ratio_test(entering, up, &alpha) {
                None => {
                    return Verdict::Unbounded {
                        direction: self.direction(entering, up, &alpha),
                        column: entering,
                    };
                }
                Some((step, None)) => {
                    self.shift(&step, up, &alpha);
                    self.status[entering] = if up { Status::AtUpper } else { Status::AtLower };
                    pricing.refresh(entering, false);
                }
                Some((step, Some((slot, side)))) => {
                    self.tableau_row(slot, &mut rho, &mut row);
                    let Some(inverse) = alpha.get(slot).recip() else {
                        return Verdict::GaveUp("zero pivot");
                    };
                    let theta = pricing.reduced(entering).mul(&inverse);
                    let scale = inverse.approximate();
                    let leaving = self.basis[slot];
                    let reference = pricing.weight(entering);
                    if !self.pivot(entering, up, &alpha, &step, slot, side) {
                        return Verdict::GaveUp("singular basis");
                    }
                    for (column, entry) in row.iter().filter(|(column, _)| *column != entering) {
                        let mut reduced = pricing.reduced(column).clone();
                        reduced.sub_mul(&theta, entry);
                        let ratio = entry.approximate() * scale;
                        let weight = pricing.weight(column).max(ratio * ratio * reference);
                        pricing.update(column, reduced, weight);
                        pricing.refresh(column, self.gains(column, &pricing));
                    }
                    pricing.update(entering, Exact::ZERO, reference);
                    pricing.refresh(entering, false);
                    let weight = (reference * scale * scale).max(1.0);
                    pricing.update(leaving, theta.neg(), weight);
                    pricing.refresh(leaving, self.gains(leaving, &pricing));
                }
            }
        }
    }

    /// Whether `column` can move in the direction that gains.
    fn gains(&self, column: usize, pricing: &Pricing) -> bool {
        let gains = matches!(
            (self.status[column], pricing.reduced(column).signum()),
            (Status::AtLower, 1) | (Status::AtUpper, -1)
        );
        gains && (self.lower[column].is_none() || self.lower[column] != self.upper[column])
    }

    /// Exchanges the basic column of `slot`, which ends at `side`, for `entering`.
    fn pivot(
        &mut self,
        entering: usize,
        up: bool,
        alpha: &Sparse,
        step: &Nudged,
        slot: usize,
        side: Status,
    ) -> bool {
        let leaving = self.basis[slot];
        let start = self.value_of(entering);
        self.shift(step, up, alpha);
        self.status[leaving] = side;
        if leaving >= self.width + self.height {
            // An artificial never comes back.
            self.upper[leaving] = Some(Nudged::ZERO);
            self.status[leaving] = Status::AtLower;
        }
        self.basis[slot] = entering;
        self.status[entering] = Status::Basic(slot);
        self.values[slot] = if up { start.add(step) } else { start.sub(step) };
        self.factor.exchange(slot, alpha) && (!self.factor.is_worn() || self.refactor())
    }

    /// How far `entering` can move; `None` when nothing stops it.
    fn ratio_test(&self, entering: usize, up: bool, alpha: &Sparse) -> Option<Step> {
        let mut best = match (&self.lower[entering], &self.upper[entering]) {
            (Some(lower), Some(upper)) => Some((upper.sub(lower), None)),
            _ => None,
        };
        for (slot, entry) in alpha.iter() {
            let column = self.basis[slot];
            let falls = entry.is_positive() == up;
            let (room, side) = if falls {
                match &self.lower[column] {
                    Some(lower) => (self.values[slot].sub(lower), Status::AtLower),
                    None => continue,
                }
            } else {
                match &self.upper[column] {
                    Some(upper) => (upper.sub(&self.values[slot]), Status::AtUpper),
                    None => continue,
                }
            };
            let size = entry.abs();
            let closer = match &best {
                None => true,
                Some((least, stop)) => match (room.cmp_scaled(least, &size), stop) {
                    (Ordering::Less, _) => true,
                    (Ordering::Equal, Some((other, _))) => column < self.basis[*other],
                    _ => false,
                },
            };
            if closer && let Some(inverse) = size.recip() {
                best = Some((room.scale(&inverse), Some((slot, side))));
            }
        }
        best
    }

    /// Moves the basic values by `step` of the entering column.
    fn shift(&mut self, step: &Nudged, up: bool, alpha: &Sparse) {
        if step.is_zero() {
            return;
        }
        let step = if up {
            step.clone()
        } else {
            Nudged::ZERO.sub(step)
        };
        for (slot, entry) in alpha.iter() {
            self.values[slot].sub_mul(&step, entry);
        }
    }

    /// The direction of the program's columns when `entering` moves and the basic ones follow.
    fn direction(&self, entering: usize, up: bool, alpha: &Sparse) -> Vec<Exact> {
        let mut direction = vec![Exact::ZERO; self.width];
        let sign = Exact::int(if up { 1 } else { -1 });
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

/// A reproducible scattered number in 1..=1024.
fn nudge_of(seed: u64) -> i64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) & 0x3ff) as i64 + 1
}
