//! Kernels of code objects: ELF files for AMD's GPUs (LLVM, "User Guide for AMDGPU Backend", "Code Object").

mod argument;
mod code;
mod descriptor;
mod kernel;
mod loaded;
mod metadata;
mod notes;
mod read;
mod yaml;

use std::fmt;

pub use argument::{ArgKind, HiddenArg, KernelArg};
pub use descriptor::GcnDescriptor;
pub use loaded::{AddressField, LoadedFile, LoadedSegment};
pub(crate) use read::{assemble, isa, target};

/// Version of a code object, which decides where kernels, metadata and hidden arguments are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CodeObjectVersion {
    /// Kernels with a header of 256 bytes, metadata in YAML.
    V2,
    /// Kernel descriptors of 64 bytes, metadata in MessagePack.
    V3,
    /// As version 3, with other flags of the target.
    V4,
    /// Hidden arguments of 256 bytes.
    V5,
    /// As version 5, with generic targets.
    V6,
}

impl CodeObjectVersion {
    /// Version by the ABI version of the ELF file (`e_ident[8]`).
    pub(crate) fn from_abi(abi: u8) -> Option<CodeObjectVersion> {
        use CodeObjectVersion::{V2, V3, V4, V5, V6};
        [V2, V3, V4, V5, V6].get(usize::from(abi)).copied()
    }
}

impl fmt::Display for CodeObjectVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CodeObjectVersion::V2 => "v2",
            CodeObjectVersion::V3 => "v3",
            CodeObjectVersion::V4 => "v4",
            CodeObjectVersion::V5 => "v5",
            CodeObjectVersion::V6 => "v6",
        })
    }
}

/// Facts that a code object states about one kernel. For example, a kernel with the explicit arguments (pointer,
/// 4-byte integer) has hidden arguments from offset 16: the explicit ones end at 12.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeObjectKernel {
    /// Version of the code object.
    pub version: CodeObjectVersion,
    /// Descriptor of the kernel, which determines its registers at the start.
    pub descriptor: GcnDescriptor,
    /// Address of the descriptor (v2: of the kernel's header) in the loaded file, relative to address 0 of the file.
    pub descriptor_address: u64,
    /// Address of the first byte of the kernel's code in the loaded file, relative to address 0 of the file.
    pub code_address: u64,
    /// Size of the kernel arguments in bytes, including hidden ones: from the descriptor, else from the metadata.
    pub kernarg_size: u32,
    /// Arguments by offset, including hidden ones.
    pub args: Vec<KernelArg>,
    /// Whether the kernel calls functions whose stack has no static size (v5 on).
    pub uses_dynamic_stack: bool,
}

impl CodeObjectKernel {
    /// Offset of the hidden arguments: the end of the explicit ones, rounded up to a multiple of 8.
    pub fn hidden_offset(&self) -> u32 {
        let explicit = self.args.iter().filter(|arg| !arg.kind.is_hidden());
        let end = explicit.map(|arg| arg.offset.saturating_add(arg.size));
        end.max().unwrap_or(0).next_multiple_of(8)
    }
}
