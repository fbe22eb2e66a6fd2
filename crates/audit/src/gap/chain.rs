//! Bound with claims replaced by observations of the worst run.
//!
//! The numbers here are no bounds: they hold for one run. None of them becomes an `UpperBound` that leaves this
//! module.
//!
//! For example, if the bound allows 10 iterations and the run has 8, the element "loops" is the bound for 8
//! iterations. Each element keeps the claims that are not yet replaced, so the difference of two elements is what one
//! claim costs.

use std::collections::BTreeMap;

use warpbound_analyse::access::{AccessClass, AccessCounts};
use warpbound_base::Diagnostic;
use warpbound_bounds::cycles::{TimedSubject, cycle_inputs};
use warpbound_cycles::{KeepingCache, KernelTime, MachineNumbers, NodeVectors, PathTime};
use warpbound_ipet::Effort;
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;
use warpbound_machine::MachineConfig;
use warpbound_report::gap::LooseAccess;
use warpbound_simt::NodeId;
use warpbound_simt::counts::CountSystem;

use super::loose_accesses::{SeenNumbers, loose_accesses};
use super::observed::{MemoryPath, RunRecord, SeenAccess};
use super::runs::WorstRun;
use crate::audit::ObservedAccess;
use warpbound_bounds::access::TimedFindings;
use warpbound_bounds::bound::FlowFacts;
use warpbound_bounds::cycles::launch_rows::counts_of_launch;
use warpbound_bounds::{CycleInputs, CycleOptions};
use warpbound_bounds::{cycles::bound::bound_with_vectors, cycles::bound::delays};
use warpbound_query::{CacheState, KernelFlow, Prepared, Session};

/// Maximum number of improvements of the vectors for one path.
const MOST_ROUNDS: usize = 8;

/// Claims that are replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Replaced {
    pub(super) loops: bool,
    pub(super) path: bool,
    pub(super) addresses: bool,
    pub(super) hits: bool,
    pub(super) numbers: bool,
}

impl Replaced {
    /// Replaces all claims.
    pub(super) fn all() -> Replaced {
        Replaced {
            loops: true,
            path: true,
            addresses: true,
            hits: true,
            numbers: true,
        }
    }

    /// Replaces the claim that an element of the chain is named after. Returns whether it was not replaced before.
    pub(super) fn replace(&mut self, name: &str) -> bool {
        let claim = match name {
            "loops" => &mut self.loops,
            "paths" => &mut self.path,
            "addresses" => &mut self.addresses,
            "hits and misses" => &mut self.hits,
            "machine numbers" => &mut self.numbers,
            _ => return false,
        };
        !std::mem::replace(claim, true)
    }
}

/// Bound of a kernel and launch, with what the worst run did.
pub(super) struct Chain<'a> {
    session: &'a Session,
    prepared: &'a Prepared<'a>,
    flow: &'a KernelFlow,
    classes: &'a BTreeMap<OpIndex, AccessClass>,
    counts: CountSystem,
    launch: &'a LaunchFile,
    caches: CacheState,
    numbers: MachineNumbers,
    pub(super) observed: Option<Observed>,
}

/// Facts, and their observed counterparts.
pub(super) struct Observed {
    given: FlowFacts,
    pub(super) seen: FlowFacts,
    /// Number of times that each step was taken; `None` if it is not known.
    pub(super) steps: Option<BTreeMap<(NodeId, Option<NodeId>), u64>>,
    pub(super) accesses: BTreeMap<OpIndex, ObservedAccess>,
    pub(super) record: RunRecord,
    caches: CacheState,
    config: MachineConfig,
    replayed: Option<u64>,
}

impl<'a> Chain<'a> {
    /// Prepares the chain.
    ///
    /// # Errors
    ///
    /// The reason why the time of the kernel is not known.
    pub(super) fn new(
        session: &'a Session,
        prepared: &'a Prepared<'a>,
        flow: &'a KernelFlow,
        found: &'a TimedFindings,
        launch: &'a LaunchFile,
        options: &CycleOptions,
    ) -> Result<Chain<'a>, Diagnostic> {
        let chain = Chain {
            session,
            prepared,
            flow,
            classes: &found.classes,
            counts: counts_of_launch(flow, found.of_warp()),
            launch,
            caches: options.caches,
            numbers: MachineNumbers::of_ranges(&options.machine)?,
            observed: None,
        };
        // The inputs are not used here, but a kernel without them is refused before it is run.
        chain.inputs(&chain.numbers, chain.caches)?;
        Ok(chain)
    }

    /// Enters the observations of the worst run.
    pub(super) fn observe(&mut self, given: FlowFacts, worst: &WorstRun) {
        let [bounds, totals] = worst.loop_counts.clone();
        let seen = FlowFacts {
            bounds,
            totals,
            never: given.never.clone(),
        };
        let steps = worst.seen.steps.clone();
        // A run whose issues differ from the run without time took another path, so its steps are not known.
        let is_same = self.issues(&steps).as_ref() == Some(&worst.record.issued);
        self.observed = Some(Observed {
            given,
            seen,
            steps: is_same.then_some(steps),
            accesses: worst.seen.accesses.clone(),
            record: worst.record.clone(),
            caches: worst.caches(),
            config: worst.config.clone(),
            replayed: worst.replayed,
        });
    }

    /// Whether the path of the worst run is known.
    pub(super) fn has_path(&self) -> bool {
        self.observed
            .as_ref()
            .is_some_and(|seen| seen.steps.is_some())
    }

    /// Returns the issues of each instruction on a path.
    fn issues(&self, steps: &BTreeMap<(NodeId, Option<NodeId>), u64>) -> Option<Vec<u64>> {
        let mut issued = vec![0; self.prepared.code.ops.len()];
        let space = &self.flow.thread.space;
        for ((from, _), count) in steps {
            let block = space.block(*from);
            for of_op in issued.get_mut(block.first.index()..=block.last.index())? {
                *of_op += count;
            }
        }
        Some(issued)
    }

    /// Computes the bound with claims replaced by observations. The cost of a path is computed with vectors of its
    /// own and with `vectors` from the element before; the vectors of the smaller number are left in `vectors`.
    ///
    /// # Errors
    ///
    /// No bound exists.
    pub(super) fn value(
        &self,
        replaced: Replaced,
        vectors: &mut Option<NodeVectors>,
    ) -> Result<u64, Diagnostic> {
        let unknown = || Diagnostic::new("nothing is observed");
        let observed = self.observed.as_ref().ok_or_else(unknown)?;
        let numbers = match replaced.numbers {
            true => MachineNumbers::of_config(&observed.config)?,
            false => self.numbers.clone(),
        };
        let caches = match replaced.hits {
            true => observed.caches,
            false => self.caches,
        };
        let mut inputs = self.inputs(&numbers, caches)?;
        if replaced.addresses {
            observed.replace_addresses(&mut inputs, self.classes);
        }
        if replaced.hits {
            observed.replace_hits(&mut inputs);
        }
        let facts = match replaced.loops {
            true => &observed.seen,
            false => &observed.given,
        };
        // Vectors of the element before hold here as well, because costs limit a path whatever the vectors are
        // (SOUNDNESS 11.5). With them this number is no larger than the element before.
        let before = vectors.take();
        let mut best: Option<PathValue> = None;
        let mut keep = |value: PathValue| {
            if best.as_ref().is_none_or(|best| value.cycles < best.cycles) {
                best = Some(value);
            }
        };
        let mut limit = |inputs: &CycleInputs| -> Result<(), Diagnostic> {
            if replaced.path {
                keep(observed.path_value(inputs, &numbers, before.as_ref())?);
                return Ok(());
            }
            let (bound, vectors) = bound_with_vectors(
                &self.counts,
                inputs,
                &numbers,
                facts.stated(),
                Effort::default(),
            )?;
            keep(PathValue {
                cycles: bound.bound.upper_bound().limit().0,
                vectors,
            });
            Ok(())
        };
        // The smallest of all ways to count misses is taken, as in `LoneWarp::bound`.
        limit(&inputs)?;
        for cache in KeepingCache::ALL {
            if let Some(inputs) = inputs.with_counted_sectors(cache) {
                limit(&inputs)?;
            }
        }
        let best = best.ok_or_else(unknown)?;
        *vectors = Some(best.vectors);
        Ok(best.cycles)
    }

    /// Returns the accesses for which the bound counts more sectors or conflicts than the worst run had.
    ///
    /// # Errors
    ///
    /// The reason why the time of the kernel is not known.
    pub(super) fn loose_accesses(&self) -> Result<Vec<LooseAccess>, Diagnostic> {
        let claimed = self.inputs(&self.numbers, self.caches)?.accesses;
        let observed = self.observed.iter();
        let seen = observed.flat_map(|observed| &observed.accesses);
        let seen = seen.map(|(&at, seen)| {
            let most = of_execution(seen.most, self.classes.get(&at));
            let numbers = SeenNumbers {
                executions: seen.executions,
                sectors: most.sectors,
                conflicts: most.conflicts,
            };
            (at, numbers)
        });
        Ok(loose_accesses(self.prepared, &claimed, &seen.collect()))
    }

    /// Returns the time of the worst run's replay, if it has one.
    pub(super) fn replayed(&self) -> Option<u64> {
        self.observed.as_ref()?.replayed
    }

    fn inputs(
        &self,
        numbers: &MachineNumbers,
        caches: CacheState,
    ) -> Result<CycleInputs, Diagnostic> {
        cycle_inputs(&TimedSubject {
            session: self.session,
            prepared: self.prepared,
            flow: self.flow,
            classes: self.classes,
            numbers,
            caches,
            launch: Some(self.launch),
            residents: None,
        })
    }
}

impl Observed {
    /// Lowers the limits of accesses to the maximum over all executions, and drops spaces that no execution accesses.
    fn replace_addresses(
        &self,
        inputs: &mut CycleInputs,
        classes: &BTreeMap<OpIndex, AccessClass>,
    ) {
        for (at, limits) in &mut inputs.accesses {
            let seen = self.accesses.get(at).map(|seen| seen.most);
            let seen = of_execution(seen.unwrap_or_default(), classes.get(at));
            limits.spaces.retain(|limit| {
                let path = MemoryPath::of(limit.space);
                self.record.accesses.contains_key(&(*at, path))
            });
            for limit in &mut limits.spaces {
                // A number above its limit is an error, which must not disappear from the chain. It stays at the
                // limit here, and the replay may then invert the chain.
                limit.requests = limit.requests.min(seen.requests);
                limit.lines = limit.lines.min(seen.transactions);
                limit.sectors = limit.sectors.min(seen.sectors);
                limit.conflicts = limit.conflicts.min(seen.conflicts);
            }
        }
    }

    /// Allows only the misses that the run had.
    fn replace_hits(&self, inputs: &mut CycleInputs) {
        for (at, limits) in &mut inputs.accesses {
            for limit in &mut limits.spaces {
                let path = MemoryPath::of(limit.space);
                let seen = self.record.accesses.get(&(*at, path));
                let seen = seen.copied().unwrap_or_default();
                limit.may_hit_l1 &= seen.hits_l1;
                limit.may_miss &= seen.l2_misses > 0;
                limit.may_evict &= seen.reaches_dram;
                limit.may_walk &= seen.tlb_misses > 0;
            }
        }
        let sum = |path, count: fn(&SeenAccess) -> u64| -> u64 {
            let all = self.record.accesses.iter();
            all.filter(|((_, own), _)| *own == path)
                .map(|(_, seen)| count(seen))
                .sum()
        };
        let paths = [MemoryPath::Global, MemoryPath::Local];
        for (translations, path) in inputs.translations.iter_mut().zip(paths) {
            let misses = sum(path, |seen| seen.tlb_misses);
            // The record does not tell walks from hits in the second TLB, so misses are walks as far as the bound
            // allows. The rest is not negative.
            translations.walks = translations.walks.min(misses);
            translations.first_level = translations.first_level.min(misses - translations.walks);
        }
        let missing = sum(MemoryPath::Global, |seen| seen.l2_misses);
        inputs.sectors = Some(
            inputs
                .sectors
                .map_or(missing, |sectors| sectors.min(missing)),
        );
        let lines_may_miss = self.caches == CacheState::Cold || self.record.lines_from_dram;
        inputs.lines_may_miss &= lines_may_miss;
        inputs.constants_may_miss &= lines_may_miss;
        let mut spaces = inputs.accesses.values().flat_map(|limits| &limits.spaces);
        let reached = spaces.any(|limit| limit.may_miss || limit.may_evict);
        // Refreshes delay the path only if something reaches DRAM.
        inputs.reaches_dram &= inputs.lines_may_miss || inputs.constants_may_miss || reached;
    }

    /// Returns the cost of the path of the run.
    fn path_value(
        &self,
        inputs: &CycleInputs,
        numbers: &MachineNumbers,
        known: Option<&NodeVectors>,
    ) -> Result<PathValue, Diagnostic> {
        let unknown =
            || Diagnostic::new("the path of the worst run is not one of the warp-level graph");
        let mut steps = self.steps.clone().ok_or_else(unknown)?;
        // Steps between the same nodes cost the same, so all executions go to the first of them.
        let counts = inputs.steps.iter().map(|step| {
            let to = step.to.map(|to| NodeId(to as u32));
            u128::from(steps.remove(&(NodeId(step.from as u32), to)).unwrap_or(0))
        });
        let counts: Vec<u128> = counts.collect();
        // A step that is left over is not in the graph, so the sum would lack its cost.
        if !steps.is_empty() {
            return Err(unknown());
        }
        let kernel = inputs.kernel();
        let mut time = KernelTime::new(&kernel, numbers);
        for _ in 0..MOST_ROUNDS {
            if !time.improve(&counts) {
                break;
            }
        }
        let own = path_cost(inputs, &time.costs(), &counts).ok_or_else(unknown)?;
        let (mut least, mut vectors) = (own, time.vectors());
        if let Some(known) = known {
            time.use_vectors(known);
            // Both sums limit the path (SOUNDNESS 11.5), so the smaller one counts.
            let other = path_cost(inputs, &time.costs(), &counts);
            if let Some(other) = other.filter(|other| *other < least) {
                (least, vectors) = (other, known.clone());
            }
        }
        // Refreshes are added to the whole path at last, because their number depends on its length.
        let all = delays(inputs, numbers)?.add_to(least);
        let cycles = all.and_then(|cycles| u64::try_from(cycles).ok());
        let too_many = || Diagnostic::new("the cycles of the path have more than 64 bits");
        Ok(PathValue {
            cycles: cycles.ok_or_else(too_many)?,
            vectors,
        })
    }
}

/// Returns the numbers of an execution as limits count them. An instruction with two addresses (ds_read2) makes two
/// accesses, each with the observed numbers at most. The machine decides the width of banks, so conflicts are the worse
/// ones of both widths.
pub(super) fn of_execution(most: AccessCounts, class: Option<&AccessClass>) -> AccessCounts {
    let parts = class.map_or(1, |class| class.shape.parts());
    let worse = AccessCounts {
        conflicts: most.conflicts.max(most.byte_conflicts),
        ..most
    };
    let of_all = worse.numbers().map(|number| number.saturating_mul(parts));
    AccessCounts::of_numbers(of_all)
}

/// Cost of a path, with the vectors that it was computed with.
struct PathValue {
    cycles: u64,
    vectors: NodeVectors,
}

/// Returns the cost of a path from the number of times that each step is taken; `None` if the path takes a step
/// without a cost.
fn path_cost(inputs: &CycleInputs, costs: &PathTime, counts: &[u128]) -> Option<u128> {
    let mut cycles = u128::from(costs.start.cycles);
    for (cost, &count) in costs
        .steps
        .iter()
        .zip(counts)
        .filter(|(_, count)| **count > 0)
    {
        cycles += u128::from(cost.as_ref()?.cycles) * count;
    }
    let executions = |node: usize| {
        let own = inputs.steps.iter().zip(counts);
        own.filter(|(step, _)| step.from == node)
            .map(|(_, count)| count)
            .sum()
    };
    // First misses are in no step, and are paid at most as often as they can happen (SOUNDNESS 11.4).
    for once in &costs.once {
        cycles += u128::from(once.cycles) * once.times(executions);
    }
    Some(cycles)
}
