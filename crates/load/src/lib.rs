//! Bytes to [`Image`]: the kernels of a cubin with everything the file says about them.
//!
//! A file of mini-SIMT text is cut into kernels here as well; what they say is read by the crate for
//! instruction sets.
//!
//! A cubin is an ELF file with NVIDIA's own section types and attributes. The ELF layer is read with
//! the `object` crate, line tables with `gimli`; what NVIDIA added is read here (the numbers come from
//! the ABI header, from CuAssembler's and denvdis' lists, and from experiments with `cuobjdump -elf`).
//!
//! What holds for every [`Image`] this crate returns:
//!
//! * Nothing a file contains makes it panic, and time and memory stay proportional to the file's size.
//! * Every code address handed out (symbols, exits, branch targets, relocations) lies inside the code it
//!   belongs to.
//! * What the file says and this crate does not understand is kept by number or by name, never dropped:
//!   [`Kernel::other_attributes`], [`Relocation::number`], [`Image::others`].
//! * A file that contradicts itself is refused in one line that names the offset and the cause; where only
//!   the parts of one kernel do, that kernel is ([`Image::refused`]), and its neighbours are read.

mod assemble;
mod attribute;
mod bank;
mod container;
mod elf;
mod fatbin;
mod grid;
mod host;
mod image;
mod inventory;
mod isa;
mod kernel;
mod launch;
mod library;
mod line;
mod metadata;
mod name;
mod relocation;
mod sm;
mod source;
mod text;
mod variable;

pub use bytes::Bytes;

pub use attribute::Attribute;
pub use bank::ConstBank;
pub use fatbin::{FatbinEntry, EntryKind, Packing};
pub use grid::{
    NpyArray, ElementType, Expected, ReadFile, LaunchAddressMode, LaunchBuffer, LaunchFile, ImageBinding, TexelLayout,
    LaunchParam, LaunchPointer, TexelBuffer, TextureBinding, LaunchVariable, ParamValue, PointerPlace,
    StartCaches, Vary,
};
pub use image::{Image, Linkage, Other, OtherKind, RefusedKernel};
pub use isa::Isa;
pub use kernel::{Function, Kernel, demangle};
pub use launch::{MiniLaunchFile, MemoryWords};
pub use library::{Container, ImageDirectory};
pub use line::SourceLine;
pub use metadata::{IndirectBranch, IndirectKind, Param, ParamBlock};
pub use name::{Fit, NamePattern, spell_candidates};
pub use relocation::{AddressHalf, RelocatedOperand, Relocation, Symbol};
pub use sm::Sm;
pub use source::{FileSource, ByteSource};
pub use variable::{Variable, VariablePlace};
