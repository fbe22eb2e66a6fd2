//! Functional simulation of a launch, without time: executes all blocks one after the other (`pastis-2022` 4, the
//! instruction set simulator).
//!
//! Each operation is compiled once per launch to steps on values of 32 or 64 lanes, and then executed for all lanes
//! of a warp together. The number of lanes is a constant parameter: warps of NVIDIA's GPUs have 32, waves of AMD's
//! 64. Where lanes diverge, an execution model of `simt` selects those that continue: the activation stack on NVIDIA's
//! GPUs, and the mask that the program writes on AMD's. A warp runs until it waits at a barrier or
//! exits.

mod access;
mod barrier;
mod block;
mod buffer;
mod checks;
mod compile;
mod compile_flow;
mod compile_matrix;
mod compile_wave;
mod counts;
mod exchanges;
mod fault;
mod images;
mod lanes;
mod listen;
mod matrices;
mod memory;
mod once;
mod once_access;
mod parallel;
mod program;
mod split_runs;
mod splits;
mod steps;
mod surface;
mod texture;
mod warp;
mod wave_access;
mod wave_shared;
#[cfg(test)]
mod waves;
#[cfg(test)]
mod wide_warps;

use std::num::NonZero;

use warpbound_base::{Family, Reconvergence};
use warpbound_ir::{Code, OpIndex};
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_launch::{GlobalMemory, Launch, Size, gcn};
use warpbound_simt::ExecutionModel;
use warpbound_simt::activation_stack::ActivationStack;
use warpbound_simt::convergence_barriers::ConvergenceBarriers;
use warpbound_simt::exec_mask::ExecMask;

pub use checks::{Hazard, launch_checked};
pub use counts::{Counts, Note, NoteKind};
pub use fault::{BarrierWait, Fault, FaultKind, SplitFault};
pub use listen::{
    AccessKind, AnyListener, CellValues, ExecutionListener, Issue, MemoryAccess, NoListener,
    NvidiaListener,
};
pub use split_runs::{SplitCounts, SplitSchedule, UntimedSplits, launch_split};

pub(crate) use block::{Block, ExecContext};
pub(crate) use memory::space_of;
pub(crate) use program::{ClockRegister, Program};

/// Lanes of a warp of NVIDIA's GPUs, as the length of a row of values.
pub(crate) const NVIDIA_LANES: usize = WARP_LANES as usize;

/// Execution model of a warp with an activation stack; points are operation indices.
pub type NvidiaModel = ActivationStack<u32>;

/// Execution model of a warp with convergence barriers; points are operation indices.
pub type ConvergenceModel = ConvergenceBarriers<u32>;

/// Execution model of a wave of AMD's GPUs; points are operation indices.
pub type WaveModel = ExecMask<u32>;

/// Lanes of a wave of AMD's GPUs, as the length of a row of values.
pub(crate) const WAVE_LANES: usize = gcn::LANES as usize;

/// Executes all blocks of a launch.
///
/// # Errors
///
/// A warp reaches an unsupported operation, or the kernel makes an error, see [`FaultKind`].
pub fn launch(code: &Code, launch: &Launch, memory: &mut GlobalMemory) -> Result<Counts, Fault> {
    launch_unobserved(code, launch, memory, &mut |_| {})
}

/// Executes all blocks of a launch. After each block, `done` receives the number of finished blocks. This interpreter is
/// compiled without a listener to instructions, because most launches have none.
fn launch_unobserved(
    code: &Code,
    launch: &Launch,
    memory: &mut GlobalMemory,
    done: &mut dyn FnMut(u64),
) -> Result<Counts, Fault> {
    let listener = &mut Progress { done, blocks: 0 };
    check_entry(code, launch, code.family.has_exec_mask())?;
    match code.family {
        Family::Gcn3 => {
            let program = Program::<WAVE_LANES>::untimed(code, launch);
            run_blocks::<WaveModel, WAVE_LANES>(&program, launch, memory, listener)
        }
        Family::Maxwell | Family::Volta | Family::MiniSimt => {
            let program = Program::<NVIDIA_LANES>::untimed(code, launch);
            match code.family.facts().reconvergence {
                Reconvergence::ConvergenceBarriers => {
                    run_blocks::<ConvergenceModel, NVIDIA_LANES>(&program, launch, memory, listener)
                }
                _ => run_blocks::<NvidiaModel, NVIDIA_LANES>(&program, launch, memory, listener),
            }
        }
    }
}

/// Executes all blocks of a launch on an AMD GPU and reports each instruction to a listener.
///
/// # Errors
///
/// As [`launch`]; also if the listener stops the launch, or if the launch is for another machine.
pub fn launch_waves(
    code: &Code,
    launch: &Launch,
    memory: &mut GlobalMemory,
    mut listener: &mut dyn ExecutionListener<WaveModel>,
) -> Result<Counts, Fault> {
    check_entry(code, launch, true)?;
    let program = Program::<WAVE_LANES>::untimed(code, launch);
    run_blocks::<WaveModel, WAVE_LANES>(&program, launch, memory, &mut listener)
}

/// Executes all blocks of a launch on an NVIDIA GPU and reports each instruction to a listener.
///
/// # Errors
///
/// As [`launch`]; also if the listener stops the launch, or if the launch is for another machine.
pub fn launch_with_listener(
    code: &Code,
    launch: &Launch,
    memory: &mut GlobalMemory,
    listener: &mut dyn NvidiaListener,
) -> Result<Counts, Fault> {
    check_entry(code, launch, false)?;
    let program = Program::<NVIDIA_LANES>::untimed(code, launch);
    match code.family.facts().reconvergence {
        Reconvergence::ConvergenceBarriers => {
            let mut listener: &mut dyn ExecutionListener<ConvergenceModel> = listener;
            run_blocks::<ConvergenceModel, NVIDIA_LANES>(&program, launch, memory, &mut listener)
        }
        _ => {
            let mut listener: &mut dyn ExecutionListener<NvidiaModel> = listener;
            run_blocks::<NvidiaModel, NVIDIA_LANES>(&program, launch, memory, &mut listener)
        }
    }
}

/// Refuses code and launches of a machine with the other kind of warps: waves have masks in registers, and begin with an
/// entry state.
pub(crate) fn check_entry(code: &Code, launch: &Launch, are_waves: bool) -> Result<(), Fault> {
    match code.family.has_exec_mask() == are_waves && launch.wave_entry.is_some() == are_waves {
        true => Ok(()),
        false => Err(Fault::of_launch(FaultKind::OtherMachine)),
    }
}

/// Executes all blocks of a launch on the machine that it is for, and reports each instruction to a listener that follows
/// the execution models of all machines.
///
/// # Errors
///
/// As [`launch`]; also if the listener stops the launch.
pub fn launch_monitored(
    code: &Code,
    launch: &Launch,
    memory: &mut GlobalMemory,
    listener: &mut dyn AnyListener,
) -> Result<Counts, Fault> {
    match code.family {
        Family::Gcn3 => launch_waves(code, launch, memory, listener),
        Family::Maxwell | Family::Volta | Family::MiniSimt => {
            launch_with_listener(code, launch, memory, listener)
        }
    }
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
    listener: &mut dyn AnyListener,
) -> Result<Counts, Fault> {
    let index = launch.block_at(only.block);
    match code.family {
        Family::Gcn3 => {
            let program = Program::<WAVE_LANES>::untimed(code, launch);
            let mut block = Block::<WaveModel, WAVE_LANES>::new(&program, launch, index);
            block.end_other_waves(only.warp);
            run_single_block(block, &program, launch, index, memory, listener)
        }
        Family::Volta => {
            let program = Program::<NVIDIA_LANES>::untimed(code, launch);
            let mut block = Block::<ConvergenceModel, NVIDIA_LANES>::new(&program, launch, index);
            block.end_other_warps(only.warp);
            run_single_block(block, &program, launch, index, memory, listener)
        }
        Family::Maxwell | Family::MiniSimt => {
            let program = Program::<NVIDIA_LANES>::untimed(code, launch);
            let mut block = Block::<NvidiaModel, NVIDIA_LANES>::new(&program, launch, index);
            block.end_other_warps(only.warp);
            run_single_block(block, &program, launch, index, memory, listener)
        }
    }
}

/// Executes one block of a compiled launch.
fn run_single_block<E: ExecutionModel<u32>, const W: usize>(
    block: Block<'_, E, W>,
    program: &Program<'_, W>,
    launch: &Launch,
    index: Size,
    memory: &mut GlobalMemory,
    mut listener: &mut dyn ExecutionListener<E>,
) -> Result<Counts, Fault> {
    let mut counts = Counts::new(program.ops.len());
    let mut left = launch.max_instructions;
    block.run(&mut ExecContext {
        memory,
        counts: &mut counts,
        budget: &mut left,
        listener: &mut listener,
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
    if threads.get() == 1 {
        return launch_unobserved(code, launch, memory, done);
    }
    match code.family {
        Family::Volta => {
            let program = Program::untimed(code, launch);
            parallel::run::<ConvergenceModel, NVIDIA_LANES>(&program, launch, memory, threads, done)
        }
        Family::Maxwell | Family::MiniSimt => {
            let program = Program::untimed(code, launch);
            parallel::run::<NvidiaModel, NVIDIA_LANES>(&program, launch, memory, threads, done)
        }
        Family::Gcn3 => {
            let program = Program::untimed(code, launch);
            parallel::run::<WaveModel, WAVE_LANES>(&program, launch, memory, threads, done)
        }
    }
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

/// Returns the operations of a code that cannot be executed without time, in ascending order.
pub fn unsupported_ops(code: &Code, launch: &Launch) -> Vec<OpIndex> {
    match code.family {
        Family::Gcn3 => Program::<WAVE_LANES>::untimed(code, launch).unsupported_ops(),
        Family::Maxwell | Family::Volta | Family::MiniSimt => {
            Program::<NVIDIA_LANES>::untimed(code, launch).unsupported_ops()
        }
    }
}
