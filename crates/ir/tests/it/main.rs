//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod float;
mod matrices;
mod text;
