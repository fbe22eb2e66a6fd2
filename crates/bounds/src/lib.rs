//! Bounds of kernels: flow facts, integer program, access classes, time of warps, blocks and launches.
//!
//! [`bound`](fn@bound) answers for one kernel, [`bounds`] for all kernels of a file. Runs appear here only as settings that
//! bounds share with them, such as the splitting of waves.
//!
//! # Concepts
//!
//! * bound of a kernel, from control flow to report: `bounds/src/bound.rs`
//! * bounds of many kernels of a file: `bounds/src/bound/library.rs`
//! * choice between derived, stated and default loop bounds: `bounds/src/bound/flow_facts.rs`
//! * assumptions of a bound: `bounds/src/bound/assumptions.rs`; in cycles: `bounds/src/cycles/assumptions.rs`
//! * values of a launch that profiles use: `bounds/src/profile.rs`
//! * worst path of a bound: `bounds/src/bound/worst_path.rs`
//! * calls of functions outside the file: `bounds/src/bound/external_calls.rs`
//! * access report, facts about accesses: `bounds/src/access.rs`, `bounds/src/facts/accesses.rs`
//! * fingerprints of loops and accesses, by which facts survive a rebuild: `bounds/src/facts/identity.rs`
//! * bounds in cycles of a warp that runs alone: `bounds/src/cycles.rs`, `bounds/src/cycles/bound.rs`, `inputs.rs`
//! * bounds in cycles of a launch: `bounds/src/cycles/launch_bound.rs`, `launch_report.rs`; tests:
//!   `testkit/tests/it/launch_bounds.rs`
//! * aligned barriers, greatest services between barriers: `bounds/src/cycles/launch_bound/barriers.rs`, `segments.rs`
//! * sums over paths that are possible or observed: `bounds/src/cycles/launch_bound/sums.rs`
//! * executions, accesses and services that a launch fixes: `bounds/src/cycles/launch_rows.rs`,
//!   `bounds/src/cycles/launch_bound/executed.rs`
//! * bounds of launches of waves: `bounds/src/cycles/launch_bound/wave_launch.rs`; tests:
//!   `testkit/tests/it/wave_launch_bounds.rs`
//! * bound of a launch set: `bounds/src/bound/set.rs`
//! * abstract CTA simulation of a launch: `bounds/src/cta.rs` (mini-SIMT); as an estimate next to a bound:
//!   `bounds/src/cycles/cta_estimate.rs`

pub mod access;
pub mod assumptions;
pub mod block;
pub mod bound;
pub mod cta;
pub mod cycles;
pub mod facts;
pub mod profile;

pub use access::{access, access_classes, access_of};
pub use bound::{bound, bound_of, bound_of_parts, bound_set, bounds, formula, refused_bound};
pub use cta::cta;
pub use cycles::{
    CycleBound, CycleInputs, CycleOptions, LaunchCounts, LaunchCycles, LaunchExtent,
    LaunchServices, LaunchTime, LoneWarp,
};
pub use facts::{FactsExtent, facts_template, observed_facts};
pub use profile::{ProfileOptions, launch_profile, stated_loops, with_launch_profiler};

pub use warpbound_analyse::launch_profile::{
    LaunchProfile, LaunchProfiler, LaunchedWarp, NoProfile, NoProfileReason, StatedLoop, WarpIssues,
};
