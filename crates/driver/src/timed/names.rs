//! What people call the instructions of a kernel, by operation.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_report::timed::{Stalls, StallCounts};
use warpbound_simulate::timed::{self, AccessKind, HitLevel};

use crate::Prepared;

/// Names of the instructions of a kernel.
pub(super) struct Names {
    rows: Vec<Name>,
    unknown: Name,
}

/// Names of an instruction.
#[derive(Clone, Default)]
pub(super) struct Name {
    /// Its address.
    pub(super) address: String,
    /// The instruction.
    pub(super) text: String,
    /// Its opcode.
    pub(super) mnemonic: &'static str,
    /// `file:line`, where the file has a line table.
    pub(super) source: Option<String>,
}

impl Names {
    pub(super) fn of(prepared: &Prepared<'_>) -> Names {
        let name = |at: usize| {
            let addr = prepared.addr(OpIndex(at as u32));
            Name {
                address: addr.to_string(),
                text: prepared.program.text(at).unwrap_or_else(|| "?".to_owned()),
                mnemonic: prepared.program.mnemonic(at).unwrap_or("?"),
                source: prepared.source(addr),
            }
        };
        let unknown = Name {
            mnemonic: "?",
            ..Name::default()
        };
        Names {
            rows: (0..prepared.code.ops.len()).map(name).collect(),
            unknown,
        }
    }

    /// The names of an instruction.
    pub(super) fn at(&self, at: OpIndex) -> &Name {
        self.rows.get(at.index()).unwrap_or(&self.unknown)
    }
}

pub(super) fn access_name(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic => "atomic",
    }
}

/// Accesses that are not to local memory go the way of global ones.
pub(super) fn space_name(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Local => "local",
        _ => "global",
    }
}

pub(super) fn level_name(level: HitLevel) -> &'static str {
    match level {
        HitLevel::First => "first",
        HitLevel::Second => "second",
        HitLevel::L2 => "l2",
        HitLevel::Dram => "dram",
    }
}

/// The cycles between two issues with their names.
pub(super) fn stalls(waited: &timed::StallCycles) -> Stalls {
    // In the order of `Stall::ALL`.
    let [
        issue,
        dependency,
        memory,
        barrier,
        unit_busy,
        instruction_fetch,
        not_selected,
    ] = *waited;
    Stalls {
        issue,
        dependency,
        memory,
        barrier,
        unit_busy,
        instruction_fetch,
        not_selected,
    }
}

/// The same without zeros.
pub(super) fn waited(waited: &timed::StallCycles) -> StallCounts {
    StallCounts(stalls(waited))
}

/// A set of lanes.
pub(super) fn lanes(lanes: u32) -> String {
    format!("{lanes:#010x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpbound_simulate::timed::Stall;

    /// Each reason has its own name in both lists.
    #[test]
    fn reasons_keep_their_names() {
        for (number, stall) in Stall::ALL.into_iter().enumerate() {
            let mut one = timed::StallCycles::default();
            one[number] = 7;
            let named = stalls(&one).named();
            let found: Vec<_> = named.iter().filter(|(_, cycles)| *cycles == 7).collect();
            assert_eq!(found, [&(stall.name(), 7)]);
        }
    }
}
