//! Parser of cubins and of mini-SIMT text: bytes to an [`Image`], the kernels with their metadata.
//!
//! A file of mini-SIMT text is split into kernels here; the crate for instruction sets parses their text.
//!
//! A cubin is an ELF file with NVIDIA's own section types and attributes. The ELF layer is read with
//! the `object` crate, line tables with `gimli`; NVIDIA's additions are read here (the numbers come from
//! the ABI header, from CuAssembler's and denvdis' lists, and from experiments with `cuobjdump -elf`).
//!
//! Invariants of every [`Image`] that this crate returns:
//!
//! * No file contents cause a panic, and time and memory stay proportional to the file's size.
//! * Every code address handed out (symbols, exits, branch targets, relocations) lies inside the code it
//!   belongs to.
//! * Records that this crate does not interpret are kept by number or by name, never dropped:
//!   [`Kernel::other_attributes`], [`Relocation::number`], [`Image::others`].
//! * A file that contradicts itself is refused in one line that names the offset and the cause; if the
//!   contradiction is within one kernel, only that kernel is refused ([`Image::refused`]).
//!
//! # Concepts
//!
//! * images of a file (directory of entries): `load/src/library.rs`, `inventory.rs`
//! * kinds of containers, recognised by their first bytes: `load/src/container.rs`
//! * fat binaries, host files: `load/src/fatbin.rs`, `host.rs`; entries and their unpacking: `load/src/entry.rs`
//! * cubins: `load/src/elf.rs`, `attribute.rs`, `metadata.rs`, `bank.rs`, `relocation.rs`, `line.rs`; assembled in
//!   `assemble.rs`
//! * numbers of the ELF format: `load/src/elf_numbers.rs`
//! * registers, barriers and shared memory, where each version of cubins states them: `load/src/resources.rs`
//! * GPUs on which a cubin may run (suffixes `a` and `f`), sections that are not read: `load/src/compat.rs`, `skipped.rs`
//! * functions with code sections of their own, joined to the kernels that call them: `load/src/joined.rs`; tests
//!   `load/tests/it/joined.rs`, `cli/tests/it/foreign.rs`, files `kernels/foreign`
//! * code objects of AMD's GPUs (descriptors, arguments, metadata of each version): `load/src/code_object.rs`,
//!   `load/src/code_object/descriptor.rs`, `argument.rs`, `metadata.rs`, `read.rs`
//! * code of a kernel among those that share a section: `load/src/code_object/code.rs`
//! * offload bundles: `load/src/bundle.rs`
//! * variables of a file: `load/src/variable.rs`
//! * names and patterns of kernels: `load/src/name.rs`; demangled: `load/src/demangle.rs`

// Values in this crate come from input files: indices and casts must be checked.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::indexing_slicing)
)]

mod assemble;
mod attribute;
mod bank;
mod bundle;
mod code_object;
mod compat;
mod container;
mod demangle;
mod elf;
pub mod elf_numbers;
mod entry;
mod fatbin;
mod flags;
mod host;
mod image;
mod inventory;
mod joined;
mod kernel;
mod library;
mod line;
mod lz4_head;
mod metadata;
mod name;
mod parse;
mod relocation;
mod resources;
mod skipped;
mod source;
mod text;
mod variable;

pub use bytes::Bytes;
pub use warpbound_base::{Gfx, Isa, Sm, SmReach};

pub use attribute::Attribute;
pub use bank::ConstBank;
pub use code_object::{
    AddressField, ArgKind, CodeObjectKernel, CodeObjectVersion, GcnDescriptor, HiddenArg,
    KernelArg, LoadedFile, LoadedSegment,
};
pub use container::begins_like_code;
pub use demangle::demangle;
pub use entry::{EntryKind, FatbinEntry, Packing};
pub use image::{Image, Linkage, OtherItem, OtherKind, RefusedKernel};
pub use kernel::{Function, JoinedSection, Kernel, text_digest};
pub use library::{ContainerKind, ImageDirectory};
pub use line::SourceLine;
pub use metadata::{IndirectBranch, IndirectKind, Param, ParamBlock};
pub use name::{MatchQuality, NamePattern, list_candidates};
pub use relocation::{AddressHalf, RelocatedOperand, Relocation, Symbol};
pub use skipped::{SkippedKind, SkippedSections};
pub use source::{ByteSource, FileSource};
pub use variable::{Variable, VariableLocation};
