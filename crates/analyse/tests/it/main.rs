//! Tests of the crate's interface.

mod divergence;
mod relevant;
