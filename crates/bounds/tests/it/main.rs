//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod figures;
mod time_limit;
