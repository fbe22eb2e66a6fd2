//! The abstract warp in Graphviz's DOT language, as in `abstract-cta-2014`, Figure 3. Boxes are time nodes, circles
//! are memory access nodes, and bars are barriers.

use crate::cta::{CtaReport, ElementReport, span};

/// Abstract warp as a flat graph: nodes from left to right, and edges between them.
#[derive(Default)]
pub(crate) struct FlatWarp {
    pub(crate) nodes: Vec<FlatNode>,
    pub(crate) edges: Vec<(usize, usize)>,
}

/// Node of an abstract warp, as in Figure 3.
pub(crate) enum FlatNode {
    Time { instr: u64, shift: u64, at: String },
    Memory { at: String },
    Barrier { at: String },
}

impl FlatWarp {
    /// Flattens the elements of an abstract warp.
    pub(crate) fn of(elements: &[ElementReport]) -> FlatWarp {
        let mut flat = FlatWarp::default();
        flat.sequence(elements, Vec::new());
        flat
    }

    /// Appends `elements` after the nodes `before`. Returns the nodes from which control continues.
    fn sequence(&mut self, elements: &[ElementReport], before: Vec<usize>) -> Vec<usize> {
        let mut before = before;
        for element in elements {
            let node = match element {
                ElementReport::Time {
                    from,
                    to,
                    instr,
                    shift,
                } => FlatNode::Time {
                    instr: *instr,
                    shift: *shift,
                    at: span(from, to),
                },
                ElementReport::Memory { at } => FlatNode::Memory { at: at.clone() },
                ElementReport::Barrier { at } => FlatNode::Barrier { at: at.clone() },
                // A loop has no node of its own: its back edge and its exits are edges between nodes of its elements.
                ElementReport::Loop { head, body, .. } => {
                    let first = self.nodes.len();
                    // Control leaves a loop after its head, where the predicate is evaluated.
                    let leaves = self.sequence(head, before);
                    let ends = self.sequence(body, leaves.clone());
                    // A loop without nodes has no place for a back edge.
                    if first < self.nodes.len() {
                        self.edges.extend(ends.iter().map(|&end| (end, first)));
                    }
                    before = if body.is_empty() { ends } else { leaves };
                    continue;
                }
            };
            let index = self.nodes.len();
            self.nodes.push(node);
            self.edges.extend(before.iter().map(|&from| (from, index)));
            before = vec![index];
        }
        before
    }
}

impl CtaReport {
    /// Returns the abstract warp in Graphviz's DOT language, as in Figure 3 of the paper.
    pub fn dot(&self) -> String {
        dot(self)
    }
}

fn dot(report: &CtaReport) -> String {
    let flat = FlatWarp::of(&report.abstract_warp);
    let mut out = format!("digraph {:?} {{\n", report.kernel);
    out.push_str("  rankdir=LR;\n  node [fontname=monospace, fontsize=10];\n");
    for (index, node) in flat.nodes.iter().enumerate() {
        let style = match node {
            FlatNode::Time { instr, shift, at } => format!(
                "shape=box, label=\"T_shift = {shift}\\nT_instr = {instr}\", tooltip=\"{at}\", xlabel=\"{at}\""
            ),
            FlatNode::Memory { at } => {
                format!("shape=circle, label=\"\", width=0.3, xlabel=\"{at}\"")
            }
            FlatNode::Barrier { at } => format!(
                "shape=box, style=filled, fillcolor=black, label=\"\", width=0.08, height=0.6, xlabel=\"{at}\""
            ),
        };
        out.push_str(&format!("  n{index} [{style}];\n"));
    }
    for (from, to) in &flat.edges {
        out.push_str(&format!("  n{from} -> n{to};\n"));
    }
    out.push_str("}\n");
    out
}
