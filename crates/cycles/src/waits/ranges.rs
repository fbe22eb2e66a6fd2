//! Code and constants that a kernel may bring into the caches, and the nodes that a warp executes once.

use warpbound_graph::{Digraph, components};
use warpbound_ir::OpIndex;

use crate::kernel::TimedKernel;

/// Distance of constant banks in the addresses of their caches.
pub(super) const BANK_STRIDE: u64 = 0x1_0000;

/// Returns the addresses of code that the kernel may bring into the caches: all reachable lines and the lines
/// prefetched after them. For example, with lines of 128 bytes and one line ahead, code from 0 to 200 brings the
/// bytes 0 to 383.
pub(super) fn code_ranges(kernel: &TimedKernel<'_>, line: u64, ahead: u64) -> Vec<(u64, u64)> {
    let nodes = kernel.nodes.iter().flatten();
    nodes
        .map(|&(first, last)| {
            let end = (kernel.facts.bytes(last).1 / line + 1 + ahead) * line;
            (kernel.facts.bytes(first).0 / line * line, end)
        })
        .collect()
}

/// Returns the addresses of the lines of code that a launch loads into the second cache: at most `lines`, the first of them with the first
/// instruction, and none after the last one of all code.
pub(super) fn loaded_code(kernel: &TimedKernel<'_>, line: u64, lines: u64) -> Option<(u64, u64)> {
    let (first, _) = kernel.nodes.get(kernel.entry).copied().flatten()?;
    let from = kernel.facts.bytes(first).0 / line * line;
    let ops = (0..kernel.facts.len() as u32).map(OpIndex);
    let last = ops.map(|op| kernel.facts.bytes(op).1).max()?;
    let lines = lines.min((last / line + 1).saturating_sub(from / line));
    (lines > 0).then_some((from, from + lines * line))
}

/// Returns the addresses of constants that the kernel reads.
pub(super) fn constant_ranges(kernel: &TimedKernel<'_>) -> Vec<(u64, u64)> {
    let nodes = kernel.nodes.iter().flatten();
    let ops = nodes.flat_map(|&(first, last)| (first.0..=last.0).map(OpIndex));
    let operands = ops
        .flat_map(|op| kernel.facts.constants(op))
        .map(|&(bank, offset)| {
            let address = u64::from(bank) * BANK_STRIDE + u64::from(offset);
            (address, address + 1)
        });
    let loaded = kernel.loaded_constants.values().map(|loaded| {
        let first = u64::from(loaded.bank) * BANK_STRIDE + loaded.offset;
        (first, first + loaded.bytes)
    });
    operands.chain(loaded).collect()
}

/// Returns the addresses of the constants that the launch loads into a cache, the first (0) or the second one (1), before
/// its first block: those that are certainly there, and those that may be there.
pub(super) fn preloaded_constants(
    kernel: &TimedKernel<'_>,
    level: usize,
) -> [Option<(u64, u64)>; 2] {
    let Some(loaded) = kernel.preloaded else {
        return [None, None];
    };
    let first = u64::from(loaded.bank) * BANK_STRIDE;
    let range = (first, first + loaded.bytes);
    let (least, most) = loaded.caches;
    // The second cache is loaded before the first.
    [least, most].map(|caches| (caches + level as u64 >= 2).then_some(range))
}

/// Returns for each node whether a warp executes it at most once, because it is in no cycle of steps.
pub(super) fn acyclic(kernel: &TimedKernel<'_>) -> Vec<bool> {
    let count = kernel.nodes.len();
    let edges = kernel
        .steps
        .iter()
        .filter_map(|step| Some((step.from, step.to?)));
    let edges: Vec<(usize, usize)> = edges.filter(|&(a, b)| a < count && b < count).collect();
    let mut once = vec![true; count];
    for &(from, to) in &edges {
        if from == to {
            once[from] = false;
        }
    }
    for component in components(&Digraph::new(count, edges), &vec![true; count]) {
        if component.len() > 1 {
            for node in component {
                once[node] = false;
            }
        }
    }
    once
}
