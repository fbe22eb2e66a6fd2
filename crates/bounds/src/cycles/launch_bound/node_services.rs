//! Services of single nodes, and the whole cycles that they take.

use warpbound_cycles::{Contention, MILLI, NodeServices};

/// Services of a node.
pub(super) fn of_node(contention: &Contention, node: usize) -> NodeServices {
    contention.nodes.get(node).copied().unwrap_or_default()
}

/// Converts thousandths of cycles to whole cycles, rounded up: 1001 thousandths are 2 cycles.
pub(super) fn whole_cycles(milli: u64) -> u64 {
    milli.div_ceil(MILLI.unsigned_abs())
}
