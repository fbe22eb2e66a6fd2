//! Audit of blocks of mini-SIMT programs: simulated runs compared with the graphs, divergence, loop bounds and block
//! bounds.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::context::Contexts;
use warpbound_analyse::dependence::Dependence;
use warpbound_analyse::divergence::{Divergence, OpDivergence, QueryKind};
use warpbound_analyse::iterations::{self, StartValues};
use warpbound_analyse::program_space::ContextBlock;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::CodeAddr;
use warpbound_bounds::block::{BlockLaunch, HeaderBound, NoBlockBound};
use warpbound_ipet::block::WarpWork;
use warpbound_ir::{Cell, Code, ControlEffect, OpIndex, lift};
use warpbound_isa::{Program, mini};
use warpbound_load::Image;
use warpbound_machine::mini::Machine;
use warpbound_query::KernelFlow;
use warpbound_simt::frame_stack::Frame;
use warpbound_simt::groups::ACTIVE;
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{EntryId, EntrySite, Mask, NodeId, Tag};
use warpbound_simulate::mini::{CycleEvent, FaultKind, FinishedRun, Simulation, Start};

use crate::mini::execute::{WarpSnapshot, WarpStart, run_lane, run_warp};
use crate::mini::generate::Generated;

/// Planted errors, to show that the audit catches them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantedError {
    /// Loop bounds are one too low.
    LowLoopBound,
    /// The analysis assumes a memory latency one cycle too short.
    ShortMemoryLatency,
    /// The warp-level CFG lacks the last edge of each node that has several.
    DroppedEdge,
    /// Every cell is claimed to agree at every node.
    ExtraAgreement,
    /// No branch is claimed to diverge.
    NoDivergence,
    /// The analysis assumes the other divergence order.
    SwappedOrder,
}

/// A program under audit.
pub struct Subject {
    /// Operations of the program.
    pub code: Code,
    /// Instruction index of each label.
    labels: BTreeMap<String, u32>,
    /// Launch constants: names and the cells that hold them.
    pub params: Vec<(String, Cell)>,
}

impl Subject {
    /// Parses and lifts a program.
    ///
    /// # Errors
    ///
    /// The diagnostic of the parser, as text.
    pub fn new(text: &str) -> Result<Subject, String> {
        let fail = |d: warpbound_base::Diagnostic| d.to_string();
        let image = Image::parse(text.as_bytes()).map_err(fail)?;
        let kernel = image.kernels().map_err(fail)?.first().ok_or("no kernel")?;
        let program = mini::Program::decode(kernel.code(), kernel.first_line).map_err(fail)?;
        let mut labels = BTreeMap::new();
        for at in 0..=program.instrs.len() as u32 {
            labels.extend(program.labels(at).map(|name| (name.to_owned(), at)));
        }
        let params = program.variables.iter().take(program.params);
        let params = params.cloned().zip((0u8..).map(Cell::gpr)).collect();
        let code = lift(kernel, &Program::Mini(program)).map_err(fail)?;
        Ok(Subject {
            code,
            labels,
            params,
        })
    }
}

/// A launch of a [`Subject`].
#[derive(Clone, Debug)]
pub struct BlockCase {
    /// Machine on which the block runs.
    pub machine: Machine,
    /// Number of threads of the block.
    pub threads: u32,
    /// Values of the launch constants.
    pub constants: Vec<u32>,
    /// Initial contents of the memory, one run each.
    pub memories: Vec<Vec<u32>>,
    /// Planted error.
    pub planted: Option<PlantedError>,
}

/// Findings of an audit.
#[derive(Clone, Debug, Default)]
pub struct BlockFindings {
    /// Contradictions between a run and a claim.
    pub problems: Vec<String>,
    /// Bound and cycles of each run that ended.
    pub runs: Vec<(u64, u64)>,
    /// Number of runs that did not end: deadlock at a barrier, fault, or too many cycles.
    pub stuck: usize,
    /// Number of runs with a deadlock at a barrier, where the analysis claims one for all runs.
    pub deadlocks: usize,
    /// Number of warps that diverged.
    pub diverged: usize,
    /// Numbers of warps with an exact profile, with bounded regions, and bounded as a whole.
    pub profiles: [usize; 3],
    /// Whether the analyses gave no bound.
    pub unbounded: bool,
}

/// Cycles after which a run is cut off and not audited.
const MOST_CYCLES: u64 = 400_000;

/// Instructions after which the step-by-step comparison of a warp is given up.
const MOST_STEPS: usize = 30_000;

/// Audits a program for one launch.
pub fn audit(generated: &Generated, subject: &Subject, case: &BlockCase) -> BlockFindings {
    let mut findings = BlockFindings::default();
    let cells = case.initial_cells(subject);
    let assumed_machine = case.assumed_machine();
    let no_loops = BTreeMap::new();
    let mut block = BlockLaunch {
        code: &subject.code,
        machine: &assumed_machine,
        threads: case.threads,
        cells: &cells,
        loops: &no_loops,
        profile_steps: 2_000_000,
    };
    let launch = block.launch();
    let model = block.model(launch.live_lanes());
    let flow = match KernelFlow::analyse(&subject.code, &launch, &model, &Limits::default()) {
        Ok(flow) => flow,
        Err(refusal) => {
            findings
                .problems
                .push(format!("refused at {}: {}", refusal.at, refusal.reason));
            return findings;
        }
    };
    let dependence = Dependence::compute(&flow.thread);
    let loops = loop_bounds(generated, subject, case, &flow, &dependence, &cells);
    block.loops = &loops;
    let bound = block.bound(&flow);
    let whole = {
        let all: Vec<usize> = (0..block.warps()).collect();
        block.whole_warps(&flow, &all)
    };
    if let Ok(result) = &bound {
        findings.profiles = result.outlines;
    }
    let claims = Claims {
        subject,
        case,
        flow: &flow,
        uniform: uniform_branches(subject, &flow, &dependence, &launch),
        cells: &cells,
        nodes: nodes_by_first_op(&flow.thread),
        ends: nodes_by_last_op(&flow.thread),
    };
    for memory in &case.memories {
        let Ok(simulation) = Simulation::new(&subject.code, &case.machine) else {
            findings.problems.push("cannot be run".to_owned());
            return findings;
        };
        let start = Start {
            threads: case.threads,
            cells: cells.clone(),
            memory: memory.clone(),
        };
        let mut issued: Vec<Vec<(u32, Mask)>> = vec![Vec::new(); block.warps()];
        let finished = simulation.run(&start, MOST_CYCLES, |event| {
            if let CycleEvent::Issue {
                warp, op, active, ..
            } = event
            {
                issued[warp].push((op.0, active));
            }
        });
        let finished = match finished {
            Ok(finished) => finished,
            Err(fault) => {
                findings.stuck += 1;
                if let Err(NoBlockBound::Unsatisfied(_)) = &bound {
                    check_deadlock(&fault.kind, &mut findings);
                }
                continue;
            }
        };
        claims.check_warps(memory, &issued, &mut findings);
        check_bounds(&finished, &bound, &whole, &issued, &mut findings);
    }
    findings
}

impl BlockCase {
    /// Returns the cells that hold the launch constants, with their values.
    fn initial_cells(&self, subject: &Subject) -> Vec<(Cell, u32)> {
        let params = subject.params.iter().zip(&self.constants);
        params.map(|((_, cell), value)| (*cell, *value)).collect()
    }

    /// Returns the machine that the analysis assumes: the case's own, unless an error is planted in it.
    fn assumed_machine(&self) -> Machine {
        let mut machine = self.machine.clone();
        match self.planted {
            Some(PlantedError::ShortMemoryLatency) => {
                let most = &mut machine.memory.most.0;
                *most = most.saturating_sub(1);
            }
            Some(PlantedError::SwappedOrder) => {
                machine.order = match machine.order {
                    DivergenceOrder::TakenFirst => DivergenceOrder::FallThroughFirst,
                    _ => DivergenceOrder::TakenFirst,
                };
            }
            _ => {}
        }
        machine
    }
}

/// Returns loop bounds: those found by the iteration analysis, otherwise the facts of the generator.
fn loop_bounds(
    generated: &Generated,
    subject: &Subject,
    case: &BlockCase,
    flow: &KernelFlow,
    dependence: &Dependence,
    cells: &[(Cell, u32)],
) -> BTreeMap<Vec<CodeAddr>, HeaderBound> {
    let less = u64::from(case.planted == Some(PlantedError::LowLoopBound));
    let mut loops = BTreeMap::new();
    for (labels, bound) in &generated.facts {
        let headers = labels.split(' ').map(|label| subject.labels.get(label));
        if let Some(headers) = headers.collect::<Option<BTreeSet<_>>>() {
            let headers = headers.into_iter().map(|&at| CodeAddr(at)).collect();
            let bound = bound.saturating_sub(less);
            loops.insert(headers, HeaderBound::All(bound));
        }
    }
    let given = StartValues {
        threads: case.threads,
        cells,
    };
    let width = case.machine.warp_width as usize;
    for (_, counted) in
        iterations::count_iterations(&subject.code, &flow.thread, dependence, &given)
    {
        let first = flow.thread.space.block(counted.header).first;
        let most = |lanes: &[u64]| {
            lanes
                .iter()
                .copied()
                .max()
                .unwrap_or(0)
                .saturating_sub(less)
        };
        let warps = counted.headers.chunks(width).map(most).collect();
        if let Some(op) = subject.code.get(first) {
            loops.insert(vec![op.addr], HeaderBound::ByWarp(warps));
        }
    }
    loops
}

/// Returns the branches that the divergence analysis claims to be uniform.
fn uniform_branches(
    subject: &Subject,
    flow: &KernelFlow,
    dependence: &Dependence,
    launch: &warpbound_analyse::LaunchContext,
) -> BTreeSet<u32> {
    let found = Divergence::analyse(&subject.code, &flow.thread, dependence, launch);
    let uniform =
        |item: &&OpDivergence| item.kind == QueryKind::Branch && item.divergent.is_empty();
    found
        .items
        .iter()
        .filter(uniform)
        .map(|item| item.at.0)
        .collect()
}

/// Returns the nodes by the index of their first operation.
fn nodes_by_first_op(thread: &ThreadCfg) -> BTreeMap<u32, NodeId> {
    let ids = thread.space.ids();
    ids.map(|id| (thread.space.block(id).first.0, id)).collect()
}

/// Returns the nodes by the index of their last operation.
fn nodes_by_last_op(thread: &ThreadCfg) -> BTreeMap<u32, NodeId> {
    let ids = thread.space.ids();
    ids.map(|id| (thread.space.block(id).last.0, id)).collect()
}

/// Claims about the warps of a block, with the run that they are compared with.
struct Claims<'a> {
    subject: &'a Subject,
    case: &'a BlockCase,
    flow: &'a KernelFlow,
    uniform: BTreeSet<u32>,
    cells: &'a [(Cell, u32)],
    nodes: BTreeMap<u32, NodeId>,
    ends: BTreeMap<u32, NodeId>,
}

impl Claims<'_> {
    /// Executes each warp alone and compares it with the simulated machine, with its lanes run alone, and with the
    /// warp-level CFG.
    fn check_warps(
        &self,
        memory: &[u32],
        issued: &[Vec<(u32, Mask)>],
        findings: &mut BlockFindings,
    ) {
        let width = self.case.machine.warp_width;
        for (number, issued) in issued.iter().enumerate() {
            let first = number as u32 * width;
            let start = WarpStart {
                first,
                lanes: (self.case.threads - first).min(width),
                cells: self.cells,
                memory,
                order: self.case.machine.order,
            };
            let mut walk = WarpTrace {
                claims: self,
                last: None,
                traces: vec![Vec::new(); start.lanes as usize],
                steps: Vec::new(),
                diverged: false,
                problems: Vec::new(),
            };
            let ended = run_warp(&self.subject.code, &start, MOST_STEPS, |moment| {
                walk.check_instruction(moment);
            });
            if !ended {
                continue;
            }
            findings.diverged += usize::from(walk.diverged);
            if walk.steps != *issued {
                let pairs = walk.steps.iter().zip(issued);
                let at = pairs.take_while(|(a, b)| a == b).count();
                findings.problems.push(format!(
                    "warp {number}: step {at} is {:?}, the machine issues {:?}",
                    walk.steps.get(at),
                    issued.get(at)
                ));
            }
            for (trace, lane_number) in walk.traces.iter().zip(first..).take(3) {
                let (code, limit) = (&self.subject.code, MOST_STEPS);
                let alone = run_lane(code, lane_number, self.cells, memory, limit);
                if alone.as_ref() != Some(trace) {
                    findings.problems.push(format!(
                        "thread {lane_number} executes other instructions alone"
                    ));
                }
            }
            findings.problems.append(&mut walk.problems);
        }
    }

    /// Returns the identifier of an abstract stack entry.
    fn entry(&self, entry: EntrySite) -> Option<EntryId> {
        self.flow.thread.space.entries.find(entry)
    }

    /// Returns the abstract stack entries of concrete frames, top first; `None` if one is unknown to the analysis.
    fn entries(&self, frames: &[Frame<u32>]) -> Option<Vec<EntryId>> {
        let space = &self.flow.thread.space;
        let node_at = |op: u32| {
            let block = space.blocks.starting_at(OpIndex(op))?;
            space.find(ContextBlock {
                block,
                context: Contexts::KERNEL,
            })
        };
        let mut found = Vec::new();
        let mut below = None;
        for frame in frames {
            let meets = frame.reconvergence.map(|at| self.ends.get(&at).copied());
            let pushed_by = *self.ends.get(&frame.branch)?;
            if let Some(meets) = meets
                && below != frame.reconvergence
            {
                found.push(self.entry(EntrySite {
                    pushed_by,
                    resume: node_at(frame.reconvergence? + 1)?,
                    tag: Tag::Frame,
                    reconvergence: Some(meets?),
                })?);
            }
            if frame.to_do != 0 {
                found.push(self.entry(EntrySite {
                    pushed_by,
                    resume: node_at(frame.next)?,
                    tag: Tag::Nil,
                    reconvergence: meets.flatten(),
                })?);
            }
            below = frame.reconvergence;
        }
        found.reverse();
        Some(found)
    }
}

/// Comparison of one warp with the claims, step by step.
struct WarpTrace<'a> {
    claims: &'a Claims<'a>,
    /// Node of the last block that the warp entered.
    last: Option<NodeId>,
    /// Operations that each lane executed.
    traces: Vec<Vec<u32>>,
    /// Operations that the warp issued, with active lanes; without the final `end`.
    steps: Vec<(u32, Mask)>,
    diverged: bool,
    problems: Vec<String>,
}

impl WarpTrace<'_> {
    fn check_instruction(&mut self, moment: &WarpSnapshot<'_>) {
        let claims = self.claims;
        let (at, active) = (moment.at, moment.active);
        for (lane, trace) in self.traces.iter_mut().enumerate() {
            if active >> lane & 1 == 1 {
                trace.push(at);
            }
        }
        let code = &claims.subject.code;
        let Some(op) = code.get(OpIndex(at)) else {
            return;
        };
        if op.control != ControlEffect::End {
            self.steps.push((at, active));
        }
        if let Some(&node) = claims.nodes.get(&at) {
            self.check_node(node, moment);
        }
        if let (ControlEffect::Branch { .. }, Some(guard)) = (&op.control, op.condition.guard) {
            // Loops and no iterators here and below, because tests are built with little optimization and come here at
            // each instruction.
            let (mut zeros, mut rest) = (0, active);
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                zeros += u32::from(moment.cells[lane][guard.index()] == 0);
                rest &= rest - 1;
            }
            if zeros > 0 && zeros < active.count_ones() {
                self.diverged = true;
                let ends_here = claims.ends.get(&at);
                let known = ends_here.is_some_and(|n| claims.flow.warp.divergent.contains(n));
                let planted = claims.case.planted == Some(PlantedError::NoDivergence);
                if !known || planted {
                    self.problems.push(format!(
                        "lanes diverge at {at}, whose guard is claimed to agree"
                    ));
                }
                if claims.uniform.contains(&at) || planted {
                    self.problems
                        .push(format!("lanes diverge at {at}, which is claimed uniform"));
                }
            }
        }
    }

    fn check_node(&mut self, node: NodeId, moment: &WarpSnapshot<'_>) {
        let claims = self.claims;
        let warp = &claims.flow.warp;
        if let Some(last) = self.last {
            let mut steps: Vec<_> = warp.graph.steps[last.index()].iter().collect();
            if claims.case.planted == Some(PlantedError::DroppedEdge) && steps.len() > 1 {
                steps.pop();
            }
            if !steps.iter().any(|step| step.to == Some(node)) {
                self.problems
                    .push(format!("no step from node {} to {}", last.0, node.0));
            }
        }
        self.last = Some(node);
        let Some(state) = warp.state(node) else {
            self.problems
                .push(format!("node {} is claimed unreachable", node.0));
            return;
        };
        match claims.entries(moment.frames.frames()) {
            Some(entries) if state.stack().contains(&entries) => {}
            _ => self
                .problems
                .push(format!("an unknown stack at node {}", node.0)),
        }
        let active = moment.active;
        let lanes: Vec<&Vec<u32>> = (0..moment.cells.len())
            .filter(|lane| active >> lane & 1 == 1)
            .map(|lane| &moment.cells[lane])
            .collect();
        let differ = |cell: usize| lanes.iter().any(|row| row[cell] != lanes[0][cell]);
        let agreed = state.agreement(ACTIVE);
        let all = claims.case.planted == Some(PlantedError::ExtraAgreement);
        let mut wrong = None;
        let mut visit = |cell: usize| {
            if wrong.is_none() && differ(cell) {
                wrong = Some(cell);
            }
        };
        match all {
            true => (0..Cell::COUNT).for_each(&mut visit),
            false => agreed.for_each(&mut visit),
        }
        if let Some(cell) = wrong {
            self.problems.push(format!(
                "lanes do not agree on cell {cell} at node {}",
                node.0
            ));
        }
    }
}

/// Counts a fault as a deadlock where the analysis claims that no run passes some barrier.
fn check_deadlock(kind: &FaultKind, findings: &mut BlockFindings) {
    match kind {
        FaultKind::Deadlock { .. } | FaultKind::BarrierMismatch { .. } => findings.deadlocks += 1,
        FaultKind::UnsupportedControl => findings
            .problems
            .push("the simulator cannot apply a control transfer".to_owned()),
        // A limit or a fault before the barrier says nothing about the claim.
        FaultKind::CycleLimit { .. }
        | FaultKind::DivisionByZero
        | FaultKind::OutOfRange { .. }
        | FaultKind::BarrierDisagreement => {}
    }
}

/// Compares the cycles and instructions of a run with the bound of the block, and with the bound from warps taken as a
/// whole.
fn check_bounds(
    finished: &FinishedRun,
    bound: &Result<warpbound_bounds::block::BlockResult, NoBlockBound>,
    whole: &Result<Vec<(WarpWork, u64)>, NoBlockBound>,
    issued: &[Vec<(u32, Mask)>],
    findings: &mut BlockFindings,
) {
    let cycles = finished.cycles.0.0;
    match bound {
        Ok(result) => {
            let bound = result.bound.cycles.limit().0;
            let issues = result.bound.issues.limit().0;
            let issued = u128::from(finished.issued);
            findings.runs.push((bound, cycles));
            if cycles > bound {
                findings
                    .problems
                    .push(format!("{cycles} cycles, more than the bound {bound}"));
            }
            let [_, regions, whole] = result.outlines;
            if regions + whole == 0 && issued != issues {
                findings.problems.push(format!(
                    "{issued} instructions, exactly {issues} are claimed"
                ));
            }
            if issued > issues {
                findings
                    .problems
                    .push(format!("{issued} instructions, more than {issues}"));
            }
        }
        Err(NoBlockBound::Unsatisfied(_)) => findings
            .problems
            .push("the block ends although a barrier is claimed never to open".to_owned()),
        Err(NoBlockBound::Warp(_)) => findings.unbounded = true,
    }
    if let Ok(works) = whole {
        let most = works.iter().map(|(work, _)| match work {
            WarpWork::Total { issues, .. } => issues.limit().0,
            WarpWork::Epochs(_) => 0,
        });
        let (most, found) = (most.max(), issued.iter().map(Vec::len).max());
        if found.map(|n| n as u128) > most {
            findings.problems.push(format!(
                "a warp issues {found:?} instructions, more than {most:?} as a whole"
            ));
        }
        if let Ok(as_a_whole) = warpbound_ipet::block::block_bound(works) {
            let bound = as_a_whole.cycles.limit().0;
            if cycles > bound {
                findings.problems.push(format!(
                    "{cycles} cycles, more than {bound} of warps bounded as a whole"
                ));
            }
        }
    }
}
