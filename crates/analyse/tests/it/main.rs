//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod divergence;
mod fingerprint;
mod relevant;
mod runtime_pointers;
mod split_sites;
