//! Compositions of observations: the sum of a launch with what one run did instead of bounds. A composition holds for
//! its run only.
//!
//! [`LaunchTimes`] of observations have the weights of a bound. An [`ObservedLaunch`] goes further: each warp, block
//! and sub-partition counts with its own time and service, where a bound multiplies the largest one. For example, two
//! blocks with services of 10 and 30 cycles on one SM count 40 cycles; by the weights of a bound they count 60.

use std::cmp::Reverse;

use warpbound_base::{Cycles, Observed};

use super::{BlockChain, LaunchShape, LaunchTerm, LaunchTimes, Summands, add_terms};
use crate::warp_bound::Delays;

/// Sum of observations, and its terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObservedComposition {
    cycles: Observed<Cycles>,
    terms: [u64; LaunchTerm::ALL.len()],
}

impl ObservedComposition {
    fn of_terms(terms: Summands, delays: Delays) -> Option<ObservedComposition> {
        let (total, terms) = add_terms(terms, delays)?;
        Some(ObservedComposition {
            cycles: Observed(Cycles(total)),
            terms,
        })
    }

    /// Returns the sum.
    pub fn cycles(&self) -> Observed<Cycles> {
        self.cycles
    }

    /// Returns the cycles of a term.
    pub fn term(&self, term: LaunchTerm) -> u64 {
        self.terms[term as usize]
    }
}

impl LaunchTimes<Observed<Cycles>> {
    /// Composes observations with the weights of the bound of a launch. `None` if the sum has more than 64 bits.
    pub fn compose(&self, shape: &LaunchShape, delays: Delays) -> Option<ObservedComposition> {
        let terms = self.summands(shape, |Observed(cycles)| u128::from(cycles.0))?;
        ObservedComposition::of_terms(terms, delays)
    }
}

/// Warps of a block in one sub-partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartLoad {
    /// Number of warps.
    pub warps: u64,
    /// Longest time of one of these warps, as if it were alone, stores included.
    pub path: u64,
    /// Cycles for which all these warps take the issue slot and the units.
    pub core: u64,
}

/// Block of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObservedBlock {
    /// Number of its SM.
    pub sm: u32,
    /// Cycles of its start and of the end of its last warp.
    pub life: (u64, u64),
    /// Cycles of its chain of warps, as if each warp were alone, stores included.
    pub path: u64,
    /// Cycles of the same chain without stores.
    pub followed: u64,
    /// Upper bound on the cycles that its chain waits for issue slots and units while no other block is there.
    pub core: u64,
    /// Largest part of `core` between two barriers.
    pub segment: u64,
    /// Barriers that its warps pass.
    pub barriers: u64,
    /// Its warps by sub-partition.
    pub parts: Vec<PartLoad>,
    /// Cycles for which it occupies what its SM shares.
    pub sm_service: u64,
    /// Part of `sm_service` that its warps did not wait for, where nothing limits how much they leave when they end.
    pub unfinished: u64,
}

impl ObservedBlock {
    /// Largest service of one sub-partition.
    fn of_part(&self) -> u128 {
        let cores = self.parts.iter().map(|part| part.core);
        cores.max().unwrap_or(0).into()
    }

    /// Services of all sub-partitions.
    fn of_parts(&self) -> u128 {
        self.parts.iter().map(|part| u128::from(part.core)).sum()
    }
}

/// Run of a launch, as far as the composition depends on it. Times are in cycles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObservedLaunch {
    /// Blocks in the order of their dispatch, at least one.
    pub blocks: Vec<ObservedBlock>,
    /// Chain of warps in a block.
    pub chain: BlockChain,
    /// Number of SMs.
    pub sms: u64,
    /// Number of blocks that each SM holds.
    pub resident: u64,
    /// Service of all blocks, lines of code and constants included, by the memory that all SMs share.
    pub gpu: u64,
    /// Time for which instructions in the queues of a sub-partition occupy its units.
    pub queued: u64,
    /// Time of the first requests of lines and translations by one SM.
    pub first: u64,
    /// Time for which accesses of ended blocks occupy resources of an SM.
    pub ended: u64,
    /// Time between the starts of two blocks on an SM.
    pub apart: u64,
}

/// Summands of a chain on one SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct OfSm {
    path: u128,
    core: u128,
    sm: u128,
    starts: u128,
}

impl OfSm {
    fn sum(&self) -> u128 {
        self.path + self.core + self.sm + self.starts
    }

    fn and(self, other: OfSm) -> OfSm {
        OfSm {
            path: self.path + other.path,
            core: self.core + other.core,
            sm: self.sm + other.sm,
            starts: self.starts + other.starts,
        }
    }
}

impl ObservedLaunch {
    /// Composes the run, for schedulers that issue whenever a warp is ready. `None` if the sum has more than 64 bits.
    pub fn compose(&self, delays: Delays) -> Option<ObservedComposition> {
        let blocks = self.blocks.len() as u64;
        let is_at_once = u128::from(blocks) <= u128::from(self.sms) * u128::from(self.resident);
        let (of_sm, first, ended) = match is_at_once {
            true => (self.at_once()?, 1, 0),
            // First requests count for the SM until the last dispatch and for the SM after it, which may be one.
            false => (self.one_after_the_other()?, self.sms.clamp(1, 2), 1),
        };
        let first = u128::from(first);
        let terms = [
            of_sm.path,
            of_sm.core,
            of_sm.sm + ended * u128::from(self.ended),
            self.gpu.into(),
            first * u128::from(self.first),
            of_sm.starts,
        ];
        ObservedComposition::of_terms(terms, delays)
    }

    /// Blocks of each SM that has some, in the order of their dispatch.
    fn by_sm<'a>(blocks: &'a [ObservedBlock]) -> Vec<Vec<&'a ObservedBlock>> {
        let mut sms: Vec<Vec<&'a ObservedBlock>> = Vec::new();
        for block in blocks {
            let mut known = sms.iter_mut();
            match known.find(|sm| sm.first().is_some_and(|other| other.sm == block.sm)) {
                Some(sm) => sm.push(block),
                None => sms.push(vec![block]),
            }
        }
        sms
    }

    /// Summands if all blocks start at once: the SM that is done last.
    fn at_once(&self) -> Option<OfSm> {
        let sms = ObservedLaunch::by_sm(&self.blocks);
        let of_sms = sms.iter().map(|blocks| {
            let chain = match self.chain {
                BlockChain::OneWarp => self.of_warps(blocks),
                BlockChain::Aligned => self.of_aligned(blocks),
                BlockChain::AllWarps => OfSm {
                    path: greatest(blocks, |block| block.path),
                    core: blocks.iter().map(|block| block.of_parts()).sum(),
                    ..OfSm::default()
                },
            };
            chain.and(OfSm {
                sm: services(blocks),
                starts: (blocks.len() as u128 - 1) * u128::from(self.apart),
                ..OfSm::default()
            })
        });
        of_sms.max_by_key(OfSm::sum)
    }

    /// Summands of a warp of blocks that start at once, with the other warps of its sub-partition.
    fn of_warps(&self, blocks: &[&ObservedBlock]) -> OfSm {
        // All warps of the SM may count instead, because what the queues hold comes from them.
        let all: u128 = blocks.iter().map(|block| block.of_parts()).sum();
        let parts = blocks.iter().map(|block| block.parts.len()).max();
        let of_parts = (0..parts.unwrap_or(0)).map(|number| {
            let loads = blocks.iter().filter_map(|block| block.parts.get(number));
            let warps: u64 = loads.clone().map(|load| load.warps).sum();
            let path = loads.clone().map(|load| load.path).max().unwrap_or(0);
            let core: u128 = loads.map(|load| u128::from(load.core)).sum();
            let left = if blocks.len() > 1 { self.queued } else { 0 };
            OfSm {
                path: path.into(),
                // A warp that is alone in its sub-partition waits for no other warp there.
                core: match warps {
                    0 | 1 => 0,
                    _ => all.min(core + u128::from(left)),
                },
                ..OfSm::default()
            }
        });
        of_parts.max_by_key(OfSm::sum).unwrap_or_default()
    }

    /// Summands of a block among others that start at once, with barriers that all its warps pass.
    fn of_aligned(&self, blocks: &[&ObservedBlock]) -> OfSm {
        let warps = |number: usize| -> u64 {
            let loads = blocks.iter().filter_map(|block| block.parts.get(number));
            loads.map(|load| load.warps).sum()
        };
        let all: u128 = blocks.iter().map(|block| block.of_parts()).sum();
        let parts = blocks.iter().map(|block| block.parts.len()).max();
        let is_alone = (0..parts.unwrap_or(0)).all(|number| warps(number) <= 1);
        let chains = blocks.iter().enumerate().map(|(own, block)| {
            let others = blocks.iter().enumerate().filter(|(other, _)| *other != own);
            let reached = others.map(|(_, other)| {
                // Each segment of the other block counts once; the largest counts once more per barrier of the chain,
                // because the chain may change the sub-partition there.
                let changes = u128::from(block.barriers);
                let of_part = u128::from(other.core) + changes * u128::from(other.segment);
                of_part.min(other.of_parts())
            });
            let left = u128::from(self.queued) * u128::from(block.barriers);
            OfSm {
                path: block.path.into(),
                core: match is_alone {
                    true => 0,
                    false => all.min(u128::from(block.core) + reached.sum::<u128>() + left),
                },
                ..OfSm::default()
            }
        });
        chains.max_by_key(OfSm::sum).unwrap_or_default()
    }

    /// Summands if blocks follow others: the SM with the smallest sum until the last dispatch, and the SM that is
    /// done last.
    fn one_after_the_other(&self) -> Option<OfSm> {
        let (last, before) = self.blocks.split_last()?;
        let sms = ObservedLaunch::by_sm(before);
        let until_last = sms.iter().map(|blocks| self.until(blocks, last.life.0));
        // Every SM is full until the last dispatch, so the sum of each SM limits the time of that dispatch.
        let until_last = until_last.min_by_key(OfSm::sum)?;
        let sms = ObservedLaunch::by_sm(&self.blocks);
        let afterwards = sms.into_iter().map(|mut blocks| {
            // The blocks that end last run there after the last dispatch; the others have ended before it.
            blocks.sort_by_key(|block| Reverse(block.life.1));
            let running = usize::try_from(self.resident).unwrap_or(usize::MAX);
            let ended = blocks.split_off(running.min(blocks.len()));
            let unfinished = ended.iter().map(|block| u128::from(block.unfinished));
            let of_running = self.afterwards(&blocks).and(OfSm {
                sm: unfinished.sum(),
                ..OfSm::default()
            });
            (of_running, blocks)
        });
        let (afterwards, running) = afterwards.max_by_key(|(of_sm, _)| of_sm.sum())?;
        let both = until_last.and(afterwards);
        if self.sms > 1 {
            return Some(both);
        }
        // A single SM serves each block once in all, so blocks that run after the last dispatch are not counted
        // twice.
        let twice = running
            .into_iter()
            .filter(|block| !std::ptr::eq(*block, last));
        let twice: Vec<&ObservedBlock> = twice.collect();
        let all = self.blocks.iter().map(|block| block.of_parts()).sum();
        Some(OfSm {
            core: match (self.resident, self.chain) {
                (2.., _) | (_, BlockChain::AllWarps) => both.core.min(all),
                _ => both.core,
            },
            sm: both.sm.saturating_sub(services(&twice)),
            starts: self.blocks.len() as u128 * u128::from(self.apart),
            ..both
        })
    }

    /// Summands from the start until the cycle `dispatch`, on an SM whose places are taken by `blocks` until then.
    fn until(&self, blocks: &[&ObservedBlock], dispatch: u64) -> OfSm {
        let places = u128::from(self.resident.max(1));
        let followed: u128 = blocks.iter().map(|block| u128::from(block.followed)).sum();
        let all: u128 = blocks.iter().map(|block| block.of_parts()).sum();
        let core = match (self.resident, self.chain) {
            (1, _) => blocks.iter().map(|block| self.of_single(block)).sum(),
            (_, BlockChain::OneWarp) => {
                // A block serves each chain in one sub-partition, and once more for each block of the chain that ends
                // during its life.
                let services = blocks.iter().enumerate().map(|(number, block)| {
                    let others = blocks
                        .iter()
                        .enumerate()
                        .filter(|(other, _)| *other != number);
                    let ends = others.filter(|(_, other)| {
                        let end = other.life.1;
                        end <= dispatch && block.life.0 < end && end <= block.life.1
                    });
                    block.of_part() * (places + ends.count() as u128)
                });
                let in_part = services.sum::<u128>().div_ceil(places);
                let left = (blocks.len() as u128).div_ceil(places) * u128::from(self.queued);
                all.min(in_part + left)
            }
            (_, BlockChain::Aligned) => {
                // Each change of a chain adds a segment of the blocks that see it: at most `places - 1` blocks.
                let changes = blocks.iter().map(|block| u128::from(block.barriers) + 1);
                let changes: u128 = changes.sum();
                let lives = (changes * (places - 1)).div_ceil(places);
                let left = changes.div_ceil(places) * u128::from(self.queued);
                all.min(of_segments(blocks, lives) + left)
            }
            (_, BlockChain::AllWarps) => all,
        };
        OfSm {
            path: followed.div_ceil(places),
            core,
            sm: services(blocks),
            starts: blocks.len() as u128 * u128::from(self.apart),
        }
    }

    /// Summands from the last dispatch on, on an SM where `blocks` run then.
    fn afterwards(&self, blocks: &[&ObservedBlock]) -> OfSm {
        let all: u128 = blocks.iter().map(|block| block.of_parts()).sum();
        let core = match (self.resident, self.chain) {
            (1, _) => blocks.iter().map(|block| self.of_single(block)).sum(),
            (_, BlockChain::OneWarp) => {
                let in_part: u128 = blocks.iter().map(|block| block.of_part()).sum();
                all.min(in_part + u128::from(self.queued))
            }
            (_, BlockChain::Aligned) => {
                let barriers = greatest(blocks, |block| block.barriers);
                let others = (blocks.len() as u128).saturating_sub(1);
                let left = (barriers + 1) * u128::from(self.queued);
                all.min(of_segments(blocks, others * barriers) + left)
            }
            (_, BlockChain::AllWarps) => all,
        };
        OfSm {
            path: greatest(blocks, |block| block.path),
            core,
            sm: services(blocks),
            starts: blocks.len() as u128 * u128::from(self.apart),
        }
    }

    /// Services of sub-partitions for the chain of a block that is alone on its SM, after another block has ended
    /// there.
    fn of_single(&self, block: &ObservedBlock) -> u128 {
        let queued = u128::from(self.queued);
        if self.chain == BlockChain::AllWarps {
            return block.of_parts() + queued;
        }
        match (block.parts.iter().all(|part| part.warps <= 1), self.chain) {
            (true, _) => queued,
            (false, BlockChain::OneWarp) => block.of_part() + queued,
            (false, _) => u128::from(block.core) + queued * (u128::from(block.barriers) + 1),
        }
    }
}

/// Largest value of a time over the blocks.
fn greatest(blocks: &[&ObservedBlock], time: impl Fn(&ObservedBlock) -> u64) -> u128 {
    let times = blocks.iter().map(|block| time(block));
    times.max().unwrap_or(0).into()
}

/// Services of a sub-partition for a chain among blocks with barriers: each segment of each block once, and the
/// largest segment `more` times.
fn of_segments(blocks: &[&ObservedBlock], more: u128) -> u128 {
    let once = blocks.iter().map(|block| u128::from(block.core));
    once.sum::<u128>() + more * greatest(blocks, |block| block.segment)
}

/// Services of blocks by what their SM shares.
fn services(blocks: &[&ObservedBlock]) -> u128 {
    let services = blocks.iter().map(|block| u128::from(block.sm_service));
    services.sum()
}
