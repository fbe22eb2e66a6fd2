//! SIMT execution rules of the activation-stack machines (NVIDIA up to Pascal), concrete and
//! abstract side by side.
//!
//! [`activation_stack`] and [`frame_stack`] execute a warp, with masks. [`stack`], [`groups`] and [`warp`] are the
//! abstract domains of `warp-cfg-2023` 3 (Jeanmougin et al., WCET 2023): possible stacks, relations between the lanes
//! of entries, and the cells on which the lanes of each entry agree. [`counts`] derives the constraints on execution
//! counts that hold for every run (SOUNDNESS 5).

pub mod activation_stack;
pub mod bitset;
pub mod counts;
pub mod epochs;
pub mod frame_stack;
pub mod groups;
pub mod slots;
pub mod stack;
pub mod tag;
pub mod warp;

pub use tag::{EntryId, EntrySite, EntryTable, NodeId, Tag};
