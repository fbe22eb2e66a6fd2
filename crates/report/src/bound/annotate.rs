//! Machine code of a kernel joined with its bound and with the findings about its operations.

use std::collections::BTreeMap;

use crate::access::ReportedAccess;
use crate::bound::KernelBound;
use crate::divergence::{DivergenceAnswer, OpReport};
use crate::graph::Graph;
use crate::listing::{Listing, ListingLine};
use crate::machine_code::{AnnotatedInstruction, MachineCodeReport, address_order};

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
    let reason = |answer: &DivergenceAnswer| {
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
