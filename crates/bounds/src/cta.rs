//! Abstract CTA simulation of a launch (`abstract-cta-2014` 3), and the sound bound of its cycles.
//!
//! The simulation runs all warps of a block on one abstract warp: a list of instruction times, memory reads, barriers
//! and loops. For example, a loop that loads a word and adds it has a time, a read and another time as its body. The
//! estimate is the estimate of the paper, and a run may take longer. The bound comes from [`block`](crate::block) and
//! does not use the simulation.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::iterations::{self, StartValues};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{CodeAddr, Diagnostic, Named};
use warpbound_graph::LoopIndex;
use warpbound_ipet::abstract_warp::{self, AbstractWarp, BlockSegment, Unresolved, WarpStructure};
use warpbound_ipet::block::StallRule;
use warpbound_ipet::cta::{self, Iterations, NoEstimate};
use warpbound_ir::{ControlEffect, Meaning, OpIndex};
use warpbound_load::Kernel;
use warpbound_query::mini;
use warpbound_report::BoundAssumption;
use warpbound_report::cta::{CtaReport, CtaStepReport, ElementReport, LoopCount};
use warpbound_runs::runs::mini::launch_cells;
use warpbound_simt::NodeId;

use crate::facts::loop_line;
use crate::{block::BlockLaunch, block::BlockResult, block::HeaderBound, block::NoBlockBound};
use warpbound_query::{BoundOptions, KernelFlow, Session};
use warpbound_query::{prepared::Prepared, prepared::loop_names};
use warpbound_runs::{runs::mini::check_machine, runs::mini::check_machine_holds};

/// Computes the estimate and the bound of a launch of one block.
///
/// # Errors
///
/// The kernel is refused, or the launch or the facts do not suit it.
pub fn cta(
    session: &Session,
    kernel: &Kernel,
    launch: &mini::LaunchFile,
    machine: &mini::Machine,
    options: &BoundOptions,
) -> Result<CtaReport, Diagnostic> {
    let steps = BlockLaunch::PROFILE_STEPS;
    cta_within(session, kernel, launch, machine, options, steps)
}

/// Like [`cta`](fn@cta), with a limit of lane instructions for profiles; see [`BlockLaunch::profile_steps`].
///
/// # Errors
///
/// See [`cta`](fn@cta).
pub fn cta_within(
    session: &Session,
    kernel: &Kernel,
    launch: &mini::LaunchFile,
    machine: &mini::Machine,
    options: &BoundOptions,
    profile_steps: u64,
) -> Result<CtaReport, Diagnostic> {
    let prepared = session.prepare(kernel)?;
    let here = |diagnostic: Diagnostic| session.locate(diagnostic.in_kernel(kernel.demangled()));
    check_machine(session, &prepared).map_err(here)?;
    let cells = launch_cells(&prepared, launch)?;
    let mut block = BlockLaunch {
        code: &prepared.code,
        machine,
        threads: launch.threads,
        cells: &cells,
        loops: &BTreeMap::new(),
        profile_steps,
    };
    check_machine_holds(block.warps(), launch, machine)?;
    let analysed = block.launch();
    let model = block.model(analysed.live_lanes());
    let flow = KernelFlow::analyse(&prepared.code, &analysed, &model, &Limits::default())
        .map_err(|refusal| here(prepared.refusal_diagnostic(&refusal)))?;
    let names = loop_names(&flow.loops);
    let facts = options
        .facts
        .find([&kernel.name, &kernel.demangled()], &kernel.code_digest());
    let stated = match facts {
        Some(facts) => facts.bounds(&names)?,
        None => vec![None; names.len()],
    };
    let counts = LoopBounds::find(&block, &flow, &cells, &stated, options.loop_default);
    block.loops = &counts.bounds;
    let mut report = CtaReport {
        schema: CtaReport::SCHEMA,
        file: session.file.clone(),
        kernel: kernel.demangled(),
        machine: machine.name.clone(),
        threads: launch.threads,
        warps: block.warps(),
        warp_width: machine.warp_width,
        memory_latency: machine.memory.most.0,
        abstract_warp: Vec::new(),
        loops: Vec::new(),
        steps: Vec::new(),
        estimate: None,
        t_instr: None,
        t_stall: None,
        corrected: None,
        no_estimate: None,
        sound: None,
        sound_issues: None,
        sound_stalls: None,
        sound_rule: None,
        warp_profiles: [0; 3],
        no_sound: None,
        missing_facts: Vec::new(),
        assumptions: assumptions(launch, machine, &counts),
    };
    Estimator {
        prepared: &prepared,
        flow: &flow,
        counts: &counts,
        block: &block,
    }
    .estimate(&mut report);
    describe_bound(&prepared, block.bound(&flow), &mut report);
    if report.estimate.is_none() || report.sound.is_none() {
        for (name, site) in names.iter().zip(&flow.loops.sites) {
            if !counts.bounds.contains_key(&site.headers) {
                let line = loop_line(&prepared, name, site).format_line();
                report.missing_facts.push(line);
            }
        }
    }
    Ok(report)
}

/// Returns the assumptions of the bound (SOUNDNESS 6).
fn assumptions(
    launch: &mini::LaunchFile,
    machine: &mini::Machine,
    counts: &LoopBounds,
) -> Vec<BoundAssumption> {
    let mut all = vec![
        BoundAssumption {
            id: "machine",
            text: format!(
                "the machine is as its file says: {} for plain instructions, {} for memory reads, in cycles",
                machine.plain, machine.memory
            ),
        },
        BoundAssumption {
            id: "launch",
            text: format!(
                "{} threads with the constants of {}; the memory contents are arbitrary",
                launch.threads, launch.file
            ),
        },
        BoundAssumption {
            id: "ends",
            text: "the run ends: no fault, and no deadlock at a barrier".to_owned(),
        },
    ];
    if counts
        .sources
        .values()
        .any(|source| *source == LoopBoundSource::Facts)
    {
        all.push(BoundAssumption {
            id: "loop-facts",
            text: "the bounds of the facts file hold for every input".to_owned(),
        });
    }
    if counts
        .sources
        .values()
        .any(|source| *source == LoopBoundSource::LoopDefault)
    {
        all.push(BoundAssumption {
            id: "loop-default",
            text: "the bound of --loop-default holds for the loops without a fact".to_owned(),
        });
    }
    all
}

/// Origin of the iteration bound of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoopBoundSource {
    /// The iterations that the exit condition allows, computed from the launch.
    Predicate,
    /// A flow fact.
    Facts,
    /// The bound of all loops without a fact.
    LoopDefault,
}

impl Named for LoopBoundSource {
    const ALL: &'static [(LoopBoundSource, &'static str)] = &[
        (LoopBoundSource::Predicate, "the loop predicate"),
        (LoopBoundSource::Facts, "facts"),
        (LoopBoundSource::LoopDefault, "--loop-default"),
    ];
}

/// Iteration bounds of loops and their origins.
struct LoopBounds {
    /// Bounds by the addresses of the loop headers.
    bounds: BTreeMap<Vec<CodeAddr>, HeaderBound>,
    sources: BTreeMap<Vec<CodeAddr>, LoopBoundSource>,
    /// Exit branches of the loops whose iterations the predicate determines.
    exits: BTreeMap<Vec<CodeAddr>, OpIndex>,
}

impl LoopBounds {
    fn find(
        block: &BlockLaunch<'_>,
        flow: &KernelFlow,
        cells: &[(warpbound_ir::Cell, u32)],
        stated: &[Option<u64>],
        default: Option<u64>,
    ) -> LoopBounds {
        let dependence = flow.dependence();
        let given = StartValues {
            threads: block.threads,
            cells,
        };
        let counted = iterations::count_iterations(block.code, &flow.thread, dependence, &given);
        let width = block.machine.warp_width as usize;
        let mut by_header = BTreeMap::new();
        let mut exits = BTreeMap::new();
        for (_, counted) in counted {
            exits.insert(counted.header, counted.exit);
            // In lockstep a warp runs the header as often as the lane with the most iterations.
            let of_warp = |lanes: &[u64]| lanes.iter().copied().max().unwrap_or(0);
            let warps: Vec<u64> = counted.headers.chunks(width).map(of_warp).collect();
            // A loop occurs in several contexts; the largest count is sound for all.
            let known: &mut Vec<u64> = by_header.entry(counted.header).or_default();
            known.resize(warps.len(), 0);
            for (known, found) in known.iter_mut().zip(warps) {
                *known = (*known).max(found);
            }
        }
        let mut counts = LoopBounds {
            bounds: BTreeMap::new(),
            sources: BTreeMap::new(),
            exits: BTreeMap::new(),
        };
        for (fact, site) in flow.loops.sites.iter().enumerate() {
            let nodes: BTreeSet<NodeId> = flow
                .loops
                .loops
                .iter()
                .filter(|l| l.fact == fact)
                .flat_map(|l| l.headers.iter().copied())
                .collect();
            // One context without a count leaves the loop without a computed bound, because the bound is about all
            // contexts.
            let found: Option<Vec<&Vec<u64>>> =
                nodes.iter().map(|node| by_header.get(node)).collect();
            // A fact about a loop with several headers counts the executions of all (SOUNDNESS 5.4), which a count for
            // one of them does not bound.
            let computed = found.filter(|_| site.headers.len() == 1).map(|all| {
                let warps = block.warps();
                let most = |warp: usize| all.iter().filter_map(|c| c.get(warp)).max().copied();
                (0..warps).map(|warp| most(warp).unwrap_or(0)).collect()
            });
            let stated = stated.get(fact).copied().flatten();
            let (bound, source) = match (computed, stated, default) {
                (Some(warps), None, _) => (HeaderBound::ByWarp(warps), LoopBoundSource::Predicate),
                // Both bounds hold, so the smaller one does.
                (Some(warps), Some(stated), _) => {
                    let least = warps.into_iter().map(|n| n.min(stated)).collect();
                    (HeaderBound::ByWarp(least), LoopBoundSource::Facts)
                }
                (None, Some(stated), _) => (HeaderBound::All(stated), LoopBoundSource::Facts),
                (None, None, Some(default)) => {
                    (HeaderBound::All(default), LoopBoundSource::LoopDefault)
                }
                // The loop is reported as a missing fact.
                (None, None, None) => continue,
            };
            let exit = nodes.first().and_then(|node| exits.get(node));
            if let (Some(&exit), HeaderBound::ByWarp(_)) = (exit, &bound) {
                counts.exits.insert(site.headers.clone(), exit);
            }
            counts.bounds.insert(site.headers.clone(), bound);
            counts.sources.insert(site.headers.clone(), source);
        }
        counts
    }
}

/// Constructs the abstract warp of a kernel from the segments of its nodes.
///
/// # Errors
///
/// The node at which the structure cannot be resolved.
pub(crate) fn construct(
    flow: &KernelFlow,
    segments: impl Fn(NodeId) -> Vec<BlockSegment>,
) -> Result<AbstractWarp, Unresolved> {
    let thread = &flow.thread;
    let exits: Vec<usize> = thread
        .edges()
        .filter(|(_, step)| step.to.is_none())
        .map(|(from, _)| from.index())
        .collect();
    let segments: Vec<Vec<BlockSegment>> = thread.space.ids().map(segments).collect();
    let structure = WarpStructure {
        graph: thread.graph(),
        entry: thread.entry.index(),
        exits: &exits,
        segments: &segments,
        divergent: &|node: usize| flow.warp.divergent.contains(&NodeId(node as u32)),
    };
    AbstractWarp::construct(&structure, &flow.dependence().loops)
}

/// Inputs of the abstract CTA simulation.
struct Estimator<'a> {
    prepared: &'a Prepared<'a>,
    flow: &'a KernelFlow,
    counts: &'a LoopBounds,
    block: &'a BlockLaunch<'a>,
}

impl Estimator<'_> {
    /// Constructs the abstract warp, simulates the block and reports both.
    fn estimate(&self, report: &mut CtaReport) {
        let space = &self.flow.thread.space;
        let loops = &self.flow.dependence().loops;
        let warp = match construct(self.flow, |id| self.pieces(id)) {
            Ok(warp) => warp,
            Err(unresolved) => {
                let at = space.block(NodeId(unresolved.node as u32)).first;
                report.no_estimate = Some(format!(
                    "{}: {}",
                    self.prepared.location(at),
                    unresolved.reason
                ));
                return;
            }
        };
        let header = |index: LoopIndex| {
            let first = loops.get(index).headers.first();
            first.map(|&node| space.block(NodeId(node as u32)).first)
        };
        let loop_location =
            |index| header(index).map_or(String::new(), |op| self.prepared.location(op));
        report.abstract_warp = self.elements(&warp.elements, &loop_location);
        let mut collect_iterations = Iterations::new();
        self.iterations(&warp.elements, &header, &mut collect_iterations, report);
        let warps = self.block.warps() as u64;
        match cta::simulate(&warp, warps, report.memory_latency, &collect_iterations) {
            Ok(estimate) => {
                report.estimate = Some(estimate.cycles());
                report.t_instr = Some(estimate.instr);
                report.t_stall = Some(estimate.stall);
                report.corrected = Some(estimate.corrected());
                let top = &report.abstract_warp;
                report.steps = estimate.steps.iter().map(|s| step(s, top)).collect();
            }
            Err(NoEstimate::Unknown(index)) => {
                report.no_estimate = Some(format!(
                    "the iteration count of the loop at {} is unknown",
                    loop_location(index)
                ));
            }
            Err(NoEstimate::TooLong) => {
                report.no_estimate =
                    Some("the loops are nested too deeply to be simulated".to_owned());
            }
        }
    }

    /// Divides the instructions of a node after each memory read and barrier. Each instruction issues in one cycle.
    fn pieces(&self, id: NodeId) -> Vec<BlockSegment> {
        let time = |first: u32, last: u32| BlockSegment::Time {
            span: (first, last),
            instr: u64::from(last - first) + 1,
        };
        let mut pieces = Vec::new();
        let mut open: Option<(u32, u32)> = None;
        for at in self.flow.thread.space.block(id).ops() {
            let Some(op) = self.prepared.code.get(at) else {
                continue;
            };
            let cut = match op.meaning {
                // The end issues nothing.
                _ if op.control == ControlEffect::End => continue,
                Some(Meaning::Load { .. }) => BlockSegment::Memory(at.0),
                _ if op.barrier => BlockSegment::Barrier(at.0),
                _ => {
                    open = Some((open.map_or(at.0, |(first, _)| first), at.0));
                    continue;
                }
            };
            // A read or barrier belongs to the time before it, because the warp issues it before it waits.
            let first = open.take().map_or(at.0, |(first, _)| first);
            pieces.extend([time(first, at.0), cut]);
        }
        pieces.extend(open.map(|(first, last)| time(first, last)));
        pieces
    }

    /// Converts elements of an abstract warp to their report.
    fn elements(
        &self,
        elements: &[abstract_warp::WarpElement],
        loop_location: &dyn Fn(LoopIndex) -> String,
    ) -> Vec<ElementReport> {
        let at = |op: u32| self.prepared.location(OpIndex(op));
        elements
            .iter()
            .map(|element| match element {
                abstract_warp::WarpElement::Time { instr, shift, span } => ElementReport::Time {
                    from: at(span.0),
                    to: at(span.1),
                    instr: *instr,
                    shift: *shift,
                },
                abstract_warp::WarpElement::Memory(op) => ElementReport::Memory { at: at(*op) },
                abstract_warp::WarpElement::Barrier(op) => ElementReport::Barrier { at: at(*op) },
                abstract_warp::WarpElement::Loop { index, head, body } => ElementReport::Loop {
                    at: loop_location(*index),
                    head: self.elements(head, loop_location),
                    body: self.elements(body, loop_location),
                },
            })
            .collect()
    }

    /// Collects the iterations of the loops among `elements` by each warp.
    fn iterations(
        &self,
        elements: &[abstract_warp::WarpElement],
        header: &dyn Fn(LoopIndex) -> Option<OpIndex>,
        found: &mut Iterations,
        report: &mut CtaReport,
    ) {
        for element in elements {
            let abstract_warp::WarpElement::Loop { index, head, body } = element else {
                continue;
            };
            if let Some(op) = header(*index) {
                let key = vec![self.prepared.addr(op)];
                if let Some(bound) = self.counts.bounds.get(&key) {
                    // A loop that exits after its last instruction executes its header once per iteration; one that
                    // exits in its head, once more. A fact does not state the exit, so the head is taken, as in most
                    // loops. Only the estimate rests on this.
                    let in_head = |exit: &OpIndex| contains_instr(head, exit.0);
                    let ends_in_head = self.counts.exits.get(&key).is_none_or(in_head);
                    let more = u64::from(!body.is_empty() && ends_in_head);
                    let warps = (0..self.block.warps()).map(|warp| match bound {
                        HeaderBound::All(bound) => *bound,
                        HeaderBound::ByWarp(bounds) => bounds.get(warp).copied().unwrap_or(0),
                    });
                    let counts: Vec<u64> = warps.map(|n| n.saturating_sub(more)).collect();
                    let source = self.counts.sources.get(&key).copied();
                    let source = source.unwrap_or(LoopBoundSource::Facts);
                    report.loops.push(LoopCount {
                        at: self.prepared.location(op),
                        warps: run_lengths(&counts),
                        source: source.name(),
                    });
                    found.insert(*index, counts);
                }
            }
            self.iterations(head, header, found, report);
            self.iterations(body, header, found, report);
        }
    }
}

/// Whether an instruction is part of a time node.
fn contains_instr(elements: &[abstract_warp::WarpElement], at: u32) -> bool {
    elements.iter().any(|element| match element {
        abstract_warp::WarpElement::Time { span, .. } => (span.0..=span.1).contains(&at),
        _ => false,
    })
}

/// Run-length encodes a list: pairs of length and number. For example, 5, 5, 7 becomes (2, 5), (1, 7).
fn run_lengths(numbers: &[u64]) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((count, last)) if *last == number => *count += 1,
            _ => runs.push((1, number)),
        }
    }
    runs
}

/// Converts a simulation step to its report.
fn step(step: &cta::CtaStep, elements: &[ElementReport]) -> CtaStepReport {
    let at = |position: usize| match elements.get(position) {
        Some(ElementReport::Time { from, to, .. }) if from != to => format!("{from}..{to}"),
        Some(ElementReport::Time { from: at, .. } | ElementReport::Memory { at }) => at.clone(),
        Some(ElementReport::Barrier { at } | ElementReport::Loop { at, .. }) => at.clone(),
        None => String::new(),
    };
    match *step {
        cta::CtaStep::Element {
            element,
            instr,
            stall,
            warps,
            shift,
        } => CtaStepReport::Element {
            at: at(element),
            cycles: instr.saturating_add(stall),
            stall,
            warps,
            shift,
        },
        cta::CtaStep::Iterations {
            element,
            count,
            instr,
            stall,
            warps,
        } => CtaStepReport::Iterations {
            at: at(element),
            count,
            cycles: instr.saturating_add(stall),
            stall,
            warps,
        },
        cta::CtaStep::Flush { stall } => CtaStepReport::Flush { cycles: stall },
    }
}

/// Reports the bound of the block, or the reason why there is none.
fn describe_bound(
    prepared: &Prepared<'_>,
    result: Result<BlockResult, NoBlockBound>,
    report: &mut CtaReport,
) {
    match result {
        Ok(BlockResult { bound, outlines }) => {
            report.sound = Some(bound.cycles.limit().0);
            let issues = bound.issues.limit().0;
            // `block_bound` saturates its cycles in the same way.
            report.sound_issues = Some(u64::try_from(issues).unwrap_or(u64::MAX));
            report.sound_stalls = Some(bound.stalls.limit().0);
            report.warp_profiles = outlines;
            report.sound_rule = Some(match bound.rule {
                StallRule::NoBarriers => {
                    "no warp waits for another, so they are the stalls of one warp"
                }
                StallRule::AlignedBarriers => {
                    "all warps pass each barrier together, so between two they are the stalls of one warp"
                }
                StallRule::AnyBarriers => {
                    "the warps that wait for each other at barriers are unknown, so they are the stalls of all warps"
                }
            });
        }
        Err(NoBlockBound::Warp(why)) => report.no_sound = Some(why),
        Err(NoBlockBound::Unsatisfied(unsatisfied)) => {
            let barrier = unsatisfied.barrier;
            report.no_sound = Some(format!(
                "{}: deadlock: barrier {} waits for {} threads, {} arrive",
                prepared.location(OpIndex(barrier.at)),
                barrier.number as i32,
                barrier.expected,
                unsatisfied.arriving
            ));
        }
    }
}
