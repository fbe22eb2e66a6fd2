//! Report of predicted counts: how often each block of a kernel runs in a launch, or why that is unknown.

use serde::Serialize;

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
    /// Buffers whose contents the counts rest on.
    pub buffers: Vec<String>,
    /// Warps of the launch.
    pub warps: u64,
    /// Warps that were executed; the others are equal to one of them.
    pub executed: u64,
    /// Warp that could not be followed; then no count is known.
    pub lost: Option<LostReport>,
    /// Blocks in order of address.
    pub blocks: Vec<PredictedBlockReport>,
    /// Operations whose unknown values make counts unknown.
    pub reasons: Vec<ReasonReport>,
    /// Warp instructions of the launch; none if a count is unknown.
    pub issued: Option<u64>,
    /// Instructions of active lanes; none if a count is unknown.
    pub lanes: Option<u64>,
    /// Active lanes over all lanes of the issued instructions (`efficient-instrumentation-2014`); none if a count is
    /// unknown.
    pub activity_factor: Option<f64>,
    /// Instructions that access global memory over all (`efficient-instrumentation-2014`); none if a count is unknown.
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
    /// Address of its first instruction.
    pub at: String,
    /// Address of its last instruction.
    pub last: String,
    /// Source line of its first instruction.
    pub source: Option<String>,
    /// Function that contains it, if not the kernel itself.
    pub function: Option<String>,
    /// Number of its instructions.
    pub instructions: u64,
    /// Number of its instructions that access global memory.
    pub memory_instructions: u64,
    /// Executions by a warp, if they are known.
    pub issues: Option<u64>,
    /// Active lanes, summed over these executions, if they are known.
    pub lanes: Option<u64>,
    /// Addresses of the operations that make the count unknown; see [`PredictReport::reasons`].
    pub unknown_at: Vec<String>,
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
    /// Origins of its condition or target: `param`, `block`, `thread`, `data`, `other`.
    pub origins: Vec<&'static str>,
    /// Addresses of the loads from which it comes.
    pub loads: Vec<String>,
    /// Whether it comes from more loads.
    pub more_loads: bool,
    /// Addresses of the operations from it back to the value that is unknown.
    pub chain: Vec<String>,
}

impl PredictReport {
    /// Name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.predict/1";

    /// Returns whether all counts are known.
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
        out
    }

    fn add_totals(&self, out: &mut String) {
        let known = self.blocks.iter();
        let known = known.filter(|block| block.unknown_at.is_empty()).count();
        out.push_str(&format!(
            "\n{} of {} known\n",
            known,
            counted(self.blocks.len(), "block")
        ));
        if let (Some(issued), Some(lanes)) = (self.issued, self.lanes) {
            out.push_str(&format!("{issued} warp instructions, {lanes} of lanes\n"));
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
    let number = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
    let average = match (block.issues, block.lanes) {
        (Some(issues), Some(lanes)) if issues > 0 => format!("{:.2}", lanes as f64 / issues as f64),
        _ => String::new(),
    };
    let why = match block.unknown_at.as_slice() {
        [] => String::new(),
        [at] => format!("unknown: {at}"),
        [at, rest @ ..] => format!("unknown: {at} and {} more", rest.len()),
    };
    vec![
        format!("{}..{}", block.at, block.last),
        block.source.clone().unwrap_or_default(),
        block.instructions.to_string(),
        number(block.issues),
        number(block.lanes),
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
        if self.chain.len() > 1 {
            text.push_str(&format!("; by way of {}", self.chain.join(" <- ")));
        }
        text.push('\n');
        text
    }
}
