//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod facts;
mod faults;
mod formula;
mod formula_faults;
mod formula_text;
mod generate;
mod known;
mod longest_path;
mod networks;
mod random;
mod warp_bound;
