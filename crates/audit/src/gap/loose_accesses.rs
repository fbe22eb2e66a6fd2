//! Accesses for which a bound counts more sectors or conflicts than the worst run had.
//!
//! For example, the bound counts 32 sectors for a load, and its 10 executions have at most 4. The load is loose by 28
//! sectors each time, 280 in all.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use warpbound_cycles::AccessLimits;
use warpbound_ir::OpIndex;
use warpbound_report::gap::LooseAccess;

use warpbound_query::prepared::Prepared;

/// Maximum number of accesses in a report.
const MAX_SHOWN: usize = 8;

/// Counts of an access in a run.
#[derive(Clone, Copy, Default)]
pub(super) struct SeenNumbers {
    /// Executions by warps.
    pub(super) executions: u64,
    /// Largest number of sectors of an execution.
    pub(super) sectors: u32,
    /// Largest number of bank conflicts of an execution.
    pub(super) conflicts: u32,
}

/// Returns the accesses for which the bound counts more in each execution than the run had, sorted by the difference
/// over all executions, largest first.
pub(super) fn loose_accesses(
    prepared: &Prepared<'_>,
    claimed: &BTreeMap<OpIndex, AccessLimits>,
    seen: &BTreeMap<OpIndex, SeenNumbers>,
) -> Vec<LooseAccess> {
    let mut loose: Vec<(u64, LooseAccess)> = Vec::new();
    for (&at, limits) in claimed {
        // Accesses that the run did not execute belong to the element "paths".
        let Some(seen) = seen.get(&at) else {
            continue;
        };
        let spaces = &limits.spaces;
        let sectors = spaces.iter().map(|space| space.sectors).max().unwrap_or(0);
        let conflicts = spaces
            .iter()
            .map(|space| space.conflicts)
            .max()
            .unwrap_or(0);
        // A run above its class is a violation for the audit, not a loose access.
        let more = sectors.saturating_sub(seen.sectors) + conflicts.saturating_sub(seen.conflicts);
        if more == 0 {
            continue;
        }
        let access = LooseAccess {
            at: prepared.location(at),
            source: prepared.source(prepared.addr(at)),
            executions: seen.executions,
            sectors,
            sectors_seen: seen.sectors,
            conflicts,
            conflicts_seen: seen.conflicts,
        };
        loose.push((seen.executions.saturating_mul(more.into()), access));
    }
    loose.sort_by_key(|(more, _)| Reverse(*more));
    let first = loose.into_iter().take(MAX_SHOWN);
    first.map(|(_, access)| access).collect()
}
