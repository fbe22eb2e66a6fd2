//! Tests of the crate's interface.

mod effects;
mod life_ranges;
mod spelling;
mod table;
