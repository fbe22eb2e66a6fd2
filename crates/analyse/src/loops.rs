//! Loops of the thread-level graph, and the flow facts that they need (SOUNDNESS 5.4).

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::CodeAddr;
use warpbound_graph::{Digraph, LoopForest};
use warpbound_ir::{Code, OpIndex};
use warpbound_simt::counts::CountedLoop;
use warpbound_simt::warp::{Via, WarpStep};
use warpbound_simt::{EntryId, NodeId, Tag};

use crate::thread_cfg::ThreadCfg;
use crate::warp_cfg::WarpCfg;

/// Subject of a flow fact: all loops with the same header instructions, in all contexts.
///
/// The fact `B` is the most executions of the headers for each entry of the loop, by one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopSite {
    /// Addresses of the header instructions, ascending; several for an irreducible loop.
    pub headers: Vec<CodeAddr>,
    /// Nesting depth, loops around the calls included; 1 is outermost.
    pub depth: u32,
    /// Entry of the recursive function whose calls make up this loop, if it is one.
    pub recursion: Option<OpIndex>,
    /// Number of contexts in which the loop occurs.
    pub contexts: usize,
    /// Addresses of the instructions at the sources of back edges, ascending. If there are several, loops of the source
    /// may share the header: the fact counts the executions of all of them together.
    pub latches: BTreeSet<CodeAddr>,
}

impl LoopSite {
    /// The address that names the loop.
    pub fn addr(&self) -> CodeAddr {
        self.headers.first().copied().unwrap_or_default()
    }
}

/// All loops of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    /// Subjects of facts, by address.
    pub sites: Vec<LoopSite>,
    /// The loops; `fact` is an index into `sites`.
    pub loops: Vec<CountedLoop>,
    /// For each loop, its parent in the loop forest.
    pub parents: Vec<Option<usize>>,
    /// Return entries of calls into shared contexts.
    pub shared_returns: BTreeSet<EntryId>,
}

impl Loops {
    /// Finds the loops of the thread-level graph: those that flow facts bound.
    pub fn of_thread(code: &Code, thread: &ThreadCfg) -> Loops {
        Loops::find(code, thread, thread.edges())
    }

    /// Finds the loops of the warp-level graph, which `warp-cfg-2023` 4 bounds.
    pub fn of_warp(code: &Code, thread: &ThreadCfg, warp: &WarpCfg) -> Loops {
        Loops::find(code, thread, warp.edges())
    }

    /// Finds the loops of the graph with edges `steps`.
    ///
    /// Where calls share a context (recursion, or too many contexts), a return edge may lead to
    /// another call than the one made. Such edges would close loops that no thread executes, so the
    /// loop graph has, instead of them, an edge from the call to its return point; the number of returns
    /// is bounded by the pushes of their entries (SOUNDNESS 5.10).
    fn find<'a>(
        code: &Code,
        thread: &ThreadCfg,
        steps: impl Iterator<Item = (NodeId, &'a WarpStep)>,
    ) -> Loops {
        let space = &thread.space;
        let shared_returns: BTreeSet<EntryId> = space
            .entries
            .iter()
            .filter(|(_, e)| e.tag == Tag::Ret && space.shared_calls.contains_key(&e.pushed_by))
            .map(|(id, _)| id)
            .collect();
        let direct = steps.filter_map(|(from, step)| {
            let shared = matches!(step.via, Via::Resume(id) if shared_returns.contains(&id));
            Some((from.index(), step.to.filter(|_| !shared)?.index()))
        });
        let call_to_return = shared_returns.iter().map(|&id| {
            let entry = space.entries.get(id);
            (entry.pushed_by.index(), entry.resume.index())
        });
        let graph = Digraph::new(space.len(), direct.chain(call_to_return));
        let forest = LoopForest::build(&graph, thread.entry.index());

        let node = |index: usize| NodeId(index as u32);
        let first = |n: NodeId| space.block(n).first;
        let recursive: BTreeSet<OpIndex> = space
            .shared_calls
            .values()
            .filter(|call| call.recursive)
            .map(|call| call.callee)
            .collect();
        let mut by_headers: BTreeMap<Vec<OpIndex>, LoopSite> = BTreeMap::new();
        let key = |headers: &[usize]| -> Vec<OpIndex> {
            let ops: BTreeSet<OpIndex> = headers.iter().map(|&h| first(node(h))).collect();
            ops.into_iter().collect()
        };
        for (_, found) in forest.loops() {
            let ops = key(&found.headers);
            let site = by_headers.entry(ops.clone()).or_insert_with(|| LoopSite {
                headers: ops
                    .iter()
                    .filter_map(|&op| Some(code.get(op)?.addr))
                    .collect(),
                depth: found.depth,
                recursion: ops.iter().copied().find(|op| recursive.contains(op)),
                contexts: 0,
                latches: BTreeSet::new(),
            });
            site.contexts += 1;
            site.depth = site.depth.max(found.depth);
            let goes_back = |from: &usize| {
                graph
                    .successors(*from)
                    .iter()
                    .any(|to| found.headers.contains(to))
            };
            let latches = found.body.iter().copied().filter(goes_back);
            site.latches.extend(
                latches.filter_map(|from| Some(code.get(space.block(node(from)).last)?.addr)),
            );
        }
        let index: BTreeMap<Vec<OpIndex>, usize> = by_headers
            .keys()
            .enumerate()
            .map(|(i, ops)| (ops.clone(), i))
            .collect();
        Loops {
            loops: forest
                .loops()
                .map(|(_, found)| CountedLoop {
                    headers: found.headers.iter().map(|&h| node(h)).collect(),
                    body: found.body.iter().map(|&n| node(n)).collect(),
                    fact: index.get(&key(&found.headers)).copied().unwrap_or_default(),
                })
                .collect(),
            parents: forest
                .loops()
                .map(|(_, found)| found.parent.map(|p| p.0))
                .collect(),
            sites: by_headers.into_values().collect(),
            shared_returns,
        }
    }
}
