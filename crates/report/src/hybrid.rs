//! Report of a hybrid analysis, which computes the time of a kernel from observed times of its parts. The result is
//! an estimate and no bound.
//!
//! For example, if the largest observed times on the edges P0 → P1 and P1 → P2 are 40 and 60 cycles, a path over both
//! counts 100, although no run may have had both (SOUNDNESS 13).

mod dot;

use serde::Serialize;

use crate::graph::Graph;
use crate::table::{Align, counted, section, wrapped};

/// Hybrid analysis of one kernel and launch, for several numbers of reserve slots.
#[derive(Clone, Debug, Serialize)]
pub struct HybridReport {
    /// Always `warpbound.hybrid/1`.
    pub schema: &'static str,
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Name of the machine.
    pub machine: String,
    /// Selection of the machine's numbers.
    pub selection: String,
    /// Workgroups of the estimated launch.
    pub groups: u64,
    /// Work-items of a workgroup.
    pub threads: u64,
    /// Groups that the machine holds at a time, in sum over its compute units.
    pub resident: u64,
    /// Number of batches of groups, with `resident` groups each.
    pub batches: u64,
    /// Number of batches by (5.1) of `wavefront-splitting-2022`.
    pub thesis_batches: u64,
    /// Whether splits merge.
    pub merge: bool,
    /// Instrumentation points.
    pub points: Vec<HybridPoint>,
    /// Estimates, one for each number of reserve slots.
    pub splits: Vec<SplitEstimate>,
    /// Bound in cycles for a wave that runs alone, if there is one.
    pub static_lone_wave: Option<u64>,
    /// Numbers about loops on which the estimates rest, as sentences.
    pub loops: Vec<String>,
    /// Assumptions of the estimates, as sentences.
    pub assumptions: Vec<String>,
    /// Runs that failed, and limits of the analysis, as sentences.
    pub notes: Vec<String>,
    /// Control-flow graph, for drawings.
    #[serde(skip)]
    pub graph: Graph,
}

/// Instrumentation point.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HybridPoint {
    /// Address of the instruction.
    pub at: String,
    /// Number of the block in the drawing.
    #[serde(skip)]
    pub block: usize,
    /// Reasons why this is a point: `start`, `join`, `branch`, `loop-back`, `end`.
    pub kinds: Vec<&'static str>,
    /// Calling context: addresses of the calls, outermost first.
    pub calls: Vec<String>,
    /// Source line.
    pub source: Option<String>,
}

/// Estimates for one number of reserve slots.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SplitEstimate {
    /// Number of reserve slots of a launch wave.
    pub splits: u32,
    /// Cycles of the worst run, from the first point of the first wave to the moment when the last compute unit
    /// becomes idle.
    pub observed: u64,
    /// Cycles of the same run, from the launch to the end of the kernel.
    pub observed_with_launch: u64,
    /// Cycles of the worst run with serialised pipelines.
    pub observed_serialised: Option<u64>,
    /// Estimate with parallel pipelines by (5.4), with the corrections.
    pub parallel: Option<u64>,
    /// Estimate with serialised pipelines by (5.5), with the corrections.
    pub serialised: Option<u64>,
    /// Result of (5.4) as published in `wavefront-splitting-2022`.
    pub thesis_parallel: Option<u64>,
    /// Result of (5.5) as published in `wavefront-splitting-2022`.
    pub thesis_serialised: Option<u64>,
    /// Estimate with parallel pipelines, if edges that no run has passed are never passed.
    pub parallel_of_seen: Option<u64>,
    /// Reason why there is no estimate.
    pub reason: Option<String>,
    /// Share of the edges that a run has passed, 0 to 1.
    pub coverage: f64,
    /// Runs with parallel pipelines.
    pub runs: u64,
    /// Splits in these runs.
    pub splits_taken: u64,
    /// Splits that were refused in these runs because no slot or no registers were free.
    pub splits_refused: u64,
    /// Merges in these runs.
    pub merges: u64,
    /// Launch waves, and the splits of each site, in the runs with parallel pipelines.
    pub configurations: Vec<HybridConfiguration>,
    /// Edges between points.
    pub edges: Vec<HybridEdge>,
}

/// Waves or splits with the same origin.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HybridConfiguration {
    /// `launch`, or the address of the branch at which the splits began.
    pub origin: String,
    /// Number of such waves or splits in the runs.
    pub count: u64,
    /// Largest time from the moment when there was room for the group to the first point.
    pub delay: u64,
    /// Longest path from the first point to the end of the group, or to a merge.
    pub longest: Option<u64>,
    /// Whether all of them ended in a merge.
    pub merges: bool,
}

/// Edge between two points.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HybridEdge {
    /// Number of the first point.
    pub from: usize,
    /// Number of the next one.
    pub to: usize,
    /// First address after the branch at `from`, if `from` is the end of a block.
    pub via: Option<String>,
    /// Largest observed time.
    pub time: Option<u64>,
    /// Number of passes in the runs.
    pub count: u64,
    /// Whether the estimate needs the time of this edge, although no run has passed it.
    pub missing: bool,
}

impl HybridReport {
    /// Value of the key `schema`.
    pub const SCHEMA: &'static str = "warpbound.hybrid/1";

    /// Returns the first number of reserve slots whose estimate a run exceeds. A number about a loop is then wrong.
    pub fn exceeded(&self) -> Option<u32> {
        // A run that supplied its times exceeds the estimate only if a flow fact is wrong (SOUNDNESS 13).
        let mut exceeded = self.splits.iter().filter(|estimate| {
            let is_above = |estimate: Option<u64>, run: Option<u64>| {
                estimate
                    .zip(run)
                    .is_some_and(|(estimate, run)| run > estimate)
            };
            is_above(estimate.parallel, Some(estimate.observed))
                || is_above(estimate.serialised, estimate.observed_serialised)
        });
        exceeded.next().map(|estimate| estimate.splits)
    }

    /// Returns the report as text.
    pub fn text(&self) -> String {
        let mut out = format!(
            "kernel {}  ({}, machine {}, {})\n",
            self.kernel, self.file, self.machine, self.selection
        );
        out.push_str(&wrapped(
            2,
            &format!(
                "estimates from observed times: no bounds; {} of {}, of which the machine holds {} at a time: {}; by (5.1) {}",
                number(self.groups, "group"),
                number(self.threads, "work-item"),
                self.resident,
                number(self.batches, "batch"),
                number(self.thesis_batches, "batch"),
            ),
        ));
        self.write_estimates(&mut out);
        if let Some(splits) = self.exceeded() {
            out.push('\n');
            out.push_str(&wrapped(
                2,
                &format!("a run with {splits} reserve slots exceeds its estimate: a number about a loop is wrong"),
            ));
        }
        if let Some(bound) = self.static_lone_wave {
            out.push_str(&format!(
                "\n  bound of a wave that runs alone: {bound} cycles\n"
            ));
        }
        self.write_points(&mut out);
        for estimate in &self.splits {
            self.write_configurations(&mut out, estimate);
        }
        let lists = [
            ("loop", &self.loops),
            ("assumption", &self.assumptions),
            ("note", &self.notes),
        ];
        for (name, sentences) in lists {
            for (nth, sentence) in sentences.iter().enumerate() {
                if nth == 0 {
                    out.push('\n');
                }
                out.push_str(&wrapped(2, &format!("{name}: {sentence}")));
            }
        }
        out
    }

    /// Appends a table of the estimates.
    fn write_estimates(&self, out: &mut String) {
        let right = Align::Right;
        let rows = self.splits.iter().map(|estimate| {
            vec![
                estimate.splits.to_string(),
                estimate.observed.to_string(),
                optional(estimate.parallel),
                ratio(estimate.parallel, Some(estimate.observed)),
                optional(estimate.thesis_parallel),
                optional(estimate.observed_serialised),
                optional(estimate.serialised),
                optional(estimate.thesis_serialised),
                format!("{:.0} %", estimate.coverage * 100.0),
            ]
        });
        let head = vec![
            "slots",
            "observed",
            "estimate",
            "ratio",
            "(5.4)",
            "serialised: observed",
            "estimate",
            "(5.5)",
            "edges seen",
        ];
        section(out, &[right; 9], head, rows);
        for estimate in &self.splits {
            if let Some(reason) = &estimate.reason {
                let name = slots(estimate);
                let text = match estimate.parallel_of_seen {
                    Some(seen) => format!(
                        "{name}: no estimate: {reason}; {seen} if no other edges are passed than in the runs"
                    ),
                    None => format!("{name}: no estimate: {reason}"),
                };
                out.push_str(&wrapped(4, &text));
            }
        }
    }

    /// Appends the points, and for each number of slots the largest times of the edges.
    fn write_points(&self, out: &mut String) {
        let rows = self.points.iter().enumerate().map(|(number, point)| {
            vec![
                format!("P{number}"),
                point.at.clone(),
                point.kinds.join(", "),
                point.source.clone().unwrap_or_default(),
            ]
        });
        let left = Align::Left;
        section(
            out,
            &[Align::Right, left, left, left],
            vec!["point", "at", "kind", "source"],
            rows,
        );
        let Some(first) = self.splits.first() else {
            return;
        };
        // The edges are the same for each number of slots, in the same order; only their times differ.
        let rows = first.edges.iter().enumerate().map(|(number, edge)| {
            let mut row = vec![edge_name(edge)];
            row.extend(self.splits.iter().map(|estimate| {
                let edge = estimate.edges.get(number);
                match edge {
                    // An edge without a time is missing only if the estimate needs it.
                    Some(edge) if edge.missing => "missing".to_owned(),
                    Some(edge) => edge.time.map_or("-".to_owned(), |time| time.to_string()),
                    None => String::new(),
                }
            }));
            row
        });
        let names: Vec<String> = self.splits.iter().map(slots).collect();
        let mut head = vec!["edge: cycles"];
        head.extend(names.iter().map(String::as_str));
        let mut columns = vec![left];
        columns.extend(self.splits.iter().map(|_| Align::Right));
        section(out, &columns, head, rows);
    }

    /// Appends the configurations of an estimate with splits.
    fn write_configurations(&self, out: &mut String, estimate: &SplitEstimate) {
        let rows = estimate.configurations.iter().map(|configuration| {
            vec![
                configuration.origin.clone(),
                configuration.count.to_string(),
                configuration.delay.to_string(),
                optional(configuration.longest),
                if configuration.merges { "merges" } else { "" }.to_owned(),
            ]
        });
        let name = format!("{}: from", slots(estimate));
        let right = Align::Right;
        section(
            out,
            &[Align::Left, right, right, right, Align::Left],
            vec![&name, "count", "delay", "longest path", ""],
            rows,
        );
        if estimate.splits_taken > 0 || estimate.splits_refused > 0 {
            out.push_str(&format!(
                "    {}, {} refused, {}\n",
                number(estimate.splits_taken, "split"),
                estimate.splits_refused,
                number(estimate.merges, "merge"),
            ));
        }
    }
}

/// Returns the name of an edge in tables.
fn edge_name(edge: &HybridEdge) -> String {
    let via = edge
        .via
        .as_ref()
        .map_or(String::new(), |via| format!("  by {via}"));
    format!("P{} → P{}{via}", edge.from, edge.to)
}

/// Returns a count with its noun.
fn number(count: u64, one: &str) -> String {
    // The number is only displayed, so saturation does no harm.
    counted(usize::try_from(count).unwrap_or(usize::MAX), one)
}

/// Returns the number of reserve slots as text.
fn slots(estimate: &SplitEstimate) -> String {
    number(estimate.splits.into(), "slot")
}

fn optional(number: Option<u64>) -> String {
    number.map_or("-".to_owned(), |number| number.to_string())
}

fn ratio(estimate: Option<u64>, run: Option<u64>) -> String {
    match estimate.zip(run) {
        Some((estimate, run)) if run > 0 => format!("{:.3}", estimate as f64 / run as f64),
        _ => String::new(),
    }
}
