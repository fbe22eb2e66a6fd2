//! Report of metrics that follow from the executions of blocks: activity, memory intensity, instruction mix.

mod text;

use serde::Serialize;

use crate::bar_chart::{BarArrangement, BarPanel, BarUnit, bar_charts};
use crate::memory_metrics::MemoryDivergence;

/// Metrics of a kernel over a launch, as far as they follow from the executions of its blocks
/// (`efficient-instrumentation-2014` 4). A value that does not follow is absent.
///
/// Lanes that an instruction's guard disables count as active, because counts of blocks do not show how many they
/// are.
///
/// For example, a block of 5 instructions with 4 issues and 96 active lanes has 20 warp instructions, 480 thread
/// instructions, and an activity factor of 480 / (20 · 32) = 0.75.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MetricsReport {
    /// Always `warpbound.metrics/1`.
    pub schema: &'static str,
    /// The kernel.
    pub kernel: String,
    /// Number of lanes of a warp.
    pub width: u32,
    /// Threads of each warp at its start, if all warps have equally many and their number is known.
    pub launched_lanes: Option<u32>,
    /// Metrics of all instructions.
    pub total: InstructionMetrics,
    /// Addresses or labels of the blocks with unknown counts, in order.
    pub unknown_blocks: Vec<String>,
    /// Metrics by instruction class, most frequent first.
    pub classes: Vec<NamedMetrics>,
    /// Accesses to memory by space, in order of its name.
    pub spaces: Vec<SpaceMetrics>,
    /// Conditional control transfers whose divergent executions are known, in order of address.
    pub branches: Vec<BranchMetrics>,
    /// Metrics by source line, in order of its name; empty without a line table.
    pub lines: Vec<NamedMetrics>,
    /// Metrics by block, in order of address; blocks that no thread reaches are left out.
    pub blocks: Vec<NamedMetrics>,
    /// Memory divergence, if a run counted it. It does not follow from executions of blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_divergence: Option<MemoryDivergence>,
}

/// Metrics of a set of instructions. Each count is a sum over the warps of the launch.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct InstructionMetrics {
    /// Warp instructions: issues by warps.
    pub warp_instructions: Option<u64>,
    /// Thread instructions: active lanes, summed over these issues.
    pub thread_instructions: Option<u64>,
    /// Thread instructions divided by the lanes of the issuing warps: Σ active / Σ width, 0 to 1.
    pub activity_factor: Option<f64>,
    /// Thread instructions divided by the lanes that had a thread when the warp began, 0 to 1.
    pub activity_of_launched: Option<f64>,
    /// Warp instructions that access memory of any space.
    pub memory_instructions: Option<u64>,
    /// Warp instructions that access global memory. Absent if instructions with generic addresses were executed,
    /// because these may access global memory.
    pub global_instructions: Option<u64>,
    /// Share of global memory instructions in all warp instructions, 0 to 1: the paper's memory intensity.
    pub memory_intensity: Option<f64>,
    /// Share of the instructions that access memory of any space, 0 to 1.
    pub memory_share: Option<f64>,
}

/// Metrics of the instructions of a class, a source line or a block.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NamedMetrics {
    /// Class, `file:line`, or address or label of the block; `None` for instructions without a source line.
    pub name: Option<String>,
    /// The metrics.
    #[serde(flatten)]
    pub metrics: InstructionMetrics,
}

/// Accesses to a memory space.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SpaceMetrics {
    /// Memory space.
    pub space: &'static str,
    /// Warp instructions that access it.
    pub warp_instructions: Option<u64>,
    /// Active lanes, summed over these instructions.
    pub thread_instructions: Option<u64>,
}

/// Divergence at an instruction.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BranchMetrics {
    /// Address of the instruction.
    pub address: String,
    /// Opcode.
    pub mnemonic: String,
    /// `file:line`, if the file has a line table.
    pub source: Option<String>,
    /// Executions by warps.
    pub executions: Option<u64>,
    /// Executions after which lanes diverged.
    pub divergent: u64,
    /// Share of divergent executions, 0 to 1.
    pub divergence: Option<f64>,
}

impl MetricsReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.metrics/1";
}

/// Metrics of several launches.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MetricsSet {
    /// Always `warpbound.metrics-set/1`.
    pub schema: &'static str,
    /// The file.
    pub file: String,
    /// Launches in the order of the command line.
    pub launches: Vec<RunMetrics>,
}

/// Metrics of a launch.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunMetrics {
    /// The launch file.
    pub launch: String,
    /// The metrics.
    #[serde(flatten)]
    pub metrics: MetricsReport,
}

impl MetricsSet {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.metrics-set/1";

    /// Creates a report about launches of kernels in a file.
    pub fn new(file: String, launches: Vec<RunMetrics>) -> MetricsSet {
        MetricsSet {
            schema: MetricsSet::SCHEMA,
            file,
            launches,
        }
    }

    /// Returns the report as text. With `details`, tables follow by class, space, branch, source line and block.
    pub fn text(&self, details: bool) -> String {
        let texts = self.launches.iter().map(|run| run.metrics.text(details));
        texts.collect::<Vec<String>>().join("\n")
    }

    /// Returns activity factors and memory intensities as bars, as in Figures 5 and 6 of
    /// `efficient-instrumentation-2014`.
    pub fn svg(&self) -> String {
        let panel = |title: &str, value: fn(&InstructionMetrics) -> Option<f64>| BarPanel {
            title: title.to_owned(),
            unit: BarUnit::Share,
            arrangement: BarArrangement::Beside,
            series: vec![title.to_owned()],
            groups: self.bars(value),
        };
        bar_charts(&[
            panel("Activity factor", |total| total.activity_factor),
            panel("Memory intensity (global memory)", |total| {
                total.memory_intensity
            }),
        ])
    }

    /// Returns one value of each launch, with the name of its kernel.
    fn bars(
        &self,
        value: fn(&InstructionMetrics) -> Option<f64>,
    ) -> Vec<(String, Vec<Option<f64>>)> {
        let launches = self.launches.iter();
        let bar = |run: &RunMetrics| {
            let kernel = &run.metrics.kernel;
            let name = kernel.strip_prefix("void ").unwrap_or(kernel);
            // Template arguments and parameters would not fit under a bar.
            let name = name.split(['(', '<']).next().unwrap_or(name);
            (name.to_owned(), vec![value(&run.metrics.total)])
        };
        launches.map(bar).collect()
    }
}
