//! What a grid of threads computes: all blocks of a launch, one after the other, warp by warp, without time.
//!
//! The lanes of a warp are executed together, operation by operation, on rows of 32 values; where they part, the
//! activation stack of `simt` says who goes on. A warp runs until it comes to a barrier or to its end.

mod block;
mod compile;
mod fault;
mod lanes;
mod memory;

use warpbound_ir::{Code, OpIndex};

pub use fault::{Fault, FaultKind};
pub use memory::{Buffer, GlobalMemory};

use block::Block;
use compile::Program;

/// An operation that cannot be run yet.
pub use crate::compiled::NotRunnable;

/// Threads in x, y and z.
pub type Size = [u32; 3];

/// A launch of a grid.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Blocks.
    pub grid: Size,
    /// Threads of a block, at most 1024.
    pub block: Size,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared: u32,
    /// Bytes of local memory of a thread.
    pub local: u32,
    /// Constant banks: number, bytes.
    pub constants: Vec<(u8, Vec<u8>)>,
    /// The most instructions that the warps of the grid may issue together.
    pub max_instructions: u64,
}

/// What the warps of a grid did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// For each operation, how often a warp issued it.
    pub issues: Vec<u64>,
    /// For each operation, how many lanes were active, over all its issues.
    pub active: Vec<u64>,
    /// For each operation, in how many of them its condition held.
    pub executed: Vec<u64>,
    /// For each operation, after how many of its issues lanes went different ways.
    pub divergences: Vec<u64>,
}

/// Runs all blocks of a launch.
///
/// # Errors
///
/// For an operation that cannot be run yet when a warp comes to it, and for what a kernel must not do.
pub fn launch(code: &Code, launch: &Launch, memory: &mut GlobalMemory) -> Result<Counts, Fault> {
    let program = Program::of(code, launch);
    let mut counts = Counts {
        issues: vec![0; code.ops.len()],
        active: vec![0; code.ops.len()],
        executed: vec![0; code.ops.len()],
        divergences: vec![0; code.ops.len()],
    };
    let mut left = launch.max_instructions;
    for z in 0..launch.grid[2] {
        for y in 0..launch.grid[1] {
            for x in 0..launch.grid[0] {
                let block = Block::new(&program, launch, [x, y, z], code.entry);
                block.run(memory, &mut counts, &mut left)?;
            }
        }
    }
    Ok(counts)
}

/// The operations of a code that cannot be run yet, ascending.
pub fn unknown(code: &Code, launch: &Launch) -> Vec<OpIndex> {
    Program::of(code, launch).unknown()
}
