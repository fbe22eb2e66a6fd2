//! Bound of the cycles of a warp that runs alone, and its report.
//!
//! The costs of steps come from vectors of times (SOUNDNESS 11.5), and an integer program adds them along the worst
//! path. For example, if a step costs 30 cycles and is taken 10 times on that path, it adds 300. Costs that are paid
//! once, refreshes and the launch are added to the sum.

use std::collections::BTreeMap;

use crate::cycles::TimedSubject;
use crate::cycles::inputs::cycle_inputs;
use warpbound_base::{Cycles, Diagnostic};
use warpbound_cycles::{
    KeepingCache, KernelTime, MILLI, MachineNumbers, NodeVectors, PathTime, Term, WaveSplits,
};
use warpbound_ipet::{Delays, Effort, Ipet, StatedCounts, Verdict, WarpBound};
use warpbound_isa::Program;
use warpbound_machine::Parameter;
use warpbound_report::BoundAssumption;
use warpbound_report::cycle_bound::{CycleBoundReport, CycleTerm, LineCycles};
use warpbound_report::terms::MachineTerms;
use warpbound_simt::NodeId;
use warpbound_simt::counts::CountSystem;
use warpbound_simulate::timed::{SplitPipelines, SplitSetup};

use super::clock::{slowest, times};
use super::launch_rows::counts_of_launch;
use super::split_bound::SplitProgram;
use super::{CacheState, CycleInputs, CycleOptions};
use crate::access::TimedFindings;
use warpbound_query::prepared::Prepared;
use warpbound_query::{AnalysedKernel, KernelFlow};
use warpbound_runs::runs::timed::splitting::SplitPlan;

/// Maximum number of solutions of the integer program. Each uses vectors that suit the path before.
const MOST_ROUNDS: usize = 4;

/// Number of steps from which the integer program is solved only once, because a solution takes most of the time of
/// such kernels.
const MANY_STEPS: usize = 400;

/// Bound of the cycles of a lone warp, with the terms of its sum.
#[derive(Clone, Debug)]
pub struct CycleBound {
    /// Bound of the launch.
    pub bound: WarpBound<Cycles>,
    /// Thousandths of cycles by term, in the order of [`Term::ALL`]; they add up to the bound.
    pub terms: [i128; Term::ALL.len()],
    /// Thousandths of cycles by instruction.
    pub instructions: Vec<f64>,
}

impl CycleBound {
    /// Returns the names of the terms of the sum and their cycles.
    pub fn term_cycles(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        terms(self).into_iter().map(|term| (term.name, term.cycles))
    }

    /// Returns the bound without the overhead of the launch.
    pub fn net(&self) -> u64 {
        let launch = self.terms[Term::Launch as usize] / i128::from(MILLI);
        let launch = u64::try_from(launch).unwrap_or(0);
        self.bound.upper_bound().limit().0.saturating_sub(launch)
    }
}

/// Bounds of one kernel and launch for different flow facts.
pub struct LoneWarp<'a> {
    flow: &'a KernelFlow,
    /// Count rows of the kernel, and of the launch.
    counts: CountSystem,
    /// Names of the buffers whose contents the counts rest on.
    pub(crate) read: Vec<String>,
    /// Reason why the warps of the launch were not executed, if they were to be.
    pub(crate) not_executed: Option<String>,
    inputs: CycleInputs,
    numbers: MachineNumbers,
}

impl<'a> LoneWarp<'a> {
    /// Collects the inputs of the time of the kernel, other than flow facts. The options of `analysed` have the launch, which is
    /// executed with `loop_bounds` ([`TimedFindings::find`]).
    ///
    /// # Errors
    ///
    /// The reason why the time of the kernel is not known.
    pub fn new(
        analysed: AnalysedKernel<'a>,
        cycles: &CycleOptions,
        loop_bounds: &[Option<u64>],
    ) -> Result<LoneWarp<'a>, Diagnostic> {
        let AnalysedKernel {
            session,
            prepared,
            knowledge,
            flow,
            ..
        } = analysed;
        let numbers = MachineNumbers::of_ranges(&cycles.machine)?;
        let found = TimedFindings::find(analysed, cycles.counts, loop_bounds)?;
        let mut inputs = cycle_inputs(&TimedSubject {
            session,
            prepared,
            flow,
            classes: &found.classes,
            numbers: &numbers,
            caches: cycles.caches,
            launch: analysed.options.launches.shaped_file(),
            residents: None,
        })?;
        match &prepared.program {
            Program::Amd(program) => {
                let plan = SplitPlan::new(
                    session,
                    prepared,
                    program,
                    &cycles.splitting,
                    knowledge.context.block,
                )?;
                if plan.setup.splits > 0 && !plan.setup.sites.is_empty() {
                    inputs.split(wave_splits(&plan.setup));
                }
            }
            _ if cycles.splitting.splits > 0 => {
                return Err(Diagnostic::new("--splits is for waves of GCN3"));
            }
            _ => {}
        }
        Ok(LoneWarp {
            flow,
            counts: counts_of_launch(flow, found.of_warp()),
            read: found.read,
            not_executed: found.not_executed,
            inputs,
            numbers,
        })
    }

    /// Changes the inputs, for tests that plant a fault.
    pub fn change(&mut self, change: impl FnOnce(&mut CycleInputs)) {
        change(&mut self.inputs);
    }

    /// Computes the bound for stated facts. This is the smaller of two bounds: one where each load in a loop misses,
    /// and one where each sector of the buffers misses once.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    pub fn bound(
        &self,
        stated: StatedCounts<'_>,
        effort: Effort,
    ) -> Result<CycleBound, Diagnostic> {
        let of =
            |inputs: &CycleInputs| cycle_bound(&self.counts, inputs, &self.numbers, stated, effort);
        if self.inputs.splits.is_some() {
            let program = SplitProgram {
                flow: self.flow,
                inputs: &self.inputs,
                numbers: &self.numbers,
                stated,
                effort,
            };
            // A wave that may split has no sectors that are counted once, so there is one bound
            // (`CycleInputs::split`).
            return of(&CycleInputs {
                sibling_delay: program.delay()?,
                ..self.inputs.clone()
            });
        }
        let mut least = of(&self.inputs)?;
        let limit = |bound: &CycleBound| bound.bound.upper_bound().limit();
        for cache in KeepingCache::ALL {
            let Some(inputs) = self.inputs.with_counted_sectors(cache) else {
                continue;
            };
            let counted = of(&inputs)?;
            if limit(&counted) < limit(&least) {
                least = counted;
            }
        }
        Ok(least)
    }
}

/// Returns the part of a splitting that the time of a wave depends on.
fn wave_splits(splitting: &SplitSetup) -> WaveSplits {
    let merge_points = splitting.sites.values().map(|site| site.merge_point);
    let merge_points = merge_points.filter(|_| splitting.merge);
    // One site without a merge point may leave two splits apart until the end.
    let all_merge = splitting.merge && merge_points.clone().all(|point| point.is_some());
    WaveSplits {
        splits: splitting.splits,
        serialised: splitting.pipelines == SplitPipelines::Serialised,
        sites: splitting.sites.keys().copied().collect(),
        merge_points: merge_points.flatten().collect(),
        all_merge,
    }
}

/// Computes the bound of a kernel with these count rows. The error is the reason why the kernel has none.
pub(crate) fn cycle_bound(
    counts: &CountSystem,
    inputs: &CycleInputs,
    numbers: &MachineNumbers,
    stated: StatedCounts<'_>,
    effort: Effort,
) -> Result<CycleBound, Diagnostic> {
    bound_with_vectors(counts, inputs, numbers, stated, effort).map(|(bound, _)| bound)
}

/// Computes the bound of a kernel as `cycle_bound` does. Also returns the vectors that it was computed with.
pub fn bound_with_vectors(
    counts: &CountSystem,
    inputs: &CycleInputs,
    numbers: &MachineNumbers,
    stated: StatedCounts<'_>,
    effort: Effort,
) -> Result<(CycleBound, NodeVectors), Diagnostic> {
    let kernel = inputs.kernel();
    let mut time = KernelTime::new(&kernel, numbers);
    let delays = delays(inputs, numbers)?;
    let mut best: Option<(CycleBound, NodeVectors)> = None;
    let rounds = match inputs.steps.len() < MANY_STEPS {
        true => MOST_ROUNDS,
        false => 1,
    };
    // Any vectors give a bound (SOUNDNESS 11.5), so the smallest one of all rounds is taken.
    for _ in 0..rounds {
        let costs = time.costs();
        let solved = solve(counts, inputs, &costs, stated, effort)?;
        let taken = step_counts(inputs, &solved);
        let executions = |node| executions(counts, &solved, node);
        let found = account(&solved, &costs, &taken, executions, delays, numbers)?;
        let found = CycleBound {
            instructions: time.instructions(&taken),
            ..found
        };
        let is_better = best.as_ref().is_none_or(|(best, _)| {
            found.bound.upper_bound().limit() < best.bound.upper_bound().limit()
        });
        if is_better {
            best = Some((found, time.vectors()));
        }
        if !is_better || !time.improve(&taken) {
            break;
        }
    }
    best.ok_or_else(|| Diagnostic::new("no bound was computed"))
}

/// Times that are added to the times of the steps.
pub fn delays(inputs: &CycleInputs, numbers: &MachineNumbers) -> Result<Delays, Diagnostic> {
    // Long refreshes after short intervals delay most.
    let refresh = numbers.range(Parameter::DramRefresh).1;
    let interval = numbers.range(Parameter::DramRefreshInterval).0;
    let interrupts = inputs.reaches_dram && refresh > 0;
    // Refreshes would take all of the time, so the inequality of SOUNDNESS 11.4 has no largest solution T.
    if interrupts && refresh >= interval {
        return Err(Diagnostic::new(format!(
            "dram.refresh of {refresh} cycles leaves no time in an interval of {interval}"
        )));
    }
    Ok(Delays {
        before: numbers.range(Parameter::LaunchKernel).1.into(),
        once: inputs.sibling_delay.into(),
        interruptions: interrupts.then_some((interval.into(), refresh.into())),
    })
}

/// Solves the integer program with the costs of the steps.
pub(super) fn solve(
    counts: &CountSystem,
    inputs: &CycleInputs,
    costs: &PathTime,
    stated: StatedCounts<'_>,
    effort: Effort,
) -> Result<WarpBound<Cycles>, Diagnostic> {
    let steps = inputs.variables.iter().zip(&costs.steps);
    let steps = steps.filter_map(|(var, cost)| Some((*var, cost.as_ref()?.cycles)));
    let by_variable: BTreeMap<_, u64> = steps.collect();
    let start = counts.variables.iter();
    let start =
        start.map(|counted| matches!(counted, warpbound_simt::counts::CountKind::WarpStart));
    let starts: Vec<bool> = start.collect();
    // A step without a cost is never taken, and thread steps cost nothing: each execution is paid for by a step of
    // the warp.
    let cost = |var: warpbound_simt::counts::CountVar| match starts.get(var.0) {
        Some(true) => Some(Cycles(costs.start.cycles)),
        _ => by_variable.get(&var).copied().map(Cycles),
    };
    let too_large = |_| Diagnostic::new("the costs of the steps are too large to compute with");
    let mut ipet = Ipet::with_step_costs(counts, cost, stated).map_err(too_large)?;
    // These are extra variables, because a path pays for each of them as often as it needs it, but no more often than
    // it can happen.
    for once in &costs.once {
        let nodes = once.nodes.iter();
        let nodes: Vec<_> = nodes
            .map(|&(node, times)| (NodeId(node as u32), times))
            .collect();
        let (label, cost) = (once.term.name(), Cycles(once.cycles));
        ipet.add_limited_cost(counts, label, cost, once.most, &nodes)
            .map_err(too_large)?;
    }
    match ipet.solve(effort) {
        Ok(Verdict::Bounded(bound)) => Ok(bound),
        Ok(Verdict::Unbounded { missing_bounds }) => Err(Diagnostic::new(match missing_bounds {
            0 => "the count rows leave a count without limit".to_owned(),
            1 => "1 loop has no bound".to_owned(),
            n => format!("{n} loops have no bound"),
        })),
        Ok(Verdict::Refused(why)) => Err(why),
        Err(_) => Err(Diagnostic::new("the facts contradict each other")),
    }
}

/// Returns the counts of the steps on the worst path; 0 if no worst path is known.
fn step_counts(inputs: &CycleInputs, solved: &WarpBound<Cycles>) -> Vec<u128> {
    let path = solved.worst_path();
    let count = |var| path.map_or(0, |path| path.count(var));
    inputs.variables.iter().map(|&var| count(var)).collect()
}

/// Executions of a node on the worst path.
fn executions(counts: &CountSystem, solved: &WarpBound<Cycles>, node: usize) -> u128 {
    let arriving = counts.executions.get(&NodeId(node as u32));
    let count = |var| solved.worst_path().map_or(0, |path| path.count(var));
    arriving.into_iter().flatten().map(|&var| count(var)).sum()
}

/// Adds the delays, and divides the bound into terms.
fn account(
    solved: &WarpBound<Cycles>,
    costs: &PathTime,
    counts: &[u128],
    executions: impl Fn(usize) -> u128,
    delays: Delays,
    numbers: &MachineNumbers,
) -> Result<CycleBound, Diagnostic> {
    let milli = |cycles: u64| i128::from(cycles) * i128::from(MILLI);
    let mut terms = [0i128; Term::ALL.len()];
    if solved.worst_path().is_some() {
        for (term, own) in terms.iter_mut().zip(costs.start.terms) {
            *term += i128::from(own);
        }
        for (cost, &count) in costs.steps.iter().zip(counts) {
            // Terms are for the report, and no bound rests on them.
            let count = i128::try_from(count).unwrap_or(i128::MAX);
            for (term, own) in terms
                .iter_mut()
                .zip(cost.iter().flat_map(|cost| cost.terms))
            {
                *term = term.saturating_add(i128::from(own).saturating_mul(count));
            }
        }
    }
    if solved.worst_path().is_some() {
        for once in &costs.once {
            let times = i128::try_from(once.times(&executions)).unwrap_or(i128::MAX);
            terms[once.term as usize] += milli(once.cycles).saturating_mul(times);
        }
    }
    let launch = numbers.range(Parameter::LaunchKernel).1;
    terms[Term::Launch as usize] += milli(launch);
    if solved.worst_path().is_some() {
        // The step that ends the path contains these cycles in its issue term. A path has one such step.
        let end = milli(numbers.slow(Parameter::LaunchEnd));
        terms[Term::Launch as usize] += end;
        terms[Term::Issue as usize] -= end;
    }
    terms[Term::Siblings as usize] += i128::try_from(delays.once)
        .unwrap_or(i128::MAX)
        .saturating_mul(MILLI.into());
    let without = Delays {
        interruptions: None,
        ..delays
    };
    let too_large = || Diagnostic::new("the bound of a warp has more than 64 bits");
    let uninterrupted = solved.clone().delayed(without).ok_or_else(too_large)?;
    let bound = solved.clone().delayed(delays).ok_or_else(too_large)?;
    let limit = |bound: &WarpBound<Cycles>| bound.upper_bound().limit().0;
    terms[Term::Refresh as usize] += milli(limit(&bound) - limit(&uninterrupted));
    // The bound comes from the relaxation, which may exceed the worst known path. The terms have to add up to the
    // bound.
    let known: i128 = terms.iter().sum();
    terms[Term::Dependencies as usize] += milli(limit(&bound)) - known;
    Ok(CycleBound {
        bound,
        terms,
        instructions: Vec::new(),
    })
}

/// Returns the report of the bound of a kernel, or of the reason why it has none.
pub(crate) fn report(
    prepared: &Prepared<'_>,
    options: &CycleOptions,
    bound: Result<&CycleBound, &Diagnostic>,
    assumptions: Vec<BoundAssumption>,
) -> CycleBoundReport {
    let limit = bound.ok().map(|bound| bound.bound.upper_bound().limit().0);
    let times = limit.map_or(Vec::new(), |cycles| times(&options.machine, cycles));
    CycleBoundReport {
        scope: MachineTerms::of(prepared.family()).warp,
        bound: limit,
        reason: bound.err().map(reason),
        milliseconds: slowest(&times),
        times,
        machine: Some(options.machine.name.clone()),
        numbers: options.unpublished(),
        schedulers: "any",
        launch: None,
        estimate: None,
        no_estimate: None,
        not_executed: None,
        caches: warpbound_base::Named::name(options.caches),
        terms: bound.map_or(Vec::new(), terms),
        lines: bound.map_or(Vec::new(), |bound| {
            let milli = bound.instructions.iter();
            lines(prepared, milli.map(|milli| milli / MILLI as f64))
        }),
        assumptions,
    }
}

/// Returns the reason why there is no bound as one clause.
pub(super) fn reason(why: &Diagnostic) -> String {
    let at = why.location.position.as_ref();
    let at = at.map_or(String::new(), |at| format!("{at}: "));
    let hint = why.hint.as_ref();
    let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
    format!("{at}{}{hint}", why.message)
}

/// Returns the report for code without a machine.
pub(crate) fn report_without_machine(caches: CacheState, why: &Diagnostic) -> CycleBoundReport {
    CycleBoundReport {
        scope: "warp",
        bound: None,
        reason: Some(reason(why)),
        milliseconds: None,
        times: Vec::new(),
        machine: None,
        schedulers: "any",
        launch: None,
        estimate: None,
        no_estimate: None,
        not_executed: None,
        caches: warpbound_base::Named::name(caches),
        terms: Vec::new(),
        lines: Vec::new(),
        numbers: Vec::new(),
        assumptions: Vec::new(),
    }
}

/// Returns the terms in whole cycles. The largest one gets what rounding leaves over. For example, two terms of 1.5
/// cycles become 1 and 2.
fn terms(bound: &CycleBound) -> Vec<CycleTerm> {
    let limit = i128::from(bound.bound.upper_bound().limit().0);
    let mut cycles = bound.terms.map(|milli| (milli / i128::from(MILLI)).max(0));
    let rest = limit - cycles.iter().sum::<i128>();
    if let Some(largest) = cycles.iter_mut().max_by_key(|cycles| **cycles) {
        *largest = (*largest + rest).max(0);
    }
    Term::ALL
        .iter()
        .zip(cycles)
        .filter(|(term, cycles)| {
            // Most code has neither splits nor groups.
            !matches!(term, Term::Siblings | Term::Groups) || *cycles > 0
        })
        .map(|(term, cycles)| CycleTerm {
            name: term.name(),
            cycles: u64::try_from(cycles).unwrap_or(u64::MAX),
        })
        .collect()
}

/// Returns the parts of the bound by source line, largest first, from the cycles of each operation.
pub(super) fn lines(
    prepared: &Prepared<'_>,
    instructions: impl Iterator<Item = f64>,
) -> Vec<LineCycles> {
    let mut by_line: BTreeMap<String, f64> = BTreeMap::new();
    for (op, cycles) in prepared.code.ops.iter().zip(instructions) {
        if cycles > 0.0 {
            let line = prepared.source(op.addr);
            let line = line.unwrap_or_else(|| op.addr.to_string());
            *by_line.entry(line).or_default() += cycles;
        }
    }
    let mut lines: Vec<LineCycles> = by_line
        .into_iter()
        .map(|(line, cycles)| LineCycles {
            line,
            cycles: cycles as u64,
        })
        .collect();
    // Lines of equal cost are sorted by name, so that reports do not change from run to run.
    lines.sort_by(|a, b| b.cycles.cmp(&a.cycles).then_with(|| a.line.cmp(&b.line)));
    lines
}
