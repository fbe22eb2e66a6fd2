//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod facts;
mod faults;
mod generate;
mod known;
mod networks;
mod random;
mod warp_bound;
