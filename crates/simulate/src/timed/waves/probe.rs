//! Probe: the facts about an executed instruction of a wave that its timing depends on.

use warpbound_isa::instr::MemorySpace;
use warpbound_simt::Mask;

use crate::functional::{AccessKind, ExecutionListener, Issue, MemoryAccess, WAVE_LANES};

/// Maximum number of accesses of an instruction: LDS instructions with two addresses have two.
const MAX_ACCESSES: usize = 2;

/// Listener that records the instruction executed last.
pub(in crate::timed) struct WaveProbe {
    /// Lanes where its condition was true.
    pub(super) taken: Mask,
    accesses: [LaneAccess; MAX_ACCESSES],
    count: usize,
}

/// Access to memory by the lanes of a wave; of scalar memory, by lane 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneAccess {
    pub(super) space: MemorySpace,
    pub(super) kind: AccessKind,
    /// Bytes per lane.
    pub(super) size: u32,
    pub(super) taken: Mask,
    /// Byte address per lane; undefined for lanes that do not take part.
    pub(super) addresses: [u64; WAVE_LANES],
}

impl WaveProbe {
    pub(super) fn new() -> WaveProbe {
        let none = LaneAccess {
            space: MemorySpace::Global,
            kind: AccessKind::Load,
            size: 0,
            taken: 0,
            addresses: [0; WAVE_LANES],
        };
        WaveProbe {
            taken: 0,
            accesses: [none; MAX_ACCESSES],
            count: 0,
        }
    }

    /// Accesses of the instruction, as far as they have lanes.
    pub(super) fn accesses(&self) -> &[LaneAccess] {
        self.accesses.get(..self.count).unwrap_or_default()
    }
}

impl<E> ExecutionListener<E> for WaveProbe {
    #[inline(always)]
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        self.taken = issue.taken;
        self.count = 0;
        true
    }

    #[inline(always)]
    fn access(&mut self, access: &MemoryAccess<'_>) {
        let Some(own) = self.accesses.get_mut(self.count) else {
            return;
        };
        // Lanes that a buffer excludes make no access (AMD).
        if access.taken == 0 {
            return;
        }
        self.count += 1;
        (own.space, own.kind) = (access.space, access.kind);
        (own.size, own.taken) = (access.size, access.taken);
        for (own, address) in own.addresses.iter_mut().zip(access.addresses) {
            *own = *address;
        }
    }
}
