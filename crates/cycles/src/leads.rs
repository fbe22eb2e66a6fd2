//! Leads: a request may be simulated earlier than another one and be made later. For example, an access is simulated
//! when it issues, but it reaches the tags only after the accesses in the queue of its unit. Another warp's request
//! may be simulated in between and be made before.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::ExecUnit;
use warpbound_machine::Parameter;
use warpbound_timing::{UnitModel, WaveFacts};

use crate::code::TimedCode;
use crate::kernel::TimedKernel;
use crate::memory::AccessDirection;
use crate::numbers::{MILLI, MachineNumbers};

/// Longest times from the simulation of a request to the later cycle for which it is made, without the time for which
/// servers and windows are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Leads {
    /// Lead of lines of code: a warp that a barrier releases requests its next line for the cycle of its release.
    pub(crate) code: i64,
    /// Lead of lines of constants: as for code. Loads from constant banks begin when the instructions in the queue of
    /// their unit have left it, and request one word after the other.
    pub(crate) constants: i64,
    /// Lead of accesses to global and local memory, which begin when the accesses in the queue of their unit have
    /// left it.
    pub(crate) accesses: i64,
}

impl Leads {
    pub(crate) fn of(kernel: &TimedKernel<'_>, numbers: &MachineNumbers) -> Leads {
        let facts = match kernel.facts {
            TimedCode::Warps(facts) => facts,
            TimedCode::Waves(facts) => return Leads::of_waves(facts, numbers),
        };
        let (_, queue) = numbers.range(Parameter::OccupancyQueue);
        let mut atomics = kernel.accesses.values().filter(|access| {
            let mut spaces = access.spaces.iter();
            access.direction == AccessDirection::Atomic
                && spaces.any(|space| space.space == MemorySpace::Shared)
        });
        let atomic = match atomics.next() {
            Some(_) => numbers.milli(Parameter::SharedAtomic),
            None => 0,
        };
        let queued = |at: usize| {
            let access = kernel.accesses.get(&OpIndex(at as u32));
            let words = access.map_or(1, |access| i64::from(access.bytes / 4).max(1));
            let occupancy = facts.get(at).and_then(|facts| facts.unit.occupancy());
            // Each access in the queue may wait for atomic operations of its warp on shared memory.
            let own = occupancy.map_or(0, |occupancy| numbers.milli(occupancy) * words + atomic);
            own * queue as i64
        };
        // The queue may be full with the slowest instruction of the unit.
        let longest = |unit: ExecUnit| {
            let own = facts
                .iter()
                .enumerate()
                .filter(|(_, facts)| facts.unit == unit);
            own.map(|(at, _)| queued(at)).max().unwrap_or(0)
        };
        // Without a barrier a warp requests its next line in the cycle of its last issue, so there is no lead.
        let code = match facts.iter().any(|facts| facts.arrives) {
            true => numbers.milli(Parameter::BarrierLatency),
            false => 0,
        };
        let loads = kernel.loaded_constants.iter().map(|(at, loaded)| {
            let unit = facts
                .get(at.index())
                .map_or(ExecUnit::None, |facts| facts.unit);
            let words = i64::from(loaded.words.saturating_sub(1));
            longest(unit) + words * numbers.milli(Parameter::ConstantReplay)
        });
        Leads {
            code,
            constants: code.max(loads.max().unwrap_or(0)),
            accesses: longest(ExecUnit::Lsu),
        }
    }
}

impl Leads {
    /// Leads of waves of GCN3: units have no queues, so only lines of code are requested ahead.
    fn of_waves(facts: &[WaveFacts], numbers: &MachineNumbers) -> Leads {
        let code = match facts.iter().any(|facts| facts.arrives) {
            true => numbers.milli(Parameter::BarrierLatency).max(MILLI),
            false => 0,
        };
        Leads {
            code,
            ..Leads::default()
        }
    }
}
