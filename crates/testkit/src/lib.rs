//! Oracles for tests: random programs, concrete warps and lanes, audits of all claims of the analyses, reference
//! implementations of instructions and of the repository's kernels, and checks of timed runs.
//!
//! An oracle shares no code with what it checks: it is a second implementation of a definition (an algorithm, a manual,
//! the paper's rules), written to be plain rather than fast.
//!
//! # Concepts
//!
//! * concepts of the heads of the crates, and their page: `testkit/src/concepts.rs`
//! * random programs: `testkit/src/random.rs`, `generate.rs`, `execute.rs`, `audit.rs`
//! * random programs with convergence barriers, machine of groups: `testkit/src/convergence.rs`,
//!   `testkit/src/convergence/programs.rs`, `machine.rs`; tests: `testkit/tests/it/convergence.rs`
//! * random control words (programs of machine code, their cubins, launches, loop facts):
//!   `testkit/src/control_words.rs`
//! * random programs of waves whose loops count to numbers of the launch: `testkit/src/wave_loops.rs`,
//!   `testkit/src/wave_loops/launches.rs`; check: `testkit/src/wave_loops/check.rs`, tests `testkit/tests/it/wave_loops.rs`
//! * random machines: `testkit/src/odd_machines.rs`
//! * programs for which a bound is easily too small: `testkit/src/control_words/fixtures.rs`
//! * single warps of random programs against their bounds in cycles: `testkit/src/cycle_bounds.rs`,
//!   `xtask/src/audit_control_words.rs`
//! * references of instructions: `testkit/src/instructions.rs`; table `docs/instructions.md`
//! * references of kernels, host programs with inputs of three sizes: `testkit/src/kernels.rs`,
//!   `testkit/src/kernels/host_programs.rs`
//! * branch targets that the compiler recorded: `testkit/src/targets.rs`
//! * issue rules read in the events of a run: `testkit/src/issue_rules.rs`; of waves: `wave_issue_rules.rs`, over many
//!   runs `wave_runs.rs`
//! * accounting of cycles: `testkit/src/cycle_accounting.rs`
//! * accounting of services (served in a run, counted by a bound): `testkit/src/service_accounting.rs`; tests:
//!   `testkit/tests/it/launch_services.rs`
//! * expressions of CUDA C, against Rust: `testkit/src/expressions.rs`

#![allow(
    clippy::expect_used,
    reason = "part of tests: an unexpected value fails them"
)]

pub mod audit;
pub mod concepts;
pub mod control_words;
pub mod convergence;
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
pub mod imports;
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
pub mod wave_loops;
pub mod wave_programs;
pub mod wave_runs;
pub mod wave_splits;
