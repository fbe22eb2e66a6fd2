//! Bound of a launch: blocks on SMs in any order of dispatch, and warps in any order of issue (SOUNDNESS 20).
//!
//! The time of a chain of warps, each of which runs as if alone, and the services that all resources on its way give to
//! others. Whichever warp is served first, the sum is the same.

use warpbound_base::{Cycles, UpperBound};

use crate::warp_bound::{Delays, WarpBound};

/// Shape of a launch on a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchShape {
    /// Blocks of the grid, at least one.
    pub blocks: u64,
    /// Warps of a block, at least one.
    pub warps: u64,
    /// SMs at least.
    pub sms: u64,
    /// SMs at most.
    pub most_sms: u64,
    /// Blocks that an SM holds at least and at most.
    pub resident: (u64, u64),
    /// Sub-partitions of an SM at least, over which the warps of a block are spread evenly.
    pub sub_partitions: u64,
    /// How uneven the blocks of an SM may be spread over its sub-partitions.
    pub spread: Spread,
}

/// Spread of the warps of an SM over its sub-partitions, while blocks end and others take their places.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spread {
    /// Each block is spread evenly.
    #[default]
    EachBlock,
    /// Warps take any free slot. Of the places for blocks of an SM at most this part, as a fraction, has a warp in one
    /// sub-partition, and at most `most` warps are in it.
    Slots {
        /// Numerator and denominator.
        part: (u64, u64),
        /// Warps of a sub-partition at most.
        most: u64,
    },
}

/// Chain of warps that the end of a block depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockChain {
    /// One warp: none waits for another one.
    OneWarp,
    /// Segments between barriers, each of the warp that arrives last: all warps pass the same barriers.
    Aligned {
        /// Cycles by which instructions in the queues of a sub-partition, issued before a barrier, delay those after it.
        left_over: Cycles,
    },
    /// All warps of the block, one after the other.
    AllWarps,
}

/// Times of which the bound of a launch is composed.
#[derive(Clone, Copy, Debug)]
pub struct LaunchTimes<'a> {
    /// Time of a warp among others, without its waits for them.
    pub path: &'a WarpBound<Cycles>,
    /// Chain of warps in a block.
    pub chain: BlockChain,
    /// Services that a warp takes: of its sub-partition, of the SM, and of the memory that all SMs share.
    pub core: &'a WarpBound<Cycles>,
    /// See [`LaunchTimes::core`].
    pub sm: &'a WarpBound<Cycles>,
    /// See [`LaunchTimes::core`].
    pub gpu: &'a WarpBound<Cycles>,
    /// First requests of lines and translations, of one SM.
    pub first: Cycles,
    /// Services of all lines that an SM requests, each once, by the memory that all SMs share.
    pub lines: Cycles,
    /// Time for which accesses of blocks that have ended take what an SM has.
    pub ended: Cycles,
    /// Time between the starts of two blocks on an SM.
    pub apart: Cycles,
    /// Time of the end of a launch that the path lacks.
    pub end: Cycles,
    /// Whether the services of a warp may delay its own chain beside those in the path: in its sub-partition, in the SM, and
    /// in the memory that all SMs share. Only a chain of one warp may go without.
    pub own: [bool; 3],
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
    /// Composes the bound of a launch; `delays` are the cycles before the first block and the refreshes of DRAM. `None` if
    /// it has more than 64 bits.
    pub fn compose(
        shape: &LaunchShape,
        times: &LaunchTimes<'_>,
        delays: Delays,
    ) -> Option<LaunchBound> {
        let weights = Weights::of(shape, times.chain, times.own)?;
        let limit = |bound: &WarpBound<Cycles>| u128::from(bound.upper_bound().limit().0);
        let path = weights.paths.of(limit(times.path))?;
        let path = path.checked_add(times.end.0.into())?;
        let left_over = match times.chain {
            BlockChain::Aligned { left_over } => left_over.0.into(),
            _ => 0,
        };
        let core = weights.core.of(limit(times.core))?;
        let core = core.checked_add(weights.left_over.of(left_over)?)?;
        let sm = weights.sm.checked_mul(limit(times.sm))?;
        let gpu = weights.gpu.checked_mul(limit(times.gpu))?;
        let gpu = gpu.checked_add(weights.lines.checked_mul(times.lines.0.into())?)?;
        let sm = sm.checked_add(weights.ended.checked_mul(times.ended.0.into())?)?;
        let first = weights.first.checked_mul(times.first.0.into())?;
        let starts = weights.starts.checked_mul(times.apart.0.into())?;
        let sum = [path, core, sm, gpu, first, starts];
        let sum = sum
            .iter()
            .try_fold(0u128, |sum, term| sum.checked_add(*term))?;
        let sum = sum.checked_add(delays.once)?;
        let delays = Delays { once: 0, ..delays };
        let total = delays.add_to(sum)?;
        let refresh = total.checked_sub(sum)?.checked_sub(delays.before)?;
        let terms = [delays.before, path, core, sm, gpu, first, starts, refresh];
        let mut narrow = [0; LaunchTerm::ALL.len()];
        for (narrow, term) in narrow.iter_mut().zip(terms) {
            *narrow = u64::try_from(term).ok()?;
        }
        Some(LaunchBound {
            bound: UpperBound::proven(Cycles(u64::try_from(total).ok()?)),
            terms: narrow,
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

/// Number of times that a time counts: a fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Weight {
    numerator: u128,
    denominator: u128,
}

impl Weight {
    fn whole(number: u128) -> Weight {
        Weight {
            numerator: number,
            denominator: 1,
        }
    }

    /// Returns that many times a time, rounded up.
    fn of(self, time: u128) -> Option<u128> {
        let product = self.numerator.checked_mul(time)?;
        Some(product.div_ceil(self.denominator.max(1)))
    }
}

/// Numbers of times that the times of a launch count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Weights {
    paths: Weight,
    core: Weight,
    left_over: Weight,
    sm: u128,
    gpu: u128,
    first: u128,
    starts: u128,
    /// SMs that request lines.
    lines: u128,
    ended: u128,
}

impl Weights {
    fn of(shape: &LaunchShape, chain: BlockChain, own: [bool; 3]) -> Option<Weights> {
        // Services of others only: all but those of the one warp of the chain.
        let of_others = own.map(|own| u128::from(!own && chain == BlockChain::OneWarp));
        let [blocks, warps, sms, parts] =
            [shape.blocks, shape.warps, shape.sms, shape.sub_partitions]
                .map(|n| u128::from(n.max(1)));
        let (least, most) = (u128::from(shape.resident.0), u128::from(shape.resident.1));
        let (least, most) = (least.max(1), most.max(least).max(1));
        let all = blocks.checked_mul(warps)?;
        let in_part = warps.div_ceil(parts);
        let lines = blocks.min(u128::from(shape.most_sms.max(shape.sms)).max(1));
        if blocks <= sms.checked_mul(least)? {
            // All blocks start at once; the fullest SM has this many.
            let own = blocks.div_ceil(sms);
            let resident = own.checked_mul(warps)?;
            let (paths, core, left_over) = match chain {
                BlockChain::OneWarp => (1, resident.div_ceil(parts) - of_others[0], 0),
                BlockChain::Aligned { .. } => (1, in_part + (own - 1).checked_mul(warps)?, 1),
                BlockChain::AllWarps => (warps, resident, 0),
            };
            return Some(Weights {
                paths: Weight::whole(paths),
                core: Weight::whole(core),
                left_over: Weight::whole(left_over),
                sm: resident - of_others[1],
                gpu: all - of_others[2],
                first: 1,
                starts: own - 1,
                lines,
                ended: 0,
            });
        }
        // Blocks dispatched to some SM before the last one is dispatched, and those that run with it.
        let before = (blocks - 1) / sms;
        let on_sm = before.checked_add(most)?;
        let of_sm = on_sm.checked_mul(warps)?;
        let chained = before.checked_add(least)?;
        let paths = match chain {
            BlockChain::AllWarps => chained.checked_mul(warps)?,
            _ => chained,
        };
        let core = match (chain, shape.spread) {
            (BlockChain::OneWarp, Spread::Slots { part, most: slots }) => {
                let (part, of) = (u128::from(part.0), u128::from(part.1).max(1));
                let last = of_sm.min(slots.into()).checked_mul(of)?;
                let earlier = before.checked_mul(warps)?.checked_mul(part.min(of))?;
                Weight {
                    numerator: earlier.checked_add(last)?,
                    denominator: of,
                }
            }
            (BlockChain::OneWarp, Spread::EachBlock) => {
                // Each block serves a chain in one sub-partition, and once more for each change of the sub-partition.
                let twice = before
                    .checked_mul(2)?
                    .checked_add(most)?
                    .checked_mul(in_part)?;
                Weight::whole(twice.min(of_sm))
            }
            _ => Weight::whole(of_sm),
        };
        Some(Weights {
            paths: Weight {
                numerator: paths,
                denominator: least,
            },
            core,
            left_over: Weight::whole(0),
            sm: of_sm,
            gpu: all,
            first: 2,
            starts: on_sm,
            lines,
            ended: 1,
        })
    }
}

#[cfg(test)]
mod tests;
