//! Audit: executions of a kernel compared with all claims about it.
//!
//! The simulator uses no analysis, so it is an independent oracle. [`ClaimMonitor`] compares each instruction of its
//! warps with the warp-level graph, the stacks and the agreements of the analyses ([`Claims`]). After each run, the
//! observed loop counts and instruction counts are compared with the user's facts and the bound ([`StatedFacts`]),
//! and with the derived loop bounds for this launch and for all launches ([`DerivedClaims`]).
//!
//! For example, a fact says that threads run a loop header at most 8 times per entry. If a thread runs it 9 times,
//! the audit reports the thread, the fact and the count. A claim that no run contradicts may still be wrong.

mod accesses;
mod claims;
mod cycles;
mod derived;
mod findings;
mod groups;
mod launch_cycles;
mod loaded;
mod loops;
mod monitor;
mod profiles;
mod replay;
mod set;
mod vary;

use std::sync::Arc;

pub use crate::audit::cycles::audit_lone_warps;
pub use crate::{
    audit::derived::derived_for_all, audit::derived::derived_for_launch,
    audit::derived::ranged_loads,
};
pub use crate::{audit::profiles::audited_profile, audit::profiles::monitor_with_profile};
use warpbound_base::{Diagnostic, Family};
use warpbound_bounds::access::access_classes;
use warpbound_bounds::cycles::untouched_memory;
use warpbound_ipet::Never;
use warpbound_launch::LaunchFile;
use warpbound_launch::{GlobalMemory, Size};
use warpbound_load::Kernel;
use warpbound_report::KernelBound;
use warpbound_report::audit::{AuditFault, AuditReport};
use warpbound_simulate::functional::{SingleWarp, launch_monitored, launch_single_warp};

use warpbound_analyse::LaunchContext;
use warpbound_bounds::facts::accesses::stated_accesses;
use warpbound_bounds::{CycleOptions, bound_of, bound_of_parts};
use warpbound_query::prepared::Prepared;
use warpbound_query::{
    AnalysedKernel, BoundOptions, CycleQuery, FactReading, KernelAnalysis, KernelFlow, Session,
    StatedLaunches,
};
use warpbound_runs::runs::functional::{MAX_INSTRUCTIONS, fault_diagnostic};

pub use accesses::ObservedAccess;
pub use claims::{Claim, ClaimPoint, Claims, Point, Violation};
pub use cycles::{ExceededBound, LoneWarpAudit, LoneWarpRuns, LongestLoneRun};
pub use derived::derived_for;
pub use derived::{BrokenDerivation, DerivedClaims, DerivedPart};
use findings::Audit;
pub use launch_cycles::audit_launch_time;
pub use launch_cycles::{ExceededLaunch, LaunchTimeAudit, LaunchTimeRuns};
pub use loops::{HeaderCount, HeaderMaximum, LoopCounter};
pub use monitor::{AuditObservations, ClaimMonitor, WarpId, WorstWarp};
pub use profiles::ProfiledWarps;
pub use replay::{RecordedRun, ReplayDifference, TraceRecorder, record_warp};
pub use set::audit_set;
pub use vary::{Variation, extreme_variation, variation};
pub use warpbound_cycles::ServiceOrder;
pub use warpbound_launch::PathOrder;

/// Maximum number of findings in a report, and of distinct faults.
const MAX_SHOWN: usize = 20;

/// Upper bound on the length of a varied run, as a multiple of the instructions of the given launch. Loops may not
/// terminate on random contents.
const MAX_LENGTH_RATIO: u64 = 16;

/// Runs of an audit.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// Number of runs: the launch as given, then variations of it.
    pub runs: u64,
    /// Seed of the variations.
    pub seed: u64,
    /// Limit of the warp instructions of the first run.
    pub max_instructions: Option<u64>,
    /// Machine and caches of the timed runs of single warps; `None` for an audit without timed runs.
    pub cycles: Option<CycleQuery>,
}

impl Default for AuditOptions {
    fn default() -> AuditOptions {
        AuditOptions {
            runs: 1,
            seed: 1,
            max_instructions: None,
            cycles: None,
        }
    }
}

impl AuditOptions {
    /// Returns the seed of the variation of a run.
    fn seed_of(&self, run: u64) -> u64 {
        // Seed in the high word, run in the low word: pairs of numbers below 2³² do not collide.
        self.seed.wrapping_mul(1 << 32) ^ run
    }
}

/// Result of a monitored run.
#[derive(Clone, Debug)]
pub struct MonitoredRun {
    /// Observations up to the end or the fault.
    pub observations: AuditObservations,
    /// Fault that ended the run, with its location in the kernel.
    pub fault: Option<Diagnostic>,
    /// Global memory at the end or the fault.
    pub memory: GlobalMemory,
}

/// Facts that the user states about loops, and the bound that follows from them.
#[derive(Clone, Debug, Default)]
pub struct StatedFacts {
    /// Bound of each loop, in the order of [`warpbound_analyse::loops::Loops::sites`]: header executions of a thread
    /// per entry.
    pub loops: Vec<Option<u64>>,
    /// Total of each loop: header executions of a thread in its whole run.
    pub totals: Vec<Option<u64>>,
    /// Bound of the instructions that a warp issues.
    pub bound: Option<u128>,
}

/// Statement that a run violates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BrokenStatement {
    /// A thread executed a loop header more often per entry than stated.
    Fact {
        /// Number of the loop.
        number: usize,
        /// Stated number.
        stated: u64,
        /// Observation that contradicts it.
        most: HeaderMaximum,
    },
    /// A thread executed a loop header more often in its whole run than stated.
    Total {
        /// Number of the loop.
        number: usize,
        /// Stated number.
        stated: u64,
        /// Observation that contradicts it.
        most: HeaderMaximum,
    },
    /// A thread executed code that the user excluded.
    Never {
        /// Number of the statement.
        number: usize,
        /// First thread that executed it.
        thread: HeaderMaximum,
    },
    /// A warp issued more instructions than the bound, although no fact is violated.
    Bound {
        /// The bound.
        bound: u128,
        /// Observation that contradicts it.
        worst: WorstWarp,
    },
}

impl StatedFacts {
    /// Returns the statements that a run violates. The bound holds under the facts, so it is compared only if none of
    /// them is violated.
    pub fn violated(&self, seen: &AuditObservations) -> Vec<BrokenStatement> {
        let pairs = self.loops.iter().zip(&seen.max_per_entry).enumerate();
        let facts = pairs.filter_map(|(number, (stated, most))| {
            let (stated, most) = ((*stated)?, (*most)?);
            // A bound per entry that the stated total implies is reported as a violation of the total only. Otherwise
            // one wrong fact would count as two findings.
            let total = |totals: &[Option<u64>]| totals.get(number).copied().flatten();
            let all = seen.max_totals.get(number).copied().flatten();
            let follows = total(&self.totals)
                .zip(all)
                .is_some_and(|(total, all)| stated >= total && all.count > total);
            (most.count > stated && !follows).then_some(BrokenStatement::Fact {
                number,
                stated,
                most,
            })
        });
        let totals = self.totals.iter().zip(&seen.max_totals).enumerate();
        let totals = totals.filter_map(|(number, (stated, most))| {
            let (stated, most) = ((*stated)?, (*most)?);
            (most.count > stated).then_some(BrokenStatement::Total {
                number,
                stated,
                most,
            })
        });
        let happened = seen.executed_never.iter().enumerate();
        let happened = happened.filter_map(|(number, thread)| {
            Some(BrokenStatement::Never {
                number,
                thread: (*thread)?,
            })
        });
        let mut broken: Vec<BrokenStatement> = facts.chain(totals).chain(happened).collect();
        if let (true, Some(bound), Some(worst)) = (broken.is_empty(), self.bound, seen.worst)
            && u128::from(worst.issued) > bound
        {
            broken.push(BrokenStatement::Bound { bound, worst });
        }
        broken
    }
}

/// Computes the claims of the analyses about the warps of a kernel.
///
/// # Errors
///
/// The analyses refuse the kernel, or the block does not suit it.
pub fn claims<'a>(
    session: &Session,
    prepared: &'a Prepared<'_>,
    options: &BoundOptions,
) -> Result<Claims<'a>, Diagnostic> {
    let launch = options
        .launch(prepared.kernel, session.image.isa())
        .map_err(|d| session.locate(d))?;
    let flow = session.flow(prepared, &launch, options)?;
    Ok(claims_of_flow(prepared, options, launch, flow))
}

/// Executes all blocks of a grid and compares each step of their warps with the claims.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn monitor(
    session: &Session,
    prepared: &Prepared<'_>,
    claims: &Claims<'_>,
    grid: &LaunchFile,
    order: PathOrder,
    max_instructions: u64,
) -> Result<MonitoredRun, Diagnostic> {
    let (run, mut memory) = session.bind(prepared, grid, order, max_instructions)?;
    let mut monitor = ClaimMonitor::new(claims);
    let done = launch_monitored(&prepared.code, &run, &mut memory, &mut monitor);
    Ok(MonitoredRun {
        observations: monitor.finish(),
        fault: done.err().map(|fault| fault_diagnostic(prepared, &fault)),
        memory,
    })
}

/// Executes one warp of a grid alone and compares its steps with the claims.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn monitor_single_warp(
    session: &Session,
    prepared: &Prepared<'_>,
    claims: &Claims<'_>,
    grid: &LaunchFile,
    only: SingleWarp,
    order: PathOrder,
    max_instructions: u64,
) -> Result<MonitoredRun, Diagnostic> {
    let (run, mut memory) = session.bind(prepared, grid, order, max_instructions)?;
    let mut monitor = ClaimMonitor::new(claims);
    let done = launch_single_warp(&prepared.code, &run, only, &mut memory, &mut monitor);
    Ok(MonitoredRun {
        observations: monitor.finish(),
        fault: done.err().map(|fault| fault_diagnostic(prepared, &fault)),
        memory,
    })
}

/// Executes a launch and variations of it, and compares them with all claims and statements. `on_run` receives the
/// number of each completed run.
///
/// # Errors
///
/// The launch does not suit the kernel, or the facts contradict each other.
pub fn audit(
    session: &Session,
    kernel: &Kernel,
    grid: &LaunchFile,
    options: &BoundOptions,
    runs: &AuditOptions,
    mut on_run: impl FnMut(u64),
) -> Result<AuditReport, Diagnostic> {
    let prepared = prepare_audited(session, kernel)?;
    let mut basis = audit_basis(session, &prepared, grid, options)?;
    // A refused kernel has no claims to compare a run with; the report states the refusal.
    let Some((context, flow)) = basis.flow.take() else {
        return Ok(basis.report);
    };
    let mut audited = audited_kernel(session, &prepared, context, flow, &mut basis, runs)?;
    for number in 1..=runs.runs {
        match number {
            1 => audited.run(number, grid, PathOrder::TakenFirst)?,
            _ => {
                let varied = vary::variation(grid, runs.seed_of(number));
                audited.run(number, &varied.launch, varied.order)?
            }
        };
        on_run(number);
    }
    audited.audit.finish();
    Ok(basis.report)
}

/// Decodes and lifts a kernel that is to be audited.
///
/// # Errors
///
/// The kernel is mini-SIMT, or cannot be lifted.
fn prepare_audited<'a>(
    session: &'a Session,
    kernel: &'a Kernel,
) -> Result<Arc<Prepared<'a>>, Diagnostic> {
    let prepared = session.prepare_run(kernel)?;
    if prepared.family() == Family::MiniSimt {
        let message = Diagnostic::new("only GPU kernels are audited, this one is mini-SIMT");
        return Err(session.locate(message.in_kernel(kernel.demangled())));
    }
    Ok(Arc::new(prepared))
}

/// Analyses a kernel for launches with the block size of `grid`.
///
/// # Errors
///
/// The launch does not suit the kernel, or the facts contradict each other.
fn audit_basis(
    session: &Session,
    prepared: &Arc<Prepared<'_>>,
    grid: &LaunchFile,
    options: &BoundOptions,
) -> Result<AuditBasis, Diagnostic> {
    let kernel = prepared.kernel;
    let options = BoundOptions {
        block: Some(grid.block),
        ..options.clone()
    };
    // Only to check that the launch suits the kernel.
    session.bind(prepared, grid, PathOrder::default(), 0)?;
    // Bound and claims are about the same control flow, unless facts are about the loops of the warp-level graph: claims
    // about threads are not.
    let of_threads = BoundOptions {
        reading: FactReading::Simt,
        ..options.clone()
    };
    let analysis = KernelAnalysis::new(session, Arc::clone(prepared), &of_threads)?;
    let bound = match options.reading {
        FactReading::Simt => bound_of(&analysis)?,
        FactReading::Paper => bound_of(&KernelAnalysis::new(
            session,
            Arc::clone(prepared),
            &options,
        )?)?,
    };
    let bound = match (bound.verdict.bound(), analysis.parts()) {
        (None, Ok(analysed)) => bound_of_launches(analysed, grid, &options)?.unwrap_or(bound),
        _ => bound,
    };
    let mut report = empty_report(session, kernel, grid, &bound);
    let flow = match analysis.into_flow() {
        Ok(flow) => Some(flow),
        Err(refusal) => {
            let why = session.refusal_diagnostic(prepared, refusal);
            report.refused = Some(why.to_string());
            None
        }
    };
    Ok(AuditBasis {
        options,
        bound,
        flow,
        report,
    })
}

/// Bounds a kernel by the counts that follow from the sizes and parameters of its launches. All runs of an audit
/// share these counts, whatever their buffers hold. `None` if they give no bound either.
///
/// # Errors
///
/// The launch does not suit the kernel.
fn bound_of_launches(
    analysed: AnalysedKernel<'_>,
    grid: &LaunchFile,
    options: &BoundOptions,
) -> Result<Option<KernelBound>, Diagnostic> {
    if options.reading == FactReading::Paper || !options.launches.is_empty() {
        return Ok(None);
    }
    let options = BoundOptions {
        launches: StatedLaunches {
            // Parameters that vary keep their ranges, because the variations of the audit draw new values for them.
            file: Some(Arc::new(grid.clone())),
            ..StatedLaunches::default()
        },
        ..options.clone()
    };
    let knowledge = analysed
        .session
        .launch(analysed.prepared.kernel, &options)?;
    let bound = bound_of_parts(AnalysedKernel {
        options: &options,
        knowledge: &knowledge,
        ..analysed
    })?;
    Ok(bound.verdict.bound().map(|_| bound))
}

/// Prepares the runs of a kernel.
///
/// # Errors
///
/// The kernel requires a block size that no launch can have, or no machine is known for its code.
fn audited_kernel<'a>(
    session: &'a Session,
    prepared: &'a Prepared<'a>,
    launch: LaunchContext,
    flow: KernelFlow,
    basis: &'a mut AuditBasis,
    runs: &'a AuditOptions,
) -> Result<AuditedKernel<'a>, Diagnostic> {
    let AuditBasis {
        options,
        bound,
        report,
        flow: _,
    } = basis;
    let mut claims = claims_of_flow(prepared, options, launch, flow);
    claims.stated_accesses = stated_accesses(prepared, &options.facts)?;
    let derived_for_all = derived_for_all(session, prepared, &claims.flow)?;
    let cycles = runs.cycles.as_ref();
    Ok(AuditedKernel {
        session,
        prepared,
        options,
        runs,
        cycles: cycles
            .map(|query| CycleOptions::of(query, session))
            .transpose()?,
        audit: Audit::new(prepared, bound, derived_for_all, report),
        claims,
        limit: runs.max_instructions.unwrap_or(MAX_INSTRUCTIONS),
        varied_limit: 0,
    })
}

/// Returns the report of an audit before its first run.
fn empty_report(
    session: &Session,
    kernel: &Kernel,
    grid: &LaunchFile,
    bound: &KernelBound,
) -> AuditReport {
    AuditReport {
        schema: AuditReport::SCHEMA,
        file: session.file.clone(),
        kernel: kernel.demangled(),
        grid: grid.grid,
        block: grid.block,
        refused: None,
        runs: 0,
        faulted: 0,
        given_faulted: false,
        warp_instructions: 0,
        warps: 0,
        violations: 0,
        findings: Vec::new(),
        worst_simulated: None,
        worst_at: None,
        bound: bound.verdict.bound(),
        no_bound: bound.verdict.reason().map(str::to_owned),
        ratio: None,
        profiled: 0,
        loops: Vec::new(),
        accesses: Vec::new(),
        faults: Vec::new(),
        cycles: None,
    }
}

/// Analyses of a kernel for launches with one block size, and the report of its runs.
struct AuditBasis {
    /// Options, including the block size.
    options: BoundOptions,
    bound: KernelBound,
    /// Control flow; `None` if the analyses refuse the kernel. The report then states the reason.
    flow: Option<(LaunchContext, KernelFlow)>,
    report: AuditReport,
}

/// Kernel whose launches are run and compared with the claims.
struct AuditedKernel<'a> {
    session: &'a Session,
    prepared: &'a Prepared<'a>,
    options: &'a BoundOptions,
    runs: &'a AuditOptions,
    /// Options of the timed runs of single warps; `None` for an audit without them.
    cycles: Option<CycleOptions>,
    claims: Claims<'a>,
    audit: Audit<'a>,
    /// Limit of the warp instructions of a launch as given.
    limit: u64,
    /// Limit of the warp instructions of a varied launch.
    varied_limit: u64,
}

impl AuditedKernel<'_> {
    /// Executes a launch, compares it with the claims, and adds it to the report. Run 1 is the launch as given.
    /// Returns the warp instructions of the launch, the instructions of its worst warp, and the memory at the end
    /// unless the run faulted.
    ///
    /// # Errors
    ///
    /// The launch does not suit the kernel.
    fn run(
        &mut self,
        number: u64,
        launch: &LaunchFile,
        order: PathOrder,
    ) -> Result<AuditedRun, Diagnostic> {
        let (session, prepared) = (self.session, self.prepared);
        let flow = &self.claims.flow;
        // Classes, derived counts and stated ranges depend on the parameters of this launch, so each run has its own.
        let accesses = access_classes(session, prepared, flow, launch)?;
        let derived = derived_for_launch(session, prepared, flow, launch)?;
        let loaded = ranged_loads(session, prepared, flow, launch)?;
        self.claims.accesses = accesses;
        self.claims.loaded = loaded;
        self.claims.runtime_memory = untouched_memory(session, prepared, flow, launch)?;
        let claims = &self.claims;
        let (mut run, limit) = match number {
            1 => {
                let stated = &self.audit.stated;
                let profile = audited_profile(&prepared.code, &claims.flow, stated, self.options);
                let (run, warps) = monitor_with_profile(
                    session, prepared, claims, launch, order, self.limit, &profile,
                )?;
                self.audit.add_profiled(number, &run, warps);
                // The constant leaves room for the variations of a launch that issues only a few instructions, such
                // as one whose loops are skipped with the given contents.
                let longer = run.observations.issued.saturating_add(1000);
                let longest = self.limit.min(longer.saturating_mul(MAX_LENGTH_RATIO));
                // A set may run a kernel several times in run 1, so the longest of these runs decides.
                self.varied_limit = self.varied_limit.max(longest);
                (run, longest)
            }
            _ => {
                let limit = self.varied_limit;
                let run = monitor(session, prepared, claims, launch, order, limit)?;
                (run, limit)
            }
        };
        self.audit.add_derived(number, &run, &derived);
        let audited = AuditedRun {
            issued: run.observations.issued,
            worst: run.observations.worst.map(|worst| worst.issued),
            memory: match run.fault {
                None => Some(std::mem::take(&mut run.memory)),
                // Memory at a fault is incomplete: a later launch of a set must not start from it.
                Some(_) => None,
            },
        };
        self.audit.add(number, run);
        if let Some(cycles) = &self.cycles {
            let lone = LoneWarpRuns::of_audit(cycles, self.runs.seed, number, limit);
            let found = audit_lone_warps(session, prepared, claims, launch, &lone)?;
            self.audit.add_cycles(number, cycles, found);
        }
        Ok(audited)
    }
}

/// Numbers and memory of an audited run.
struct AuditedRun {
    /// Warp instructions.
    issued: u64,
    /// Instructions of the worst warp that ended.
    worst: Option<u64>,
    /// Memory at the end; `None` after a fault.
    memory: Option<GlobalMemory>,
}

/// Returns the claims of `flow`, with the user's `never` statements.
pub(crate) fn claims_of_flow<'a>(
    prepared: &'a Prepared<'_>,
    options: &BoundOptions,
    launch: LaunchContext,
    flow: KernelFlow,
) -> Claims<'a> {
    let kernel = prepared.kernel;
    let names = [&*kernel.name, &kernel.demangled()];
    let facts = options.facts.find(names, &kernel.code_digest());
    let never: Vec<Never> = facts.map_or(Vec::new(), |facts| facts.never().collect());
    Claims::new(&prepared.code, launch, flow).with_never(&never)
}

fn index_text([x, y, z]: Size) -> String {
    format!("({x}, {y}, {z})")
}

fn warp_text(warp: WarpId) -> String {
    format!("warp {} of block {}", warp.warp, index_text(warp.block))
}
