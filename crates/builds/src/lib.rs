//! Builds: kernels of two builds side by side, and budgets that builds must keep.

pub mod builds;
pub mod gate;
