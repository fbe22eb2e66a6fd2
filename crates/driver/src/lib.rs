//! The session: the one place that knows the order of the stages.
//!
//! [`Session::open`] loads a file; each question that a user can ask of it is a method that takes
//! the kernel through load → decode → lift → analyse → bound and returns plain report data.

mod bound;
mod facts;
mod flow;
mod graph;
mod list;
mod listing;
mod options;
mod prepared;
mod session;

pub use flow::Flow;
pub use graph::Level;
pub use options::{Options, Reading};
pub use prepared::Prepared;
pub use session::Session;

pub use warpbound_analyse::Launch;
pub use warpbound_bound::FactsFile;
pub use warpbound_load::Kernel;
pub use warpbound_simt::warp::{AgreementDomain, DivergenceOrder, GroupDomain, Model, StackDomain};
