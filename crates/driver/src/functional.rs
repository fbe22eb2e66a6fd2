//! Running a GPU kernel without time: what it computes, and how often.

use std::num::NonZero;

use warpbound_base::Diagnostic;
use warpbound_isa::Program;
use warpbound_load::{GridFile, Kernel};
use warpbound_report::functional::FunctionalReport;
use warpbound_simulate::functional::{Fault, GlobalMemory, Launch, Order, launch_on};

use crate::{Prepared, Session};

mod buffers;
mod images;
mod notes;
mod statistics;

use statistics::Statistics;

/// The most warp instructions of a run when nothing else is said.
pub(crate) const MOST_INSTRUCTIONS: u64 = 1_000_000_000;

/// Where the launch block of the constants has what (experiments with the compiler's output): threads of a block, blocks
/// of the grid, the top of the local stack.
const BLOCK_AT: usize = 0x8;
const GRID_AT: usize = 0x14;
const STACK_AT: usize = 0x20;

/// A launch of a grid that came to its end.
#[derive(Clone, Debug)]
pub struct FunctionalRun {
    /// What it was like.
    pub report: FunctionalReport,
    /// The buffers, in the order of the parameters that are buffers of their own.
    pub memory: GlobalMemory,
    /// What is in a buffer and should not be, for the first element that is not as the launch expects.
    pub unexpected: Option<Diagnostic>,
}

/// How a launch is run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// The most warp instructions; `None`: 1,000,000,000.
    pub max_instructions: Option<u64>,
    /// Who goes first where lanes part.
    pub order: Order,
    /// Threads that run blocks; nothing but the time depends on their number.
    pub threads: NonZero<usize>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            max_instructions: None,
            order: Order::TakenFirst,
            threads: NonZero::<usize>::MIN,
        }
    }
}

impl Session {
    /// The kernel of a launch of a grid.
    ///
    /// # Errors
    ///
    /// Where there is no such kernel, or a choice is left.
    pub fn launched_grid<'a>(
        &'a self,
        name: Option<&str>,
        grid: &GridFile,
    ) -> Result<&'a Kernel, Diagnostic> {
        let kernels = self.kernels(name.or(grid.kernel.as_deref()))?;
        match kernels.as_slice() {
            [kernel] => Ok(kernel),
            _ => Err(self.locate(
                Diagnostic::new("the file has several kernels").hint("choose with --kernel"),
            )),
        }
    }

    /// Runs all blocks of a grid to their end, and compares buffers with what the launch expects.
    ///
    /// # Errors
    ///
    /// Those of [`Session::execute`], and where a buffer holds something else at the end than the launch expects.
    pub fn run_functional(
        &self,
        kernel: &Kernel,
        grid: &GridFile,
        max_instructions: Option<u64>,
    ) -> Result<FunctionalRun, Diagnostic> {
        let options = RunOptions {
            max_instructions,
            ..RunOptions::default()
        };
        let mut run = self.execute(kernel, grid, &options, &mut |_| ())?;
        match run.unexpected.take() {
            Some(diagnostic) => Err(diagnostic),
            None => Ok(run),
        }
    }

    /// Runs all blocks of a grid to their end, whatever buffers hold then; `progress` hears after each block how many are
    /// done.
    ///
    /// # Errors
    ///
    /// Where the launch does not suit the kernel, the kernel does what it must not, or what an instruction means is not
    /// known yet.
    pub fn execute(
        &self,
        kernel: &Kernel,
        grid: &GridFile,
        options: &RunOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FunctionalRun, Diagnostic> {
        let prepared = self.prepare(kernel)?;
        if !matches!(prepared.program, Program::Nvidia(_)) {
            let what = Diagnostic::new("mini-SIMT kernels are run with time");
            let diagnostic = what.in_kernel(kernel.demangled());
            return Err(self.locate(diagnostic.hint("leave --functional out")));
        }
        let most = options.max_instructions.unwrap_or(MOST_INSTRUCTIONS);
        let (run, mut memory) = start(kernel, grid, options.order, most)?;
        let counts = launch_on(&prepared.code, &run, &mut memory, options.threads, progress)
            .map_err(|fault| self.locate(prepared.fault(&fault).in_kernel(kernel.demangled())))?;
        let compared = buffers::compare(kernel, grid, &memory);
        let statistics = Statistics::new(&prepared, &counts);
        let report = FunctionalReport {
            schema: FunctionalReport::SCHEMA,
            file: self.file.clone(),
            kernel: kernel.demangled(),
            grid: grid.grid,
            block: grid.block,
            issued: statistics.total(),
            divergences: counts.divergences.iter().sum(),
            checked_elements: compared.elements,
            notes: notes::notes(&prepared, &counts),
            classes: statistics.classes(),
            mnemonics: statistics.mnemonics(),
            branches: statistics.branches(),
            memory: statistics.memory(),
            lines: statistics.lines(),
        };
        Ok(FunctionalRun {
            report,
            memory,
            unexpected: compared.unexpected,
        })
    }
}

impl Prepared<'_> {
    /// What stopped a launch, and where.
    pub(crate) fn fault(&self, fault: &Fault) -> Diagnostic {
        let name = self.program.mnemonic(fault.at.index()).unwrap_or("the end");
        let what = Diagnostic::new(format!("{name}: {fault}"));
        let mut diagnostic = self.at_op(what, fault.at);
        diagnostic.place.source = self.source(self.addr(fault.at));
        diagnostic
    }
}

/// A launch of at most so many warp instructions, and the memory that it begins with.
///
/// # Errors
///
/// Where the launch does not suit the kernel.
pub(crate) fn start(
    kernel: &Kernel,
    grid: &GridFile,
    order: Order,
    max_instructions: u64,
) -> Result<(Launch, GlobalMemory), Diagnostic> {
    let mut memory = GlobalMemory::default();
    let constants = constants(kernel, grid, &mut memory)?;
    let (textures, surfaces) = images::bind(grid, &memory)?;
    let shared = kernel.static_shared.unwrap_or(0);
    let launch = Launch {
        grid: grid.grid,
        block: grid.block,
        shared: shared.saturating_add(grid.dynamic_shared),
        local: kernel.min_stack_size.or(kernel.frame_size).unwrap_or(0),
        constants,
        textures,
        surfaces,
        max_instructions,
        order,
    };
    Ok((launch, memory))
}

/// The constant banks: what the file has, the launch block, the parameters.
fn constants(
    kernel: &Kernel,
    grid: &GridFile,
    memory: &mut GlobalMemory,
) -> Result<Vec<(u8, Vec<u8>)>, Diagnostic> {
    let fault = |what: String| {
        Diagnostic::new(what)
            .in_kernel(kernel.demangled())
            .in_file(grid.file.as_str())
    };
    if grid.params.len() != kernel.params.len() {
        return Err(fault(format!(
            "the kernel has {} parameters, the launch {}",
            kernel.params.len(),
            grid.params.len()
        )));
    }
    let (bank, first) = match &kernel.param_block {
        Some(block) => (block.bank, usize::from(block.offset)),
        None if grid.params.is_empty() => (0, 0),
        None => {
            return Err(fault(
                "the file does not say where parameters lie".to_owned(),
            ));
        }
    };
    let mut launch_block = vec![0u8; 0x1000];
    let mut put = |at: usize, bytes: &[u8]| {
        for (to, from) in launch_block.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    };
    for (at, size) in [(BLOCK_AT, grid.block), (GRID_AT, grid.grid)] {
        for (nth, number) in size.iter().enumerate() {
            put(at + 4 * nth, &number.to_le_bytes());
        }
    }
    let local = kernel.min_stack_size.or(kernel.frame_size).unwrap_or(0);
    put(STACK_AT, &local.to_le_bytes());
    for (at, word) in Launch::WINDOWS_AT {
        put(at, &word.to_le_bytes());
    }
    let values = buffers::place(grid, memory);
    for ((param, given), bytes) in kernel.params.iter().zip(&grid.params).zip(values) {
        if bytes.len() != usize::from(param.size) {
            return Err(fault(format!(
                "parameter {} has {} bytes, that of the kernel {}",
                given.name,
                bytes.len(),
                param.size
            )));
        }
        put(first + usize::from(param.offset), &bytes);
    }
    let mut banks = vec![(bank, launch_block)];
    for other in kernel.banks.iter().filter(|other| other.number != bank) {
        banks.push((other.number, other.bytes().to_vec()));
    }
    Ok(banks)
}
