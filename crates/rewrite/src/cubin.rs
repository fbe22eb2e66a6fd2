//! [`CubinRewriter`]: a cubin whose code and variables are edited.
//!
//! For example: open a file, insert instructions into `code("kernel")`, then call [`CubinRewriter::finish`]. Only
//! code that was asked for is taken apart; all other sections keep their bytes.

mod attributes;
mod finish;
mod lines;
mod tables;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use warpbound_load::elf_numbers::STT_FUNC;

use warpbound_base::{Diagnostic, GroupedCode};
use warpbound_isa::nvidia::Arch;
use warpbound_load::{Image, Isa};

use crate::code::EditedCode;
use crate::elf::{ElfFile, ElfSymbol, fault};

pub use finish::RewrittenCubin;
pub use variable::VariableSlot;

/// Cubin under edit: code inserted into its sections, variables added, register counts changed.
///
/// Nothing is written before [`CubinRewriter::finish`], which refuses a file if one part of it cannot be moved.
#[derive(Clone, Debug)]
pub struct CubinRewriter<'a> {
    file: &'a [u8],
    arch: Arch,
    elf: ElfFile,
    symbols: Vec<ElfSymbol>,
    /// Code taken apart so far, by section index.
    codes: BTreeMap<usize, EditedCode>,
    /// New register counts, by the symbol index of the kernel.
    registers: BTreeMap<usize, u8>,
    /// Symbol of the added variable.
    variable: Option<u32>,
}

impl<'a> CubinRewriter<'a> {
    /// Reads a cubin whose code has groups with control words.
    ///
    /// # Errors
    ///
    /// A diagnostic with the offset if the file is no such cubin, is damaged, or is not linked.
    pub fn open(file: &'a [u8]) -> Result<CubinRewriter<'a>, Diagnostic> {
        let elf = ElfFile::parse(file)?;
        let image = Image::parse(file)?;
        image.isa().check_supported()?;
        let arch = match image.isa() {
            Isa::Sm(sm) => Arch::from_sm(sm.number.into()),
            _ => None,
        };
        // Other words are longer, and nothing here writes them.
        let arch = arch.filter(|arch| arch.family().facts().grouped_code.is_some());
        // Offset 48 is the field of the flags, which name the chip.
        let arch = arch.ok_or_else(|| {
            let architectures = GroupedCode::architectures("or");
            fault(48, format!("this is no cubin for {architectures}"))
        })?;
        // Before linking, addresses of code are not final.
        if !elf.is_executable() {
            return Err(fault(16, "this cubin is not linked")
                .hint("link it first, e.g. by nvcc -dlink or nvlink"));
        }
        let symbols = elf.symbols()?;
        Ok(CubinRewriter {
            file,
            arch,
            elf,
            symbols,
            codes: BTreeMap::new(),
            registers: BTreeMap::new(),
            variable: None,
        })
    }

    /// Bytes of the file that was read.
    pub fn file(&self) -> &'a [u8] {
        self.file
    }

    /// Names of the code sections, without `.text.`, in the order of the section table.
    pub fn code_names(&self) -> Vec<String> {
        let sections = self.elf.sections.iter();
        let names = sections.filter_map(|section| section.name.strip_prefix(".text."));
        names.map(str::to_owned).collect()
    }

    /// Code of a kernel with the functions in its section; `kernel` is the mangled name.
    ///
    /// # Errors
    ///
    /// If there is no such kernel, or if its code cannot be read.
    pub fn code(&mut self, kernel: &str) -> Result<&mut EditedCode, Diagnostic> {
        let section = self.code_section(kernel)?;
        if !self.codes.contains_key(&section) {
            let code = self.read_code(section)?;
            self.codes.insert(section, code);
        }
        self.codes
            .get_mut(&section)
            .ok_or_else(|| no_such_kernel(kernel))
    }

    /// Takes the code of all kernels apart, so that it is laid out anew even without insertions.
    ///
    /// # Errors
    ///
    /// If the code of a kernel cannot be read.
    pub fn take_all_apart(&mut self) -> Result<(), Diagnostic> {
        for kernel in self.code_names() {
            self.code(&kernel)?.lay_out_anew();
        }
        Ok(())
    }

    /// Index of the section that holds the code of a kernel.
    fn code_section(&self, kernel: &str) -> Result<usize, Diagnostic> {
        let named = self.elf.section_named(&format!(".text.{kernel}"));
        // A function that a kernel calls has no section of its own, but a symbol in the kernel's section.
        let of_symbol = || {
            let mut symbols = self.symbols.iter();
            let symbol = symbols.find(|s| s.kind() == STT_FUNC && s.name == kernel)?;
            Some(usize::from(symbol.section))
        };
        named
            .or_else(of_symbol)
            .ok_or_else(|| no_such_kernel(kernel))
    }

    fn read_code(&self, section: usize) -> Result<EditedCode, Diagnostic> {
        let code = self
            .elf
            .sections
            .get(section)
            .ok_or_else(|| fault(0, "the code section does not exist"))?;
        let starts: Vec<u64> = self
            .symbols
            .iter()
            .filter(|s| usize::from(s.section) == section && s.kind() == STT_FUNC)
            .map(|symbol| symbol.value)
            .collect();
        let tables = self.elf.relocation_tables(section);
        let relocated: BTreeSet<u64> = tables
            .into_iter()
            .flat_map(|table| self.elf.relocations(table))
            .map(|relocation| relocation.at)
            .collect();
        EditedCode::read(&code.name, self.arch, &code.data, &starts, &relocated)
    }

    /// Register count of a kernel, as its code section states it.
    ///
    /// # Errors
    ///
    /// If there is no such kernel.
    pub fn registers(&self, kernel: &str) -> Result<u8, Diagnostic> {
        let section = self.code_section(kernel)?;
        let section = self.elf.sections.get(section);
        // `sh_info` of a code section has the symbol of the kernel in its low 24 bits and the register count above.
        Ok(section.map_or(0, |section| (section.info >> 24) as u8))
    }

    /// Sets the registers per thread of a kernel, 1 to 255.
    ///
    /// # Errors
    ///
    /// If there is no such kernel, or if the number is 0.
    pub fn set_registers(&mut self, kernel: &str, registers: u8) -> Result<(), Diagnostic> {
        let section = self.code_section(kernel)?;
        if registers == 0 {
            return Err(Diagnostic::new("a kernel has at least 1 register").in_kernel(kernel));
        }
        let info = self.elf.sections.get(section).map_or(0, |s| s.info);
        let symbol = (info & 0xff_ffff) as usize;
        // The attributes of the file hold the count as well; `finish` writes it there.
        self.registers.insert(symbol, registers);
        if let Some(section) = self.elf.sections.get_mut(section) {
            section.info = info & 0xff_ffff | u32::from(registers) << 24;
        }
        Ok(())
    }
}

fn no_such_kernel(kernel: &str) -> Diagnostic {
    Diagnostic::new("there is no code with this name").in_kernel(kernel)
}
