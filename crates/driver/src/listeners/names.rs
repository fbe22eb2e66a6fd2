//! Addresses, texts and source lines of the instructions of a kernel, by operation.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_report::timed::{Stalls, StallCounts};
use warpbound_simulate::timed::{self, AccessKind, HitLevel};

use crate::Prepared;

/// Descriptions of the instructions of a kernel.
pub(super) struct InstrNames {
    rows: Vec<InstrName>,
    unknown: InstrName,
}

/// Description of an instruction.
#[derive(Clone, Default)]
pub(super) struct InstrName {
    /// Address.
    pub(super) address: String,
    /// Disassembly.
    pub(super) text: String,
    /// Opcode.
    pub(super) mnemonic: &'static str,
    /// `file:line`, where the file has a line table.
    pub(super) source: Option<String>,
}

impl InstrNames {
    pub(super) fn of(prepared: &Prepared<'_>) -> InstrNames {
        let name = |at: usize| {
            let addr = prepared.addr(OpIndex(at as u32));
            InstrName {
                address: addr.to_string(),
                text: prepared.program.text(at).unwrap_or_else(|| "?".to_owned()),
                mnemonic: prepared.program.mnemonic(at).unwrap_or("?"),
                source: prepared.source(addr),
            }
        };
        let unknown = InstrName {
            mnemonic: "?",
            ..InstrName::default()
        };
        InstrNames {
            rows: (0..prepared.code.ops.len()).map(name).collect(),
            unknown,
        }
    }

    /// Returns the description of an instruction.
    pub(super) fn at(&self, at: OpIndex) -> &InstrName {
        self.rows.get(at.index()).unwrap_or(&self.unknown)
    }
}

/// Returns the name of a kind of access in reports.
pub(super) fn access_name(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic => "atomic",
    }
}

/// Returns the name of a memory space in reports. All spaces but local memory take the path of global memory.
pub(super) fn space_name(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Local => "local",
        _ => "global",
    }
}

/// Returns the name of a cache level in reports.
pub(super) fn level_name(level: HitLevel) -> &'static str {
    match level {
        HitLevel::First => "first",
        HitLevel::Second => "second",
        HitLevel::L2 => "l2",
        HitLevel::Dram => "dram",
    }
}

/// Converts the cycles between two issues to named stall reasons.
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

/// Converts the cycles between two issues to a list without zeros.
pub(super) fn nonzero_stalls(waited: &timed::StallCycles) -> StallCounts {
    StallCounts(stalls(waited))
}

/// Formats a lane mask.
pub(super) fn mask_text(lanes: u32) -> String {
    format!("{lanes:#010x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpbound_simulate::timed::Stall;

    /// Stall reasons have the same order and names in the simulator and in reports.
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
