//! Listeners: observers of the instructions and memory accesses of a launch.

use serde::Serialize;
use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::activation_stack::ActivationStack;

use super::Size;
use super::lanes::{LANES, LaneValues, spread};
use super::program::ExtraRegister;
use super::warp::Warp;

/// Observer of a launch, called before each instruction takes effect.
pub trait ExecutionListener {
    /// Observes an instruction that a warp issues; `false` stops the launch.
    #[inline(always)]
    fn issue(&mut self, _issue: &Issue<'_>) -> bool {
        true
    }

    /// Observes a memory access of the instruction issued last, before it takes effect.
    #[inline(always)]
    fn access(&mut self, _access: &MemoryAccess<'_>) {}

    /// Observes that all warps of a block have exited.
    fn block_done(&mut self, _block: Size) {}
}

/// Listener that ignores all events.
#[derive(Clone, Copy, Debug)]
pub struct NoListener;

impl ExecutionListener for NoListener {}

/// Kind of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessKind {
    /// A read.
    Load,
    /// A write.
    Store,
    /// An atomic read-modify-write per lane.
    Atomic,
}

impl AccessKind {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic",
        }
    }
}

/// A memory access by the lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAccess<'a> {
    /// Memory space of the instruction; a generic address may refer to several.
    pub space: MemorySpace,
    /// Kind of the access.
    pub kind: AccessKind,
    /// Bytes per lane.
    pub size: u32,
    /// Byte address per lane.
    pub addresses: &'a [u64; LANES],
    /// Mask of the lanes that take part.
    pub taken: u32,
}

/// A warp about to execute an instruction.
pub struct Issue<'a> {
    /// Index of the block.
    pub block: Size,
    /// The operation.
    pub at: OpIndex,
    /// Mask of the active lanes.
    pub active: u32,
    /// Mask of the active lanes in which the execution condition is true.
    pub taken: u32,
    pub(super) warp: &'a Warp,
    pub(super) registers: usize,
}

impl Issue<'_> {
    /// Linear index of the warp's first thread in its block.
    pub fn first_thread(&self) -> u32 {
        self.warp.first_thread
    }

    /// Activation stack of the warp; points are operation indices.
    pub fn stack(&self) -> &ActivationStack<u32> {
        &self.warp.stack
    }

    /// Value of a cell in each lane: 0 or 1 for predicates, 0 for registers that the code does not name.
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
