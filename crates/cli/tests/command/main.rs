//! The `warpbound` command, end to end, on our own kernels.
#![allow(clippy::panic, reason = "helpers of tests")]

mod damage;
mod support;
