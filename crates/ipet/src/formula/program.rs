//! Integer programs with loop counts as symbols.

use warpbound_base::Diagnostic;

use crate::model::{IntegerProgram, VarId};

/// Integer program whose coefficients may contain symbols, the counts of loops, which are at least 1. For example,
/// the row `header - n*entry <= 0` of a loop with the count n has the coefficient -n.
///
/// Its variables, costs, relations and right sides are the same for all values of the symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolicProgram {
    /// Program for the value 0 of every symbol.
    base: IntegerProgram,
    /// For each row, the coefficients of symbols: position of the term, symbol and number.
    slopes: Vec<Vec<(usize, usize, i64)>>,
    symbols: usize,
}

/// Values of the symbols that are used to compare a built program with its symbolic form. At 0 and 1 a square looks
/// like its symbol, and with one symbol at a time products are not seen; these values show both.
fn trial(symbols: usize) -> Vec<u64> {
    (0..symbols as u64).map(|symbol| 5 + 3 * symbol).collect()
}

impl SymbolicProgram {
    /// Reads the coefficients of `symbols` symbols off the programs that `build` makes for values of the symbols: each
    /// coefficient must be a number plus multiples of symbols.
    ///
    /// # Errors
    ///
    /// Programs for different values differ in more than coefficients, or coefficients are no such sums.
    pub fn read_off(
        symbols: usize,
        build: impl Fn(&[u64]) -> Result<IntegerProgram, Diagnostic>,
    ) -> Result<SymbolicProgram, Diagnostic> {
        let mut values = vec![0; symbols];
        let base = build(&values)?;
        let mut slopes = vec![Vec::new(); base.rows().len()];
        for symbol in 0..symbols {
            // From 0 to 1 a coefficient that is linear in the symbol changes by its slope.
            values[symbol] = 1;
            let other = build(&values)?;
            values[symbol] = 0;
            if other.rows().len() != base.rows().len() {
                return Err(no_sum());
            }
            for ((slopes, row), with) in slopes.iter_mut().zip(base.rows()).zip(other.rows()) {
                if row.terms.len() != with.terms.len() {
                    return Err(no_sum());
                }
                let both = row.terms.iter().zip(&with.terms).enumerate();
                for (term, (&(_, without), &(_, with))) in both {
                    let slope = with.checked_sub(without).ok_or_else(no_sum)?;
                    if slope != 0 {
                        slopes.push((term, symbol, slope));
                    }
                }
            }
        }
        let program = SymbolicProgram {
            base,
            slopes,
            symbols,
        };
        let values = trial(symbols);
        match program.at(&values) == Some(build(&values)?) {
            true => Ok(program),
            false => Err(no_sum()),
        }
    }

    /// Number of symbols.
    pub fn symbols(&self) -> usize {
        self.symbols
    }

    /// Program for the value 0 of every symbol.
    pub fn base(&self) -> &IntegerProgram {
        &self.base
    }

    /// Coefficients of symbols in a row: variable, symbol and number; none for a row that does not exist.
    pub fn slopes(&self, row: usize) -> impl Iterator<Item = (VarId, usize, i64)> {
        let terms = self.base.rows().get(row).map_or(&[][..], |row| &row.terms);
        let slopes = self.slopes.get(row).map_or(&[][..], Vec::as_slice);
        slopes.iter().filter_map(|&(term, symbol, number)| {
            let (var, _) = terms.get(term)?;
            Some((*var, symbol, number))
        })
    }

    /// Program for these values of the symbols; `None` if a value is missing or a coefficient overflows.
    pub fn at(&self, values: &[u64]) -> Option<IntegerProgram> {
        let mut program = IntegerProgram::new();
        for var in self.base.vars() {
            program.add_var(var.label.as_str(), var.cost, var.upper);
        }
        for (row, slopes) in self.base.rows().iter().zip(&self.slopes) {
            let mut terms = row.terms.clone();
            for &(term, symbol, number) in slopes {
                let value = i64::try_from(*values.get(symbol)?).ok()?;
                let (_, coefficient) = terms.get_mut(term)?;
                *coefficient = coefficient.checked_add(value.checked_mul(number)?)?;
            }
            let (label, reason) = (row.label.as_str(), row.reason.as_str());
            program.add_row(label, reason, terms, row.relation, row.rhs);
        }
        Some(program)
    }
}

/// Error of a program that contains symbols in another form than multiples in coefficients.
fn no_sum() -> Diagnostic {
    Diagnostic::new("the counts of loops enter the integer program by more than their multiples")
}
