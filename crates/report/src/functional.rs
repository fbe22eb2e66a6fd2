//! What a run without time was like.

use serde::Serialize;

use crate::table::{Align, counted, grouped, table};

/// A launch of a grid that came to its end.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionalReport {
    /// Always `warpbound.functional/1`.
    pub schema: &'static str,
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Instructions that warps issued.
    pub warp_instructions: u64,
    /// The same for each active lane.
    pub thread_instructions: u64,
    /// How often the lanes of a warp went different ways.
    pub divergences: u64,
    /// By opcode, the most frequent first.
    pub mnemonics: Vec<MnemonicCount>,
    /// Elements of buffers that were compared with what the launch expects, all equal.
    pub checked_elements: usize,
}

/// How often an opcode was issued.
#[derive(Clone, Debug, Serialize)]
pub struct MnemonicCount {
    /// The opcode.
    pub mnemonic: String,
    /// By warps.
    pub warp_instructions: u64,
    /// The same for each active lane.
    pub thread_instructions: u64,
}

impl FunctionalReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.functional/1";

    /// A few lines; with `stats` also a line for each opcode.
    pub fn text(&self, stats: bool) -> String {
        let size = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
        let mut out = format!(
            "kernel {}  ({})\n  {} blocks of {} threads\n  {} warp instructions, {} active lanes on average; \
             diverged {}\n",
            self.kernel,
            self.file,
            size(self.grid),
            size(self.block),
            grouped(self.warp_instructions),
            lanes(self.thread_instructions, self.warp_instructions),
            counted(self.divergences as usize, "time")
        );
        if self.checked_elements > 0 {
            let elements = counted(self.checked_elements, "element");
            out.push_str(&format!(
                "  {elements} of buffers are as the launch file expects\n"
            ));
        }
        if stats {
            let head = ["opcode", "warps", "active lanes"].map(str::to_owned);
            let mut rows = vec![head.to_vec()];
            rows.extend(self.mnemonics.iter().map(|count| {
                vec![
                    count.mnemonic.clone(),
                    grouped(count.warp_instructions),
                    lanes(count.thread_instructions, count.warp_instructions),
                ]
            }));
            out.push_str(&table(4, &[Align::Left, Align::Right, Align::Right], &rows));
        }
        out
    }
}

/// An average with one digit behind the point.
fn lanes(threads: u64, warps: u64) -> String {
    let tenths = threads.saturating_mul(10) / warps.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}
