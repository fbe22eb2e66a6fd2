//! Decoded and lifted kernels, with the labels, addresses and source lines of their operations.

use std::sync::Arc;

use warpbound_analyse::Refusal;
use warpbound_analyse::access::KnownCounts;
use warpbound_analyse::blocks::Block;
use warpbound_analyse::loops::{LoopSite, Loops};
use warpbound_base::{CodeAddr, Diagnostic, Family};
use warpbound_ipet::LoopName;
use warpbound_ir::{Cell, Code, ControlEffect, OpIndex, lift, lift_flow};
use warpbound_isa::{Arch, Program, amd, mini, nvidia};
use warpbound_load::{Isa, Kernel};

/// Kernel ready for analysis.
pub struct Prepared<'a> {
    /// Kernel in its image.
    pub kernel: &'a Kernel,
    /// Instruction set of the image.
    pub isa: Isa,
    /// Name of the file.
    file: &'a str,
    /// Decoded instructions.
    pub program: Program,
    /// Operations.
    pub code: Code,
    /// Counts of memory accesses that are known already.
    pub known_counts: Arc<KnownCounts>,
}

impl<'a> Prepared<'a> {
    /// Decodes and lifts `kernel`.
    ///
    /// # Errors
    ///
    /// The code section contains no code of `isa`, or the kernel does not start at an instruction.
    pub fn new(kernel: &'a Kernel, isa: Isa, file: &'a str) -> Result<Prepared<'a>, Diagnostic> {
        Prepared::with(kernel, isa, file, lift)
    }

    /// Decodes `kernel` and lifts only its control flow, which is enough to list it.
    ///
    /// # Errors
    ///
    /// As [`Prepared::new`].
    pub fn for_listing(
        kernel: &'a Kernel,
        isa: Isa,
        file: &'a str,
    ) -> Result<Prepared<'a>, Diagnostic> {
        Prepared::with(kernel, isa, file, lift_flow)
    }

    fn with(
        kernel: &'a Kernel,
        isa: Isa,
        file: &'a str,
        lift: fn(&Kernel, &Program) -> Result<Code, Diagnostic>,
    ) -> Result<Prepared<'a>, Diagnostic> {
        let program = Prepared::decode(kernel, isa)?;
        let here = |diagnostic: Diagnostic| diagnostic.in_kernel(kernel.demangled());
        let code = lift(kernel, &program).map_err(here)?;
        Ok(Prepared {
            kernel,
            isa,
            file,
            program,
            code,
            known_counts: Arc::default(),
        })
    }

    /// Decodes `kernel`.
    ///
    /// # Errors
    ///
    /// The code section contains no code of `isa`.
    pub fn decode(kernel: &Kernel, isa: Isa) -> Result<Program, Diagnostic> {
        let decoded = match isa {
            Isa::Sm(sm) => Arch::from_sm(sm.number.into())
                .ok_or_else(|| Diagnostic::new(format!("{sm} has no instruction table")))
                .and_then(|arch| nvidia::SassProgram::decode(arch, kernel.code()))
                .map(Program::Nvidia),
            Isa::Gfx(_) => amd::GcnProgram::decode(kernel.code()).map(Program::Amd),
            Isa::MiniSimt => {
                mini::Program::decode(kernel.code(), kernel.first_line).map(Program::Mini)
            }
        };
        decoded.map_err(|diagnostic| diagnostic.in_kernel(kernel.demangled()))
    }

    /// Returns the family of the machines that execute the kernel.
    pub fn family(&self) -> Family {
        self.code.family
    }

    /// Returns the address of an operation.
    pub fn addr(&self, op: OpIndex) -> CodeAddr {
        self.code.get(op).map(|op| op.addr).unwrap_or_default()
    }

    /// Returns the label of an operation if the program has labels, else its address.
    pub fn location(&self, op: OpIndex) -> String {
        let label = self.program.label(op.index());
        label.unwrap_or_else(|| self.addr(op).to_string())
    }

    /// Returns the label of the operation at an address, else the address; see [`Prepared::location`].
    pub fn location_of(&self, addr: CodeAddr) -> String {
        match self.code.at(addr) {
            Some(op) => self.location(op),
            None => addr.to_string(),
        }
    }

    /// Returns the name of a cell: a register, or its variable.
    pub fn cell(&self, cell: Cell) -> String {
        let variable = match &self.program {
            Program::Mini(program) => program.variables.get(cell.index()),
            Program::Nvidia(_) | Program::Amd(_) => None,
        };
        variable.cloned().unwrap_or_else(|| cell.to_string())
    }

    /// Returns the label or address of the last instruction of a block; the end of the code is not an instruction.
    pub fn last_location(&self, block: Block) -> String {
        // The end of the code is an operation in the last block, but it has no instruction to point at.
        let ends = self.code.get(block.last).map(|op| &op.control) == Some(&ControlEffect::End);
        match ends && block.first < block.last {
            true => self.location(OpIndex(block.last.0 - 1)),
            false => self.location(block.last),
        }
    }

    /// Adds the location of an operation to a diagnostic: line and column of its text, or its address.
    pub fn at_op(&self, diagnostic: Diagnostic, op: OpIndex) -> Diagnostic {
        let instr = match &self.program {
            Program::Mini(program) => program.instrs.get(op.index()),
            Program::Nvidia(_) | Program::Amd(_) => None,
        };
        match instr {
            Some(instr) => diagnostic.at(format_args!(
                "line {}, column {}",
                self.kernel.first_line.saturating_add(instr.line),
                instr.column
            )),
            None => diagnostic.at(self.addr(op)),
        }
    }

    /// Returns the diagnostic of a refusal, with its location in the text if there is one.
    pub fn refusal_diagnostic(&self, refusal: &Refusal) -> Diagnostic {
        let message = Diagnostic::new(refusal.reason.to_string());
        match self.code.at(refusal.at) {
            Some(op) => self.at_op(message, op),
            None => message.at(refusal.at),
        }
    }

    /// Returns the source line of an address: file name and line.
    pub fn source(&self, addr: CodeAddr) -> Option<String> {
        let (file, line) = match self.kernel.source_line(addr) {
            Some(source) => (source.file, source.line),
            None => {
                // Mini-SIMT has no line table, because its text is its source.
                let line = self.program.line(self.code.at(addr)?.index())?;
                (
                    self.file.to_owned(),
                    self.kernel.first_line.saturating_add(line),
                )
            }
        };
        let name = file.rsplit('/').next().unwrap_or(&file);
        Some(format!("{name}:{line}"))
    }

    /// Returns the function that contains an address, if it is not the kernel itself.
    pub fn function(&self, addr: CodeAddr) -> Option<String> {
        let function = self.kernel.function_at(addr)?;
        (function.name != self.kernel.name).then(|| self.function_name(&function.name))
    }

    /// Returns the name of the function at an address; the address if it has none.
    pub fn function_name_at(&self, addr: CodeAddr) -> String {
        self.function(addr).unwrap_or_else(|| addr.to_string())
    }

    /// Returns the demangled name of a function without the compiler's prefix, which is the kernel
    /// (`$kernel$function`) or a number (`$__internal_0_$function`). For example, `$k$f` in kernel `k` is `f`.
    pub(crate) fn function_name(&self, symbol: &str) -> String {
        let own = symbol
            .strip_prefix('$')
            .and_then(|rest| rest.strip_prefix(&*self.kernel.name))
            .and_then(|rest| rest.strip_prefix('$'))
            .unwrap_or(symbol);
        let own = own
            .strip_prefix("$__internal_")
            .and_then(|rest| rest.split_once("_$"))
            .map_or(own, |(_, rest)| rest);
        warpbound_load::demangle(own)
    }
}

/// Returns the names of the loops, in the order of the sites.
pub fn loop_names(loops: &Loops) -> Vec<LoopName> {
    let name = |(i, site): (usize, &LoopSite)| LoopName {
        id: format!("L{}", i + 1),
        at: site.addr(),
    };
    loops.sites.iter().enumerate().map(name).collect()
}
