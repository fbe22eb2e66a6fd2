//! Launch files and machines of mini-SIMT.

pub use warpbound_launch::mini::{LaunchFile, MemoryWords};
pub use warpbound_machine::mini::Machine;
