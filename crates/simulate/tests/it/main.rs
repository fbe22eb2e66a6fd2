//! Tests of the crate's interface.

mod conditions;
mod dispatch;
