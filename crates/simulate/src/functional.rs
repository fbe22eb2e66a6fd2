//! Functional simulation of a launch, without time: executes all blocks one after the other (`pastis-2022` 4, the
//! instruction set simulator).
//!
//! Each operation is compiled once per launch to steps on values of 32 or 64 lanes, and then executed for all lanes of a
//! warp together. The number of lanes is a constant parameter; launches here execute NVIDIA's machine code, whose warps
//! have 32. Where lanes diverge, an execution model of `simt` selects those that continue: on Maxwell and Pascal the
//! activation stack. A warp runs until it waits at a barrier or exits.

mod access;
mod barrier;
mod block;
mod compile;
mod counts;
mod fault;
mod images;
mod lanes;
mod listen;
mod memory;
mod parallel;
mod program;
mod steps;
mod surface;
mod texture;
mod warp;
#[cfg(test)]
mod wide_warps;

use std::num::NonZero;

use warpbound_ir::{Code, OpIndex};
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_launch::{GlobalMemory, Launch, Size};
use warpbound_simt::ExecutionModel;
use warpbound_simt::activation_stack::ActivationStack;

pub use counts::{Counts, Note, NoteKind};
pub use fault::{BarrierWait, Fault, FaultKind};
pub use listen::{AccessKind, CellValues, ExecutionListener, Issue, MemoryAccess, NoListener};

pub(crate) use block::{Block, ExecContext};
pub(crate) use memory::space_of;
pub(crate) use program::{ClockRegister, Program};

/// Lanes of a warp of NVIDIA's GPUs, as the length of a row of values.
pub(crate) const NVIDIA_LANES: usize = WARP_LANES as usize;

/// Execution model of a warp of Maxwell and Pascal; points are operation indices.
pub type NvidiaModel = ActivationStack<u32>;

/// Executes all blocks of a launch.
///
/// # Errors
///
/// If a warp reaches an unsupported operation, or if the kernel makes an error, see [`FaultKind`].
pub fn launch(code: &Code, launch: &Launch, memory: &mut GlobalMemory) -> Result<Counts, Fault> {
    launch_with_listener(code, launch, memory, &mut NoListener)
}

/// Executes all blocks of a launch and reports each instruction to a listener.
///
/// # Errors
///
/// As [`launch`]; also if the listener stops the launch.
pub fn launch_with_listener(
    code: &Code,
    launch: &Launch,
    memory: &mut GlobalMemory,
    listener: &mut impl ExecutionListener<NvidiaModel>,
) -> Result<Counts, Fault> {
    let program = Program::<NVIDIA_LANES>::untimed(code, launch);
    run_blocks::<NvidiaModel, NVIDIA_LANES>(&program, launch, memory, listener)
}

/// Warp that runs alone: no other block starts, and the other warps of its block have exited before the block begins.
/// They issue nothing, occupy nothing and are not waited for at barriers of the whole block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SingleWarp {
    /// Linear index of its block in the grid.
    pub block: u64,
    /// Number of the warp in its block.
    pub warp: u32,
}

/// Executes one warp of a launch alone and reports each instruction to a listener.
///
/// # Errors
///
/// As [`launch_with_listener`].
pub fn launch_single_warp(
    code: &Code,
    launch: &Launch,
    only: SingleWarp,
    memory: &mut GlobalMemory,
    listener: &mut impl ExecutionListener<NvidiaModel>,
) -> Result<Counts, Fault> {
    let program = Program::<NVIDIA_LANES>::untimed(code, launch);
    let mut counts = Counts::new(program.ops.len());
    let mut left = launch.max_instructions;
    let index = launch.block_at(only.block);
    let mut block = Block::<NvidiaModel, NVIDIA_LANES>::new(&program, launch, index);
    block.end_other_warps(only.warp);
    block.run(&mut ExecContext {
        memory,
        counts: &mut counts,
        budget: &mut left,
        listener,
    })?;
    listener.block_done(index);
    Ok(counts)
}

/// Executes all blocks of a compiled launch with warps that follow the execution model `E`.
fn run_blocks<E: ExecutionModel<u32>, const W: usize>(
    program: &Program<'_, W>,
    launch: &Launch,
    memory: &mut GlobalMemory,
    listener: &mut impl ExecutionListener<E>,
) -> Result<Counts, Fault> {
    let mut counts = Counts::new(program.ops.len());
    let mut left = launch.max_instructions;
    for index in launch.blocks() {
        let block = Block::<E, W>::new(program, launch, index);
        block.run(&mut ExecContext {
            memory,
            counts: &mut counts,
            budget: &mut left,
            listener,
        })?;
        listener.block_done(index);
    }
    Ok(counts)
}

/// Executes all blocks of a launch on several host threads. The buffers and counts of a launch that succeeds, and the
/// fault of one that does not, do not depend on the number of threads. After each block, `done` receives the number of
/// finished blocks.
///
/// # Errors
///
/// As [`launch`].
pub fn launch_parallel(
    code: &Code,
    launch: &Launch,
    memory: &mut GlobalMemory,
    threads: NonZero<usize>,
    done: &mut dyn FnMut(u64),
) -> Result<Counts, Fault> {
    if threads.get() > 1 {
        return parallel::run::<NvidiaModel, NVIDIA_LANES>(
            &Program::untimed(code, launch),
            launch,
            memory,
            threads,
            done,
        );
    }
    launch_with_listener(code, launch, memory, &mut Progress { done, blocks: 0 })
}

/// Listener that reports the number of finished blocks.
struct Progress<'a> {
    done: &'a mut dyn FnMut(u64),
    blocks: u64,
}

impl<E> ExecutionListener<E> for Progress<'_> {
    fn block_done(&mut self, _block: Size) {
        self.blocks += 1;
        (self.done)(self.blocks);
    }
}

/// The operations of a code that cannot be executed without time, ascending.
pub fn unsupported_ops(code: &Code, launch: &Launch) -> Vec<OpIndex> {
    Program::<NVIDIA_LANES>::untimed(code, launch).unsupported_ops()
}
