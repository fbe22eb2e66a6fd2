//! Units of memory access, by machine family.

use warpbound_base::Family;
use warpbound_isa::instr::MemorySpace;

use super::CountedForm;
use super::shape::AccessShape;

/// Units of memory access that all machines of a family share; the numbers are in their machine files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MemoryUnits {
    /// Lanes of a warp.
    pub lanes: usize,
    /// Bytes of a line, the unit of a tag (`l1.line`).
    pub line_bytes: u64,
    /// Bytes of a sector, the unit of a transfer (`l2.sector`).
    pub sector_bytes: u64,
    /// Lanes of a request of at most 4 bytes per lane (`l1.request_threads`).
    pub request_lanes: u32,
    /// Banks of shared memory.
    pub banks: BankRule,
    /// Whether warps choose their active lanes by words of their own, which may include lanes without a thread.
    pub keeps_masks: bool,
}

/// Rule by which accesses to shared memory conflict. Banks: 32, of words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BankRule {
    /// Pools of this number of lanes for at most 4 bytes per lane, half as many for 8, a quarter for 16
    /// (`shared.pool_threads`). A pool without active lanes takes its turn, too.
    Pools(u32),
    /// Groups of this number of lanes, word after word (`lds.group`). Some machines have banks of bytes
    /// (`lds.bank_shift`), which are counted as well. Lanes of atomic operations are served one by one.
    Groups(u32),
}

impl MemoryUnits {
    /// Units of Maxwell and Pascal GPUs.
    pub const NVIDIA: MemoryUnits = MemoryUnits {
        lanes: Family::Maxwell.lanes() as usize,
        line_bytes: 128,
        sector_bytes: 32,
        request_lanes: 8,
        banks: BankRule::Pools(32),
        keeps_masks: false,
    };

    /// Units of GCN3 compute units.
    pub const GCN3: MemoryUnits = MemoryUnits {
        lanes: Family::Gcn3.lanes() as usize,
        line_bytes: 64,
        sector_bytes: 64,
        request_lanes: 64,
        banks: BankRule::Groups(32),
        keeps_masks: true,
    };

    /// Units of the machines of a family; `None` if accesses of the family are not counted.
    pub fn of(family: Family) -> Option<MemoryUnits> {
        match family {
            Family::Maxwell => Some(MemoryUnits::NVIDIA),
            Family::Gcn3 => Some(MemoryUnits::GCN3),
            // No counts have been checked for it yet.
            Family::Volta => None,
            // Memory is not addressed in bytes.
            Family::MiniSimt => None,
        }
    }

    /// Banks of shared memory.
    pub const BANKS: u64 = 32;

    /// Returns the number of lanes that are served together, if it is `lanes` for accesses of one word. For example,
    /// 8 lanes become 2 lanes for 16 bytes per lane.
    pub(super) fn group_lanes(lanes: u32, bytes: u32) -> usize {
        (lanes / (bytes / 4).max(1)).max(1) as usize
    }

    /// Returns the properties of an access that its counts depend on.
    pub(super) fn form(&self, shape: AccessShape) -> CountedForm {
        let AccessShape {
            space, bytes, mode, ..
        } = shape;
        let (bytes, align) = match (space, mode) {
            // Constants need not be aligned, because the hardware reads the word that contains the address.
            (MemorySpace::Constant, _) => (1, 1),
            _ if !self.keeps_masks => (bytes, bytes),
            // GCN3: words are aligned, and accesses that name LDS to their size.
            (MemorySpace::Shared, _) => (bytes, bytes.next_power_of_two()),
            _ => (bytes, bytes.min(4)),
        };
        CountedForm { bytes, align, mode }
    }
}
