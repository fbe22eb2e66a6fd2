//! Computation tree of a kernel (`efficient-instrumentation-2014`, Figures 3 and 4). Nodes are its control statements
//! with symbolic conditions and with the origins of these conditions; edges are the blocks between them.

use serde::Serialize;

use crate::conditions::{BoundAssumption, write_assumptions};
use crate::escape::quoted;

/// Computation tree of a kernel. A statement occurs once, even if several paths reach it.
#[derive(Clone, Debug, Serialize)]
pub struct TreeReport {
    /// Always `warpbound.tree/1`.
    pub schema: &'static str,
    /// Demangled name.
    pub kernel: String,
    /// Control statements in order of address. The kernel begins with the first.
    pub statements: Vec<StatementReport>,
    /// Blocks between two statements.
    pub edges: Vec<TreeEdgeReport>,
    /// Properties of the hardware that the counts of the edges rest on (SOUNDNESS 15.9).
    pub assumptions: Vec<BoundAssumption>,
}

/// Control statement.
#[derive(Clone, Debug, Serialize)]
pub struct StatementReport {
    /// Address.
    pub at: String,
    /// Disassembly.
    pub instruction: String,
    /// Source line.
    pub source: Option<String>,
    /// Condition in terms of the launch, as far as it can be written.
    pub condition: Option<String>,
    /// Origins of the condition or target: `param`, `block`, `thread`, `data`, `other`.
    pub origins: Vec<&'static str>,
    /// Whether the condition depends on the index of the thread, that is, is tainted by the rule of the paper.
    pub tainted: bool,
}

/// Blocks that are executed between two statements.
#[derive(Clone, Debug, Serialize)]
pub struct TreeEdgeReport {
    /// Index of the statement before; `None` at the start of the kernel.
    pub from: Option<usize>,
    /// Index of the next statement; `None` if threads end.
    pub to: Option<usize>,
    /// Addresses of the first and last instruction of each block.
    pub blocks: Vec<[String; 2]>,
    /// Executions of the first block by a warp in the launch, if known.
    pub issues: Option<u64>,
    /// Whether the first block is at an outgoing edge of a tainted statement.
    pub tainted: bool,
}

impl TreeReport {
    /// Name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.tree/1";

    /// Returns the tree as text: each statement with the blocks that follow it.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", self.kernel);
        self.add_edges(&mut out, None);
        for (index, statement) in self.statements.iter().enumerate() {
            out.push_str(&format!("S{index} {}\n", statement.label(" ")));
            self.add_edges(&mut out, Some(index));
        }
        if !self.assumptions.is_empty() {
            write_assumptions(&mut out, "assumed", &self.assumptions);
        }
        out
    }

    fn add_edges(&self, out: &mut String, from: Option<usize>) {
        for edge in self.edges.iter().filter(|edge| edge.from == from) {
            let to = edge.to.map_or("end".to_owned(), |to| format!("S{to}"));
            out.push_str(&format!("  {} -> {to}\n", edge.label(" ")));
        }
    }

    /// Returns the tree in DOT. Statements are nodes, blocks are edges, and tainted ones are red.
    pub fn dot(&self) -> String {
        let mut out = format!("digraph {} {{\n", quoted(&self.kernel));
        out.push_str("  node [shape=box, fontname=monospace, fontsize=10];\n");
        out.push_str("  edge [fontname=monospace, fontsize=9];\n");
        out.push_str(
            "  start [shape=circle, label=\"\"];\n  end [shape=doublecircle, label=\"\"];\n",
        );
        let style = |tainted: bool| match tainted {
            true => ", color=\"#c0392b\"",
            false => "",
        };
        for (index, statement) in self.statements.iter().enumerate() {
            let label = quoted(&format!("S{index} {}\n", statement.label("\n")));
            // `\l` ends a left-aligned line.
            let label = label.replace("\\n", "\\l");
            out.push_str(&format!(
                "  s{index} [label={label}{}];\n",
                style(statement.tainted)
            ));
        }
        for edge in &self.edges {
            // Start and end are nodes of the drawing but no statements.
            let from = edge
                .from
                .map_or("start".to_owned(), |from| format!("s{from}"));
            let to = edge.to.map_or("end".to_owned(), |to| format!("s{to}"));
            let label = quoted(&edge.label("\n"));
            out.push_str(&format!(
                "  {from} -> {to} [label={label}{}];\n",
                style(edge.tainted)
            ));
        }
        out.push_str("}\n");
        out
    }
}

impl StatementReport {
    fn label(&self, separator: &str) -> String {
        let mut parts = vec![format!("{} {}", self.at, self.instruction)];
        parts.extend(self.source.as_ref().map(|source| format!("({source})")));
        parts.extend(
            self.condition
                .as_ref()
                .map(|condition| format!("if {condition}")),
        );
        let origins = match self.origins.is_empty() {
            true => "constant".to_owned(),
            false => self.origins.join(" + "),
        };
        let tainted = if self.tainted { ", tainted" } else { "" };
        parts.push(format!("[{origins}{tainted}]"));
        parts.join(separator)
    }
}

impl TreeEdgeReport {
    fn label(&self, separator: &str) -> String {
        let mut parts: Vec<String> = self
            .blocks
            .iter()
            .map(|[first, last]| format!("{first}..{last}"))
            .collect();
        parts.extend(self.issues.map(|issues| format!("{issues} times")));
        if self.tainted {
            parts.push("tainted".to_owned());
        }
        parts.join(separator)
    }
}
