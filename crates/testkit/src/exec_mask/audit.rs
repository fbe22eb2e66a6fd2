//! Runs of random programs on wavefronts, compared with single lanes, with the abstract model and with count rows.

use std::collections::BTreeSet;

use fastrand::Rng;
use warpbound_analyse::warp_graph::{WarpGraph, WarpProgram};
use warpbound_base::Instructions;
use warpbound_ipet::{Effort, Ipet, StatedCounts, Verdict};
use warpbound_simt::counts::{
    CountInput, CountKind, CountRow, CountSystem, CountedLoop, Factor, RowRelation,
};
use warpbound_simt::{AbstractState, Mask, NodeId, lanes_of, lowest_lanes};

use super::abstraction::{MaskModel, MaskNodes, MaskState};
use super::compile::compile;
use super::generate;
use super::machine::{LANES, VectorFile, Wavefront};
use super::statement::{Lane, Statement};
use super::{MaskFault, MaskProgram, MaskReg, SCALARS, VECTORS};

/// Number of instructions after which a run is cut off. No program reaches it without a planted fault.
const MOST_STEPS: usize = 200_000;

/// Number of vector registers that differ between lanes at the start.
const VARYING: usize = 3;

/// Numbers of programs and runs, and the planted fault.
#[derive(Clone, Copy, Debug)]
pub struct MaskCampaign {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of programs.
    pub programs: usize,
    /// Number of runs of each program, with other inputs.
    pub inputs: usize,
    /// Planted fault.
    pub fault: Option<MaskFault>,
}

/// Results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct MaskFindings {
    /// Number of runs of wavefronts.
    pub runs: usize,
    /// Number of compared single lanes.
    pub lanes: usize,
    /// Number of instructions of the wavefronts.
    pub steps: u64,
    /// Number of these with some, not all live lanes.
    pub partial_steps: u64,
    /// Number of these without active lanes.
    pub empty_steps: u64,
    /// Number of times that EXEC grew.
    pub grown: u64,
    /// Number of checked claims of agreement.
    pub claims: u64,
    /// Number of loops, and of those claimed to be iterated in lockstep.
    pub loops: (usize, usize),
    /// Number of checked rows.
    pub rows: u64,
    /// Number of checked bounds.
    pub bounds: u64,
    /// Lanes whose run differs from the run of the wavefront.
    pub lane_differences: usize,
    /// Steps of wavefronts that the graph does not have.
    pub missing_steps: usize,
    /// Claims about a state that do not hold in it.
    pub wrong_claims: usize,
    /// Rows that the counts of a run do not satisfy, and bounds below them.
    pub broken_rows: usize,
    /// First problems, in words.
    pub problems: Vec<String>,
}

impl MaskFindings {
    fn report(
        &mut self,
        count: fn(&mut MaskFindings) -> &mut usize,
        problem: impl FnOnce() -> String,
    ) {
        *count(self) += 1;
        if self.problems.len() < 20 {
            self.problems.push(problem());
        }
    }
}

/// Runs a campaign.
pub fn campaign(campaign: MaskCampaign) -> MaskFindings {
    let mut rng = Rng::with_seed(campaign.seed);
    let mut findings = MaskFindings::default();
    for number in 0..campaign.programs {
        let statements = generate::program(&mut rng);
        let program = compile(&statements, campaign.fault);
        let subject = MaskSubject::new(number, Some(&statements), &program, campaign.fault);
        let lockstep = &subject.counts.lockstep;
        findings.loops.0 += lockstep.len();
        findings.loops.1 += lockstep.iter().filter(|&&claimed| claimed).count();
        for _ in 0..campaign.inputs {
            subject.run_random(&mut rng, &mut findings);
        }
    }
    findings
}

/// Runs a program that was not compiled from statements, with these inputs.
pub fn audit_program(program: &MaskProgram, live: Mask, vectors: &VectorFile) -> MaskFindings {
    let mut findings = MaskFindings::default();
    MaskSubject::new(0, None, program, None).run(live, vectors, &mut findings);
    findings
}

/// Random live lanes and vector registers.
pub(super) fn random_inputs(rng: &mut Rng) -> (Mask, VectorFile) {
    let live = match rng.u8(0..4) {
        0 => Mask::MAX,
        1 => lowest_lanes(rng.u32(1..64)),
        _ => rng.u64(..) & rng.u64(..) | 1 << rng.u32(0..64),
    };
    let vectors = std::array::from_fn(|number| {
        let uniform = rng.u32(0..6);
        std::array::from_fn(|_| match number < VARYING {
            true => rng.u32(0..6),
            false => uniform,
        })
    });
    (live, vectors)
}

/// Number of walks along the two edges of each instruction: to the next one or the end, and elsewhere.
#[derive(Clone)]
struct EdgeCounts(Vec<[u64; 2]>);

impl EdgeCounts {
    fn slot(&mut self, from: u32, to: Option<u32>) -> Option<&mut u64> {
        let is_jump = to.is_some_and(|to| to != from + 1);
        self.0.get_mut(from as usize)?.get_mut(usize::from(is_jump))
    }

    fn count(&mut self, from: u32, to: Option<u32>) {
        if let Some(count) = self.slot(from, to) {
            *count += 1;
        }
    }

    fn get(&self, from: NodeId, to: Option<NodeId>) -> i64 {
        let is_jump = to.is_some_and(|to| to.0 != from.0 + 1);
        let count = self.0.get(from.index());
        count.map_or(0, |both| both[usize::from(is_jump)] as i64)
    }
}

/// Header executions of one lane, by loop.
#[derive(Clone, Copy, Default)]
struct HeaderCounts {
    since_entry: u64,
    most_since_entry: u64,
    total: u64,
}

/// Counts of one run.
struct RunCounts {
    warp: EdgeCounts,
    threads: EdgeCounts,
    lanes: i64,
    /// For each loop, the most header executions of a lane per entry, and in all.
    facts: Vec<(i64, i64)>,
}

/// A program and all claims about it.
struct MaskSubject<'a> {
    number: usize,
    /// The program that was compiled, if one was.
    statements: Option<&'a [Statement]>,
    program: &'a MaskProgram,
    fault: Option<MaskFault>,
    graph: WarpGraph<MaskState>,
    counts: CountSystem,
}

impl<'a> MaskSubject<'a> {
    fn new(
        number: usize,
        statements: Option<&'a [Statement]>,
        program: &'a MaskProgram,
        fault: Option<MaskFault>,
    ) -> Self {
        let mut nodes = MaskNodes::new(program);
        let (model, entry) = (MaskModel { fault }, NodeId(0));
        let count = program.instrs.len();
        let uniform = (VARYING..VECTORS).collect();
        let graph = WarpGraph::build(&model, &mut nodes, count, entry, uniform)
            .expect("no stack, no underflow");
        let loops: Vec<CountedLoop> = (0..)
            .zip(&program.loops)
            .map(|(fact, &(header, last))| CountedLoop {
                headers: vec![NodeId(header)],
                body: (header..=last).map(NodeId).collect(),
                fact,
            })
            .collect();
        let counts = CountSystem::build(&CountInput {
            lanes: LANES as u64,
            lane_limits: &[],
            entry,
            // A wavefront of one lane takes steps of the same graph.
            thread: &graph.steps,
            warp: &graph.steps,
            entries: nodes.entries(),
            loops: &loops,
            shared_returns: &BTreeSet::new(),
            pending: &|node| graph.state(node).map_or(&[], AbstractState::pending),
        });
        MaskSubject {
            number,
            statements,
            program,
            fault,
            graph,
            counts,
        }
    }

    /// Runs a wavefront with random inputs.
    fn run_random(&self, rng: &mut Rng, findings: &mut MaskFindings) {
        let (live, vectors) = random_inputs(rng);
        self.run(live, &vectors, findings);
    }

    /// Runs a wavefront, and each of its lanes alone.
    fn run(&self, live: Mask, vectors: &VectorFile, findings: &mut MaskFindings) {
        findings.runs += 1;
        let mut warp = EdgeCounts(vec![[0; 2]; self.program.instrs.len()]);
        let (wave, traces) = self.run_wavefront(live, vectors, &mut warp, findings);
        let mut counts = RunCounts {
            warp,
            threads: EdgeCounts(vec![[0; 2]; self.program.instrs.len()]),
            lanes: live.count_ones().into(),
            facts: vec![(0, 0); self.program.loops.len()],
        };
        for lane in lanes_of(live) {
            findings.lanes += 1;
            let same = self.compare_lane(lane, &wave, &traces[lane], vectors)
                && self.run_alone(lane, &wave, &traces[lane], vectors, &mut counts);
            if !same {
                findings.report(
                    |all| &mut all.lane_differences,
                    || format!("program {}: lane {lane} differs", self.number),
                );
            }
        }
        self.check_counts(&counts, findings);
    }

    /// Runs all lanes together; returns the end and the instructions at which each lane was active.
    fn run_wavefront(
        &self,
        live: Mask,
        vectors: &VectorFile,
        edges: &mut EdgeCounts,
        findings: &mut MaskFindings,
    ) -> (Wavefront<'a>, Vec<Vec<u32>>) {
        let mut wave = Wavefront::new(self.program, live, vectors, self.fault);
        let mut traces = vec![Vec::new(); LANES];
        let mut last: Option<(u32, Mask)> = None;
        // Claims about saved masks are checked in some runs only, to save time.
        let checks_saved = findings.runs.is_multiple_of(8);
        for _ in 0..MOST_STEPS {
            let running = wave.running();
            if let Some((from, before)) = last {
                let to = running.map(|(at, _)| at);
                edges.count(from, to);
                self.check_step(from, to, findings);
                let after = running.map_or(0, |(_, active)| active);
                findings.grown += u64::from(after & !before != 0);
            }
            let Some((at, active)) = running else {
                break;
            };
            last = running;
            findings.steps += 1;
            findings.partial_steps += u64::from(active != live && active != 0);
            findings.empty_steps += u64::from(active == 0);
            for lane in lanes_of(active) {
                traces[lane].push(at);
            }
            self.check_state(at, &wave, checks_saved, findings);
            if !wave.step() {
                break;
            }
        }
        (wave, traces)
    }

    fn check_step(&self, from: u32, to: Option<u32>, findings: &mut MaskFindings) {
        let steps = self.graph.steps.get(from as usize);
        let to = to.map(NodeId);
        if !steps.is_some_and(|steps| steps.iter().any(|step| step.to == to)) {
            findings.report(
                |all| &mut all.missing_steps,
                || format!("program {}: no step from {from} to {to:?}", self.number),
            );
        }
    }

    fn check_state(
        &self,
        at: u32,
        wave: &Wavefront<'_>,
        with_saved: bool,
        findings: &mut MaskFindings,
    ) {
        let Some(state) = self.graph.state(NodeId(at)) else {
            return findings.report(
                |all| &mut all.missing_steps,
                || format!("program {}: {at} is not reached", self.number),
            );
        };
        let saved = (0..SCALARS as u8).map(MaskReg::Scalar);
        let regs = saved.take(if with_saved { SCALARS } else { 0 });
        for reg in regs.chain([MaskReg::Exec]) {
            let mask = wave.mask(reg);
            for (number, values) in (0u8..).zip(&wave.vectors) {
                if !state.agrees(reg, number) {
                    continue;
                }
                findings.claims += 1;
                let mut found = lanes_of(mask).map(|lane| values[lane]);
                let first = found.next();
                if found.any(|value| Some(value) != first) {
                    findings.report(
                        |all| &mut all.wrong_claims,
                        || {
                            format!(
                                "program {}: v{number} differs in {reg:?} at {at}",
                                self.number
                            )
                        },
                    );
                }
            }
            let others = (0..SCALARS as u8).map(MaskReg::Scalar);
            for outer in others.take(if with_saved { SCALARS } else { 0 }) {
                if state.is_within(reg, outer) && mask & !wave.mask(outer) != 0 {
                    findings.report(
                        |all| &mut all.wrong_claims,
                        || format!("program {}: {reg:?} exceeds {outer:?} at {at}", self.number),
                    );
                }
            }
        }
    }

    /// Whether a lane of a wavefront did what the structured program says for it.
    fn compare_lane(
        &self,
        lane: usize,
        wave: &Wavefront<'_>,
        trace: &[u32],
        vectors: &VectorFile,
    ) -> bool {
        let Some(statements) = self.statements else {
            return true;
        };
        let alone = Lane::run(statements, vectors.map(|values| values[lane]));
        let done = trace
            .iter()
            .filter_map(|&at| self.program.statements.get(at as usize).copied().flatten());
        done.eq(alone.trace.iter().copied())
            && wave.running().is_none()
            && alone.vectors == wave.vectors.map(|values| values[lane])
    }

    /// Runs the compiled program with one lane; whether it did the same in the wavefront. Adds to the counts.
    fn run_alone(
        &self,
        lane: usize,
        wave: &Wavefront<'_>,
        trace: &[u32],
        vectors: &VectorFile,
        counts: &mut RunCounts,
    ) -> bool {
        let mut alone = Wavefront::new(self.program, 1 << lane, vectors, self.fault);
        let mut headers = vec![HeaderCounts::default(); self.program.loops.len()];
        let mut expected = trace.iter();
        let mut from = None;
        let mut is_same = true;
        for _ in 0..MOST_STEPS {
            let running = alone.running();
            let to = running.map(|(at, _)| at);
            if let Some(from) = from {
                counts.threads.count(from, to);
            }
            let Some((at, active)) = running else {
                break;
            };
            for (count, &(header, last)) in headers.iter_mut().zip(&self.program.loops) {
                let inside = header..=last;
                if !from.is_some_and(|from| inside.contains(&from)) {
                    count.since_entry = 0;
                }
                if at == header {
                    count.since_entry += 1;
                    count.total += 1;
                    count.most_since_entry = count.most_since_entry.max(count.since_entry);
                }
            }
            is_same &= active == 0 || expected.next() == Some(&at);
            from = Some(at);
            if !alone.step() {
                break;
            }
        }
        for (fact, count) in counts.facts.iter_mut().zip(&headers) {
            fact.0 = fact.0.max(count.most_since_entry as i64);
            fact.1 = fact.1.max(count.total as i64);
        }
        let mut registers = wave.vectors.iter().zip(&alone.vectors);
        is_same
            && expected.next().is_none()
            && alone.running().is_none()
            && registers.all(|(ours, theirs)| ours[lane] == theirs[lane])
    }

    fn check_counts(&self, counts: &RunCounts, findings: &mut MaskFindings) {
        let values: Vec<i64> = self
            .counts
            .variables
            .iter()
            .map(|kind| match kind {
                CountKind::WarpStart => 1,
                CountKind::ThreadStart => counts.lanes,
                CountKind::WarpStep(from, step) => counts.warp.get(*from, step.to),
                CountKind::ThreadStep(from, step) => counts.threads.get(*from, step.to),
            })
            .collect();
        for row in &self.counts.rows {
            findings.rows += 1;
            if !holds(row, &values, &counts.facts) {
                findings.report(
                    |all| &mut all.broken_rows,
                    || format!("program {}: {:?} {}", self.number, row.family, row.label),
                );
            }
        }
        // The integer program is solved in some runs only, to save time.
        if !findings.runs.is_multiple_of(100) {
            return;
        }
        let [bounds, totals] =
            [|fact: &(i64, i64)| fact.0, |fact: &(i64, i64)| fact.1].map(|part| {
                counts
                    .facts
                    .iter()
                    .map(|fact| Some(part(fact) as u64))
                    .collect::<Vec<_>>()
            });
        let stated = StatedCounts {
            bounds: &bounds,
            totals: &totals,
            ..StatedCounts::default()
        };
        let effort = Effort {
            nodes: 0,
            ..Effort::default()
        };
        let issued: u64 = counts.warp.0.iter().flatten().sum();
        let ipet = Ipet::with_facts(&self.counts, |_| Instructions(1), stated);
        let Ok(Ok(Verdict::Bounded(bound))) = ipet.map(|ipet| ipet.solve(effort)) else {
            return;
        };
        findings.bounds += 1;
        let Instructions(limit) = bound.upper_bound().limit();
        if limit < u128::from(issued) {
            findings.report(
                |all| &mut all.broken_rows,
                || format!("program {}: bound {limit} of {issued}", self.number),
            );
        }
    }
}

/// Whether counts satisfy a row, for these facts about each loop.
fn holds(row: &CountRow, values: &[i64], facts: &[(i64, i64)]) -> bool {
    let fact = |fact: usize| facts.get(fact).copied().unwrap_or_default();
    let terms = row.terms.iter().map(|&(variable, factor)| {
        let factor = match factor {
            Factor::Number(number) => number,
            Factor::TimesBound(number, loop_fact) => number * fact(loop_fact).0,
            Factor::TimesTotal(number, loop_fact) => number * fact(loop_fact).1,
        };
        factor * values.get(variable.0).copied().unwrap_or(0)
    });
    let sum: i64 = terms.sum();
    match row.relation {
        RowRelation::AtMost => sum <= row.constant,
        RowRelation::Exactly => sum == row.constant,
    }
}
