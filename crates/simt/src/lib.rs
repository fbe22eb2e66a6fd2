//! SIMT execution rules, concrete and abstract side by side: [`ExecutionModel`] and [`AbstractModel`].
//!
//! [`activation_stack`] (NVIDIA GPUs before Volta), [`convergence_barriers`] (later ones), [`frame_stack`] (mini-SIMT) and
//! [`exec_mask`] (AMD) execute a warp, with masks. [`stack`], [`groups`] and [`warp`] are the abstract domains of `warp-cfg-2023` 3 (Jeanmougin et al.,
//! WCET 2023): possible stacks, relations between the lanes of entries, and the cells on which the lanes of each
//! entry agree. [`counts`] derives the constraints on execution counts that hold for every run (SOUNDNESS 5).
//!
//! The crate knows control transfers and agreement, but no instruction set: callers resolve conditions and targets.
//!
//! # Concepts
//!
//! * execution model (control transfers of a warp): `simt/src/execution_model.rs`
//! * abstract model (abstract states and steps): `simt/src/abstract_model.rs`
//! * lane masks: `simt/src/mask.rs`
//! * activation stack, reconvergence of lanes (the pop rule): `simt/src/activation_stack.rs`
//! * certain and possible lanes of stack entries: `simt/src/uncertain_lanes.rs`
//! * convergence barriers (groups of lanes, and what they wait for): `simt/src/convergence_barriers.rs`
//! * synchronisation frames (`abstract-cta-2014` 4): `simt/src/frame_stack.rs`; abstract: `simt/src/warp/steps.rs`
//! * EXEC mask (program counter and active mask of a wave): `simt/src/exec_mask.rs`; a machine for tests:
//!   `testkit/src/exec_mask/machine.rs`, against the simulator: `simulated.rs`
//! * stack graph, pop, filter (`warp-cfg-2023` 3.1): `simt/src/stack.rs`
//! * group relations (`warp-cfg-2023` 3.2): `simt/src/groups.rs`
//! * agreement as a domain (`warp-cfg-2023` 3.3): `simt/src/warp.rs`; which operations keep it:
//!   `analyse/src/agreement.rs`
//! * tags and entries of stacks: `simt/src/tag.rs`
//! * count rows (thread flow, pops ≤ pushes, lockstep, loop facts): `simt/src/counts.rs`; in the integer program:
//!   `ipet/src/ipet.rs`

pub mod abstract_model;
pub mod activation_stack;
pub mod bitset;
pub mod convergence_barriers;
pub mod counts;
pub mod epochs;
pub mod exec_mask;
pub mod execution_model;
pub mod frame_stack;
pub mod groups;
pub mod mask;
pub mod slots;
pub mod stack;
pub mod tag;
pub mod uncertain_lanes;
pub mod warp;

pub use abstract_model::{AbstractModel, AbstractState};
pub use execution_model::{ControlTransfer, ExecutionModel, TransferError};
pub use mask::{Mask, lanes_of, lowest_lanes};
pub use tag::{EntryId, EntrySite, EntryTable, NodeId, Tag};
