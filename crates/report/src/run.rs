//! What a run of a kernel was like.

use serde::Serialize;

/// A run that came to its end.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// Always `warpbound.run/1`.
    pub schema: &'static str,
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// The machine.
    pub machine: String,
    /// Threads of the block.
    pub threads: u32,
    /// Warps of the block.
    pub warps: usize,
    /// Lanes of a warp.
    pub warp_width: u32,
    /// Cycles from the first issue to the last. What one run took is no bound of others.
    pub cycles: u64,
    /// Cycles in which a warp issued an instruction.
    pub issued: u64,
    /// Cycles in which none did.
    pub stalled: u64,
    /// Words of the memory that were compared with what the launch file expects, all equal.
    pub checked_words: usize,
}

impl RunReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.run/1";

    /// A few lines.
    pub fn text(&self) -> String {
        let plural = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut out = format!(
            "kernel {}  ({}, machine {})\n  {} in {} of width {}\n",
            self.kernel,
            self.file,
            self.machine,
            plural(self.threads.into(), "thread"),
            plural(self.warps as u64, "warp"),
            self.warp_width
        );
        out.push_str(&format!(
            "  {}: in {} a warp issued an instruction, in {} none was ready\n",
            plural(self.cycles, "cycle"),
            self.issued,
            self.stalled
        ));
        if self.checked_words > 0 {
            let words = plural(self.checked_words as u64, "word");
            out.push_str(&format!(
                "  {words} of the memory are as the launch file expects\n"
            ));
        }
        out
    }
}
