//! Untimed execution of a GPU kernel: results, faults and instruction counts.

use std::num::NonZero;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{Diagnostic, Family};
use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_launch::{
    FinalArray, GlobalMemory, LaunchFile, PathOrder, compare_buffers, final_arrays, output_files,
};
use warpbound_load::Kernel;
use warpbound_report::MetricsReport;
use warpbound_report::functional::FunctionalReport;
use warpbound_simulate::functional::{Counts, Fault, FaultKind, launch_checked, launch_parallel};

use super::notes;
use crate::block_counts::BlockCounts;
use crate::listeners::instruction_statistics::{InstructionStatistics, can_part};
use crate::{metrics::MetricsBasis, metrics::metrics_with};
use warpbound_query::{Prepared, Session};

/// Default limit of the warp instructions of a run.
pub const MAX_INSTRUCTIONS: u64 = 1_000_000_000;

/// Result of executing a launch of a grid to its end.
#[derive(Clone, Debug)]
pub struct FunctionalRun {
    /// Report of the execution.
    pub report: FunctionalReport,
    /// Executions of each operation.
    pub counts: Counts,
    /// Memory at the end; its buffers are in the order of the parameters that own a buffer.
    pub memory: GlobalMemory,
    /// Diagnostic of the first buffer element that differs from the expected value.
    pub unexpected: Option<Diagnostic>,
}

/// Options of an execution.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Limit of the warp instructions; `None` is 1,000,000,000.
    pub max_instructions: Option<u64>,
    /// Lanes that continue first after a divergent branch.
    pub order: PathOrder,
    /// Host threads that execute blocks; their number does not change the result.
    pub threads: NonZero<usize>,
    /// Whether reads of undefined registers and missing wait states are noted as well, on AMD's GPUs. Such a run uses
    /// one host thread.
    pub checks: bool,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            max_instructions: None,
            order: PathOrder::TakenFirst,
            threads: NonZero::<usize>::MIN,
            checks: false,
        }
    }
}

/// Executes all blocks of a grid to their end. `progress` receives the number of completed blocks after each one.
/// Unexpected buffer contents are part of the result, not an error.
///
/// # Errors
///
/// The launch does not suit the kernel, the kernel faults, or the meaning of an instruction is unknown.
pub fn execute(
    session: &Session,
    kernel: &Kernel,
    grid: &LaunchFile,
    options: &RunOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<FunctionalRun, Diagnostic> {
    let prepared = session.prepare_run(kernel)?;
    execute_prepared(session, &prepared, grid, options, progress)
}

/// Executes a launch of a kernel that is already decoded and lifted, see [`execute`].
///
/// # Errors
///
/// See [`execute`].
pub fn execute_prepared(
    session: &Session,
    prepared: &Prepared<'_>,
    grid: &LaunchFile,
    options: &RunOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<FunctionalRun, Diagnostic> {
    let kernel = prepared.kernel;
    if prepared.family() == Family::MiniSimt {
        let message = Diagnostic::new("mini-SIMT kernels have no untimed execution");
        let diagnostic = message.in_kernel(kernel.demangled());
        return Err(session.locate(diagnostic.hint("omit --functional")));
    }
    let most = options.max_instructions.unwrap_or(MAX_INSTRUCTIONS);
    let (run, mut memory) = session.bind(prepared, grid, options.order, most)?;
    let code = &prepared.code;
    let counts = match &prepared.program {
        Program::Amd(program) if options.checks => launch_checked(code, program, &run, &mut memory),
        _ => launch_parallel(code, &run, &mut memory, options.threads, progress),
    };
    let counts = counts.map_err(|fault| {
        session.locate(fault_diagnostic(prepared, &fault).in_kernel(kernel.demangled()))
    })?;
    let compared = compare_buffers(grid, &memory);
    let statistics = InstructionStatistics::new(prepared, &counts);
    let report = FunctionalReport {
        schema: FunctionalReport::SCHEMA,
        file: session.file.clone(),
        kernel: kernel.demangled(),
        grid: grid.grid,
        block: grid.block,
        issued: statistics.total(),
        divergences: counts.divergences.iter().sum(),
        checked_elements: compared.elements,
        notes: notes::notes(prepared, grid, &counts),
        classes: statistics.classes(),
        mnemonics: statistics.mnemonics(),
        branches: statistics.branches(),
        memory: statistics.memory(),
        lines: statistics.lines(),
    };
    Ok(FunctionalRun {
        report,
        counts,
        memory,
        unexpected: compared.mismatch.map(|d| d.in_kernel(kernel.demangled())),
    })
}

/// Executes all blocks of a grid of a GPU kernel to their end; returns the counts and the memory at the end.
///
/// # Errors
///
/// See [`execute`].
pub fn execute_to_end(
    session: &Session,
    prepared: &Prepared<'_>,
    grid: &LaunchFile,
    options: &RunOptions,
) -> Result<(Counts, GlobalMemory), Diagnostic> {
    let most = options.max_instructions.unwrap_or(MAX_INSTRUCTIONS);
    let (run, mut memory) = session.bind(prepared, grid, options.order, most)?;
    let counts = launch_parallel(
        &prepared.code,
        &run,
        &mut memory,
        options.threads,
        &mut |_| (),
    );
    let counts = counts.map_err(|fault| {
        session.locate(fault_diagnostic(prepared, &fault).in_kernel(prepared.kernel.demangled()))
    })?;
    Ok((counts, memory))
}

impl FunctionalRun {
    /// Returns the metrics of the run, from its counts of blocks.
    ///
    /// # Errors
    ///
    /// The analyses refuse the kernel, so that it has no known blocks.
    pub fn metrics(
        &self,
        prepared: &Prepared<'_>,
        launch: &LaunchFile,
    ) -> Result<MetricsReport, Diagnostic> {
        let thread = ThreadCfg::build(&prepared.code, &Limits::default());
        let thread = thread.map_err(|refusal| prepared.refusal_diagnostic(&refusal))?;
        let counts = BlockCounts::of_run(&thread.space.blocks, &self.counts);
        let divergent = (0u32..).map(OpIndex).zip(&self.counts.divergences);
        // Only where lanes can diverge is the count of divergences a statement; elsewhere it would be a row of zeros.
        let conditional = divergent.filter(|(at, _)| can_part(prepared, *at));
        let basis = MetricsBasis {
            block_threads: Some(launch.block.iter().map(|&n| u64::from(n)).product()),
            divergences: conditional.map(|(at, &n)| (at, n)).collect(),
        };
        let lanes = prepared.code.lanes();
        Ok(metrics_with(prepared, &counts, lanes, &basis))
    }

    /// Returns the run if all buffers contain what the launch expects.
    ///
    /// # Errors
    ///
    /// [`FunctionalRun::unexpected`], if there is one.
    pub fn as_expected(mut self) -> Result<FunctionalRun, Diagnostic> {
        match self.unexpected.take() {
            Some(diagnostic) => Err(diagnostic),
            None => Ok(self),
        }
    }

    /// Returns the output files of the launch: names in the launch file, and contents in the NPY format.
    pub fn outputs<'a>(&'a self, grid: &'a LaunchFile) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
        output_files(grid, &self.memory)
    }

    /// Returns the contents of all buffers and variables of the launch at the end.
    pub fn arrays<'a>(&'a self, grid: &'a LaunchFile) -> impl Iterator<Item = FinalArray<'a>> {
        final_arrays(grid, &self.memory)
    }
}

/// Returns the diagnostic of a fault, with its location and, if possible, a hint.
pub fn fault_diagnostic(prepared: &Prepared<'_>, fault: &Fault) -> Diagnostic {
    // The end of the code has no opcode, and a run that continues past the last instruction faults there.
    let name = prepared
        .program
        .mnemonic(fault.at.index())
        .unwrap_or("the end");
    let is_outside = matches!(fault.kind, FaultKind::ExternalCode(_));
    let mut fault = fault.clone();
    if let (true, Some(callee)) = (is_outside, external_callee(prepared, fault.at)) {
        fault.kind = FaultKind::ExternalCode(callee);
    }
    let message = Diagnostic::new(format!("{name}: {fault}"));
    let mut diagnostic = prepared.at_op(message, fault.at);
    diagnostic.location.source = prepared.source(prepared.addr(fault.at));
    // The kernel may be correct and only long, so the hint is to raise the limit.
    if fault.is_instruction_limit() {
        return diagnostic.hint("--max-instructions allows more");
    }
    if is_outside {
        return diagnostic.hint(
                "device printf, malloc and the like are in the driver or in another file: compile the kernel without \
                 the call, or choose data that avoids it",
            );
    }
    diagnostic
}

/// Returns the function outside the file that an operation calls, if the file names it.
fn external_callee(prepared: &Prepared<'_>, at: OpIndex) -> Option<String> {
    let thread = ThreadCfg::build(&prepared.code, &Limits::default()).ok()?;
    let mut calls = thread
        .space
        .ids()
        .filter(|&id| thread.space.block(id).last == at);
    calls.find_map(|id| thread.resolved.get(id.index())?.as_ref()?.external.clone())
}
