//! Numbers of the ELF format and of its extensions for GPUs, which readers and writers of files share. Numbers that
//! the standard or the register of machines defines come from the crate `object`.
//!
//! For example, a section of type [`SHT_NOBITS`] occupies memory, but has no contents in the file.

use object::elf;

/// `e_machine` of NVIDIA GPUs.
pub const EM_CUDA: u16 = elf::EM_CUDA.0;
/// `e_machine` of AMD GPUs.
pub const EM_AMDGPU: u16 = elf::EM_AMDGPU.0;

/// Section without meaning.
pub const SHT_NULL: u32 = elf::SHT_NULL.0;
/// Section whose contents the program defines.
pub const SHT_PROGBITS: u32 = elf::SHT_PROGBITS.0;
/// Symbol table.
pub const SHT_SYMTAB: u32 = elf::SHT_SYMTAB.0;
/// String table.
pub const SHT_STRTAB: u32 = elf::SHT_STRTAB.0;
/// Relocations with addends.
pub const SHT_RELA: u32 = elf::SHT_RELA.0;
/// Notes.
pub const SHT_NOTE: u32 = elf::SHT_NOTE.0;
/// Section in memory without contents in the file.
pub const SHT_NOBITS: u32 = elf::SHT_NOBITS.0;
/// Relocations whose addends are in the relocated fields.
pub const SHT_REL: u32 = elf::SHT_REL.0;
/// Symbol table of the loader.
pub const SHT_DYNSYM: u32 = elf::SHT_DYNSYM.0;
/// Attributes of a cubin (`.nv.info`; LLVM, denvdis, experiment).
pub const SHT_CUDA_INFO: u32 = 0x7000_0000;

/// Flag of writable sections.
pub const SHF_WRITE: u64 = elf::SHF_WRITE.0;
/// Flag of sections that occupy memory.
pub const SHF_ALLOC: u64 = elf::SHF_ALLOC.0;
/// Flag of sections that hold code.
pub const SHF_EXECINSTR: u64 = elf::SHF_EXECINSTR.0;
/// Flag of sections whose `sh_info` is the index of a section.
pub const SHF_INFO_LINK: u64 = elf::SHF_INFO_LINK.0;

/// Symbol type of variables.
pub const STT_OBJECT: u8 = elf::STT_OBJECT.0;
/// Symbol type of functions.
pub const STT_FUNC: u8 = elf::STT_FUNC.0;
/// Symbol type of sections.
pub const STT_SECTION: u8 = elf::STT_SECTION.0;

/// Segment that is loaded.
pub const PT_LOAD: u32 = elf::PT_LOAD.0;
/// Segment of the program headers themselves.
pub const PT_PHDR: u32 = elf::PT_PHDR.0;
/// Flag of writable segments.
pub const PF_W: u32 = elf::PF_W.0;
/// Flag of readable segments.
pub const PF_R: u32 = elf::PF_R.0;

/// Bytes of the header of a file of 64 bits.
pub const HEADER_SIZE: usize = size_of::<elf::FileHeader64<object::LittleEndian>>();
/// Bytes of a section header.
pub const SECTION_HEADER_SIZE: usize = size_of::<elf::SectionHeader64<object::LittleEndian>>();
/// Bytes of a program header.
pub const SEGMENT_HEADER_SIZE: usize = size_of::<elf::ProgramHeader64<object::LittleEndian>>();
/// Bytes of a symbol.
pub const SYMBOL_SIZE: usize = size_of::<elf::Sym64<object::LittleEndian>>();
/// Bytes of a relocation with an addend.
pub const RELOCATION_SIZE: usize = size_of::<elf::Rela64<object::LittleEndian>>();

/// Types of sections with global and shared variables in relocatable cubins. They have no contents in the file
/// (experiment: their offsets overlap the next section).
pub const CUDA_WITHOUT_CONTENTS: [u32; 2] = [0x7000_0007, 0x7000_000a];
