//! Units of memory access, by machine family.

use warpbound_base::Family;
use warpbound_isa::nvidia::WARP_LANES;

/// Units of memory access that all machines of a family share; the numbers are in their machine files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MemoryUnits {
    /// Lanes of a warp.
    pub lanes: usize,
    /// Bytes of a line, the unit of a tag (`l1.line`).
    pub line_bytes: u64,
    /// Bytes of a sector, the unit of a transfer (`l2.sector`).
    pub sector_bytes: u64,
    /// Lanes that make a request together.
    pub requests: RequestRule,
    /// Banks of shared memory.
    pub banks: BankRule,
    /// Whether warps choose their active lanes by words of their own, which may include lanes without a thread.
    pub keeps_masks: bool,
}

/// Rule by which accesses to global and local memory become requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RequestRule {
    /// Groups of this number of lanes for at most 4 bytes per lane (`l1.request_threads`), half as many for 8, a quarter for
    /// 16.
    Groups(u32),
    /// The warp makes one request (recordings of an H200: tags and sectors of an access are distinct lines and sectors,
    /// whatever its width).
    Warp,
}

/// Rule by which accesses to shared memory conflict. Banks: 32, of words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BankRule {
    /// Pools of this number of lanes for at most 4 bytes per lane, half as many for 8, a quarter for 16
    /// (`shared.pool_threads`). A pool without active lanes takes its turn, too.
    Pools(u32),
    /// As pools, but pools without active lanes take no turn, and lanes of atomic operations are served one by one
    /// (recordings of an H200). Pools whose lanes read the same words may take one turn together.
    ActivePools(u32),
    /// Groups of this number of lanes, word after word (`lds.group`). Some machines have banks of bytes
    /// (`lds.bank_shift`), which are counted as well. Lanes of atomic operations are served one by one.
    Groups(u32),
}

impl MemoryUnits {
    /// Units of NVIDIA GPUs: lines of 128 bytes with four sectors.
    pub const NVIDIA: MemoryUnits = MemoryUnits {
        lanes: WARP_LANES as usize,
        line_bytes: 128,
        sector_bytes: 32,
        requests: RequestRule::Groups(8),
        banks: BankRule::Pools(32),
        keeps_masks: false,
    };

    /// Units of NVIDIA GPUs from Volta on.
    pub const VOLTA: MemoryUnits = MemoryUnits {
        requests: RequestRule::Warp,
        banks: BankRule::ActivePools(32),
        ..MemoryUnits::NVIDIA
    };

    /// Units of GCN3 compute units.
    pub const GCN3: MemoryUnits = MemoryUnits {
        lanes: Family::Gcn3.lanes() as usize,
        line_bytes: 64,
        sector_bytes: 64,
        requests: RequestRule::Groups(64),
        banks: BankRule::Groups(32),
        keeps_masks: true,
    };

    /// Units of the machines of a family; `None` if accesses of the family are not counted.
    pub fn of(family: Family) -> Option<MemoryUnits> {
        match family {
            Family::Maxwell => Some(MemoryUnits::NVIDIA),
            Family::Gcn3 => Some(MemoryUnits::GCN3),
            Family::Volta => Some(MemoryUnits::VOLTA),
            // Memory is not addressed in bytes.
            Family::MiniSimt => None,
        }
    }

    /// Banks of shared memory.
    pub const BANKS: u64 = 32;

    /// Returns the number of lanes of a request for `bytes` of each lane.
    pub(super) fn lanes_of_request(&self, bytes: u32) -> usize {
        match self.requests {
            RequestRule::Groups(lanes) => MemoryUnits::group_lanes(lanes, bytes),
            RequestRule::Warp => self.lanes,
        }
    }

    /// Returns the number of lanes of a request whose words at one offset of local memory share a sector.
    pub(super) fn lanes_of_sector(&self) -> usize {
        match self.requests {
            RequestRule::Groups(lanes) => lanes as usize,
            RequestRule::Warp => (self.sector_bytes / 4).max(1) as usize,
        }
    }

    /// Returns the number of lanes that are served together, if it is `lanes` for accesses of one word. For example,
    /// 8 lanes become 2 lanes for 16 bytes per lane.
    pub(super) fn group_lanes(lanes: u32, bytes: u32) -> usize {
        (lanes / (bytes / 4).max(1)).max(1) as usize
    }
}
