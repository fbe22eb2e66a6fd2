//! What an instruction did that its time depends on.

use warpbound_ir::Cell;
use warpbound_isa::instr::MemorySpace;

use super::row::{Row, Work};
use crate::functional::{AccessKind, MemoryAccess, Issue, ExecutionListener};

/// Notes what the instruction that was executed last did.
pub(super) struct Probe<'a> {
    pub(super) rows: &'a [Row],
    /// The lanes in which its condition held.
    pub(super) taken: u32,
    /// Its access to memory.
    pub(super) access: Option<Access>,
    /// An address for each lane, in bytes, of its access.
    pub(super) addresses: [u64; 32],
    /// The byte offsets of the constants that lanes asked for, each once.
    pub(super) constants: Vec<u32>,
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) space: MemorySpace,
    pub(super) kind: AccessKind,
    pub(super) size: u32,
    pub(super) taken: u32,
}

impl<'a> Probe<'a> {
    pub(super) fn new(rows: &'a [Row]) -> Probe<'a> {
        Probe {
            rows,
            taken: 0,
            access: None,
            addresses: [0; 32],
            constants: Vec::new(),
        }
    }
}

impl ExecutionListener for Probe<'_> {
    #[inline(always)]
    fn issue(&mut self, issue: &Issue<'_>) -> bool {
        self.taken = issue.taken;
        self.access = None;
        if let Some(row) = self.rows.get(issue.at.index())
            && let Work::Constant(_, base, offset) = row.work
        {
            self.note_constants(issue, base, offset);
        }
        true
    }

    #[inline(always)]
    fn access(&mut self, access: &MemoryAccess<'_>) {
        self.access = Some(Access {
            space: access.space,
            kind: access.kind,
            size: access.size,
            taken: access.taken,
        });
        self.addresses = *access.addresses;
    }
}

impl Probe<'_> {
    fn note_constants(&mut self, issue: &Issue<'_>, base: Option<Cell>, offset: i32) {
        self.constants.clear();
        let row = base.map_or([0; 32], |cell| issue.cell(cell));
        for (lane, value) in row.iter().enumerate() {
            let address = value.wrapping_add_signed(offset) & !3;
            if issue.taken >> lane & 1 == 1 && !self.constants.contains(&address) {
                self.constants.push(address);
            }
        }
    }
}
