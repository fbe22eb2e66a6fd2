//! Report of measured instruction counts, compared with the statements that every run satisfies.
//!
//! For example, if a block's first instruction was counted 100 times and its last one 99 times, the counts are of no
//! complete run: no lane can leave inside a block.

use serde::Serialize;

use crate::table::{counted, wrapped};

/// Comparison of measured counts with the statements that every run of the kernel satisfies, and with flow facts.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CountsAuditReport {
    /// Always `warpbound.counts-audit/1`.
    pub schema: &'static str,
    /// The file with the kernel.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// The file of counts.
    pub counts: String,
    /// Tool that wrote the file, recognised by its columns.
    pub source: &'static str,
    /// Reason why the analyses refuse the kernel. Only single instructions and blocks were then compared.
    pub refused: Option<String>,
    /// Warps of the launch, as stated or as the executions of the first block; absent if neither is known.
    pub warps: Option<u64>,
    /// Threads of the launch, found in the same way.
    pub threads: Option<u64>,
    /// Instructions of the kernel.
    pub instructions: usize,
    /// Blocks that threads can reach.
    pub blocks: usize,
    /// Loops with a bound or a total, which were compared.
    pub loops: usize,
    /// Reasons why something was not compared.
    pub unchecked: Vec<String>,
    /// Number of violations.
    pub violations: usize,
    /// Violations.
    pub findings: Vec<CountsFinding>,
}

/// Statement that measured counts violate.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CountsFinding {
    /// Kind of statement: `instruction` (counts of one instruction contradict each other), `block` (the count differs
    /// from the first instruction of the block), `unreached` (no thread can reach it), `flow` (no counts of steps
    /// give these counts of blocks), `loop`, `never`, `guard` or `facts` (several facts together).
    pub claim: &'static str,
    /// Address of the instruction, block or loop header.
    pub at: Option<String>,
    /// Source line.
    pub source: Option<String>,
    /// Description.
    #[serde(rename = "what")]
    pub message: String,
}

impl CountsAuditReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.counts-audit/1";

    /// Returns the report as text.
    pub fn text(&self) -> String {
        let mut out = format!(
            "kernel {}  ({})\ncounts {}  ({})\n",
            self.kernel, self.file, self.counts, self.source
        );
        let number = |n: Option<u64>, of: &str| match n {
            // Saturates only the number in the text.
            Some(n) => counted(usize::try_from(n).unwrap_or(usize::MAX), of),
            None => format!("? {of}s"),
        };
        out.push_str(&format!(
            "  {}, {}; {}, {}, {} with a bound\n",
            number(self.warps, "warp"),
            number(self.threads, "thread"),
            counted(self.instructions, "instruction"),
            counted(self.blocks, "block"),
            counted(self.loops, "loop"),
        ));
        if let Some(why) = &self.refused {
            out.push_str(&wrapped(2, &format!("flow not compared: {why}")));
        }
        for why in &self.unchecked {
            out.push_str(&wrapped(2, &format!("not compared: {why}")));
        }
        // Findings are limited in number, violations are not.
        match self.violations {
            0 => out.push_str("  no violation\n"),
            n => out.push_str(&format!("  {}\n", counted(n, "violation"))),
        }
        for finding in &self.findings {
            let at = finding.at.as_deref().unwrap_or("-");
            let source = match &finding.source {
                Some(source) => format!(" ({source})"),
                None => String::new(),
            };
            let text = format!("{}: {at}{source}: {}", finding.claim, finding.message);
            out.push_str(&wrapped(4, &text));
        }
        out
    }
}
