//! Composition alone: the sum of the bound with the times of the recorded warps, and the services that each of them
//! has taken (SOUNDNESS 20.10).
//!
//! If a run takes longer than its composition, the argument of the sum or a transfer function is wrong, whatever the
//! other claims are. Leaving out one resource shows how much of the sum it has. For example, if the sum is 900 cycles
//! and without DRAM it is 650, DRAM has 250 of them.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_cycles::{
    AccessLimits, Contention, Demands, FollowedWarp, KernelTime, MILLI, SharedResource,
    SpaceLimits, Stop,
};
use warpbound_ipet::{
    BlockChain, Delays, ObservedBlock, ObservedComposition, ObservedLaunch, PartLoad,
};
use warpbound_ir::OpIndex;
use warpbound_machine::Parameter;

use super::chain::{KnownVectors, LaunchChain, lower_counts, lower_misses};
use super::paths::{LaunchPaths, ObservedSums};
use super::record::{LaunchRecord, WarpKey, WarpRecord};
use crate::gap::chain::Replaced;
use warpbound_bounds::{CycleInputs, LaunchTime};
use warpbound_bounds::{
    cycles::launch_bound::Window, cycles::launch_bound::contention_of,
    cycles::launch_bound::costs_among, cycles::launch_bound::too_many_bits,
};

/// Sum of the composition, and the sums with one resource left out.
pub(super) struct ComposedRun {
    pub(super) all: ObservedComposition,
    pub(super) without: Vec<(SharedResource, ObservedComposition)>,
}

impl LaunchChain<'_> {
    /// Composes the recorded warps. `vectors` come from the last element of the chain.
    ///
    /// # Errors
    ///
    /// A path is not known, or the warps do not meet at their barriers.
    pub(super) fn composition(&self, vectors: &KnownVectors) -> Result<ComposedRun, Diagnostic> {
        let observed = self.observation()?;
        let time = self.replaced(Replaced::all())?;
        let found = time.in_each_way(|inputs, number| {
            let kernel = inputs.kernel();
            let mut of_kernel = KernelTime::new(&kernel, time.numbers());
            let contention = contention_of(&of_kernel, time.numbers())?;
            let sums = ObservedSums {
                paths: observed.paths()?,
                inputs,
                known: vectors.get(number).and_then(Option::as_ref),
            };
            // No path is longer than the costs of its steps, so these sums cap the times of followed warps.
            let sums = time.times(&sums, inputs, &contention, &mut of_kernel)?;
            let composer = Composer {
                time: &time,
                inputs,
                of_kernel: &of_kernel,
                contention: &contention,
                record: &observed.record,
                paths: observed.paths()?,
                most: [sums.times.path.0.0, sums.times.followed.0.0],
                first: sums.times.first.0,
            };
            composer.compose(time.delays(inputs)?)
        })?;
        // Each way to count waits holds for the run, so the smallest sum counts (SOUNDNESS 20.3).
        let least = found.into_iter().min_by_key(|run| run.all.cycles());
        least.ok_or_else(|| Diagnostic::new("no sum was computed"))
    }
}

/// Composition with one way to count the first requests of lines and translations.
struct Composer<'a> {
    time: &'a LaunchTime,
    inputs: &'a CycleInputs,
    of_kernel: &'a KernelTime<'a>,
    contention: &'a Contention,
    record: &'a LaunchRecord,
    paths: &'a LaunchPaths,
    /// Upper bound on the cycles of a chain by the costs of steps, with stores and without.
    most: [u64; 2],
    first: u64,
}

/// Access with the limits of one execution.
type LimitedAccess = (OpIndex, AccessLimits);

/// Services of a warp.
struct WarpLoad {
    /// Number of its sub-partition.
    part: usize,
    /// Services of issue slots and units, for each segment between barriers.
    core: Vec<[u64; 2]>,
    all: Demands,
    /// Thousandths of cycles of service that it may leave to its SM when it ends.
    unfinished: u64,
}

/// Services of a block, with all resources.
struct BlockLoad {
    number: u64,
    sm: u32,
    path: u64,
    followed: u64,
    /// Longest path in each sub-partition.
    of_parts: Vec<u64>,
    warps: Vec<WarpLoad>,
}

impl Composer<'_> {
    fn compose(&self, delays: Delays) -> Result<(ComposedRun, bool), Diagnostic> {
        let mut blocks: BTreeMap<u64, Vec<(WarpKey, &WarpRecord)>> = BTreeMap::new();
        for (&key, warp) in &self.record.warps {
            blocks.entry(key.0).or_default().push((key, warp));
        }
        let loads: Result<Vec<BlockLoad>, Diagnostic> = blocks
            .into_iter()
            .map(|(number, warps)| self.block(number, &warps))
            .collect();
        let loads = loads?;
        let windows = self.windows(&loads)?;
        let composed = |without| {
            let launch = self.launch(&loads, &windows, without)?;
            launch.compose(delays).ok_or_else(too_many_bits)
        };
        let mut without = Vec::new();
        for resource in SharedResource::ALL {
            // The warps keep their recorded times: only the services of the resource disappear from the sum.
            without.push((resource, composed(Some(resource))?));
        }
        let run = ComposedRun {
            all: composed(None)?,
            without,
        };
        Ok((run, !windows.is_empty()))
    }

    /// Collects the times and services of a block.
    fn block(
        &self,
        number: u64,
        warps: &[(WarpKey, &WarpRecord)],
    ) -> Result<BlockLoad, Diagnostic> {
        let accesses: Vec<Vec<LimitedAccess>> =
            warps.iter().map(|(_, warp)| self.accesses(warp)).collect();
        let mut followed = Vec::new();
        for ((key, _), accesses) in warps.iter().zip(&accesses) {
            let nodes = self.paths.nodes.get(key).ok_or_else(no_path)?;
            followed
                .push(FollowedWarp::start(self.of_kernel, nodes, accesses).ok_or_else(no_path)?);
        }
        let ends = match self.time.chain() {
            // Only aligned barriers bring the warps of a block to a common time.
            BlockChain::Aligned => run_aligned(&mut followed)?,
            BlockChain::OneWarp | BlockChain::AllWarps => {
                let ends = followed.iter_mut().map(run_to_end);
                ends.collect::<Result<_, _>>()?
            }
        };
        // Followed warps leave out the costs that are paid a limited number of times, so the block adds them.
        let once = costs_among(self.of_kernel, self.time.chain() != BlockChain::AllWarps).once;
        let once = self.paths.most_once(self.inputs, number, &once);
        let loads = warps.iter().zip(&accesses);
        let loads: Result<Vec<WarpLoad>, Diagnostic> = loads
            .map(|((_, warp), accesses)| self.warp(warp, accesses))
            .collect();
        let loads = loads?;
        let sm = warps.first().map_or(0, |(_, warp)| warp.place.sm);
        let [most, most_followed] = self.most;
        let limited = |path: u64, most: u64| path.saturating_add(once).min(most);
        let longest = |time: fn(&(u64, u64)) -> u64| ends.iter().map(time).max().unwrap_or(0);
        let (path, followed) = match self.time.chain() {
            BlockChain::AllWarps => {
                // The warps run one after the other, and only the end of the last one waits for stores.
                let all: u64 = ends.iter().map(|(_, followed)| followed).sum();
                let stores = ends
                    .iter()
                    .map(|(path, followed)| path.saturating_sub(*followed));
                (all + stores.max().unwrap_or(0), all)
            }
            _ => (
                limited(longest(|(path, _)| *path), most),
                limited(longest(|(_, followed)| *followed), most_followed),
            ),
        };
        let parts = loads.iter().map(|load| load.part + 1).max().unwrap_or(0);
        let mut of_parts = vec![0; parts];
        for (load, (path, _)) in loads.iter().zip(&ends) {
            of_parts[load.part] = limited(*path, most).max(of_parts[load.part]);
        }
        Ok(BlockLoad {
            number,
            sm,
            path,
            followed,
            of_parts,
            warps: loads,
        })
    }

    /// Returns the limits of each access of a warp: the counts of its execution, as far as they are within the limits
    /// of the kernel.
    fn accesses(&self, warp: &WarpRecord) -> Vec<LimitedAccess> {
        let accesses = warp.accesses.iter().filter_map(|seen| {
            let mut limits = self.inputs.accesses.get(&seen.at)?.clone();
            limits.bytes = limits.bytes.min(seen.limits.bytes);
            let own = |limit: &SpaceLimits| {
                let mut spaces = seen.limits.spaces.iter();
                spaces.find(|own| own.space == limit.space)
            };
            limits.spaces.retain(|limit| own(limit).is_some());
            for limit in &mut limits.spaces {
                if let Some(own) = own(limit) {
                    lower_counts(limit, own);
                    lower_misses(limit, own);
                }
            }
            Some((seen.at, limits))
        });
        accesses.collect()
    }

    /// Sums the services of a warp.
    fn warp(&self, warp: &WarpRecord, accesses: &[LimitedAccess]) -> Result<WarpLoad, Diagnostic> {
        let mut load = WarpLoad {
            part: warp.place.scheduler as usize,
            core: vec![[0; 2]],
            all: Demands::default(),
            unfinished: 0,
        };
        let splits = self.time.chain() == BlockChain::Aligned;
        let mut accesses = accesses.iter().zip(&warp.accesses).peekable();
        for &at in &warp.ops {
            // Accesses are in the order of issue. An execution without an active lane has none.
            let own = accesses.next_if(|((own, _), _)| *own == at);
            let access = own.map(|((_, limits), seen)| (limits, seen.transfers));
            let demands = self.of_kernel.demands(at, access);
            let demands = demands.ok_or_else(no_path)?;
            load.all.add(&demands);
            let unfinished = self.contention.unfinished_ops.get(at.index());
            load.unfinished += unfinished.copied().unwrap_or(0);
            if let Some(core) = load.core.last_mut() {
                // Issue slots and units stay apart, so that each can be left out alone.
                core[0] += demands.service(SharedResource::Issue);
                core[1] += demands.service(SharedResource::Units);
            }
            let arrives = self.inputs.facts.get(at.index());
            if splits && arrives.is_some_and(|facts| facts.arrives) {
                load.core.push([0; 2]);
            }
        }
        // The end of a warp may occupy the barrier counter as well, and no instruction stands for it.
        load.all.services[SharedResource::Barriers as usize] += self.contention.warp_end;
        Ok(load)
    }

    /// Returns the windows that delay warps, by number (0 for loads, 1 for stores), each with the fewest sectors that
    /// a waiting request finds in flight.
    fn windows(&self, loads: &[BlockLoad]) -> Result<Vec<(usize, u64)>, Diagnostic> {
        let (at_once, resident) = self.time.resident_blocks();
        let warps = u128::from(resident) * u128::from(self.time.shape().warps);
        let mut windows = Vec::new();
        for (number, window) in Window::of(self.contention).into_iter().enumerate() {
            let mut of_sms: BTreeMap<u32, u128> = BTreeMap::new();
            for block in loads {
                let sectors = block
                    .warps
                    .iter()
                    .map(|warp| u128::from(warp.all.sectors[number]));
                *of_sms.entry(block.sm).or_default() += sectors.sum::<u128>();
            }
            let most = of_sms.into_values().max().unwrap_or(0);
            if window.binds(self.contention, at_once, warps, || Ok(most))? {
                // A request waits only if the sectors in flight exceed the places that it leaves (SOUNDNESS 20.2).
                windows.push((number, window.places + 1));
            }
        }
        Ok(windows)
    }

    /// Returns the launch, with one resource left out.
    fn launch(
        &self,
        loads: &[BlockLoad],
        windows: &[(usize, u64)],
        without: Option<SharedResource>,
    ) -> Result<ObservedLaunch, Diagnostic> {
        let counts = |resource: SharedResource| without != Some(resource);
        let fetched = self.record.fetched;
        let (read, evicted_lines) = (fetched.read, fetched.evicted_lines);
        let kernel = &self.of_kernel;
        let (mut slices, mut dram) = kernel.line_demands(fetched.sectors, read, evicted_lines);
        for warp in loads.iter().flat_map(|block| &block.warps) {
            slices += warp.all.service(SharedResource::Slices);
            dram += warp.all.service(SharedResource::Dram);
        }
        let gpu = [
            (SharedResource::Slices, slices),
            (SharedResource::Dram, dram),
        ];
        let gpu = gpu.into_iter().filter(|(resource, _)| counts(*resource));
        let gpu: u64 = gpu.map(|(_, milli)| milli).sum();
        let blocks = loads
            .iter()
            .map(|load| self.observed_block(load, windows, without));
        let shape = self.time.shape();
        Ok(ObservedLaunch {
            blocks: blocks.collect(),
            chain: self.time.chain(),
            sms: shape.sms,
            resident: shape.resident.0,
            gpu: cycles(gpu),
            // The queues hold instructions for units, so their time belongs to that resource.
            queued: match counts(SharedResource::Units) {
                true => cycles(self.contention.queued),
                false => 0,
            },
            first: self.first,
            ended: self.contention.ended,
            apart: self.time.numbers().range(Parameter::LaunchBlock).1,
        })
    }

    /// Sums the services of a block, with one resource left out.
    fn observed_block(
        &self,
        load: &BlockLoad,
        windows: &[(usize, u64)],
        without: Option<SharedResource>,
    ) -> ObservedBlock {
        let counts = |resource: SharedResource| without != Some(resource);
        let core = |[issue, units]: [u64; 2]| {
            let issue = if counts(SharedResource::Issue) {
                issue
            } else {
                0
            };
            let units = if counts(SharedResource::Units) {
                units
            } else {
                0
            };
            issue + units
        };
        let mut parts = vec![PartLoad::default(); load.of_parts.len()];
        let segments = load.warps.iter().map(|warp| warp.core.len()).max();
        // Warps meet at each barrier, so services are summed by segment: the greatest sub-partition of one segment
        // may be another than in the next.
        let mut chain = vec![vec![0; parts.len()]; segments.unwrap_or(0)];
        for warp in &load.warps {
            parts[warp.part].warps += 1;
            for (of_segment, own) in chain.iter_mut().zip(&warp.core) {
                of_segment[warp.part] += core(*own);
            }
        }
        for (number, part) in parts.iter_mut().enumerate() {
            part.path = load.of_parts[number];
            part.core = cycles(chain.iter().map(|of_segment| of_segment[number]).sum());
        }
        // A chain is in one sub-partition in each segment, so it waits at most for the services of the greatest one.
        let of_chain = chain
            .iter()
            .map(|parts| parts.iter().max().copied().unwrap_or(0));
        let segment = of_chain.clone().max().unwrap_or(0);
        let of_sm = [
            SharedResource::SharedMemory,
            SharedResource::Barriers,
            SharedResource::L1,
        ];
        let of_sm = of_sm.into_iter().filter(|resource| counts(*resource));
        let mut sm_service: u64 = load
            .warps
            .iter()
            .flat_map(|warp| of_sm.clone().map(|resource| warp.all.service(resource)))
            .sum();
        if counts(SharedResource::Windows) {
            for &(number, places) in windows {
                let held = load.warps.iter().map(|warp| warp.all.places[number]);
                // A wait has at least `places` sectors in flight, so the time that sectors hold places, divided by
                // that number, covers all waits (SOUNDNESS 20.2).
                sm_service += held.sum::<u64>().div_ceil(places);
            }
        }
        // A warp has one segment more than barriers, and at least one.
        let barriers = load.warps.iter().map(|warp| warp.core.len() as u64 - 1);
        ObservedBlock {
            sm: load.sm,
            life: self
                .record
                .lives
                .get(&load.number)
                .copied()
                .unwrap_or_default(),
            path: load.path,
            followed: load.followed,
            core: cycles(of_chain.sum()),
            segment: cycles(segment),
            barriers: barriers.max().unwrap_or(0),
            parts,
            sm_service: cycles(sm_service),
            unfinished: cycles(load.warps.iter().map(|warp| warp.unfinished).sum()),
        }
    }
}

fn no_path() -> Diagnostic {
    Diagnostic::new("the path of a warp of the worst run cannot be followed")
}

/// Returns thousandths of cycles as whole cycles, rounded up.
fn cycles(milli: u64) -> u64 {
    milli.div_ceil(MILLI.unsigned_abs())
}

/// Follows a warp to its end, whatever opens its barriers. Returns the cycles with stores and without.
fn run_to_end(warp: &mut FollowedWarp<'_>) -> Result<(u64, u64), Diagnostic> {
    loop {
        if let Stop::End { path, followed } = warp.run().ok_or_else(no_path)? {
            return Ok((path, followed));
        }
    }
}

/// Follows the warps of a block, which meet at each barrier.
fn run_aligned(warps: &mut [FollowedWarp<'_>]) -> Result<Vec<(u64, u64)>, Diagnostic> {
    loop {
        let mut ends = Vec::new();
        for warp in warps.iter_mut() {
            if let Stop::End { path, followed } = warp.run().ok_or_else(no_path)? {
                ends.push((path, followed));
            }
        }
        if ends.len() == warps.len() {
            return Ok(ends);
        }
        // Warps that have ended cannot meet the others at this barrier.
        if !ends.is_empty() {
            return Err(Diagnostic::new(
                "a warp of the worst run ends at a barrier of others, which the bound takes to be aligned",
            ));
        }
        FollowedWarp::meet(warps);
    }
}
