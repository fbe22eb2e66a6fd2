//! What a run without time was like.

use serde::Serialize;

/// A launch of a grid that came to its end.
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
    /// All instructions together.
    #[serde(flatten)]
    pub issued: Issued,
    /// How often the lanes of a warp went different ways.
    pub divergences: u64,
    /// Elements of buffers that were compared with what the launch expects.
    pub checked_elements: usize,
    /// What looks like a mistake of the kernel, in the order in which it happened first.
    pub notes: Vec<RunNote>,
    /// By class, the most frequent first.
    pub classes: Vec<ClassCount>,
    /// By opcode, the most frequent first.
    pub mnemonics: Vec<MnemonicCount>,
    /// Instructions at which the lanes of a warp can part, by address; only those that were issued.
    pub branches: Vec<BranchCount>,
    /// By space and kind of access.
    pub memory: Vec<MemoryCount>,
    /// By source line, the most frequent first; none where the file has no line table.
    pub lines: Vec<LineCount>,
}

/// Something that looks like a mistake of the kernel but did not end the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RunNote {
    /// Address of the instruction.
    pub address: String,
    /// Its opcode.
    pub mnemonic: String,
    /// `file:line`, where the file has a line table.
    pub source: Option<String>,
    /// What happened.
    pub what: String,
    /// The block, and where it is about one the thread, in which it happened first.
    pub place: String,
    /// How often it happened at this instruction.
    pub times: u64,
}

/// How often instructions were issued.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Issued {
    /// By warps.
    pub warp_instructions: u64,
    /// The same for each active lane.
    pub thread_instructions: u64,
    /// The same for each active lane in which the guard held.
    pub executed_thread_instructions: u64,
}

impl std::ops::AddAssign for Issued {
    fn add_assign(&mut self, other: Issued) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.executed_thread_instructions += other.executed_thread_instructions;
    }
}

/// How often instructions of a class were issued.
#[derive(Clone, Debug, Serialize)]
pub struct ClassCount {
    /// The class; loads, stores and atomics are apart by space: `load/store global`.
    pub class: String,
    /// How often.
    #[serde(flatten)]
    pub issued: Issued,
}

/// How often an opcode was issued.
#[derive(Clone, Debug, Serialize)]
pub struct MnemonicCount {
    /// The opcode.
    pub mnemonic: String,
    /// How often.
    #[serde(flatten)]
    pub issued: Issued,
}

/// How often lanes parted at an instruction.
#[derive(Clone, Debug, Serialize)]
pub struct BranchCount {
    /// Its address.
    pub address: String,
    /// Its opcode.
    pub mnemonic: String,
    /// `file:line`, where the file has a line table.
    pub source: Option<String>,
    /// How often it was issued; the lanes that executed it are those that went its way.
    #[serde(flatten)]
    pub issued: Issued,
    /// After how many of its issues lanes went different ways.
    pub divergences: u64,
}

/// Accesses to a memory.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryCount {
    /// Which memory.
    pub space: &'static str,
    /// `load`, `store` or `atomic`.
    pub access: &'static str,
    /// Instructions that warps issued.
    pub warp_accesses: u64,
    /// The same for each lane that accessed memory.
    pub thread_accesses: u64,
    /// Bytes of these.
    pub bytes: u64,
}

/// How often the instructions of a source line were issued.
#[derive(Clone, Debug, Serialize)]
pub struct LineCount {
    /// `file:line`; none for instructions that the line table does not know.
    pub source: Option<String>,
    /// How often.
    #[serde(flatten)]
    pub issued: Issued,
    /// How often lanes parted there.
    pub divergences: u64,
}

impl FunctionalReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.functional/2";
}
