//! What the bound of a kernel is, and why.

use serde::Serialize;

/// The name of the JSON format.
pub const SCHEMA: &str = "warpbound.bound/1";

/// Whether a kernel has a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It has.
    Bounded,
    /// Its control flow is known, but facts are missing.
    Unbounded,
    /// Its control flow cannot be followed.
    Refused,
}

/// The result for one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct KernelBound {
    /// Name as C++ source has it.
    pub name: String,
    /// Name in the symbol table.
    pub symbol: String,
    /// Number of the image that it comes from, in a file with several.
    pub image: Option<usize>,
    /// Architecture: `sm_61`.
    pub isa: String,
    /// Outcome.
    pub status: Status,
    /// Why there is no bound.
    pub reason: Option<String>,
    /// Address of the instruction the reason is about; of a kernel that cannot be read the place in the cubin.
    pub reason_at: Option<String>,
    /// Source line of that instruction.
    pub reason_source: Option<String>,
    /// The most warp instructions that a warp issues.
    pub bound: Option<u128>,
    /// Always `instructions`.
    pub unit: &'static str,
    /// The objective of the worst path below, an execution count that obeys all rows.
    pub worst_path_value: Option<u128>,
    /// `bound - worst_path_value`; null when no integral path was found.
    pub integrality_gap: Option<u128>,
    /// Live lanes of a warp; 0 of a kernel that cannot be read.
    pub lanes: u64,
    /// Threads of a block, when stated or recorded in the file.
    pub block: Option<[u32; 3]>,
    /// Digest of the code that facts are about; empty for a kernel that cannot be read.
    pub code: String,
    /// Loops by address.
    pub loops: Vec<Loop>,
    /// Functions outside the file that are called.
    pub external_calls: Vec<ExternalCall>,
    /// Blocks that the worst path executes, by address.
    pub worst_path: Vec<BlockCount>,
    /// Branches at which the lanes of a warp may part.
    pub divergent_branches: Vec<Place>,
    /// Steps of the warp that no lane walks: it takes up lanes that a divergent branch left waiting.
    pub divergence_edges: Vec<Edge>,
    /// What the bound rests on besides the machine code.
    pub assumptions: Vec<Assumption>,
    /// What makes the bound coarser than it could be.
    pub notes: Vec<String>,
    /// Blocks and steps that the facts exclude: `0x0200`, `0x01a8 -> 0x0200`.
    pub never: Vec<String>,
    /// Lines to paste into the facts file.
    pub missing_facts: Vec<String>,
    /// Nodes of the warp-level graph.
    pub nodes: usize,
    /// Edges of the warp-level graph.
    pub edges: usize,
    /// Seconds that the construction of the warp-level graph took, where that was asked for: it differs from run to
    /// run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cfg_seconds: Option<f64>,
}

impl KernelBound {
    /// Statements that must be true for the bound to hold.
    pub fn conditions(&self) -> Conditions {
        let of = |origin: Origin| self.loops.iter().filter(move |l| l.origin == origin);
        Conditions {
            facts: of(Origin::Facts).next().is_some(),
            default: of(Origin::LoopDefault).next().and_then(|l| l.bound),
            calls: !self.external_calls.is_empty(),
        }
    }
}

/// A statement that must be true for a bound to hold.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Conditions {
    /// Facts about loops.
    pub facts: bool,
    /// A bound of all loops without a fact.
    pub default: Option<u64>,
    /// Costs of calls of functions outside the file.
    pub calls: bool,
}

impl Conditions {
    /// Those of two bounds together; there is one bound of loops without a fact.
    #[must_use]
    pub fn and(self, other: Conditions) -> Conditions {
        Conditions {
            facts: self.facts || other.facts,
            default: self.default.or(other.default),
            calls: self.calls || other.calls,
        }
    }

    /// Words to stand after a bound: empty, or `, if ...`.
    pub fn spell(self) -> String {
        let mut parts = Vec::new();
        if self.facts {
            parts.push("the facts about its loops are true".to_owned());
        }
        if let Some(n) = self.default {
            let which = if self.facts { "every other" } else { "every" };
            let times = match n {
                1 => "once".to_owned(),
                n => format!("{n} times"),
            };
            parts.push(format!(
                "{which} loop runs its header at most {times} per entry"
            ));
        }
        if self.calls {
            parts.push("calls of functions outside the file cost what is stated".to_owned());
        }
        match parts.is_empty() {
            true => String::new(),
            false => format!(", if {}", parts.join(" and ")),
        }
    }
}

/// A loop and its fact.
#[derive(Clone, Debug, Serialize)]
pub struct Loop {
    /// Short name.
    pub id: String,
    /// Address of the first header.
    pub at: String,
    /// Source line of the header.
    pub source: Option<String>,
    /// Nesting depth, 1 is outermost.
    pub depth: u32,
    /// Most header executions per entry, by one thread.
    pub bound: Option<u64>,
    /// Most header executions of a thread in its whole run, where that is stated.
    pub total: Option<u64>,
    /// Where the bound comes from.
    pub origin: Origin,
    /// The lanes of a warp iterate together, so that the bound holds for the warp as well.
    pub together: bool,
    /// Headers, when there are several (irreducible).
    pub headers: Vec<String>,
    /// The recursive function whose calls make up this loop.
    pub recursion: Option<String>,
    /// Calling contexts in which it occurs.
    pub contexts: usize,
}

/// Where a loop bound comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The facts file.
    Facts,
    /// `--loop-default`.
    LoopDefault,
    /// Nowhere yet.
    Missing,
}

/// A function outside the file.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalCall {
    /// Its symbol.
    pub name: String,
    /// Address of the call.
    pub at: String,
    /// Source line of the call.
    pub source: Option<String>,
    /// Stated cost of one call in warp instructions.
    pub instructions: Option<u64>,
}

/// How often the worst path executes a block.
#[derive(Clone, Debug, Serialize)]
pub struct BlockCount {
    /// Address of the first instruction.
    pub from: String,
    /// Address of the last instruction.
    pub to: String,
    /// Source line of the first instruction.
    pub source: Option<String>,
    /// The function it lies in, when that is not the kernel itself.
    pub function: Option<String>,
    /// Addresses of the calls that lead to it.
    pub calls: Vec<String>,
    /// Short names of the loops around it, outermost first. Of a block outside all loops that the warp executes several
    /// times: those that its lanes leave at different times.
    pub loops: Vec<String>,
    /// Warp instructions of one execution.
    pub instructions: u64,
    /// Executions by the warp.
    pub count: u128,
    /// Product of the two.
    pub total: u128,
}

/// A place in the code.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// Address.
    pub at: String,
    /// Source line.
    pub source: Option<String>,
    /// Addresses of the calls that lead to it.
    pub calls: Vec<String>,
}

/// A step from one block to another.
#[derive(Clone, Debug, Serialize)]
pub struct Edge {
    /// Last instruction of the block left.
    pub from: String,
    /// First instruction of the block entered.
    pub to: String,
}

/// Something the bound rests on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Assumption {
    /// Stable short name.
    pub id: &'static str,
    /// What is assumed.
    pub text: String,
}
