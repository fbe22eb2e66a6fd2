//! A kernel, decoded and lifted, with the names that people know its places by.

use warpbound_analyse::loops::{LoopSite, Loops};
use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_bound::LoopName;
use warpbound_ir::{Code, OpIndex, lift};
use warpbound_isa::{Arch, Program};
use warpbound_load::{Kernel, Sm};

/// A kernel ready for analysis.
pub struct Prepared<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its decoded instructions.
    pub program: Program,
    /// Its operations.
    pub code: Code,
}

impl<'a> Prepared<'a> {
    /// Decodes and lifts `kernel`.
    ///
    /// # Errors
    ///
    /// Where the code section is no code of `sm`, or the kernel does not begin at an instruction.
    pub fn run(kernel: &'a Kernel, sm: Sm) -> Result<Prepared<'a>, Diagnostic> {
        let program = Prepared::decode(kernel, sm)?;
        let here = |diagnostic: Diagnostic| diagnostic.in_kernel(kernel.demangled());
        let code = lift(kernel, &program).map_err(here)?;
        Ok(Prepared {
            kernel,
            program,
            code,
        })
    }

    /// Decodes `kernel`.
    ///
    /// # Errors
    ///
    /// Where the code section is no code of `sm`.
    pub(crate) fn decode(kernel: &Kernel, sm: Sm) -> Result<Program, Diagnostic> {
        let here = |diagnostic: Diagnostic| diagnostic.in_kernel(kernel.demangled());
        let arch = Arch::from_sm(sm.number.into())
            .ok_or_else(|| here(Diagnostic::new(format!("{sm} has no instruction table"))))?;
        Program::decode(arch, kernel.code()).map_err(here)
    }

    /// Address of an operation.
    pub(crate) fn addr(&self, op: OpIndex) -> CodeAddr {
        self.code.get(op).map(|op| op.addr).unwrap_or_default()
    }

    /// Source line of an address: file name and line.
    pub(crate) fn source(&self, addr: CodeAddr) -> Option<String> {
        let line = self.kernel.source_line(addr)?;
        let name = line.file.rsplit('/').next().unwrap_or(&line.file);
        Some(format!("{name}:{}", line.line))
    }

    /// The function that an address lies in, when it is not the kernel itself.
    pub(crate) fn function(&self, addr: CodeAddr) -> Option<String> {
        let function = self.kernel.function_at(addr)?;
        (function.name != self.kernel.name).then(|| self.function_name(&function.name))
    }

    /// The name of the function at an address; the address where it has none.
    pub(crate) fn function_name_at(&self, addr: CodeAddr) -> String {
        self.function(addr).unwrap_or_else(|| addr.to_string())
    }

    /// A function's name without what the compiler puts in front: the kernel
    /// (`$kernel$function`), or a number (`$__internal_0_$function`).
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

/// Names of the loops, in the order of the sites.
pub(crate) fn loop_names(loops: &Loops) -> Vec<LoopName> {
    let name = |(i, site): (usize, &LoopSite)| LoopName {
        id: format!("L{}", i + 1),
        at: site.addr(),
    };
    loops.sites.iter().enumerate().map(name).collect()
}
