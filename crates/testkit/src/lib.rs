//! Oracles for tests: random programs, concrete warps and lanes, audits of all claims of the analyses, reference
//! implementations of instructions and of the repository's kernels, and checks of timed runs.
//!
//! An oracle shares no code with what it checks: it is a second implementation of a definition (an algorithm, a manual,
//! the paper's rules), written to be plain rather than fast.

#![allow(
    clippy::expect_used,
    reason = "part of tests: an unexpected value fails them"
)]

pub mod audit;
pub mod control_words;
pub mod count_formulas;
pub mod counted_loops;
pub mod cycle_accounting;
pub mod cycle_bounds;
pub mod determinacy;
pub mod divergence;
pub mod exec_mask;
pub mod execute;
pub mod expressions;
pub mod generate;
pub mod instructions;
pub mod issue_rules;
pub mod kernels;
pub mod launch_profiles;
pub mod mini;
pub mod monotone;
pub mod odd_machines;
pub mod perceptron;
pub mod predictions;
pub mod probe_overheads;
pub mod probe_plans;
pub mod probes;
pub mod random;
pub mod rewriting;
pub mod service_accounting;
pub mod short_launches;
pub mod targets;
pub mod wave_issue_rules;
pub mod wave_programs;
pub mod wave_runs;
pub mod wave_splits;
