//! Report of the untimed execution of one launch.

pub(crate) mod html;
pub(crate) mod text;

use serde::Serialize;

/// Result of the complete, untimed execution of a grid.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionalReport {
    /// Always `warpbound.functional/2`.
    pub schema: &'static str,
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Totals over all instructions.
    #[serde(flatten)]
    pub issued: IssueCounts,
    /// Number of times the lanes of a warp diverged.
    pub divergences: u64,
    /// Number of buffer elements that were compared with the values that the launch file expects.
    pub checked_elements: usize,
    /// Suspicious behaviour of the kernel, in order of first occurrence.
    pub notes: Vec<RunNote>,
    /// Counts by class, most frequent first.
    pub classes: Vec<ClassCount>,
    /// Counts by opcode, most frequent first.
    pub mnemonics: Vec<MnemonicCount>,
    /// Issued instructions at which the lanes of a warp can diverge, in order of address.
    pub branches: Vec<BranchCount>,
    /// Accesses by space and kind.
    pub memory: Vec<MemoryCount>,
    /// Counts by source line, most frequent first; empty without a line table.
    pub lines: Vec<LineCount>,
}

/// Suspicious behaviour of the kernel that did not end the run, such as a read of uninitialised shared memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RunNote {
    /// Address of the instruction.
    pub address: String,
    /// Opcode.
    pub mnemonic: String,
    /// `file:line`, if the file has a line table.
    pub source: Option<String>,
    /// Description of the event.
    #[serde(rename = "what")]
    pub message: String,
    /// Block of the first occurrence, and its thread if the note concerns one.
    #[serde(rename = "place")]
    pub location: String,
    /// Number of occurrences at this instruction.
    pub times: u64,
}

/// Counts of issued instructions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct IssueCounts {
    /// Warp instructions: issues by warps.
    pub warp_instructions: u64,
    /// Thread instructions: active lanes, summed over these issues.
    pub thread_instructions: u64,
    /// Active lanes whose guard held, summed over these issues.
    pub executed_thread_instructions: u64,
}

impl std::ops::AddAssign for IssueCounts {
    fn add_assign(&mut self, other: IssueCounts) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.executed_thread_instructions += other.executed_thread_instructions;
    }
}

/// Issue counts of an instruction class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassCount {
    /// Class. Loads, stores and atomics are divided by space: `load/store global`.
    pub class: String,
    /// Issue counts.
    #[serde(flatten)]
    pub issued: IssueCounts,
}

/// Issue counts of an opcode.
#[derive(Clone, Debug, Serialize)]
pub struct MnemonicCount {
    /// The opcode.
    pub mnemonic: String,
    /// Issue counts.
    #[serde(flatten)]
    pub issued: IssueCounts,
}

/// Divergence at an instruction.
#[derive(Clone, Debug, Serialize)]
pub struct BranchCount {
    /// Address of the instruction.
    pub address: String,
    /// Opcode.
    pub mnemonic: String,
    /// `file:line`, if the file has a line table.
    pub source: Option<String>,
    /// Issue counts. The lanes that executed the branch are the lanes that took it.
    #[serde(flatten)]
    pub issued: IssueCounts,
    /// Issues after which lanes diverged.
    pub divergences: u64,
}

/// Accesses of one kind to a memory space.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryCount {
    /// Memory space.
    pub space: &'static str,
    /// `load`, `store` or `atomic`.
    pub access: &'static str,
    /// Warp instructions.
    pub warp_accesses: u64,
    /// Accesses of single lanes.
    pub thread_accesses: u64,
    /// Bytes accessed by these lanes.
    pub bytes: u64,
}

/// Issue counts of a source line.
#[derive(Clone, Debug, Serialize)]
pub struct LineCount {
    /// `file:line`; `None` for instructions without an entry in the line table.
    pub source: Option<String>,
    /// Issue counts.
    #[serde(flatten)]
    pub issued: IssueCounts,
    /// Issues after which lanes diverged.
    pub divergences: u64,
}

impl FunctionalReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.functional/2";
}
