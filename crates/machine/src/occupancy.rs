//! How many blocks fit on an SM, and what limits them.

use crate::{Parameter, Picked};

/// What a block takes of an SM, or what an SM has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Threads.
    pub threads: u64,
    /// Warps.
    pub warps: u64,
    /// Blocks.
    pub blocks: u64,
    /// 32-bit registers.
    pub registers: u64,
    /// Bytes of shared memory.
    pub shared: u64,
}

impl Room {
    /// What an SM has.
    pub fn of_sm(machine: &Picked) -> Room {
        Room {
            threads: machine[Parameter::SmThreads],
            warps: machine[Parameter::SmWarps],
            blocks: machine[Parameter::SmBlocks],
            registers: machine[Parameter::SmRegisters],
            shared: machine[Parameter::SmShared],
        }
    }

    /// What a block takes: `registers` are those of a thread, `shared` bytes of the block.
    pub fn of_block(machine: &Picked, threads: u64, registers: u64, shared: u64) -> Room {
        let warps = threads.div_ceil(32);
        let steps = |count: u64, step: Parameter| count.next_multiple_of(machine[step].max(1));
        Room {
            threads,
            warps,
            blocks: 1,
            registers: steps(warps, Parameter::WarpStep)
                * steps(registers * 32, Parameter::RegisterStep),
            shared: steps(shared, Parameter::SharedStep),
        }
    }

    /// What is left when something is taken; `None` where it does not fit.
    pub fn without(&self, taken: &Room) -> Option<Room> {
        Some(Room {
            threads: self.threads.checked_sub(taken.threads)?,
            warps: self.warps.checked_sub(taken.warps)?,
            blocks: self.blocks.checked_sub(taken.blocks)?,
            registers: self.registers.checked_sub(taken.registers)?,
            shared: self.shared.checked_sub(taken.shared)?,
        })
    }

    /// Together.
    #[must_use]
    pub fn with(&self, given: &Room) -> Room {
        Room {
            threads: self.threads + given.threads,
            warps: self.warps + given.warps,
            blocks: self.blocks + given.blocks,
            registers: self.registers + given.registers,
            shared: self.shared + given.shared,
        }
    }
}
