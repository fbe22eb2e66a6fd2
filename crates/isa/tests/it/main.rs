//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod effects;
mod encode;
mod encoding;
mod gcn3;
mod gcn3_registers;
mod life_ranges;
mod recorded;
mod registers;
mod spelling;
mod table;
mod wide;
mod wide_encode;
mod wide_fields;
