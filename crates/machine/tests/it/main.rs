//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod compute_units;
mod devices;
mod families;
mod occupancy;
