//! Queries on a file: load → decode → lift → analyse.
//!
//! [`Library::open`] reads the directory of a file, and [`Library::session`] loads one cubin of it. [`Session`] prepares
//! its kernels, computes their control flow, and answers what needs no bound and no run: listings, graphs, divergence.
//! Nothing here runs a kernel. `bound` solves the count rows for given loop bounds; bounds with facts, and
//! their reports, are in the crate `bounds`.
//!
//! # Concepts
//!
//! * file with many images, and the queries on it: `Library` in `query/src/library.rs`
//! * loaded cubin, and the queries on it: `Session` in `query/src/session.rs`
//! * decoded and lifted kernel: `Prepared` in `query/src/prepared.rs`
//! * control flow of a kernel, from code to count rows: `KernelFlow` in `query/src/flow.rs`
//! * options of bounds and analyses: `query/src/options.rs`, `cycle_query.rs`, `split_options.rs`
//! * input files that the user names: `query/src/input.rs`
//! * work on many kernels at once, results in order: `query/src/jobs.rs`
//! * shards of a query: `query/src/shard.rs`
//! * statements about launches, words of constant banks: `query/src/stated_launches.rs`, `launch_knowledge.rs`
//! * accesses of a kernel, their addresses and classes: `KernelAccesses` in `query/src/accesses.rs`
//! * verdicts on loops, with the derivation of each bound: `query/src/loop_verdicts.rs`
//! * copies of kernels that are not linked: `query/src/unlinked.rs`
//! * check that facts are about the kernels of a file: `query/src/facts_check.rs`
//! * disassembly, graphs, divergence reports: `query/src/listing.rs`, `graph.rs`, `divergence.rs`

pub mod accesses;
pub mod analysis;
pub mod cycle_query;
pub mod divergence;
pub mod extract;
pub mod facts_check;
pub mod flow;
pub mod graph;
pub mod input;
pub mod jobs;
pub mod launch_knowledge;
pub mod library;
pub mod lint;
pub mod list;
pub mod listing;
pub mod loop_verdicts;
pub mod mini;
pub mod options;
pub mod own_code;
pub mod prepared;
pub mod session;
pub mod shard;
pub mod split_options;
pub mod split_sites;
pub mod stated_launches;
pub mod unlinked;
pub mod words;

pub use accesses::KernelAccesses;
pub use analysis::{AnalysedKernel, KernelAnalysis};
pub use cycle_query::{CacheState, CycleQuery, TimeScope};
pub use divergence::divergence_of;
pub use extract::ExtractedImage;
pub use flow::KernelFlow;
pub use graph::{CfgLevel, graph_of};
pub use launch_knowledge::LaunchKnowledge;
pub use library::{AskedImages, CodeKind, ImageSelection, Library, Unusable, UsableImages};
pub use lint::rewritten;
pub use listing::listing_of;
pub use options::{BoundOptions, Contents, FactReading, FormulaSymbols, ProfiledLaunch};
pub use prepared::Prepared;
pub use session::Session;
pub use shard::Shard;
pub use split_options::{SplitMarks, SplitOptions};
pub use stated_launches::{NumberRange, StatedLaunches, StatedParam};
pub use unlinked::UnlinkedCopy;
pub use words::disassemble_words;

pub use warpbound_analyse::LaunchContext;
pub use warpbound_analyse::launch_ranges::LaunchRanges;
pub use warpbound_analyse::loop_bounds::{LoopVerdict, WhyUnknown};
pub use warpbound_ipet::{FactsFile, SchedulerClass};
pub use warpbound_launch::{
    FinalArray, LaunchFile, LaunchSet, MarkedSites, PathOrder, SetContents, StartCaches,
};
pub use warpbound_load::{ByteSource, Bytes, FileSource, Isa, Kernel, NamePattern};
pub use warpbound_machine::{GpuModel, Parameter, ParameterSum, SchedulerPolicy, Selection};
pub use warpbound_simt::warp::{
    AgreementDomain, DivergenceOrder, GroupDomain, StackDomain, WarpModel,
};
pub use warpbound_simulate::timed::SplitPipelines;
