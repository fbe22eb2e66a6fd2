use crate::exact::Rational;
use crate::model::{IntegerProgram, Relation};

/// Sparse exact linear program: maximise `cost · x` with `0 <= x <= upper` and rows as given.
///
/// Columns and rows are indices of the variables and rows of the integer program.
#[derive(Clone, Debug)]
pub(crate) struct LinearProgram {
    /// Non-zero coefficients of each column, ascending by row.
    pub(crate) columns: Vec<Vec<(usize, Rational)>>,
    pub(crate) upper: Vec<Option<Rational>>,
    pub(crate) cost: Vec<Rational>,
    pub(crate) relation: Vec<Relation>,
    pub(crate) rhs: Vec<Rational>,
}

impl LinearProgram {
    /// Returns the continuous relaxation of `model`, whose rows must have only variables of `model`.
    pub(crate) fn relax(model: &IntegerProgram) -> LinearProgram {
        let mut columns: Vec<Vec<(usize, Rational)>> = vec![Vec::new(); model.vars().len()];
        for (index, row) in model.rows().iter().enumerate() {
            for &(var, coefficient) in &row.terms {
                // Callers have refused programs with foreign variables, see `IntegerProgram::foreign_row`.
                let Some(column) = columns.get_mut(var.index()) else {
                    continue;
                };
                let coefficient = Rational::int(coefficient.into());
                // A variable may occur in a row more than once; rows are visited in order, so its entry is the last.
                match column.last_mut() {
                    Some((last, sum)) if *last == index => *sum = sum.add(&coefficient),
                    _ => column.push((index, coefficient)),
                }
            }
        }
        for column in &mut columns {
            column.retain(|(_, coefficient)| !coefficient.is_zero());
        }
        LinearProgram {
            columns,
            upper: model
                .vars()
                .iter()
                .map(|var| var.upper.map(|upper| Rational::int(upper.into())))
                .collect(),
            cost: model
                .vars()
                .iter()
                .map(|var| Rational::int(var.cost.into()))
                .collect(),
            relation: model.rows().iter().map(|row| row.relation).collect(),
            rhs: model
                .rows()
                .iter()
                .map(|row| Rational::int(row.rhs))
                .collect(),
        }
    }

    pub(crate) fn height(&self) -> usize {
        self.rhs.len()
    }

    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }
}
