//! Static analyses of a kernel: thread-level and warp-level control-flow graph, agreement, values, loops, divergence.
//!
//! The method follows Jeanmougin et al. (`warp-cfg-2023` 3): abstract interpretation of the machine code builds the
//! graph. It runs twice over the same program space: for one lane alone ([`thread_cfg`]), which resolves jump tables
//! and gives the thread-level graph, and for a whole warp ([`warp_cfg`]).

pub mod access;
pub mod addresses;
pub mod agreement;
pub mod blocks;
pub mod branch_sites;
pub mod context;
pub mod count_formulas;
pub mod dependence;
pub mod determinacy;
pub mod divergence;
pub mod divergence_by_agreement;
pub mod fingerprint;
pub mod gsa;
pub mod guarded_lanes;
pub mod indirect;
pub mod instrumentation;
pub mod iterations;
pub mod launch_profile;
pub mod launch_ranges;
pub mod loop_bounds;
pub mod loops;
pub mod masks;
pub mod missed_reconvergence;
pub mod prediction;
pub mod program_space;
pub mod refusal;
pub mod relevant;
pub mod runtime_pointers;
pub mod split_sites;
pub mod stated_data;
mod symbolic;
pub mod thread_cfg;
pub mod values;
pub mod warp_cfg;
pub mod warp_graph;
mod warp_numbers;
pub mod warp_profile;

pub use agreement::LaunchContext;
pub use dependence::Dependence;
pub use divergence::Divergence;
pub use launch_ranges::LaunchRanges;
pub use refusal::{Reason, Refusal};
pub use thread_cfg::ThreadCfg;
pub use warp_cfg::WarpCfg;
