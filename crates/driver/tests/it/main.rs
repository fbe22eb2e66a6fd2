//! Tests of the crate's interface.

mod figures;
mod functional;
mod images;
mod launches;
mod statistics;
mod time_limit;
