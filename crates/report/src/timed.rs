//! Report of the timed simulation of one launch.

mod html;
mod html_code;
mod text;
pub mod waves;

use serde::{Serialize, Serializer};

use crate::functional::{IssueCounts, RunNote};
use crate::terms::MachineTerms;
use crate::timed::waves::WaveReport;

/// Result of the complete simulation of a grid on a machine of the timing model.
#[derive(Clone, Debug, Serialize)]
pub struct TimedReport {
    /// Always `warpbound.timed/1`.
    pub schema: &'static str,
    /// Terms of the machine in the text.
    #[serde(skip)]
    pub terms: MachineTerms,
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// The machine.
    pub machine: String,
    /// Product name of the machine.
    pub machine_title: String,
    /// SMs of the machine.
    pub machine_sms: u64,
    /// Policy by which a scheduler selects one of the ready warps.
    pub scheduler: String,
    /// Rule that takes one value from the range of each parameter: `typical`, `slow`, `fast`, `lo`, `hi` or `seed=N`.
    #[serde(rename = "pick")]
    pub selection: String,
    /// Parameters that the user set to other values.
    pub set: Vec<ParameterOverride>,
    /// Search over parameters without a slow end, if the selection is `slow` or `fast`.
    #[serde(rename = "tried", skip_serializing_if = "Option::is_none")]
    pub selection_search: Option<SelectionSearch>,
    /// State of the L2 cache at the start: `cold` or `warm`.
    pub caches: &'static str,
    /// Mechanism that delays dependent instructions: `control-words` or `scoreboard`.
    pub interlock: &'static str,
    /// Warp that ran alone; absent if all warps ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_warp: Option<SimulatedWarp>,
    /// Cycles of the machine's clock. A simulated time is not a bound.
    pub cycles: u64,
    /// Clock of the machine in kHz.
    pub clock_khz: u64,
    /// Duration of the cycles at this clock, in milliseconds.
    pub milliseconds: f64,
    /// Totals over all instructions.
    #[serde(flatten)]
    pub issued: IssueCounts,
    /// Number of times the lanes of a warp diverged.
    pub divergences: u64,
    /// Number of buffer elements that were compared with the values that the launch file expects.
    pub checked_elements: usize,
    /// Suspicious behaviour of the kernel, in order of first occurrence.
    pub notes: Vec<RunNote>,
    /// Warp instructions per cycle, summed over all SMs.
    pub ipc: f64,
    /// Warp instructions per cycle of an SM, over the cycles when it held blocks.
    pub ipc_active: f64,
    /// Warps resident on the SMs.
    pub occupancy: OccupancyReport,
    /// Cycles of all warps, each from the start of its block to its last issue. Equals the sum of `stalls`.
    pub warp_cycles: u64,
    /// The same cycles by stall reason.
    pub stalls: Stalls,
    /// Transactions of loads from shared memory.
    pub shared_read_transactions: u64,
    /// Transactions of stores to shared memory.
    pub shared_write_transactions: u64,
    /// Transactions of atomic operations on shared memory.
    pub shared_atomic_transactions: u64,
    /// Shared-memory traffic by kind of access.
    pub shared: Vec<SharedCount>,
    /// Traffic of global and local memory, by space and kind of access.
    pub memory: Vec<MemoryTraffic>,
    /// Misses of the first-level constant cache.
    pub constant_misses: Misses,
    /// Misses of the first-level instruction cache.
    pub instruction_misses: Misses,
    /// Cycles by source line, largest first; empty without a line table.
    pub lines: Vec<LineTime>,
    /// Cycles by issued instruction, largest first.
    pub instructions: Vec<InstructionTime>,
    /// SMs that held blocks.
    pub sms: Vec<SmReport>,
    /// Units and splits; absent on machines without waves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waves: Option<WaveReport>,
    /// Parameters without a published source on which the cycles depend.
    pub assumptions: Vec<UnpublishedNumber>,
    /// Range of the cycles when single parameters change, if the simulation was repeated with other values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Effect of each parameter on the cycles, largest first, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivities: Option<Vec<Sensitivity>>,
}

/// Warp that ran without the other warps of its launch.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SimulatedWarp {
    /// Linear index of its block in the grid.
    pub block: u64,
    /// Number of the warp in its block.
    pub warp: u32,
}

/// Parameter that the user set to another value.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterOverride {
    /// Section and key of the parameter in the machine file.
    pub name: String,
    /// Value in this simulation.
    pub value: u64,
    /// Value that the selection would have taken.
    pub instead_of: u64,
}

/// Search over the parameters that have no slow end, such as cache sizes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SelectionSearch {
    /// Parameters that were searched, one at a time, in this order.
    pub numbers: Vec<SearchedParameter>,
    /// Parameters that were not searched because the runs would take too long. They have their typical values.
    #[serde(rename = "left_out")]
    pub skipped: Vec<String>,
}

/// Parameter without a slow end that was searched.
#[derive(Clone, Debug, Serialize)]
pub struct SearchedParameter {
    /// Section and key of the parameter in the machine file.
    pub name: String,
    /// Value that the search found.
    pub value: u64,
    /// Typical value.
    pub typical: u64,
    /// Number of other values that were simulated.
    pub others: usize,
}

/// Achieved and theoretical occupancy.
#[derive(Clone, Debug, Serialize)]
pub struct OccupancyReport {
    /// Maximum number of warps resident on one SM.
    pub most_warps: u64,
    /// Average number of resident warps per SM, over the cycles when it held blocks.
    pub resident_warps: f64,
    /// `resident_warps` as a fraction of `most_warps`.
    pub achieved: f64,
    /// Occupancy that the kernel's resources allow.
    pub theoretical: TheoreticalOccupancy,
}

/// Occupancy that the registers, shared memory and threads of a block allow.
#[derive(Clone, Debug, Serialize)]
pub struct TheoreticalOccupancy {
    /// Blocks per SM.
    pub blocks: u64,
    /// Warps of these blocks.
    pub warps: u64,
    /// `warps` as a fraction of the maximum.
    pub occupancy: f64,
    /// Limiting resource: `registers`, `shared memory`, `warps`, …. Several are joined by `and`.
    pub limiter: String,
}

/// Warp cycles by stall reason.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Stalls {
    /// Cycles when an instruction was issued.
    pub issue: u64,
    /// Cycles stalled by the control word, or by a result that does not come from memory.
    pub dependency: u64,
    /// Cycles stalled by memory.
    pub memory: u64,
    /// Cycles stalled by a barrier or a fence.
    pub barrier: u64,
    /// Cycles stalled by a busy execution unit.
    pub unit_busy: u64,
    /// Cycles stalled by instruction fetch.
    pub instruction_fetch: u64,
    /// Cycles when the warp was ready but the scheduler selected another one.
    pub not_selected: u64,
}

impl Stalls {
    /// Display name and cycles of each reason.
    pub fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("issue", self.issue),
            ("dependency", self.dependency),
            ("memory", self.memory),
            ("barrier", self.barrier),
            ("unit busy", self.unit_busy),
            ("instruction fetch", self.instruction_fetch),
            ("not selected", self.not_selected),
        ]
    }
}

/// [`Stalls`], serialised without the reasons that have no cycles.
#[derive(Clone, Copy, Debug)]
pub struct StallCounts(pub Stalls);

impl Serialize for StallCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = [
            ("issue", self.0.issue),
            ("dependency", self.0.dependency),
            ("memory", self.0.memory),
            ("barrier", self.0.barrier),
            ("unit_busy", self.0.unit_busy),
            ("instruction_fetch", self.0.instruction_fetch),
            ("not_selected", self.0.not_selected),
        ];
        // Each issue of a trace has these counts, and most of them are 0.
        serializer.collect_map(keys.into_iter().filter(|(_, cycles)| *cycles > 0))
    }
}

/// Accesses of one kind to shared memory.
#[derive(Clone, Debug, Serialize)]
pub struct SharedCount {
    /// `load`, `store` or `atomic`.
    pub access: &'static str,
    /// Warp instructions.
    pub accesses: u64,
    /// Transactions.
    pub transactions: u64,
    /// Transactions beyond the first of each access, caused by bank conflicts.
    pub conflicts: u64,
}

/// Accesses of one kind to global or local memory.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryTraffic {
    /// `global` or `local`.
    pub space: &'static str,
    /// `load`, `store` or `atomic`.
    pub access: &'static str,
    /// Warp instructions.
    pub accesses: u64,
    /// Requests to the L1 cache.
    pub requests: u64,
    /// Requested sectors. With `l1.merge`, a sector counts once per instruction.
    pub sectors: u64,
    /// Bytes of these sectors.
    pub bytes: u64,
    /// Sector lookups in the L1 cache.
    pub l1_lookups: u64,
    /// Sector lookups in the L1 cache that hit.
    pub l1_hits: u64,
    /// Hits as a fraction of the lookups; `None` without lookups.
    pub l1_hit_rate: Option<f64>,
    /// Sector lookups in the L2 cache.
    pub l2_lookups: u64,
    /// Sector lookups in the L2 cache that hit.
    pub l2_hits: u64,
    /// Hits as a fraction of the lookups; `None` without lookups.
    pub l2_hit_rate: Option<f64>,
    /// Sectors transferred to or from DRAM.
    pub dram_sectors: u64,
    /// Misses of the first-level TLB.
    pub tlb_misses: u64,
}

/// Misses of a first-level cache, by the level that served them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Misses {
    /// Served by the second-level constant or instruction cache of the SM.
    pub second: u64,
    /// Served by the L2 cache.
    pub l2: u64,
    /// Served by DRAM.
    pub dram: u64,
}

/// Cycles attributed to a source line.
#[derive(Clone, Debug, Serialize)]
pub struct LineTime {
    /// `file:line`; `None` for instructions without an entry in the line table.
    pub source: Option<String>,
    /// Warp instructions issued from this line.
    pub warp_instructions: u64,
    /// Thread instructions: active lanes, summed over these issues.
    pub thread_instructions: u64,
    /// Warp cycles up to these issues. Each issue counts from the previous issue of the warp.
    pub warp_cycles: u64,
    /// The same cycles by stall reason.
    pub stalls: Stalls,
}

/// Cycles attributed to an instruction.
#[derive(Clone, Debug, Serialize)]
pub struct InstructionTime {
    /// Address of the instruction.
    pub address: String,
    /// The instruction.
    pub text: String,
    /// Control word: stall, yield, write and read scoreboard, awaited scoreboards, reuse; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// `file:line`, if the file has a line table.
    pub source: Option<String>,
    /// Number of times that warps issued the instruction.
    pub warp_instructions: u64,
    /// Thread instructions: active lanes, summed over these issues.
    pub thread_instructions: u64,
    /// Warp cycles up to these issues. Each issue counts from the previous issue of the warp.
    pub warp_cycles: u64,
    /// The same cycles by stall reason.
    pub stalls: Stalls,
}

/// Activity of an SM.
#[derive(Clone, Debug, Serialize)]
pub struct SmReport {
    /// Number of the SM.
    pub sm: u32,
    /// Number of blocks that it executed.
    pub blocks: u64,
    /// Number of cycles when it held a block.
    pub active_cycles: u64,
    /// Number of warp instructions that it issued.
    pub warp_instructions: u64,
    /// Warp instructions per active cycle.
    pub ipc: f64,
    /// Average number of resident warps over the active cycles.
    pub resident_warps: f64,
}

/// Parameter without a published source on which the cycles depend.
#[derive(Clone, Debug, Serialize)]
pub struct UnpublishedNumber {
    /// Section and key in the machine file; `machine` for the machine as a whole.
    pub name: String,
    /// Value in this simulation.
    pub value: ParameterValue,
    /// Lower end of the range, for a number.
    pub least: Option<u64>,
    /// Upper end of the range, for a number.
    pub most: Option<u64>,
    /// Unit, for a number: `cycles`, `bytes`, ….
    pub unit: Option<&'static str>,
    /// Provenance: `assumed`, or `fitted` to a measurement.
    #[serde(rename = "standing")]
    pub provenance: &'static str,
    /// Reason for the value, as the machine file states it.
    pub source: String,
}

/// Value of a parameter: a number or a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// A number.
    Number(u64),
    /// A choice.
    Choice(String),
}

/// Effect of one parameter on the cycles while the others keep their values.
#[derive(Clone, Debug, Serialize)]
pub struct Sensitivity {
    /// Section and key of the parameter in the machine file.
    pub name: String,
    /// Value in this simulation.
    pub value: u64,
    /// Simulation with the lower end of the range.
    pub least: Rerun,
    /// Simulation with the upper end of the range.
    pub most: Rerun,
}

/// Repeated simulation with another value of one parameter.
#[derive(Clone, Debug, Serialize)]
pub struct Rerun {
    /// Value of the parameter.
    pub value: u64,
    /// Cycles; `None` if the simulation did not terminate.
    pub cycles: Option<u64>,
    /// Difference to the cycles of the reported simulation.
    pub change: Option<i64>,
    /// Reason why the simulation did not terminate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

impl Sensitivity {
    /// Returns the largest absolute change; `u64::MAX` if a simulation did not terminate.
    pub fn largest(&self) -> u64 {
        // A simulation that does not terminate shows the strongest effect of all.
        let change = |rerun: &Rerun| rerun.change.map_or(u64::MAX, i64::unsigned_abs);
        change(&self.least).max(change(&self.most))
    }
}

/// Range of the cycles over all simulations where one parameter changes within its range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Simulation with the fewest cycles; `None` if no simulation has fewer than the reported one.
    pub fewest: Option<CycleChange>,
    /// Simulation with the most cycles; `None` if no simulation has more than the reported one.
    pub most: Option<CycleChange>,
}

/// Change of the cycles due to another value of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CycleChange {
    /// Section and key of the parameter in the machine file.
    pub name: String,
    /// Changed value.
    pub value: u64,
    /// Difference to the cycles of the reported simulation.
    pub change: i64,
}

impl Spread {
    /// Computes the range over all repeated simulations.
    pub fn of(sensitivities: &[Sensitivity]) -> Spread {
        let mut spread = Spread {
            fewest: None,
            most: None,
        };
        for row in sensitivities {
            for rerun in [&row.least, &row.most] {
                // Without an end there are no cycles, and no range can include them.
                let Some(change) = rerun.change else {
                    continue;
                };
                let of =
                    |swing: &Option<CycleChange>| swing.as_ref().map_or(0, |swing| swing.change);
                let swing = || {
                    Some(CycleChange {
                        name: row.name.clone(),
                        value: rerun.value,
                        change,
                    })
                };
                // `of` is 0 without an entry, so only a change in this direction is recorded.
                if change < of(&spread.fewest) {
                    spread.fewest = swing();
                } else if change > of(&spread.most) {
                    spread.most = swing();
                }
            }
        }
        spread
    }
}

impl TimedReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.timed/1";
}
