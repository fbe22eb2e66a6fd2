//! Launches: the files that describe them, and the initial state of a kernel.
//!
//! A [`LaunchFile`] names grid, block, parameters and buffers. [`bind`] applies it to a kernel: it places buffers and
//! variables in [`GlobalMemory`], writes the launch block and the other constant banks as the driver of a GPU does, and
//! binds textures and surfaces to their objects. Simulators run the result, a [`Launch`] with its memory.
//! A [`LaunchSet`] is the sequence of launches of a host program. Launch files of mini-SIMT programs are in [`mini`].
//!
//! # Concepts
//!
//! * launch files: `launch/src/file.rs`; read: `launch/src/file/read.rs`, `launch/src/file/read/param.rs`
//! * launch sets (the file, grids of rounds, contents between launches): `launch/src/file/set.rs`,
//!   `launch/src/file/set/grid.rs`, `contents.rs`
//! * limits of launches (sizes, shared memory, what the kernel requires): `launch/src/limits.rs`; sizes by family:
//!   `base/src/size_limits.rs`; where stated sizes replace others: `query/src/launch_knowledge.rs`
//! * constant banks of a launch: `launch/src/constants.rs`
//! * buffers and variables of a launch: `launch/src/buffers.rs`, `memory.rs`, `bindings.rs`
//! * textures and surfaces of a launch: `launch/src/texture.rs`
//! * state at the start of waves (arguments, dispatch packet, registers, EXEC, scratch): `launch/src/gcn.rs`,
//!   `launch/src/gcn/entry.rs`, `kernarg.rs`, `packet.rs`
//! * memory that the runtime of AMD's GPUs places for a launch: `launch/src/gcn/bind.rs`; which pages count:
//!   `analyse/src/runtime_pointers.rs`, `bounds/src/cycles/runtime_memory.rs`
//! * marks files: `launch/src/marks.rs`
//! * stated ranges of the numbers in buffers: `launch/src/file/data_range.rs`; their loads:
//!   `analyse/src/stated_data.rs`; check of each load of a run: `audit/src/audit/loaded.rs`

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
pub use limits::{check_block, check_grid, check_limits, check_shared};
pub use marks::MarkedSites;
pub use memory::{Buffer, GlobalMemory, window};
pub use texture::{AddressMode, Filter, Surface, TexelArray, TexelElement, Texture};
