//! A control-flow graph to be shown.

use serde::Serialize;

/// A control-flow graph of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Graph {
    /// Always `warpbound.cfg/1`.
    pub schema: &'static str,
    /// Name as C++ source has it.
    pub kernel: String,
    /// `thread` or `warp`.
    pub level: &'static str,
    /// Blocks; an edge names one by its position here.
    pub nodes: Vec<GraphNode>,
    /// Steps.
    pub edges: Vec<GraphEdge>,
    /// The node where the kernel begins.
    pub entry: usize,
}

impl Graph {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.cfg/1";

    /// Text: one paragraph per block.
    pub fn text(&self) -> String {
        crate::graph_text::text(self)
    }

    /// Graphviz.
    pub fn dot(&self) -> String {
        crate::dot::dot(self)
    }

    /// A drawing.
    pub fn svg(&self) -> String {
        crate::svg::svg(self)
    }
}

/// A block in a calling context.
#[derive(Clone, Debug, Serialize)]
pub struct GraphNode {
    /// First address.
    pub from: String,
    /// Last address.
    pub to: String,
    /// The function it lies in, when that is not the kernel itself.
    pub function: Option<String>,
    /// Addresses of the calls that lead to it.
    pub calls: Vec<String>,
    /// Source line of the first instruction.
    pub source: Option<String>,
    /// The loop it is a header of.
    pub header_of: Option<String>,
    /// The lanes of a warp may part at its end.
    pub divergent: bool,
    /// Instructions, spelled.
    pub code: Vec<String>,
}

/// A step from one block to another.
#[derive(Clone, Debug, Serialize)]
pub struct GraphEdge {
    /// Source node.
    pub from: usize,
    /// Destination; `None` is the end of the kernel.
    pub to: Option<usize>,
    /// What kind of step.
    pub kind: EdgeKind,
    /// Stack entries that the step may push: tag and resume address.
    pub pushes: Vec<String>,
}

/// Kinds of steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeKind {
    /// Active lanes walk it.
    Walk,
    /// A tagged entry (SSY, PBK, CAL) is resumed.
    Resume,
    /// Lanes left waiting by a divergent branch are taken up: no lane walks this edge.
    Divergence,
}
