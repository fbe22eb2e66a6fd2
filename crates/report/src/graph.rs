//! Report of a control-flow graph.

pub(crate) mod dot;
pub(crate) mod svg;
mod text;

use serde::Serialize;

/// Control-flow graph of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Graph {
    /// Always `warpbound.cfg/1`.
    pub schema: &'static str,
    /// Demangled name.
    pub kernel: String,
    /// `thread` or `warp`.
    pub level: &'static str,
    /// Nodes; edges refer to them by index.
    pub nodes: Vec<GraphNode>,
    /// Edges.
    pub edges: Vec<GraphEdge>,
    /// Index of the entry node.
    pub entry: usize,
}

impl Graph {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.cfg/1";
}

/// Node: a block in a calling context.
#[derive(Clone, Debug, Serialize)]
pub struct GraphNode {
    /// First address.
    pub from: String,
    /// Last address.
    pub to: String,
    /// Function that contains it, if not the kernel itself.
    pub function: Option<String>,
    /// Calling context: addresses of the calls, outermost first.
    pub calls: Vec<String>,
    /// Source line of the first instruction.
    pub source: Option<String>,
    /// Loop whose header the node is.
    pub header_of: Option<String>,
    /// Whether the lanes of a warp may diverge at the end of the node.
    pub divergent: bool,
    /// Disassembled instructions.
    pub code: Vec<String>,
}

/// Edge between two nodes.
#[derive(Clone, Debug, Serialize)]
pub struct GraphEdge {
    /// Index of the source node.
    pub from: usize,
    /// Index of the destination node; `None` is the end of the kernel.
    pub to: Option<usize>,
    /// Kind of edge.
    pub kind: EdgeKind,
    /// Stack entries that the edge may push: tag and resume address.
    pub pushes: Vec<String>,
}

/// Kind of an edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeKind {
    /// Active lanes take the edge.
    Walk,
    /// A pop resumes a tagged stack entry (for SYNC, BRK, CONT or RET).
    Resume,
    /// The warp resumes lanes that a divergent branch left pending. No lane takes this edge.
    Divergence,
}
