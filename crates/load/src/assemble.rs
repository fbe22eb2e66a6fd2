//! From the ELF view to kernels: which section belongs to which kernel.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::{CodeAddr, Diagnostic};

use crate::attribute::{self, Attribute};
use crate::bank::{self, ConstBank};
use crate::elf::{Elf, RawRelocation, RawSymbol, Section, SymbolPlace, fault};
use crate::image::{Image, Linkage, Other, OtherKind};
use crate::kernel::{Function, Kernel};
use crate::line::{self, LineTable};
use crate::metadata::{Metadata, ParamBlock};
use crate::relocation::Relocation;
use crate::sm::Sm;

/// Section types (LLVM's `BinaryFormat/ELF.h`, denvdis, experiment).
const SHT_NULL: u32 = 0;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_RELA: u32 = 4;
const SHT_REL: u32 = 9;
const SHT_CUDA_INFO: u32 = 0x7000_0000;

/// Symbol types; 13 is NVIDIA's type for variables of relocatable files.
const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
const STT_CUDA_OBJECT: u8 = 13;

/// The bit of `st_other` that marks a kernel (`STO_CUDA_ENTRY`).
const STO_CUDA_ENTRY: u8 = 0x10;

/// Builds the image.
pub(crate) fn image(
    file: &Bytes,
    elf: &Elf<'_>,
    sm: Sm,
    linkage: Linkage,
) -> Result<Image, Diagnostic> {
    let code_sections = code_sections(elf)?;
    let mut image = Image {
        sm,
        linkage,
        kernel_names: code_sections
            .values()
            .filter_map(|code| Some(Arc::clone(&code.kernel?.name)))
            .collect(),
        kernels: Vec::new(),
        others: others(elf, &code_sections),
        unknown_attributes: Vec::new(),
        warnings: Vec::new(),
    };
    if sm.is_supported() {
        let parts = Parts::collect(file, elf, &mut image)?;
        for (index, code) in code_sections {
            if let Some(symbol) = code.kernel {
                let kernel = parts
                    .kernel(index, symbol, &code.functions, linkage, &mut image.warnings)
                    .map_err(|diagnostic| diagnostic.in_kernel(&*symbol.name))?;
                image.kernels.push(kernel);
            }
        }
    }
    Ok(image)
}

/// The functions of one code section, by address.
struct CodeSection<'elf> {
    /// The function that is a kernel, if any.
    kernel: Option<&'elf RawSymbol>,
    functions: Vec<(usize, &'elf RawSymbol)>,
}

/// The functions of every code section, by the section's index.
fn code_sections<'elf>(
    elf: &'elf Elf<'_>,
) -> Result<BTreeMap<usize, CodeSection<'elf>>, Diagnostic> {
    let mut sections = BTreeMap::<usize, CodeSection<'elf>>::new();
    for (index, symbol) in elf.symbols.iter().enumerate() {
        let SymbolPlace::Section(place) = symbol.place else {
            continue;
        };
        let Some(section) = elf.sections.get(place).filter(|section| is_code(section)) else {
            continue;
        };
        if symbol.kind != STT_FUNC {
            continue;
        }
        if symbol
            .value
            .checked_add(symbol.size)
            .is_none_or(|end| end > section.size)
        {
            return Err(fault(
                symbol.offset,
                format!("function {} reaches beyond its section", symbol.name),
            ));
        }
        let code = sections.entry(place).or_insert(CodeSection {
            kernel: None,
            functions: Vec::new(),
        });
        code.functions.push((index, symbol));
        if symbol.other & STO_CUDA_ENTRY != 0
            && let Some(first) = code.kernel.replace(symbol)
        {
            return Err(fault(
                symbol.offset,
                format!(
                    "kernels {} and {} share a code section",
                    first.name, symbol.name
                ),
            ));
        }
    }
    for code in sections.values_mut() {
        code.functions
            .sort_by_key(|(index, symbol)| (symbol.value, *index));
    }
    Ok(sections)
}

fn is_code(section: &Section<'_>) -> bool {
    section.name.starts_with(".text.")
}

/// What is not a kernel and not a part of one.
fn others(elf: &Elf<'_>, code_sections: &BTreeMap<usize, CodeSection<'_>>) -> Vec<Other> {
    let symbols = elf.symbols.iter().filter_map(|symbol| {
        let in_kernel = match symbol.place {
            SymbolPlace::Section(index) => code_sections
                .get(&index)
                .is_some_and(|code| code.kernel.is_some()),
            SymbolPlace::Undefined | SymbolPlace::Other => false,
        };
        let kind = match (symbol.place, symbol.kind) {
            (SymbolPlace::Undefined, STT_FUNC | STT_OBJECT | STT_CUDA_OBJECT) => {
                OtherKind::External
            }
            (_, STT_FUNC) if !in_kernel => OtherKind::DeviceFunction,
            (_, STT_OBJECT | STT_CUDA_OBJECT) => OtherKind::Variable,
            _ => return None,
        };
        Some(Other {
            name: Arc::clone(&symbol.name),
            kind,
            size: symbol.size,
        })
    });
    let sections = elf.sections.iter().filter(|section| !is_read(section));
    symbols
        .chain(sections.map(|section| Other {
            name: Arc::from(section.name),
            kind: OtherKind::Section(section.kind),
            size: section.size,
        }))
        .collect()
}

fn is_read(section: &Section<'_>) -> bool {
    matches!(
        section.kind,
        SHT_NULL | SHT_SYMTAB | SHT_STRTAB | SHT_RELA | SHT_REL | SHT_CUDA_INFO
    ) || is_code(section)
        || section.name == ".debug_line"
        || section.name.starts_with(".nv.shared.") && section.info != 0
        || bank::number_in(section.name).is_some()
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
                parts.add_attributes(section, &mut image.unknown_attributes)?;
            } else if let Some(number) = bank::number_in(section.name) {
                parts.add_bank(index, section, number)?;
            } else if section.name.starts_with(".nv.shared.") && section.info != 0 {
                let size = u32::try_from(section.size)
                    .map_err(|_| fault(section.offset, "shared memory of more than 4 GiB"))?;
                let slot = &mut parts.part_of(section)?.static_shared;
                *slot = slot
                    .checked_add(size)
                    .ok_or_else(|| fault(section.offset, "shared memory of more than 4 GiB"))?;
            }
        }
        Ok(parts)
    }

    /// The parts of the kernel whose code section `section.info` names.
    fn part_of(&mut self, section: &Section<'_>) -> Result<&mut KernelParts, Diagnostic> {
        let index = section.info as usize;
        match self.elf.sections.get(index) {
            Some(code) if is_code(code) => Ok(self.of_kernel.entry(index).or_default()),
            _ => Err(fault(
                section.offset,
                format!(
                    "section {:?} belongs to section {index}, which is not code",
                    section.name
                ),
            )),
        }
    }

    fn add_attributes(
        &mut self,
        section: &Section<'elf>,
        unknown: &mut Vec<Attribute>,
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
                _ => unknown.push(record),
            }
        }
        Ok(())
    }

    fn add_bank(
        &mut self,
        index: usize,
        section: &Section<'elf>,
        number: u8,
    ) -> Result<(), Diagnostic> {
        let bank = ConstBank {
            number,
            is_shared_by_kernels: section.info == 0,
            file_offset: section.offset,
            relocations: self.relocations(index)?.into(),
            contents: self.file.slice_ref(self.elf.contents(section)?),
        };
        let banks = if section.info == 0 {
            &mut self.shared_banks
        } else {
            &mut self.part_of(section)?.banks
        };
        if banks.iter().any(|other| other.number == number) {
            return Err(fault(
                section.offset,
                format!("constant bank {number} appears twice ({:?})", section.name),
            ));
        }
        banks.push(bank);
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
        symbol: &RawSymbol,
        functions: &[(usize, &RawSymbol)],
        linkage: Linkage,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Kernel, Diagnostic> {
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
        let mut banks: Vec<ConstBank> = parts.banks.clone();
        for shared in &self.shared_banks {
            if banks.iter().any(|bank| bank.number == shared.number) {
                return Err(fault(
                    shared.file_offset,
                    format!(
                        "constant bank {} is both shared and the kernel's own",
                        shared.number
                    ),
                ));
            }
            banks.push(shared.clone());
        }
        banks.sort_by_key(|bank| bank.number);
        let stated = |attribute| {
            let (symbol, _) = functions
                .iter()
                .find(|(_, function)| function.offset == symbol.offset)?;
            self.stated(attribute, *symbol)
        };
        let registers = (section.info >> 24) as u8;
        if let Some(count) =
            stated(attribute::REGCOUNT).filter(|count| *count != u32::from(registers))
        {
            warnings.push(
                fault(
                    section.offset,
                    format!("the section states {registers} registers, attribute REGCOUNT {count}"),
                )
                .in_kernel(&*symbol.name),
            );
        }
        Ok(Kernel {
            name: Arc::clone(&symbol.name),
            entry: CodeAddr(narrow(symbol.value, symbol)?),
            file_offset: section.offset,
            functions: functions
                .iter()
                .map(|(index, function)| {
                    Ok(Function {
                        name: Arc::clone(&function.name),
                        start: CodeAddr(narrow(function.value, function)?),
                        size: narrow(function.size, function)?,
                        frame_size: self.stated(attribute::FRAME_SIZE, *index),
                    })
                })
                .collect::<Result<_, Diagnostic>>()?,
            registers,
            barriers: barriers(section)?,
            static_shared: (linkage == Linkage::Executable).then_some(parts.static_shared),
            frame_size: stated(attribute::FRAME_SIZE),
            min_stack_size: stated(attribute::MIN_STACK_SIZE),
            max_stack_size: stated(attribute::MAX_STACK_SIZE),
            crs_stack_size: metadata.crs_stack_size,
            register_limit: metadata.register_limit,
            param_block: self.param_block(&metadata, index)?,
            params: metadata.params,
            required_block: metadata.required_block,
            max_threads: metadata.max_threads,
            banks,
            exits: metadata.exits,
            ctaid_reads: metadata.ctaid_reads,
            system_calls: metadata.system_calls,
            uses_ctaid_z: metadata.uses_ctaid_z,
            indirect_branches: metadata.indirect_branches,
            externs: metadata.externs,
            relocations: self.relocations(index)?,
            unknown_attributes: metadata.unknown,
            code,
            lines: self.lines.get(&index).cloned().unwrap_or_default(),
        })
    }

    fn code(&self, section: &Section<'elf>) -> Result<Bytes, Diagnostic> {
        if !section.has_contents() {
            return Err(fault(section.offset, "the code section has no contents"));
        }
        if section.address != 0 {
            return Err(fault(
                section.offset,
                format!(
                    "the code section has the fixed address 0x{:x}, expected 0",
                    section.address
                ),
            ));
        }
        Ok(self.file.slice_ref(self.elf.contents(section)?))
    }

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
        let Some((symbol, offset, size)) = metadata.param_bank else {
            return Ok(None);
        };
        let section = self
            .elf
            .symbols
            .get(symbol as usize)
            .and_then(|symbol| match symbol.place {
                SymbolPlace::Section(index) => self.elf.sections.get(index),
                SymbolPlace::Undefined | SymbolPlace::Other => None,
            })
            .filter(|section| section.info as usize == code);
        let Some(bank) = section.and_then(|section| bank::number_in(section.name)) else {
            return Err(Diagnostic::new(format!(
                "attribute PARAM_CBANK: symbol {symbol} is not a constant bank of this kernel"
            )));
        };
        Ok(Some(ParamBlock { bank, offset, size }))
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
