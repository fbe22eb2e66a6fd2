//! What a run with time was like.

use serde::{Serialize, Serializer};

use crate::functional::{Issued, RunNote};

/// A launch of a grid that came to its end on a machine of the timing model.
#[derive(Clone, Debug, Serialize)]
pub struct TimedReport {
    /// Always `warpbound.timed/1`.
    pub schema: &'static str,
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
    /// What it is.
    pub machine_title: String,
    /// SMs that it has.
    pub machine_sms: u64,
    /// Which ready warp issues next.
    pub scheduler: String,
    /// Which values the numbers of the machine have: `typical`, `slow`, `fast`, `lo`, `hi` or `seed=N`.
    pub pick: String,
    /// Numbers that have other values than the machine's.
    pub set: Vec<SetNumber>,
    /// With `slow` and `fast`: numbers without a slow end, and the values of them with which the run was slowest or fastest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<Tried>,
    /// What is in the second-level cache at the start: `cold` or `warm`.
    pub caches: &'static str,
    /// What decides when a warp may issue again: `control-words` or `scoreboard`.
    pub interlock: &'static str,
    /// Cycles of the machine's clock. What one run took is no bound of others.
    pub cycles: u64,
    /// The machine's clock in kHz.
    pub clock_khz: u64,
    /// The cycles at that clock, in milliseconds.
    pub milliseconds: f64,
    /// All instructions together.
    #[serde(flatten)]
    pub issued: Issued,
    /// How often the lanes of a warp went different ways.
    pub divergences: u64,
    /// Elements of buffers that were compared with what the launch expects.
    pub checked_elements: usize,
    /// What looks like a mistake of the kernel, in the order in which it happened first.
    pub notes: Vec<RunNote>,
    /// Warp instructions in a cycle, of all SMs together.
    pub ipc: f64,
    /// Warp instructions in a cycle of an SM, over the cycles in which it held blocks.
    pub ipc_active: f64,
    /// How many warps the SMs held.
    pub occupancy: OccupancyReport,
    /// Cycles that warps spent, from the begin of their block until their last issue: the sum of `stalls`.
    pub warp_cycles: u64,
    /// What they went into.
    pub stalls: Stalls,
    /// Transactions of loads from shared memory.
    pub shared_read_transactions: u64,
    /// Transactions of stores to shared memory.
    pub shared_write_transactions: u64,
    /// Transactions of atomic operations on shared memory.
    pub shared_atomic_transactions: u64,
    /// Shared memory, by kind of access.
    pub shared: Vec<SharedCount>,
    /// Global and local memory, by space and kind of access.
    pub memory: Vec<MemoryTraffic>,
    /// Constants that were not in the first constant cache.
    pub constant_misses: Misses,
    /// Instructions that were not in the first instruction cache.
    pub instruction_misses: Misses,
    /// By source line, where most cycles went first; none where the file has no line table.
    pub lines: Vec<LineTime>,
    /// By instruction, where most cycles went first; only those that were issued.
    pub instructions: Vec<InstructionTime>,
    /// The SMs that had blocks.
    pub sms: Vec<SmReport>,
    /// What the cycles rest on and no source states.
    pub assumptions: Vec<Assumption>,
    /// Range of the cycles when single numbers of the machine change, where the run was repeated with other values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// What the numbers of the machine change, where that was asked for: those that change most first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivities: Option<Vec<Sensitivity>>,
}

/// A number of the machine that has another value than the machine's.
#[derive(Clone, Debug, Serialize)]
pub struct SetNumber {
    /// Section and key in the machine file.
    pub name: String,
    /// The value that it has.
    pub value: u64,
    /// The value that it would have.
    pub instead_of: u64,
}

/// Numbers of the machine without a slow end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tried {
    /// Those whose values were tried one after the other, in the order in which they were.
    pub numbers: Vec<TriedNumber>,
    /// Those whose values were not, as the runs would take long; they are typical.
    pub left_out: Vec<String>,
}

/// A number of the machine whose values were tried.
#[derive(Clone, Debug, Serialize)]
pub struct TriedNumber {
    /// Section and key in the machine file.
    pub name: String,
    /// The value that it has now.
    pub value: u64,
    /// The value that it typically has.
    pub typical: u64,
    /// How many others were tried.
    pub others: usize,
}

/// How many warps SMs held.
#[derive(Clone, Debug, Serialize)]
pub struct OccupancyReport {
    /// Warps that an SM can hold.
    pub most_warps: u64,
    /// Warps that an SM held on average, over the cycles in which it held blocks.
    pub resident_warps: f64,
    /// The same as a part of the most.
    pub achieved: f64,
    /// What the kernel's needs allow.
    pub theoretical: Theoretical,
}

/// How many blocks of a kernel fit on an SM.
#[derive(Clone, Debug, Serialize)]
pub struct Theoretical {
    /// Blocks on an SM.
    pub blocks: u64,
    /// Their warps.
    pub warps: u64,
    /// These as a part of the most.
    pub occupancy: f64,
    /// Why there are not more: `registers`, `shared memory`, `warps`, …, several with `and`.
    pub limiter: String,
}

/// Cycles of warps by what they went into.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Stalls {
    /// An instruction was issued.
    pub issue: u64,
    /// The control word kept the warp, or it waited for a result that is not from memory.
    pub dependency: u64,
    /// It waited for memory.
    pub memory: u64,
    /// It waited at a barrier or for a fence.
    pub barrier: u64,
    /// The unit that it needed was busy.
    pub unit_busy: u64,
    /// Its instruction was not there yet.
    pub instruction_fetch: u64,
    /// It was ready and another warp was taken.
    pub not_selected: u64,
}

impl Stalls {
    /// What people call them, with how many there are.
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

/// Those of [`Stalls`] that are not zero.
#[derive(Clone, Copy, Debug)]
pub struct Waited(pub Stalls);

impl Serialize for Waited {
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
        serializer.collect_map(keys.into_iter().filter(|(_, cycles)| *cycles > 0))
    }
}

/// Accesses to shared memory.
#[derive(Clone, Debug, Serialize)]
pub struct SharedCount {
    /// `load`, `store` or `atomic`.
    pub access: &'static str,
    /// Instructions of warps.
    pub accesses: u64,
    /// Transactions.
    pub transactions: u64,
    /// Those of them that are there for conflicts.
    pub conflicts: u64,
}

/// Accesses to global or local memory.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryTraffic {
    /// `global` or `local`.
    pub space: &'static str,
    /// `load`, `store` or `atomic`.
    pub access: &'static str,
    /// Instructions of warps.
    pub accesses: u64,
    /// Requests to the first level.
    pub requests: u64,
    /// Sectors that they ask for: with `l1.merge` each once for an instruction.
    pub sectors: u64,
    /// Bytes of these sectors.
    pub bytes: u64,
    /// Sectors looked for in the first level.
    pub l1_lookups: u64,
    /// Sectors found there.
    pub l1_hits: u64,
    /// These as a part of the lookups; none where there were no lookups.
    pub l1_hit_rate: Option<f64>,
    /// Sectors looked for in the second level.
    pub l2_lookups: u64,
    /// Sectors found there.
    pub l2_hits: u64,
    /// These as a part of the lookups; none where there were no lookups.
    pub l2_hit_rate: Option<f64>,
    /// Sectors that came from memory or went there.
    pub dram_sectors: u64,
    /// Translations that the first buffer did not have.
    pub tlb_misses: u64,
}

/// What was not in the first cache, by where it was found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Misses {
    /// In the second cache of the SM.
    pub second: u64,
    /// In the second-level cache of the GPU.
    pub l2: u64,
    /// In memory.
    pub dram: u64,
}

/// Where cycles went, of a source line.
#[derive(Clone, Debug, Serialize)]
pub struct LineTime {
    /// `file:line`; none for instructions that the line table does not know.
    pub source: Option<String>,
    /// How often warps issued its instructions.
    pub warp_instructions: u64,
    /// Cycles until these issues, each from the issue before.
    pub warp_cycles: u64,
    /// What they went into.
    pub stalls: Stalls,
}

/// Where cycles went, of an instruction.
#[derive(Clone, Debug, Serialize)]
pub struct InstructionTime {
    /// Its address.
    pub address: String,
    /// The instruction.
    pub text: String,
    /// `file:line`, where the file has a line table.
    pub source: Option<String>,
    /// How often warps issued it.
    pub warp_instructions: u64,
    /// Cycles until these issues, each from the issue before.
    pub warp_cycles: u64,
    /// What they went into.
    pub stalls: Stalls,
}

/// What an SM did.
#[derive(Clone, Debug, Serialize)]
pub struct SmReport {
    /// Its number.
    pub sm: u32,
    /// Blocks that it had.
    pub blocks: u64,
    /// Cycles in which it held a block.
    pub active_cycles: u64,
    /// Warp instructions that it issued.
    pub warp_instructions: u64,
    /// These in a cycle, over the cycles in which it held a block.
    pub ipc: f64,
    /// Warps that it held on average over these.
    pub resident_warps: f64,
}

/// Something that the cycles rest on and no source states.
#[derive(Clone, Debug, Serialize)]
pub struct Assumption {
    /// Section and key in the machine file; `machine` for the machine as a whole.
    pub name: String,
    /// What was taken.
    pub value: Taken,
    /// What it may be at least, of numbers.
    pub least: Option<u64>,
    /// What it may be at most, of numbers.
    pub most: Option<u64>,
    /// `cycles`, `bytes`, … of numbers.
    pub unit: Option<&'static str>,
    /// `assumed`, or `fitted` on a measurement.
    pub standing: &'static str,
    /// Why, as the machine file says it.
    pub source: String,
}

/// What was taken: a number or a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Taken {
    /// A number.
    Number(u64),
    /// A choice.
    Choice(String),
}

/// What a number of the machine changes, the others as they were taken.
#[derive(Clone, Debug, Serialize)]
pub struct Sensitivity {
    /// Section and key in the machine file.
    pub name: String,
    /// The value that the run has taken.
    pub value: u64,
    /// The run with its least value.
    pub least: Rerun,
    /// The run with its most value.
    pub most: Rerun,
}

/// The run again, with another value of a number.
#[derive(Clone, Debug, Serialize)]
pub struct Rerun {
    /// The value.
    pub value: u64,
    /// How long it took; none where it did not come to its end.
    pub cycles: Option<u64>,
    /// How much more than the run.
    pub change: Option<i64>,
    /// Why it did not come to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

impl Sensitivity {
    /// The largest change, whatever its sign; a run that did not come to its end is more than any.
    pub fn largest(&self) -> u64 {
        let change = |rerun: &Rerun| rerun.change.map_or(u64::MAX, i64::unsigned_abs);
        change(&self.least).max(change(&self.most))
    }
}

/// The fewest and the most cycles with another value, in its range, of one number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The repeated run with the fewest cycles; none where none has fewer than the run.
    pub fewest: Option<Swing>,
    /// The repeated run with the most cycles; none where none has more than the run.
    pub most: Option<Swing>,
}

/// A repeated run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Swing {
    /// The number that had another value: section and key in the machine file.
    pub name: String,
    /// That value.
    pub value: u64,
    /// Cycles beyond those of the run.
    pub change: i64,
}

impl Spread {
    /// That of all repeated runs.
    pub fn of(sensitivities: &[Sensitivity]) -> Spread {
        let mut spread = Spread {
            fewest: None,
            most: None,
        };
        for row in sensitivities {
            for rerun in [&row.least, &row.most] {
                let Some(change) = rerun.change else {
                    continue;
                };
                let of = |swing: &Option<Swing>| swing.as_ref().map_or(0, |swing| swing.change);
                let swing = || {
                    Some(Swing {
                        name: row.name.clone(),
                        value: rerun.value,
                        change,
                    })
                };
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
