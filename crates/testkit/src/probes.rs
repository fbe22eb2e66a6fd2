//! Check of probes: the counters that an instrumented kernel leaves, against the counts of the same run.
//!
//! The counts come from the simulator, which counts every instruction that it issues; of the instrumentation only the
//! map from old to new addresses is used. Counts of another run may differ where the schedule decides them.

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::Program;
use warpbound_isa::nvidia::{ControlWord, NewOperand, Opcode, WordBuilder};
use warpbound_launch::{GlobalMemory, LaunchFile, compare_buffers};
use warpbound_load::Kernel;
use warpbound_measure::probes::{ProbeCounters, ProbePlan, ProbeQuantity, WantedCount};
use warpbound_measure::{CounterKind, InstrumentedKernel, decode_counters};
use warpbound_query::{Prepared, Session};
use warpbound_rewrite::liveness::{Liveness, ProbeFault};
use warpbound_rewrite::{CubinRewriter, Entry, NewInstr};
use warpbound_runs::{RunOptions, TimedOptions, execute_to_end, simulate_to_end};
use warpbound_simulate::functional::Counts;
use warpbound_simulate::timed::Silent;

use crate::issue_rules::IssueRules;

/// Run of an instrumented kernel.
#[derive(Clone, Debug, Default)]
pub struct ProbedRun {
    /// Cycles; 0 without time.
    pub cycles: u64,
    /// Issued warp instructions.
    pub issued: u64,
    /// Counters that differ from the counts of the run.
    pub wrong: Vec<String>,
    /// Broken issue rules.
    pub violations: Vec<String>,
    /// First element of a buffer that is not as expected.
    pub unexpected: Option<String>,
    /// Values of the counters.
    pub values: Vec<u64>,
    /// Issues and active lanes of all instructions of the original kernel.
    pub totals: [u64; 2],
}

impl ProbedRun {
    /// All that is wrong.
    pub fn problems(&self) -> Vec<String> {
        let all = self.wrong.iter().chain(&self.violations);
        all.chain(&self.unexpected).cloned().collect()
    }
}

/// Kind of a run.
#[derive(Clone, Copy)]
pub enum ProbedTime<'a> {
    /// Without time.
    Functional,
    /// With time.
    Timed(&'a TimedOptions),
}

/// Instrumented kernel of an original one.
pub struct ProbedKernel<'a> {
    /// The original kernel.
    pub original: &'a Prepared<'a>,
    /// Its plan.
    pub plan: &'a ProbePlan,
    /// Counters that it has.
    pub counters: CounterKind,
    /// The instrumented kernel.
    pub instrumented: &'a InstrumentedKernel,
}

impl ProbedKernel<'_> {
    /// Runs the instrumented kernel and compares its counters with the counts of the run.
    ///
    /// # Errors
    ///
    /// The file cannot be loaded, or the run fails.
    pub fn run(&self, launch: &LaunchFile, time: ProbedTime<'_>) -> Result<ProbedRun, Diagnostic> {
        let session = Session::open("instrumented", &self.instrumented.bytes)?;
        let kernel = kernel_of(&session, &self.original.kernel.name)?;
        let prepared = session.prepare(kernel)?;
        let launch = self.instrumented.launch(launch, None);
        let mut run = ProbedRun::default();
        let (counts, memory) = match time {
            ProbedTime::Functional => {
                execute_to_end(&session, &prepared, &launch, &RunOptions::default())?
            }
            ProbedTime::Timed(options) => {
                let Program::Nvidia(program) = &prepared.program else {
                    return Err(Diagnostic::new("the kernel is not of NVIDIA"));
                };
                let machine = options.machine.select(options.selection);
                let mut rules = IssueRules::new(program, &machine);
                let (result, memory) =
                    simulate_to_end(&session, &prepared, &launch, options, &mut rules)?;
                run.violations = rules.all_violations();
                run.cycles = result.cycles.0.0;
                (result.counts, memory)
            }
        };
        run.issued = counts.issued();
        run.unexpected = compare_buffers(&launch, &memory)
            .mismatch
            .map(|d| d.to_string());
        self.compare(&prepared, &counts, &memory, &mut run)?;
        Ok(run)
    }

    /// Instructions that issued together with the next one of the original kernel and now do so with another one; and
    /// those that keep an operand for an instruction that no longer follows.
    ///
    /// # Errors
    ///
    /// The file cannot be loaded.
    pub fn split_pairs(&self) -> Result<Vec<String>, Diagnostic> {
        let session = Session::open("instrumented", &self.instrumented.bytes)?;
        let kernel = kernel_of(&session, &self.original.kernel.name)?;
        let prepared = session.prepare(kernel)?;
        let (Program::Nvidia(old), Program::Nvidia(new)) =
            (&self.original.program, &prepared.program)
        else {
            return Err(Diagnostic::new("the kernel is not of NVIDIA"));
        };
        let mut split = Vec::new();
        for pair in old.instrs.windows(2) {
            let [first, second] = pair else { continue };
            let moved = |at| new.index_of(self.instrumented.moved(at)?);
            let (Some(first_at), Some(second_at)) = (moved(first.addr), moved(second.addr)) else {
                split.push(format!("{}: no new address", first.addr));
                continue;
            };
            let control = new.instrs.get(first_at).map(|instr| instr.control);
            let is_pair = control.is_some_and(|control| control.dual_issue());
            if is_pair && second_at != first_at + 1 {
                split.push(format!("{}: the pair is split", first.addr));
            }
        }
        Ok(split)
    }

    /// Decodes the counters of a run, and lists the sums over all instructions that differ from the sums of the run.
    ///
    /// # Errors
    ///
    /// The counters are refused.
    pub fn wrong_totals(
        &self,
        session: &Session,
        launch: &LaunchFile,
        run: &ProbedRun,
    ) -> Result<Vec<String>, Diagnostic> {
        let counters = ProbeCounters {
            plan: Some(self.instrumented.digest),
            values: run.values.clone(),
            ..ProbeCounters::default()
        };
        let kernel = self.original.kernel;
        let decoded = decode_counters(session, kernel, self.plan, &counters, Some(launch))?;
        let both = [ProbeQuantity::Issues, ProbeQuantity::Lanes];
        let differ = both
            .into_iter()
            .zip(run.totals)
            .filter_map(|(quantity, total)| {
                let decoded = decoded.values.get(&WantedCount::Instructions(quantity))?;
                (*decoded != total)
                    .then(|| format!("{} decoded {decoded}, counted {total}", quantity.name()))
            });
        Ok(differ.collect())
    }

    /// Compares the counters with the counts of the run.
    fn compare(
        &self,
        prepared: &Prepared<'_>,
        counts: &Counts,
        memory: &GlobalMemory,
        run: &mut ProbedRun,
    ) -> Result<(), Diagnostic> {
        let counters = self.instrumented.counters(memory)?;
        run.values = counters.values;
        let count = |at: u32, quantity: ProbeQuantity| {
            let moved = self.instrumented.moved(CodeAddr(at))?;
            let index = prepared.code.at(moved)?.index();
            let of = match quantity {
                ProbeQuantity::Issues => &counts.issues,
                ProbeQuantity::Lanes => &counts.active,
            };
            of.get(index).copied()
        };
        let indices = self.original.code.ops.iter().filter_map(|op| {
            let moved = self.instrumented.moved(op.addr)?;
            Some(prepared.code.at(moved)?.index())
        });
        for index in indices {
            for (total, of) in run.totals.iter_mut().zip([&counts.issues, &counts.active]) {
                *total += of.get(index).copied().unwrap_or(0);
            }
        }
        let mut compare = |name: String, counted: Option<u64>, value: Option<u64>| {
            if counted != value {
                run.wrong
                    .push(format!("{name}: counter {value:?}, counted {counted:?}"));
            }
        };
        match self.counters {
            CounterKind::Probes if !self.plan.sums.is_empty() => {
                for (number, sum) in self.plan.sums.iter().enumerate() {
                    let counted = sum.probes.iter().try_fold(0i128, |total, &(at, factor)| {
                        let probe = self.plan.probes.get(at)?;
                        let count = count(probe.at, probe.quantity)?;
                        Some(total + i128::from(factor) * i128::from(count))
                    });
                    // In two's complement.
                    let counted = counted.map(|total| total as u64);
                    compare(
                        format!("sum {number}"),
                        counted,
                        run.values.get(number).copied(),
                    );
                }
            }
            CounterKind::Probes => {
                for (number, probe) in self.plan.probes.iter().enumerate() {
                    let name = format!("{} at 0x{:04x}", probe.quantity.name(), probe.at);
                    let value = run.values.get(number).copied();
                    compare(name, count(probe.at, probe.quantity), value);
                }
            }
            CounterKind::Sums => {
                let blocks: std::collections::BTreeSet<u32> =
                    self.plan.probes.iter().map(|probe| probe.at).collect();
                let width = u64::from(self.plan.warp_width);
                for (number, quantity, factor) in [
                    (0, ProbeQuantity::Lanes, 1),
                    (1, ProbeQuantity::Issues, width),
                ] {
                    let terms = blocks
                        .iter()
                        .map(|&at| Some(count(at, quantity)? * self.instructions(at)? * factor));
                    let sum = terms.sum::<Option<u64>>();
                    compare(
                        quantity.name().to_owned(),
                        sum,
                        run.values.get(number).copied(),
                    );
                }
            }
        }
        Ok(())
    }

    /// Number of instructions of the block at an address; jump tables cut blocks too.
    fn instructions(&self, at: u32) -> Option<u64> {
        let code = &self.original.code;
        let cfg = ThreadCfg::build(code, &Limits::default()).ok()?;
        let blocks = &cfg.space.blocks;
        let block = blocks.get(blocks.starting_at(code.at(CodeAddr(at))?)?);
        Some(block.instructions)
    }
}

/// Returns a kernel of a session by its mangled name.
///
/// # Errors
///
/// There is none.
pub fn kernel_of<'a>(session: &'a Session, name: &str) -> Result<&'a Kernel, Diagnostic> {
    let kernels = session.kernels(None)?;
    let found = kernels.into_iter().find(|kernel| &*kernel.name == name);
    found.ok_or_else(|| Diagnostic::new(format!("there is no kernel {name}")))
}

/// Returns the cycles of a launch of a kernel as it is.
///
/// # Errors
///
/// The run fails.
pub fn plain_cycles(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &TimedOptions,
) -> Result<u64, Diagnostic> {
    let (result, _) = simulate_to_end(session, prepared, launch, options, &mut Silent)?;
    Ok(result.cycles.0.0)
}

/// Overwrites the registers that liveness calls free with random numbers, at one in four operations, and runs a launch.
/// Returns the first element of a buffer that is not as expected, or the fault of the run.
///
/// # Errors
///
/// The kernel cannot be rewritten.
pub fn overwrite_free_registers(
    contents: &[u8],
    kernel: &str,
    launch: &LaunchFile,
    fault: Option<ProbeFault>,
    seed: u64,
) -> Result<Option<String>, Diagnostic> {
    let session = Session::open("original", contents)?;
    let found = session.kernels(Some(kernel))?;
    let Some(kernel) = found.first() else {
        return Err(Diagnostic::new("there is no such kernel"));
    };
    let original = session.prepare(kernel)?;
    let Program::Nvidia(program) = &original.program else {
        return Err(Diagnostic::new("the kernel is not of NVIDIA"));
    };
    let refused = |refusal: warpbound_analyse::Refusal| Diagnostic::new(refusal.reason.to_string());
    let cfg = ThreadCfg::build(&original.code, &Limits::default()).map_err(refused)?;
    let liveness = Liveness::with_fault(&original.code, program, &cfg, fault);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut rewriter = CubinRewriter::open(contents)?;
    let code = rewriter.code(&kernel.name)?;
    for (index, op) in original.code.ops.iter().enumerate() {
        let at = OpIndex(index as u32);
        if random.u8(0..4) != 0 {
            continue;
        }
        let top = kernel.registers.min(255) as u8;
        let registers = (0..top).filter(|&r| liveness.is_free(at, Cell::gpr(r)));
        let mut garbage = Vec::new();
        for register in registers {
            let number = NewOperand::int(i64::from(random.u32(..)));
            let operands = [NewOperand::reg(register), number];
            let word = WordBuilder::new(program.arch(), Opcode::Mov32i)
                .operands(&operands)
                .build();
            let word = word.map_err(|error| Diagnostic::new(error.to_string()))?;
            garbage.push(NewInstr::new(word as u64, ControlWord::of_slot(0x7f1, 0)));
        }
        for pred in (0..7).filter(|&pred| liveness.is_free(at, Cell::pred(pred))) {
            let value = match random.bool() {
                true => NewOperand::pred(None),
                false => NewOperand::not_pred(None),
            };
            let all = NewOperand::pred(None);
            let operands = [NewOperand::pred(Some(pred)), all, value, all, all];
            let and = [warpbound_isa::nvidia::Modifier::And; 2];
            let word = WordBuilder::new(program.arch(), Opcode::Psetp)
                .modifiers(&and)
                .operands(&operands)
                .build();
            let word = word.map_err(|error| Diagnostic::new(error.to_string()))?;
            garbage.push(NewInstr::new(word as u64, ControlWord::of_slot(0x7fd, 0)));
        }
        code.insert_before(op.addr, Entry::All, garbage)?;
    }
    let written = rewriter.finish()?;
    let session = Session::open("overwritten", &written)?;
    let kernel = kernel_of(&session, &kernel.name)?;
    let prepared = session.prepare(kernel)?;
    let options = RunOptions {
        max_instructions: Some(100_000_000),
        ..RunOptions::default()
    };
    match execute_to_end(&session, &prepared, launch, &options) {
        Ok((_, memory)) => Ok(compare_buffers(launch, &memory)
            .mismatch
            .map(|d| d.to_string())),
        Err(fault) => Ok(Some(fault.to_string())),
    }
}
