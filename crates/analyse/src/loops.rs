//! Loops of the thread-level graph, and the flow facts they need.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::CodeAddr;
use warpbound_graph::{Digraph, LoopForest};
use warpbound_ir::{Code, OpIndex};
use warpbound_simt::counts::CountedLoop;
use warpbound_simt::warp::{WarpStep, Via};
use warpbound_simt::{EntryId, NodeId, Tag};

use crate::thread::ThreadCfg;
use crate::warp::WarpCfg;

/// What a flow fact bounds: all loops with the same header instructions, in whatever context.
///
/// The fact `B` is the most executions of the headers for each entry of the loop, by one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopSite {
    /// Addresses of the header instructions, ascending; several for an irreducible loop.
    pub headers: Vec<CodeAddr>,
    /// Nesting depth inside its function and the calls around it; 1 is outermost.
    pub depth: u32,
    /// The recursive function whose calls make up this loop, when it is one: the entry.
    pub recursion: Option<OpIndex>,
    /// Number of contexts in which the loop occurs.
    pub contexts: usize,
    /// Addresses of the instructions from which a thread goes back to a header, ascending. Where there are several, loops
    /// of the source may share the header: the fact counts the executions of all of them together.
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
    /// What needs a fact, by address.
    pub sites: Vec<LoopSite>,
    /// The loops; `fact` is an index into `sites`.
    pub loops: Vec<CountedLoop>,
    /// For each loop, the loop around it.
    pub parents: Vec<Option<usize>>,
    /// Return entries of calls into shared contexts.
    pub shared_returns: BTreeSet<EntryId>,
}

impl Loops {
    /// The loops of the thread-level graph: those that flow facts bound.
    pub fn of_thread(code: &Code, thread: &ThreadCfg) -> Loops {
        Loops::run(code, thread, thread.edges())
    }

    /// The loops of the warp-level graph, as the paper bounds them.
    pub fn of_warp(code: &Code, thread: &ThreadCfg, warp: &WarpCfg) -> Loops {
        Loops::run(code, thread, warp.edges())
    }

    /// Finds the loops that `steps` make.
    ///
    /// Where calls share a context (recursion, or too many contexts), a return edge may lead to
    /// another call than the one made. Such edges would close loops that no thread walks, so the
    /// loop graph has, instead of them, an edge from the call over to its return point; how often
    /// they are taken is bounded by the pushes of their entries.
    fn run<'a>(
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
        let over = shared_returns.iter().map(|&id| {
            let entry = space.entries.get(id);
            (entry.pushed_by.index(), entry.resume.index())
        });
        let graph = Digraph::new(space.len(), direct.chain(over));
        let forest = LoopForest::run(&graph, thread.entry.index());

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
