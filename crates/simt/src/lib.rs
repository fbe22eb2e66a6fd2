//! The SIMT execution rules of the activation-stack machines (NVIDIA up to Pascal), concrete and
//! abstract side by side.
//!
//! [`concrete`] executes a warp: entries with masks. [`stack`], [`groups`] and [`warp`] are the
//! abstract side: which stacks, which relations between the entries' lanes, and which registers
//! the lanes of each entry agree on (Jeanmougin et al., WCET 2023, section 3).

pub mod bitset;
pub mod concrete;
pub mod counts;
pub mod epochs;
pub mod frames;
pub mod groups;
pub mod slots;
pub mod stack;
pub mod tag;
pub mod warp;

pub use tag::{EntrySite, EntryId, EntryTable, NodeId, Tag};
