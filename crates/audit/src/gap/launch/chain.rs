//! Bound of a launch with claims replaced by observations of its worst run.
//!
//! The numbers here are no bounds: they hold for one run, and are typed as observations.
//!
//! For example, the element "addresses" takes the largest number of sectors that each access had in any warp, in
//! place of the number in its class.

use std::collections::BTreeMap;

use warpbound_base::{Cycles, Diagnostic, Observed};
use warpbound_cycles::{AccessLimits, KernelTime, SpaceLimits};
use warpbound_ipet::{Effort, SchedulerClass};
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, MachineConfig};
use warpbound_report::gap::LooseAccess;

use super::paths::{LaunchPaths, ObservedSums};
use super::record::LaunchRecord;
use super::runs::WorstLaunch;
use crate::gap::chain::Replaced;
use crate::{gap::loose_accesses::SeenNumbers, gap::loose_accesses::loose_accesses};
use warpbound_bounds::access::TimedFindings;
use warpbound_bounds::bound::FlowFacts;
use warpbound_bounds::{CycleInputs, CycleOptions, LaunchExtent, LaunchTime};
use warpbound_bounds::{
    cycles::launch_bound::EachWay, cycles::launch_bound::SumVectors,
    cycles::launch_bound::contention_of, cycles::launch_bound::too_many_bits,
};
use warpbound_query::{CacheState, KernelFlow, Prepared, Session, TimeScope};

/// Vectors of nodes, for each way to count waits (SOUNDNESS 20.3).
pub(super) type KnownVectors = EachWay<Option<SumVectors>>;

/// Bound of a launch, with what the worst run did.
pub(super) struct LaunchChain<'a> {
    pub(super) session: &'a Session,
    pub(super) prepared: &'a Prepared<'a>,
    pub(super) flow: &'a KernelFlow,
    pub(super) found: &'a TimedFindings,
    pub(super) launch: &'a LaunchFile,
    pub(super) options: &'a CycleOptions,
    pub(super) observed: Option<LaunchObservation>,
}

/// Facts, and what the worst run has shown.
pub(super) struct LaunchObservation {
    pub(super) given: FlowFacts,
    /// Loop counts of all runs; `None` if they depend on time.
    pub(super) seen: Option<FlowFacts>,
    pub(super) record: LaunchRecord,
    /// Largest limits over all executions of each access.
    pub(super) accesses: BTreeMap<OpIndex, AccessLimits>,
    pub(super) paths: Result<LaunchPaths, Diagnostic>,
    pub(super) caches: CacheState,
    pub(super) config: MachineConfig,
}

impl LaunchChain<'_> {
    /// Returns the launch with nothing replaced.
    ///
    /// # Errors
    ///
    /// The reason why the time of the launch is not known.
    pub(super) fn claimed(&self) -> Result<LaunchTime, Diagnostic> {
        self.time_on(self.options)
    }

    fn time_on(&self, options: &CycleOptions) -> Result<LaunchTime, Diagnostic> {
        let extent = LaunchExtent {
            scope: TimeScope::Grid,
            // The runs use work-conserving policies only, and the bound for these is the smaller one.
            schedulers: SchedulerClass::WorkConserving,
        };
        LaunchTime::with_findings(
            self.session,
            self.prepared,
            self.flow,
            self.found,
            self.launch,
            options,
            extent,
        )
    }

    /// Enters the observations of the worst run.
    ///
    /// # Errors
    ///
    /// The reason why the time of the launch is not known.
    pub(super) fn observe(
        &mut self,
        given: FlowFacts,
        worst: WorstLaunch,
    ) -> Result<(), Diagnostic> {
        let claimed = self.claimed()?;
        let paths = LaunchPaths::of(&worst.record, claimed.inputs(), claimed.chain());
        let caches = worst.caches();
        let seen = worst.loop_counts.map(|[bounds, totals]| FlowFacts {
            bounds,
            totals,
            never: given.never.clone(),
        });
        self.observed = Some(LaunchObservation {
            given,
            seen,
            accesses: worst.record.most(),
            record: worst.record,
            paths,
            caches,
            config: worst.config,
        });
        Ok(())
    }

    /// Returns the accesses for which the bound counts more sectors or conflicts than the worst run had.
    ///
    /// # Errors
    ///
    /// The reason why the time of the launch is not known.
    pub(super) fn loose_accesses(&self) -> Result<Vec<LooseAccess>, Diagnostic> {
        let claimed = self.claimed()?;
        let observed = self.observation()?;
        let mut seen: BTreeMap<OpIndex, SeenNumbers> = BTreeMap::new();
        let warps = observed.record.warps.values();
        for access in warps.flat_map(|warp| &warp.accesses) {
            let numbers = seen.entry(access.at).or_default();
            numbers.executions += 1;
            for space in &access.limits.spaces {
                numbers.sectors = numbers.sectors.max(space.sectors);
                numbers.conflicts = numbers.conflicts.max(space.conflicts);
            }
        }
        let claimed = &claimed.inputs().accesses;
        Ok(loose_accesses(self.prepared, claimed, &seen))
    }

    pub(super) fn observation(&self) -> Result<&LaunchObservation, Diagnostic> {
        let nothing = || Diagnostic::new("nothing is observed");
        self.observed.as_ref().ok_or_else(nothing)
    }

    /// Returns the launch with claims replaced by observations, except the claims about loops and paths.
    ///
    /// # Errors
    ///
    /// The reason why its time is not known.
    pub(super) fn replaced(&self, replaced: Replaced) -> Result<LaunchTime, Diagnostic> {
        let observed = self.observation()?;
        let mut options = self.options.clone();
        if replaced.numbers {
            options.machine = pinned(&options.machine, &observed.config);
        }
        if replaced.hits {
            options.caches = observed.caches;
        }
        let mut time = self.time_on(&options)?;
        time.change(|inputs| {
            if replaced.addresses {
                observed.replace_addresses(inputs);
            }
            if replaced.hits {
                observed.replace_hits(inputs);
            }
        });
        Ok(time)
    }

    /// Computes the bound with claims replaced by observations. The costs of paths are computed with vectors of their
    /// own and with `vectors` from the element before; the vectors of the smaller number are left in `vectors`.
    ///
    /// # Errors
    ///
    /// No bound exists.
    pub(super) fn value(
        &self,
        replaced: Replaced,
        vectors: &mut KnownVectors,
    ) -> Result<u64, Diagnostic> {
        let observed = self.observation()?;
        let time = self.replaced(replaced)?;
        if replaced.path {
            let Observed(Cycles(cycles)) = observed.value(&time, vectors)?;
            return Ok(cycles);
        }
        let facts = match replaced.loops {
            true => observed.seen.as_ref().unwrap_or(&observed.given),
            false => &observed.given,
        };
        let (found, own) = time.bound_with_vectors(facts.stated(), Effort::default())?;
        *vectors = own;
        Ok(found.bound.upper_bound().limit().0)
    }
}

/// Returns a machine with the values of one configuration.
fn pinned(machine: &GpuModel, config: &MachineConfig) -> GpuModel {
    // With ranges of one value, the bound is for this configuration alone.
    let parameters = machine.parameters();
    parameters.fold(machine.clone(), |machine, parameter| {
        machine.with(parameter, config[parameter])
    })
}

impl LaunchObservation {
    /// Returns the paths of the warps.
    ///
    /// # Errors
    ///
    /// The paths are not known.
    pub(super) fn paths(&self) -> Result<&LaunchPaths, Diagnostic> {
        self.paths.as_ref().map_err(Clone::clone)
    }

    /// Composes the paths of the run as the bound composes the worst paths.
    fn value(
        &self,
        time: &LaunchTime,
        vectors: &mut KnownVectors,
    ) -> Result<Observed<Cycles>, Diagnostic> {
        let paths = self.paths()?;
        // Each way to count waits has costs, and so vectors, of its own.
        let known = std::mem::take(vectors);
        let found = time.in_each_way(|inputs, number| {
            let kernel = inputs.kernel();
            let mut of_kernel = KernelTime::new(&kernel, time.numbers());
            let contention = contention_of(&of_kernel, time.numbers())?;
            let sums = ObservedSums {
                paths,
                inputs,
                known: known.get(number).and_then(Option::as_ref),
            };
            let sums = time.times(&sums, inputs, &contention, &mut of_kernel)?;
            let composed = sums.times.compose(time.shape(), time.delays(inputs)?);
            if let Some(vectors) = vectors.get_mut(number) {
                *vectors = Some(sums.vectors);
            }
            let composed = composed.ok_or_else(too_many_bits)?;
            Ok((composed.cycles(), !sums.windows.is_empty()))
        })?;
        // Each way to count waits holds for the run, so the smallest sum counts (SOUNDNESS 20.3).
        let least = found.into_iter().min();
        least.ok_or_else(|| Diagnostic::new("no sum was computed"))
    }

    /// Lowers the limits of accesses to the maximum over all executions, and drops spaces that no execution accesses.
    fn replace_addresses(&self, inputs: &mut CycleInputs) {
        for (at, limits) in &mut inputs.accesses {
            let seen = |limit: &SpaceLimits| {
                let spaces = self.accesses.get(at).map(|seen| &seen.spaces);
                let mut spaces = spaces.into_iter().flatten();
                spaces.find(|seen| seen.space == limit.space).copied()
            };
            limits.spaces.retain(|limit| seen(limit).is_some());
            for limit in &mut limits.spaces {
                if let Some(seen) = seen(limit) {
                    lower_counts(limit, &seen);
                }
            }
        }
    }

    /// Allows only the misses that the run had. A sector that was in flight for another warp counts as missing.
    fn replace_hits(&self, inputs: &mut CycleInputs) {
        for (at, limits) in &mut inputs.accesses {
            for limit in &mut limits.spaces {
                let spaces = self.accesses.get(at).map(|seen| &seen.spaces);
                let mut spaces = spaces.into_iter().flatten();
                match spaces.find(|seen| seen.space == limit.space) {
                    Some(seen) => lower_misses(limit, seen),
                    None => {
                        // An access that never reached this space missed nothing there.
                        limit.may_miss = false;
                        limit.may_walk = false;
                        limit.may_evict = false;
                        limit.may_hit_l1 = false;
                    }
                }
            }
        }
        for (number, translations) in inputs.translations.iter_mut().enumerate() {
            let of_sms = self.record.translations.values();
            // Each SM has a TLB of its own, and the bound follows warps of one SM.
            let misses = of_sms.filter_map(|counts| counts.get(number)).max();
            let misses = misses.copied().unwrap_or(0);
            // Misses are walks as far as the bound allows. The rest is not negative.
            translations.walks = translations.walks.min(misses);
            translations.first_level = translations.first_level.min(misses - translations.walks);
        }
        let fetched = self.record.fetched;
        inputs.lines_may_miss &= fetched.read > 0;
        inputs.constants_may_miss &= fetched.read > 0;
        inputs.lines_may_evict &= fetched.evicted_lines > 0;
        let mut spaces = inputs.accesses.values().flat_map(|limits| &limits.spaces);
        let reached = spaces.any(|limit| limit.may_miss || limit.may_evict);
        // Refreshes delay the launch only if something reaches DRAM.
        inputs.reaches_dram &= inputs.lines_may_miss || inputs.constants_may_miss || reached;
    }
}

/// Lowers the counts of an access to the counts in `seen`.
pub(super) fn lower_counts(limit: &mut SpaceLimits, seen: &SpaceLimits) {
    limit.requests = limit.requests.min(seen.requests);
    limit.lines = limit.lines.min(seen.lines);
    limit.sectors = limit.sectors.min(seen.sectors);
    limit.conflicts = limit.conflicts.min(seen.conflicts);
    limit.same_word = limit.same_word.min(seen.same_word);
}

/// Allows an access only the misses in `seen`.
pub(super) fn lower_misses(limit: &mut SpaceLimits, seen: &SpaceLimits) {
    limit.may_miss &= seen.may_miss;
    limit.may_walk &= seen.may_walk;
    limit.may_evict &= seen.may_evict;
    limit.may_hit_l1 &= seen.may_hit_l1;
}
