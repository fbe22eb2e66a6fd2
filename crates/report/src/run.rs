//! Report about a run of a mini-SIMT kernel.

use serde::Serialize;

/// Result of a run that ended without a fault.
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
    /// Cycles from the first issue to the last. A simulated time is not a bound.
    pub cycles: u64,
    /// Cycles when a warp issued an instruction.
    pub issued: u64,
    /// Cycles when no warp issued.
    pub stalled: u64,
    /// Number of memory words that were compared with the values that the launch file expects. All are equal.
    pub checked_words: usize,
}

impl RunReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.run/1";

    /// Returns the report as a few lines of text.
    pub fn text(&self) -> String {
        let plural = |n: u64, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
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
