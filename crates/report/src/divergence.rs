//! What may diverge in a kernel, and why.

use serde::Serialize;

/// The divergence of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct DivergenceReport {
    /// Always `warpbound.divergence/1`.
    pub schema: &'static str,
    /// Name as C++ source has it.
    pub kernel: String,
    /// Branches, loads and barriers, by address.
    pub items: Vec<OpReport>,
    /// Divergent branches behind which lanes may miss each other; the answers of gated values
    /// rest on their meeting.
    pub apart: Vec<MissedReconvergenceReport>,
}

impl DivergenceReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.divergence/1";

    /// Text: a line per operation, and below it why it is divergent.
    pub fn text(&self) -> String {
        crate::divergence_text::text(self)
    }
}

/// One operation.
#[derive(Clone, Debug, Serialize)]
pub struct OpReport {
    /// Its address.
    pub at: String,
    /// Its spelling.
    pub instruction: String,
    /// What it is.
    pub kind: ItemKind,
    /// Source line.
    pub source: Option<String>,
    /// The function it lies in, when that is not the kernel itself.
    pub function: Option<String>,
    /// In how many calling contexts it occurs.
    pub contexts: usize,
    /// Cells that decide: of the predicate or the jump, of the address, of the barrier's operands.
    pub cells: Vec<String>,
    /// May lanes that come here together find different values in the cells?
    pub values: Answer,
    /// May it be executed by some of the live lanes only?
    pub partial: Answer,
}

impl OpReport {
    /// A barrier at which some live lanes of a warp may wait while others wait for their turn: no analysis
    /// excludes it.
    pub fn may_deadlock(&self) -> bool {
        self.kind == ItemKind::Barrier && self.partial.gsa && self.partial.agreement
    }
}

/// What an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// A control operation with a condition, or an indirect jump.
    Branch,
    /// A load.
    Load,
    /// A barrier.
    Barrier,
}

/// The answers of both analyses to one question.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Gated values: yes, it may.
    pub gsa: bool,
    /// Agreement in the warp-level graph: yes, it may.
    pub agreement: bool,
    /// In how many contexts the gated values say so.
    pub gsa_contexts: usize,
    /// In how many contexts agreement says so.
    pub agreement_contexts: usize,
    /// Where the answers differ: which is more precise, and why.
    pub difference: Option<String>,
    /// From the operation back to a source, by gated values.
    pub chain: Vec<ChainLink>,
    /// Addresses of the calls that lead to the operation that the chain explains.
    pub calls: Vec<String>,
}

/// A step of a chain.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct ChainLink {
    /// Address of the operation; of the first one behind a gate.
    pub at: String,
    /// The kind of definition.
    pub gate: Gate,
    /// The cell defined.
    pub cell: Option<String>,
    /// Spelling of the operation; none for gates at the begin of a block.
    pub instruction: Option<String>,
    /// Why the value is divergent that no other makes so: the end of the chain.
    pub because: Option<String>,
}

/// Kinds of definitions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// The cell when the kernel begins.
    Entry,
    /// None: the operation writes the cell.
    Written,
    /// γ, between what the operation writes and what the cell held.
    Conditional,
    /// γ at a join.
    Gamma,
    /// μ at the header of a loop.
    Mu,
    /// η behind a loop.
    Eta,
    /// A function outside the file writes the cell.
    Callee,
    /// Not a cell, but which way lanes go.
    Way,
}

/// A branch behind which lanes may miss each other.
#[derive(Clone, Debug, Serialize)]
pub struct MissedReconvergenceReport {
    /// The branch.
    pub branch: String,
    /// Where lanes should meet.
    pub meeting: String,
    /// Answers about values rest on it as well; else only those about which lanes take part.
    pub for_values: bool,
}
