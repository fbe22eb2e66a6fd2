//! Instrumentation: a cubin whose kernel counts executions of its blocks, and the counters of its runs. The kernel
//! computes what it computed before (SOUNDNESS 18).
//!
//! For example, a plan with probes in two blocks adds the variable `warpbound_counters` of three words: the digest of
//! the plan and two counters.

mod range;
pub(crate) mod stamps;
mod waves;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{CodeAddr, Diagnostic, GroupedCode};
use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_isa::nvidia::SassProgram;
use warpbound_launch::{ElementType, GlobalMemory, LaunchBuffer, LaunchFile, LaunchVariable};
use warpbound_load::Kernel;
use warpbound_query::{Prepared, Session};
use warpbound_report::probe_plan::{ProbePlan, ProbeQuantity};
use warpbound_rewrite::liveness::Liveness;
use warpbound_rewrite::probes::{
    CounterHome, CounterRange, Increment, ProbeEdits, ProbeEntry, ProbeFault, ProbeRequest,
    ProbeStyle, ProbedCode, ProbedQuantity, SharedSlots, plan_edits,
};
use warpbound_rewrite::{CodeMap, CubinRewriter, Entry, NewInstr};

use crate::{ProbeCounters, ProbeOptions};
use crate::{probes::ProbeMetric, probes::ProbedBlocks, probes::check_code, probes::probe_plan};

pub use stamps::instrument_stamps;
pub use stamps::{StampPlan, StampTimes};
pub use waves::InstrumentedWaves;
pub use waves::instrument_waves;

/// Name of the variable with the counters.
pub const COUNTERS: &str = "warpbound_counters";

/// Maximum number of registers of a block on the smallest of the chips (`cudaDeviceProp::regsPerBlock` of compute
/// capability 5.3 and 6.2).
const BLOCK_REGISTERS: u32 = 32_768;

/// Unit of the registers of a thread (NVIDIA, `cuda_occupancy.h`: 256 for a warp).
const REGISTER_STEP: u32 = 8;

/// Maximum number of threads of a block.
const MOST_THREADS: u32 = 1_024;

/// Kind of the counters of an instrumented kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CounterKind {
    /// One counter for each probe of the plan.
    #[default]
    Probes,
    /// Two sums over the blocks that the plan probes: instructions times active lanes, and instructions times lanes of a
    /// warp (`efficient-instrumentation-2014`, figure 2).
    Sums,
}

/// Options of an instrumentation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InstrumentOptions {
    /// Realisation of the probes.
    pub style: ProbeStyle,
    /// Counters.
    pub counters: CounterKind,
    /// Launch to be measured; the sums of a thread that it allows decide the width of their registers.
    pub launch: Option<Arc<LaunchFile>>,
    /// Maximum number of registers of a thread; `None` is what a block of the plan's size can have on every chip.
    pub most_registers: Option<u16>,
    /// Mistake that a test plants.
    pub fault: Option<ProbeFault>,
}

/// Instrumented kernel.
#[derive(Clone, Debug)]
pub struct InstrumentedKernel {
    /// The file.
    pub bytes: Vec<u8>,
    /// New addresses of the kernel's instructions; `None` if nothing was inserted.
    pub map: Option<CodeMap>,
    /// Number of counters.
    pub counters: usize,
    /// Digest of the plan, which the host writes to the first word of the variable.
    pub digest: u64,
    /// Home of each counter while a thread runs.
    pub homes: Vec<CounterHome>,
    /// Additional bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// Registers of a thread, before and after.
    pub registers: [u16; 2],
    /// Number of instructions of the kernel before, and number of inserted ones.
    pub instructions: [usize; 2],
}

/// Instruments a kernel of the file with the probes of a plan. `file` is the content from which the session was
/// opened.
///
/// # Errors
///
/// The plan is for other code, the launch does not suit the kernel, or the kernel cannot be rewritten; the diagnostic has
/// the address.
pub fn instrument(
    session: &Session,
    file: &[u8],
    kernel: &Kernel,
    plan: &ProbePlan,
    options: &InstrumentOptions,
) -> Result<InstrumentedKernel, Diagnostic> {
    let fail = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    check_code(plan, kernel).map_err(fail)?;
    if let Some(launch) = &options.launch {
        session.check_launch(kernel, launch)?;
    }
    with_target(session, kernel, "probes", |target| {
        target.instrument(file, plan, options)
    })
}

/// Calls a function with a kernel whose code has control words. `what` is what it inserts, for messages; its errors get the
/// kernel and the source line.
fn with_target<T>(
    session: &Session,
    kernel: &Kernel,
    what: &str,
    insert: impl FnOnce(&Target<'_>) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let fail = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    check_sections(kernel).map_err(fail)?;
    let prepared = session.prepare_measured(kernel)?;
    let Program::Nvidia(program) = &prepared.program else {
        let message = format!(
            "these {what} are for code of {}",
            GroupedCode::architectures("and")
        );
        return Err(fail(Diagnostic::new(message)));
    };
    let cfg = ThreadCfg::build(&prepared.code, &Limits::default())
        .map_err(|refusal| fail(prepared.refusal_diagnostic(&refusal)))?;
    let target = Target {
        session,
        prepared: &prepared,
        program,
        cfg: &cfg,
    };
    insert(&target).map_err(fail)
}

/// Refuses a kernel that calls functions in code sections of their own, because other kernels may call them as well.
pub(crate) fn check_sections(kernel: &Kernel) -> Result<(), Diagnostic> {
    let Some(section) = kernel.joined.first() else {
        return Ok(());
    };
    let name = warpbound_load::demangle(&section.name);
    let message = format!(
        "calls {name}, whose code is in a section of its own, where no probes can be placed"
    );
    Err(Diagnostic::new(message).hint("compile the function into the kernel, without -rdc or -G"))
}

/// Kernel to be instrumented.
struct Target<'a> {
    session: &'a Session,
    prepared: &'a Prepared<'a>,
    program: &'a SassProgram,
    cfg: &'a ThreadCfg,
}

impl Target<'_> {
    fn instrument(
        &self,
        file: &[u8],
        plan: &ProbePlan,
        options: &InstrumentOptions,
    ) -> Result<InstrumentedKernel, Diagnostic> {
        let kernel = self.prepared.kernel;
        let mut request = self.request(plan, options)?;
        let mut shared = 0;
        if options.style == ProbeStyle::PaperLocal {
            let (slots, bytes) = shared_slots(kernel, plan, options)?;
            request.shared = Some(slots);
            shared = bytes;
        }
        request.range = self.range(plan, options, &request);
        let mut rewriter = CubinRewriter::open(file)?;
        // The digest of the plan is the first word.
        let words = request.counters as u64 + 1;
        rewriter.add_variable(COUNTERS, 8 * words)?;
        let liveness = self.liveness(options.fault);
        let probed = self.probed(&liveness, options.fault);
        let edits = plan_edits(&probed, &request)?;
        self.apply(&mut rewriter, &edits)?;
        let mut written = rewriter.finish_with_maps()?;
        let map = written.maps.remove(&*kernel.name);
        Ok(InstrumentedKernel {
            bytes: written.bytes,
            map,
            counters: request.counters,
            digest: match options.counters {
                CounterKind::Probes => plan.digest(),
                CounterKind::Sums => plan.digest_of_paper_sums(),
            },
            homes: edits.homes.clone(),
            shared,
            registers: [kernel.registers, edits.registers],
            instructions: [self.program.instrs.len(), edits.instructions()],
        })
    }

    /// Returns the registers in use, with a planted fault.
    fn liveness(&self, fault: Option<ProbeFault>) -> Liveness {
        Liveness::with_fault(&self.prepared.code, self.program, self.cfg, fault)
    }

    /// Returns the code as what is inserted needs it, with counters after the digest of the plan.
    fn probed<'a>(&'a self, liveness: &'a Liveness, fault: Option<ProbeFault>) -> ProbedCode<'a> {
        ProbedCode {
            code: &self.prepared.code,
            program: self.program,
            cfg: self.cfg,
            liveness,
            registers: self.prepared.kernel.registers,
            address_offset: 0,
            first_byte: 8,
            fault,
        }
    }

    /// Inserts the instructions of the probes.
    fn apply(
        &self,
        rewriter: &mut CubinRewriter<'_>,
        edits: &ProbeEdits,
    ) -> Result<(), Diagnostic> {
        let kernel = self.prepared.kernel;
        let code = rewriter.code(&kernel.name)?;
        for insertion in &edits.insertions {
            let entry = match insertion.entry {
                ProbeEntry::All => Entry::All,
                ProbeEntry::FallThrough => Entry::FallThrough,
            };
            let instrs = insertion.instrs.iter();
            let instrs = instrs
                .map(|instr| NewInstr::new(instr.word, instr.control).with_address(instr.address));
            code.insert_before(self.prepared.addr(insertion.at), entry, instrs.collect())?;
        }
        for (&at, &control) in &edits.controls {
            code.set_control(self.prepared.addr(at), control)?;
        }
        // A thread only has the registers that the file states.
        if edits.registers != kernel.registers {
            let registers = u8::try_from(edits.registers)
                .map_err(|_| Diagnostic::new("a thread has at most 255 registers"))?;
            rewriter.set_registers(&kernel.name, registers)?;
        }
        Ok(())
    }

    /// Returns the request for the probes of a plan.
    fn request(
        &self,
        plan: &ProbePlan,
        options: &InstrumentOptions,
    ) -> Result<ProbeRequest, Diagnostic> {
        let mut request = ProbeRequest {
            counters: match options.counters {
                CounterKind::Probes => plan.counters(),
                CounterKind::Sums => 2,
            },
            points: BTreeMap::new(),
            style: options.style,
            range: CounterRange::Count,
            shared: None,
            most_registers: options.most_registers.unwrap_or(most_registers(plan.block)),
        };
        for (number, probe) in plan.probes.iter().enumerate() {
            let at = CodeAddr(probe.at);
            let first = self.prepared.code.at(at);
            let first = first.ok_or_else(|| {
                Diagnostic::new("the plan names no instruction of the kernel").at(at)
            })?;
            let increments = match options.counters {
                CounterKind::Probes => increments_of(plan, number, probe.quantity)?,
                CounterKind::Sums => self.sums(first, plan.warp_width)?,
            };
            let mut increments = increments;
            if let (0, Some(ProbeFault::WrongFactor)) = (number, options.fault) {
                increments
                    .iter_mut()
                    .for_each(|of| of.weight = of.weight.wrapping_add(1));
            }
            // A block may have a probe for issues and one for lanes.
            let of_block: &mut BTreeSet<Increment> = request.points.entry(first).or_default();
            of_block.extend(increments);
        }
        Ok(request)
    }

    /// Returns what an execution of a block adds to each of the two sums. For example, a block of 7 instructions adds
    /// 7 for each active lane to the first one and 7 · 32 to the second one.
    fn sums(&self, first: OpIndex, warp_width: u32) -> Result<Vec<Increment>, Diagnostic> {
        let blocks = &self.cfg.space.blocks;
        let block = blocks.starting_at(first).map(|index| blocks.get(index));
        let instructions = block.map_or(0, |block| block.instructions);
        let weight = |lanes: u64| {
            let product = instructions.checked_mul(lanes);
            let weight = product.and_then(|product| u32::try_from(product).ok());
            weight.ok_or_else(|| Diagnostic::new("a block has too many instructions"))
        };
        Ok(vec![
            Increment {
                counter: 0,
                quantity: ProbedQuantity::Lanes,
                weight: weight(1)?,
            },
            Increment {
                counter: 1,
                quantity: ProbedQuantity::Issues,
                weight: weight(u64::from(warp_width))?,
            },
        ])
    }
}

/// Returns the shared memory of probes that count in it, which follows the memory of the launch, and how many bytes
/// more a block needs than the launch states.
fn shared_slots(
    kernel: &Kernel,
    plan: &ProbePlan,
    options: &InstrumentOptions,
) -> Result<(SharedSlots, u32), Diagnostic> {
    let launch = options.launch.as_ref();
    let (Some(block), Some(launch)) = (plan.block, launch) else {
        let message =
            "probes in shared memory need the size of blocks, and what shared memory they have";
        return Err(Diagnostic::new(message).hint("give --launch"));
    };
    if launch.block != block {
        return Err(Diagnostic::new(
            "the plan is for blocks of another size than the launch",
        ));
    }
    let used = kernel
        .static_shared
        .unwrap_or(0)
        .checked_add(launch.dynamic_shared);
    // Counters have 64 bits, and accesses must be aligned to their size.
    let first_byte = used.and_then(|used| used.checked_next_multiple_of(8));
    let threads = block
        .iter()
        .try_fold(1u32, |threads, &axis| threads.checked_mul(axis));
    let bytes = threads.and_then(|threads| threads.div_ceil(plan.warp_width.max(1)).checked_mul(8));
    let parts = used.zip(first_byte).zip(bytes);
    let Some(((used, first_byte), bytes)) = parts.filter(|&((_, first), _)| first < 1 << 20) else {
        return Err(Diagnostic::new(
            "a block has more shared memory than a GPU allows",
        ));
    };
    Ok((SharedSlots { first_byte, block }, first_byte - used + bytes))
}

/// Returns what the counter of a probe counts.
fn probed_quantity(quantity: ProbeQuantity) -> ProbedQuantity {
    match quantity {
        ProbeQuantity::Issues => ProbedQuantity::Issues,
        ProbeQuantity::Lanes => ProbedQuantity::Lanes,
    }
}

/// Returns what an execution of a probe adds to the counters of a plan.
fn increments_of(
    plan: &ProbePlan,
    number: usize,
    quantity: ProbeQuantity,
) -> Result<Vec<Increment>, Diagnostic> {
    let quantity = probed_quantity(quantity);
    if plan.sums.is_empty() {
        return Ok(vec![Increment {
            counter: number,
            quantity,
            weight: 1,
        }]);
    }
    let mut increments = Vec::new();
    for (counter, sum) in plan.sums.iter().enumerate() {
        for (_, factor) in sum.probes.iter().filter(|(probe, _)| *probe == number) {
            let factor = i32::try_from(*factor);
            let factor =
                factor.map_err(|_| Diagnostic::new("a factor of a sum exceeds 31 bits"))?;
            increments.push(Increment {
                counter,
                quantity,
                // Negative factors are added in two's complement.
                weight: factor as u32,
            });
        }
    }
    Ok(increments)
}

/// Returns a launch with the variable of the counters, which holds the digest and zeros and is written to `output` at
/// the end if given.
fn counters_launch(
    launch: &LaunchFile,
    digest: u64,
    counters: usize,
    output: Option<String>,
) -> LaunchFile {
    let mut launch = launch.clone();
    let mut bytes = digest.to_le_bytes().to_vec();
    bytes.resize(8 * (counters + 1), 0);
    launch.variables.push(LaunchVariable {
        name: COUNTERS.to_owned(),
        buffer: LaunchBuffer {
            element: ElementType::U64,
            shape: vec![counters as u64 + 1],
            bytes,
            expect: None,
            output,
            range: None,
        },
    });
    launch
}

/// Returns the maximum number of registers of each thread of a block that every chip allows. Without a size it
/// assumes the largest block. For example, 1,024 threads have 32,768 / 1,024 = 32 registers each.
fn most_registers(block: Option<[u32; 3]>) -> u16 {
    let threads = block.map_or(MOST_THREADS, |[x, y, z]| {
        x.saturating_mul(y).saturating_mul(z)
    });
    // Registers are given to whole warps.
    let threads = threads.clamp(1, MOST_THREADS).next_multiple_of(32);
    let each = BLOCK_REGISTERS / threads / REGISTER_STEP * REGISTER_STEP;
    each.min(255) as u16
}

impl InstrumentedKernel {
    /// Returns the new address of an instruction of the kernel.
    pub fn moved(&self, at: CodeAddr) -> Option<CodeAddr> {
        match &self.map {
            Some(map) => map.instr(at),
            // Without a map nothing was inserted, so no address changed.
            None => Some(at),
        }
    }

    /// Returns the launch with the variable of the counters: the digest and zeros, written to `output` at the end if
    /// given.
    pub fn launch(&self, launch: &LaunchFile, output: Option<String>) -> LaunchFile {
        let mut launch = counters_launch(launch, self.digest, self.counters, output);
        launch.dynamic_shared = launch.dynamic_shared.saturating_add(self.shared);
        launch
    }

    /// Returns the counters at the end of a run.
    ///
    /// # Errors
    ///
    /// The memory has no such variable.
    pub fn counters(&self, memory: &GlobalMemory) -> Result<ProbeCounters, Diagnostic> {
        let mut buffers = memory.buffers().iter();
        let variable = buffers.find(|buffer| buffer.name == COUNTERS);
        let Some(variable) = variable else {
            return Err(Diagnostic::new(format!(
                "the module has no variable {COUNTERS}"
            )));
        };
        let words = variable.bytes.as_chunks::<8>().0;
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        Ok(ProbeCounters {
            plan: words.next(),
            values: words.collect(),
            ..ProbeCounters::default()
        })
    }
}

/// Plans the probes of a kernel. With a launch, counts are predicted where possible.
///
/// # Errors
///
/// As [`probe_plan`].
pub fn plan_for(
    session: &Session,
    kernel: &Kernel,
    launch: Option<&LaunchFile>,
    rule: ProbedBlocks,
    metrics: Vec<ProbeMetric>,
) -> Result<ProbePlan, Diagnostic> {
    let options = ProbeOptions::for_launch(launch, rule, metrics);
    probe_plan(session, kernel, &options)
}
