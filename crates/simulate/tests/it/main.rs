//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod conditions;
mod dispatch;
mod gcn3;
mod timed_waves;
mod wave_rules;
