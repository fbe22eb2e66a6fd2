//! Sessions: the order of the stages, from a file to a report.
//!
//! [`Library::open`] reads the directory of a file and [`Library::session`] loads one cubin of it. Each query on a
//! cubin is a method of [`Session`] that takes a kernel through load → decode → lift → analyse → bound or simulate,
//! and returns plain report data.

mod access;
pub mod access_counts;
pub mod audit;
pub mod block;
pub mod block_counts;
mod bound;
pub mod builds;
mod cta;
mod cycle_query;
mod cycles;
mod divergence;
mod extract;
mod facts;
mod facts_check;
mod flow;
pub mod gate;
mod graph;
mod hybrid;
pub mod input;
mod instrument;
mod jobs;
mod launch_knowledge;
mod library;
mod lint;
mod list;
mod listeners;
mod listing;
mod loop_verdicts;
pub mod measured_counts;
mod memory_metrics;
pub mod metrics;
pub mod mini;
mod options;
mod own_code;
pub mod predict;
mod prepared;
pub mod probes;
mod runs;
mod sandwich;
mod session;
mod shard;
mod split_options;
mod split_sites;
pub mod splits;
mod stated_launches;
mod unlinked;
mod words;

pub use bound::profile::{ProfileOptions, indirect_targets, stated_loops};
pub use cycle_query::{CacheState, CycleQuery, TimeScope};
pub use cycles::{
    CycleBound, CycleInputs, CycleOptions, LaunchCounts, LaunchCycles, LaunchExtent,
    LaunchServices, LaunchTime, LoneWarp,
};
pub use extract::ExtractedImage;
pub use facts::{FactsExtent, FactsUpdate};
pub use flow::KernelFlow;
pub use graph::CfgLevel;
pub use hybrid::HybridOptions;
pub use instrument::{
    COUNTERS, CounterKind, InstrumentOptions, InstrumentedKernel, InstrumentedWaves, StampPlan,
    StampTimes,
};
pub use launch_knowledge::LaunchKnowledge;
pub use library::{AskedImages, CodeKind, ImageSelection, Library, Unusable};
pub use lint::rewritten;
pub use measured_counts::{CountsAuditOptions, CountsSource, MeasuredCounts, MeasuredRow};
pub use options::{BoundOptions, Contents, FactReading, FormulaSymbols, ProfiledLaunch};
pub use predict::{PredictOptions, PredictedCount, Prediction};
pub use prepared::Prepared;
pub use probes::{DecodedCounts, ProbeCounters, ProbeOptions};
pub use runs::functional::{FunctionalRun, RunOptions};
pub use runs::set::{ExecuteLaunch, SetEnd, SetRun, StreamOrder, run_set};
pub use runs::timed::{Override, RunHooks, RunProgress, TimedOptions, TimedRun};
pub use sandwich::SandwichOptions;
pub use session::Session;
pub use shard::Shard;
pub use split_options::{SplitMarks, SplitOptions};
pub use splits::{SplitsOptions, chosen_marks};
pub use stated_launches::{NumberRange, StatedLaunches, StatedParam};
pub use unlinked::UnlinkedCopy;
pub use words::disassemble_words;

pub use warpbound_analyse::LaunchContext;
pub use warpbound_analyse::launch_profile::{
    LaunchProfile, LaunchProfiler, LaunchedWarp, NoProfile, NoProfileReason, StatedLoop, WarpIssues,
};
pub use warpbound_analyse::launch_ranges::LaunchRanges;
pub use warpbound_analyse::loop_bounds::{LoopVerdict, WhyUnknown};
pub use warpbound_bound::{FactsFile, SchedulerClass};
pub use warpbound_launch::{
    FinalArray, LaunchFile, LaunchSet, MarkedSites, PathOrder, SetContents, StartCaches,
};
pub use warpbound_load::{ByteSource, Bytes, FileSource, Isa, Kernel, NamePattern};
pub use warpbound_machine::{GpuModel, Parameter, ParameterSum, SchedulerPolicy, Selection};
pub use warpbound_rewrite::probes::{CounterHome, ProbeFault, ProbeStyle};
pub use warpbound_simt::warp::{
    AgreementDomain, DivergenceOrder, GroupDomain, StackDomain, WarpModel,
};
pub use warpbound_simulate::timed::{Interlock, Silent, SingleWarp, SplitPipelines};
