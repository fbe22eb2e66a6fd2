//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod functional;
mod images;
mod launches;
mod sizes;
mod statistics;
