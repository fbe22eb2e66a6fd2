//! The session: the one place that knows the order of the stages.

pub mod flow;

pub use flow::Flow;
