//! Addresses, texts and source lines of the instructions of a kernel, by operation.

use warpbound_ir::OpIndex;
use warpbound_report::timed::{StallCounts, Stalls};
use warpbound_simulate::timed;

use warpbound_query::Prepared;

/// Descriptions of the instructions of a kernel.
pub(crate) struct InstrNames {
    rows: Vec<InstrName>,
    unknown: InstrName,
}

/// Description of an instruction.
#[derive(Clone, Default)]
pub(crate) struct InstrName {
    /// Address.
    pub(crate) address: String,
    /// Disassembly.
    pub(crate) text: String,
    /// Opcode.
    pub(crate) mnemonic: &'static str,
    /// `file:line`, where the file has a line table.
    pub(crate) source: Option<String>,
}

impl InstrNames {
    pub(crate) fn of(prepared: &Prepared<'_>) -> InstrNames {
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
    pub(crate) fn at(&self, at: OpIndex) -> &InstrName {
        self.rows.get(at.index()).unwrap_or(&self.unknown)
    }
}

/// Converts the cycles between two issues to named stall reasons.
pub(crate) fn stalls(waited: &timed::StallCycles) -> Stalls {
    // In the order of `Stall::ALL`, because the cycles are an array by stall number.
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
pub(crate) fn nonzero_stalls(waited: &timed::StallCycles) -> StallCounts {
    StallCounts(stalls(waited))
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
