//! Cycle bound of a block: combines the work of its warps, each from its profile or from integer programs.
//!
//! See [`warpbound_ipet::block`] for the argument that combines issues and stalls of warps.
//!
//! For example, two warps of 3 instructions each, with a latency of 4 cycles and no barriers, have a bound of 15
//! cycles: 6 issues, and 3 stall cycles after each instruction of one warp.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::warp_profile::{ProfiledWarp, Region, RegionCost, WarpProfiler};
use warpbound_base::{CodeAddr, Cycles, Instructions, Quantity, UpperBound};
use warpbound_ipet::block::{BlockBound, UnsatisfiedBarrier, WarpWork, block_bound};
use warpbound_ipet::{Effort, Ipet, NumberTooLarge, Verdict};
use warpbound_ir::{Cell, Code, ControlEffect, Meaning, OpIndex};
use warpbound_simt::NodeId;
use warpbound_simt::warp::WarpModel;

use warpbound_analyse::LaunchContext;
use warpbound_query::KernelFlow;
use warpbound_query::mini;

/// Maximum number of distinct sets of loop bounds for which integer programs are solved. With more, all warps get the
/// largest bounds.
const MAX_KINDS: usize = 32;

/// Upper bound on the header executions of a thread per entry of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeaderBound {
    /// Bound of every thread.
    All(u64),
    /// Bound of the threads of each warp, by warp.
    ByWarp(Vec<u64>),
}

impl HeaderBound {
    /// Returns the bound of the threads of a warp.
    fn of(&self, warp: usize) -> u64 {
        match self {
            HeaderBound::All(bound) => *bound,
            // The list has all warps of the block, so the 0 is for a warp that does not run.
            HeaderBound::ByWarp(bounds) => bounds.get(warp).copied().unwrap_or(0),
        }
    }

    /// Returns the largest bound over all warps.
    fn maximum(&self) -> u64 {
        match self {
            HeaderBound::All(bound) => *bound,
            HeaderBound::ByWarp(bounds) => bounds.iter().copied().max().unwrap_or(0),
        }
    }
}

/// Launch of one block on a mini-SIMT machine.
pub struct BlockLaunch<'a> {
    /// Code of the kernel.
    pub code: &'a Code,
    /// Machine that the block runs on.
    pub machine: &'a mini::Machine,
    /// Threads of the block.
    pub threads: u32,
    /// Initial values of cells that do not start with 0, equal in all threads.
    pub cells: &'a [(Cell, u32)],
    /// Bounds of loops, by the addresses of their headers.
    pub loops: &'a BTreeMap<Vec<CodeAddr>, HeaderBound>,
    /// Maximum number of lane instructions for the profiles of all warps. Warps beyond it are bounded as a whole.
    pub profile_steps: u64,
}

/// Bound of a block, and the precision of the warp profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockResult {
    /// Bound in cycles.
    pub bound: BlockBound,
    /// Numbers of warps: with an exact profile; with a profile that is exact except for regions that depend on data;
    /// bounded as a whole.
    pub outlines: [usize; 3],
}

/// Reason why a block has no bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoBlockBound {
    /// A barrier is never satisfied.
    Unsatisfied(UnsatisfiedBarrier),
    /// A warp has no bound.
    Warp(String),
}

impl BlockLaunch<'_> {
    /// Default limit of lane instructions for profiles: large blocks within seconds.
    pub const PROFILE_STEPS: u64 = 200_000_000;

    /// Returns the facts of the launch for the analyses.
    pub fn launch(&self) -> LaunchContext {
        LaunchContext {
            warp_width: self.machine.warp_width,
            block: Some([self.threads, 1, 1]),
            ..LaunchContext::default()
        }
    }

    /// Returns the model of a warp of the machine with `lanes` live lanes.
    pub fn model(&self, lanes: u64) -> WarpModel {
        WarpModel {
            may_diverge: lanes > 1,
            order: self.machine.order,
            ..WarpModel::default()
        }
    }

    /// Returns the number of warps of the block.
    pub fn warps(&self) -> usize {
        self.threads.div_ceil(self.machine.warp_width) as usize
    }

    /// Returns the number of live lanes of a warp.
    fn lanes(&self, warp: usize) -> u32 {
        // A warp has at least one thread, so its number fits into 32 bits and its first thread exists.
        let first = warp as u32 * self.machine.warp_width;
        (self.threads - first).min(self.machine.warp_width)
    }

    /// Returns the maximum number of stall cycles of a warp after an instruction, in addition to the cycle of its
    /// issue.
    fn stall_cycles(&self, at: OpIndex) -> u64 {
        let machine = self.machine;
        let latency = match self.code.get(at) {
            // The end is no instruction, and nothing waits for it.
            Some(op) if op.control == ControlEffect::End => return 0,
            Some(op) => match op.meaning {
                Some(Meaning::Load { .. }) => machine.memory,
                _ if op.barrier => machine.barrier_release,
                _ => machine.plain,
            },
            None => return 0,
        };
        // A wait is at most the largest latency less the cycle of the issue (SOUNDNESS 6.1).
        latency.most.0.saturating_sub(1)
    }

    /// Computes a bound of the cycles of the block. `flow` is the control flow of its code for [`BlockLaunch::launch`].
    ///
    /// # Errors
    ///
    /// A warp has no bound, or the block certainly does not end.
    pub fn bound(&self, flow: &KernelFlow) -> Result<BlockResult, NoBlockBound> {
        let waits = |at: OpIndex| self.stall_cycles(at);
        let whole = loop_bodies(flow);
        let known: RefCell<HashMap<(Region, u32), Option<RegionCost>>> = RefCell::default();
        // Warps meet the same regions again and again, so each cost is computed once.
        let bound_region = |region: Region, lanes: u32| {
            if let Some(cost) = known.borrow().get(&(region, lanes)) {
                return *cost;
            }
            let cost = self.region(region, lanes, &whole);
            known.borrow_mut().insert((region, lanes), cost);
            cost
        };
        let mut outliner = WarpProfiler::new(self.code, &waits, &bound_region, self.profile_steps);
        let mut works: Vec<(WarpWork, u64)> = Vec::new();
        let mut positions: HashMap<Vec<warpbound_simt::epochs::Epoch>, usize> = HashMap::new();
        let mut warp_profiles = [0; 3];
        let mut rest = Vec::new();
        for warp in 0..self.warps() {
            let lanes = ProfiledWarp {
                first: warp as u32 * self.machine.warp_width,
                count: self.lanes(warp),
                cells: self.cells,
                order: self.machine.order,
            };
            match outliner.profile(&lanes) {
                Ok(outline) => {
                    warp_profiles[usize::from(!outline.exact)] += 1;
                    // Warps with equal profiles share an entry, so the sums of `block_bound` stay small for large
                    // blocks.
                    match positions.get(&outline.epochs) {
                        Some(&at) => works[at].1 += 1,
                        None => {
                            positions.insert(outline.epochs.clone(), works.len());
                            works.push((WarpWork::Epochs(outline.epochs), 1));
                        }
                    }
                }
                // A warp that cannot be executed is bounded as a whole, from the facts about its loops (SOUNDNESS
                // 6.3).
                Err(_) => {
                    warp_profiles[2] += 1;
                    rest.push(warp);
                }
            }
        }
        works.extend(self.whole_warps(flow, &rest)?);
        let bound = block_bound(&works).map_err(NoBlockBound::Unsatisfied)?;
        Ok(BlockResult {
            bound,
            outlines: warp_profiles,
        })
    }

    /// Bounds the work of these warps, each as a whole by integer programs. Equal warps share an entry with their
    /// number.
    ///
    /// # Errors
    ///
    /// A warp has no bound.
    pub fn whole_warps(
        &self,
        flow: &KernelFlow,
        warps: &[usize],
    ) -> Result<Vec<(WarpWork, u64)>, NoBlockBound> {
        let barriers = self.code.ops.iter().any(|op| op.barrier);
        let sites = &flow.loops.sites;
        let mut kinds: BTreeMap<Vec<Option<u64>>, u64> = BTreeMap::new();
        for &warp in warps {
            let bounds = sites.iter().map(|site| {
                let known = self.loops.get(&site.headers);
                known.map(|bound| bound.of(warp))
            });
            *kinds.entry(bounds.collect()).or_default() += 1;
        }
        // A larger loop bound only weakens its rows, so the largest bound of each loop is sound for every warp.
        if kinds.len() > MAX_KINDS {
            let most = sites.iter().map(|site| {
                let known = self.loops.get(&site.headers);
                known.map(HeaderBound::maximum)
            });
            kinds = BTreeMap::from([(most.collect(), warps.len() as u64)]);
        }
        kinds
            .into_iter()
            .map(|(bounds, count)| {
                // Issues and stalls are maximised separately: no run exceeds either maximum, so their sum is sound.
                let issues = self.issues(self.code, flow, &bounds);
                let waits = self.waits(self.code, flow, &bounds);
                let work = WarpWork::Total {
                    issues: issues.map_err(NoBlockBound::Warp)?,
                    waits: waits.map_err(NoBlockBound::Warp)?,
                    barriers,
                };
                Ok((work, count))
            })
            .collect()
    }

    /// Bounds the issues and stalls of `lanes` lanes in a region: the region becomes a kernel of its own, which ends
    /// after the reconvergence point.
    ///
    /// Cut out and entered elsewhere, code may have other loops with the same headers. The bound of a loop of the whole
    /// code (`whole`) holds for a loop of the region that is contained in it: as long as a thread stays in the
    /// contained loop, it stays in the containing one.
    fn region(
        &self,
        region: Region,
        lanes: u32,
        whole: &BTreeMap<Vec<CodeAddr>, BTreeSet<OpIndex>>,
    ) -> Option<RegionCost> {
        let mut code = self.code.clone();
        code.entry = region.from;
        // Agreement at the entry of the kernel says nothing about cells at the entry of the region.
        code.agreed_at_entry.clear();
        if let Some(point) = region.reconvergence {
            code.ops.get_mut(point.index())?.control = ControlEffect::Exit;
            for op in &mut code.ops {
                if let ControlEffect::Branch { reconvergence, .. } = &mut op.control
                    && *reconvergence == Some(point)
                {
                    *reconvergence = None;
                }
            }
        }
        let launch = LaunchContext {
            block: Some([lanes, 1, 1]),
            ..self.launch()
        };
        let model = self.model(lanes.into());
        let flow = KernelFlow::analyse(&code, &launch, &model, &Limits::default()).ok()?;
        let bodies = loop_bodies(&flow);
        let bounds: Vec<Option<u64>> = flow
            .loops
            .sites
            .iter()
            .map(|site| {
                let inside = bodies.get(&site.headers)?;
                let known = whole.get(&site.headers)?;
                let bound = self.loops.get(&site.headers)?;
                // SOUNDNESS 6.3: facts of a loop hold for contained loops only.
                // The caller keeps the cost for all warps with this number of lanes, so the largest bound counts.
                inside.is_subset(known).then(|| bound.maximum())
            })
            .collect();
        let issues = self.issues(&code, &flow, &bounds).ok()?;
        let stalls = self.waits(&code, &flow, &bounds).ok()?;
        Some(RegionCost {
            issues: u64::try_from(issues.limit().0).ok()?,
            stalls: stalls.limit().0,
        })
    }

    /// Bounds the instructions that a warp issues, the end not included, in 64 bits.
    fn issues(
        &self,
        code: &Code,
        flow: &KernelFlow,
        bounds: &[Option<u64>],
    ) -> Result<UpperBound<Instructions>, String> {
        let issues = solve_warp(code, flow, bounds, |_| 1, |n| Instructions(n.into()))?;
        match u64::try_from(issues.limit().0) {
            Ok(_) => Ok(issues),
            Err(_) => Err("the bound of a warp has more than 64 bits".to_owned()),
        }
    }

    /// Bounds the stall cycles after the instructions of a warp.
    fn waits(
        &self,
        code: &Code,
        flow: &KernelFlow,
        bounds: &[Option<u64>],
    ) -> Result<UpperBound<Cycles>, String> {
        solve_warp(code, flow, bounds, |at| self.stall_cycles(at), Cycles)
    }
}

/// Solves the integer program of a warp. Each operation costs `cost`, in the unit of `quantity`, and the end costs
/// nothing.
fn solve_warp<Q: Quantity>(
    code: &Code,
    flow: &KernelFlow,
    bounds: &[Option<u64>],
    cost: impl Fn(OpIndex) -> u64,
    quantity: impl Fn(u64) -> Q,
) -> Result<UpperBound<Q>, String> {
    let of_node = |node: NodeId| {
        let block = flow.thread.space.block(node);
        let ops = block.ops();
        let issued = ops.filter(|&at| {
            code.get(at)
                .is_some_and(|op| op.control != ControlEffect::End)
        });
        // A saturated cost does not fit into the integer program, which refuses it.
        quantity(issued.map(&cost).fold(0, u64::saturating_add))
    };
    let ipet = Ipet::new(&flow.counts, of_node, bounds).map_err(|number| match number {
        NumberTooLarge::LoopFact(_) => "the bound of a loop is too large to compute with",
        NumberTooLarge::Cost(_) => "the cost of a block is too large to compute with",
    })?;
    match ipet.solve(Effort::default()) {
        Ok(Verdict::Bounded(bound)) => Ok(bound.upper_bound()),
        Ok(Verdict::Unbounded { missing_bounds }) => Err(match missing_bounds {
            0 => "the count rows leave a count without limit".to_owned(),
            1 => "1 loop that depends on data has no bound".to_owned(),
            n => format!("{n} loops that depend on data have no bound"),
        }),
        Ok(Verdict::Refused(why)) => Err(why.to_string()),
        Err(_) => Err("the facts contradict each other: no execution obeys them all".to_owned()),
    }
}

/// Returns the operations of each loop in all contexts, by the addresses of its headers.
fn loop_bodies(flow: &KernelFlow) -> BTreeMap<Vec<CodeAddr>, BTreeSet<OpIndex>> {
    let space = &flow.thread.space;
    let mut bodies: BTreeMap<Vec<CodeAddr>, BTreeSet<OpIndex>> = BTreeMap::new();
    for counted in &flow.loops.loops {
        if let Some(site) = flow.loops.sites.get(counted.fact) {
            // Contexts are united, because the facts about a loop are stated once for all of them.
            let body = bodies.entry(site.headers.clone()).or_default();
            for &node in &counted.body {
                body.extend(space.block(node).ops());
            }
        }
    }
    bodies
}
