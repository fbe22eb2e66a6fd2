//! Times for which a warp occupies what other warps need: its service by each shared resource (SOUNDNESS 20).
//!
//! A warp among others is delayed while a resource that it waits for serves the others. So its time alone plus the
//! services of all others bounds its time, in any order of service. For example, each instruction of another warp for
//! a pipe with an occupancy of 2 cycles adds 2 cycles of [`Service::Core`].

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::ExecUnit;
use warpbound_machine::Parameter;
use warpbound_timing::UnitModel;

use crate::demands::Demands;
use crate::kernel::OnceCost;
use crate::memory::{AccessDirection, AccessLimits};
use crate::numbers::{MILLI, MachineNumbers};
use crate::outstanding::most_outstanding;
use crate::potentials::Timing;
use crate::rules::StepRules;
use crate::step::Transfer;
use crate::unfinished::unfinished_services;
use crate::wave_contention::of_waves;

/// Resource that warps share, or a quantity that decides how long they wait for one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(usize)]
pub enum Service {
    /// Issue slots and execution units of a sub-partition.
    Core,
    /// Shared memory, barriers, tags and port of an SM.
    Sm,
    /// Slices of the L2 cache and DRAM, which the whole GPU shares.
    Gpu,
    /// Places in the window of outstanding loads: sectors times the time for which each sector is in flight.
    Loads,
    /// Places in the window of outstanding stores.
    Stores,
    /// Sectors of loads, without unit. A window that holds all sectors of a launch delays no load.
    LoadSectors,
    /// Sectors of stores, without unit.
    StoreSectors,
}

impl Service {
    /// All services.
    pub const ALL: [Service; 7] = [
        Service::Core,
        Service::Sm,
        Service::Gpu,
        Service::Loads,
        Service::Stores,
        Service::LoadSectors,
        Service::StoreSectors,
    ];
}

/// Services that one execution of a node, or of an operation, takes, in the order of [`Service::ALL`]: thousandths of
/// cycles; for places in windows, thousandths of cycles times sectors; for sectors, their number.
pub type NodeServices = [u64; Service::ALL.len()];

/// Times for which the warps of a kernel occupy what others need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contention {
    /// Services by one execution of each node.
    pub nodes: Vec<NodeServices>,
    /// Services by one execution of each operation. Lines of code and constants count for nodes only.
    pub ops: Vec<NodeServices>,
    /// Cycles of the first requests of all lines and translations, each once, whether a path pays for them or the SM.
    pub first: u64,
    /// Part of `first` that the SM pays. The times of paths do not contain it.
    pub first_of_sm: u64,
    /// Cycles by which first requests of other warps may delay a warp longer than its own requests would.
    pub in_flight: u64,
    /// Thousandths of cycles that the barriers of the SM may take when a warp ends.
    pub warp_end: u64,
    /// Upper bound on the thousandths of cycles for which instructions that were issued before may occupy the units
    /// of a sub-partition.
    pub queued: u64,
    /// Barriers that one execution of each node passes.
    pub barriers: Vec<u64>,
    /// Cycles for which accesses of ended blocks may still occupy resources of an SM, as far as queues and windows
    /// limit them.
    pub ended: u64,
    /// Thousandths of cycles of SM services that one execution of each node may leave when its warp ends, where
    /// nothing limits them.
    pub unfinished: Vec<u64>,
    /// Thousandths of cycles of SM services that one execution of each operation may leave in the same way.
    pub unfinished_ops: Vec<u64>,
    /// Cycles for which the requests of one SM for all lines of code and constants, each once, occupy the memory that
    /// all SMs share.
    pub lines: u64,
    /// Maximum number of sectors of loads that a warp has in flight; `None` without a limit.
    pub outstanding: Option<u64>,
    /// Sectors that the windows of loads and of stores hold in addition to an access of the kernel.
    pub windows: [u64; 2],
}

impl Contention {
    pub(crate) fn of(timing: &Timing<'_>, numbers: &MachineNumbers) -> Option<Contention> {
        let transfer = match &timing.transfer {
            StepRules::Warps(transfer) => transfer,
            StepRules::Waves(transfer) => return Some(of_waves(timing, transfer, numbers)),
        };
        let ops = (0..transfer.facts.len()).map(|at| of_instruction(transfer, OpIndex(at as u32)));
        let ops: Vec<NodeServices> = ops.collect();
        let node = |number: usize| {
            let mut services = NodeServices::default();
            let Some((first, last)) = timing.kernel.nodes.get(number).copied().flatten() else {
                return services;
            };
            for of_op in ops.get(first.index()..=last.index()).into_iter().flatten() {
                for (sum, own) in services.iter_mut().zip(of_op) {
                    *sum += own;
                }
            }
            let waits = timing.waits.nodes.get(number).into_iter().flatten();
            let lines = waits.flat_map(|waits| {
                [
                    waits.fetch,
                    waits.fetch_last,
                    waits.constants,
                    waits.loaded_constants,
                ]
            });
            // Lines that stay in a cache are requested once per SM, whichever warp waits, and count in `lines`.
            let service = lines.map(|line| line.each_service.0 + line.each_service.1);
            services[Service::Gpu as usize] += service.sum::<i64>().unsigned_abs();
            services
        };
        let (_, once_of_sm) = timing.waits.once_by_payer(timing.kernel.others);
        let unfinished_ops = unfinished_services(timing.kernel, transfer);
        let unfinished = |number: usize| {
            let ends = timing.kernel.nodes.get(number).copied().flatten();
            let ops = ends.into_iter().flat_map(|(first, last)| first.0..=last.0);
            let services = ops.filter_map(|op| unfinished_ops.get(OpIndex(op).index()));
            services.sum()
        };
        let arrives = transfer.facts.iter().any(|facts| facts.arrives);
        let most = transfer.most_sectors;
        let windows = [false, true].map(|stores| {
            let capacity = transfer.memory.window(stores);
            // A request has at most the sectors of a line (SOUNDNESS 20.2).
            let of_request = u64::from(most[usize::from(stores)]).min(SECTORS_OF_LINE);
            capacity.saturating_sub(of_request)
        });
        let outstanding = most_outstanding(timing, transfer);
        // Without a limit, warps may end with loads in flight.
        let leaves_loads = outstanding.is_none();
        let barriers = |number: usize| {
            let ends = timing.kernel.nodes.get(number).copied().flatten();
            let ops = ends.into_iter().flat_map(|(first, last)| first.0..=last.0);
            let facts = ops.filter_map(|op| transfer.facts.get(OpIndex(op).index()));
            facts.filter(|facts| facts.arrives).count() as u64
        };
        Some(Contention {
            queued: queued(transfer, numbers),
            ended: whole_cycles_of(ended(transfer, numbers, windows, leaves_loads)),
            unfinished: (0..timing.kernel.nodes.len()).map(unfinished).collect(),
            unfinished_ops: unfinished_ops.clone(),
            lines: whole_cycles(timing.waits.lines),
            outstanding,
            barriers: (0..timing.kernel.nodes.len()).map(barriers).collect(),
            nodes: (0..timing.kernel.nodes.len()).map(node).collect(),
            ops,
            first: OnceCost::sum(&timing.waits.once),
            first_of_sm: OnceCost::sum(&once_of_sm),
            in_flight: whole_cycles(timing.waits.in_flight),
            warp_end: match arrives {
                // The end of a warp may open a barrier, which takes the counter.
                true => transfer.times.barrier_count.unsigned_abs(),
                false => 0,
            },
            windows,
        })
    }
}

/// Whole cycles of a time.
fn whole_cycles(milli: i64) -> u64 {
    (milli.max(0) + MILLI - 1).div_euclid(MILLI).unsigned_abs()
}

/// Whole cycles of thousandths.
fn whole_cycles_of(milli: u64) -> u64 {
    milli.div_ceil(MILLI.unsigned_abs())
}

/// Sectors of a line of the L1 cache, which are requested together (`memory-units` in SOUNDNESS 2).
const SECTORS_OF_LINE: u64 = 4;

/// Upper bound on the time for which the instructions of warps that have ended, or wait at a barrier, may occupy the
/// units of a sub-partition, without waits for memory. These are the instructions in queues, and the last one of each
/// pipe.
fn queued(transfer: &Transfer<'_>, numbers: &MachineNumbers) -> u64 {
    let (_, queue) = numbers.range(Parameter::OccupancyQueue);
    let mut longest = [0; ExecUnit::COUNT];
    for (at, facts) in transfer.facts.iter().enumerate() {
        let places = match facts.unit {
            ExecUnit::None => 0,
            unit if unit.is_queued() => queue,
            // The pipe is not known, so both count.
            ExecUnit::Math => 2,
            _ => 1,
        };
        let known = &mut longest[facts.unit as usize];
        let at = OpIndex(at as u32);
        let own = occupancy(transfer, at, transfer.accesses.get(&at)).unsigned_abs() * places;
        *known = (*known).max(own);
    }
    longest.iter().sum()
}

/// Upper bound on the time for which accesses of ended blocks may still occupy resources of an SM: accesses in the
/// queues of its sub-partitions, accesses in front of its port, and the last arrival at its barriers.
fn ended(
    transfer: &Transfer<'_>,
    numbers: &MachineNumbers,
    windows: [u64; 2],
    leaves_loads: bool,
) -> u64 {
    let queued = queued(transfer, numbers);
    let (_, queue) = numbers.range(Parameter::OccupancyQueue);
    let (_, parts) = numbers.range(Parameter::SmSchedulers);
    let ops = (0..transfer.facts.len()).map(|at| of_instruction(transfer, OpIndex(at as u32)));
    // An access in a queue may still wait for its window.
    let [loads, stores] = windows;
    let services = ops.map(|services| {
        // A wait for a window lasts at most the places that are taken, over the places that a request leaves
        // (SOUNDNESS 20.2).
        let held = match leaves_loads {
            true => services[Service::Loads as usize].div_ceil(loads + 1),
            false => 0,
        };
        let held = held + services[Service::Stores as usize].div_ceil(stores + 1);
        services[Service::Sm as usize] + held
    });
    let of_access = services.max().unwrap_or(0);
    // A request that alone exceeds a window is accepted as the only one.
    let in_windows = [Parameter::L1Misses, Parameter::L1Stores]
        .map(|window| numbers.range(window).1.max(SECTORS_OF_LINE));
    let arrival = transfer.times.barrier_count.unsigned_abs();
    let port = transfer.memory.port().unsigned_abs();
    let accesses = transfer.accesses.values();
    let in_flight = accesses.flat_map(|access| {
        let spaces = access.spaces.iter();
        spaces.map(|space| transfer.memory.in_flight(access.direction, space))
    });
    let in_flight = in_flight.max().unwrap_or(0).unsigned_abs();
    parts * (queued + queue * of_access)
        + in_windows.iter().sum::<u64>() * port
        + 2 * in_flight
        + arrival
}

/// Upper bound on the services of an instruction.
fn of_instruction(transfer: &Transfer<'_>, at: OpIndex) -> NodeServices {
    Demands::of(transfer, at, transfer.accesses.get(&at), None).by_service()
}

/// Time for which an instruction, with its access, occupies its unit.
pub(crate) fn occupancy(
    transfer: &Transfer<'_>,
    at: OpIndex,
    access: Option<&AccessLimits>,
) -> i64 {
    let Some(facts) = transfer.facts.get(at.index()) else {
        return 0;
    };
    let words = access.map_or(1, |access| i64::from(access.bytes / 4).max(1));
    let is_atomic = |access: &&AccessLimits| {
        let mut spaces = access.spaces.iter();
        access.direction == AccessDirection::Atomic
            && spaces.any(|space| space.space == MemorySpace::Shared)
    };
    // The warp's next access to shared memory holds the unit until the atomic operation is complete.
    let atomic = match access.filter(is_atomic) {
        Some(_) => transfer.memory.shared.atomic(),
        None => 0,
    };
    transfer.occupancies[facts.unit as usize] * words + atomic
}
