//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod code_objects;
mod containers;
mod cost;
mod damage;
mod joined;
mod metadata;
mod refusals;
mod support;
mod wide;
