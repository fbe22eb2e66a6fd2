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

/// Subject of a flow fact: all loops with the same header instructions, in all contexts. For example, a loop in a
/// function that is called at two places is one site with two contexts.
///
/// The fact `B` is the maximum number of executions of the headers, by one thread, for each entry of the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopSite {
    /// Addresses of the header instructions, ascending; several for an irreducible loop.
    pub headers: Vec<CodeAddr>,
    /// Nesting depth, loops around the calls included; 1 is outermost.
    pub depth: u32,
    /// Entry of the recursive function whose calls make up this loop, if it is one.
    pub recursion: Option<OpIndex>,
    /// Number of contexts that the loop occurs in.
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
        let shared_returns = shared_returns(thread);
        let graph = loop_graph(thread, steps, &shared_returns);
        let forest = LoopForest::build(&graph, thread.entry.index());
        let sites = loop_sites(code, thread, &graph, &forest);
        let fact_of: BTreeMap<&[OpIndex], usize> = sites
            .keys()
            .enumerate()
            .map(|(fact, headers)| (headers.as_slice(), fact))
            .collect();
        let node = |index: usize| NodeId(index as u32);
        let loops = forest
            .loops()
            .map(|(_, found)| {
                let headers = header_ops(thread, &found.headers);
                CountedLoop {
                    headers: found.headers.iter().map(|&h| node(h)).collect(),
                    body: found.body.iter().map(|&n| node(n)).collect(),
                    // `loop_sites` has an entry for the headers of every loop of the forest.
                    fact: fact_of.get(headers.as_slice()).copied().unwrap_or_default(),
                }
            })
            .collect();
        Loops {
            loops,
            parents: forest
                .loops()
                .map(|(_, found)| found.parent.map(|p| p.0))
                .collect(),
            sites: sites.into_values().collect(),
            shared_returns,
        }
    }
}

/// Return entries of calls into shared contexts.
fn shared_returns(thread: &ThreadCfg) -> BTreeSet<EntryId> {
    let space = &thread.space;
    space
        .entries
        .iter()
        .filter(|(_, e)| e.tag == Tag::Ret && space.shared_calls.contains_key(&e.pushed_by))
        .map(|(id, _)| id)
        .collect()
}

/// The graph of `steps`, where edges from calls to their return points replace returns from shared contexts.
fn loop_graph<'a>(
    thread: &ThreadCfg,
    steps: impl Iterator<Item = (NodeId, &'a WarpStep)>,
    shared_returns: &BTreeSet<EntryId>,
) -> Digraph {
    let space = &thread.space;
    let direct = steps.filter_map(|(from, step)| {
        let shared = matches!(step.via, Via::Resume(id) if shared_returns.contains(&id));
        Some((from.index(), step.to.filter(|_| !shared)?.index()))
    });
    let call_to_return = shared_returns.iter().map(|&id| {
        let entry = space.entries.get(id);
        (entry.pushed_by.index(), entry.resume.index())
    });
    Digraph::new(space.len(), direct.chain(call_to_return))
}

/// First operations of header nodes, ascending: the identity of a loop over all contexts.
fn header_ops(thread: &ThreadCfg, headers: &[usize]) -> Vec<OpIndex> {
    let first = |&header: &usize| thread.space.block(NodeId(header as u32)).first;
    let ops: BTreeSet<OpIndex> = headers.iter().map(first).collect();
    ops.into_iter().collect()
}

/// Loops of all contexts by their header operations.
fn loop_sites(
    code: &Code,
    thread: &ThreadCfg,
    graph: &Digraph,
    forest: &LoopForest,
) -> BTreeMap<Vec<OpIndex>, LoopSite> {
    let space = &thread.space;
    let recursive: BTreeSet<OpIndex> = space
        .shared_calls
        .values()
        .filter(|call| call.recursive)
        .map(|call| call.callee)
        .collect();
    let mut sites: BTreeMap<Vec<OpIndex>, LoopSite> = BTreeMap::new();
    for (_, found) in forest.loops() {
        let ops = header_ops(thread, &found.headers);
        let site = sites.entry(ops.clone()).or_insert_with(|| LoopSite {
            headers: ops
                .iter()
                .filter_map(|&op| Some(code.get(op)?.addr))
                .collect(),
            depth: found.depth,
            recursion: ops.iter().copied().find(|op| recursive.contains(op)),
            contexts: 0,
            latches: BTreeSet::new(),
        });
        // Each loop of the forest is the loop of the site in one context.
        site.contexts += 1;
        site.depth = site.depth.max(found.depth);
        // Latches: sources of back edges.
        let is_latch = |from: &usize| {
            graph
                .successors(*from)
                .iter()
                .any(|to| found.headers.contains(to))
        };
        let latches = found.body.iter().copied().filter(is_latch);
        site.latches.extend(latches.filter_map(|from| {
            let last = space.block(NodeId(from as u32)).last;
            Some(code.get(last)?.addr)
        }));
    }
    sites
}
