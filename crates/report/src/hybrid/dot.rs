//! Drawings of instrumentation points (`wavefront-splitting-2022`, Figure 5.3): the control-flow graph with its
//! points, and the graph of the points.

use crate::escape::quoted;
use crate::graph::svg::POINTS;
use crate::graph::{EdgeKind, Graph, GraphEdge, GraphNode};
use crate::hybrid::{HybridEdge, HybridReport};

impl HybridReport {
    /// Returns the graph of the points in Graphviz's DOT language, with the largest times for the first number of
    /// slots.
    pub fn dot(&self) -> String {
        dot(self)
    }

    /// Returns the graph of the points as an SVG drawing, with the same times.
    pub fn svg(&self) -> String {
        svg(self)
    }
}

/// Returns both graphs in Graphviz's DOT language. Edges between points have their largest times for the first number
/// of reserve slots; edges that no run has passed are dashed.
fn dot(report: &HybridReport) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&report.kernel));
    out.push_str("  node [fontname=monospace, fontsize=10];\n");
    out.push_str("  subgraph cluster_cfg {\n    label=\"control flow\";\n");
    let Graph { nodes, edges, .. } = &report.graph;
    for (index, node) in nodes.iter().enumerate() {
        let mut label = format!("B{index} {}..{}", node.from, node.to);
        for (number, point) in report.points.iter().enumerate() {
            if point.block == index {
                label.push_str(&format!(
                    "\nP{number} {} {}",
                    point.at,
                    point.kinds.join(", ")
                ));
            }
        }
        out.push_str(&format!(
            "    b{index} [shape=box, label={}];\n",
            quoted(&label)
        ));
    }
    for edge in edges {
        // The end of the kernel is no block; points of kind `end` show it.
        if let Some(to) = edge.to {
            out.push_str(&format!("    b{} -> b{to};\n", edge.from));
        }
    }
    out.push_str("  }\n  subgraph cluster_ipg {\n    label=\"instrumentation points\";\n");
    for (number, point) in report.points.iter().enumerate() {
        let label = format!("P{number}\n{}\n{}", point.at, point.kinds.join(", "));
        out.push_str(&format!(
            "    p{number} [shape=ellipse, label={}];\n",
            quoted(&label)
        ));
    }
    for edge in first_edges(report) {
        let style = match edge.time {
            Some(time) => format!("label=\"{time}\""),
            None => "style=dashed".to_owned(),
        };
        out.push_str(&format!("    p{} -> p{} [{style}];\n", edge.from, edge.to));
    }
    out.push_str("  }\n}\n");
    out
}

/// Returns the graph of the points as an SVG drawing. Each box lists the edges from its point with their largest
/// times.
fn svg(report: &HybridReport) -> String {
    let edges = first_edges(report);
    let line = |edge: &HybridEdge| {
        let via = edge
            .via
            .as_ref()
            .map_or(String::new(), |via| format!(" by {via}"));
        let time = edge
            .time
            .map_or("not seen".to_owned(), |time| format!("{time} cycles"));
        format!("→ P{}{via}: {time}", edge.to)
    };
    // The drawing of control-flow graphs serves for points too: a box is a node, and its edges are its lines of code.
    let nodes = report
        .points
        .iter()
        .enumerate()
        .map(|(number, point)| GraphNode {
            from: point.at.clone(),
            to: point.kinds.join(", "),
            function: None,
            calls: point.calls.clone(),
            source: point.source.clone(),
            header_of: None,
            divergent: false,
            code: edges
                .iter()
                .filter(|edge| edge.from == number)
                .map(line)
                .collect(),
        });
    let drawn = edges.iter().map(|edge| GraphEdge {
        from: edge.from,
        to: Some(edge.to),
        kind: EdgeKind::Walk,
        pushes: Vec::new(),
    });
    let end = report.points.iter().enumerate();
    // The drawing has one node for the end, to which each such point leads.
    let ends = end.filter(|(_, point)| point.kinds.contains(&"end"));
    let ends = ends.map(|(number, _)| GraphEdge {
        from: number,
        to: None,
        kind: EdgeKind::Walk,
        pushes: Vec::new(),
    });
    let start = report
        .points
        .iter()
        .position(|point| point.kinds.contains(&"start"));
    let graph = Graph {
        schema: Graph::SCHEMA,
        kernel: report.kernel.clone(),
        level: POINTS,
        nodes: nodes.collect(),
        edges: drawn.chain(ends).collect(),
        entry: start.unwrap_or_default(),
    };
    graph.svg()
}

/// Returns the edges, with their times for the first number of reserve slots.
fn first_edges(report: &HybridReport) -> &[HybridEdge] {
    report
        .splits
        .first()
        .map_or(&[], |estimate| &estimate.edges)
}
