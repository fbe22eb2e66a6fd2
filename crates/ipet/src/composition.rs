//! Bound of a launch: blocks on SMs in any order of dispatch, and warps in any order of issue (SOUNDNESS 20).
//!
//! The bound is the time of a chain of warps, each as if it ran alone, plus the services that the resources on its
//! way give to other warps. The sum does not depend on the order of service. For example, two blocks of one warp, on
//! an SM that holds one block, follow each other: their path is `followed` + `path`.

use std::ops::RangeInclusive;

use warpbound_base::{Cycles, Named, UpperBound};

use crate::warp_bound::{Delays, WarpBound};

use weights::add_terms;
pub(crate) use weights::{CommonWeights, Summands, Weight};

mod observed;
mod weights;

pub use observed::{ObservedBlock, ObservedComposition, ObservedLaunch, PartLoad};

/// Shape of a launch on a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchShape {
    /// Blocks of the grid, at least one.
    pub blocks: u64,
    /// Warps of a block, at least one.
    pub warps: u64,
    /// Minimum number of SMs.
    pub sms: u64,
    /// Maximum number of SMs.
    pub most_sms: u64,
    /// Minimum and maximum number of blocks that an SM holds.
    pub resident: (u64, u64),
    /// Minimum number of sub-partitions of an SM. The warps of a block are spread evenly over them.
    pub sub_partitions: u64,
}

impl LaunchShape {
    /// Whether blocks may be on several SMs.
    pub(crate) fn has_several_sms(&self) -> bool {
        self.most_sms.max(self.sms) > 1
    }

    /// Maximum number of SMs that request lines: an SM without a block requests none.
    pub(crate) fn requesting_sms(&self) -> u128 {
        u128::from(self.blocks.max(1).min(self.most_sms.max(self.sms).max(1)))
    }
}

/// Chain of warps that the end of a block depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockChain {
    /// One warp: none waits for another one.
    OneWarp,
    /// Segments between barriers, each of the warp that arrives last: all warps pass the same barriers.
    Aligned,
    /// All warps of the block, one after the other.
    AllWarps,
}

/// Schedulers that a bound holds for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SchedulerClass {
    /// Schedulers that issue an instruction in every cycle with a ready warp.
    #[default]
    WorkConserving,
    /// Also schedulers that follow one warp until it ends or waits at a barrier, while others are ready.
    Any,
}

impl Named for SchedulerClass {
    const ALL: &'static [(SchedulerClass, &'static str)] = &[
        (SchedulerClass::WorkConserving, "work-conserving"),
        (SchedulerClass::Any, "any"),
    ];
}

/// Times that compose the bound of a launch: bounds of warps, or the times that the warps of a run took.
#[derive(Clone, Debug)]
pub struct LaunchTimes<T> {
    /// Time of a warp among others, without its waits for them, until all its stores have arrived.
    pub path: T,
    /// Time of such a warp until its last instruction: then another warp, or another block, follows it.
    pub followed: T,
    /// Chain of warps in a block.
    pub chain: BlockChain,
    /// Schedulers.
    pub schedulers: SchedulerClass,
    /// Time for which instructions in the queues of a sub-partition occupy its units.
    pub queued: Cycles,
    /// Barriers that a warp passes.
    pub barriers: u64,
    /// Largest part of `core` that a warp takes between two barriers, its start or its end.
    pub segment: Cycles,
    /// Service that a warp takes from its sub-partition.
    pub core: T,
    /// Service that a warp takes from its SM.
    pub sm: T,
    /// Service that a warp takes from the memory that all SMs share.
    pub gpu: T,
    /// Time of the first requests of lines and translations by one SM.
    pub first: Cycles,
    /// Service of all lines that an SM requests, each once, by the memory that all SMs share.
    pub lines: Cycles,
    /// Time for which accesses of ended blocks occupy resources of an SM, as far as queues and windows limit them.
    pub ended: Cycles,
    /// Services that a warp may leave to its SM when it ends, where nothing limits how many are left.
    pub unfinished: T,
    /// Time between the starts of two blocks on an SM.
    pub apart: Cycles,
    /// Services of whole blocks and of the whole launch, if they are known.
    pub executed: Option<ExecutedServices>,
}

/// Services of whole blocks, all warps together. They may be less than the services of the worst warp, multiplied by
/// the number of warps. For example, if only one of eight warps loads a table, the sum has its load once, and the
/// product has it eight times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExecutedServices {
    /// Services by kinds of blocks. Together the kinds have all blocks of the launch.
    pub kinds: Vec<ServicesOfBlocks>,
    /// Services of all blocks by the memory that all SMs share, if that is less than the sum over the kinds.
    pub gpu_of_launch: Option<u128>,
}

/// Services of each of some blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ServicesOfBlocks {
    /// Number of these blocks.
    pub blocks: u64,
    /// By issue slots and units, all sub-partitions together.
    pub core: u128,
    /// By what its SM shares.
    pub sm: u128,
    /// By the memory that all SMs share.
    pub gpu: u128,
}

impl ExecutedServices {
    /// Sum of the services of the `blocks` blocks with the greatest services; `None` if it has more than 128 bits.
    pub fn greatest(
        &self,
        blocks: u128,
        service: impl Fn(&ServicesOfBlocks) -> u128,
    ) -> Option<u128> {
        let mut kinds: Vec<(u128, u128)> = self
            .kinds
            .iter()
            .map(|kind| (service(kind), kind.blocks.into()))
            .collect();
        // Any blocks of the launch may be on the SM, so the ones with the greatest services are taken.
        kinds.sort_unstable_by(|first, second| second.cmp(first));
        let mut left = blocks;
        let mut sum: u128 = 0;
        for (service, blocks) in kinds {
            let taken = left.min(blocks);
            sum = sum.checked_add(service.checked_mul(taken)?)?;
            left -= taken;
        }
        Some(sum)
    }
}

/// Summand of the bound of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum LaunchTerm {
    /// Cycles before the first block starts.
    Launch,
    /// Times of the warps of the chain, as if each were alone.
    Path,
    /// Issue slots and units of sub-partitions.
    Core,
    /// Shared memory, barriers, tags, ports and windows of an SM.
    Sm,
    /// L2 cache and DRAM.
    Gpu,
    /// First requests of lines and translations.
    First,
    /// Starts of blocks.
    Starts,
    /// Refreshes of DRAM.
    Refresh,
}

impl LaunchTerm {
    /// All terms, in the order of reports.
    pub const ALL: [LaunchTerm; 8] = [
        LaunchTerm::Launch,
        LaunchTerm::Path,
        LaunchTerm::Core,
        LaunchTerm::Sm,
        LaunchTerm::Gpu,
        LaunchTerm::First,
        LaunchTerm::Starts,
        LaunchTerm::Refresh,
    ];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            LaunchTerm::Launch => "launch overhead",
            LaunchTerm::Path => "warps one after the other",
            LaunchTerm::Core => "issue and units of others",
            LaunchTerm::Sm => "memory of the SM",
            LaunchTerm::Gpu => "L2 cache and DRAM",
            LaunchTerm::First => "first requests",
            LaunchTerm::Starts => "starts of blocks",
            LaunchTerm::Refresh => "DRAM refresh",
        }
    }
}

/// Bound of a launch with its sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchBound {
    bound: UpperBound<Cycles>,
    terms: [u64; LaunchTerm::ALL.len()],
}

impl LaunchBound {
    /// Composes the bound of a launch; `delays` are the cycles before the first block and the refreshes of DRAM.
    /// `None` if the bound has more than 64 bits.
    pub fn compose(
        shape: &LaunchShape,
        times: &LaunchTimes<WarpBound<Cycles>>,
        delays: Delays,
    ) -> Option<LaunchBound> {
        let limit = |bound: &WarpBound<Cycles>| u128::from(bound.upper_bound().limit().0);
        LaunchBound::of_terms(times.summands(shape, limit)?, delays)
    }

    /// Composes a bound from all terms but the launch overhead and the refreshes, which follow from `delays`. `None`
    /// if the sum has more than 64 bits.
    pub(crate) fn of_terms(terms: Summands, delays: Delays) -> Option<LaunchBound> {
        let (total, terms) = add_terms(terms, delays)?;
        Some(LaunchBound {
            bound: UpperBound::proven(Cycles(total)),
            terms,
        })
    }

    /// Returns the bound.
    pub fn upper_bound(&self) -> UpperBound<Cycles> {
        self.bound
    }

    /// Returns the cycles of a term.
    pub fn term(&self, term: LaunchTerm) -> u64 {
        self.terms[term as usize]
    }
}

impl<T> LaunchTimes<T> {
    /// Multiplies each time by its weight. `None` if a product or sum has more than 128 bits.
    fn summands(&self, shape: &LaunchShape, cycles: impl Fn(&T) -> u128) -> Option<Summands> {
        let core = CoreTimes {
            warp: cycles(&self.core),
            segment: self.segment.0.into(),
            queued: self.queued.0.into(),
            barriers: self.barriers.into(),
        };
        let weights = Weights::of(shape, self, &core)?;
        let common = &weights.common;
        let core = weights.core.cycles(&core)?;
        let [sm, gpu] = common.services(cycles(&self.sm), cycles(&self.gpu))?;
        let [core, sm, gpu] = match &self.executed {
            None => [core, sm, gpu],
            Some(executed) => {
                let worst = [cycles(&self.core), cycles(&self.sm)];
                weights.lesser([core, sm, gpu], worst, executed, shape)?
            }
        };
        let unfinished = weights.unfinished.checked_mul(cycles(&self.unfinished))?;
        let sm = sm.checked_add(unfinished)?;
        common.summands(self, cycles, [core, sm, gpu])
    }
}

/// Weights of the times of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Weights {
    common: CommonWeights,
    core: Core,
    /// Warps that may have ended on an SM before the last block is dispatched.
    unfinished: u128,
    /// Blocks whose warps may all count for the sub-partitions, even if they are in others; `None` where that does
    /// not suffice.
    blocks_of_core: Option<u128>,
}

impl Weights {
    fn of<T>(shape: &LaunchShape, times: &LaunchTimes<T>, core: &CoreTimes) -> Option<Weights> {
        let (chain, schedulers) = (times.chain, times.schedulers);
        let [blocks, warps, sms, parts] =
            [shape.blocks, shape.warps, shape.sms, shape.sub_partitions]
                .map(|n| u128::from(n.max(1)));
        let least = u128::from(shape.resident.0).max(1);
        let lines = shape.requesting_sms();
        // The memory that all SMs share serves every warp of the launch, wherever it runs.
        let gpu = blocks.checked_mul(warps)?;
        // Only the minimum numbers of SMs and places are certain to be free at the start of the launch.
        let is_at_once = blocks <= sms.checked_mul(least)?;
        if is_at_once {
            // All blocks start at once; the fullest SM has this many.
            let own = blocks.div_ceil(sms);
            let resident = own.checked_mul(warps)?;
            let core = Core::at_once(own, warps, parts, chain, core)?;
            let in_part = warps.div_ceil(parts);
            let others = (own - 1).checked_mul(warps)?;
            let followed = match (schedulers, chain) {
                // Barriers of unknown order: some warp of the block runs at each time, so all their times are added.
                (SchedulerClass::WorkConserving, BlockChain::AllWarps) => warps - 1,
                (SchedulerClass::WorkConserving, _) => 0,
                // One after the other in each sub-partition, between barriers.
                (SchedulerClass::Any, BlockChain::OneWarp) => resident.div_ceil(parts) - 1,
                // Between two barriers a sub-partition may follow its warps of the block one by one (SOUNDNESS 20.6).
                (SchedulerClass::Any, BlockChain::Aligned) => in_part - 1 + others,
                (SchedulerClass::Any, BlockChain::AllWarps) => resident - 1,
            };
            let common = CommonWeights {
                followed: Weight::whole(followed),
                sm: resident,
                gpu,
                first: 1,
                starts: own - 1,
                lines,
                ended: 0,
            };
            return Some(Weights {
                common,
                core,
                unfinished: 0,
                blocks_of_core: Some(own),
            });
        }
        // The SM with the fewest blocks before the last dispatch has at most the mean (SOUNDNESS 20.5).
        let before = (blocks - 1) / sms;
        let most = u128::from(shape.resident.1).max(least);
        // The last block may run on another SM, which serves other blocks.
        let on_sm = before.checked_add(most)?.min(blocks);
        let of_sm = on_sm.checked_mul(warps)?;
        let followed = match (schedulers, chain) {
            // Some warp of the SM is followed at each time, so the times of all are added (SOUNDNESS 20.6).
            (SchedulerClass::Any, _) => Weight::whole(of_sm - 1),
            (_, BlockChain::OneWarp | BlockChain::Aligned) => Weight {
                numerator: before,
                denominator: least,
            },
            (_, BlockChain::AllWarps) => Weight {
                numerator: before.checked_add(least)?.checked_mul(warps)? - least,
                denominator: least,
            },
        };
        let core = match (schedulers, most) {
            (SchedulerClass::Any, _) => Core::of_warps(of_sm),
            (_, 1) => Core::one_by_one(before, warps, parts, chain, core)?,
            _ => Core::queue(before, least..=most, on_sm, warps, parts, chain, core)?,
        };
        let common = CommonWeights {
            followed,
            sm: of_sm,
            gpu,
            // The SM until the last dispatch and the SM after it request lines, unless they are the same SM.
            first: 1 + u128::from(shape.has_several_sms()),
            // Blocks of an SM start one after the other, so each may wait for the start of the one before.
            starts: on_sm,
            lines,
            ended: 1,
        };
        Some(Weights {
            common,
            core,
            // Each other SM is full when the last block is dispatched; all blocks but the ones there may have been on
            // one SM.
            unfinished: (blocks - 1)
                .saturating_sub((sms - 1).saturating_mul(least))
                .checked_mul(warps)?,
            // If an SM holds one block, the contents of the queues are added at each change, and no sum over whole
            // blocks has them.
            blocks_of_core: (most > 1 || schedulers == SchedulerClass::Any).then_some(on_sm),
        })
    }

    /// Returns the smaller of two sums: the services by the worst warp, and the services of whole blocks. `worst` has
    /// the services of the worst warp by a sub-partition and by its SM.
    fn lesser(
        &self,
        [core, sm, gpu]: [u128; 3],
        worst: [u128; 2],
        executed: &ExecutedServices,
        shape: &LaunchShape,
    ) -> Option<[u128; 3]> {
        // An ended block may have left one service more than the queues hold. The worst warp has all of its services,
        // so the worst warp is added. If all blocks start at once, each block of the SM counts in full, and nothing
        // is added.
        let [worst_core, worst_sm] = match self.common.ended {
            0 => [0, 0],
            _ => worst,
        };
        let blocks = self.common.sm / u128::from(shape.warps.max(1));
        let core_of_blocks = match self.blocks_of_core {
            Some(blocks) => executed
                .greatest(blocks, |kind| kind.core)?
                .checked_add(worst_core)?,
            None => core,
        };
        let sm_of_blocks = executed
            .greatest(blocks, |kind| kind.sm)?
            .checked_add(worst_sm)?;
        let of_all = executed.greatest(shape.blocks.max(1).into(), |kind| kind.gpu)?;
        let gpu_of_blocks = executed
            .gpu_of_launch
            .map_or(of_all, |of_launch| of_launch.min(of_all));
        Some([
            core.min(core_of_blocks),
            sm.min(sm_of_blocks),
            gpu.min(gpu_of_blocks),
        ])
    }
}

/// Times of a sub-partition, in cycles.
#[derive(Clone, Copy, Debug)]
struct CoreTimes {
    /// Service of a warp, and its largest part between two barriers.
    warp: u128,
    segment: u128,
    /// Time for which instructions in the queues occupy the units.
    queued: u128,
    /// Barriers that a warp passes.
    barriers: u128,
}

/// Services of a sub-partition that a chain waits for, and number of times that it finds full queues
/// (SOUNDNESS 20.5).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Core {
    /// Warps that are served.
    warps: u128,
    /// Segments of warps between barriers that are served in addition.
    segments: u128,
    /// Number of times that the chain changes the warp or the sub-partition.
    changes: u128,
}

impl Core {
    fn of_warps(warps: u128) -> Core {
        Core {
            warps,
            ..Core::default()
        }
    }

    /// Returns the cycles of the services; `None` if they have more than 128 bits.
    fn cycles(&self, times: &CoreTimes) -> Option<u128> {
        let warps = self.warps.checked_mul(times.warp)?;
        let segments = self.segments.checked_mul(times.segment)?;
        let queues = self.changes.checked_mul(times.queued)?;
        warps.checked_add(segments)?.checked_add(queues)
    }

    /// Returns the smaller of two sums of services.
    fn lesser(self, other: Core, times: &CoreTimes) -> Option<Core> {
        Some(match self.cycles(times)? <= other.cycles(times)? {
            true => self,
            false => other,
        })
    }

    /// Services for `own` blocks on an SM, which all start at once.
    fn at_once(
        own: u128,
        warps: u128,
        parts: u128,
        chain: BlockChain,
        times: &CoreTimes,
    ) -> Option<Core> {
        let resident = own.checked_mul(warps)?;
        let in_part = warps.div_ceil(parts);
        let barriers = times.barriers;
        match chain {
            BlockChain::AllWarps => Some(Core::of_warps(resident)),
            // Each warp has a sub-partition of its own, but its queues may hold instructions of blocks that have
            // ended.
            _ if resident <= parts => {
                let alone = Core {
                    changes: u128::from(own > 1),
                    ..Core::default()
                };
                alone.lesser(Core::of_warps(resident), times)
            }
            BlockChain::OneWarp => {
                let in_part = Core {
                    changes: u128::from(own > 1),
                    ..Core::of_warps(resident.div_ceil(parts))
                };
                // What the queues hold is from warps of the SM, which count once in the sum of all.
                in_part.lesser(Core::of_warps(resident), times)
            }
            BlockChain::Aligned => {
                let others = own - 1;
                // Between barriers the chain stays in one sub-partition. Each segment of another block is served
                // there once; it is served once more if the chain passes a barrier meanwhile. If all sub-partitions
                // together serve less, their sum counts instead.
                let changing = Core {
                    warps: in_part.checked_mul(own)?,
                    segments: in_part.checked_mul(others)?.checked_mul(barriers)?,
                    changes: barriers,
                };
                let all = Core {
                    warps: in_part.checked_add(others.checked_mul(warps)?)?,
                    ..changing
                };
                let lesser = changing.lesser(Core { segments: 0, ..all }, times)?;
                lesser.lesser(Core::of_warps(resident), times)
            }
        }
    }

    /// Services for blocks on an SM that holds one; `before` blocks are dispatched before the last one.
    fn one_by_one(
        before: u128,
        warps: u128,
        parts: u128,
        chain: BlockChain,
        times: &CoreTimes,
    ) -> Option<Core> {
        let chained = before.checked_add(1)?;
        let of_block = Core::at_once(1, warps, parts, chain, times)?;
        Some(Core {
            warps: chained.checked_mul(of_block.warps)?,
            segments: 0,
            // The queues hold instructions of the block that has ended.
            changes: chained.checked_mul(of_block.changes.checked_add(1)?)?,
        })
    }

    /// Services for blocks on an SM with places for `resident` blocks (least and most). `before` blocks are dispatched
    /// there before the last one; `on_sm` is the number of all, including the blocks that run together with the last
    /// one.
    fn queue(
        before: u128,
        resident: RangeInclusive<u128>,
        on_sm: u128,
        warps: u128,
        parts: u128,
        chain: BlockChain,
        times: &CoreTimes,
    ) -> Option<Core> {
        let (least, most) = resident.into_inner();
        let all = Core::of_warps(on_sm.checked_mul(warps)?);
        let barriers = match chain {
            BlockChain::AllWarps => return Some(all),
            BlockChain::OneWarp => 0,
            BlockChain::Aligned => times.barriers,
        };
        // A chain changes the sub-partition at barriers and at the ends of its blocks. Each change falls into the
        // lives of at most `most - 1` other blocks, and each of these is then served one more segment.
        let in_part = warps.div_ceil(parts);
        let changes = before.checked_mul(barriers + 1)?;
        let lives = changes.checked_mul(most - 1)?.div_ceil(most);
        let segments = lives.checked_add(barriers.checked_mul(most - 1)?)?;
        let changing = Core {
            warps: in_part.checked_mul(before.checked_add(most)?)?,
            segments: in_part.checked_mul(segments)?,
            changes: changes.div_ceil(least).checked_add(barriers + 1)?,
        };
        changing.lesser(all, times)
    }
}

#[cfg(test)]
mod overlap;
#[cfg(test)]
mod tests;
