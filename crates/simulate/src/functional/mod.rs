//! What a grid of threads computes: all blocks of a launch, one after the other, warp by warp, without time.
//!
//! The lanes of a warp are executed together, operation by operation, on rows of 32 values; where they part, the
//! activation stack of `simt` says who goes on. A warp runs until it comes to a barrier or to its end.

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

use std::num::NonZero;

use warpbound_ir::{Code, OpIndex};

pub use counts::{Counts, Note, NoteKind};
pub use fault::{Fault, FaultKind, BarrierWait};
pub use listen::{AccessKind, MemoryAccess, Issue, ExecutionListener, NoListener};
pub use memory::{Buffer, GlobalMemory};
pub use surface::Surface;
pub use texture::{AddressMode, Filter, TexelArray, TexelElement, Texture};

pub(crate) use block::{Block, ExecContext};
pub(crate) use memory::window;
pub(crate) use program::{Program, ClockRegister};

/// An operation that cannot be run yet.
pub use crate::compiled::UnsupportedOp;

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
    /// Textures, by their handles.
    pub textures: Vec<Texture>,
    /// Surfaces, by their handles.
    pub surfaces: Vec<Surface>,
    /// The most instructions that the warps of the grid may issue together.
    pub max_instructions: u64,
    /// Who goes first where lanes part.
    pub order: PathOrder,
}

/// Who goes first after a branch at which the lanes of a warp part. Experiments see those that jump; no document says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathOrder {
    /// The lanes that jump.
    #[default]
    TakenFirst,
    /// The lanes that fall through.
    TakenLast,
}

impl Launch {
    /// The block with so many before it.
    pub(crate) fn block_at(&self, number: u64) -> Size {
        let [width, height, _] = self.grid.map(u64::from);
        let x = number % width.max(1);
        let y = number / width.max(1) % height.max(1);
        let z = number / width.max(1) / height.max(1);
        [x as u32, y as u32, z as u32]
    }

    /// The blocks in the order in which they run.
    fn blocks(&self) -> impl Iterator<Item = Size> + use<> {
        let [width, height, depth] = self.grid;
        (0..depth)
            .flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
    }

    /// Where the launch block of the constants tells the windows of generic addresses: byte offsets of the low words of
    /// shared and local memory, and of the high ones (experiments with the compiler's output).
    pub const WINDOWS_AT: [(usize, u32); 4] = [
        (0x0, memory::window::SHARED as u32),
        (0x4, memory::window::LOCAL as u32),
        (0x100, (memory::window::SHARED >> 32) as u32),
        (0x104, (memory::window::LOCAL >> 32) as u32),
    ];
}

/// Runs all blocks of a launch.
///
/// # Errors
///
/// For an operation that cannot be run yet when a warp comes to it, and for what a kernel must not do.
pub fn launch(code: &Code, launch: &Launch, memory: &mut GlobalMemory) -> Result<Counts, Fault> {
    launch_with(code, launch, memory, &mut NoListener)
}

/// Runs all blocks of a launch while somebody listens.
///
/// # Errors
///
/// As [`launch`]; and when the listener has heard enough.
pub fn launch_with(
    code: &Code,
    launch: &Launch,
    memory: &mut GlobalMemory,
    listener: &mut impl ExecutionListener,
) -> Result<Counts, Fault> {
    let program = Program::untimed(code, launch);
    let mut counts = Counts::new(code.ops.len());
    let mut left = launch.max_instructions;
    for index in launch.blocks() {
        let block = Block::new(&program, launch, index);
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

/// Runs all blocks of a launch on several threads, with the result of one: what buffers hold, what is counted and which
/// fault ends the run do not depend on their number. `done` hears after each block how many have come to their end.
///
/// # Errors
///
/// As [`launch`].
pub fn launch_on(
    code: &Code,
    launch: &Launch,
    memory: &mut GlobalMemory,
    threads: NonZero<usize>,
    done: &mut dyn FnMut(u64),
) -> Result<Counts, Fault> {
    if threads.get() > 1 {
        return parallel::run(&Program::untimed(code, launch), launch, memory, threads, done);
    }
    launch_with(code, launch, memory, &mut Progress { done, blocks: 0 })
}

/// Listens for blocks only.
struct Progress<'a> {
    done: &'a mut dyn FnMut(u64),
    blocks: u64,
}

impl ExecutionListener for Progress<'_> {
    fn block_done(&mut self, _block: Size) {
        self.blocks += 1;
        (self.done)(self.blocks);
    }
}

/// The operations of a code that cannot be run yet, ascending.
pub fn unsupported_ops(code: &Code, launch: &Launch) -> Vec<OpIndex> {
    Program::untimed(code, launch).unsupported_ops()
}
