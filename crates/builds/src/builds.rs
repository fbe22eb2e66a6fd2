//! Builds: all kernels of some files, with their resources, so that two builds can be compared.
//!
//! The index of a build is made image by image, and an image is loaded again when its kernels are analysed, so that
//! only a few images are in memory at a time.

mod alignment;
mod compare;
mod diff;
mod figures;
mod index;
mod occupancy;
mod pairing;

pub use diff::{DiffOptions, diff};
pub(crate) use figures::{FigureExtent, local_accesses};
pub use figures::{FigurePlace, FigurePlaces, KernelFigures, LineFigures, LoopFigures};
pub use index::{Build, BuildKernel, KernelResources};
pub use occupancy::{KernelOccupancy, OccupancyCalculator};
pub(crate) use pairing::name_without_hashes;
