//! Report of predicted counts: how often each block of a kernel is executed in a launch, or why that is unknown.
//!
//! For example, a block with 8 issues and 200 lanes is executed 8 times by warps, with 25 active lanes on average. A
//! stated count holds in every run of the launch (SOUNDNESS 15).

use serde::Serialize;

use crate::conditions::{BoundAssumption, write_assumptions};
use crate::table::{Align, counted, section};

/// Predicted counts of a kernel in one launch.
#[derive(Clone, Debug, Serialize)]
pub struct PredictReport {
    /// Always `warpbound.predict/1`.
    pub schema: &'static str,
    /// Name of the file.
    pub file: String,
    /// Demangled name.
    pub kernel: String,
    /// Blocks of the grid in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Contents of buffers for which the counts hold: `any` or `as-given`.
    pub contents: &'static str,
    /// Buffers on whose contents the counts rest.
    pub buffers: Vec<String>,
    /// Properties of the hardware that the counts rest on: of groups of lanes and convergence barriers, for GPUs that have
    /// them (SOUNDNESS 15.9).
    pub assumptions: Vec<BoundAssumption>,
    /// Whether groups of lanes of a warp may come together at other places than the ends of regions. The executions of
    /// blocks that lanes execute apart are then unknown, although their lanes are known.
    pub groups_join_elsewhere: bool,
    /// Warps of the launch.
    pub warps: u64,
    /// Warps that were executed. Each other warp is equal to one of them.
    pub executed: u64,
    /// Warp that could not be followed. No count is then known.
    pub lost: Option<LostReport>,
    /// Blocks in order of address.
    pub blocks: Vec<PredictedBlockReport>,
    /// Operations whose unknown values make counts unknown.
    pub reasons: Vec<ReasonReport>,
    /// Ranges of the sums, if they were requested and a count is unknown.
    pub ranges: Option<TotalRanges>,
    /// Reason why there are no ranges although they were requested.
    pub no_ranges: Option<String>,
    /// Warp instructions of the launch; `None` if a count is unknown.
    pub issued: Option<u64>,
    /// Instructions of active lanes; `None` if a count is unknown.
    pub lanes: Option<u64>,
    /// Active lanes divided by all lanes of the issued instructions (`efficient-instrumentation-2014`); `None` if a
    /// count is unknown.
    pub activity_factor: Option<f64>,
    /// Share of the instructions that access global memory (`efficient-instrumentation-2014`); `None` if a count is
    /// unknown.
    pub memory_intensity: Option<f64>,
}

/// Warp that a prediction could not follow.
#[derive(Clone, Debug, Serialize)]
pub struct LostReport {
    /// Index of its block.
    pub block: [u32; 3],
    /// Number of the warp in its block.
    pub warp: u32,
    /// Address at which it was lost.
    pub at: String,
    /// Reason.
    pub reason: &'static str,
}

/// Predicted count of one block.
#[derive(Clone, Debug, Serialize)]
pub struct PredictedBlockReport {
    /// Address of the first instruction.
    pub at: String,
    /// Address of the last instruction.
    pub last: String,
    /// Source line of the first instruction.
    pub source: Option<String>,
    /// Function that contains it, if not the kernel itself.
    pub function: Option<String>,
    /// Number of instructions.
    pub instructions: u64,
    /// Number of instructions that access global memory.
    pub memory_instructions: u64,
    /// Executions by a warp, if known.
    pub issues: Option<u64>,
    /// Active lanes, summed over these executions, if known.
    pub lanes: Option<u64>,
    /// Range of the executions, if requested and they are unknown.
    pub issues_range: Option<CountRange>,
    /// Range of the active lanes, if requested and they are unknown.
    pub lanes_range: Option<CountRange>,
    /// Addresses of the operations that make the count unknown. See [`PredictReport::reasons`].
    pub unknown_at: Vec<String>,
    /// Verdict of the rule of `efficient-instrumentation-2014`, if requested.
    pub paper: Option<PaperCountReport>,
}

/// Limits of an unknown count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CountRange {
    /// Lower limit.
    pub least: u64,
    /// Upper limit; `None` if no limit is known.
    pub most: Option<u64>,
}

impl CountRange {
    fn text(self) -> String {
        match self.most {
            // Both limits are proven, so equal ones give the exact count.
            Some(most) if most == self.least => most.to_string(),
            Some(most) => format!("{}..{most}", self.least),
            None => format!("{}..", self.least),
        }
    }

    /// Returns the range of a quotient of a part and a whole times `scale`; `None` if the whole may be 0. For
    /// example, a part of 2 to 4 in a whole of 5 to 10 gives 0.2 to 0.8.
    fn share(self, whole: CountRange, scale: f64) -> Option<[f64; 2]> {
        // Each side is at its worst: the largest part of the smallest whole, and the reverse. Part and whole may not
        // reach them in the same run, so the range is wider than need be (SOUNDNESS 15.6).
        let most = match (self.most, whole.least) {
            (_, 0) => return None,
            // A part is at most its whole, whatever the limits allow.
            (Some(most), least) => (most as f64 / (scale * least as f64)).min(1.0),
            (None, _) => 1.0,
        };
        let least = whole
            .most
            .map_or(0.0, |whole| self.least as f64 / (scale * whole as f64));
        Some([least, most])
    }
}

/// Limits of the sums over all blocks.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct TotalRanges {
    /// Warp instructions.
    pub issued: CountRange,
    /// Instructions of active lanes.
    pub lanes: CountRange,
    /// Minimum and maximum activity factor; `None` if no limits are known.
    pub activity_factor: Option<[f64; 2]>,
    /// Minimum and maximum memory intensity; `None` if no limits are known.
    pub memory_intensity: Option<[f64; 2]>,
}

impl TotalRanges {
    /// Computes the ranges of the metrics from the ranges of warp instructions, of their lanes and of accesses to
    /// global memory, for warps of this width.
    pub fn new(
        issued: CountRange,
        lanes: CountRange,
        accesses: CountRange,
        warp_width: u32,
    ) -> TotalRanges {
        TotalRanges {
            issued,
            lanes,
            activity_factor: lanes.share(issued, f64::from(warp_width)),
            memory_intensity: accesses.share(issued, 1.0),
        }
    }
}

/// Verdict of the rule of `efficient-instrumentation-2014` on a block.
#[derive(Clone, Debug, Serialize)]
pub struct PaperCountReport {
    /// `measured` (at an edge after a branch on the thread index), `undecided` (loaded data decides, with which the
    /// rule does not deal), or `stated`.
    pub rule: &'static str,
    /// Executions by a warp that the rule states.
    pub issues: Option<u64>,
    /// Active lanes that the rule states.
    pub lanes: Option<u64>,
    /// Whether a statement is wrong, because the predicted count differs from it.
    pub wrong: bool,
}

/// Operation whose unknown values make counts unknown.
#[derive(Clone, Debug, Serialize)]
pub struct ReasonReport {
    /// Address.
    pub at: String,
    /// Disassembly.
    pub instruction: String,
    /// Source line.
    pub source: Option<String>,
    /// Origins of the condition or target: `param`, `block`, `thread`, `data`, `other`.
    pub origins: Vec<&'static str>,
    /// Addresses of the loads from which the condition or target follows.
    pub loads: Vec<String>,
    /// Whether it follows from further loads.
    pub more_loads: bool,
    /// Addresses of the operations from this one back to the unknown value.
    pub chain: Vec<String>,
}

impl PredictReport {
    /// Name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.predict/1";

    /// Whether all counts are known.
    pub fn is_whole(&self) -> bool {
        self.issued.is_some()
    }

    /// Returns the report as text: a table of the blocks, the reasons for unknown counts, and totals.
    pub fn text(&self) -> String {
        let size = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
        let mut out = format!(
            "{}: {} blocks of {} threads, {} warps, {} executed\n",
            self.kernel,
            size(self.grid),
            size(self.block),
            self.warps,
            self.executed
        );
        if !self.buffers.is_empty() {
            let buffers = self.buffers.join(", ");
            out.push_str(&format!("with the contents of {buffers} as given\n"));
        }
        if let Some(lost) = &self.lost {
            let [x, y, z] = lost.block;
            out.push_str(&format!(
                "no counts: warp {} of block {x},{y},{z} cannot be followed at {}: {}\n",
                lost.warp, lost.at, lost.reason
            ));
        }
        let columns = [
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
        ];
        let head = vec!["block", "source", "instr", "issues", "lanes", "average", ""];
        section(&mut out, &columns, head, self.blocks.iter().map(row));
        if !self.reasons.is_empty() {
            out.push_str("\nunknown because of\n");
            for reason in &self.reasons {
                out.push_str(&reason.text());
            }
        }
        self.add_totals(&mut out);
        self.add_paper(&mut out);
        if !self.assumptions.is_empty() {
            write_assumptions(&mut out, "assumed", &self.assumptions);
        }
        out
    }

    /// Adds the table of the paper's rule.
    fn add_paper(&self, out: &mut String) {
        let rows = self.blocks.iter().filter_map(|block| {
            let paper = block.paper.as_ref()?;
            let number =
                |count: Option<u64>| count.map_or(String::new(), |count| count.to_string());
            let remark = if paper.wrong { "wrong" } else { "" };
            Some(vec![
                format!("{}..{}", block.at, block.last),
                paper.rule.to_owned(),
                number(paper.issues),
                number(paper.lanes),
                remark.to_owned(),
            ])
        });
        let rows: Vec<Vec<String>> = rows.collect();
        if rows.is_empty() {
            return;
        }
        let columns = [
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Left,
        ];
        out.push_str(
            "\nby the rule of efficient-instrumentation-2014 (one thread, times the threads)\n",
        );
        let head = vec!["block", "rule", "issues", "lanes", ""];
        section(out, &columns, head, rows.into_iter());
        let papers = self.blocks.iter().filter_map(|block| block.paper.as_ref());
        let count = |is: &dyn Fn(&PaperCountReport) -> bool| {
            papers.clone().filter(|paper| is(paper)).count()
        };
        out.push_str(&format!(
            "{} measured, {} undecided, {} stated, {} wrong\n",
            count(&|paper| paper.rule == "measured"),
            count(&|paper| paper.rule == "undecided"),
            count(&|paper| paper.rule == "stated"),
            count(&|paper| paper.wrong)
        ));
    }

    fn add_totals(&self, out: &mut String) {
        let known = self.blocks.iter();
        let known = known.filter(|block| block.unknown_at.is_empty() && block.issues.is_some());
        out.push_str(&format!(
            "\n{} of {} known\n",
            known.count(),
            counted(self.blocks.len(), "block")
        ));
        let apart = self.blocks.iter();
        let apart = apart.filter(|block| block.lanes.is_some() && block.issues.is_none());
        match apart.count() {
            0 => {}
            blocks => out.push_str(&format!(
                "executions of {} unknown, because groups of lanes may come together at YIELD, NANOSLEEP or WARPSYNC, or in a region that is left early\n",
                counted(blocks, "block")
            )),
        }
        if let (Some(issued), Some(lanes)) = (self.issued, self.lanes) {
            out.push_str(&format!("{issued} warp instructions, {lanes} of lanes\n"));
        }
        if let Some(ranges) = &self.ranges {
            let (issued, lanes) = (ranges.issued.text(), ranges.lanes.text());
            out.push_str(&format!("{issued} warp instructions, {lanes} of lanes\n"));
            let metrics = [
                ("activity factor", ranges.activity_factor),
                ("memory intensity", ranges.memory_intensity),
            ];
            for (name, range) in metrics {
                if let Some([least, most]) = range {
                    let [least, most] = [100.0 * least, 100.0 * most];
                    out.push_str(&format!("{name} {least:.2} to {most:.2} %\n"));
                }
            }
        }
        if let Some(why) = &self.no_ranges {
            out.push_str(&format!("no ranges: {why}\n"));
        }
        let metrics = [
            ("activity factor", self.activity_factor),
            ("memory intensity", self.memory_intensity),
        ];
        for (name, value) in metrics {
            if let Some(value) = value {
                out.push_str(&format!("{name} {:.2} %\n", 100.0 * value));
            }
        }
    }
}

fn row(block: &PredictedBlockReport) -> Vec<String> {
    let number = |count: Option<u64>, range: Option<CountRange>| match (count, range) {
        (Some(count), _) => count.to_string(),
        (None, Some(range)) => range.text(),
        (None, None) => "?".to_owned(),
    };
    let average = match (block.issues, block.lanes) {
        (Some(issues), Some(lanes)) if issues > 0 => format!("{:.2}", lanes as f64 / issues as f64),
        _ => String::new(),
    };
    // One operation is enough in a row, because the reasons follow in a list of their own.
    let why = match block.unknown_at.as_slice() {
        [] => String::new(),
        [at] => format!("unknown: {at}"),
        [at, rest @ ..] => format!("unknown: {at} and {} more", rest.len()),
    };
    vec![
        format!("{}..{}", block.at, block.last),
        block.source.clone().unwrap_or_default(),
        block.instructions.to_string(),
        number(block.issues, block.issues_range),
        number(block.lanes, block.lanes_range),
        average,
        why,
    ]
}

impl ReasonReport {
    fn text(&self) -> String {
        let source = self.source.as_ref();
        let source = source.map_or(String::new(), |source| format!(" ({source})"));
        let origins = match self.origins.is_empty() {
            true => "constants".to_owned(),
            false => self.origins.join(" + "),
        };
        let mut text = format!(
            "  {}  {}{source}\n    from {origins}",
            self.at, self.instruction
        );
        if !self.loads.is_empty() {
            text.push_str(&format!("; loads at {}", self.loads.join(", ")));
            if self.more_loads {
                text.push_str(" and more");
            }
        }
        // A chain of one link is the operation itself.
        if self.chain.len() > 1 {
            text.push_str(&format!("; by way of {}", self.chain.join(" <- ")));
        }
        text.push('\n');
        text
    }
}
