//! Machine code of a kernel next to its bound: executions, cycles, accesses and divergence of each instruction.

pub(crate) mod html;

use serde::Serialize;

use crate::graph::Graph;

/// Machine code of a kernel, annotated with findings of the analyses.
#[derive(Clone, Debug, Serialize)]
pub struct MachineCodeReport {
    /// Instructions in order of address.
    pub instructions: Vec<AnnotatedInstruction>,
    /// Warp-level graph, without the code of its blocks; `None` if the control flow is refused.
    pub graph: Option<Graph>,
}

/// Instruction with the findings about it.
#[derive(Clone, Debug, Serialize)]
pub struct AnnotatedInstruction {
    /// Address, `0x0008`.
    pub at: String,
    /// Labels at the address.
    pub labels: Vec<String>,
    /// Source line, if it differs from the previous instruction's.
    pub source: Option<String>,
    /// Text of the source line, if its file was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_text: Option<String>,
    /// Cycles that the whole source line contributes to the bound, at the first instruction of the line. Without a
    /// line table, cycles of the instruction.
    pub line_cycles: Option<u64>,
    /// Control word: stall, yield, write and read scoreboard, awaited scoreboards, reuse.
    pub control: Option<String>,
    /// Text of the instruction.
    pub text: String,
    /// Executions on the worst path, over all calling contexts; `None` without a worst path.
    pub executions: Option<u128>,
    /// Class of a memory access, upper bounds on requests and transactions of an execution, and the reason for the
    /// class.
    pub access: Option<String>,
    /// Divergence of a branch, load or barrier, with the reason.
    pub divergence: Option<String>,
}

/// Key that orders the texts of addresses as the addresses: a longer one is larger, because texts have no zeros in front
/// beyond four digits. For example, `0xfff8` is before `0x10000`.
pub(crate) fn address_order(address: &str) -> (usize, &str) {
    (address.len(), address)
}

#[cfg(test)]
mod tests {
    use super::address_order;

    #[test]
    fn addresses_beyond_64_kib_come_last() {
        let mut addresses = ["0x10000", "0x0008", "0xfff8", "0x10010"];
        addresses.sort_by_key(|address| address_order(address));
        assert_eq!(addresses, ["0x0008", "0xfff8", "0x10000", "0x10010"]);
    }
}
