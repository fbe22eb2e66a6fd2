//! Demands of one execution of an instruction: the time for which it occupies each resource that warps share
//! (SOUNDNESS 20.1). For example, a shuffle occupies shared memory in addition to its unit.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::ExecUnit;
use warpbound_machine::Parameter;
use warpbound_timing::{Completion, UnitModel};

use crate::contention::{NodeServices, Service, occupancy};
use crate::memory::{AccessDirection, AccessLimits};
use crate::numbers::MILLI;
use crate::step::Transfer;

/// Resource that warps share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
pub enum SharedResource {
    /// Issue slots of a sub-partition.
    Issue,
    /// Pipes and units of a sub-partition.
    Units,
    /// Shared memory of an SM.
    SharedMemory,
    /// Counter of the barriers of an SM.
    Barriers,
    /// Tags of the L1 cache and port of an SM.
    L1,
    /// Windows of outstanding requests of an SM.
    Windows,
    /// Slices of the L2 cache.
    Slices,
    /// DRAM.
    Dram,
}

impl SharedResource {
    /// All resources.
    pub const ALL: [SharedResource; 8] = [
        SharedResource::Issue,
        SharedResource::Units,
        SharedResource::SharedMemory,
        SharedResource::Barriers,
        SharedResource::L1,
        SharedResource::Windows,
        SharedResource::Slices,
        SharedResource::Dram,
    ];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            SharedResource::Issue => "issue slots",
            SharedResource::Units => "units",
            SharedResource::SharedMemory => "shared memory",
            SharedResource::Barriers => "barriers",
            SharedResource::L1 => "tags and port of L1",
            SharedResource::Windows => "windows of requests",
            SharedResource::Slices => "slices of L2",
            SharedResource::Dram => "DRAM",
        }
    }
}

/// Sectors that one execution of an access has read from DRAM, and lines that it has evicted from the L2 cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DramTransfers {
    /// Sectors read.
    pub read: u32,
    /// Lines with stored data that are replaced.
    pub evicted_lines: u32,
}

/// Demands of one execution of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Demands {
    /// Thousandths of cycles for which it occupies each resource, in the order of [`SharedResource::ALL`], without
    /// windows.
    pub services: [u64; SharedResource::ALL.len()],
    /// Places in the windows of loads and of stores: thousandths of cycles times sectors.
    pub places: [u64; 2],
    /// Sectors of loads and of stores.
    pub sectors: [u64; 2],
}

impl Demands {
    /// Demands of an instruction whose access has these limits. `transfers` are the transfers of one execution, if
    /// they are known.
    pub(crate) fn of(
        transfer: &Transfer<'_>,
        at: OpIndex,
        access: Option<&AccessLimits>,
        transfers: Option<DramTransfers>,
    ) -> Demands {
        let mut demands = Demands::default();
        let Some(facts) = transfer.facts.get(at.index()) else {
            return demands;
        };
        let occupancy = occupancy(transfer, at, access);
        match facts.unit {
            ExecUnit::None => demands.take(SharedResource::Issue, MILLI),
            // The cycle of its issue, since the unit may still serve others then, and its own service.
            unit if unit.is_queued() => {
                demands.take(SharedResource::Issue, MILLI);
                demands.take(SharedResource::Units, occupancy);
            }
            // A pipe is occupied from the cycle of the issue on.
            _ => demands.take(SharedResource::Units, occupancy.max(MILLI)),
        }
        if facts.completion == Completion::Latency(Parameter::LatencyShuffle) {
            demands.take(SharedResource::SharedMemory, transfer.times.shuffle);
        }
        if facts.arrives {
            demands.take(SharedResource::Barriers, transfer.times.barrier_count);
        }
        if let Some(access) = access {
            demands.add_access(transfer, access, transfers);
        }
        demands
    }

    /// Adds the demands of another instruction.
    pub fn add(&mut self, other: &Demands) {
        let lists = [
            (&mut self.services[..], &other.services[..]),
            (&mut self.places[..], &other.places[..]),
            (&mut self.sectors[..], &other.sectors[..]),
        ];
        for (own, other) in lists {
            for (own, other) in own.iter_mut().zip(other) {
                // Demands are upper limits, and the largest number is above every limit on times.
                *own = own.saturating_add(*other);
            }
        }
    }

    fn take(&mut self, resource: SharedResource, milli: i64) {
        self.services[resource as usize] += u64::try_from(milli).unwrap_or(0);
    }

    fn add_access(
        &mut self,
        transfer: &Transfer<'_>,
        access: &AccessLimits,
        transfers: Option<DramTransfers>,
    ) {
        let (memory, direction) = (&transfer.memory, access.direction);
        for space in &access.spaces {
            // Shared memory is on the SM: it has no sectors, and no window limits its accesses.
            if space.space == MemorySpace::Shared {
                let own = memory.shared.service(direction, space);
                self.take(SharedResource::SharedMemory, own);
                continue;
            }
            let (l1, slices, dram) = memory.services(direction, space);
            self.take(SharedResource::L1, l1);
            self.take(SharedResource::Slices, slices);
            // A recorded execution states its transfers; without them each sector that may miss counts.
            if transfers.is_none() {
                self.take(SharedResource::Dram, dram);
            }
            let window = usize::from(direction == AccessDirection::Store);
            let sectors = u64::from(space.sectors);
            let in_flight = memory.in_flight(direction, space).max(0).unsigned_abs();
            self.places[window] += sectors * in_flight;
            self.sectors[window] += sectors;
        }
        if let Some(transfers) = transfers {
            let dram = memory.dram_service(transfers.read.into(), transfers.evicted_lines.into());
            self.take(SharedResource::Dram, dram);
        }
    }

    /// Service of one resource, in thousandths of cycles.
    pub fn service(&self, resource: SharedResource) -> u64 {
        self.services[resource as usize]
    }

    /// Sums of what a whole sub-partition, SM or GPU serves.
    pub(crate) fn by_service(&self) -> NodeServices {
        let sum = |resources: &[SharedResource]| -> u64 {
            let services = resources.iter().map(|&resource| self.service(resource));
            services.sum()
        };
        let mut services = NodeServices::default();
        services[Service::Core as usize] = sum(&[SharedResource::Issue, SharedResource::Units]);
        services[Service::Sm as usize] = sum(&[
            SharedResource::SharedMemory,
            SharedResource::Barriers,
            SharedResource::L1,
        ]);
        services[Service::Gpu as usize] = sum(&[SharedResource::Slices, SharedResource::Dram]);
        let [loads, stores] = self.places;
        let [load_sectors, store_sectors] = self.sectors;
        for (service, own) in [
            (Service::Loads, loads),
            (Service::Stores, stores),
            (Service::LoadSectors, load_sectors),
            (Service::StoreSectors, store_sectors),
        ] {
            services[service as usize] = own;
        }
        services
    }
}
