//! Tests of the crate's interface.

mod facts;
mod faults;
mod generate;
mod known;
mod networks;
mod random;
