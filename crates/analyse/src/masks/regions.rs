//! Cells of lanes that were written while lanes that become active may have been inactive.

use std::collections::BTreeSet;

use warpbound_ir::{Cell, ControlEffect, Op, OpIndex};
use warpbound_simt::NodeId;

use super::domain::MaskState;
use super::literals::MaskSite;
use super::{Masks, flow};

/// Maximum number of sites from which the cells written since are collected for one operation; the nearest ones are
/// the best.
const MAX_CANDIDATES: usize = 4;

/// [`Masks::stale_cells`], from the state before the operation.
pub(super) fn stale_cells(
    masks: &Masks<'_>,
    node: NodeId,
    at: OpIndex,
    before: Option<MaskState>,
) -> Vec<Cell> {
    let activates = |op: &Op| matches!(op.control, ControlEffect::SetActive(_));
    if !masks.code.get(at).is_some_and(activates) {
        return Vec::new();
    }
    let Some(mut before) = before else {
        return all_cells(masks);
    };
    let mut after = before.clone();
    flow::apply(masks, node, at, &mut after);
    masks.forget_sites_of(node, at, &mut before);
    if after.active_is_within(&before) {
        return Vec::new();
    }
    // Lanes that were active at a site miss only what was written since: any site is right.
    let sites = after.sites_around_active(masks.sites.len());
    let sites = sites.filter_map(|number| masks.sites.get(number).copied());
    let mut candidates: Vec<_> = sites
        .filter(|site| {
            let is_place = !matches!(site, MaskSite::Holds(..));
            is_place && *site != MaskSite::Active(node, at)
        })
        .map(|site| (distance(masks, site, node, at), site))
        .collect();
    candidates.sort_unstable();
    let nearest = candidates.iter().take(MAX_CANDIDATES);
    let found = nearest.map(|(_, site)| written_since(masks, *site, node, at));
    found
        .min_by_key(Vec::len)
        .unwrap_or_else(|| all_cells(masks))
}

/// Estimate of the way from a site to an operation: by the order of the nodes, then of the operations. Places after the
/// operation in this order come last.
fn distance(masks: &Masks<'_>, site: MaskSite, node: NodeId, at: OpIndex) -> (bool, u64, u32) {
    let (place, after) = place(masks, site);
    let (from, to) = (
        masks.thread.rank(place.index()),
        masks.thread.rank(node.index()),
    );
    let is_later = place == node && after > at || from > to;
    let ops = match place == node {
        true => at.0.abs_diff(after.0),
        false => u32::MAX - after.0,
    };
    (is_later, from.abs_diff(to), ops)
}

/// Node of a site, and the first operation after it.
fn place(masks: &Masks<'_>, site: MaskSite) -> (NodeId, OpIndex) {
    let block = |node: NodeId| masks.thread.space.block(node);
    match site {
        MaskSite::Entry => (masks.thread.entry, block(masks.thread.entry).first),
        MaskSite::Join(node) => (node, block(node).first),
        MaskSite::Branch(node) => (node, block(node).last.next()),
        MaskSite::Active(node, at) | MaskSite::Compared(node, at) | MaskSite::Holds(node, at) => {
            (node, at.next())
        }
    }
}

/// Cells of the lanes that the code names. Lanes that never existed may become active: they have none of the contents
/// that the others find at the entry.
fn all_cells(masks: &Masks<'_>) -> Vec<Cell> {
    let ops = masks.code.ops.iter();
    let named = ops.flat_map(|op| op.reads.iter().chain(&op.writes).copied());
    let entry = masks.code.entry_values.iter().map(|(cell, _)| *cell);
    let cells = named.chain(entry).filter(|cell| cell.is_per_lane());
    cells.collect::<BTreeSet<Cell>>().into_iter().collect()
}

/// Cells of the lanes that operations write, ascending.
fn written_in<'o>(ops: impl Iterator<Item = &'o Op>) -> Vec<Cell> {
    let cells = ops.flat_map(|op| op.writes.iter().copied());
    let cells: BTreeSet<Cell> = cells.filter(|cell| cell.is_per_lane()).collect();
    cells.into_iter().collect()
}

/// Cells of the lanes written on paths from the last execution of a site to an operation of a node, without that
/// operation.
fn written_since(masks: &Masks<'_>, site: MaskSite, node: NodeId, at: OpIndex) -> Vec<Cell> {
    let (place, start) = place(masks, site);
    let block = |node: NodeId| masks.thread.space.block(node);
    let mut ops: BTreeSet<OpIndex> = BTreeSet::new();
    // The entry is executed once, whatever leads back to its node.
    let is_entry = site == MaskSite::Entry;
    let runs_once = !is_entry || masks.predecessors[place.index()].is_empty();
    if place == node && start <= at && runs_once {
        return written_in(range(masks, start, at));
    }
    ops.extend((block(node).first.0..at.0).map(OpIndex));
    let mut visited = BTreeSet::new();
    let mut open: Vec<usize> = masks.predecessors[node.index()].clone();
    while let Some(from) = open.pop() {
        if !visited.insert(from) {
            continue;
        }
        let here = NodeId(from as u32);
        let block = block(here);
        if here == place {
            ops.extend((start.0..=block.last.0).map(OpIndex));
            if !is_entry {
                continue;
            }
        }
        ops.extend(block.ops());
        open.extend(&masks.predecessors[from]);
    }
    written_in(ops.into_iter().filter_map(|at| masks.code.get(at)))
}

/// Operations from `start` up to `end`, without it.
fn range<'m>(masks: &'m Masks<'_>, start: OpIndex, end: OpIndex) -> impl Iterator<Item = &'m Op> {
    (start.0..end.0).filter_map(|at| masks.code.get(OpIndex(at)))
}
