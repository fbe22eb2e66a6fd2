//! Listeners: observers of the instructions and memory accesses of a launch.

use serde::Serialize;
use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::Mask;

use super::Size;
use super::compile::word_number;
use super::program::{RegisterRows, predicate_mask};
use super::{ConvergenceModel, NvidiaModel, WaveModel};

/// Observer of a launch whose warps follow the execution model `E`, called before each instruction takes effect.
pub trait ExecutionListener<E> {
    /// Observes an instruction that a warp issues; `false` stops the launch.
    #[inline(always)]
    fn issue(&mut self, _issue: &Issue<'_, E>) -> bool {
        true
    }

    /// Observes a memory access of the instruction issued last, before it takes effect.
    #[inline(always)]
    fn access(&mut self, _access: &MemoryAccess<'_>) {}

    /// Observes that all warps of a block have exited.
    fn block_done(&mut self, _block: Size) {}
}

/// Listener whose methods are called by a table, so that all such listeners share one compiled interpreter.
impl<E> ExecutionListener<E> for &mut (dyn ExecutionListener<E> + '_) {
    #[inline(always)]
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        (**self).issue(issue)
    }

    #[inline(always)]
    fn access(&mut self, access: &MemoryAccess<'_>) {
        (**self).access(access);
    }

    fn block_done(&mut self, block: Size) {
        (**self).block_done(block);
    }
}

/// Listener to warps of each execution model that NVIDIA's GPUs have.
pub trait NvidiaListener:
    ExecutionListener<NvidiaModel> + ExecutionListener<ConvergenceModel>
{
}

impl<L> NvidiaListener for L where
    L: ExecutionListener<NvidiaModel> + ExecutionListener<ConvergenceModel>
{
}

/// Listener to warps and waves of each execution model.
pub trait AnyListener: NvidiaListener + ExecutionListener<WaveModel> {}

impl<L: NvidiaListener + ExecutionListener<WaveModel>> AnyListener for L {}

/// Listener that ignores all events.
#[derive(Clone, Copy, Debug)]
pub struct NoListener;

impl<E> ExecutionListener<E> for NoListener {}

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
    pub addresses: &'a [u64],
    /// Mask of the lanes that take part.
    pub taken: Mask,
}

/// A warp about to execute an instruction.
pub struct Issue<'a, E> {
    /// Index of the block.
    pub block: Size,
    /// The operation.
    pub at: OpIndex,
    /// Mask of the active lanes.
    pub active: Mask,
    /// Mask of the active lanes where the execution condition is true.
    pub taken: Mask,
    pub(super) first_thread: u32,
    pub(super) model: &'a E,
    pub(super) predicates: &'a [Mask],
    /// Registers of the warp, each with the values of its `lanes` lanes.
    pub(super) rows: &'a [u32],
    /// Words of the warp.
    pub(super) words: &'a [u32],
    pub(super) lanes: usize,
    /// Rows of the registers.
    pub(super) registers: RegisterRows,
}

impl<E> Issue<'_, E> {
    /// Linear index of the warp's first thread in its block.
    pub fn first_thread(&self) -> u32 {
        self.first_thread
    }

    /// State of the warp in its execution model; points are operation indices.
    pub fn model(&self) -> &E {
        self.model
    }

    /// Values of a cell in the lanes of the warp; 0 for registers that the code does not name.
    pub fn cell(&self, cell: Cell) -> CellValues<'_> {
        if let Some(number) = predicate_mask(cell) {
            let holds = self.predicates.get(usize::from(number));
            return CellValues::Truths(holds.copied().unwrap_or(0));
        }
        if let Some(number) = word_number(cell) {
            let word = self.words.get(usize::from(number));
            return CellValues::Equal(word.copied().unwrap_or(0));
        }
        // A register that the code does not name has never been written.
        let Some(index) = self.registers.row_of(cell) else {
            return CellValues::Truths(0);
        };
        // The rows are flattened, lane after lane of each register.
        let first = index * self.lanes;
        let words = self.rows.get(first..first + self.lanes);
        CellValues::Words(words.unwrap_or_default())
    }
}

/// Values of a cell in the lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub enum CellValues<'a> {
    /// A word per lane.
    Words(&'a [u32]),
    /// 1 in the lanes of the mask, else 0.
    Truths(Mask),
    /// The same word in all lanes.
    Equal(u32),
}

impl CellValues<'_> {
    /// Value in a lane; 0 if the warp has no such lane.
    pub fn get(&self, lane: usize) -> u32 {
        match self {
            CellValues::Words(words) => words.get(lane).copied().unwrap_or(0),
            CellValues::Equal(word) => *word,
            CellValues::Truths(mask) => mask.unbounded_shr(lane as u32) as u32 & 1,
        }
    }
}
