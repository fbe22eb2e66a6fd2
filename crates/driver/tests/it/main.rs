//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod figures;
mod functional;
mod hybrid;
mod images;
mod launch_knowledge;
mod launches;
mod statistics;
mod time_limit;
