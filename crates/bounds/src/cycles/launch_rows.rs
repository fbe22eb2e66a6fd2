//! Count rows of one launch: executions of nodes that the execution of its warps has counted (SOUNDNESS 6.5).
//!
//! For example, if each warp executes the block at 0x0100 at most 24 times, the row says that the executions of all
//! nodes that begin there are at most 24. Nodes that begin with one operation differ in their calls.

use std::collections::BTreeMap;

use warpbound_ir::OpIndex;
use warpbound_simt::counts::{CountRow, CountSystem, Factor, RowFamily, RowRelation};

use warpbound_query::KernelFlow;

/// Returns the count rows of a kernel, and a row for each operation that begins nodes. A row limits the executions of
/// its operation to the number in `executions`, or to 0 if there is none. Without executions, the result has the rows
/// of the kernel alone.
pub fn counts_of_launch(
    flow: &KernelFlow,
    executions: Option<&BTreeMap<OpIndex, u64>>,
) -> CountSystem {
    with_rows(flow, flow.counts.clone(), executions)
}

/// Adds the rows of a launch to some of the rows of a kernel.
pub(super) fn with_rows(
    flow: &KernelFlow,
    mut counts: CountSystem,
    executions: Option<&BTreeMap<OpIndex, u64>>,
) -> CountSystem {
    let Some(executions) = executions else {
        return counts;
    };
    let mut by_first: BTreeMap<OpIndex, Vec<_>> = BTreeMap::new();
    for (&node, arriving) in &counts.executions {
        let first = flow.thread.space.block(node).first;
        let terms = arriving.iter().map(|&var| (var, Factor::Number(1)));
        by_first.entry(first).or_default().extend(terms);
    }
    let rows = by_first.into_iter().filter_map(|(first, terms)| {
        // All operations that begin nodes were counted, so one without a number was executed by no warp.
        let most = executions.get(&first).copied().unwrap_or(0);
        Some(CountRow {
            terms,
            relation: RowRelation::AtMost,
            // A number that does not fit into a row limits nothing, so the row is left out.
            constant: i64::try_from(most).ok()?,
            family: RowFamily::LaunchExecutions,
            label: format!("executions of {} in the launch", first.0),
        })
    });
    counts.rows.extend(rows);
    counts
}
