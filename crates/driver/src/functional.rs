//! Running a GPU kernel without time: what it computes, and how often.

use std::num::NonZero;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::thread::Limits;
use warpbound_base::Diagnostic;
use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_load::{LaunchFile, Kernel};
use warpbound_report::functional::FunctionalReport;
use warpbound_simulate::functional::{Fault, FaultKind, GlobalMemory, PathOrder, launch_on};

use crate::{Prepared, Session};

pub(crate) mod buffers;
mod constants;
mod images;
pub(crate) mod limits;
pub(crate) mod notes;
mod pointers;
mod statistics;

use statistics::Statistics;

/// The most warp instructions of a run when nothing else is said.
pub(crate) const MOST_INSTRUCTIONS: u64 = 1_000_000_000;

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
    pub order: PathOrder,
    /// Threads that run blocks; nothing but the time depends on their number.
    pub threads: NonZero<usize>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            max_instructions: None,
            order: PathOrder::TakenFirst,
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
        grid: &LaunchFile,
    ) -> Result<&'a Kernel, Diagnostic> {
        self.only_kernel(name.or(grid.kernel.as_deref()))
    }

    /// Runs all blocks of a grid to their end, and compares buffers with what the launch expects.
    ///
    /// # Errors
    ///
    /// Those of [`Session::execute`], and where a buffer holds something else at the end than the launch expects.
    pub fn run_functional(
        &self,
        kernel: &Kernel,
        grid: &LaunchFile,
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
        grid: &LaunchFile,
        options: &RunOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FunctionalRun, Diagnostic> {
        let prepared = self.prepare(kernel)?;
        if !matches!(prepared.program, Program::Nvidia(_)) {
            let what = Diagnostic::new("mini-SIMT kernels are run with time");
            let diagnostic = what.in_kernel(kernel.demangled());
            return Err(self.locate(diagnostic.hint("leave --functional out")));
        }
        limits::check(kernel, grid)?;
        let most = options.max_instructions.unwrap_or(MOST_INSTRUCTIONS);
        let (run, mut memory) = self.start(&prepared, grid, options.order, most)?;
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

impl FunctionalRun {
    /// The files that the launch wants: name as the launch file has it, NPY contents.
    pub fn outputs<'a>(&'a self, grid: &'a LaunchFile) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
        buffers::outputs(grid, &self.memory)
    }
}

impl Prepared<'_> {
    /// What stopped a launch, and where.
    pub(crate) fn fault(&self, fault: &Fault) -> Diagnostic {
        let name = self.program.mnemonic(fault.at.index()).unwrap_or("the end");
        let is_outside = matches!(fault.kind, FaultKind::ExternalCode(_));
        let mut fault = fault.clone();
        if let (true, Some(callee)) = (is_outside, self.callee_outside(fault.at)) {
            fault.kind = FaultKind::ExternalCode(callee);
        }
        let what = Diagnostic::new(format!("{name}: {fault}"));
        let mut diagnostic = self.at_op(what, fault.at);
        diagnostic.place.source = self.source(self.addr(fault.at));
        if fault.is_instruction_limit() {
            return diagnostic.hint("--max-instructions allows more");
        }
        if is_outside {
            return diagnostic.hint(
                "device printf, malloc and the like are in the driver or in another file: compile the kernel without \
                 the call, or give it data that does not lead there",
            );
        }
        diagnostic
    }

    /// The function outside the file that an operation calls, where the file names it.
    fn callee_outside(&self, at: OpIndex) -> Option<String> {
        let thread = ThreadCfg::run(&self.code, &Limits::default()).ok()?;
        let mut calls = thread
            .space
            .ids()
            .filter(|&id| thread.space.block(id).last == at);
        calls.find_map(|id| thread.resolved.get(id.index())?.as_ref()?.external.clone())
    }
}
