//! Paths of the warps of a run: the nodes that each has passed, and sums of costs over them.
//!
//! A path is divided into segments at aligned barriers (SOUNDNESS 20.4). Equal segments and equal paths are kept
//! once, because most warps of a launch take the same path. For example, two warps with one barrier whose paths
//! differ only before it have three distinct segments. The sums take the place of the integer program of the bound,
//! for paths that are known.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{Cycles, Diagnostic, Observed};
use warpbound_cycles::{KernelTime, NodeVectors, OnceCost, PathTime};
use warpbound_ipet::BlockChain;
use warpbound_ir::OpIndex;

use super::record::{LaunchRecord, WarpKey};
use warpbound_bounds::CycleInputs;
use warpbound_bounds::{
    cycles::launch_bound::PathSums, cycles::launch_bound::SumVectors,
    cycles::launch_bound::costs_among,
};

/// Number of a segment in the list of distinct segments.
type SegmentId = usize;

/// Paths of the warps of a run.
pub(super) struct LaunchPaths {
    /// Nodes that each warp has passed, in order.
    pub(super) nodes: BTreeMap<WarpKey, Vec<u32>>,
    /// Distinct segments: the numbers of their steps, and how often each is taken.
    pub(super) segments: Vec<Vec<(usize, u64)>>,
    /// Distinct paths of warps, as lists of segments. A warp with aligned barriers has one segment more than
    /// barriers, any other warp a single one.
    warps: BTreeSet<Vec<SegmentId>>,
    /// Distinct chains: for each position, the segments that the warps of a block take there.
    chains: BTreeSet<Vec<BTreeSet<SegmentId>>>,
    /// Chain of each block.
    pub(super) of_block: BTreeMap<u64, Vec<BTreeSet<SegmentId>>>,
}

impl LaunchPaths {
    /// Finds the paths of a record.
    ///
    /// # Errors
    ///
    /// A path is not in the warp-level graph, its nodes do not follow from its instructions, or warps of a block pass
    /// different numbers of barriers that the bound takes to be aligned.
    pub(super) fn of(
        record: &LaunchRecord,
        inputs: &CycleInputs,
        chain: BlockChain,
    ) -> Result<LaunchPaths, Diagnostic> {
        let finder = PathFinder::new(inputs);
        let mut numbers: BTreeMap<Vec<(usize, u64)>, SegmentId> = BTreeMap::new();
        let mut paths = LaunchPaths {
            nodes: BTreeMap::new(),
            segments: Vec::new(),
            warps: BTreeSet::new(),
            chains: BTreeSet::new(),
            of_block: BTreeMap::new(),
        };
        for (&key, warp) in &record.warps {
            let nodes = finder.nodes(&warp.ops)?;
            let segments = finder.segments(&nodes, chain == BlockChain::Aligned)?;
            let mut own = Vec::with_capacity(segments.len());
            for segment in segments {
                // A number is a position in `paths.segments`, so a new segment gets the next one.
                let next = numbers.len();
                let number = *numbers.entry(segment.clone()).or_insert(next);
                if number == next {
                    paths.segments.push(segment);
                }
                own.push(number);
            }
            let is_new = !paths.of_block.contains_key(&key.0);
            let of_block = paths.of_block.entry(key.0).or_default();
            if is_new {
                of_block.resize(own.len(), BTreeSet::new());
            }
            if of_block.len() != own.len() {
                return Err(Diagnostic::new(
                    "warps of a block pass different numbers of barriers, which the bound takes to be aligned",
                ));
            }
            for (known, &number) in of_block.iter_mut().zip(&own) {
                known.insert(number);
            }
            paths.warps.insert(own);
            paths.nodes.insert(key, nodes);
        }
        paths.chains = paths.of_block.values().cloned().collect();
        Ok(paths)
    }

    /// Returns how often a segment pays each cost: the executions of its nodes, each times the payments of one
    /// execution.
    fn payments(&self, inputs: &CycleInputs, segment: SegmentId, once: &[OnceCost]) -> Vec<u64> {
        let mut executions: BTreeMap<usize, u64> = BTreeMap::new();
        for &(step, count) in self.segments.get(segment).into_iter().flatten() {
            if let Some(step) = inputs.steps.get(step) {
                *executions.entry(step.from).or_default() += count;
            }
        }
        let of_cost = |once: &OnceCost| {
            let own = once.nodes.iter().map(|(node, times)| {
                let executions = executions.get(node).copied().unwrap_or(0);
                executions.saturating_mul(*times)
            });
            // Callers cap the payments of a cost, so saturation loses nothing.
            own.fold(0, u64::saturating_add)
        };
        once.iter().map(of_cost).collect()
    }

    /// Returns the maximum of the costs that a block's chain pays a limited number of times, in cycles.
    pub(super) fn most_once(&self, inputs: &CycleInputs, block: u64, once: &[OnceCost]) -> u64 {
        let mut times = vec![0u64; once.len()];
        for segments in self.of_block.get(&block).into_iter().flatten() {
            let mut most = vec![0; once.len()];
            for &segment in segments {
                let own = self.payments(inputs, segment, once);
                for (most, own) in most.iter_mut().zip(own) {
                    // The chain takes one warp for each segment, so the maximum over the warps covers its payments.
                    *most = own.max(*most);
                }
            }
            for (times, most) in times.iter_mut().zip(most) {
                *times = times.saturating_add(most);
            }
        }
        let cycles = once.iter().zip(times);
        // A first miss happens at most `most` times, however often its instructions are executed (SOUNDNESS 11.4).
        let cycles = cycles.map(|(once, times)| times.min(once.most).saturating_mul(once.cycles));
        cycles.fold(0, u64::saturating_add)
    }
}

/// Finder of the nodes that instructions belong to.
struct PathFinder<'a> {
    inputs: &'a CycleInputs,
    /// Steps from each node: their numbers.
    outgoing: Vec<Vec<usize>>,
    /// Whether each node has a barrier.
    arrives: Vec<bool>,
}

impl<'a> PathFinder<'a> {
    fn new(inputs: &'a CycleInputs) -> PathFinder<'a> {
        let mut outgoing = vec![Vec::new(); inputs.nodes.len()];
        for (number, step) in inputs.steps.iter().enumerate() {
            if let Some(list) = outgoing.get_mut(step.from) {
                list.push(number);
            }
        }
        let arrives = inputs.nodes.iter().map(|ends| {
            let ops = ends.iter().flat_map(|(first, last)| first.0..=last.0);
            let mut facts = ops.filter_map(|op| inputs.facts.get(op as usize));
            facts.any(|facts| facts.arrives)
        });
        PathFinder {
            inputs,
            outgoing,
            arrives: arrives.collect(),
        }
    }

    fn ends(&self, node: usize) -> Option<(OpIndex, OpIndex)> {
        self.inputs.nodes.get(node).copied().flatten()
    }

    /// Returns the nodes that the instructions of a warp belong to, in order.
    fn nodes(&self, ops: &[OpIndex]) -> Result<Vec<u32>, Diagnostic> {
        let foreign =
            || Diagnostic::new("the path of the worst run is not one of the warp-level graph");
        let mut nodes = Vec::new();
        let mut node = self.inputs.entry;
        let mut before: Option<OpIndex> = None;
        for &at in ops {
            let (first, last) = self.ends(node).ok_or_else(foreign)?;
            match before {
                None if at == first => nodes.push(node as u32),
                Some(before) if before < last && at == before.next() => {}
                Some(before) if before == last => {
                    node = self.next(node, at)?.ok_or_else(foreign)?;
                    nodes.push(node as u32);
                }
                _ => return Err(foreign()),
            }
            before = Some(at);
        }
        let (_, last) = self.ends(node).ok_or_else(foreign)?;
        // A path that stops within a block is cut off, and its last node has no step.
        match before == Some(last) {
            true => Ok(nodes),
            false => Err(foreign()),
        }
    }

    /// Returns the node that begins with an instruction and follows another node; `None` if there is none.
    fn next(&self, node: usize, at: OpIndex) -> Result<Option<usize>, Diagnostic> {
        let steps = self.outgoing.get(node).into_iter().flatten();
        let targets = steps.filter_map(|&number| self.inputs.steps.get(number)?.to);
        let targets = targets.filter(|&to| self.ends(to).is_some_and(|(first, _)| first == at));
        // Nodes of several calling contexts may begin with the same instruction.
        let targets: BTreeSet<usize> = targets.collect();
        match targets.len() {
            0 | 1 => Ok(targets.into_iter().next()),
            _ => Err(Diagnostic::new(
                "the calling context of a step of the worst run does not follow from its instructions",
            )),
        }
    }

    /// Returns the steps of a path and how often they are taken, separately for the segments between nodes with
    /// barriers.
    fn segments(&self, nodes: &[u32], splits: bool) -> Result<Vec<Vec<(usize, u64)>>, Diagnostic> {
        let foreign =
            || Diagnostic::new("a step of the worst run is not one of the warp-level graph");
        let mut segments = vec![BTreeMap::new()];
        for (position, &from) in nodes.iter().enumerate() {
            let from = from as usize;
            if splits && self.arrives.get(from).copied().unwrap_or(false) {
                segments.push(BTreeMap::new());
            }
            let to = nodes.get(position + 1).map(|&to| to as usize);
            let mut steps = self.outgoing.get(from).into_iter().flatten();
            // Steps between the same nodes cost the same, so the first of them stands for all.
            let step = steps.find(|&&number| {
                let step = self.inputs.steps.get(number);
                step.is_some_and(|step| step.to == to)
            });
            let step = *step.ok_or_else(foreign)?;
            if let Some(segment) = segments.last_mut() {
                *segment.entry(step).or_insert(0) += 1;
            }
        }
        let lists = segments.into_iter();
        Ok(lists.map(|segment| segment.into_iter().collect()).collect())
    }
}

/// Sums over the paths of a run.
pub(super) struct ObservedSums<'a> {
    pub(super) paths: &'a LaunchPaths,
    pub(super) inputs: &'a CycleInputs,
    /// Vectors of the element of the chain before.
    pub(super) known: Option<&'a SumVectors>,
}

/// Maximum number of improvements of the vectors for the paths of a run.
const MOST_ROUNDS: usize = 3;

/// Maximum number of combinations of cycles and payments that are distinguished.
const MOST_STATES: usize = 1 << 10;

impl ObservedSums<'_> {
    /// Prices all segments.
    fn price<'c>(&self, costs: &'c PathTime) -> Result<PricedSegments<'c>, Diagnostic> {
        let never = || Diagnostic::new("a step of the worst run has no cost");
        let mut segments = Vec::with_capacity(self.paths.segments.len());
        for (number, steps) in self.paths.segments.iter().enumerate() {
            let mut cycles = 0u64;
            for &(step, count) in steps {
                let cost = costs.steps.get(step).and_then(Option::as_ref);
                let cost = cost.ok_or_else(never)?.cycles;
                cycles = cycles.saturating_add(cost.saturating_mul(count));
            }
            let payments = self.paths.payments(self.inputs, number, &costs.once);
            segments.push((cycles, payments));
        }
        Ok(PricedSegments { costs, segments })
    }

    /// Returns the steps of a chain that takes the longest warp of each segment.
    fn longest(&self, chain: &[BTreeSet<SegmentId>], priced: &PricedSegments<'_>) -> Vec<u128> {
        let mut counts = vec![0; self.inputs.steps.len()];
        for segments in chain {
            let longest = segments.iter().max_by_key(|&&segment| priced.of(segment).0);
            let steps = longest.and_then(|&segment| self.paths.segments.get(segment));
            for &(step, count) in steps.into_iter().flatten() {
                if let Some(known) = counts.get_mut(step) {
                    *known += u128::from(count);
                }
            }
        }
        counts
    }

    /// Returns the cost of the most expensive chain.
    fn greatest(&self, costs: &PathTime) -> Result<u64, Diagnostic> {
        let priced = self.price(costs)?;
        let chains = self.paths.chains.iter();
        Ok(chains.map(|chain| priced.chain(chain)).max().unwrap_or(0))
    }

    /// Adapts the vectors to the longest of the chains.
    fn improve(&self, time: &mut KernelTime<'_>) -> Result<(), Diagnostic> {
        for _ in 0..MOST_ROUNDS {
            let costs = time.costs();
            let priced = self.price(&costs)?;
            let chains = self.paths.chains.iter();
            let Some(chain) = chains.max_by_key(|chain| priced.chain(chain)) else {
                break;
            };
            if !time.improve(&self.longest(chain, &priced)) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the smaller of the costs with the vectors of `time` and with known vectors. Both limit the paths,
    /// because costs do so whatever the vectors are (SOUNDNESS 11.5).
    fn lesser(
        &self,
        time: &mut KernelTime<'_>,
        known: Option<&NodeVectors>,
        costs: impl Fn(&KernelTime<'_>) -> PathTime,
    ) -> Result<(Observed<Cycles>, NodeVectors), Diagnostic> {
        let own = time.vectors();
        let mut best = (self.greatest(&costs(time))?, own.clone());
        if let Some(known) = known {
            time.use_vectors(known);
            let other = self.greatest(&costs(time));
            // Later sums use the vectors of this element again, so they are restored.
            time.use_vectors(&own);
            if let Ok(other) = other
                && other < best.0
            {
                best = (other, known.clone());
            }
        }
        Ok((Observed(Cycles(best.0)), best.1))
    }
}

/// Cycles of each segment, and the number of times that it pays each cost that is limited.
struct PricedSegments<'a> {
    costs: &'a PathTime,
    segments: Vec<(u64, Vec<u64>)>,
}

impl PricedSegments<'_> {
    fn of(&self, segment: SegmentId) -> (u64, &[u64]) {
        let found = self.segments.get(segment);
        found.map_or((0, &[]), |(cycles, payments)| (*cycles, payments))
    }

    /// Returns the maximum cost of a chain over the choices of a warp for each segment, including costs that it pays
    /// a limited number of times.
    fn chain(&self, chain: &[BTreeSet<SegmentId>]) -> u64 {
        // The longest warp of each segment need not give the maximum: a shorter warp may pay a first miss that no
        // other segment pays. So cycles and payments are followed together.
        let once = &self.costs.once;
        let mut states: BTreeSet<(u64, Vec<u64>)> =
            BTreeSet::from([(self.costs.start.cycles, vec![0; once.len()])]);
        for segments in chain {
            let mut next = BTreeSet::new();
            for (cycles, payments) in segments.iter().map(|&segment| self.of(segment)) {
                for (known, paid) in &states {
                    let paid = paid.iter().zip(payments).zip(once);
                    let paid =
                        // Capped payments make states equal that can pay nothing more.
                        paid.map(|((paid, own), once)| paid.saturating_add(*own).min(once.most));
                    next.insert((known.saturating_add(cycles), paid.collect::<Vec<u64>>()));
                }
            }
            states = greatest_states(next);
        }
        let totals = states.iter().map(|(cycles, paid)| {
            let once = once.iter().zip(paid);
            let once = once.map(|(once, times)| once.cycles.saturating_mul(*times));
            once.fold(*cycles, u64::saturating_add)
        });
        totals.max().unwrap_or(0)
    }
}

/// Drops states that another state exceeds in cycles and in all payments. If there are too many, one state with the
/// maximum of each component takes the place of all, which can only raise the cost.
fn greatest_states(states: BTreeSet<(u64, Vec<u64>)>) -> BTreeSet<(u64, Vec<u64>)> {
    let is_within = |own: &(u64, Vec<u64>), other: &(u64, Vec<u64>)| {
        own.0 <= other.0 && own.1.iter().zip(&other.1).all(|(own, other)| own <= other)
    };
    if states.len() > MOST_STATES {
        let most = states.into_iter().reduce(|first, second| {
            let paid = first.1.iter().zip(&second.1);
            let paid = paid.map(|(first, second)| *first.max(second));
            (first.0.max(second.0), paid.collect())
        });
        return most.into_iter().collect();
    }
    let mut kept: Vec<(u64, Vec<u64>)> = Vec::new();
    // In descending order, only a state that came before can exceed a state.
    for state in states.into_iter().rev() {
        if !kept.iter().any(|other| is_within(&state, other)) {
            kept.push(state);
        }
    }
    kept.into_iter().collect()
}

impl PathSums for ObservedSums<'_> {
    type Sum = Observed<Cycles>;

    fn cycles(sum: &Observed<Cycles>) -> u64 {
        let Observed(Cycles(cycles)) = sum;
        *cycles
    }

    fn path(
        &self,
        time: &mut KernelTime<'_>,
        counts_first: bool,
    ) -> Result<(Observed<Cycles>, NodeVectors), Diagnostic> {
        self.improve(time)?;
        let known = self.known.map(|known| &known.path);
        self.lesser(time, known, |time| costs_among(time, counts_first))
    }

    fn followed(
        &self,
        time: &mut KernelTime<'_>,
        counts_first: bool,
    ) -> Result<(Observed<Cycles>, NodeVectors), Diagnostic> {
        let known = self.known.map(|known| &known.followed);
        self.lesser(time, known, |time| {
            costs_among(time, counts_first).followed()
        })
    }

    fn of_chain(&self, of_node: &dyn Fn(usize) -> u64) -> Result<Observed<Cycles>, Diagnostic> {
        let chains = self.paths.chains.iter().map(|chain| {
            let segments = chain.iter().map(|segments| {
                let own = segments.iter();
                own.map(|&segment| self.sum(segment, of_node))
                    .max()
                    .unwrap_or(0)
            });
            segments.fold(0, u64::saturating_add)
        });
        Ok(Observed(Cycles(chains.max().unwrap_or(0))))
    }

    fn of_warp(
        &self,
        of_node: &dyn Fn(usize) -> u64,
        of_warp: u64,
    ) -> Result<Observed<Cycles>, Diagnostic> {
        let warps = self.paths.warps.iter().map(|segments| {
            let own = segments.iter().map(|&segment| self.sum(segment, of_node));
            own.fold(of_warp, u64::saturating_add)
        });
        Ok(Observed(Cycles(warps.max().unwrap_or(0))))
    }
}

impl ObservedSums<'_> {
    /// Returns the sum of `of_node` over the executed nodes of a segment.
    fn sum(&self, segment: SegmentId, of_node: &dyn Fn(usize) -> u64) -> u64 {
        let steps = self.paths.segments.get(segment).into_iter().flatten();
        let own = steps.map(|&(step, count)| {
            let from = self.inputs.steps.get(step).map(|step| step.from);
            from.map_or(0, of_node).saturating_mul(count)
        });
        own.fold(0, u64::saturating_add)
    }
}
