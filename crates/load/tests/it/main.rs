//! Tests of the crate's interface.

mod containers;
mod cost;
mod damage;
mod images;
mod launches;
mod metadata;
mod refusals;
mod support;
