//! Kernel: its code and its metadata. For example, a kernel compiled with `__launch_bounds__(256)` has
//! [`Kernel::max_threads`] 256, 1, 1; one compiled without has `None`.

use std::borrow::Cow;
use std::hash::Hasher as _;
use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::{CodeAddr, ConstantBanks};

use crate::attribute::Attribute;
use crate::bank::ConstBank;
use crate::code_object::CodeObjectKernel;
use crate::demangle::demangle;
use crate::line::{LineTable, SourceLine};
use crate::metadata::{IndirectBranch, Param, ParamBlock};
use crate::relocation::Relocation;

/// A function that begins inside a kernel's section: the kernel itself, or a device function that the compiler placed
/// after it, named `$kernel$function`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Mangled name.
    pub name: Arc<str>,
    /// Address of the first byte.
    pub start: CodeAddr,
    /// Size in bytes.
    pub size: u32,
    /// Bytes of local memory of one frame per thread (`FRAME_SIZE`), where stated.
    pub frame_size: Option<u32>,
}

/// A code section of a function that a kernel may call, placed after the kernel's own section.
#[derive(Clone, Debug)]
pub struct JoinedSection {
    /// Mangled name of the section's first function.
    pub name: Arc<str>,
    /// Address of the section's first byte in the code of the kernel.
    pub start: CodeAddr,
    /// Byte offset of the section in the file.
    pub file_offset: u64,
    pub(crate) lines: LineTable,
}

/// One kernel of a supported architecture. Addresses are relative to the start of its code section; the sections of
/// [`Kernel::joined`] follow it.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct Kernel {
    /// Mangled name, as in the symbol table.
    pub name: Arc<str>,
    /// Address of the first instruction.
    pub entry: CodeAddr,
    /// Byte offset of the code section in the file.
    pub file_offset: u64,
    /// First line of the kernel in a text file, counted from 1; 0 for machine code.
    pub first_line: u32,
    /// Functions in the code section, the kernel included, by address.
    pub functions: Arc<[Function]>,
    /// General registers per thread. They include the registers of functions that the kernel may call, where the file
    /// states them (NVIDIA: bits 31:24 of the code sections' `sh_info` up to sm_89, `REGCOUNT`; AMD: VGPRs).
    pub registers: u16,
    /// Barriers in use: the highest index plus one, 0 to 16 (bits from 20 of the section's `sh_flags`; from CUDA 13 on
    /// `NUM_BARRIERS`).
    pub barriers: u8,
    /// Bytes of static shared memory; `None` in a relocatable file, where the linker decides.
    pub static_shared: Option<u32>,
    /// Bytes of shared memory before the static ones that belong to the system. They are not in
    /// [`Kernel::static_shared`].
    pub reserved_shared: u32,
    /// Bytes of local memory of the kernel's own frame per thread (`FRAME_SIZE`).
    pub frame_size: Option<u32>,
    /// Minimum size of the local stack per thread in bytes (`MIN_STACK_SIZE`). This is no upper bound where the code
    /// recurses or calls through pointers. `None` if the file states no size, or that the size is unknown.
    pub min_stack_size: Option<u32>,
    /// Bytes of local stack per thread (`MAX_STACK_SIZE`), as relocatable files state it.
    pub max_stack_size: Option<u32>,
    /// Whether the file marks the stack size as unknown, as ptxas does for code that recurses.
    pub has_unknown_stack: bool,
    /// Bytes per warp that the control-flow stack may spill (`CRS_STACK_SIZE`).
    pub crs_stack_size: Option<u32>,
    /// The register limit the compiler was given (`MAXREG_COUNT`); 255 for none.
    pub register_limit: Option<u16>,
    /// Parameters, by ordinal.
    pub params: Vec<Param>,
    /// Location of the parameters in the constant banks.
    pub param_block: Option<ParamBlock>,
    /// Block size x, y, z that every launch must use (`REQNTID`).
    pub required_block: Option<[u32; 3]>,
    /// Block size x, y, z from `__launch_bounds__` (`MAX_THREADS`): its product bounds the threads of a block.
    pub max_threads: Option<[u32; 3]>,
    /// Blocks of a cluster in x, y, z that every launch must use (`CTA_PER_CLUSTER`).
    pub required_cluster: Option<[u32; 3]>,
    /// Maximum number of blocks of a cluster, from `__launch_bounds__` (`MAX_CLUSTER_RANK`).
    pub max_cluster_blocks: Option<u32>,
    /// The constant banks with contents in the file, by number.
    pub banks: Vec<ConstBank>,
    /// Addresses of EXIT instructions, as recorded.
    pub exits: Vec<CodeAddr>,
    /// Addresses of instructions that read the block index, as recorded.
    pub ctaid_reads: Vec<CodeAddr>,
    /// Addresses of calls into the system (`printf`, `malloc`), as recorded.
    pub system_calls: Vec<CodeAddr>,
    /// Whether the kernel reads the z part of the block index (`CTAIDZ_USED`).
    pub uses_ctaid_z: bool,
    /// Indirect branches with their targets, as the compiler recorded them; compilers before CUDA 11
    /// record none, so an empty list proves nothing.
    pub indirect_branches: Vec<IndirectBranch>,
    /// Names of functions outside the file that the kernel refers to (`EXTERNS`).
    pub externs: Vec<Arc<str>>,
    /// Relocations of the code section, by address.
    pub relocations: Vec<Relocation>,
    /// Attributes that no other field represents: unknown ones, and known ones without a use here.
    pub other_attributes: Vec<Attribute>,
    /// Facts that a code object of an AMD GPU states about the kernel; `None` for other machines.
    pub code_object: Option<CodeObjectKernel>,
    /// Code sections of functions that the kernel may call, by address: they follow its own section.
    pub joined: Vec<JoinedSection>,
    /// Size of an instruction in bytes; 0 if instructions have several sizes.
    pub(crate) instruction_bytes: u32,
    pub(crate) code: Bytes,
    pub(crate) lines: LineTable,
}

impl Kernel {
    /// The bytes of the code section and of the sections joined to it: the kernel, the functions placed after it, and
    /// padding.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// Bytes of the bank of constants that a launch writes: its sizes, addresses and parameters. 0 if the file does not
    /// state them.
    pub fn launch_constants(&self) -> u64 {
        let mut banks = self.banks.iter();
        let launch = banks.find(|bank| bank.number == ConstantBanks::OF_CUBINS.launch);
        launch.map_or(0, |bank| bank.bytes().len() as u64)
    }

    /// The kernel restricted to its own code section, without joined ones.
    pub fn own_section(&self) -> Cow<'_, Kernel> {
        let Some(first) = self.joined.first() else {
            // Without joined sections, all of it is the kernel's own.
            return Cow::Borrowed(self);
        };
        let mut own = self.clone();
        let end = first.start;
        own.joined.clear();
        own.code
            .truncate(usize::try_from(end.0).unwrap_or(usize::MAX));
        own.functions = self
            .functions
            .iter()
            .filter(|function| function.start < end)
            .cloned()
            .collect();
        // The functions and relocations of joined sections have addresses past the end of this one.
        own.relocations
            .retain(|relocation| relocation.offset < end.0);
        Cow::Owned(own)
    }

    /// Number of instructions in the code, control words and padding included, as its size implies it; `None` if
    /// instructions have several sizes.
    pub fn instruction_slots(&self) -> Option<usize> {
        let bytes = usize::try_from(self.instruction_bytes).ok()?;
        self.code.len().checked_div(bytes)
    }

    /// Whether an instruction is the last one of its section.
    pub fn ends_section(&self, address: CodeAddr) -> bool {
        let next = address.offset(self.instruction_bytes.into());
        self.joined
            .iter()
            .any(|section| Some(section.start) == next)
    }

    /// The name as C++ source spells it; the symbol's name if that is not a mangled one.
    pub fn demangled(&self) -> String {
        demangle(&self.name)
    }

    /// The constant bank with this number, if the file has it.
    pub fn bank(&self, number: u8) -> Option<&ConstBank> {
        self.banks.iter().find(|bank| bank.number == number)
    }

    /// The source line of an instruction, if the file records one.
    pub fn source_line(&self, address: CodeAddr) -> Option<SourceLine> {
        let joined = self.joined.partition_point(|part| part.start <= address);
        let joined = joined
            .checked_sub(1)
            .and_then(|index| self.joined.get(index));
        match joined {
            Some(part) => part.lines.find(CodeAddr(address.0 - part.start.0)),
            // Addresses before the first joined section are in the kernel's own.
            None => self.lines.find(address),
        }
    }

    /// The innermost function that contains an address.
    pub fn function_at(&self, address: CodeAddr) -> Option<&Function> {
        self.functions
            .iter()
            .filter(|function| {
                function.start <= address && address.0 - function.start.0 < function.size
            })
            .max_by_key(|function| function.start)
    }

    /// Digest of the kernel's code and compiler constants (bank 2), sixteen hexadecimal digits. Flow facts stated for
    /// one digest do not hold for another. It is 64-bit FNV-1a over the length of the code, the code, and the
    /// contents of bank 2; for a code object, over the words of the descriptor that state float modes and registers
    /// at the start, instead of bank 2.
    pub fn code_digest(&self) -> String {
        let mut hasher = fnv::FnvHasher::default();
        hasher.write(&(self.code.len() as u64).to_le_bytes());
        hasher.write(&self.code);
        if let Some(literals) = self.bank(2) {
            hasher.write(literals.bytes());
        }
        // The words of calls between sections hold no addresses, so equal code may call different functions.
        if !self.joined.is_empty() {
            for relocation in &self.relocations {
                hasher.write(&relocation.offset.to_le_bytes());
                match relocation.symbol.in_code {
                    Some(address) => hasher.write(&address.0.to_le_bytes()),
                    None => hasher.write(relocation.symbol.name.as_bytes()),
                }
            }
        }
        if let Some(object) = &self.code_object {
            let descriptor = &object.descriptor;
            for word in [descriptor.rsrc1, descriptor.rsrc2, descriptor.properties] {
                hasher.write(&word.to_le_bytes());
            }
        }
        format!("{:016x}", hasher.finish())
    }
}

/// Digest of a text, sixteen hexadecimal digits: 64-bit FNV-1a.
pub fn text_digest(text: &str) -> String {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(text.as_bytes());
    format!("{:016x}", hasher.finish())
}
