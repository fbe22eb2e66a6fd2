//! Report of `diff`: two builds, kernel by kernel.

mod html;
mod html_parts;
mod markdown;
mod text;

use serde::Serialize;

use crate::bound::Origin;
use crate::conditions::BoundAssumption;
use crate::left_out::{LeftOutImages, messages};

/// Comparison of two builds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BuildDiffReport {
    /// Always `warpbound.diff/1`.
    pub schema: &'static str,
    /// Name of the old file or folder.
    pub old: String,
    /// Name of the new file or folder.
    pub new: String,
    /// Numbers of kernels.
    pub summary: DiffSummary,
    /// Kernels of both builds with differences, in the order of the new build.
    pub kernels: Vec<KernelDiff>,
    /// Kernels with other code but the same figures, in the order of the new build.
    pub same_figures: Vec<NamedKernel>,
    /// Kernels with another name in the new build, in its order.
    pub renamed: Vec<RenamedKernel>,
    /// Kernels of the old build only.
    pub removed: Vec<NamedKernel>,
    /// Kernels of the new build only.
    pub added: Vec<NamedKernel>,
    /// Images and kernels that could not be read or compared.
    pub unreadable: Vec<String>,
    /// Images of both builds for architectures that are not supported.
    pub left_out: Vec<LeftOutImages>,
}

impl BuildDiffReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.diff/1";

    /// Returns a line for each image and kernel that is not compared.
    pub(crate) fn not_compared(&self) -> Vec<String> {
        let mut lines = messages(&self.left_out);
        lines.extend(self.unreadable.iter().cloned());
        lines
    }
}

/// Numbers of kernels in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct DiffSummary {
    /// Kernels of the old build.
    pub old_kernels: usize,
    /// Kernels of the new build.
    pub new_kernels: usize,
    /// Kernels of the old build only.
    pub removed: usize,
    /// Kernels of the new build only.
    pub added: usize,
    /// Pairs with equal code and equal resources, which need no analysis.
    pub identical: usize,
    /// Pairs with other code but the same figures.
    pub same_figures: usize,
    /// Pairs with differences.
    pub different: usize,
    /// Pairs matched by name.
    pub paired_by_name: usize,
    /// Pairs matched by name without digests.
    pub paired_without_hashes: usize,
    /// Pairs matched by code.
    pub paired_by_code: usize,
    /// Pairs matched by name without template arguments and parameters.
    pub paired_by_bare_name: usize,
    /// Pairs matched by shape.
    pub paired_by_shape: usize,
}

impl DiffSummary {
    /// Counts a pair.
    pub fn count(&mut self, pairing: Pairing) {
        *match pairing {
            Pairing::Name => &mut self.paired_by_name,
            Pairing::NameWithoutHashes => &mut self.paired_without_hashes,
            Pairing::Code => &mut self.paired_by_code,
            Pairing::BareName => &mut self.paired_by_bare_name,
            Pairing::Shape => &mut self.paired_by_shape,
        } += 1;
    }
}

/// Reason why two kernels are compared with each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// The same symbol.
    Name,
    /// The same demangled name, apart from digests in it.
    NameWithoutHashes,
    /// The same code.
    Code,
    /// Only kernels with this name, once template arguments and parameters are left out.
    BareName,
    /// Only kernels with these parameters and this sequence of opcodes.
    Shape,
}

impl Pairing {
    /// Returns the reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Pairing::Name => "by name",
            Pairing::NameWithoutHashes => "by name without digests",
            Pairing::Code => "by code",
            Pairing::BareName => "by name without template arguments",
            Pairing::Shape => "by shape",
        }
    }
}

/// Name of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NamedKernel {
    /// Demangled name.
    pub name: String,
    /// Name in the symbol table.
    pub symbol: String,
    /// Architecture, as [`Isa`](warpbound_base::Isa) prints it.
    pub isa: String,
    /// File and image.
    pub file: String,
}

/// Kernel that has another name in the new build.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RenamedKernel {
    /// The kernel in the old build.
    pub old: NamedKernel,
    /// The kernel in the new build.
    pub new: NamedKernel,
    /// Reason for the pair.
    pub paired_by: Pairing,
}

/// Differences of a kernel.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelDiff {
    /// The kernel in the new build.
    #[serde(flatten)]
    pub kernel: NamedKernel,
    /// Name in the old build, if it differs.
    pub old_name: Option<String>,
    /// Reason for the pair.
    pub paired_by: Pairing,
    /// Figures that differ.
    pub figures: Vec<FigureChange>,
    /// Classes of instructions whose number differs.
    pub mix: Vec<MixChange>,
    /// Loops that differ, are gone or are new.
    pub loops: Vec<LoopChange>,
    /// Source lines whose share of the worst path differs, largest difference first.
    pub lines: Vec<LineChange>,
    /// Source lines whose share of the cycles differs, largest difference first.
    pub cycle_lines: Vec<LineChange>,
    /// Classes of memory accesses that are gone.
    pub lost_accesses: Vec<ClassCountAt>,
    /// Classes of memory accesses that are new.
    pub gained_accesses: Vec<ClassCountAt>,
    /// Divergent operations that are gone.
    pub lost_divergence: Vec<ClassCountAt>,
    /// Divergent operations that are new.
    pub gained_divergence: Vec<ClassCountAt>,
    /// Assumptions of the old bound only.
    pub lost_assumptions: Vec<BoundAssumption>,
    /// Assumptions of the new bound only.
    pub gained_assumptions: Vec<BoundAssumption>,
}

impl KernelDiff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty()
            && self.mix.is_empty()
            && self.loops.is_empty()
            && self.lines.is_empty()
            && self.cycle_lines.is_empty()
            && self.lost_accesses.is_empty()
            && self.gained_accesses.is_empty()
            && self.lost_divergence.is_empty()
            && self.gained_divergence.is_empty()
            && self.lost_assumptions.is_empty()
            && self.gained_assumptions.is_empty()
    }
}

/// Figure with two values.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FigureChange {
    /// `bound`, `cycles`, `registers`, `scalar registers`, `shared`, `local`, `local accesses`, `occupancy`,
    /// `barriers`, `parameters`, `code`.
    pub figure: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Value in the old build; `None` if it is not known.
    pub old: Option<u128>,
    /// Value in the new build; `None` if it is not known.
    pub new: Option<u128>,
    /// Difference of the new and the old value, if both are known.
    pub change: Option<i128>,
    /// Reason why there is no old value, or the limiting resource.
    pub old_note: Option<String>,
    /// Reason why there is no new value, or the limiting resource.
    pub new_note: Option<String>,
    /// Place of the new build that explains the new value.
    pub place: Option<DiffPlace>,
}

impl FigureChange {
    /// Returns the difference as text: `+8 (+25.0 %)`; empty if a value is not known.
    pub fn difference(&self) -> String {
        let (Some(old), Some(new)) = (self.old, self.new) else {
            return String::new();
        };
        difference(old, new)
    }
}

/// Returns the difference of the new and the old number; `None` if it does not fit the type.
pub fn change(old: impl Into<u128>, new: impl Into<u128>) -> Option<i128> {
    let [old, new] = [old.into(), new.into()].map(i128::try_from);
    // Without a number the report still has both values.
    new.ok()?.checked_sub(old.ok()?)
}

/// Returns the difference of two numbers as text. For example, 32 and 40 give `+8 (+25.0 %)`.
pub(crate) fn difference(old: u128, new: u128) -> String {
    let (sign, by) = match new >= old {
        true => ('+', new - old),
        false => ('-', old - new),
    };
    match old {
        // Growth from 0 has no percentage.
        0 => format!("{sign}{by}"),
        old => {
            let percent = by as f64 / old as f64 * 100.0;
            format!("{sign}{by} ({sign}{percent:.1} %)")
        }
    }
}

/// Place in the code of the new build.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DiffPlace {
    /// Address.
    pub at: String,
    /// `file:line`.
    pub source: Option<String>,
    /// Sentence about it.
    pub note: String,
}

/// Class of instructions with two numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MixChange {
    /// Class.
    pub class: String,
    /// Instructions in the old build.
    pub old: u64,
    /// Instructions in the new build.
    pub new: u64,
    /// Difference of the new and the old number.
    pub change: Option<i128>,
}

/// Loop of one of the builds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoopSide {
    /// Short name.
    pub id: String,
    /// Address of the header.
    pub at: String,
    /// Source line of the header.
    pub source: Option<String>,
    /// Maximum number of header executions per entry, by one thread.
    pub bound: Option<u64>,
    /// Maximum number of header executions by a thread, if there is one.
    pub total: Option<u64>,
    /// Origin of the bound.
    pub origin: Origin,
    /// Warp instructions that the worst path issues in the loop, without inner loops.
    pub instructions: u128,
}

/// Loop that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoopChange {
    /// The loop in the old build; `None` if it is new.
    pub old: Option<LoopSide>,
    /// The loop in the new build; `None` if it is gone.
    pub new: Option<LoopSide>,
    /// Reason for the pair: `fingerprint`, `body`, `source line`, `order`.
    pub paired_by: Option<&'static str>,
    /// Difference of the new and the old loop in instructions.
    pub change: Option<i128>,
}

/// Source line that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LineChange {
    /// Line in the old build; `None` if it is new.
    pub old_line: Option<String>,
    /// Line in the new build; `None` if it is gone.
    pub new_line: Option<String>,
    /// Instructions or cycles of the old bound.
    pub old: u128,
    /// Instructions or cycles of the new bound.
    pub new: u128,
    /// Difference of the new and the old number.
    pub change: Option<i128>,
}

/// Class with the number of its members.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ClassCountAt {
    /// Class in words: `global load, coalesced`.
    pub class: String,
    /// Members that are gone or new.
    pub count: usize,
    /// Source lines or addresses of all members of this class, in the build with more members.
    pub places: Vec<String>,
}
