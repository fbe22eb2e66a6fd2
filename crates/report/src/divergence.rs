//! Report of divergence: the branches, loads and barriers of a kernel that may diverge, with reasons.
//!
//! For example, a branch on `tid.x < 16` is divergent in a warp of 32 lanes, and the chain of its reason ends at the
//! read of the thread index.

mod text;

use std::collections::BTreeMap;

use serde::Serialize;

/// Divergence of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct DivergenceReport {
    /// Always `warpbound.divergence/1`.
    pub schema: &'static str,
    /// Demangled name.
    pub kernel: String,
    /// Branches, loads and barriers in order of address.
    pub items: Vec<OpReport>,
    /// Divergent branches after which lanes may miss their reconvergence point. The analysis by gated single assignment
    /// assumes that they do not.
    #[serde(rename = "apart")]
    pub missed_reconvergences: Vec<MissedReconvergenceReport>,
    /// Reason why the report has no determinacy, if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_determinacy: Option<&'static str>,
}

impl DivergenceReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.divergence/1";
}

/// Operation and the answers of the analyses.
#[derive(Clone, Debug, Serialize)]
pub struct OpReport {
    /// Address of the operation.
    pub at: String,
    /// Disassembly.
    pub instruction: String,
    /// Kind of operation.
    pub kind: ItemKind,
    /// Kind of a branch in code that keeps masks of lanes: `split`, `skip`, `latch`, `loop exit`, `constant`, `scalar`,
    /// `mask`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<&'static str>,
    /// Source line.
    pub source: Option<String>,
    /// Function that contains it, if not the kernel itself.
    pub function: Option<String>,
    /// Number of calling contexts of the operation.
    pub contexts: usize,
    /// Cells that the answer concerns: the predicate or jump target, the address, or the operands of the barrier.
    pub cells: Vec<String>,
    /// Whether lanes that execute it together may have different values in the cells.
    pub values: DivergenceAnswer,
    /// Whether only some of the live lanes may execute it.
    pub partial: DivergenceAnswer,
    /// Knowledge that the condition or target of a branch requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub determinacy: Option<DeterminacyReport>,
}

/// Knowledge that the condition or target of a branch requires.
#[derive(Clone, Debug, Serialize)]
pub struct DeterminacyReport {
    /// Its origins: `param`, `block`, `thread`, `data`, `other`; none for a constant.
    pub origins: Vec<&'static str>,
    /// Whether it depends on the index of the thread: tainted by the rule of `efficient-instrumentation-2014`.
    pub tainted: bool,
    /// Addresses of the loads from which it follows.
    pub loads: Vec<String>,
    /// Whether it follows from further loads.
    pub more_loads: bool,
    /// For each origin, the addresses of the operations from the branch back to a source.
    pub chains: BTreeMap<&'static str, Vec<String>>,
}

impl OpReport {
    /// Whether this is a barrier at which some live lanes of a warp may wait while others have not executed it. Both
    /// analyses must find this possible.
    pub fn may_deadlock(&self) -> bool {
        self.kind == ItemKind::Barrier && self.partial.gsa && self.partial.agreement
    }
}

/// Kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// Conditional control operation, or an indirect jump.
    Branch,
    /// A load.
    Load,
    /// A barrier.
    Barrier,
}

/// Answers of both analyses to one question.
#[derive(Clone, Debug, Serialize)]
pub struct DivergenceAnswer {
    /// Whether divergence is possible by gated single assignment (`abstract-cta-2014` 3.1).
    pub gsa: bool,
    /// Whether divergence is possible by agreement in the warp-level graph (`warp-cfg-2023` 3.3).
    pub agreement: bool,
    /// Number of calling contexts with divergence by gated single assignment.
    pub gsa_contexts: usize,
    /// Number of calling contexts with divergence by agreement.
    pub agreement_contexts: usize,
    /// Explanation of a difference between the answers: which one is more precise, and why.
    pub difference: Option<String>,
    /// Chain of definitions from the operation back to a source of divergence, by gated single assignment.
    pub chain: Vec<ChainLink>,
    /// Calling context that the chain explains: addresses of the calls, outermost first.
    pub calls: Vec<String>,
}

/// Definition in a chain.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct ChainLink {
    /// Address of the operation; for a gate, of the first operation after it.
    pub at: String,
    /// Kind of definition.
    pub gate: Gate,
    /// Defined cell.
    pub cell: Option<String>,
    /// Disassembly of the operation; `None` for a gate at the start of a block.
    pub instruction: Option<String>,
    /// Reason why the value is a source of divergence, at the end of the chain.
    #[serde(rename = "because")]
    pub reason: Option<String>,
}

/// Kind of a definition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// Value of the cell at the start of the kernel.
    Entry,
    /// Ordinary write of the cell by the operation.
    Written,
    /// γ of a guarded operation: the value that it writes, or the previous value of the cell.
    Conditional,
    /// γ at a join.
    Gamma,
    /// μ at the header of a loop.
    Mu,
    /// η after a loop.
    Eta,
    /// Write by a function outside the file.
    Callee,
    /// Control dependence on the branch that lanes take, instead of a cell.
    #[serde(rename = "way")]
    ControlDependence,
}

/// Branch after which lanes may miss their reconvergence point.
#[derive(Clone, Debug, Serialize)]
pub struct MissedReconvergenceReport {
    /// Address of the branch.
    pub branch: String,
    /// Description of the reconvergence point.
    #[serde(rename = "meeting")]
    pub reconvergence: String,
    /// Whether answers about values depend on it. Otherwise only answers about partial execution do.
    pub for_values: bool,
}
