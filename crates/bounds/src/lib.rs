//! Bounds of kernels: flow facts, integer program, access classes, time of warps, blocks and launches.
//!
//! [`bound`] answers for one kernel, [`bounds`] for all kernels of a file. Runs appear here only as settings that
//! bounds share with them, such as the splitting of waves.

pub mod access;
pub mod assumptions;
pub mod block;
pub mod bound;
pub mod cta;
pub mod cycles;
pub mod facts;
pub mod profile;

pub use access::{access, access_classes, access_of};
pub use bound::{bound, bound_of, bound_of_parts, bound_set, bounds, formula};
pub use cta::cta;
pub use cycles::{
    CycleBound, CycleInputs, CycleOptions, LaunchCounts, LaunchCycles, LaunchExtent,
    LaunchServices, LaunchTime, LoneWarp,
};
pub use facts::{FactsExtent, FactsUpdate, facts_template, observed_facts, updated_facts};
pub use profile::{
    ProfileOptions, indirect_targets, launch_profile, stated_loops, with_launch_profiler,
};

pub use warpbound_analyse::launch_profile::{
    LaunchProfile, LaunchProfiler, LaunchedWarp, NoProfile, NoProfileReason, StatedLoop, WarpIssues,
};
