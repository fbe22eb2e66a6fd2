//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod hybrid;
mod preparations;
mod sizes;
