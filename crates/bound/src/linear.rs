use crate::exact::Exact;
use crate::model::{IntegerProgram, Relation};

/// A sparse exact linear program: maximise `cost · x` with `0 <= x <= upper` and rows as given.
///
/// Column and row numbers are positions; columns are the model's variables, rows its rows.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    /// Non-zero coefficients of each column, ascending by row.
    pub(crate) columns: Vec<Vec<(usize, Exact)>>,
    pub(crate) upper: Vec<Option<Exact>>,
    pub(crate) cost: Vec<Exact>,
    pub(crate) relation: Vec<Relation>,
    pub(crate) rhs: Vec<Exact>,
}

impl Linear {
    /// The continuous relaxation of `model`, whose rows must name its own variables only.
    pub(crate) fn relax(model: &IntegerProgram) -> Linear {
        let mut columns: Vec<Vec<(usize, Exact)>> = vec![Vec::new(); model.vars().len()];
        for (index, row) in model.rows().iter().enumerate() {
            for &(var, coefficient) in &row.terms {
                let Some(column) = columns.get_mut(var.index()) else {
                    continue;
                };
                let coefficient = Exact::int(coefficient.into());
                match column.last_mut() {
                    Some((last, sum)) if *last == index => *sum = sum.add(&coefficient),
                    _ => column.push((index, coefficient)),
                }
            }
        }
        for column in &mut columns {
            column.retain(|(_, coefficient)| !coefficient.is_zero());
        }
        Linear {
            columns,
            upper: model
                .vars()
                .iter()
                .map(|var| var.upper.map(|upper| Exact::int(upper.into())))
                .collect(),
            cost: model
                .vars()
                .iter()
                .map(|var| Exact::int(var.cost.into()))
                .collect(),
            relation: model.rows().iter().map(|row| row.relation).collect(),
            rhs: model.rows().iter().map(|row| Exact::int(row.rhs)).collect(),
        }
    }

    pub(crate) fn height(&self) -> usize {
        self.rhs.len()
    }

    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }
}
