//! Times by which the operations of one split of a wave delay another one (SOUNDNESS 11.8).
//!
//! A split is delayed while others take a unit, a server or a window of requests. An operation delays another split
//! by at most the sum of all its services, one after the other. For example, an access to global memory counts with
//! the services of all its servers and with its full latency, because it may hold a window for that long.

use warpbound_ir::OpIndex;
use warpbound_machine::Parameter;
use warpbound_timing::{IssueKind, WaveFacts};

use crate::memory::{AccessDirection, AccessLimits};
use crate::numbers::{MILLI, MachineNumbers};
use crate::potentials::Timing;
use crate::rules::StepRules;
use crate::wave_step::{WaveTransfer, is_memory};

/// Maximum delays of the siblings of a split by its operations, in cycles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiblingCosts {
    /// Delay by one execution of each node.
    pub nodes: Vec<u64>,
    /// Delay by all first misses of lines and translations together, whichever split causes them.
    pub once: u64,
}

impl SiblingCosts {
    pub(crate) fn of(timing: &Timing<'_>, numbers: &MachineNumbers) -> Option<SiblingCosts> {
        let StepRules::Waves(transfer) = &timing.transfer else {
            return None;
        };
        let splits = timing.kernel.splits?;
        // Siblings issue together if each kind may be issued for each of them.
        let kinds = numbers.range(Parameter::IssueKinds).0;
        let own_pipelines = !splits.serialised && u64::from(splits.splits) < kinds;
        let rules = SiblingRules {
            transfer,
            own_pipelines,
        };
        let node = |number: usize| {
            let Some((first, last)) = timing.kernel.nodes.get(number).copied().flatten() else {
                return 0;
            };
            let waits = timing.waits.nodes.get(number);
            let ops = (first.0..=last.0).map(OpIndex);
            let ops = ops.map(|op| rules.operation(op)).sum::<i64>();
            let fetches = waits.into_iter().flatten();
            let fetches = fetches.flat_map(|waits| [waits.fetch, waits.fetch_last]);
            let fetches = fetches.map(|fetch| fetch.service.0 + fetch.service.1);
            cycles(ops + fetches.sum::<i64>())
        };
        let once = timing.waits.once.iter();
        let once = once.map(|once| once.cycles.saturating_mul(once.most));
        Some(SiblingCosts {
            nodes: (0..timing.kernel.nodes.len()).map(node).collect(),
            once: once.fold(0, u64::saturating_add),
        })
    }
}

/// Rules for one machine and kernel.
struct SiblingRules<'a> {
    transfer: &'a WaveTransfer<'a>,
    /// Whether each split has pipelines of its own.
    own_pipelines: bool,
}

impl SiblingRules<'_> {
    /// Time by which an operation delays another split.
    fn operation(&self, at: OpIndex) -> i64 {
        let Some(facts) = self.transfer.facts.get(at.index()) else {
            return 0;
        };
        self.issue(facts) + self.memory(at)
    }

    /// Time for which the operation keeps others from issuing.
    fn issue(&self, facts: &WaveFacts) -> i64 {
        let turn = self.transfer.turn();
        // Internal instructions need no unit, and each ready wave may issue one in a turn.
        let is_free = match facts.kind {
            IssueKind::Internal => true,
            kind => self.own_pipelines && !is_memory(kind) && self.is_free_each_turn(kind),
        };
        if is_free {
            return 0;
        }
        let occupied = self.transfer.times.occupancy(facts).max(turn);
        // Another split issues in whole turns, so a part of a turn costs it a whole one.
        (occupied + turn - 1) / turn * turn
    }

    /// Whether each instruction of a kind leaves its pipeline before the next turn. If one does not, a split may hold
    /// several pipelines.
    fn is_free_each_turn(&self, kind: IssueKind) -> bool {
        let turn = self.transfer.turn();
        let own = self
            .transfer
            .facts
            .iter()
            .filter(|facts| facts.kind == kind);
        own.map(|facts| self.transfer.times.occupancy(facts))
            .all(|occupied| occupied <= turn)
    }

    /// Time for which its memory access takes servers and windows.
    fn memory(&self, at: OpIndex) -> i64 {
        let of_access = |limits: &AccessLimits| {
            let spaces = limits.spaces.iter();
            spaces
                .map(|space| match space.space {
                    warpbound_isa::instr::MemorySpace::Shared => {
                        self.transfer.further_passes(space.conflicts)
                    }
                    _ => self.held(limits.direction, space),
                })
                .sum::<i64>()
        };
        let access = self.transfer.accesses.get(&at).map_or(0, of_access);
        let scalar = self.transfer.scalar_loads.get(&at).map_or(0, |limits| {
            let (slice, dram) = self.transfer.scalar_service(limits);
            i64::from(limits.lines) * (slice + dram)
        });
        access + scalar
    }

    /// Time for which an access to global or local memory may hold windows.
    fn held(&self, direction: AccessDirection, space: &crate::SpaceLimits) -> i64 {
        let memory = &self.transfer.memory;
        memory.served(direction, space) + memory.latency(direction, space)
    }
}

/// Whole cycles of a time.
fn cycles(milli: i64) -> u64 {
    (milli.max(0) + MILLI - 1).div_euclid(MILLI) as u64
}
