//! From the ELF view to kernels: which section belongs to which kernel.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::{CodeAddr, Diagnostic};

use crate::attribute::{self, Attribute};
use crate::bank::{self, BankName, ConstBank};
use crate::elf::{Elf, RawRelocation, RawSymbol, Section, SymbolPlace, fault};
use crate::image::{Image, Linkage};
use crate::inventory::{self, FunctionSymbol, SHT_CUDA_INFO, is_code, is_static_shared};
use crate::isa::Isa;
use crate::kernel::{Function, Kernel};
use crate::line::{self, LineTable};
use crate::metadata::{Metadata, ParamBlock};
use crate::relocation::Relocation;
use crate::sm::Sm;
use crate::variable;

/// Builds the image.
pub(crate) fn image(
    file: &Bytes,
    elf: &Elf<'_>,
    sm: Sm,
    linkage: Linkage,
) -> Result<Image, Diagnostic> {
    let code_sections = inventory::code_sections(elf)?;
    let mut image = Image {
        isa: Isa::Sm(sm),
        linkage,
        kernel_names: code_sections
            .values()
            .filter_map(|code| Some(Arc::clone(&code.kernel?.symbol.name)))
            .collect(),
        kernels: Vec::new(),
        others: inventory::others(elf, &code_sections),
        variables: variable::variables(file, elf),
        other_attributes: Vec::new(),
        warnings: Vec::new(),
    };
    if sm.is_supported() {
        let parts = Parts::collect(file, elf, &mut image)?;
        for (index, code) in code_sections {
            if let Some(function) = code.kernel {
                let kernel = parts
                    .kernel(index, function, &code.functions, &mut image)
                    .map_err(|diagnostic| diagnostic.in_kernel(&*function.symbol.name))?;
                image.kernels.push(kernel);
            }
        }
    }
    Ok(image)
}

/// The parts of all kernels, sorted by what they belong to.
struct Parts<'elf> {
    file: &'elf Bytes,
    elf: &'elf Elf<'elf>,
    relocations: BTreeMap<usize, Vec<RawRelocation>>,
    lines: BTreeMap<usize, LineTable>,
    /// Attributes of the whole file: (attribute, symbol index) to value.
    by_symbol: BTreeMap<(u8, u32), u32>,
    /// Banks that all kernels see.
    shared_banks: Vec<ConstBank>,
    /// Parts of single kernels, by the index of the code section.
    of_kernel: BTreeMap<usize, KernelParts>,
}

#[derive(Default)]
struct KernelParts {
    attributes: Vec<Attribute>,
    banks: Vec<ConstBank>,
    static_shared: u32,
}

impl<'elf> Parts<'elf> {
    fn collect(
        file: &'elf Bytes,
        elf: &'elf Elf<'elf>,
        image: &mut Image,
    ) -> Result<Parts<'elf>, Diagnostic> {
        let relocations = elf.relocations()?;
        let lines = line::read(elf, &relocations).unwrap_or_else(|diagnostic| {
            image.warnings.push(diagnostic);
            BTreeMap::new()
        });
        let mut parts = Parts {
            file,
            elf,
            relocations,
            lines,
            by_symbol: BTreeMap::new(),
            shared_banks: Vec::new(),
            of_kernel: BTreeMap::new(),
        };
        for (index, section) in elf.sections.iter().enumerate() {
            if section.kind == SHT_CUDA_INFO {
                parts.add_attributes(section, &mut image.other_attributes)?;
            } else if let Some(name) = bank::parse_name(section.name) {
                parts.add_bank(index, section, &name)?;
            } else if is_static_shared(section) {
                parts.add_static_shared(section)?;
            }
        }
        Ok(parts)
    }

    /// The parts of the kernel whose code section `section.info` names.
    fn part_of(&mut self, section: &Section<'_>) -> Result<&mut KernelParts, Diagnostic> {
        let index = section.info as usize;
        match self.elf.sections.get(index) {
            Some(code) if is_code(code) => Ok(self.of_kernel.entry(index).or_default()),
            _ => {
                let name = section.name;
                let what =
                    format!("section {name:?} belongs to section {index}, which is not code");
                Err(fault(section.offset, what))
            }
        }
    }

    fn add_attributes(
        &mut self,
        section: &Section<'elf>,
        others: &mut Vec<Attribute>,
    ) -> Result<(), Diagnostic> {
        let contents = self.file.slice_ref(self.elf.contents(section)?);
        let records = attribute::split(&contents, section.offset)?;
        if section.info != 0 {
            self.part_of(section)?.attributes.extend(records);
            return Ok(());
        }
        for record in records {
            match record.code {
                attribute::FRAME_SIZE
                | attribute::MIN_STACK_SIZE
                | attribute::MAX_STACK_SIZE
                | attribute::REGCOUNT => {
                    let [symbol, value] = record.exact_words()?;
                    if let Some(old) = self.by_symbol.insert((record.code, symbol), value)
                        && old != value
                    {
                        return Err(record.fault("contradicts an earlier one"));
                    }
                }
                _ => others.push(record),
            }
        }
        Ok(())
    }

    fn add_bank(
        &mut self,
        index: usize,
        section: &Section<'elf>,
        name: &BankName,
    ) -> Result<(), Diagnostic> {
        let number = name.number;
        if !section.has_contents() && section.size != 0 {
            let what = format!(
                "constant bank {number} ({:?}) has no contents",
                section.name
            );
            return Err(fault(section.offset, what));
        }
        let bank = ConstBank {
            number,
            is_shared_by_kernels: !name.has_owner,
            file_offset: section.offset,
            relocations: self.relocations(index)?.into(),
            contents: self.file.slice_ref(self.elf.contents(section)?),
        };
        let banks = if name.has_owner {
            &mut self.part_of(section)?.banks
        } else {
            &mut self.shared_banks
        };
        if banks.iter().any(|other| other.number == number) {
            let what = format!("constant bank {number} appears twice ({:?})", section.name);
            return Err(fault(section.offset, what));
        }
        banks.push(bank);
        Ok(())
    }

    fn add_static_shared(&mut self, section: &Section<'elf>) -> Result<(), Diagnostic> {
        let total = &mut self.part_of(section)?.static_shared;
        *total = u32::try_from(section.size)
            .ok()
            .and_then(|size| total.checked_add(size))
            .ok_or_else(|| fault(section.offset, "shared memory of more than 4 GiB"))?;
        Ok(())
    }

    fn relocations(&self, section: usize) -> Result<Vec<Relocation>, Diagnostic> {
        let mut relocations = self
            .relocations
            .get(&section)
            .into_iter()
            .flatten()
            .map(|raw| Relocation::read(self.elf, raw))
            .collect::<Result<Vec<_>, _>>()?;
        relocations.sort_by_key(|relocation| relocation.offset);
        Ok(relocations)
    }

    fn kernel(
        &self,
        index: usize,
        function: FunctionSymbol<'_>,
        functions: &[FunctionSymbol<'_>],
        image: &mut Image,
    ) -> Result<Kernel, Diagnostic> {
        let (symbol_index, symbol) = (function.index, function.symbol);
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
        let metadata = Metadata::read(self.elf, &parts.attributes, code_size)?;
        let registers = (section.info >> 24) as u8;
        let stated_registers = self.stated(attribute::REGCOUNT, symbol_index);
        if let Some(stated) = stated_registers.filter(|stated| *stated != u32::from(registers)) {
            let what =
                format!("the section states {registers} registers, attribute REGCOUNT {stated}");
            let warning = fault(section.offset, what).in_kernel(&*symbol.name);
            image.warnings.push(warning);
        }
        Ok(Kernel {
            name: Arc::clone(&symbol.name),
            entry: CodeAddr(narrow(symbol.value, symbol)?),
            first_line: 0,
            file_offset: section.offset,
            functions: functions
                .iter()
                .map(|function| self.function(function))
                .collect::<Result<_, _>>()?,
            registers,
            barriers: barriers(section)?,
            static_shared: (image.linkage == Linkage::Executable).then_some(parts.static_shared),
            frame_size: self.stated(attribute::FRAME_SIZE, symbol_index),
            min_stack_size: self.stated(attribute::MIN_STACK_SIZE, symbol_index),
            max_stack_size: self.stated(attribute::MAX_STACK_SIZE, symbol_index),
            crs_stack_size: metadata.crs_stack_size,
            register_limit: metadata.register_limit,
            param_block: self.param_block(&metadata, index)?,
            params: metadata.params,
            required_block: metadata.required_block,
            max_threads: metadata.max_threads,
            banks: self.banks(parts)?,
            exits: metadata.exits,
            ctaid_reads: metadata.ctaid_reads,
            system_calls: metadata.system_calls,
            uses_ctaid_z: metadata.uses_ctaid_z,
            indirect_branches: metadata.indirect_branches,
            externs: metadata.externs,
            relocations: self.relocations(index)?,
            other_attributes: metadata.others,
            code,
            lines: self.lines.get(&index).cloned().unwrap_or_default(),
        })
    }

    fn function(&self, function: &FunctionSymbol<'_>) -> Result<Function, Diagnostic> {
        let symbol = function.symbol;
        Ok(Function {
            name: Arc::clone(&symbol.name),
            start: CodeAddr(narrow(symbol.value, symbol)?),
            size: narrow(symbol.size, symbol)?,
            frame_size: self.stated(attribute::FRAME_SIZE, function.index),
        })
    }

    /// The kernel's own banks and those of all kernels, by number.
    fn banks(&self, parts: &KernelParts) -> Result<Vec<ConstBank>, Diagnostic> {
        let mut banks = parts.banks.clone();
        for shared in &self.shared_banks {
            let number = shared.number;
            if parts.banks.iter().any(|bank| bank.number == number) {
                let what = format!("constant bank {number} is both shared and the kernel's own");
                return Err(fault(shared.file_offset, what));
            }
            banks.push(shared.clone());
        }
        banks.sort_by_key(|bank| bank.number);
        Ok(banks)
    }

    fn code(&self, section: &Section<'elf>) -> Result<Bytes, Diagnostic> {
        if !section.has_contents() {
            return Err(fault(section.offset, "the code section has no contents"));
        }
        if section.address != 0 {
            let address = section.address;
            let what = format!("the code section has the fixed address 0x{address:x}, expected 0");
            return Err(fault(section.offset, what));
        }
        Ok(self.file.slice_ref(self.elf.contents(section)?))
    }

    /// What the file's attributes state about a function.
    fn stated(&self, attribute: u8, symbol: usize) -> Option<u32> {
        let symbol = u32::try_from(symbol).ok()?;
        self.by_symbol.get(&(attribute, symbol)).copied()
    }

    /// The parameters' place; the attribute names the bank by its section's symbol.
    fn param_block(
        &self,
        metadata: &Metadata,
        code: usize,
    ) -> Result<Option<ParamBlock>, Diagnostic> {
        let Some(param_bank) = &metadata.param_bank else {
            return Ok(None);
        };
        let section = self
            .elf
            .symbols
            .get(param_bank.symbol as usize)
            .and_then(|symbol| match symbol.place {
                SymbolPlace::Section(index) => self.elf.sections.get(index),
                SymbolPlace::Undefined | SymbolPlace::Other => None,
            })
            .filter(|section| section.info as usize == code);
        match section.and_then(|section| bank::parse_name(section.name)) {
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

/// Bits from 20 of a code section's flags: the highest barrier index plus one (experiment: `bar.sync 5`
/// gives 6). The hardware has 16 barriers.
fn barriers(section: &Section<'_>) -> Result<u8, Diagnostic> {
    match section.flags >> 20 {
        count @ 0..=16 => Ok(count as u8),
        count => Err(fault(
            section.offset,
            format!("the code section states {count} barriers, at most 16 exist"),
        )),
    }
}

fn narrow(value: u64, symbol: &RawSymbol) -> Result<u32, Diagnostic> {
    u32::try_from(value).map_err(|_| {
        fault(
            symbol.offset,
            format!("function {} lies beyond 4 GiB of its section", symbol.name),
        )
    })
}
