//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod figures;
mod preparations;
mod time_limit;
