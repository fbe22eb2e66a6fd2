//! Control-flow graphs in Graphviz's DOT language.

use crate::escape::quoted;
use crate::graph::{EdgeKind, Graph};

impl Graph {
    /// Returns the graph in Graphviz's DOT language.
    pub fn dot(&self) -> String {
        dot(self)
    }
}

fn dot(graph: &Graph) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&graph.kernel));
    out.push_str("  node [shape=box, fontname=monospace, fontsize=10];\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let mut label = format!("B{index} {}..{}", node.from, node.to);
        if let Some(header) = &node.header_of {
            label.push_str(&format!(" {header}"));
        }
        label.push('\n');
        for line in &node.code {
            label.push_str(line);
            label.push('\n');
        }
        // `\l` ends a left-aligned line.
        let label = quoted(&label).replace("\\n", "\\l");
        let style = if node.divergent {
            ", color=\"#c0392b\""
        } else {
            ""
        };
        out.push_str(&format!("  b{index} [label={label}{style}];\n"));
    }
    // If no node ends, nothing leads to the end.
    if graph.edges.iter().any(|e| e.to.is_none()) {
        out.push_str("  end [shape=doublecircle, label=\"\"];\n");
    }
    for edge in &graph.edges {
        let to = edge.to.map_or("end".to_owned(), |to| format!("b{to}"));
        let style = match edge.kind {
            EdgeKind::Walk => "",
            EdgeKind::Resume => " [color=\"#2c7fb8\"]",
            EdgeKind::Divergence => " [style=dashed, color=\"#c0392b\"]",
        };
        out.push_str(&format!("  b{} -> {to}{style};\n", edge.from));
    }
    out.push_str("}\n");
    out
}
