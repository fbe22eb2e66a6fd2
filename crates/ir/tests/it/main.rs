//! Tests of the crate's interface.

mod float;
