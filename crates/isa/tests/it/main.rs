//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod effects;
mod encoding;
mod life_ranges;
mod registers;
mod spelling;
mod table;
