//! What a grid of threads computes: all blocks of a launch, one after the other, warp by warp, without time.
//!
//! The lanes of a warp are executed together, operation by operation, on rows of 32 values; where they part, the
//! activation stack of `simt` says who goes on. A warp runs until it comes to a barrier or to its end.

mod block;
mod compile;
mod fault;
mod lanes;
mod memory;

use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_simt::concrete::ActivationStack;

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
    /// For each operation, after how many of its issues lanes went different ways.
    pub divergences: Vec<u64>,
}

/// Runs all blocks of a launch.
///
/// # Errors
///
/// For an operation that cannot be run yet when a warp comes to it, and for what a kernel must not do.
pub fn launch(code: &Code, launch: &Launch, memory: &mut GlobalMemory) -> Result<Counts, Fault> {
    struct Nobody;
    impl Listener for Nobody {
        fn issue(&mut self, _: &Issue<'_>) -> bool {
            true
        }
    }
    launch_with(code, launch, memory, &mut Nobody)
}

/// One instruction that a warp is about to execute.
pub struct Issue<'a> {
    /// The block.
    pub block: Size,
    /// The number of the warp in its block.
    pub warp: u32,
    /// The operation.
    pub at: OpIndex,
    /// Lanes that are active.
    pub active: u32,
    /// Those of them for which its guard holds.
    pub taken: u32,
    state: &'a block::Warp,
}

impl Issue<'_> {
    /// The number in its block of the thread in lane 0.
    pub fn first_thread(&self) -> u32 {
        self.state.first
    }

    /// What a cell holds in each lane.
    pub fn cell(&self, cell: Cell) -> [u32; 32] {
        let zero = [0; 32];
        match cell.index() {
            n @ 0..256 => self.state.registers.get(n).copied().unwrap_or(zero),
            n @ 256..264 => lanes::spread(self.state.predicates[n - 256]),
            n if n == Cell::CC.index() => self.state.cc,
            _ => zero,
        }
    }

    /// The activation stack of the warp.
    pub fn stack(&self) -> &ActivationStack<u32> {
        &self.state.stack
    }
}

/// Sees what warps do.
pub trait Listener {
    /// A warp is about to execute an instruction; whether to go on.
    fn issue(&mut self, issue: &Issue<'_>) -> bool;
}

/// [`launch`], with a listener.
///
/// # Errors
///
/// As there.
pub fn launch_with(
    code: &Code,
    launch: &Launch,
    memory: &mut GlobalMemory,
    listener: &mut dyn Listener,
) -> Result<Counts, Fault> {
    let program = Program::of(code, launch);
    let mut counts = Counts {
        issues: vec![0; code.ops.len()],
        active: vec![0; code.ops.len()],
        divergences: vec![0; code.ops.len()],
    };
    let mut left = launch.max_instructions;
    for z in 0..launch.grid[2] {
        for y in 0..launch.grid[1] {
            for x in 0..launch.grid[0] {
                let block = Block::new(&program, launch, [x, y, z], code.entry);
                block.run(memory, &mut counts, &mut left, listener)?;
            }
        }
    }
    Ok(counts)
}

/// The operations of a code that cannot be run yet, ascending.
pub fn unknown(code: &Code, launch: &Launch) -> Vec<OpIndex> {
    Program::of(code, launch).unknown()
}
