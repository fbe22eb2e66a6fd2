//! Times for which a wave of GCN3 occupies what other waves need: its services by each shared resource
//! (SOUNDNESS 20.9).
//!
//! A wave that waits for a unit waits for whole turns of its SIMD. An instruction that holds a unit takes from a wave
//! of the same SIMD the turns that begin meanwhile, its own turn included. From a wave of another SIMD it takes the
//! turns after it. For example, with turns of 4 cycles, a unit held for 5 cycles takes 2 turns from its own SIMD, and
//! 1 from another.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;
use warpbound_timing::{IssueKind, WaveFacts};

use crate::contention::{Contention, NodeServices, Service};
use crate::kernel::OnceCost;
use crate::memory::{AccessDirection, AccessLimits};
use crate::numbers::{MILLI, MachineNumbers};
use crate::potentials::Timing;
use crate::wave_step::WaveTransfer;

/// Sectors of a line of the L1 cache, which are requested together (`memory-units` in SOUNDNESS 2).
const SECTORS_OF_LINE: u64 = 1;

/// Services by thousandths of cycles or sectors, in the order of [`Service::ALL`].
type Services = [i64; Service::ALL.len()];

/// Collects the services of the waves of a kernel.
pub(crate) fn of_waves(
    timing: &Timing<'_>,
    transfer: &WaveTransfer<'_>,
    numbers: &MachineNumbers,
) -> Contention {
    let rules = WaveServices::new(timing, transfer, numbers);
    let ops = (0..transfer.facts.len()).map(|at| {
        let services = rules.of_op(OpIndex(at as u32));
        services.map(|own| own.max(0).unsigned_abs())
    });
    let ops: Vec<NodeServices> = ops.collect();
    let node = |number: usize| {
        let mut sums = NodeServices::default();
        for own in ops_of(timing, number).filter_map(|op| ops.get(op.index())) {
            for (sum, own) in sums.iter_mut().zip(own) {
                *sum += own;
            }
        }
        let waits = timing.waits.nodes.get(number).into_iter().flatten();
        let lines = waits.flat_map(|waits| [waits.fetch, waits.fetch_last]);
        let service = lines.map(|line| line.each_service.0 + line.each_service.1);
        sums[Service::Gpu as usize] += service.sum::<i64>().max(0).unsigned_abs();
        sums
    };
    let barriers = |number: usize| {
        let facts = ops_of(timing, number).filter_map(|op| transfer.facts.get(op.index()));
        facts.filter(|facts| facts.arrives).count() as u64
    };
    let (_, once_of_sm) = timing.waits.once_by_payer(timing.kernel.others);
    let nodes = 0..timing.kernel.nodes.len();
    Contention {
        nodes: nodes.clone().map(node).collect(),
        ops: ops.clone(),
        first: OnceCost::sum(&timing.waits.once),
        first_of_sm: OnceCost::sum(&once_of_sm),
        in_flight: cycles(timing.waits.in_flight),
        // The end of a wave takes nothing, because barriers have no counter that could be busy.
        warp_end: 0,
        queued: rules.held_alu().max(0).unsigned_abs(),
        barriers: nodes.map(barriers).collect(),
        ended: cycles(rules.ended(numbers)),
        // A unit of a compute unit is held until its access is served.
        unfinished: Vec::new(),
        unfinished_ops: Vec::new(),
        lines: cycles(timing.waits.lines),
        outstanding: None,
        windows: [false, true].map(|stores| {
            let most = u64::from(transfer.most_sectors(stores)).min(SECTORS_OF_LINE);
            transfer.memory.window(stores).saturating_sub(most)
        }),
    }
}

/// Operations of a node.
fn ops_of(timing: &Timing<'_>, node: usize) -> impl Iterator<Item = OpIndex> + use<> {
    let ends = timing.kernel.nodes.get(node).copied().flatten();
    ends.into_iter()
        .flat_map(|(first, last)| (first.0..=last.0).map(OpIndex))
}

/// Rules for one machine and kernel.
struct WaveServices<'a> {
    transfer: &'a WaveTransfer<'a>,
    /// Part of a turn that each instruction takes in addition to its unit, if a turn may have fewer issues than there
    /// are kinds.
    of_kinds: i64,
}

impl<'a> WaveServices<'a> {
    fn new(
        timing: &Timing<'_>,
        transfer: &'a WaveTransfer<'a>,
        numbers: &MachineNumbers,
    ) -> WaveServices<'a> {
        let mut kinds = [false; IssueKind::COUNT];
        let nodes = 0..timing.kernel.nodes.len();
        for facts in nodes
            .flat_map(|node| ops_of(timing, node))
            .filter_map(|op| transfer.facts.get(op.index()))
        {
            if facts.kind != IssueKind::Internal
                && let Some(kind) = kinds.get_mut(facts.kind as usize)
            {
                *kind = true;
            }
        }
        let kinds = kinds.iter().filter(|&&kind| kind).count() as u64;
        let issues = numbers.range(Parameter::IssueKinds).0.max(1);
        // A wave is kept from a turn by as many instructions of other kinds as may issue.
        let of_kinds = match kinds > issues {
            true => (transfer.turn() + issues as i64 - 1) / issues as i64,
            false => 0,
        };
        WaveServices { transfer, of_kinds }
    }

    /// Services of an instruction.
    fn of_op(&self, at: OpIndex) -> Services {
        let mut services = Services::default();
        let Some(facts) = self.transfer.facts.get(at.index()) else {
            return services;
        };
        let (own, others) = self.unit(facts);
        services[Service::Core as usize] = own;
        services[Service::Sm as usize] = others;
        if let Some(access) = self.transfer.accesses.get(&at) {
            self.access(access, facts.kind, &mut services);
        }
        if let Some(limits) = self.transfer.scalar_loads.get(&at) {
            let (slice, dram) = self.transfer.scalar_service(limits);
            services[Service::Gpu as usize] += i64::from(limits.lines) * (slice + dram);
        }
        services
    }

    /// Turns that an instruction takes by its unit: first the turns that it takes only from waves of its SIMD, then
    /// the turns that it takes from all waves.
    fn unit(&self, facts: &WaveFacts) -> (i64, i64) {
        if facts.kind == IssueKind::Internal {
            return (0, 0);
        }
        let turn = self.transfer.turn();
        let held = self.transfer.times.occupancy(facts).max(MILLI);
        let of_simd = turns(held, turn);
        let of_all = match facts.kind {
            // Each SIMD has its own vector ALU, and messages need no unit.
            IssueKind::Vector | IssueKind::Message => 0,
            // Turns of another SIMD begin a cycle after the issue at the earliest.
            _ => turns(held - MILLI, turn),
        };
        (of_simd - of_all + self.of_kinds, of_all)
    }

    /// Adds what an access takes.
    fn access(&self, access: &AccessLimits, kind: IssueKind, services: &mut Services) {
        let memory = &self.transfer.memory;
        let mut waits_in_unit = kind == IssueKind::VectorMemory;
        for space in &access.spaces {
            if space.space == MemorySpace::Shared {
                let further = self.transfer.further_passes(space.conflicts);
                services[Service::Sm as usize] += further;
                waits_in_unit |= self.transfer.has_conflicts();
                continue;
            }
            let (own, slices, dram) = memory.services(access.direction, space);
            services[Service::Sm as usize] += own;
            services[Service::Gpu as usize] += slices + dram;
            let sectors = i64::from(space.sectors);
            let (held, count) = match access.direction {
                AccessDirection::Store => (Service::Stores, Service::StoreSectors),
                _ => (Service::Loads, Service::LoadSectors),
            };
            services[held as usize] += sectors * memory.in_flight(access.direction, space);
            services[count as usize] += sectors;
        }
        if waits_in_unit {
            // The unit is held until a server or a window is free, and a cycle more. A turn that begins in that time
            // is lost.
            services[Service::Sm as usize] += self.transfer.turn();
        }
    }

    /// Longest time for which a vector ALU is held by one instruction.
    fn held_alu(&self) -> i64 {
        let vector = self.transfer.facts.iter();
        let vector = vector.filter(|facts| facts.kind == IssueKind::Vector);
        let held = vector.map(|facts| self.transfer.times.occupancy(facts));
        turns(held.max().unwrap_or(0), self.transfer.turn())
    }

    /// Upper bound on the time for which accesses of ended groups may still occupy resources of a compute unit:
    /// accesses in its units, in front of its port, and in windows.
    fn ended(&self, numbers: &MachineNumbers) -> i64 {
        let ops = (0..self.transfer.facts.len()).map(|at| OpIndex(at as u32));
        // At most one instruction is in each unit.
        let mut in_units = [0; IssueKind::COUNT];
        let mut in_windows = 0;
        for op in ops {
            let Some(facts) = self.transfer.facts.get(op.index()) else {
                continue;
            };
            let services = self.of_op(op);
            let held = services[Service::Core as usize] + services[Service::Sm as usize];
            if let Some(unit) = in_units.get_mut(facts.kind as usize) {
                *unit = held.max(*unit);
            }
            let windows = [Service::Loads, Service::Stores].map(|held| services[held as usize]);
            in_windows = windows.into_iter().fold(in_windows, i64::max);
        }
        let windows = [Parameter::L1Misses, Parameter::L1Stores];
        let most = windows.map(|window| numbers.range(window).1 as i64);
        let least = windows.map(|window| numbers.range(window).0 as i64);
        let memory = &self.transfer.memory;
        let accesses = self.transfer.accesses.values();
        let in_flight = accesses.flat_map(|access| {
            let spaces = access.spaces.iter();
            let global = spaces.filter(|space| space.space != MemorySpace::Shared);
            global.map(|space| memory.in_flight(access.direction, space))
        });
        let in_flight = in_flight.max().unwrap_or(0);
        let places = least.into_iter().min().unwrap_or(1).max(1);
        let port = memory.port() * most.into_iter().sum::<i64>();
        let waits = 2 * in_flight + (in_windows + places - 1) / places;
        in_units.into_iter().sum::<i64>() + port + waits
    }
}

/// Time of the turns that begin within a time that begins with a turn.
fn turns(held: i64, turn: i64) -> i64 {
    (held.max(0) + turn - 1) / turn * turn
}

/// Whole cycles of a time.
fn cycles(milli: i64) -> u64 {
    (milli.max(0) + MILLI - 1).div_euclid(MILLI).unsigned_abs()
}
