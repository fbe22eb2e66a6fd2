//! Occupancy: the number of blocks that fit on an SM or a compute unit, and the resources that limit it.
//!
//! The rules for SMs follow NVIDIA's occupancy calculator (`cuda_occupancy.h`): registers are allocated to
//! warps in steps, each sub-partition holds whole warps only, and shared memory is allocated to blocks in steps.

use std::fmt;
use std::ops::Index;

use warpbound_base::Family;

use crate::Parameter;

mod compute_unit;

pub use compute_unit::WaveNeeds;

/// Resources that a block or workgroup needs, or that an SM or compute unit has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockResources {
    /// Threads.
    pub threads: u64,
    /// Warps.
    pub warps: u64,
    /// Blocks.
    pub blocks: u64,
    /// 32-bit registers; a warp counts for its share of the SM, see [`BlockResources::of_block`].
    pub registers: u64,
    /// Bytes of shared memory or LDS.
    pub shared: u64,
    /// Barriers of a compute unit; a group of one wave needs none. 0 on NVIDIA's GPUs, where `blocks` limits them.
    pub barriers: u64,
}

impl BlockResources {
    /// Parameters that the resources of SMs and blocks depend on.
    pub const PARAMETERS: &[Parameter] = &[
        Parameter::SmThreads,
        Parameter::SmWarps,
        Parameter::SmBlocks,
        Parameter::SmRegisters,
        Parameter::SmShared,
        Parameter::RegisterStep,
        Parameter::WarpStep,
        Parameter::SharedStep,
        Parameter::SharedReserved,
    ];

    /// Returns the resources of an empty SM.
    pub fn of_sm(machine: &impl Index<Parameter, Output = u64>) -> BlockResources {
        BlockResources {
            threads: machine[Parameter::SmThreads],
            warps: machine[Parameter::SmWarps],
            blocks: machine[Parameter::SmBlocks],
            registers: machine[Parameter::SmRegisters],
            shared: machine[Parameter::SmShared],
            barriers: 0,
        }
    }

    /// Returns the resources that a block needs: `threads` per block (at least 1), `registers` per thread, `shared`
    /// bytes per block.
    ///
    /// A sub-partition holds whole warps, and its remaining registers are of no use to warps of this size. So a warp
    /// counts for the registers of the SM divided by the number of warps of this size that all sub-partitions
    /// together hold. For example, an SM with 65536 registers holds 25 warps of 2560 registers, rounded down to 24 by
    /// a warp step of 4. Each then counts for 2730 registers.
    pub fn of_block(
        machine: &impl Index<Parameter, Output = u64>,
        threads: u64,
        registers: u64,
        shared: u64,
    ) -> BlockResources {
        let threads = threads.max(1);
        let warps = threads.div_ceil(32);
        let has = machine[Parameter::SmRegisters];
        let share = match has.checked_div(registers_of_warp(machine, registers)) {
            // A block without registers is not limited by them.
            None => 0,
            Some(held) => {
                let step = machine[Parameter::WarpStep].max(1);
                // If no warp fits, no block does.
                has.checked_div(held / step * step).unwrap_or(u64::MAX)
            }
        };
        BlockResources {
            threads,
            warps,
            blocks: 1,
            registers: warps.saturating_mul(share),
            shared: in_steps(
                shared.saturating_add(machine[Parameter::SharedReserved]),
                machine[Parameter::SharedStep],
            ),
            barriers: 0,
        }
    }

    /// Subtracts resources; `None` if `self` has too few of one.
    pub fn without(&self, taken: &BlockResources) -> Option<BlockResources> {
        Some(BlockResources {
            threads: self.threads.checked_sub(taken.threads)?,
            warps: self.warps.checked_sub(taken.warps)?,
            blocks: self.blocks.checked_sub(taken.blocks)?,
            registers: self.registers.checked_sub(taken.registers)?,
            shared: self.shared.checked_sub(taken.shared)?,
            barriers: self.barriers.checked_sub(taken.barriers)?,
        })
    }

    /// Adds resources that a block has released.
    #[must_use]
    pub fn with(&self, given: &BlockResources) -> BlockResources {
        BlockResources {
            threads: self.threads + given.threads,
            warps: self.warps + given.warps,
            blocks: self.blocks + given.blocks,
            registers: self.registers + given.registers,
            shared: self.shared + given.shared,
            barriers: self.barriers + given.barriers,
        }
    }
}

/// Returns the number of registers allocated to a warp whose threads have `registers` each.
fn registers_of_warp(machine: &impl Index<Parameter, Output = u64>, registers: u64) -> u64 {
    in_steps(
        registers.saturating_mul(32),
        machine[Parameter::RegisterStep],
    )
}

/// Rounds `count` up to a multiple of `step`; saturates.
fn in_steps(count: u64, step: u64) -> u64 {
    let step = step.max(1);
    // A saturated need exceeds every limit, so the block is refused.
    count.div_ceil(step).saturating_mul(step)
}

/// Resource that limits the blocks on an SM, or the workgroups on a compute unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Limit {
    /// Threads.
    Threads,
    /// Warps.
    Warps,
    /// Blocks.
    Blocks,
    /// Registers; on a compute unit, vector registers.
    Registers,
    /// Shared memory.
    Shared,
    /// Scalar registers of a compute unit.
    ScalarRegisters,
    /// Barriers of a compute unit.
    Barriers,
}

impl Limit {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Threads => "threads",
            Limit::Warps => "warps",
            Limit::Blocks => "blocks",
            Limit::Registers => "registers",
            Limit::Shared => "shared memory",
            Limit::ScalarRegisters => "scalar registers",
            Limit::Barriers => "barriers",
        }
    }

    /// Name in reports on compute units.
    pub fn gcn3_name(self) -> &'static str {
        match self {
            Limit::Warps => "waves",
            Limit::Blocks => "workgroups",
            Limit::Registers => "vector registers",
            Limit::Shared => "LDS",
            _ => self.name(),
        }
    }
}

/// Occupancy of an SM or a compute unit with blocks of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occupancy {
    /// Resident blocks per SM or compute unit, at least 1.
    pub blocks: u64,
    /// Warps of these blocks.
    pub warps: u64,
    /// Maximum number of resident warps per SM or compute unit.
    pub most_warps: u64,
    /// Resources that one more block would exceed, in the order of [`Limit`].
    pub limits: Vec<Limit>,
}

impl Occupancy {
    /// Returns the occupancy of a kernel: `threads` per block (at least 1), `registers` per thread, `shared` bytes per
    /// block, static and dynamic together.
    ///
    /// # Errors
    ///
    /// Not even one block fits. The error names the first of `block.threads`, `block.registers`, `block.shared`,
    /// `sm.threads`, `sm.warps`, `sm.registers` and `sm.shared` that the block exceeds.
    pub fn of(
        machine: &impl Index<Parameter, Output = u64>,
        threads: u64,
        registers: u64,
        shared: u64,
    ) -> Result<Occupancy, BlockTooLarge> {
        let block = BlockResources::of_block(machine, threads, registers, shared);
        // NVIDIA's rule rounds the warps of the block up, as if each sub-partition held the same number of them.
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
        // A block that needs none of a resource is not limited by it.
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

    /// Resident warps as a fraction of the maximum, 0 to 1.
    pub fn ratio(&self) -> f64 {
        self.warps as f64 / self.most_warps as f64
    }
}

/// Error of a block that does not fit on an empty SM, or a workgroup that does not fit on an empty compute unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockTooLarge {
    /// Exceeded parameter.
    pub limit: Parameter,
    /// Amount that the block needs, rounded up as the hardware allocates it.
    pub takes: u64,
    /// Amount that the SM, compute unit or SIMD has.
    pub has: u64,
}

impl fmt::Display for BlockTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, takes, has) = (self.limit.name(), self.takes, self.has);
        let block = match self.limit.families() {
            [Family::Gcn3] => "workgroup",
            _ => "block",
        };
        write!(f, "a {block} takes {takes}, but {name} is {has}")
    }
}

impl std::error::Error for BlockTooLarge {}
