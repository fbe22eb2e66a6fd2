//! Formulas: bounds as polynomials in the counts of loops, certified like numbers.
//!
//! The count of a loop is a coefficient of the integer program ([`SymbolicProgram`]), so the multipliers that prove
//! the bound (weak duality) are functions of the counts. The relaxation is solved at a sample point; its optimal
//! basis, solved again with the counts as symbols, gives the multipliers as polynomials ([`find_formula`]). They are
//! a proof wherever their signs are right and they pay for every variable: polynomial inequalities, which [`certify`]
//! checks for a whole region. Where the inequalities do not hold everywhere, the range of the counts is divided.
//!
//! For example, a kernel that issues 20 instructions outside the loop L1 and 7 for each execution of its header has
//! the formula `20 + 7*L1`.

mod certificate;
mod coefficients;
mod multipliers;
mod parameters;
mod polynomial;
mod program;
mod proof;
mod search;
mod text;

pub use certificate::{
    ConditionFactors, Formula, FormulaClaim, FormulaPiece, FormulaRegion, Obligation, certify,
};
pub use parameters::{CountExpression, LoopSymbol, ParameterFormula};
pub use polynomial::{Monomial, Polynomial};
pub use program::SymbolicProgram;
pub use search::{FormulaEffort, find_claims, find_formula};
pub use text::{FormulaRegionText, FormulaSum, FormulaText};
