use crate::exact::{Exact, Nudged};
use crate::simplex::{Simplex, Status};

/// How [`Simplex::repair`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// The basis is optimal again.
    Optimal,
    /// No point obeys the tightened bounds.
    Empty,
    /// The step budget is used up.
    GaveUp,
}

/// The dual simplex method: for the search, which tightens the bounds of a solved program.
impl Simplex {
    /// Drops the ε parts; the basis stays optimal.
    pub(crate) fn forget_nudges(&mut self) {
        let bounds = self.lower.iter_mut().chain(&mut self.upper).flatten();
        for bound in bounds.chain(&mut self.values) {
            bound.nudge = Exact::ZERO;
        }
    }

    /// Takes over what is left of the step budget of a copy of this.
    pub(crate) fn charge(&mut self, copy: &Simplex) {
        self.pivots_left = copy.pivots_left;
    }

    /// Raises the lower bound of `column` where the new one is tighter; [`Simplex::repair`] must follow.
    pub(crate) fn raise_lower(&mut self, column: usize, lower: Nudged) {
        if self.lower[column].as_ref().is_none_or(|old| lower > *old) {
            self.lower[column] = Some(lower);
        }
    }

    /// Reduces the upper bound of `column` where the new one is tighter; [`Simplex::repair`] must follow.
    pub(crate) fn reduce_upper(&mut self, column: usize, upper: Nudged) {
        if self.upper[column].as_ref().is_none_or(|old| upper < *old) {
            self.upper[column] = Some(upper);
        }
    }

    /// The dual simplex method: from an optimal basis whose bounds were tightened since to an optimal one again.
    pub(crate) fn repair(&mut self) -> Repair {
        let crossed = (0..self.columns.len()).any(|column| {
            matches!((&self.lower[column], &self.upper[column]), (Some(l), Some(u)) if l > u)
        });
        if crossed {
            return Repair::Empty;
        }
        if self.factor.age() > 0 && !self.refactor() {
            return Repair::GaveUp;
        }
        self.evaluate();
        let cost = self.cost.clone();
        let mut reduced = self.reduced_costs(&cost);
        loop {
            let Some((slot, side, step_sign)) = self.most_violated() else {
                return Repair::Optimal;
            };
            if self.pivots_left == 0 {
                return Repair::GaveUp;
            }
            self.pivots_left -= 1;
            let row = self.tableau_row(slot);
            let mut best: Option<(Exact, usize)> = None;
            for (column, entry) in &row {
                let up = match self.status[*column] {
                    Status::AtLower => true,
                    Status::AtUpper => false,
                    Status::Basic(_) => continue,
                };
                // The basic value moves by -entry per unit; it must move towards its bound.
                let toward = if up { -entry.signum() } else { entry.signum() };
                if toward != step_sign
                    || (self.lower[*column].is_some() && self.lower[*column] == self.upper[*column])
                {
                    continue;
                }
                let Some(inverse) = entry.recip() else {
                    continue;
                };
                let ratio = reduced[*column].mul(&inverse);
                let ratio = if ratio.is_negative() {
                    ratio.neg()
                } else {
                    ratio
                };
                let better = match &best {
                    None => true,
                    Some((least, other)) => (&ratio, column) < (least, other),
                };
                if better {
                    best = Some((ratio, *column));
                }
            }
            let Some((_, entering)) = best else {
                return Repair::Empty;
            };
            let alpha = self.solved_column(entering);
            let Some(inverse) = alpha[slot].recip() else {
                return Repair::GaveUp;
            };
            let theta = reduced[entering].mul(&inverse);
            for (column, entry) in &row {
                reduced[*column].sub_mul(&theta, entry);
            }
            let leaving = self.basis[slot];
            reduced[entering] = Exact::ZERO;
            reduced[leaving] = theta.neg();
            let up = self.status[entering] == Status::AtLower;
            let bound = match side {
                Status::AtUpper => self.upper[leaving].clone(),
                _ => self.lower[leaving].clone(),
            };
            let Some(bound) = bound else {
                return Repair::GaveUp;
            };
            let signed = self.values[slot].sub(&bound).scale(&inverse);
            let step = if up {
                signed
            } else {
                Nudged::ZERO.sub(&signed)
            };
            if !self.pivot(entering, up, &alpha, &step, slot, side) {
                return Repair::GaveUp;
            }
        }
    }

    /// The basic value furthest outside its bounds: its slot, the bound it violates, and the sign it must move in.
    fn most_violated(&self) -> Option<(usize, Status, i32)> {
        let mut best: Option<(Nudged, usize, Status, i32)> = None;
        for (slot, value) in self.values.iter().enumerate() {
            let column = self.basis[slot];
            let candidate = match (&self.lower[column], &self.upper[column]) {
                (Some(lower), _) if value < lower => (lower.sub(value), Status::AtLower, 1),
                (_, Some(upper)) if value > upper => (value.sub(upper), Status::AtUpper, -1),
                _ => continue,
            };
            if best.as_ref().is_none_or(|(most, ..)| candidate.0 > *most) {
                best = Some((candidate.0, slot, candidate.1, candidate.2));
            }
        }
        best.map(|(_, slot, side, sign)| (slot, side, sign))
    }
}
