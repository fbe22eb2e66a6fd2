//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod launch_knowledge;
mod sizes;
