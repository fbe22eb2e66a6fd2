//! Static analyses of a kernel: thread-level and warp-level control-flow graph, agreement, values, loops, divergence.
//!
//! The method follows Jeanmougin et al. (`warp-cfg-2023` 3): abstract interpretation of the machine code builds the
//! graph. It runs twice over the same program space: for one lane alone ([`thread_cfg`]), which resolves jump tables
//! and gives the thread-level graph, and for a whole warp ([`warp_cfg`]).
//!
//! The analyses stand on five floors. Each imports its own floor and lower ones, as a test of this list
//! demands (`testkit/tests/it/rooms.rs`):
//!
//! 1. *Vocabulary*: `refusal`, `context`, `blocks`, `program_space`, `values`, `relevant`, `indirect`, `agreement`,
//!    `convergence`, `launch_ranges`, `warp_graph`. Places of a program, effects of one step, knowledge about a launch.
//! 2. *Graphs*: `thread_cfg`, `masks`, `warp_cfg`, `dependence`, `gsa`, `loops`, `branch_sites`, `warp_numbers`. Control
//!    flow of a lane and of a warp, and where each value is defined.
//! 3. *Values*: `symbolic`, `stated_data`, `loop_bounds`, `addresses`, `access`, `guarded_lanes`, `runtime_pointers`.
//!    Words as polynomials, and the iterations, addresses and lanes that follow from them.
//! 4. *Findings*: `divergence`, `divergence_by_agreement`, `determinacy`, `missed_reconvergence`, `split_sites`,
//!    `fingerprint`, `instrumentation`. Answers about a kernel, for all launches.
//! 5. *Counts*: `launch_profile`, `prediction`, `count_formulas`, `iterations`, `warp_profile`. How often the warps of a
//!    launch execute an operation.
//!
//! # Concepts
//!
//! * blocks: `analyse/src/blocks.rs`
//! * call strings: `analyse/src/context.rs`
//! * thread-level CFG: `analyse/src/thread_cfg.rs`, built in `analyse/src/thread_cfg/build.rs`
//! * warp-level CFG: `analyse/src/warp_cfg.rs`
//! * Algorithm 1 of `warp-cfg-2023`: `analyse/src/warp_graph.rs` (for any execution model); steps of stacks and frames:
//!   `simt/src/warp.rs`, `simt/src/warp/steps.rs`
//! * jump tables, function pointers: `analyse/src/indirect.rs`, `values.rs`
//! * control dependence, in all and in each round of a loop: `analyse/src/dependence.rs`
//! * gated single assignment with γ, μ, η (`abstract-cta-2014` 3.1): `analyse/src/gsa.rs`
//! * static divergence analysis (`abstract-cta-2014` 3.1): `analyse/src/divergence.rs` (from gates),
//!   `divergence_by_agreement.rs`
//! * missed reconvergence: `analyse/src/missed_reconvergence.rs`
//! * lanes that satisfy a guard on the thread index: `analyse/src/guarded_lanes.rs`; row: `simt/src/counts.rs`
//! * masks in words of the warp, stale cells where lanes become active: `analyse/src/masks.rs`,
//!   `analyse/src/masks/domain.rs`, `word.rs`, `literals.rs`, `flow.rs`, `regions.rs`
//! * code as one lane of a wave executes it: `ThreadCfg::lane_code` in `analyse/src/thread_cfg.rs`
//! * exits of loops that a mask decides: `MaskExit` in `analyse/src/loop_bounds/exits.rs`
//! * kinds of branches of waves (split, skip, latch, constant): `analyse/src/branch_sites.rs`
//! * sites at which waves may split, merge points, obstacles: `analyse/src/split_sites.rs`,
//!   `analyse/src/split_sites/walk.rs`, `idle.rs`, `relation.rs`, `join.rs`, `obstacle.rs`
//! * addresses of the lanes of an access, as functions of the lane: `analyse/src/addresses/lanes.rs`, `finder.rs`;
//!   near each other: `near.rs`
//! * access classes (most requests, transactions, sectors, lines, conflicts): `analyse/src/access.rs`; units of
//!   families: `analyse/src/access/units.rs`; numbers: `numbers.rs`; shared by kernels: `known.rs`
//! * iteration counts of blocks of mini-SIMT: `analyse/src/iterations.rs`
//! * warp profiles of blocks of mini-SIMT: `analyse/src/warp_profile.rs`
//! * launch profiles (warps executed with values known or unknown): `analyse/src/launch_profile.rs`; checks:
//!   `testkit/src/launch_profiles.rs`
//! * known bits of words in predictions and profiles: `analyse/src/launch_profile/row/bits.rs`
//! * launch to be profiled, reasons why a warp has no profile: `analyse/src/launch_profile/launch.rs`
//! * accesses and executions that a launch fixes one by one: `analyse/src/launch_profile/record.rs`, `accesses.rs`,
//!   `executions.rs`
//! * lines of global memory that a warp touches: `analyse/src/launch_profile/lines.rs`
//! * launches as ranges: `analyse/src/launch_ranges.rs`; loads of stated ranges: `analyse/src/symbolic/loads.rs`
//! * derived loop bounds: `analyse/src/loop_bounds.rs`, `analyse/src/loop_bounds/solve.rs`, `verdict.rs`; random
//!   programs with their threads: `testkit/src/counted_loops.rs`; compared with runs: `audit/src/audit/derived.rs`
//! * words as polynomials over atoms: `analyse/src/symbolic/atoms.rs`, `polynomial.rs`, `values.rs`
//! * limits of words, words read as integers: `analyse/src/symbolic/ranges.rs`, `span.rs`, `integers.rs`
//! * pairs of words, words of one case: `analyse/src/symbolic/wide.rs`, `replacing.rs`
//! * convergence barriers (regions, nesting, demotion): `analyse/src/convergence.rs`
//! * exits and steps of counted loops: `analyse/src/loop_bounds/exits.rs`, `progression.rs`, `induction.rs`,
//!   `counting.rs`
//! * unrolled loops, words that are one of two, halving searches, totals: `analyse/src/loop_bounds/unrolling.rs`,
//!   `choices.rs`, `halving.rs`, `totals.rs`
//! * ways on which a loop is reached, what a count rests on: `analyse/src/loop_bounds/arrivals.rs`, `footing.rs`
//! * fingerprints of loops: `analyse/src/fingerprint.rs`, `analyse/src/fingerprint/slice.rs`, `text.rs`
//! * instrumentation points and the graph between them (`wavefront-splitting-2022` 5.2.3):
//!   `analyse/src/instrumentation.rs`
//! * determinacy (origins of values and branches), taint: `analyse/src/determinacy.rs`,
//!   `analyse/src/determinacy/sources.rs`, `conditions.rs`; checks: `testkit/src/determinacy.rs`
//! * prediction of counts (slice, regions of unknown branches, certain lanes): `analyse/src/prediction.rs`,
//!   `analyse/src/prediction/slice.rs`, `region.rs`, `warp.rs`; its stack:
//!   `simt/src/uncertain_lanes.rs`
//! * closed forms of counts: `analyse/src/count_formulas.rs`, `analyse/src/count_formulas/regions.rs`, `words.rs`,
//!   `rounds.rs`, `sums.rs`

// Vocabulary.
pub mod agreement;
pub mod blocks;
pub mod context;
pub mod convergence;
pub mod indirect;
pub mod launch_ranges;
pub mod program_space;
pub mod refusal;
pub mod relevant;
pub mod values;
pub mod warp_graph;

// Graphs.
pub mod branch_sites;
pub mod dependence;
pub mod gsa;
pub mod loops;
pub mod masks;
pub mod thread_cfg;
pub mod warp_cfg;
mod warp_numbers;

// Values.
pub mod access;
pub mod addresses;
pub mod guarded_lanes;
pub mod loop_bounds;
pub mod runtime_pointers;
pub mod stated_data;
mod symbolic;

// Findings.
pub mod determinacy;
pub mod divergence;
pub mod divergence_by_agreement;
pub mod fingerprint;
pub mod instrumentation;
pub mod missed_reconvergence;
pub mod split_sites;

// Counts.
pub mod count_formulas;
pub mod iterations;
pub mod launch_profile;
pub mod prediction;
pub mod warp_profile;

pub use agreement::LaunchContext;
pub use dependence::Dependence;
pub use divergence::Divergence;
pub use launch_ranges::LaunchRanges;
pub use refusal::{Reason, Refusal};
pub use thread_cfg::ThreadCfg;
pub use warp_cfg::WarpCfg;
