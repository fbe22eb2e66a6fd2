//! The abstract warp as a drawing, from left to right; loop edges below, ways out of loops above.

use std::fmt::Write as _;

use crate::cta::CtaReport;
use crate::cta_dot::{Flat, FlatNode};

const BOX_WIDTH: f64 = 92.0;
const BOX_HEIGHT: f64 = 40.0;
const RADIUS: f64 = 10.0;
const BAR_WIDTH: f64 = 7.0;
const GAP: f64 = 34.0;
const MARGIN: f64 = 20.0;
/// Height of the smallest arc, and how much each node that it passes adds.
const ARC: f64 = 34.0;
const ARC_STEP: f64 = 7.0;

fn width(node: &FlatNode) -> f64 {
    match node {
        FlatNode::Time { .. } => BOX_WIDTH,
        FlatNode::Memory { .. } => 2.0 * RADIUS,
        FlatNode::Barrier { .. } => BAR_WIDTH,
    }
}

pub(crate) fn svg(report: &CtaReport) -> String {
    let flat = Flat::of(&report.abstract_warp);
    let mut lefts = Vec::new();
    let mut x = MARGIN;
    for node in &flat.nodes {
        lefts.push(x);
        x += width(node) + GAP;
    }
    let arc = |from: usize, to: usize| ARC + ARC_STEP * from.abs_diff(to) as f64;
    let farthest = |forwards: bool| {
        let arcs = flat
            .edges
            .iter()
            .filter(|&&(from, to)| (to > from + 1 && forwards) || (to <= from && !forwards));
        arcs.map(|&(from, to)| arc(from, to)).fold(0.0, f64::max)
    };
    let middle = MARGIN + BOX_HEIGHT / 2.0 + farthest(true);
    let height = middle + BOX_HEIGHT / 2.0 + farthest(false) + MARGIN + 16.0;
    let width_of_all = x - GAP + MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width_of_all:.0}\" height=\"{height:.0}\" \
         font-family=\"monospace\" font-size=\"11\">\n\
         <title>Abstract warp of {}</title>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n",
        escaped(&report.kernel)
    );
    // Writing to a string cannot fail.
    for (node, left) in flat.nodes.iter().zip(&lefts) {
        let center = left + width(node) / 2.0;
        let (shape, at) = match node {
            FlatNode::Time { instr, shift, at } => {
                let top = middle - BOX_HEIGHT / 2.0;
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
                let top = middle - BOX_HEIGHT / 2.0;
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
    for &(from, to) in &flat.edges {
        let (Some(a), Some(b)) = (flat.nodes.get(from), flat.nodes.get(to)) else {
            continue;
        };
        let (left, right) = (lefts[from] + width(a), lefts[to]);
        let path = if to == from + 1 {
            format!("M{left:.1},{middle:.1} L{right:.1},{middle:.1}")
        } else {
            let side = if to > from { -1.0 } else { 1.0 };
            let (x0, x1) = match to > from {
                true => (left - 4.0, right + 4.0),
                false => (left - width(a) / 2.0, right + width(b) / 2.0),
            };
            // Below, the arcs begin under the captions.
            let start = middle + side * (BOX_HEIGHT / 2.0) + if to > from { 0.0 } else { 18.0 };
            let bend = start + side * arc(from, to);
            format!("M{x0:.1},{start:.1} C{x0:.1},{bend:.1} {x1:.1},{bend:.1} {x1:.1},{start:.1}")
        };
        let _ = writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"black\" marker-end=\"url(#arrow)\"/>"
        );
    }
    out.push_str("</svg>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
