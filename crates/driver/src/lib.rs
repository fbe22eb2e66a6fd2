//! The session: the one place that knows the order of the stages.
//!
//! [`Library::open`] reads the directory of a file and [`Library::session`] loads one cubin of it; each
//! question that a user can ask of a cubin is a method that takes the kernel through load → decode → lift → analyse → bound and returns plain report data.

pub mod audit;
pub mod block;
mod bound;
mod cta;
mod divergence;
mod extract;
mod facts;
mod facts_check;
mod flow;
mod functional;
mod graph;
mod jobs;
mod library;
mod list;
mod listing;
mod options;
mod prepared;
mod run;
mod session;
mod timed;

pub use extract::Extracted;
pub use flow::KernelFlow;
pub use functional::{FunctionalRun, RunOptions};
pub use graph::CfgLevel;
pub use library::{CodeKind, Library, ImageSelection, Unusable};
pub use options::{BoundOptions, FactReading};
pub use prepared::Prepared;
pub use session::Session;
pub use timed::{Hooks, RunProgress, TimedOptions, TimedRun};

pub use warpbound_analyse::LaunchContext;
pub use warpbound_bound::FactsFile;
pub use warpbound_load::{
    Bytes, FileSource, LaunchFile, Kernel, MiniLaunchFile, NamePattern, Sm, ByteSource, StartCaches,
};
pub use warpbound_machine::{GpuModel, Machine, Parameter, Selection, ParameterSum, WarpPolicy};
pub use warpbound_simt::warp::{AgreementDomain, DivergenceOrder, GroupDomain, WarpModel, StackDomain};
pub use warpbound_simulate::timed::Interlock;
