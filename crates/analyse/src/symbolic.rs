//! Symbolic values: words of the program as polynomials over atoms, their limits, and the conditions of guards
//! (SOUNDNESS 5.12).
//!
//! For example, `4·tid.x + n` is a polynomial of two atoms, whose limits follow from the sizes of the block and from
//! what is stated of `n`. Floating-point values are not followed.

pub(crate) mod atoms;
pub(crate) mod conditions;
pub(crate) mod integers;
mod loads;
mod low_parts;
pub(crate) mod polynomial;
pub(crate) mod ranges;
mod replacing;
pub(crate) mod span;
pub(crate) mod values;
pub(crate) mod wide;
