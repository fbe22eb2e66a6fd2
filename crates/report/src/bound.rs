//! Report of a kernel's bound: the verdict, the worst path, the loops and the assumptions.
//!
//! For example, a kernel with one loop without a fact is "unbounded", and a line for its facts file names the loop.

mod annotate;
pub(crate) mod folder;
pub(crate) mod html;
pub(crate) mod text;
pub(crate) mod writer;

use serde::{Serialize, Serializer};
use warpbound_base::Family;

use crate::conditions::{BoundAssumption, BoundConditions};
use crate::cycle_bound::CycleBoundReport;
use crate::derivation::LoopDerivation;
use crate::formula::BoundFormula;
use crate::machine_code::MachineCodeReport;

/// The name of the JSON format.
pub const SCHEMA: &str = "warpbound.bound/1";

/// Unit of the bounds of kernels.
const UNIT: &str = "instructions";

/// Verdict on a kernel: its bound, or the reason why it has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BoundVerdict {
    /// The kernel has a bound.
    Bounded {
        /// Upper bound of the warp instructions that a warp issues.
        bound: u128,
        /// Warp instructions of the worst path, that is the objective of an integral solution of all count rows, if
        /// one was found.
        worst_path_value: Option<u128>,
    },
    /// The control flow is known, but flow facts are missing.
    Unbounded {
        /// Reason why there is no bound.
        reason: String,
    },
    /// The control flow cannot be followed, or nothing was established.
    Refused {
        /// Reason why there is no bound.
        reason: String,
        /// Address of the instruction that the reason names. For an unreadable kernel, the position in the cubin.
        at: Option<String>,
        /// Source line of that instruction.
        source: Option<String>,
    },
}

/// Keys of a verdict in JSON.
#[derive(Serialize)]
struct VerdictKeys<'a> {
    status: &'static str,
    reason: Option<&'a str>,
    reason_at: Option<&'a str>,
    reason_source: Option<&'a str>,
    bound: Option<u128>,
    unit: &'static str,
    worst_path_value: Option<u128>,
    integrality_gap: Option<u128>,
}

impl Serialize for BoundVerdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Keys that do not apply are null, not absent, so that every verdict has the same keys.
        let keys = |status| VerdictKeys {
            status,
            reason: self.reason(),
            reason_at: None,
            reason_source: None,
            bound: None,
            unit: UNIT,
            worst_path_value: None,
            integrality_gap: None,
        };
        match self {
            BoundVerdict::Bounded {
                bound,
                worst_path_value,
            } => VerdictKeys {
                bound: Some(*bound),
                worst_path_value: *worst_path_value,
                integrality_gap: self.integrality_gap(),
                ..keys("bounded")
            },
            BoundVerdict::Unbounded { .. } => keys("unbounded"),
            BoundVerdict::Refused { at, source, .. } => VerdictKeys {
                reason_at: at.as_deref(),
                reason_source: source.as_deref(),
                ..keys("refused")
            },
        }
        .serialize(serializer)
    }
}

impl BoundVerdict {
    /// Returns the bound, if there is one.
    pub fn bound(&self) -> Option<u128> {
        match self {
            BoundVerdict::Bounded { bound, .. } => Some(*bound),
            BoundVerdict::Unbounded { .. } | BoundVerdict::Refused { .. } => None,
        }
    }

    /// Returns the reason why there is no bound.
    pub fn reason(&self) -> Option<&str> {
        match self {
            BoundVerdict::Bounded { .. } => None,
            BoundVerdict::Unbounded { reason } | BoundVerdict::Refused { reason, .. } => {
                Some(reason)
            }
        }
    }

    /// Returns the difference between the bound and the instructions of the worst path; `None` if no integral
    /// solution was found.
    pub fn integrality_gap(&self) -> Option<u128> {
        match self {
            BoundVerdict::Bounded {
                bound,
                worst_path_value,
            } => bound.checked_sub((*worst_path_value)?),
            BoundVerdict::Unbounded { .. } | BoundVerdict::Refused { .. } => None,
        }
    }
}

/// The result for one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct KernelBound {
    /// Demangled name.
    pub name: String,
    /// Name in the symbol table.
    pub symbol: String,
    /// Number of the kernel's image, in a file with several images.
    pub image: Option<usize>,
    /// Architecture, as [`Isa`](warpbound_base::Isa) prints it.
    pub isa: String,
    /// Verdict. Its keys are `status`, `reason`, `reason_at`, `reason_source`, `bound`, `unit`, `worst_path_value` and
    /// `integrality_gap`.
    #[serde(flatten)]
    pub verdict: BoundVerdict,
    /// Live lanes of a warp; 0 for an unreadable kernel.
    pub lanes: u64,
    /// Family of the machines that execute the kernel: facts about waves of GCN3 are about the wave, others about a thread.
    #[serde(skip)]
    pub family: Family,
    /// Threads of a block in x, y, z, if stated by the user or recorded in the file.
    pub block: Option<[u32; 3]>,
    /// Digest of the code, to which facts files refer; empty for an unreadable kernel.
    pub code: String,
    /// Profile of the stated launch, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileReport>,
    /// Loops in order of address.
    pub loops: Vec<LoopReport>,
    /// Calls of functions outside the file.
    pub external_calls: Vec<ExternalCall>,
    /// Blocks of the worst path, in order of address; empty without a bound.
    pub worst_path: Vec<PathBlock>,
    /// Branches at which the lanes of a warp may diverge.
    pub divergent_branches: Vec<CodePlace>,
    /// Divergence edges of the warp-level graph, over which the warp resumes lanes that a divergent branch left
    /// pending.
    pub divergence_edges: Vec<PathEdge>,
    /// Assumptions of the bound besides the machine code; empty without a bound.
    pub assumptions: Vec<BoundAssumption>,
    /// Sources of overestimation.
    pub notes: Vec<String>,
    /// Blocks and edges that the facts exclude: `0x0200`, `0x01a8 -> 0x0200`.
    pub never: Vec<String>,
    /// The bound as a function of symbols, if it was asked for and there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<BoundFormula>,
    /// Reason why there is no formula, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula_reason: Option<String>,
    /// Bound in cycles, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<CycleBoundReport>,
    /// Lines for the facts file, to be completed by the user.
    pub missing_facts: Vec<String>,
    /// Machine code, if it was asked for and can be decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_code: Option<MachineCodeReport>,
    /// Nodes of the warp-level graph.
    pub nodes: usize,
    /// Edges of the warp-level graph.
    pub edges: usize,
    /// Seconds for the construction of the warp-level graph, if requested. They differ from run to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cfg_seconds: Option<f64>,
}

impl KernelBound {
    /// Returns the statements of the user on which the bound depends.
    pub fn conditions(&self) -> BoundConditions {
        // An exact profile is the execution of the launch itself, so no statement about loops enters it.
        if self
            .profile
            .as_ref()
            .is_some_and(|profile| profile.decides && profile.exact)
        {
            return BoundConditions::default();
        }
        self.loop_conditions()
    }

    /// Returns the statements of the user about loops and calls.
    pub(crate) fn loop_conditions(&self) -> BoundConditions {
        let of = |origin: Origin| self.loops.iter().filter(move |l| l.uses(origin));
        // A bound from the launch is also a derived one: `clause` then speaks of every other loop.
        BoundConditions {
            launch: of(Origin::Launch).next().is_some(),
            derived: of(Origin::Derived)
                .chain(of(Origin::Launch))
                .next()
                .is_some(),
            facts: of(Origin::Facts).next().is_some(),
            // Facts about accesses limit cycles, not instructions; `CycleBoundReport::condition` sets the flag.
            access_facts: false,
            // All loops without a fact have the same default, so the first one has the number.
            default: of(Origin::LoopDefault).next().and_then(|l| l.bound),
            calls: !self.external_calls.is_empty(),
        }
    }
}

/// Profile of all warps of a launch: the instructions that each issues, by execution with known and unknown values.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProfileReport {
    /// Blocks of the grid in x, y, z.
    pub grid: [u32; 3],
    /// Maximum number of warp instructions that a warp of the launch issues; `None` if some warp has no profile.
    pub bound: Option<u64>,
    /// Whether the kernel's bound is the bound of this profile.
    pub decides: bool,
    /// Whether the worst warp issues exactly this number in every run.
    pub exact: bool,
    /// Bound of the integer program, for all launches with this block.
    pub static_bound: Option<u128>,
    /// Worst warp among the warps with a profile.
    pub worst: Option<ReportedWarp>,
    /// Warps that were executed. Each other warp is equal to one of them.
    pub executed: u64,
    /// Instructions at which values that the launch does not fix decide the path.
    pub unknown_at: Vec<CodePlace>,
    /// Names of the buffers whose contents come from the launch file.
    pub contents: Vec<String>,
    /// First warp without a profile, and the reason.
    pub undecided: Option<UndecidedWarp>,
}

/// Warp of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ReportedWarp {
    /// Index of its block.
    pub block: [u32; 3],
    /// Number of the warp in the block.
    pub warp: u32,
}

impl std::fmt::Display for ReportedWarp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, z] = self.block;
        write!(f, "warp {} of block ({x}, {y}, {z})", self.warp)
    }
}

/// Warp without a profile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct UndecidedWarp {
    /// The warp.
    #[serde(flatten)]
    pub warp: ReportedWarp,
    /// Address of the instruction at which the profile ends.
    pub at: String,
    /// Source line of that instruction.
    pub source: Option<String>,
    /// Reason.
    pub reason: String,
}

/// Loop and its fact.
#[derive(Clone, Debug, Serialize)]
pub struct LoopReport {
    /// Short name.
    pub id: String,
    /// Address of the first header.
    pub at: String,
    /// Source line of the header.
    pub source: Option<String>,
    /// Nesting depth, 1 is outermost.
    pub depth: u32,
    /// Maximum number of header executions per entry of the loop, by one thread.
    pub bound: Option<u64>,
    /// Maximum number of header executions by a thread in its whole run, if stated or derived.
    pub total: Option<u64>,
    /// Origin of the bound.
    pub origin: Origin,
    /// Origin of the total.
    pub total_origin: Option<Origin>,
    /// Evidence of a derived bound, or the reason why there is none. The keys are the fields of [`LoopDerivation`].
    #[serde(flatten)]
    pub derivation: LoopDerivation,
    /// Whether the lanes of a warp iterate in lockstep, so that the bound holds for the warp as well.
    #[serde(rename = "together")]
    pub lockstep: bool,
    /// Headers, if there are several (irreducible loop).
    pub headers: Vec<String>,
    /// Recursive function whose calls form this loop.
    pub recursion: Option<String>,
    /// Number of calling contexts of the loop.
    pub contexts: usize,
}

impl LoopReport {
    /// Whether the bound or the total has this origin.
    pub fn uses(&self, origin: Origin) -> bool {
        self.origin == origin || self.total_origin == Some(origin)
    }

    /// Whether the bound is derived, but only from the width of a register.
    pub(crate) fn is_of_width(&self) -> bool {
        let is_derived = matches!(self.origin, Origin::Derived | Origin::Launch);
        is_derived && self.derivation.is_of_width()
    }
}

/// Origin of a loop bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The machine code.
    Derived,
    /// The machine code and what is stated about the launch.
    Launch,
    /// The facts file.
    Facts,
    /// `--loop-default`.
    LoopDefault,
    /// Missing fact.
    Missing,
}

/// Call of a function outside the file.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalCall {
    /// Symbol of the function.
    pub name: String,
    /// Address of the call.
    pub at: String,
    /// Source line of the call.
    pub source: Option<String>,
    /// Stated cost of one call in warp instructions.
    pub instructions: Option<u64>,
}

/// Execution count of a block on the worst path.
#[derive(Clone, Debug, Serialize)]
pub struct PathBlock {
    /// Address of the first instruction.
    pub from: String,
    /// Address of the last instruction.
    pub to: String,
    /// Source line of the first instruction.
    pub source: Option<String>,
    /// Function that contains it, if not the kernel itself.
    pub function: Option<String>,
    /// Calling context: addresses of the calls, outermost first.
    pub calls: Vec<String>,
    /// Short names of the loops around it, outermost first. For a block outside all loops that the warp executes
    /// several times, the loops that its lanes leave at different times.
    pub loops: Vec<String>,
    /// Warp instructions per execution.
    pub instructions: u64,
    /// Executions by the warp.
    pub count: u128,
    /// Product of `instructions` and `count`.
    pub total: u128,
}

/// Location in the code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CodePlace {
    /// Address.
    pub at: String,
    /// Source line.
    pub source: Option<String>,
    /// Calling context: addresses of the calls, outermost first.
    pub calls: Vec<String>,
}

/// Edge of the warp-level graph.
#[derive(Clone, Debug, Serialize)]
pub struct PathEdge {
    /// Address of the last instruction of the source block.
    pub from: String,
    /// Address of the first instruction of the destination block.
    pub to: String,
}
