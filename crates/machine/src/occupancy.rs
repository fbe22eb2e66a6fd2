//! How many blocks fit on an SM, and what limits them.
//!
//! The rules are those of NVIDIA's occupancy calculator (`cuda_occupancy.h`): registers are allocated to warps in steps,
//! each sub-partition holds whole warps only, and shared memory is allocated to blocks in steps.

use std::fmt;

use crate::{Parameter, MachineConfig};

/// What a block takes of an SM, or what an SM has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockResources {
    /// Threads.
    pub threads: u64,
    /// Warps.
    pub warps: u64,
    /// Blocks.
    pub blocks: u64,
    /// 32-bit registers; a warp counts for its share of the SM, see [`Room::of_block`].
    pub registers: u64,
    /// Bytes of shared memory.
    pub shared: u64,
}

impl BlockResources {
    /// What an SM has.
    pub fn of_sm(machine: &MachineConfig) -> BlockResources {
        BlockResources {
            threads: machine[Parameter::SmThreads],
            warps: machine[Parameter::SmWarps],
            blocks: machine[Parameter::SmBlocks],
            registers: machine[Parameter::SmRegisters],
            shared: machine[Parameter::SmShared],
        }
    }

    /// What a block takes: `threads` are at least 1, `registers` are those of a thread, `shared` bytes of the block.
    ///
    /// A sub-partition holds whole warps, and what is left over is of no use to warps of this size. So a warp counts
    /// for the registers of the SM divided by the warps of this size that it holds: as many fit as there is room for
    /// in all sub-partitions.
    pub fn of_block(machine: &MachineConfig, threads: u64, registers: u64, shared: u64) -> BlockResources {
        let threads = threads.max(1);
        let warps = threads.div_ceil(32);
        let has = machine[Parameter::SmRegisters];
        let share = match has.checked_div(registers_of_warp(machine, registers)) {
            None => 0,
            Some(held) => {
                let step = machine[Parameter::WarpStep].max(1);
                // Where no warp has room, no block has.
                has.checked_div(held / step * step).unwrap_or(u64::MAX)
            }
        };
        BlockResources {
            threads,
            warps,
            blocks: 1,
            registers: warps.saturating_mul(share),
            shared: in_steps(shared, machine[Parameter::SharedStep]),
        }
    }

    /// What is left when something is taken; `None` where it does not fit.
    pub fn without(&self, taken: &BlockResources) -> Option<BlockResources> {
        Some(BlockResources {
            threads: self.threads.checked_sub(taken.threads)?,
            warps: self.warps.checked_sub(taken.warps)?,
            blocks: self.blocks.checked_sub(taken.blocks)?,
            registers: self.registers.checked_sub(taken.registers)?,
            shared: self.shared.checked_sub(taken.shared)?,
        })
    }

    /// Together.
    #[must_use]
    pub fn with(&self, given: &BlockResources) -> BlockResources {
        BlockResources {
            threads: self.threads + given.threads,
            warps: self.warps + given.warps,
            blocks: self.blocks + given.blocks,
            registers: self.registers + given.registers,
            shared: self.shared + given.shared,
        }
    }
}

/// Registers that a warp is allocated; those of a thread are given.
fn registers_of_warp(machine: &MachineConfig, registers: u64) -> u64 {
    in_steps(
        registers.saturating_mul(32),
        machine[Parameter::RegisterStep],
    )
}

/// The least multiple of a step that is not less; no panic on numbers of any size.
fn in_steps(count: u64, step: u64) -> u64 {
    let step = step.max(1);
    count.div_ceil(step).saturating_mul(step)
}

/// What there is too little of on an SM for one more block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Limit {
    /// Threads.
    Threads,
    /// Warps.
    Warps,
    /// Blocks.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
}

impl Limit {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Threads => "threads",
            Limit::Warps => "warps",
            Limit::Blocks => "blocks",
            Limit::Registers => "registers",
            Limit::Shared => "shared memory",
        }
    }
}

/// How full an SM is with blocks of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occupancy {
    /// Blocks that an SM holds at once, at least 1.
    pub blocks: u64,
    /// Their warps.
    pub warps: u64,
    /// Warps that an SM could hold.
    pub most_warps: u64,
    /// What keeps one more block out: all that allow no more than these, in the order of [`Limit`].
    pub limits: Vec<Limit>,
}

impl Occupancy {
    /// That of a kernel: `threads` of a block (at least 1), `registers` of a thread, `shared` bytes of a block, static
    /// and dynamic together.
    ///
    /// # Errors
    ///
    /// Where not even one block fits: the first of `block.threads`, `block.registers`, `block.shared`, `sm.threads`,
    /// `sm.warps`, `sm.registers` and `sm.shared` that it exceeds.
    pub fn of(
        machine: &MachineConfig,
        threads: u64,
        registers: u64,
        shared: u64,
    ) -> Result<Occupancy, BlockTooLarge> {
        let block = BlockResources::of_block(machine, threads, registers, shared);
        // NVIDIA's rule for the limits of a block: as if all sub-partitions had the same number of its warps.
        let allocated = registers_of_warp(machine, registers)
            .saturating_mul(in_steps(block.warps, machine[Parameter::WarpStep]));
        for (limit, takes) in [
            (Parameter::BlockThreads, block.threads),
            (Parameter::BlockRegisters, allocated),
            (Parameter::BlockShared, block.shared),
            (Parameter::SmThreads, block.threads),
            (Parameter::SmWarps, block.warps),
            (Parameter::SmRegisters, allocated),
            (Parameter::SmShared, block.shared),
        ] {
            let has = machine[limit];
            if takes > has {
                return Err(BlockTooLarge { limit, takes, has });
            }
        }
        let sm = BlockResources::of_sm(machine);
        let fitting = [
            (Limit::Threads, sm.threads, block.threads),
            (Limit::Warps, sm.warps, block.warps),
            (Limit::Blocks, sm.blocks, block.blocks),
            (Limit::Registers, sm.registers, block.registers),
            (Limit::Shared, sm.shared, block.shared),
        ]
        .map(|(limit, has, takes)| (limit, has.checked_div(takes).unwrap_or(u64::MAX)));
        let blocks = fitting.iter().map(|(_, fit)| *fit).fold(u64::MAX, u64::min);
        let limits = fitting.iter().filter(|(_, fit)| *fit == blocks);
        Ok(Occupancy {
            blocks,
            warps: blocks * block.warps,
            most_warps: sm.warps,
            limits: limits.map(|(limit, _)| *limit).collect(),
        })
    }

    /// Warps as a part of those that an SM could hold, 0 to 1.
    pub fn ratio(&self) -> f64 {
        self.warps as f64 / self.most_warps as f64
    }
}

/// A block that fits on no SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockTooLarge {
    /// What it exceeds.
    pub limit: Parameter,
    /// What it takes, as it is allocated.
    pub takes: u64,
    /// What there is.
    pub has: u64,
}

impl fmt::Display for BlockTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, takes, has) = (self.limit.name(), self.takes, self.has);
        write!(f, "a block takes {takes}, but {name} is {has}")
    }
}

impl std::error::Error for BlockTooLarge {}
