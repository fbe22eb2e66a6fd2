//! Symbolic values.

pub(crate) mod atoms;
pub(crate) mod conditions;
pub(crate) mod integers;
pub(crate) mod polynomial;
pub(crate) mod ranges;
pub(crate) mod span;
pub(crate) mod values;
