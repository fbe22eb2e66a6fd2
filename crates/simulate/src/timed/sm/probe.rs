//! Probe: the facts about an executed instruction that its timing depends on.

use warpbound_ir::Cell;
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::{Mask, lanes_of};
use warpbound_timing::Completion;

use super::instr_timing::InstrTiming;
use crate::functional::{
    AccessKind, CellValues, ExecutionListener, Issue, MemoryAccess, NVIDIA_LANES,
};

/// Listener that records the instruction executed last.
pub(in crate::timed) struct Probe<'a> {
    pub(super) timings: &'a [InstrTiming],
    /// Lanes where its condition was true.
    pub(super) taken: Mask,
    /// Its access to memory.
    pub(super) access: Option<ProbedAccess>,
    /// Byte addresses of that access, per lane.
    pub(super) addresses: [u64; NVIDIA_LANES],
    /// Byte offsets of the constants that its lanes read, each once.
    pub(super) constants: Vec<u32>,
}

/// Access to memory, without the addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbedAccess {
    pub(super) space: MemorySpace,
    pub(super) kind: AccessKind,
    pub(super) size: u32,
    pub(super) taken: Mask,
}

impl<'a> Probe<'a> {
    pub(super) fn new(timings: &'a [InstrTiming]) -> Probe<'a> {
        Probe {
            timings,
            taken: 0,
            access: None,
            addresses: [0; NVIDIA_LANES],
            constants: Vec::new(),
        }
    }
}

impl<E> ExecutionListener<E> for Probe<'_> {
    #[inline(always)]
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        self.taken = issue.taken;
        // `access` is not called if no lane executes the instruction: the previous access must not remain.
        self.access = None;
        if let Some(timing) = self.timings.get(issue.at.index())
            && let Completion::Constant(_, base, offset) = timing.facts.completion
        {
            self.record_constants(issue, base, offset);
        }
        true
    }

    #[inline(always)]
    fn access(&mut self, access: &MemoryAccess<'_>) {
        self.access = Some(ProbedAccess {
            space: access.space,
            kind: access.kind,
            size: access.size,
            taken: access.taken,
        });
        if let Some(addresses) = access.addresses.first_chunk() {
            self.addresses = *addresses;
        }
    }
}

impl Probe<'_> {
    /// Records the word offsets that the lanes of an indexed constant access (LDC) read.
    fn record_constants<E>(&mut self, issue: &Issue<'_, E>, base: Option<Cell>, offset: i32) {
        self.constants.clear();
        let indices = base.map_or(CellValues::Truths(0), |cell| issue.cell(cell));
        for lane in lanes_of(issue.taken) {
            let address = indices.get(lane).wrapping_add_signed(offset) & !3;
            if !self.constants.contains(&address) {
                self.constants.push(address);
            }
        }
    }
}
