//! Assembly of an [`Image`] from a code object.
//!
//! The file is read in four steps: symbols give the kernels, notes give their metadata, descriptors give registers
//! and entry, and sections give the code. For example, the symbol `add.kd` of version 3 marks the descriptor of
//! kernel `add`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::Diagnostic;
use warpbound_base::Gfx;
use warpbound_base::Isa;

use super::code::{self, CodeSection, FunctionPlace};
use super::kernel::{self, FieldRelocations, KernelSymbol, RelocatedElf, STT_KERNEL};
use super::loaded;
use super::metadata::{self, StatedKernel, StatedKernels};
use super::notes::{self, Notes};
use super::{CodeObjectKernel, CodeObjectVersion};
use crate::elf::{Elf, Header, RawSymbol, SymbolLocation, fault};
use crate::elf_numbers::{STT_FUNC, STT_OBJECT};
use crate::image::{Image, Linkage, OtherItem, OtherKind, RefusedKernel};
use crate::kernel::Kernel;
use crate::line::{self, LineTable};
use crate::metadata::Param;
use crate::variable;

/// OS ABI of the files of AMD's compute stack (`ELFOSABI_AMDGPU_HSA`).
const HSA: u8 = 64;

/// Bits of the ELF flags with the number of the target.
const TARGET_BITS: u32 = 0xff;

/// Version and target of a code object from its header. A file of version 2 may state its target in a note instead.
pub(crate) fn target(header: &Header) -> Result<(CodeObjectVersion, Option<Gfx>), Diagnostic> {
    if header.os_abi != HSA {
        let message = format!(
            "the file is for an AMD GPU and OS ABI {}, not for HSA ({HSA})",
            header.os_abi
        );
        return Err(fault(7, message));
    }
    let version = CodeObjectVersion::from_abi(header.abi_version).ok_or_else(|| {
        let abi = header.abi_version;
        fault(
            8,
            format!("code objects of ABI version {abi} are not known (0 to 4 are)"),
        )
    })?;
    let number = (header.flags & TARGET_BITS) as u8;
    let gfx = Gfx::from_number(number);
    if gfx.is_none() && version > CodeObjectVersion::V2 {
        return Err(fault(
            48,
            format!("there is no AMD target with the number 0x{number:x}"),
        ));
    }
    Ok((version, gfx))
}

/// Target of a code object, from its header or, for version 2, from its notes.
fn full_target(elf: &Elf<'_>, notes: &Notes) -> Result<(CodeObjectVersion, Gfx), Diagnostic> {
    let (version, gfx) = target(&elf.header)?;
    if let Some(gfx) = gfx {
        return Ok((version, gfx));
    }
    let name = notes.target.as_deref().unwrap_or_default();
    let gfx = name.parse();
    let gfx =
        gfx.map_err(|_| fault(48, "neither the flags nor a note state a known AMD target"))?;
    Ok((version, gfx))
}

/// Instruction set of the code object in `file`.
pub(crate) fn isa(file: &[u8]) -> Result<Isa, Diagnostic> {
    let elf = Elf::parse(file)?;
    let (_, gfx) = full_target(&elf, &notes::read(&elf)?)?;
    Ok(Isa::Gfx(gfx))
}

/// Builds the image.
pub(crate) fn assemble(file: &Bytes, elf: &Elf<'_>) -> Result<Image, Diagnostic> {
    let linkage = match elf.header.file_type {
        1 => Linkage::Relocatable,
        3 => Linkage::Executable,
        other => {
            let message =
                format!("ELF type {other} is neither a linked nor a relocatable code object");
            return Err(fault(16, message));
        }
    };
    let (version, gfx) = target(&elf.header)?;
    let kernels = kernel::symbols(elf, version);
    let mut image = Image {
        isa: Isa::Gfx(gfx.unwrap_or(Gfx::UNKNOWN)),
        linkage,
        kernel_names: kernels.iter().map(|k| Arc::clone(&k.name)).collect(),
        kernels: Vec::new(),
        refused: Vec::new(),
        device_functions: Vec::new(),
        others: other_items(elf, &kernels),
        variables: Vec::new(),
        other_attributes: Vec::new(),
        loaded_file: None,
        warnings: Vec::new(),
    };
    // Other targets are only listed, before anything else of the file can be refused.
    if gfx.is_some_and(|gfx| gfx.family().is_none()) {
        return Ok(image);
    }
    let notes = notes::read(elf)?;
    let (version, gfx) = full_target(elf, &notes)?;
    image.isa = Isa::Gfx(gfx);
    if gfx.family().is_none() {
        return Ok(image);
    }
    if linkage == Linkage::Executable {
        image.loaded_file = Some(loaded::read(file, elf)?);
        image.variables = variable::read_loaded_variables(elf);
    }
    let relocations = elf.relocations();
    // Source lines have no effect on the meaning of the code, so a damaged table refuses no kernel.
    let lines = line::read(elf, &relocations).unwrap_or_else(|diagnostic| {
        image.warnings.push(diagnostic);
        BTreeMap::new()
    });
    let relocations = FieldRelocations::new(&relocations);
    let relocated = RelocatedElf {
        elf,
        relocations: &relocations,
    };
    let parts = Parts::collect(file, relocated, version, linkage, notes, lines, &kernels)?;
    let mut names = HashSet::new();
    for kernel in &kernels {
        // Metadata is found by name, so a second kernel of one name would get the sizes of the first.
        let read = match names.insert(&*kernel.name) {
            true => parts.kernel(kernel, &mut image),
            false => Err(fault(kernel.symbol.offset, "the kernel is there twice")),
        };
        match read {
            Ok(read) => image.kernels.push(read),
            Err(error) => image.refused.push(RefusedKernel {
                name: Arc::clone(&kernel.name),
                error: error.in_kernel(&*kernel.name),
            }),
        }
    }
    Ok(image)
}

/// Lists the variables and the symbols that another file must define.
fn other_items(elf: &Elf<'_>, kernels: &[KernelSymbol<'_>]) -> Vec<OtherItem> {
    let descriptors: HashSet<u64> = kernels.iter().map(|k| k.symbol.offset).collect();
    let symbols = elf.symbols.iter().filter_map(|symbol| {
        let kind = match (symbol.location, symbol.kind) {
            // The first symbol of every table is undefined and has no name.
            (SymbolLocation::Undefined, _) if !symbol.name.is_empty() => OtherKind::External,
            (SymbolLocation::Section(_), STT_OBJECT) if !descriptors.contains(&symbol.offset) => {
                OtherKind::Variable
            }
            _ => return None,
        };
        Some(OtherItem {
            name: Arc::clone(&symbol.name),
            kind,
            size: symbol.size,
        })
    });
    symbols.collect()
}

/// The parts of a file that kernels are made of.
struct Parts<'elf> {
    relocated: RelocatedElf<'elf>,
    version: CodeObjectVersion,
    linkage: Linkage,
    stated: StatedKernels,
    /// Code sections by index, or the error of reading one.
    code: BTreeMap<usize, Result<CodeSection, Diagnostic>>,
    /// Indices of the code sections by address.
    by_address: BTreeMap<u64, usize>,
    /// Line tables by index of the code section. A linked file has one table, with the key 0.
    lines: BTreeMap<usize, LineTable>,
}

impl<'elf> Parts<'elf> {
    /// Reads code sections and metadata.
    fn collect(
        file: &Bytes,
        relocated: RelocatedElf<'elf>,
        version: CodeObjectVersion,
        linkage: Linkage,
        notes: Notes,
        lines: BTreeMap<usize, LineTable>,
        kernels: &[KernelSymbol<'_>],
    ) -> Result<Parts<'elf>, Diagnostic> {
        let is_v2 = version == CodeObjectVersion::V2;
        let stated = match &notes.metadata {
            Some((offset, root)) => metadata::read(*offset, root, is_v2)?,
            None => StatedKernels::new(),
        };
        let mut functions = functions(relocated, kernels);
        let RelocatedElf { elf, relocations } = relocated;
        let (mut code, mut by_address) = (BTreeMap::new(), BTreeMap::new());
        for (index, section) in elf.sections.iter().enumerate() {
            if code::is_code(section) {
                let of_section = functions.remove(&index).unwrap_or_default();
                let read = relocations.of_section(index).and_then(|relocations| {
                    CodeSection::read(file, elf, index, relocations, of_section)
                });
                code.insert(index, read);
                by_address.insert(section.address, index);
            }
        }
        Ok(Parts {
            relocated,
            version,
            linkage,
            stated,
            code,
            by_address,
            lines,
        })
    }

    /// Assembles a kernel.
    fn kernel(&self, kernel: &KernelSymbol<'_>, image: &mut Image) -> Result<Kernel, Diagnostic> {
        let symbol = kernel.symbol;
        let here = |message: String| fault(symbol.offset, message);
        let raw = kernel::descriptor(self.relocated, kernel)?;
        let (section, value) = raw.entry;
        let (index, section, entry) = self.code_at(section, value, symbol)?;
        let nothing = StatedKernel::default();
        let stated = match self.stated.get(&*kernel.name) {
            Some(stated) => stated.as_ref().map_err(Diagnostic::clone)?,
            None => {
                // A warning, not a refusal: code and descriptor are there, and only the arguments are unknown.
                let message = "the file has no metadata of the kernel: its arguments are unknown";
                let warning = here(message.to_owned()).in_kernel(&*kernel.name);
                image.warnings.push(warning);
                &nothing
            }
        };
        let kernarg_size =
            kernel::check(&raw, stated).map_err(|message| fault(raw.offset, message))?;
        let code = section.kernel_code(&kernel.name, entry).map_err(here)?;
        let object = CodeObjectKernel {
            version: self.version,
            descriptor: raw.descriptor,
            descriptor_address: raw.address,
            code_address: section.address.saturating_add(code.start.into()),
            kernarg_size,
            args: stated.args.clone(),
            uses_dynamic_stack: raw.uses_dynamic_stack || stated.uses_dynamic_stack,
        };
        let vector_registers = raw.descriptor.vector_registers();
        let registers = stated.vector_registers.and_then(|n| u16::try_from(n).ok());
        // Rows have 32-bit addresses; code beyond has no lines.
        let line_base = u32::try_from(object.code_address);
        let lines = self.lines.get(&index).zip(line_base.ok());
        let lines = lines
            .map(|(lines, base)| lines.at(base))
            .unwrap_or_default();
        let max_block = stated.max_block.map(|threads| [threads, 1, 1]);
        Ok(Kernel {
            name: Arc::clone(&kernel.name),
            entry: code.entry,
            file_offset: section.file_offset.saturating_add(code.start.into()),
            registers: registers.unwrap_or(vector_registers),
            static_shared: Some(raw.descriptor.group_segment),
            frame_size: Some(raw.descriptor.private_segment),
            params: params(&object).map_err(here)?,
            required_block: stated.required_block,
            max_threads: max_block,
            functions: code.functions,
            code_object: Some(object),
            code: code.bytes,
            lines,
            ..Kernel::default()
        })
    }

    /// Code section with the instruction at a place, the offset there, and the key of its line table. The place is
    /// the offset `value` in section `index`, or the address `value` in a linked file.
    fn code_at(
        &self,
        index: Option<usize>,
        value: u64,
        symbol: &RawSymbol,
    ) -> Result<(usize, &CodeSection, u32), Diagnostic> {
        let outside = || {
            let message = "the kernel's first instruction lies outside the code sections";
            fault(symbol.offset, message)
        };
        let (line_key, section) = match (self.linkage, index) {
            // Sections of a well-formed file do not overlap, so the last one that begins at or before the address is
            // the only candidate.
            (Linkage::Executable, _) => {
                let mut below = self.by_address.range(..=value);
                (0, below.next_back().map(|(_, index)| *index))
            }
            (Linkage::Relocatable, index) => (index.unwrap_or(0), index),
        };
        let section = section.and_then(|index| self.code.get(&index));
        let section = section.ok_or_else(outside)?;
        let section = section.as_ref().map_err(Diagnostic::clone)?;
        let address = match self.linkage {
            Linkage::Executable => value,
            Linkage::Relocatable => section.address.saturating_add(value),
        };
        let entry = section.offset_of(address).ok_or_else(outside)?;
        match entry.is_multiple_of(4) {
            true => Ok((line_key, section, entry)),
            false => {
                let message = "the kernel's first instruction is not at a multiple of 4";
                Err(fault(symbol.offset, message))
            }
        }
    }
}

/// Functions of the symbol table, by the index of their section. A kernel of version 2 begins after its header.
fn functions(
    file: RelocatedElf<'_>,
    kernels: &[KernelSymbol<'_>],
) -> BTreeMap<usize, Vec<FunctionPlace>> {
    let elf = file.elf;
    let mut found: BTreeMap<usize, Vec<FunctionPlace>> = BTreeMap::new();
    let headers: BTreeMap<u64, &KernelSymbol<'_>> = kernels
        .iter()
        .filter(|kernel| kernel.symbol.kind == STT_KERNEL)
        .map(|kernel| (kernel.symbol.offset, kernel))
        .collect();
    for symbol in elf
        .symbols
        .iter()
        .filter(|s| matches!(s.kind, STT_FUNC | STT_KERNEL))
    {
        let SymbolLocation::Section(index) = symbol.location else {
            continue;
        };
        let Some(section) = elf
            .sections
            .get(index)
            .filter(|section| code::is_code(section))
        else {
            continue;
        };
        let header = headers.get(&symbol.offset);
        // A damaged header counts as none here, because the kernel itself is refused with the reason.
        let header = header.and_then(|kernel| kernel::descriptor(file, kernel).ok());
        let header = header.map_or(0, |header| header.header_size);
        let start = symbol.value.checked_sub(section.address);
        let end = start.and_then(|start| start.checked_add(symbol.size));
        let inside = |offset: u64| {
            u32::try_from(offset)
                .ok()
                .filter(|_| offset <= section.size)
        };
        let place =
            start.and_then(|start| Some((inside(start)?, inside(start.checked_add(header)?)?)));
        // Functions that reach out of their section are left out: a kernel there is refused by its own address.
        if let (Some((symbol_at, start)), true) =
            (place, end.is_some_and(|end| end <= section.size))
        {
            let size = u32::try_from(symbol.size.saturating_sub(header)).unwrap_or(0);
            found.entry(index).or_default().push(FunctionPlace {
                name: Arc::clone(&symbol.name),
                symbol: symbol_at,
                start,
                size,
            });
        }
    }
    found
}

/// The explicit arguments.
fn params(object: &CodeObjectKernel) -> Result<Vec<Param>, String> {
    let explicit = object.args.iter().filter(|arg| !arg.kind.is_hidden());
    let params = (0u16..).zip(explicit).map(|(ordinal, arg)| {
        let small = |number: u32| {
            u16::try_from(number).map_err(|_| "the arguments have 64 KiB or more".to_owned())
        };
        Ok(Param {
            ordinal,
            offset: small(arg.offset)?,
            size: small(arg.size)?,
        })
    });
    params.collect()
}
