//! Report of a hybrid analysis of warps on NVIDIA's GPUs, which computes the time of a warp from observed times
//! between the entries of its blocks. The result is an estimate and no bound.

use serde::Serialize;

use crate::table::{Align, counted, section, wrapped};

/// Hybrid analysis of the warps of one kernel. All times are in cycles.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WarpHybridReport {
    /// Always `warpbound.warp-hybrid/1`.
    pub schema: &'static str,
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Name of the machine.
    pub machine: String,
    /// Estimated unit: `warp`, from the start of its block to its end, or `thread`, from its first stamp to its exit.
    pub unit: &'static str,
    /// Effect of the stamps, if the times come from stamps in the code.
    pub stamps: Option<StampEffect>,
    /// Number of runs with time; 0 if the times come from stamps.
    pub runs: u64,
    /// Number of warps in these runs.
    pub warps: u64,
    /// Longest observed time of a unit.
    pub observed: u64,
    /// Warp with this time.
    pub worst: Option<String>,
    /// Estimate of the longest time of a warp that takes only steps which some run has taken.
    pub estimate: Option<u64>,
    /// Estimate if warps take other steps too, each at the slowest observed rate of instructions.
    pub with_unseen: Option<u64>,
    /// Reason why there is no estimate.
    pub reason: Option<String>,
    /// Number of steps between blocks in the graph.
    pub steps: usize,
    /// Observed steps, in order of address.
    pub segments: Vec<ObservedSegment>,
    /// Steps that no run took. Steps with the most passes come first, then steps that raise the estimate most.
    pub missing: Vec<MissingSegment>,
}

/// Effect of time stamps in the code on the times that they keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct StampEffect {
    /// Minimum number of cycles of a stamp by its control words. Each step contains one stamp.
    pub cycles: u32,
    /// Estimate if each observed step took that much less.
    pub estimate_without: Option<u64>,
}

/// Observed step from the entry of a block to the entry of the next one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ObservedSegment {
    /// Addresses of both entries, or `start` and `end`.
    pub segment: String,
    /// Source line of the first entry.
    pub source: Option<String>,
    /// Number of passes in all runs, if they were counted.
    pub passes: Option<u64>,
    /// Largest time.
    pub most: u64,
}

/// Step that no run took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MissingSegment {
    /// Addresses of both entries.
    pub segment: String,
    /// Source line of the first entry.
    pub source: Option<String>,
    /// Time at the slowest observed rate of instructions.
    pub assumed: u64,
    /// Maximum number of passes on any path, which is how much the estimate may grow for each cycle of this step.
    /// Absent if it has no limit or was not computed.
    pub most_passes: Option<u64>,
    /// Increase of the estimate if warps take this step too, but no other new one; absent if it was not computed.
    pub raises: Option<u64>,
}

impl WarpHybridReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.warp-hybrid/1";

    /// Whether a run exceeds the estimate. A number about a loop is then wrong.
    pub fn is_exceeded(&self) -> bool {
        self.estimate
            .is_some_and(|estimate| self.observed > estimate)
    }

    /// Returns the report as text.
    pub fn text(&self) -> String {
        let origin = match self.stamps {
            Some(_) => self.file.clone(),
            None => format!("{}, machine {}", self.file, self.machine),
        };
        let mut out = format!(
            "kernel {}  ({origin})\n  estimate from observed times: no bound\n",
            self.kernel
        );
        match self.stamps {
            // Stamps keep the largest time only, so the thread that took it is not known.
            Some(_) => out.push_str(&format!(
                "  observed {} cycles (a thread, from its first stamp to its exit)\n",
                self.observed
            )),
            None => {
                let worst = self.worst.as_deref().unwrap_or("-");
                out.push_str(&format!(
                    "  observed {} cycles ({worst}; {}, {})\n",
                    self.observed,
                    counted(self.warps as usize, "warp"),
                    counted(self.runs as usize, "run"),
                ));
            }
        }
        match (self.estimate, &self.reason) {
            (Some(estimate), _) => {
                // Without an observed time the ratio must not divide by 0.
                let ratio = estimate as f64 / self.observed.max(1) as f64;
                out.push_str(&format!("  estimate {estimate} cycles, ratio {ratio:.3}\n"));
            }
            (None, reason) => {
                let reason = reason.as_deref().unwrap_or("unknown");
                out.push_str(&wrapped(2, &format!("no estimate: {reason}")));
            }
        }
        self.write_effect(&mut out);
        let seen = self.segments.len();
        out.push_str(&format!("  steps seen: {seen} of {}\n", self.steps));
        if let (Some(with), false) = (self.with_unseen, self.missing.is_empty()) {
            out.push_str(&wrapped(
                2,
                &format!("with the other steps, at the slowest observed rate: {with} cycles"),
            ));
        }
        self.write_steps(&mut out);
        out
    }

    /// Appends a note on a wrong number about a loop, and the effect of stamps.
    fn write_effect(&self, out: &mut String) {
        if self.is_exceeded() {
            out.push_str("  a run exceeds the estimate: a number about a loop is wrong\n");
        }
        if let Some(StampEffect {
            cycles,
            estimate_without,
        }) = self.stamps
        {
            let without = estimate_without.map_or("?".to_owned(), |cycles| cycles.to_string());
            let text = format!(
                "each step contains a stamp of at least {cycles} cycles; without them the estimate is {without} cycles"
            );
            out.push_str(&wrapped(2, &text));
        }
    }

    /// Appends the steps that no run took, then the steps that runs took.
    fn write_steps(&self, out: &mut String) {
        let (left, right) = (Align::Left, Align::Right);
        let rows = self.missing.iter().map(|missing| {
            vec![
                missing.segment.clone(),
                missing.source.clone().unwrap_or_default(),
                missing
                    .most_passes
                    .map_or("?".to_owned(), |passes| passes.to_string()),
                missing.assumed.to_string(),
                missing
                    .raises
                    .map_or("?".to_owned(), |raises| raises.to_string()),
            ]
        });
        let head = vec![
            "step that no run took",
            "line",
            "most passes",
            "assumed",
            "raises by",
        ];
        section(out, &[left, left, right, right, right], head, rows);
        let rows = self.segments.iter().map(|segment| {
            vec![
                segment.segment.clone(),
                segment.source.clone().unwrap_or_default(),
                segment
                    .passes
                    .map_or("-".to_owned(), |passes| passes.to_string()),
                segment.most.to_string(),
            ]
        });
        let head = vec!["step", "line", "passes", "most cycles"];
        section(out, &[left, left, right, right], head, rows);
    }
}
