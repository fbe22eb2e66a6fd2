use std::fmt;

/// A variable of one [`Model`]; only [`Model::add_var`] makes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VarId(pub(crate) u32);

impl VarId {
    /// Position in [`Model::vars`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A row of one [`Model`]; only [`Model::add_row`] makes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId(pub(crate) u32);

impl RowId {
    /// Position in [`Model::rows`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A non-negative integer unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// What it counts, for people: `x block 0x0040`.
    pub label: String,
    /// The largest value it may take; `None` when nothing is known.
    pub upper: Option<u64>,
    /// What one unit of it adds to the objective.
    pub cost: i64,
}

/// How the left side of a row compares with its right side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Relation {
    /// Left ≤ right.
    Le,
    /// Left ≥ right.
    Ge,
    /// Left = right.
    Eq,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::Le => "<=",
            Relation::Ge => ">=",
            Relation::Eq => "=",
        })
    }
}

/// One linear constraint: the sum of `coefficient * variable` compared with `rhs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// A short name.
    pub label: String,
    /// Why it holds, shown to the user where the row matters.
    pub reason: String,
    /// The left side. A variable may occur more than once; its coefficients add up.
    pub terms: Vec<(VarId, i64)>,
    /// How the sides compare.
    pub relation: Relation,
    /// The right side.
    pub rhs: i128,
}

/// An integer program: maximise the sum of `cost * variable` over the non-negative integers that obey every row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntegerProgram {
    vars: Vec<Var>,
    rows: Vec<Constraint>,
}

impl IntegerProgram {
    /// A model without variables and rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable with its cost and, if one is known, its largest value.
    pub fn add_var(&mut self, label: impl Into<String>, cost: i64, upper: Option<u64>) -> VarId {
        // More than 2^32 variables do not fit in memory.
        let id = VarId(self.vars.len() as u32);
        self.vars.push(Var {
            label: label.into(),
            upper,
            cost,
        });
        id
    }

    /// Adds a row. The variables must be this model's: `solve` and `verify` refuse a model where one is not.
    pub fn add_row(
        &mut self,
        label: impl Into<String>,
        reason: impl Into<String>,
        terms: impl IntoIterator<Item = (VarId, i64)>,
        relation: Relation,
        rhs: i128,
    ) -> RowId {
        let id = RowId(self.rows.len() as u32);
        self.rows.push(Constraint {
            label: label.into(),
            reason: reason.into(),
            terms: terms.into_iter().collect(),
            relation,
            rhs,
        });
        id
    }

    /// All variables, in the order they were added.
    pub fn vars(&self) -> &[Var] {
        &self.vars
    }

    /// All rows, in the order they were added.
    pub fn rows(&self) -> &[Constraint] {
        &self.rows
    }

    /// The variable `id`, when it is one of this model's.
    pub fn var(&self, id: VarId) -> Option<&Var> {
        self.vars.get(id.index())
    }

    /// The row `id`, when it is one of this model's.
    pub fn row(&self, id: RowId) -> Option<&Constraint> {
        self.rows.get(id.index())
    }

    /// The first variable with this label.
    pub fn find_var(&self, label: &str) -> Option<VarId> {
        (0u32..)
            .zip(&self.vars)
            .find(|(_, var)| var.label == label)
            .map(|(index, _)| VarId(index))
    }

    /// Changes what one unit of `id` adds to the objective; `false` when it is not one of this model's.
    pub fn set_cost(&mut self, id: VarId, cost: i64) -> bool {
        self.vars
            .get_mut(id.index())
            .map(|var| var.cost = cost)
            .is_some()
    }

    /// The first row that names a variable of another model, if there is one.
    pub(crate) fn foreign_row(&self) -> Option<&Constraint> {
        self.rows
            .iter()
            .find(|row| row.terms.iter().any(|&(var, _)| self.var(var).is_none()))
    }

    /// The row `id` spelled out with labels: `2*[x a] - [x b] <= 3`; empty for a row of another model.
    pub fn format_row(&self, id: RowId) -> String {
        let Some(row) = self.row(id) else {
            return String::new();
        };
        let mut text = String::new();
        for (position, &(var, coefficient)) in row.terms.iter().enumerate() {
            text.push_str(match (position, coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            if coefficient.unsigned_abs() != 1 {
                text.push_str(&format!("{}*", coefficient.unsigned_abs()));
            }
            let label = self.var(var).map_or("?", |var| var.label.as_str());
            text.push_str(&format!("[{label}]"));
        }
        if row.terms.is_empty() {
            text.push('0');
        }
        text.push_str(&format!(" {} {}", row.relation, row.rhs));
        text
    }
}
