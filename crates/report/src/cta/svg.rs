//! The abstract warp as an SVG drawing from left to right. Back edges of loops run below the nodes, exit edges above.

use std::fmt::Write as _;

use crate::cta::CtaReport;
use crate::cta::dot::{FlatNode, FlatWarp};
use crate::escape::escaped;

const BOX_WIDTH: f64 = 92.0;
const BOX_HEIGHT: f64 = 40.0;
const RADIUS: f64 = 10.0;
const BAR_WIDTH: f64 = 7.0;
const GAP: f64 = 34.0;
const MARGIN: f64 = 20.0;
/// Height of the smallest arc, and its growth per node that the arc passes.
const ARC: f64 = 34.0;
const ARC_STEP: f64 = 7.0;

/// Returns the width of the shape of a node.
fn width(node: &FlatNode) -> f64 {
    match node {
        FlatNode::Time { .. } => BOX_WIDTH,
        FlatNode::Memory { .. } => 2.0 * RADIUS,
        FlatNode::Barrier { .. } => BAR_WIDTH,
    }
}

impl CtaReport {
    /// Returns the abstract warp as an SVG drawing.
    pub fn svg(&self) -> String {
        svg(self)
    }
}

fn svg(report: &CtaReport) -> String {
    let flat = FlatWarp::of(&report.abstract_warp);
    let layout = Layout::of(&flat);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{:.0}\" \
         font-family=\"monospace\" font-size=\"11\">\n\
         <title>Abstract warp of {}</title>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n",
        layout.width,
        layout.height,
        escaped(&report.kernel)
    );
    for (node, &left) in flat.nodes.iter().zip(&layout.lefts) {
        draw_node(node, left, layout.middle, &mut out);
    }
    for &(from, to) in &flat.edges {
        // Writing to a string cannot fail.
        if let Some(path) = layout.edge_path(&flat, from, to) {
            let _ = writeln!(
                out,
                "<path d=\"{path}\" fill=\"none\" stroke=\"black\" marker-end=\"url(#arrow)\"/>"
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Coordinates of the drawing.
struct Layout {
    /// Left side of each node.
    lefts: Vec<f64>,
    /// Height at which the nodes are centred.
    middle: f64,
    width: f64,
    height: f64,
}

impl Layout {
    /// Computes the coordinates of all nodes and the size of the drawing.
    fn of(flat: &FlatWarp) -> Layout {
        let mut lefts = Vec::new();
        let mut x = MARGIN;
        for node in &flat.nodes {
            lefts.push(x);
            x += width(node) + GAP;
        }
        // A forward edge to the next node is a straight line and needs no height.
        let highest = |forwards: bool| {
            let arcs = flat
                .edges
                .iter()
                .filter(|&&(from, to)| (to > from + 1 && forwards) || (to <= from && !forwards));
            arcs.map(|&(from, to)| arc_height(from, to))
                .fold(0.0, f64::max)
        };
        // Arcs above the nodes need room at the top, and arcs below them at the bottom.
        let middle = MARGIN + BOX_HEIGHT / 2.0 + highest(true);
        Layout {
            lefts,
            middle,
            width: x - GAP + MARGIN,
            height: middle + BOX_HEIGHT / 2.0 + highest(false) + MARGIN + 16.0,
        }
    }

    /// Returns the path of an edge: a line to the next node, an arc above the nodes forwards, or an arc below them
    /// backwards.
    fn edge_path(&self, flat: &FlatWarp, from: usize, to: usize) -> Option<String> {
        let (a, b) = (flat.nodes.get(from)?, flat.nodes.get(to)?);
        let middle = self.middle;
        let (left, right) = (self.lefts[from] + width(a), self.lefts[to]);
        if to == from + 1 {
            return Some(format!("M{left:.1},{middle:.1} L{right:.1},{middle:.1}"));
        }
        let side = if to > from { -1.0 } else { 1.0 };
        let (x0, x1) = match to > from {
            true => (left - 4.0, right + 4.0),
            false => (left - width(a) / 2.0, right + width(b) / 2.0),
        };
        // Arcs below the nodes start under the captions.
        let start = middle + side * (BOX_HEIGHT / 2.0) + if to > from { 0.0 } else { 18.0 };
        let bend = start + side * arc_height(from, to);
        Some(format!(
            "M{x0:.1},{start:.1} C{x0:.1},{bend:.1} {x1:.1},{bend:.1} {x1:.1},{start:.1}"
        ))
    }
}

/// Returns the height of the arc of an edge that passes other nodes.
fn arc_height(from: usize, to: usize) -> f64 {
    // An edge over more nodes has a higher arc, so that nested arcs stay apart.
    ARC + ARC_STEP * from.abs_diff(to) as f64
}

/// Appends the shape of a node and its caption.
fn draw_node(node: &FlatNode, left: f64, middle: f64, out: &mut String) {
    let center = left + width(node) / 2.0;
    let top = middle - BOX_HEIGHT / 2.0;
    let (shape, at) = match node {
        FlatNode::Time { instr, shift, at } => {
            let shape = format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" \
                 fill=\"#f4f7fb\" stroke=\"black\"/>\n\
                 <text x=\"{center:.1}\" y=\"{:.1}\" text-anchor=\"middle\">T_shift = {shift}</text>\n\
                 <text x=\"{center:.1}\" y=\"{:.1}\" text-anchor=\"middle\">T_instr = {instr}</text>\n",
                middle - 4.0,
                middle + 12.0
            );
            (shape, at)
        }
        FlatNode::Memory { at } => {
            let shape = format!(
                "<circle cx=\"{center:.1}\" cy=\"{middle:.1}\" r=\"{RADIUS}\" fill=\"white\" \
                 stroke=\"black\"/>\n"
            );
            (shape, at)
        }
        FlatNode::Barrier { at } => {
            let shape = format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{BAR_WIDTH}\" height=\"{BOX_HEIGHT}\"/>\n"
            );
            (shape, at)
        }
    };
    out.push_str(&shape);
    let _ = writeln!(
        out,
        "<text x=\"{center:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#666\">{}</text>",
        middle + BOX_HEIGHT / 2.0 + 14.0,
        escaped(at)
    );
}
