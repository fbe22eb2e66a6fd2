//! Assembly of kernels from the ELF view: assigns sections, symbols and attributes to kernels.
//!
//! The linker spreads one kernel over several sections: `.text.f` (code), `.nv.info.f` (attributes),
//! `.nv.constant0.f` (parameters), `.nv.shared.f` (static shared memory). `sh_info` of each section names the code
//! section. For example, an error in `.nv.info.f` refuses kernel `f` and no other kernel.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::{CodeAddr, Diagnostic, Isa, Sm, SmFacts};

use crate::attribute::{self, Attribute};
use crate::bank::{self, BankName, ConstBank};
use crate::elf::{Elf, RawSymbol, Relocations, Section, SymbolLocation, fault};
use crate::elf_numbers::SHT_CUDA_INFO;
use crate::image::{Image, Linkage, RefusedKernel};
use crate::inventory::{self, CodeSection, FunctionSymbol, code_name, is_code, is_static_shared};
use crate::joined::Joiner;
use crate::kernel::{Function, Kernel};
use crate::line::{self, LineTable};
use crate::metadata::{CodeSizes, Metadata, ParamBlock};
use crate::relocation::Relocation;
use crate::resources;
use crate::variable;

/// Builds the image.
pub(crate) fn assemble(
    file: &Bytes,
    elf: &Elf<'_>,
    sm: Sm,
    linkage: Linkage,
) -> Result<Image, Diagnostic> {
    let code = inventory::code_sections(elf);
    let kernels = code.sections.values().flat_map(|code| &code.kernels);
    let kernels = kernels.chain(&code.without_code);
    let mut image = Image {
        isa: Isa::Sm(sm),
        linkage,
        kernel_names: kernels.map(|k| Arc::clone(&k.symbol.name)).collect(),
        kernels: Vec::new(),
        refused: Vec::new(),
        device_functions: Vec::new(),
        others: inventory::other_items(elf, &code.sections),
        variables: variable::read_variables(file, elf),
        other_attributes: Vec::new(),
        loaded_file: None,
        warnings: Vec::new(),
    };
    // Of other architectures, only the names of the kernels are known.
    let Some(facts) = sm.facts() else {
        return Ok(image);
    };
    let parts = Parts::collect(file, elf, facts, &mut image)?;
    let mut functions = BTreeMap::new();
    for (&index, section) in &code.sections {
        // A section without a kernel holds a device function: it is assembled once and joined to every kernel that
        // calls it.
        if let ([], [first, ..]) = (&*section.kernels, &*section.functions) {
            match parts.assemble_function(index, *first, section, &mut image) {
                Ok(function) => {
                    functions.insert(index, function);
                }
                // A damaged function refuses no kernel: calls of it stay calls that lead outside the code.
                Err(error) => image.warnings.push(error.in_kernel(&*first.symbol.name)),
            }
        }
    }
    let mut joiner = Joiner::new(&functions, facts, linkage, file.len());
    for (&index, section) in &code.sections {
        for &kernel in &section.kernels {
            match parts.assemble_function(index, kernel, section, &mut image) {
                Ok(mut kernel) => {
                    // The kernel is unchanged if this fails, so its code is still right: only its calls lead outside.
                    if let Err(warning) = joiner.join(index, &mut kernel) {
                        image.warnings.push(warning);
                    }
                    image.kernels.push(kernel);
                }
                Err(error) => image.refuse(kernel.symbol, error),
            }
        }
    }
    image.device_functions = functions.into_values().collect();
    for kernel in code.without_code {
        let symbol = kernel.symbol;
        let error = fault(symbol.offset, "the kernel lies outside the code sections");
        image.refuse(symbol, error);
    }
    Ok(image)
}

impl Image {
    /// Adds a refused kernel.
    fn refuse(&mut self, kernel: &RawSymbol, error: Diagnostic) {
        self.refused.push(RefusedKernel {
            name: Arc::clone(&kernel.name),
            error: error.in_kernel(&*kernel.name),
        });
    }
}

/// The parts of all kernels, grouped by the code section or symbol that they belong to.
struct Parts<'elf> {
    file: &'elf Bytes,
    elf: &'elf Elf<'elf>,
    facts: &'static SmFacts,
    relocations: Relocations,
    lines: BTreeMap<usize, LineTable>,
    /// Attributes of the whole file: (attribute, symbol index) to value.
    by_symbol: BTreeMap<(u8, u32), u32>,
    /// Banks that all kernels see.
    shared_banks: Vec<ConstBank>,
    /// Parts of single kernels, by the index of the code section.
    of_kernel: BTreeMap<usize, KernelParts>,
    /// The first error in a part of a single kernel, by the index of the code section.
    faults: BTreeMap<usize, Diagnostic>,
}

/// Parts of one kernel, apart from its code.
#[derive(Default)]
struct KernelParts {
    attributes: Vec<Attribute>,
    banks: Vec<ConstBank>,
    static_shared: u32,
}

impl<'elf> Parts<'elf> {
    /// Collects the parts of all sections. An error in a part of one kernel is kept with that kernel; any other error
    /// is returned.
    fn collect(
        file: &'elf Bytes,
        elf: &'elf Elf<'elf>,
        facts: &'static SmFacts,
        image: &mut Image,
    ) -> Result<Parts<'elf>, Diagnostic> {
        let relocations = elf.relocations();
        for (&index, table) in &relocations {
            // A damaged table of a section that is read is reported with that section.
            let is_read = elf.sections.get(index).is_some_and(inventory::is_relocated);
            if let (Err(error), false) = (table, is_read) {
                image.warnings.push(error.clone());
            }
        }
        // Source lines have no effect on the meaning of the code, so a damaged table refuses no kernel.
        let lines = line::read(elf, &relocations).unwrap_or_else(|diagnostic| {
            image.warnings.push(diagnostic);
            BTreeMap::new()
        });
        let mut parts = Parts {
            file,
            elf,
            facts,
            relocations,
            lines,
            by_symbol: BTreeMap::new(),
            shared_banks: Vec::new(),
            of_kernel: BTreeMap::new(),
            faults: BTreeMap::new(),
        };
        let code_by_name: HashMap<&str, usize> = (0..)
            .zip(&elf.sections)
            .filter_map(|(index, section)| Some((code_name(section)?, index)))
            .collect();
        for (index, section) in elf.sections.iter().enumerate() {
            let added = if section.kind == SHT_CUDA_INFO {
                parts.add_attributes(section, &mut image.other_attributes)
            } else if let Some(name) = bank::parse_name(section.name) {
                parts.add_bank(index, section, &name)
            } else if is_static_shared(section) {
                parts.add_static_shared(section)
            } else {
                Ok(())
            };
            if let Err(error) = added {
                // A damaged part of one kernel refuses that kernel only.
                let owner = inventory::owner(section.name);
                // If `sh_info` itself is damaged, the section's name still gives the owner.
                let named = || owner.and_then(|name| code_by_name.get(name).copied());
                match parts.owning_code(section).or_else(named) {
                    Some(code) => parts.faults.entry(code).or_insert(error),
                    None => return Err(error),
                };
            }
        }
        Ok(parts)
    }

    /// Index of the code section that `section.info` refers to.
    fn owning_code(&self, section: &Section<'_>) -> Option<usize> {
        let index = section.info as usize;
        let code = self.elf.sections.get(index);
        code.is_some_and(is_code).then_some(index)
    }

    /// The parts of the kernel whose code section `section.info` refers to.
    fn kernel_parts(&mut self, section: &Section<'_>) -> Result<&mut KernelParts, Diagnostic> {
        match self.owning_code(section) {
            Some(index) => Ok(self.of_kernel.entry(index).or_default()),
            None => {
                let (name, index) = (section.name, section.info);
                let message =
                    format!("section {name:?} belongs to section {index}, which is not code");
                Err(fault(section.offset, message))
            }
        }
    }

    /// Adds the records of a `.nv.info` section. A kernel's section adds to the parts of the kernel; the section of
    /// the file adds to the functions that its records name, or to `others`.
    fn add_attributes(
        &mut self,
        section: &Section<'elf>,
        others: &mut Vec<Attribute>,
    ) -> Result<(), Diagnostic> {
        let contents = self.file.slice_ref(self.elf.contents(section)?);
        let records = attribute::parse_records(&contents, section.offset)?;
        // Section 0 of an ELF file does not exist, so an `sh_info` of 0 belongs to the whole file.
        if section.info != 0 {
            self.kernel_parts(section)?.attributes.extend(records);
            return Ok(());
        }
        for record in records {
            match record.code {
                attribute::FRAME_SIZE
                | attribute::MIN_STACK_SIZE
                | attribute::MAX_STACK_SIZE
                | attribute::REGCOUNT => {
                    let [symbol, value] = record.exact_words()?;
                    // Compilers state some sizes twice, the second time with the functions that pointers may call.
                    let known = self.by_symbol.entry((record.code, symbol)).or_default();
                    *known = value.max(*known);
                }
                _ => others.push(record),
            }
        }
        Ok(())
    }

    /// Adds a constant bank.
    fn add_bank(
        &mut self,
        index: usize,
        section: &Section<'elf>,
        name: &BankName,
    ) -> Result<(), Diagnostic> {
        let number = name.number;
        if !section.has_contents() && section.size != 0 {
            let message = format!(
                "constant bank {number} ({:?}) has no contents",
                section.name
            );
            return Err(fault(section.offset, message));
        }
        let bank = ConstBank {
            number,
            is_shared_by_kernels: !name.has_owner,
            file_offset: section.offset,
            relocations: self.relocations(index)?.into(),
            contents: self.file.slice_ref(self.elf.contents(section)?),
        };
        let banks = if name.has_owner {
            &mut self.kernel_parts(section)?.banks
        } else {
            &mut self.shared_banks
        };
        // An operand `c[number][offset]` must denote one word.
        if banks.iter().any(|other| other.number == number) {
            let message = format!("constant bank {number} appears twice ({:?})", section.name);
            return Err(fault(section.offset, message));
        }
        banks.push(bank);
        Ok(())
    }

    /// Adds a section of static shared memory.
    fn add_static_shared(&mut self, section: &Section<'elf>) -> Result<(), Diagnostic> {
        let total = &mut self.kernel_parts(section)?.static_shared;
        *total = u32::try_from(section.size)
            .ok()
            .and_then(|size| total.checked_add(size))
            .ok_or_else(|| fault(section.offset, "shared memory of more than 4 GiB"))?;
        Ok(())
    }

    /// The relocations of a section, by offset.
    fn relocations(&self, section: usize) -> Result<Vec<Relocation>, Diagnostic> {
        let raw = match self.relocations.get(&section) {
            Some(raw) => raw.as_ref().map_err(Diagnostic::clone)?.as_slice(),
            None => &[],
        };
        let mut relocations = raw
            .iter()
            .map(|raw| Relocation::read(self.elf, raw))
            .collect::<Result<Vec<_>, _>>()?;
        relocations.sort_by_key(|relocation| relocation.offset);
        Ok(relocations)
    }

    /// Relocations of a code section of `size` bytes at `offset` in the file. Each must begin inside the section.
    fn code_relocations(
        &self,
        index: usize,
        offset: u64,
        size: u32,
    ) -> Result<Vec<Relocation>, Diagnostic> {
        let relocations = self.relocations(index)?;
        // The relocations are sorted by offset, so it suffices to check the last one.
        match relocations.last().filter(|last| last.offset >= size) {
            Some(last) => {
                let at = last.offset;
                let message =
                    format!("a relocation at {at:#x} is past the {size:#x} bytes of code");
                Err(fault(offset, message))
            }
            None => Ok(relocations),
        }
    }

    /// Assembles the function whose code section has this index, with its parts.
    fn assemble_function(
        &self,
        index: usize,
        function: FunctionSymbol<'_>,
        in_section: &CodeSection<'_>,
        image: &mut Image,
    ) -> Result<Kernel, Diagnostic> {
        let (symbol_index, symbol) = (function.index, function.symbol);
        // An error of the kernel's own parts refuses it here, so that the rest of the file is still read.
        let mut faults = in_section.fault.iter().chain(self.faults.get(&index));
        if let Some(error) = faults.next() {
            return Err(error.clone());
        }
        let section = self
            .elf
            .sections
            .get(index)
            .ok_or_else(|| fault(symbol.offset, "the code section does not exist"))?;
        let code = self.code(section)?;
        let code_size = u32::try_from(code.len())
            .map_err(|_| fault(section.offset, "code of more than 4 GiB"))?;
        let nothing = KernelParts::default();
        let parts = self.of_kernel.get(&index).unwrap_or(&nothing);
        let sizes = CodeSizes {
            section: code_size,
            instruction: self.facts.instruction_bytes,
        };
        let metadata = Metadata::read(self.elf, &parts.attributes, sizes)?;
        let stated = self.stated_value(attribute::REGCOUNT, symbol_index);
        let registers = resources::registers(self.facts, section, stated)?;
        let abi_version = self.elf.header.abi_version;
        let barriers = resources::barriers(abi_version, section, metadata.barriers.as_ref())?;
        let warnings = registers.warning.into_iter().chain(barriers.warning);
        let warnings = warnings.map(|warning| warning.in_kernel(&*symbol.name));
        image.warnings.extend(warnings);
        let (static_shared, reserved_shared) =
            resources::shared_memory(self.facts, parts.static_shared);
        let is_linked = image.linkage == Linkage::Executable;
        Ok(Kernel {
            name: Arc::clone(&symbol.name),
            entry: CodeAddr(to_u32(symbol.value, symbol)?),
            first_line: 0,
            file_offset: section.offset,
            functions: in_section
                .functions
                .iter()
                .map(|function| self.function_of(function))
                .collect::<Result<_, _>>()?,
            registers: registers.value,
            barriers: barriers.value,
            static_shared: is_linked.then_some(static_shared),
            reserved_shared: if is_linked { reserved_shared } else { 0 },
            frame_size: self.stated_size(attribute::FRAME_SIZE, symbol_index),
            min_stack_size: self.stated_size(attribute::MIN_STACK_SIZE, symbol_index),
            max_stack_size: self.stated_size(attribute::MAX_STACK_SIZE, symbol_index),
            has_unknown_stack: [
                attribute::FRAME_SIZE,
                attribute::MIN_STACK_SIZE,
                attribute::MAX_STACK_SIZE,
            ]
            .into_iter()
            .any(|size| self.stated_value(size, symbol_index) == Some(UNKNOWN_SIZE)),
            // Compilers for Volta and later write the marker for code that recurses.
            crs_stack_size: metadata.crs_stack_size.filter(|&size| size != UNKNOWN_SIZE),
            register_limit: metadata.register_limit,
            param_block: self.param_block(&metadata, index)?,
            params: metadata.params,
            required_block: metadata.required_block,
            max_threads: metadata.max_threads,
            required_cluster: metadata.required_cluster,
            max_cluster_blocks: metadata.max_cluster_blocks,
            banks: self.banks(parts)?,
            exits: metadata.exits,
            ctaid_reads: metadata.ctaid_reads,
            system_calls: metadata.system_calls,
            uses_ctaid_z: metadata.uses_ctaid_z,
            indirect_branches: metadata.indirect_branches,
            externs: metadata.externs,
            relocations: self.code_relocations(index, section.offset, code_size)?,
            other_attributes: metadata.others,
            code_object: None,
            joined: Vec::new(),
            instruction_bytes: self.facts.instruction_bytes,
            code,
            lines: self.lines.get(&index).cloned().unwrap_or_default(),
        })
    }

    /// The function of a symbol in a code section.
    fn function_of(&self, function: &FunctionSymbol<'_>) -> Result<Function, Diagnostic> {
        let symbol = function.symbol;
        Ok(Function {
            name: Arc::clone(&symbol.name),
            start: CodeAddr(to_u32(symbol.value, symbol)?),
            size: to_u32(symbol.size, symbol)?,
            frame_size: self.stated_size(attribute::FRAME_SIZE, function.index),
        })
    }

    /// The kernel's own banks and the shared ones, by number.
    fn banks(&self, parts: &KernelParts) -> Result<Vec<ConstBank>, Diagnostic> {
        let mut banks = parts.banks.clone();
        for shared in &self.shared_banks {
            let number = shared.number;
            if parts.banks.iter().any(|bank| bank.number == number) {
                let message = format!("constant bank {number} is both shared and the kernel's own");
                return Err(fault(shared.file_offset, message));
            }
            banks.push(shared.clone());
        }
        banks.sort_by_key(|bank| bank.number);
        Ok(banks)
    }

    /// The contents of a code section; its address must be 0, as all addresses are relative to it.
    fn code(&self, section: &Section<'elf>) -> Result<Bytes, Diagnostic> {
        if !section.has_contents() {
            return Err(fault(section.offset, "the code section has no contents"));
        }
        // Symbols, exits and branch targets are offsets in the section; a fixed address would shift them all.
        if section.address != 0 {
            let address = section.address;
            let message =
                format!("the code section has the fixed address 0x{address:x}, expected 0");
            return Err(fault(section.offset, message));
        }
        Ok(self.file.slice_ref(self.elf.contents(section)?))
    }

    /// Memory size that the file's attributes state for a function. `None` if they state none or mark the size as
    /// unknown, as for the stack of recursive functions.
    fn stated_size(&self, attribute: u8, symbol: usize) -> Option<u32> {
        self.stated_value(attribute, symbol)
            .filter(|&size| size != UNKNOWN_SIZE)
    }

    /// Value that the file's attributes state for a function.
    fn stated_value(&self, attribute: u8, symbol: usize) -> Option<u32> {
        let symbol = u32::try_from(symbol).ok()?;
        self.by_symbol.get(&(attribute, symbol)).copied()
    }

    /// Location of the parameters. The attribute does not name the bank itself, but the symbol of its section.
    fn param_block(
        &self,
        metadata: &Metadata,
        code: usize,
    ) -> Result<Option<ParamBlock>, Diagnostic> {
        let Some(param_bank) = &metadata.param_bank else {
            return Ok(None);
        };
        let symbol = self.elf.symbols.get(param_bank.symbol as usize);
        let name = symbol.and_then(|symbol| match symbol.location {
            SymbolLocation::Section(index) => {
                let section = self.elf.sections.get(index);
                Some(
                    section
                        // The symbol of another kernel's bank would locate the parameters in memory that this kernel
                        // does not read.
                        .filter(|section| section.info as usize == code)?
                        .name,
                )
            }
            // Hand-written kernels leave the symbol undefined: the linker finds the section by the symbol's name.
            SymbolLocation::Undefined => {
                let owner = self.elf.sections.get(code).and_then(code_name);
                let named = inventory::owner(&symbol.name).filter(|named| Some(*named) == owner);
                named.map(|_| &*symbol.name)
            }
            SymbolLocation::Other => None,
        });
        let banks = self
            .of_kernel
            .get(&code)
            .map(|parts| parts.banks.as_slice());
        let has = |number| banks.unwrap_or_default().iter().any(|b| b.number == number);
        let bank = name.and_then(bank::parse_name);
        match bank.filter(|bank| has(bank.number)) {
            Some(bank) => Ok(Some(ParamBlock {
                bank: bank.number,
                offset: param_bank.offset,
                size: param_bank.size,
            })),
            None => Err(param_bank.record.fault(format_args!(
                "symbol {} is not a constant bank of this kernel",
                param_bank.symbol
            ))),
        }
    }
}

/// Marker for an unknown size (experiment: ptxas 12 writes it for the stack of recursive functions).
const UNKNOWN_SIZE: u32 = u32::MAX;

/// Converts a value or size of a function symbol.
fn to_u32(value: u64, symbol: &RawSymbol) -> Result<u32, Diagnostic> {
    u32::try_from(value).map_err(|_| {
        fault(
            symbol.offset,
            format!("function {} lies beyond 4 GiB of its section", symbol.name),
        )
    })
}
