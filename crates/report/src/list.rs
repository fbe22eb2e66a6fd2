//! What a file holds.

use serde::Serialize;

use crate::table::{Align, table};

/// The kernels of a file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The file as the user named it.
    pub file: String,
    /// `sm_61`.
    pub isa: String,
    /// Why the kernels cannot be read, when they cannot.
    pub refused: Option<String>,
    /// The kernels.
    pub kernels: Vec<KernelSummary>,
    /// Things that are not kernels, spelled.
    pub others: Vec<String>,
    /// What is wrong with the file but does not matter for its code.
    pub warnings: Vec<String>,
}

/// One line per kernel.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KernelSummary {
    /// Name as C++ source has it.
    pub name: String,
    /// Name in the symbol table.
    pub symbol: String,
    /// Instructions of the code section: functions behind the kernel and padding included.
    pub instructions: usize,
    /// General registers per thread.
    pub registers: u32,
    /// Static shared memory, bytes; unknown in relocatable files.
    pub shared: Option<u32>,
    /// Local stack frame per thread, bytes.
    pub local: Option<u32>,
    /// Constant memory with contents in the file, bytes.
    pub constant: u64,
    /// Parameters: number and bytes.
    pub parameters: (usize, u64),
    /// Barriers.
    pub barriers: u32,
    /// Call instructions.
    pub calls: usize,
    /// Loops; unknown when the control flow cannot be followed.
    pub loops: Option<usize>,
    /// Required threads of a block.
    pub required_block: Option<[u32; 3]>,
    /// Why the control flow cannot be followed.
    pub refused: Option<String>,
}

impl FileReport {
    /// One line per kernel, with a head.
    pub fn text(&self) -> String {
        let mut out = format!("{}  {}\n", self.file, self.isa);
        if self.refused.is_some() {
            // Why is said as a diagnostic.
            for kernel in &self.kernels {
                out.push_str(&format!("  {}\n", kernel.name));
            }
            return out;
        }
        let mut rows = vec![
            [
                "instr", "regs", "shared", "local", "const", "params", "bars", "calls", "loops",
                "block", "kernel",
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        for k in &self.kernels {
            let or_unknown = |n: Option<u32>| n.map_or("?".to_owned(), |n| n.to_string());
            rows.push(vec![
                k.instructions.to_string(),
                k.registers.to_string(),
                or_unknown(k.shared),
                k.local.unwrap_or(0).to_string(),
                k.constant.to_string(),
                format!("{}/{}", k.parameters.0, k.parameters.1),
                k.barriers.to_string(),
                k.calls.to_string(),
                k.loops.map_or("-".to_owned(), |n| n.to_string()),
                k.required_block
                    .map_or("-".to_owned(), |[x, y, z]| format!("{x},{y},{z}")),
                k.name.clone(),
            ]);
        }
        let mut columns = [Align::Right; 11];
        columns[10] = Align::Left;
        out.push_str(&table(0, &columns, &rows));
        if self.kernels.iter().any(|k| k.refused.is_some()) {
            out.push_str("\nnot followed:\n");
        }
        for k in &self.kernels {
            if let Some(why) = &k.refused {
                out.push_str(&format!("  {}: {why}\n", k.name));
            }
        }
        if !self.others.is_empty() {
            out.push_str("\nalso in the file:\n");
        }
        for other in &self.others {
            out.push_str(&format!("  {other}\n"));
        }
        for warning in &self.warnings {
            out.push_str(&format!("warning: {warning}\n"));
        }
        out
    }
}
