//! Formula of a bound: polynomials in counts of loops or in parameters of the launch.
//!
//! For example, `235 + 12*n, for n >= 1`. Where two paths compete, the formula has a piece for each part of the
//! range.

use serde::Serialize;

/// Bound as a function of symbols.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BoundFormula {
    /// The formula in one line, with its range.
    pub text: String,
    /// Ranges of the symbols where the formula holds: `n >= 1`.
    pub range: Vec<String>,
    /// Definitions of the loop counts in it: `L1 = max(1, ceil((n - 32) / 128) + 1)`.
    pub definitions: Vec<String>,
    /// Pieces, each for one part of the range.
    pub pieces: Vec<FormulaPart>,
}

/// Formula in a part of its range.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FormulaPart {
    /// Conditions of this part, in addition to the range of the formula.
    pub range: Vec<String>,
    /// Polynomials. The bound is the smallest of them, rounded down.
    pub bounds: Vec<FormulaPolynomial>,
}

/// Polynomial.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FormulaPolynomial {
    /// Text: `235 + 12*n`.
    pub text: String,
    /// Terms.
    pub terms: Vec<FormulaTerm>,
}

/// Product of symbols with a coefficient.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FormulaTerm {
    /// Coefficient: an integer or a fraction such as `3/2`.
    pub coefficient: String,
    /// Symbols; a power repeats its symbol.
    pub factors: Vec<String>,
}

impl FormulaPart {
    /// Returns the bound as text.
    fn text(&self) -> String {
        let bounds: Vec<&str> = self.bounds.iter().map(|b| b.text.as_str()).collect();
        match bounds.as_slice() {
            [only] => (*only).to_owned(),
            all => format!("min({})", all.join(", ")),
        }
    }

    /// Returns the bound as text, with the conditions of the part.
    fn text_with_range(&self) -> String {
        match self.range.is_empty() {
            true => self.text(),
            false => format!("{} where {}", self.text(), self.range.join(" and ")),
        }
    }
}

impl BoundFormula {
    /// Makes a formula.
    pub fn new(
        range: Vec<String>,
        definitions: Vec<String>,
        pieces: Vec<FormulaPart>,
    ) -> BoundFormula {
        let parts: Vec<String> = pieces.iter().map(FormulaPart::text_with_range).collect();
        let mut text = parts.join("; ");
        if !definitions.is_empty() {
            text.push_str(&format!(", where {}", definitions.join(" and ")));
        }
        if !range.is_empty() {
            text.push_str(&format!(", for {}", range.join(", ")));
        }
        BoundFormula {
            text,
            range,
            definitions,
            pieces,
        }
    }

    /// Appends the formula to the report of a kernel.
    pub(crate) fn write(&self, out: &mut String) {
        match self.pieces.as_slice() {
            [only] => out.push_str(&format!("  formula: {}\n", only.text_with_range())),
            pieces => {
                out.push_str("  formula, by parts of its range:\n");
                for piece in pieces {
                    out.push_str(&format!("    {}\n", piece.text_with_range()));
                }
            }
        }
        for definition in &self.definitions {
            out.push_str(&format!("    where {definition}\n"));
        }
        if !self.range.is_empty() {
            out.push_str(&format!("    for {}\n", self.range.join(", ")));
        }
    }
}
