//! Waves of the simulator against the claims of the analyses: masks, values of lanes, loops, the graph and the bound
//! (SOUNDNESS 12).
//!
//! [`WaveClaims`] follows a wave with records of its own: the active lanes at each site of [`Masks`], and for each lane
//! and vector register the write that it saw last.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use warpbound_analyse::loop_bounds::{self, LoopVerdict};
use warpbound_analyse::masks::{MaskClaim, MaskSite, Masks};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{LaunchContext, LaunchRanges};
use warpbound_audit::audit::{AuditObservations, ClaimMonitor, Claims};
use warpbound_base::SizeLimits;
use warpbound_ir::{Cell, Code, ControlEffect, Expr, Meaning, OpIndex, OpScope, TernaryOp};
use warpbound_isa::RegisterKind;
use warpbound_launch::GlobalMemory;
use warpbound_query::KernelFlow;
use warpbound_simt::warp::WarpModel;
use warpbound_simt::{Mask, NodeId, lanes_of};
use warpbound_simulate::functional::{ExecutionListener, Issue, WaveModel, launch_waves};

use super::audit::random_inputs;
use super::compile::compile;
use super::machine::{LANES, Wavefront};
use super::{MaskFault, generate, simulated};

/// Results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct WaveFindings {
    /// Number of waves.
    pub waves: u64,
    /// Number of instructions.
    pub steps: u64,
    /// Number of checked claims about words of masks.
    pub mask_claims: u64,
    /// Number of checked values of active lanes.
    pub lane_values: u64,
    /// Number of loops, and of those with a derived bound.
    pub loops: (u64, u64),
    /// Number of these bounds that some wave reaches.
    pub reached: u64,
    /// Number of waves compared with a bound, and the sums of instructions and of bounds.
    pub bounds: (u64, u64, u128),
    /// First problems, in words.
    pub problems: Vec<String>,
}

impl WaveFindings {
    /// Adds the results of another campaign.
    pub fn add(&mut self, other: WaveFindings) {
        self.waves += other.waves;
        self.steps += other.steps;
        self.mask_claims += other.mask_claims;
        self.lane_values += other.lane_values;
        self.loops.0 += other.loops.0;
        self.loops.1 += other.loops.1;
        self.reached += other.reached;
        self.bounds.0 += other.bounds.0;
        self.bounds.1 += other.bounds.1;
        self.bounds.2 += other.bounds.2;
        for problem in other.problems {
            self.report(problem);
        }
    }

    fn report(&mut self, problem: String) {
        if self.problems.len() < 20 {
            self.problems.push(problem);
        }
    }
}

/// Fault planted in the claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimFault {
    /// No cell is stale where lanes become active: masks dominate too much.
    NothingStale,
    /// A word that is contained in another is claimed to contain it.
    SubsetReversed,
    /// Derived bounds of loops are one less.
    BoundTooSmall,
}

/// Runs random structured programs and audits their waves.
pub fn audit_waves(
    seed: u64,
    programs: usize,
    inputs: usize,
    fault: Option<ClaimFault>,
) -> WaveFindings {
    let mut rng = Rng::with_seed(seed);
    let mut found = WaveFindings::default();
    for number in 0..programs {
        let statements = generate::program(&mut rng);
        let program = compile(&statements, None::<MaskFault>);
        let runs: Vec<_> = (0..inputs).map(|_| random_inputs(&mut rng)).collect();
        let Some((live, vectors)) = runs.first() else {
            continue;
        };
        // One program for all inputs: it has the scalars and live lanes of the first input, and vectors are in
        // memory.
        let wave = Wavefront::new(&program, *live, vectors, None);
        let mut memory = GlobalMemory::default();
        let bytes = vec![0; size_of_val(vectors)];
        let base = memory.add("vectors", bytes);
        let (code, _) = simulated::translate(&program, *live, &wave.scalars, base);
        let mut subject = match WaveSubject::new(&code, fault) {
            Ok(subject) => subject,
            Err(problem) => {
                found.report(format!("program {number}: {problem}"));
                continue;
            }
        };
        for (_, vectors) in &runs {
            let mut memory = GlobalMemory::default();
            let words = vectors.as_flattened().iter();
            let bytes = words.flat_map(|word| word.to_le_bytes()).collect();
            memory.add("vectors", bytes);
            subject.run(number, &mut memory, &mut found);
        }
        subject.finish(number, &mut found);
    }
    found
}

/// Code with the claims about it.
struct WaveSubject<'a> {
    code: &'a Code,
    claims: Claims<'a>,
    /// By site of loops.
    derived: Vec<Option<u64>>,
    /// Largest observed number of header executions per entry, by site.
    observed: Vec<Option<u64>>,
    /// Instructions of each wave.
    issued: Vec<u64>,
    points: BTreeMap<OpIndex, PointClaims>,
}

/// Claims before an operation.
#[derive(Clone, Debug, Default)]
pub struct PointClaims {
    masks: Vec<MaskClaim>,
    is_active: bool,
    /// Cells that may be stale after it.
    stale: BTreeSet<Cell>,
    /// Sites that it is, before and after its writes.
    before: Vec<MaskSite>,
    after: Vec<MaskSite>,
    /// Expression of the predicate whose ballot it takes.
    holds: Option<MaskSite>,
}

/// Collects the claims of an analysis about code that has each operation in one context; `None` if one is in several.
pub fn point_claims(
    flow: &KernelFlow,
    masks: &Masks<'_>,
) -> Option<BTreeMap<OpIndex, PointClaims>> {
    let mut points = BTreeMap::new();
    for node in flow.thread.space.ids() {
        if !flow.thread.is_reached(node) {
            continue;
        }
        let block = flow.thread.space.block(node);
        for at in block.ops() {
            let point = PointClaims {
                masks: masks.claims(node, at),
                is_active: masks.claims_activity(node, at),
                stale: masks.stale_cells(node, at).into_iter().collect(),
                before: sites_before(node, at, block.first, block.last),
                after: vec![MaskSite::Active(node, at)],
                holds: Some(MaskSite::Holds(node, at)),
            };
            if points.insert(at, point).is_some() {
                return None;
            }
        }
    }
    Some(points)
}

fn sites_before(node: NodeId, at: OpIndex, first: OpIndex, last: OpIndex) -> Vec<MaskSite> {
    let mut sites = vec![MaskSite::Compared(node, at)];
    if at == first {
        sites.push(MaskSite::Join(node));
    }
    if at == last {
        sites.push(MaskSite::Branch(node));
    }
    sites
}

impl<'a> WaveSubject<'a> {
    fn new(code: &'a Code, fault: Option<ClaimFault>) -> Result<WaveSubject<'a>, String> {
        let launch = LaunchContext {
            warp_width: LANES as u32,
            ..LaunchContext::default()
        };
        let flow = KernelFlow::analyse(code, &launch, &WarpModel::default(), &Limits::default())
            .map_err(|refusal| format!("refused at {}: {}", refusal.at, refusal.reason))?;
        let ranges = LaunchRanges {
            limits: SizeLimits::of(code.family),
            ..LaunchRanges::default()
        };
        let verdicts = loop_bounds::derive(code, &flow.thread, &flow.loops, &ranges);
        let derived = verdicts.iter().map(|verdict| match verdict {
            LoopVerdict::Bounded(bound) if fault == Some(ClaimFault::BoundTooSmall) => {
                Some(bound.per_entry - 1)
            }
            LoopVerdict::Bounded(bound) => Some(bound.per_entry),
            LoopVerdict::Unknown(_) => None,
        });
        let derived: Vec<_> = derived.collect();
        let masks = Masks::compute(code, &flow.thread).map_err(|_| "time limit".to_owned())?;
        let points = masks.map(|masks| point_claims(&flow, &masks));
        let mut points = points.flatten().ok_or("operations in several contexts")?;
        for point in points.values_mut() {
            match fault {
                Some(ClaimFault::NothingStale) => point.stale.clear(),
                Some(ClaimFault::SubsetReversed) => {
                    for claim in &mut point.masks {
                        claim.is_within = !claim.is_within;
                    }
                }
                _ => {}
            }
        }
        Ok(WaveSubject {
            code,
            observed: vec![None; derived.len()],
            derived,
            issued: Vec::new(),
            points,
            claims: Claims::new(code, launch, flow),
        })
    }

    fn run(&mut self, number: usize, memory: &mut GlobalMemory, found: &mut WaveFindings) {
        let launch = simulated::launch_of_one_wave();
        let mut listener = WaveListener {
            monitor: ClaimMonitor::new(&self.claims),
            waves: WaveClaims::new(self.code, &self.points),
        };
        let result = launch_waves(self.code, &launch, memory, &mut listener);
        if let Err(fault) = result {
            return found.report(format!("program {number}: {fault:?}"));
        }
        let seen: AuditObservations = listener.monitor.finish();
        listener.waves.add_to(number, found);
        found.waves += seen.ended_warps;
        for violation in seen.violations.keys() {
            found.report(format!("program {number}: {violation}"));
        }
        for (most, now) in self.observed.iter_mut().zip(&seen.max_per_entry) {
            *most = (*most).max(now.map(|now| now.count));
        }
        self.issued.extend(seen.worst.map(|worst| worst.issued));
    }

    /// Compares what all runs showed with the bounds.
    fn finish(&self, number: usize, found: &mut WaveFindings) {
        let mut bounds = Vec::new();
        for (derived, observed) in self.derived.iter().zip(&self.observed) {
            found.loops.0 += 1;
            found.loops.1 += u64::from(derived.is_some());
            if let (Some(derived), Some(observed)) = (derived, observed) {
                found.reached += u64::from(derived == observed);
                if derived < observed {
                    found.report(format!(
                        "program {number}: a loop has {observed} header executions, at most {derived} are derived"
                    ));
                }
            }
            bounds.push(derived.or(*observed).or(Some(1)));
        }
        let Some(bound) = self.claims.flow.bound(&bounds) else {
            return found.report(format!("program {number}: no bound"));
        };
        let limit = bound.limit().0;
        for &issued in &self.issued {
            found.bounds.0 += 1;
            found.bounds.1 += issued;
            found.bounds.2 += limit;
            if u128::from(issued) > limit {
                found.report(format!(
                    "program {number}: {issued} instructions, the bound is {limit}"
                ));
            }
        }
    }
}

/// Listener of both checks.
struct WaveListener<'a> {
    monitor: ClaimMonitor<'a>,
    waves: WaveClaims<'a>,
}

impl ExecutionListener<WaveModel> for WaveListener<'_> {
    fn issue(&mut self, issue: &Issue<'_, WaveModel>) -> bool {
        self.waves.check(issue);
        self.monitor.issue(issue)
    }
}

/// Write of a vector register, by number; 0 is the content at the start.
type WriteNumber = u64;

/// Follower of one wave that compares masks and writes with the claims.
pub struct WaveClaims<'a> {
    code: &'a Code,
    points: &'a BTreeMap<OpIndex, PointClaims>,
    /// Active lanes at sites, at their last execution.
    sites: BTreeMap<MaskSite, Mask>,
    /// Last operation: its writes and its sites are known when the next one begins.
    last: Option<(OpIndex, Mask)>,
    /// Number of the last write of a vector register by the wave, and of that which each lane saw.
    of_wave: Vec<WriteNumber>,
    of_lanes: Vec<[WriteNumber; LANES]>,
    writes: WriteNumber,
    steps: u64,
    mask_claims: u64,
    lane_values: u64,
    problems: Vec<String>,
}

impl<'a> WaveClaims<'a> {
    /// Follower of a wave before its first operation.
    pub fn new(code: &'a Code, points: &'a BTreeMap<OpIndex, PointClaims>) -> WaveClaims<'a> {
        let vectors = usize::from(RegisterKind::Vector.capacity());
        WaveClaims {
            code,
            points,
            sites: BTreeMap::new(),
            last: None,
            of_wave: vec![0; vectors],
            of_lanes: vec![[0; LANES]; vectors],
            writes: 0,
            steps: 0,
            mask_claims: 0,
            lane_values: 0,
            problems: Vec::new(),
        }
    }

    fn add_to(self, number: usize, found: &mut WaveFindings) {
        found.steps += self.steps;
        found.mask_claims += self.mask_claims;
        found.lane_values += self.lane_values;
        for problem in self.problems {
            found.report(format!("program {number}: {problem}"));
        }
    }

    fn report(&mut self, at: OpIndex, problem: &str) {
        if self.problems.len() < 5 {
            let addr = self.code.get(at).map(|op| op.addr).unwrap_or_default();
            self.problems.push(format!("at {addr}: {problem}"));
        }
    }

    /// Receives an operation that the wave is about to execute.
    pub fn check(&mut self, issue: &Issue<'_, WaveModel>) {
        let (code, points) = (self.code, self.points);
        let (Some(op), Some(point)) = (code.get(issue.at), points.get(&issue.at)) else {
            return self.report(issue.at, "no claims: the graph has no node here");
        };
        self.steps += 1;
        self.complete_last(issue);
        if self.steps == 1 {
            self.sites.insert(MaskSite::Entry, issue.active);
        }
        let is_join = |site: &MaskSite| matches!(site, MaskSite::Join(_));
        for &site in point.before.iter().filter(|site| is_join(site)) {
            self.sites.insert(site, issue.active);
        }
        self.check_masks(issue, point);
        for &site in point.before.iter().filter(|site| !is_join(site)) {
            self.sites.insert(site, issue.active);
        }
        for &cell in op.reads.iter().chain(&cells_of(op.meaning.as_ref())) {
            self.check_value(issue, cell);
        }
        self.last = Some((issue.at, issue.active));
    }

    /// Records what the last operation wrote, from the state after it.
    fn complete_last(&mut self, issue: &Issue<'_, WaveModel>) {
        let Some((at, active)) = self.last.take() else {
            return;
        };
        let (Some(op), Some(point)) = (self.code.get(at), self.points.get(&at)) else {
            return;
        };
        let lanes = match op.scope {
            OpScope::Warp => Mask::MAX,
            OpScope::Lane => active,
        };
        self.record_write(&op.writes, lanes);
        if matches!(op.control, ControlEffect::SetActive(_)) {
            for site in &point.after {
                self.sites.insert(*site, issue.active);
            }
            let stale: Vec<Cell> = point.stale.iter().copied().collect();
            self.record_write(&stale, Mask::MAX);
        }
        let word = |cell| Mask::from(issue.cell(cell).get(0));
        if let (Some(site), Some(words)) = (point.holds, ballot_cells(op.meaning.as_ref())) {
            let lanes = word(words[1]) << 32 | word(words[0]);
            self.sites.insert(site, lanes);
        } else if let (Some(site), Some((cell, all_if))) =
            (point.holds, choice_of_all(op.meaning.as_ref()))
        {
            let holds = (word(cell) != 0) == all_if;
            self.sites.insert(site, if holds { Mask::MAX } else { 0 });
        }
    }

    fn record_write(&mut self, cells: &[Cell], lanes: Mask) {
        for cell in cells.iter().filter(|cell| cell.is_per_lane()) {
            self.writes += 1;
            let number = cell.index();
            if let Some(last) = self.of_wave.get_mut(number) {
                *last = self.writes;
            }
            for lane in lanes_of(lanes) {
                if let Some(seen) = self
                    .of_lanes
                    .get_mut(number)
                    .and_then(|row| row.get_mut(lane))
                {
                    *seen = self.writes;
                }
            }
        }
    }

    /// Compares the words of the wave with the claims about them.
    fn check_masks(&mut self, issue: &Issue<'_, WaveModel>, point: &PointClaims) {
        if point.is_active && issue.active == 0 {
            self.report(issue.at, "some lane is claimed to be active");
        }
        for claim in &point.masks {
            let word = issue.cell(claim.word).get(0);
            // A claim about a site that was not executed holds for any mask.
            let others = match claim.site {
                None => [0, 0],
                Some(site) => match self.sites.get(&site) {
                    Some(mask) => [(mask >> (32 * claim.half)) as u32; 2],
                    None => [0, u32::MAX],
                },
            };
            let holds = others.into_iter().all(|other| {
                let other = if claim.complement { !other } else { other };
                match claim.is_within {
                    true => word & !other == 0,
                    false => other & !word == 0,
                }
            });
            self.mask_claims += 1;
            if !holds {
                self.report(issue.at, &format!("{claim:?} does not hold"));
            }
        }
    }

    /// Compares the write that active lanes saw last with the last one along the path of the wave.
    fn check_value(&mut self, issue: &Issue<'_, WaveModel>, cell: Cell) {
        if !cell.is_per_lane() {
            return;
        }
        let number = cell.index();
        let (Some(&last), Some(row)) = (self.of_wave.get(number), self.of_lanes.get(number)) else {
            return;
        };
        self.lane_values += 1;
        if lanes_of(issue.active).any(|lane| row[lane] != last) {
            self.report(issue.at, &format!("an active lane has an older {cell}"));
        }
    }
}

/// Words to which a ballot goes, low first.
fn ballot_cells(meaning: Option<&Meaning>) -> Option<[Cell; 2]> {
    let Some(Meaning::Set(writes)) = meaning else {
        return None;
    };
    let mut cells = writes
        .iter()
        .filter(|(_, value)| matches!(value, Expr::Ballot(..)))
        .map(|(cell, _)| *cell);
    Some([cells.next()?, cells.next()?])
}

/// Word of the warp that is all ones if a predicate holds, else 0, or the other way round (`false`).
fn choice_of_all(meaning: Option<&Meaning>) -> Option<(Cell, bool)> {
    let Some(Meaning::Set(writes)) = meaning else {
        return None;
    };
    writes.iter().find_map(|(cell, value)| match value {
        Expr::Ternary(TernaryOp::Select, _, a, b) if !cell.is_per_lane() => match (&**a, &**b) {
            (Expr::Const(u32::MAX), Expr::Const(0)) => Some((*cell, true)),
            (Expr::Const(0), Expr::Const(u32::MAX)) => Some((*cell, false)),
            _ => None,
        },
        _ => None,
    })
}

/// Vector registers that a meaning reads in the own lane.
fn cells_of(meaning: Option<&Meaning>) -> Vec<Cell> {
    let mut cells = Vec::new();
    if let Some(Meaning::Set(writes)) = meaning {
        for (_, value) in writes {
            let is_own = |expr: &Expr| !matches!(expr, Expr::FromLane(..));
            value.for_each_cell(&is_own, &mut |cell| cells.push(cell));
        }
    }
    cells
}
