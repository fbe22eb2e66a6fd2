//! Tests of the crate's interface.

mod devices;
mod occupancy;
