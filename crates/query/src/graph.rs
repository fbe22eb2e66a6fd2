//! Reports of control-flow graphs.
//!
//! Nodes are basic blocks in a calling context: a function that is called from two places has two nodes per block.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_load::Kernel;
use warpbound_report::graph::{EdgeKind, Graph, GraphEdge, GraphNode};
use warpbound_simt::warp::{Via, WarpStep};
use warpbound_simt::{EntryId, NodeId, Tag};

use crate::{AnalysedKernel, BoundOptions, KernelAnalysis, KernelFlow, Session};
use crate::{prepared::Prepared, prepared::loop_names};

/// Level of a control-flow graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CfgLevel {
    /// Control flow of one thread.
    Thread,
    /// Control flow of a warp, with its pending stack.
    #[default]
    Warp,
}

impl Session {
    /// Computes the control-flow graph of a kernel.
    ///
    /// # Errors
    ///
    /// The kernel is refused.
    pub fn graph(
        &self,
        kernel: &Kernel,
        level: CfgLevel,
        options: &BoundOptions,
    ) -> Result<Graph, Diagnostic> {
        graph_of(&self.analyse(kernel, options)?, level)
    }
}

/// Returns the control-flow graph of an analysed kernel.
///
/// # Errors
///
/// The kernel is refused.
pub fn graph_of(analysis: &KernelAnalysis<'_>, level: CfgLevel) -> Result<Graph, Diagnostic> {
    let AnalysedKernel { prepared, flow, .. } = analysis.followed()?;
    let steps = match level {
        CfgLevel::Thread => &flow.thread.steps,
        CfgLevel::Warp => &flow.warp.graph.steps,
    };
    let reached = |node: &NodeId| match level {
        CfgLevel::Thread => flow.thread.is_reached(*node),
        CfgLevel::Warp => flow.warp.state(*node).is_some(),
    };
    let mut ids: Vec<NodeId> = flow.thread.space.ids().filter(reached).collect();
    ids.sort_by_key(|&id| {
        let space = &flow.thread.space;
        (space.node(id).context, space.block(id).first)
    });
    let position: BTreeMap<NodeId, usize> =
        ids.iter().enumerate().map(|(i, &id)| (id, i)).collect();
    let headers = headers(flow);
    let nodes = ids
        .iter()
        .map(|&id| node(prepared, flow, id, level, headers.get(&id).cloned()))
        .collect();
    let edges = ids
        .iter()
        .flat_map(|&from| {
            steps
                .get(from.index())
                .into_iter()
                .flatten()
                .map(move |s| (from, s))
        })
        .filter_map(|(from, step)| {
            Some(GraphEdge {
                from: *position.get(&from)?,
                to: match step.to {
                    Some(to) => Some(*position.get(&to)?),
                    None => None,
                },
                kind: kind(flow, step),
                pushes: step
                    .pushes
                    .iter()
                    .map(|&id| entry(prepared, flow, id))
                    .collect(),
            })
        })
        .collect();
    Ok(Graph {
        schema: Graph::SCHEMA,
        kernel: prepared.kernel.demangled(),
        level: match level {
            CfgLevel::Thread => "thread",
            CfgLevel::Warp => "warp",
        },
        nodes,
        edges,
        entry: position.get(&flow.thread.entry).copied().unwrap_or(0),
    })
}

/// Returns the names of loops by header node.
fn headers(flow: &KernelFlow) -> BTreeMap<NodeId, String> {
    let names = loop_names(&flow.loops);
    let mut headers = BTreeMap::new();
    for counted in &flow.loops.loops {
        for &header in &counted.headers {
            if let Some(name) = names.get(counted.fact) {
                headers.insert(header, name.id.clone());
            }
        }
    }
    headers
}

fn node(
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    id: NodeId,
    level: CfgLevel,
    header_of: Option<String>,
) -> GraphNode {
    let space = &flow.thread.space;
    let block = space.block(id);
    let first = prepared.addr(block.first);
    let code = block
        .ops()
        .filter_map(|op| {
            let text = prepared.program.text(op.index())?;
            Some(format!("{}  {text}", prepared.location(op)))
        })
        .collect();
    GraphNode {
        from: prepared.location(block.first),
        to: prepared.last_location(block),
        function: prepared.function(first),
        calls: calls(prepared, flow, id),
        source: prepared.source(first),
        header_of,
        // One thread cannot diverge.
        divergent: level == CfgLevel::Warp && flow.warp.divergent.contains(&id),
        code,
    }
}

/// Returns the calling context of a node: addresses of the calls; `*` stands for calls that share a context.
pub fn calls(prepared: &Prepared<'_>, flow: &KernelFlow, id: NodeId) -> Vec<String> {
    let space = &flow.thread.space;
    let sites = space.contexts.string(space.node(id).context);
    sites
        .into_iter()
        .map(|site| site.map_or("*".to_owned(), |op| prepared.location(op)))
        .collect()
}

fn kind(flow: &KernelFlow, step: &WarpStep) -> EdgeKind {
    match step.via {
        Via::Walk => EdgeKind::Walk,
        // A NIL entry is the other side of a divergent branch, not lanes that wait for an instruction.
        Via::Resume(id) if flow.thread.space.entries.get(id).tag == Tag::Nil => {
            EdgeKind::Divergence
        }
        Via::Resume(_) => EdgeKind::Resume,
    }
}

/// Formats a stack entry: tag and resume address.
fn entry(prepared: &Prepared<'_>, flow: &KernelFlow, id: EntryId) -> String {
    let space = &flow.thread.space;
    let entry = space.entries.get(id);
    let resume = prepared.location(space.block(entry.resume).first);
    format!("{} {resume}", entry.tag.name())
}
