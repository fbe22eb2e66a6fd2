use std::fmt;

/// Variable of an [`IntegerProgram`]; made only by [`IntegerProgram::add_var`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VarId(pub(crate) u32);

impl VarId {
    /// Index into [`IntegerProgram::vars`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Row of an [`IntegerProgram`]; made only by [`IntegerProgram::add_row`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId(pub(crate) u32);

impl RowId {
    /// Index into [`IntegerProgram::rows`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Non-negative integer variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Label for messages, such as `warp 3 → 4`.
    pub label: String,
    /// Upper bound; `None` if there is none.
    pub upper: Option<u64>,
    /// Coefficient in the objective.
    pub cost: i64,
}

/// Relation of the left side of a row to its right side.
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

/// Linear constraint: the sum of `coefficient * variable` compared with `rhs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// Short name.
    pub label: String,
    /// Reason why it holds, shown to the user where the row is binding.
    pub reason: String,
    /// Left side. A variable may occur more than once; its coefficients add up.
    pub terms: Vec<(VarId, i64)>,
    /// Relation of the sides.
    pub relation: Relation,
    /// Right side.
    pub rhs: i128,
}

/// Integer program: maximise the sum of `cost * variable` over the non-negative integers that satisfy every row. For
/// example, the objective `3*a + b` with the row `a + b <= 4` has the optimum 12, at a = 4 and b = 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntegerProgram {
    vars: Vec<Var>,
    rows: Vec<Constraint>,
}

impl IntegerProgram {
    /// Creates a program without variables and rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable with its cost and, if there is one, its upper bound.
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

    /// Adds a row. The variables must belong to this program: `solve` and `verify` reject a program where one does not.
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

    /// All variables, in the order of their addition.
    pub fn vars(&self) -> &[Var] {
        &self.vars
    }

    /// All rows, in the order of their addition.
    pub fn rows(&self) -> &[Constraint] {
        &self.rows
    }

    /// Variable `id`; `None` if it belongs to another program.
    pub fn var(&self, id: VarId) -> Option<&Var> {
        self.vars.get(id.index())
    }

    /// Row `id`; `None` if it belongs to another program.
    pub fn row(&self, id: RowId) -> Option<&Constraint> {
        self.rows.get(id.index())
    }

    /// First variable with this label.
    pub fn find_var(&self, label: &str) -> Option<VarId> {
        (0u32..)
            .zip(&self.vars)
            .find(|(_, var)| var.label == label)
            .map(|(index, _)| VarId(index))
    }

    /// Sets the cost of a variable; returns `false` if it belongs to another program.
    pub fn set_cost(&mut self, id: VarId, cost: i64) -> bool {
        self.vars
            .get_mut(id.index())
            .map(|var| var.cost = cost)
            .is_some()
    }

    /// First row with a variable of another program, if there is one.
    pub(crate) fn foreign_row(&self) -> Option<&Constraint> {
        self.rows
            .iter()
            .find(|row| row.terms.iter().any(|&(var, _)| self.var(var).is_none()))
    }

    /// Text of a row with labels: `2*[x a] - [x b] <= 3`; empty for a row of another program.
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
