//! Definitions that reach a use: all writes of a cell that may be the last one before an operation.
//!
//! A search backward over the thread-level graph, for each requested use. The write that a run sees is the one of the
//! set that it executed last, whatever the cell is called.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use warpbound_graph::Digraph;
use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_simt::NodeId;

use crate::thread_cfg::ThreadCfg;

/// Origin of the value of a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Origin {
    /// State at the start of the kernel.
    Entry,
    /// Operation of a node.
    Op(NodeId, OpIndex),
    /// Function outside the file that runs at the end of a node.
    Callee(NodeId),
}

/// Origins of the value that a use reads.
#[derive(Clone, Default, Debug)]
pub(super) struct Origins {
    /// Guarded writes and the last unguarded one before the use in its own block, the closest first.
    pub(super) local: Vec<OpIndex>,
    /// All others.
    pub(super) other: Rc<BTreeSet<Origin>>,
}

impl Origins {
    /// The origin, if there is only one; `node` contains the use.
    pub(super) fn single(&self, node: NodeId) -> Option<Origin> {
        match (self.local.as_slice(), self.other.len()) {
            ([at], 0) => Some(Origin::Op(node, *at)),
            ([], 1) => self.other.first().copied(),
            _ => None,
        }
    }

    /// All origins; `node` contains the use.
    pub(super) fn all(&self, node: NodeId) -> impl Iterator<Item = Origin> + '_ {
        let local = self.local.iter().map(move |&at| Origin::Op(node, at));
        local.chain(self.other.iter().copied())
    }
}

/// Reaching definitions of a kernel, found on demand.
pub(super) struct Reaching<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    predecessors: Digraph,
    at_start: HashMap<(NodeId, Cell), Rc<BTreeSet<Origin>>>,
}

impl<'a> Reaching<'a> {
    pub(super) fn new(code: &'a Code, thread: &'a ThreadCfg) -> Reaching<'a> {
        Reaching {
            code,
            thread,
            predecessors: thread.graph().reversed(),
            at_start: HashMap::new(),
        }
    }

    /// Origins of the value of `cell` before the operation `at` of `node`.
    pub(super) fn before(&mut self, node: NodeId, at: OpIndex, cell: Cell) -> Origins {
        let first = self.thread.space.block(node).first;
        let (local, is_complete) = self.writes(first, at, cell);
        let other = match is_complete {
            true => Rc::default(),
            false => self.at_start(node, cell),
        };
        Origins { local, other }
    }

    /// Writes of a cell from `first` up to `end`, exclusive, the last one first, down to a write that always happens.
    /// The second result says whether there is one.
    fn writes(&self, first: OpIndex, end: OpIndex, cell: Cell) -> (Vec<OpIndex>, bool) {
        let mut found = Vec::new();
        for at in (first.0..end.0).rev().map(OpIndex) {
            let Some(op) = self.code.get(at) else {
                continue;
            };
            if op.condition.is_never() || !op.writes.contains(&cell) {
                continue;
            }
            found.push(at);
            if op.condition.is_always() {
                return (found, true);
            }
        }
        (found, false)
    }

    fn at_start(&mut self, node: NodeId, cell: Cell) -> Rc<BTreeSet<Origin>> {
        if let Some(known) = self.at_start.get(&(node, cell)) {
            return Rc::clone(known);
        }
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::from([node.index()]);
        let mut open = vec![node.index()];
        while let Some(here) = open.pop() {
            // A jump may lead to the entry as well, so the search goes on at its predecessors.
            if here == self.thread.entry.index() {
                found.insert(Origin::Entry);
            }
            for &from in self.predecessors.successors(here) {
                let source = NodeId(from as u32);
                let resolved = self.thread.resolved.get(from).and_then(Option::as_ref);
                // The callee may write any cell, so no earlier write reaches the use on this path.
                if resolved.is_some_and(|resolved| resolved.external.is_some()) {
                    found.insert(Origin::Callee(source));
                    continue;
                }
                let block = self.thread.space.block(source);
                let (writes, is_complete) = self.writes(block.first, block.last.next(), cell);
                found.extend(writes.into_iter().map(|at| Origin::Op(source, at)));
                if !is_complete && seen.insert(from) {
                    open.push(from);
                }
            }
        }
        let found = Rc::new(found);
        self.at_start.insert((node, cell), Rc::clone(&found));
        found
    }
}
