//! Report of `gate`: kernels compared with a budget.
//!
//! For example, a kernel whose row allows 1000 instructions and whose bound is 1040 is over its budget; without a
//! bound, the figure is not proved. Both outcomes differ, because only the first one shows a regression.

mod junit;
mod sarif;

use serde::Serialize;

use crate::build_diff::NamedKernel;
use crate::left_out::LeftOutImages;
use crate::table::counted;

/// Result of comparing builds with a budget.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GateReport {
    /// Always `warpbound.gate/1`.
    pub schema: &'static str,
    /// Budget file.
    pub budget: String,
    /// Numbers of kernels and figures.
    pub summary: GateSummary,
    /// Kernels with a row, in the order of the files.
    pub kernels: Vec<GatedKernel>,
    /// Rows that match no kernel.
    pub stale: Vec<StaleRow>,
    /// Kernels without a row.
    pub uncovered: Vec<NamedKernel>,
    /// Whether a kernel without a row is an error.
    pub deny_uncovered: bool,
    /// Images and kernels that cannot be read.
    pub unreadable: Vec<String>,
    /// Images for architectures that are not supported: their kernels are not checked.
    pub left_out: Vec<LeftOutImages>,
}

/// Numbers of kernels and figures in a check.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct GateSummary {
    /// Kernels of the files.
    pub kernels: usize,
    /// Kernels with a row.
    pub covered: usize,
    /// Figures that were compared.
    pub figures: usize,
    /// Figures over their budget.
    pub over: usize,
    /// Figures that could not be proved.
    pub unproved: usize,
    /// Rows that match no kernel and are not optional.
    pub stale: usize,
}

impl GateSummary {
    /// Counts the figures of a kernel with a row.
    pub fn count(&mut self, checks: &[GateCheck]) {
        let of = |wanted: GateOutcome| {
            let checks = checks.iter();
            checks.filter(|check| check.outcome == wanted).count()
        };
        self.covered += 1;
        self.figures += checks.len();
        self.over += of(GateOutcome::Over);
        self.unproved += of(GateOutcome::Unproved);
    }
}

/// Kernel with a row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GatedKernel {
    /// The kernel.
    #[serde(flatten)]
    pub kernel: NamedKernel,
    /// Figures that a row limits.
    pub checks: Vec<GateCheck>,
}

/// Outcome of a comparison with a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateOutcome {
    /// Within the budget.
    Passed,
    /// Over the budget.
    Over,
    /// Without a figure to compare.
    Unproved,
}

/// Figure and its limit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GateCheck {
    /// Key of the budget: `bound`, `registers`, `assumptions`.
    pub figure: &'static str,
    /// Unit; empty for assumptions.
    pub unit: &'static str,
    /// Number in the budget; `None` for assumptions.
    pub limit: Option<u64>,
    /// Allowed number, which includes the tolerance.
    pub allowed: Option<u128>,
    /// Whether the limit is a minimum.
    pub is_least: bool,
    /// Figure of the kernel; `None` for assumptions, and if there is none.
    pub actual: Option<u128>,
    /// Outcome.
    pub outcome: GateOutcome,
    /// Reason why there is no figure, or the assumptions that are not allowed.
    pub reason: Option<String>,
    /// Line of the budget.
    pub budget_line: usize,
    /// Place in the code that explains a figure that did not pass.
    pub place: Option<GatePlace>,
    /// Next step for a figure that did not pass.
    pub action: Option<String>,
}

/// Place in the code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GatePlace {
    /// Address.
    pub at: String,
    /// `file:line`.
    pub source: Option<String>,
    /// Path, as the compiler recorded it.
    pub path: Option<String>,
    /// Line in the file.
    pub line: Option<u32>,
    /// Sentence about it.
    pub note: String,
}

/// Row that matches no kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StaleRow {
    /// Name or pattern.
    pub name: String,
    /// Line of the budget.
    pub line: usize,
}

impl GateCheck {
    /// Returns the comparison as a sentence.
    pub fn message(&self) -> String {
        let (figure, unit) = (self.figure, self.unit);
        let reason = self.reason.as_deref().unwrap_or("not known");
        let relation = if self.is_least {
            "less than"
        } else {
            "more than"
        };
        match (self.outcome, self.actual, self.limit, self.allowed) {
            (GateOutcome::Over, Some(actual), Some(limit), allowed) => {
                // The tolerance is named only if it changes the limit.
                let tolerance = match allowed {
                    Some(allowed) if allowed != u128::from(limit) => {
                        format!(" ({allowed} with the tolerance)")
                    }
                    _ => String::new(),
                };
                format!("{figure} is {actual} {unit}, {relation} {limit}{tolerance}")
            }
            (GateOutcome::Over, ..) => format!("{figure}: {reason}"),
            (GateOutcome::Unproved, _, Some(limit), _) => {
                let limits = if self.is_least { "at least" } else { "at most" };
                format!("{figure} of {limits} {limit} {unit} is not proved: {reason}")
            }
            (GateOutcome::Unproved, ..) => format!("{figure} are not known: {reason}"),
            (GateOutcome::Passed, Some(actual), Some(limit), _) => {
                format!("{figure} is {actual} {unit}, budget {limit}")
            }
            (GateOutcome::Passed, ..) => format!("{figure} are allowed"),
        }
    }
}

impl GatePlace {
    /// Returns the place and the sentence about it.
    pub fn text(&self) -> String {
        // A source line is easier to find than an address.
        let place = self.source.as_ref().unwrap_or(&self.at);
        format!("{place}: {}", self.note)
    }
}

impl GateReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.gate/1";

    /// Iterates over the figures that did not pass, with their kernels.
    pub(crate) fn failed(&self) -> impl Iterator<Item = (&GatedKernel, &GateCheck)> {
        let checks = |kernel| Some(kernel).into_iter().flat_map(of_kernel);
        self.kernels.iter().flat_map(checks)
    }

    /// Whether a figure is over its budget, a row matches no kernel, or a kernel that must have a row has none.
    /// Kernels of images that were left out have none either.
    pub fn is_over(&self) -> bool {
        // Kernels in images that were not read may lack a row, so they count as uncovered.
        let has_uncovered = !(self.uncovered.is_empty() && self.left_out.is_empty());
        let is_uncovered = self.deny_uncovered && has_uncovered;
        self.summary.over > 0 || self.summary.stale > 0 || is_uncovered
    }

    /// Returns the report as text: the figures that did not pass, then the numbers.
    pub fn text(&self) -> String {
        self.marked_text(str::to_owned)
    }

    /// Returns the report as text. `mark` marks the sentences about what did not pass, for example with a colour.
    pub fn marked_text(&self, mark: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        for (kernel, check) in self.failed() {
            let (budget, line) = (&self.budget, check.budget_line);
            let (name, isa) = (&kernel.kernel.name, &kernel.kernel.isa);
            out.push_str(&format!(
                "{budget}:{line}: {name} {isa}: {}\n",
                mark(&check.message())
            ));
            if let Some(place) = &check.place {
                out.push_str(&format!("  {}\n", place.text()));
            }
            if let Some(action) = &check.action {
                out.push_str(&format!("  {action}\n"));
            }
        }
        for row in &self.stale {
            let (budget, line) = (&self.budget, row.line);
            let name = &row.name;
            out.push_str(&format!(
                "{budget}:{line}: {}\n  correct or remove the row, or add optional = true\n",
                mark(&format!("no kernel matches {name:?}"))
            ));
        }
        // A kernel without a row is an error only on request.
        if self.deny_uncovered {
            for kernel in &self.uncovered {
                let (name, isa, file) = (&kernel.name, &kernel.isa, &kernel.file);
                out.push_str(&format!(
                    "{file}: {name} {isa}: {}\n  add one: warpbound gate --update\n",
                    mark("no row")
                ));
            }
        }
        for images in &self.left_out {
            let arch = "  to check without them: arch in [conditions]";
            out.push_str(&format!("{}\n{arch}\n", mark(&images.sentence())));
        }
        let summary = &self.summary;
        out.push_str(&format!(
            "{}, {} with a row; {}: {} over budget, {} not proved; {} without a kernel\n",
            counted(summary.kernels, "kernel"),
            summary.covered,
            counted(summary.figures, "figure"),
            summary.over,
            summary.unproved,
            counted(summary.stale, "row")
        ));
        out
    }
}

/// Returns the figures of a kernel that did not pass.
fn of_kernel(kernel: &GatedKernel) -> impl Iterator<Item = (&GatedKernel, &GateCheck)> {
    let failed = kernel.checks.iter();
    let failed = failed.filter(|check| check.outcome != GateOutcome::Passed);
    failed.map(move |check| (kernel, check))
}

#[cfg(test)]
mod tests {
    use super::{GateCheck, GateOutcome};

    /// A figure without a proof names its limit as the budget means it: occupancy is limited from below.
    #[test]
    fn minima_are_named_as_minima() {
        let check = |figure, is_least| GateCheck {
            figure,
            unit: "warps",
            limit: Some(32),
            allowed: Some(32),
            is_least,
            actual: None,
            outcome: GateOutcome::Unproved,
            reason: Some("the machine is not known".to_owned()),
            budget_line: 1,
            place: None,
            action: None,
        };
        let message = check("occupancy", true).message();
        let text = "occupancy of at least 32 warps is not proved: the machine is not known";
        assert_eq!(message, text);
        let message = check("cycles", false).message();
        assert!(
            message.starts_with("cycles of at most 32 warps"),
            "{message}"
        );
    }
}
