//! Writer of control-flow graphs as text.

use crate::graph::{EdgeKind, Graph};
use crate::table::counted;

impl Graph {
    /// Returns the graph as text, with one paragraph for each node.
    pub fn text(&self) -> String {
        text(self)
    }
}

fn text(graph: &Graph) -> String {
    let divergence = graph
        .edges
        .iter()
        .filter(|e| e.kind == EdgeKind::Divergence)
        .count();
    let mut out = format!(
        "{}: {}-level graph, {}, {}",
        graph.kernel,
        graph.level,
        counted(graph.nodes.len(), "block"),
        counted(graph.edges.len(), "edge"),
    );
    if divergence > 0 {
        out.push_str(&format!(", {divergence} of divergence"));
    }
    out.push('\n');
    for (index, node) in graph.nodes.iter().enumerate() {
        out.push_str(&format!("\nB{index}  {}..{}", node.from, node.to));
        if let Some(function) = &node.function {
            out.push_str(&format!("  in {function}"));
        }
        if !node.calls.is_empty() {
            out.push_str(&format!("  called at {}", node.calls.join(" > ")));
        }
        if let Some(source) = &node.source {
            out.push_str(&format!("  {source}"));
        }
        if let Some(header) = &node.header_of {
            out.push_str(&format!("  header of {header}"));
        }
        if node.divergent {
            out.push_str("  lanes may diverge");
        }
        out.push('\n');
        for line in &node.code {
            out.push_str(&format!("    {line}\n"));
        }
        for edge in graph.edges.iter().filter(|e| e.from == index) {
            let arrow = match edge.kind {
                EdgeKind::Walk => "->",
                EdgeKind::Resume => "=>",
                EdgeKind::Divergence => "~>",
            };
            let to = edge.to.map_or("end".to_owned(), |to| format!("B{to}"));
            out.push_str(&format!("  {arrow} {to}"));
            if !edge.pushes.is_empty() {
                out.push_str(&format!("  pushes {}", edge.pushes.join(", ")));
            }
            out.push('\n');
        }
    }
    out.push_str("\n-> active lanes, => a pushed entry is resumed, ~> waiting lanes resume after a divergent branch\n");
    out
}
