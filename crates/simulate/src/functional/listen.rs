//! Listeners: whoever wants to know what warps do while they do it.

use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::concrete::ActivationStack;

use super::Size;
use super::lanes::{LANES, LaneValues, spread};
use super::program::ExtraRegister;
use super::warp::Warp;

/// Hears of every instruction before it takes effect.
pub trait ExecutionListener {
    /// A warp issues an instruction; false ends the launch.
    #[inline(always)]
    fn issue(&mut self, _issue: &Issue<'_>) -> bool {
        true
    }

    /// The instruction that was issued last is about to access memory.
    #[inline(always)]
    fn access(&mut self, _access: &MemoryAccess<'_>) {}

    /// All warps of a block have come to their end.
    fn block_done(&mut self, _block: Size) {}
}

/// Nobody listens.
#[derive(Clone, Copy, Debug)]
pub struct NoListener;

impl ExecutionListener for NoListener {}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Both at once, for each lane.
    Atomic,
}

/// An access to memory by the lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAccess<'a> {
    /// The memory that the instruction names; a generic address may be of any.
    pub space: MemorySpace,
    /// What it does.
    pub kind: AccessKind,
    /// Bytes of a lane.
    pub size: u32,
    /// An address for each lane, in bytes.
    pub addresses: &'a [u64; LANES],
    /// The lanes that take part.
    pub taken: u32,
}

/// A warp about to execute an instruction.
pub struct Issue<'a> {
    /// The block.
    pub block: Size,
    /// The operation.
    pub at: OpIndex,
    /// The active lanes.
    pub active: u32,
    /// Those of them in which the condition holds.
    pub taken: u32,
    pub(super) warp: &'a Warp,
    pub(super) registers: usize,
}

impl Issue<'_> {
    /// The number of the warp's first thread in its block.
    pub fn first_thread(&self) -> u32 {
        self.warp.first_thread
    }

    /// The activation stack: points are operations.
    pub fn stack(&self) -> &ActivationStack<u32> {
        &self.warp.stack
    }

    /// What a cell holds in each lane: 0 or 1 in predicates, 0 in registers that the code does not name.
    pub fn cell(&self, cell: Cell) -> LaneValues {
        if cell.is_predicate() {
            let number = cell.index() - 256;
            return spread(self.warp.predicates.get(number).copied().unwrap_or(0));
        }
        let index = match cell {
            Cell::CC => self.registers + ExtraRegister::Cc.index(),
            cell if cell.index() < self.registers => cell.index(),
            _ => return [0; 32],
        };
        self.warp.rows.get(index).copied().unwrap_or([0; 32])
    }
}
