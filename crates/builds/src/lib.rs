//! Builds: kernels of two builds side by side, and budgets that builds must keep.
//!
//! # Concepts
//!
//! * facts carried over to a new build: `builds/src/facts_update.rs`, `builds/src/facts_update/carried_accesses.rs`
//! * index of the kernels of a build: `builds/src/builds.rs`, `builds/src/builds/index.rs`
//! * kernels, lines and loops that stand for each other in two builds: `builds/src/builds/pairing.rs`, `alignment.rs`
//! * figures of kernels and their differences: `builds/src/builds/figures.rs`, `compare.rs`, `diff.rs`; tests:
//!   `cli/tests/it/diff.rs`, cubins `kernels/rebuilt`
//! * occupancy of a kernel from what its file states: `builds/src/builds/occupancy.rs`, by the rules of
//!   `machine/src/occupancy.rs`
//! * budget files, the update that keeps comments: `builds/src/gate/budget.rs`, `update.rs`
//! * check of a build against a budget: `builds/src/gate.rs`, `builds/src/gate/measure.rs`, `check.rs`; tests:
//!   `cli/tests/it/gate.rs`

pub mod builds;
pub mod facts_update;
pub mod gate;

pub use facts_update::{FactsUpdate, updated_facts};
