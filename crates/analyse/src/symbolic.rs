//! Symbolic values.

pub(crate) mod atoms;
pub(crate) mod conditions;
pub(crate) mod integers;
pub(crate) mod polynomial;
pub(crate) mod ranges;
mod replacing;
pub(crate) mod span;
pub(crate) mod values;
pub(crate) mod wide;
