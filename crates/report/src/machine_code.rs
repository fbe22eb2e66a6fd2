//! Machine code of a kernel next to its bound: executions, cycles, accesses and divergence of each instruction.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::access::ReportedAccess;
use crate::bound::KernelBound;
use crate::divergence::OpReport;
use crate::graph::Graph;
use crate::listing::{Listing, ListingLine};

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

impl MachineCodeReport {
    /// Joins a listing with the bound of its kernel and with the findings about its operations.
    pub fn new(
        listing: Listing,
        bound: &KernelBound,
        accesses: &[ReportedAccess],
        operations: &[OpReport],
        graph: Option<Graph>,
    ) -> MachineCodeReport {
        let mut lines = LineCyclesOnce::new(bound);
        let annotate = |line: ListingLine| {
            // Without a line table, cycles are listed by address.
            let cycles = lines.take(line.source.as_ref().unwrap_or(&line.at));
            annotated(line, cycles, bound, accesses, operations)
        };
        // The instructions are in the listing already, so the nodes need not repeat them.
        let graph = graph.map(|mut graph| {
            graph.nodes.iter_mut().for_each(|node| node.code.clear());
            graph
        });
        MachineCodeReport {
            instructions: listing.lines.into_iter().map(annotate).collect(),
            graph,
        }
    }
}

/// Cycles of source lines. Each line is given once, because its code may be in several places.
struct LineCyclesOnce<'a>(BTreeMap<&'a str, u64>);

impl<'a> LineCyclesOnce<'a> {
    fn new(bound: &'a KernelBound) -> LineCyclesOnce<'a> {
        let cycles = bound.cycles.iter().flat_map(|cycles| &cycles.lines);
        LineCyclesOnce(
            cycles
                .map(|line| (line.line.as_str(), line.cycles))
                .collect(),
        )
    }

    /// Returns the cycles of a line, but only at its first place.
    fn take(&mut self, line: &str) -> Option<u64> {
        self.0.remove(line)
    }
}

/// Key that orders the texts of addresses as the addresses: a longer one is larger, because texts have no zeros in front
/// beyond four digits. For example, `0xfff8` is before `0x10000`.
pub(crate) fn address_order(address: &str) -> (usize, &str) {
    (address.len(), address)
}

/// Returns an instruction with the findings at its address.
fn annotated(
    line: ListingLine,
    line_cycles: Option<u64>,
    bound: &KernelBound,
    accesses: &[ReportedAccess],
    operations: &[OpReport],
) -> AnnotatedInstruction {
    let ListingLine {
        at,
        labels,
        text,
        words: _,
        control,
        source,
    } = line;
    let here = address_order(&at);
    let blocks = bound.worst_path.iter();
    let around = blocks
        .filter(|block| address_order(&block.from) <= here && here <= address_order(&block.to));
    // A block has one entry for each calling context.
    let executions = (!bound.worst_path.is_empty()).then(|| around.map(|block| block.count).sum());
    let access = accesses.iter().find(|access| access.address == at);
    let operation = operations.iter().find(|operation| operation.at == at);
    AnnotatedInstruction {
        access: access.map(describe_access),
        divergence: operation.and_then(describe_divergence),
        control: control.map(|control| control.text()),
        at,
        labels,
        source,
        source_text: None,
        line_cycles,
        text,
        executions,
    }
}

/// Returns the class of an access, with its numbers and the reason.
fn describe_access(access: &ReportedAccess) -> String {
    let named = access.numbers.named();
    let numbers: Vec<String> = named
        .into_iter()
        .filter_map(|(name, number)| Some(format!("{name} {}", number?)))
        .collect();
    let mut out = format!("{} {}: {}", access.space, access.kind, access.class.text());
    if !numbers.is_empty() {
        out.push_str(&format!(", at most {}", numbers.join(", ")));
    }
    if !access.reason.is_empty() {
        out.push_str(&format!(" ({})", access.reason));
    }
    out
}

/// Returns how lanes may differ at an operation, with the source of the difference; `None` if they agree.
fn describe_divergence(operation: &OpReport) -> Option<String> {
    let reason = |answer: &crate::divergence::DivergenceAnswer| {
        // The reason is at the end of the chain, where the source of the difference is.
        let end = answer.chain.iter().rev().find_map(|link| {
            let reason = link.reason.as_deref()?;
            Some(format!(" ({} at {})", reason, link.at))
        });
        end.unwrap_or_default()
    };
    let mut parts = Vec::new();
    // Lanes agree if either analysis proves it.
    if operation.values.gsa && operation.values.agreement {
        parts.push(format!("lanes may differ{}", reason(&operation.values)));
    }
    if operation.partial.gsa && operation.partial.agreement {
        let reason = reason(&operation.partial);
        parts.push(format!("some lanes may be inactive{reason}"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
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
