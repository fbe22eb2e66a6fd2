//! Launches: the files that describe them, and the initial state of a kernel.
//!
//! A [`LaunchFile`] names grid, block, parameters and buffers. [`bind`] applies it to a kernel: it places buffers and
//! variables in [`GlobalMemory`], writes the launch block and the other constant banks as the driver of a GPU does, and
//! binds textures and surfaces to their objects. Simulators run the result, a [`Launch`] with its memory.
//! A [`LaunchSet`] is the sequence of launches of a host program. Launch files of mini-SIMT programs are in [`mini`].

// Values in this crate come from input files: indices and casts must be checked.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::indexing_slicing)
)]

mod bindings;
mod buffers;
mod constants;
mod file;
pub mod gcn;
mod launch;
mod limits;
mod marks;
mod memory;
pub mod mini;
mod pointers;
mod texture;

pub use buffers::{BufferComparison, FinalArray, compare_buffers, final_arrays, output_files};
pub use constants::{assumed_stack, bind};
pub use file::{
    DataRange, ElementType, EndCondition, Expected, HostWrite, ImageBinding, LaunchBuffer,
    LaunchFile, LaunchParam, LaunchPointer, LaunchSet, LaunchVariable, NpyArray, ParamValue,
    PointerLocation, ReadFile, Repetition, SetContents, SetLaunch, StartCaches, TexelBuffer,
    TexelLayout, TextureBinding, Vary,
};
pub use gcn::LOADED_FILE;
pub use gcn::WaveEntry;
pub use launch::{Launch, PathOrder, Size};
pub use limits::check_limits;
pub use marks::MarkedSites;
pub use memory::{Buffer, GlobalMemory, window};
pub use texture::{AddressMode, Filter, Surface, TexelArray, TexelElement, Texture};
