//! Report of hazards that control words leave open.

use std::fmt::Write as _;

use serde::Serialize;

use crate::report_writer::KernelReport;

/// Hazards of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct LintReport {
    /// Always `warpbound.lint/1`.
    pub schema: &'static str,
    /// Demangled name.
    pub kernel: String,
    /// Number of instructions, padding included.
    pub instructions: usize,
    /// Number of uses of results of fixed latency whose distance was checked.
    pub dependences: usize,
    /// Number of such uses for which no distance is known, so that they were not checked.
    pub not_judged: usize,
    /// Hazards, in order of address.
    pub findings: Vec<FindingReport>,
    /// Hazards that exist only if a lane executes both instructions, whose guards differ. The computations of the
    /// code may exclude that, so these are no reason for an exit code.
    pub possible: Vec<FindingReport>,
}

/// Hazard that control words leave open.
#[derive(Clone, Debug, Serialize)]
pub struct FindingReport {
    /// Address of the instruction that comes too early.
    pub address: String,
    /// The instruction.
    pub instruction: String,
    /// Source line.
    pub source: Option<String>,
    /// Kind of the hazard.
    pub hazard: &'static str,
    /// Register.
    pub register: String,
    /// Address of the earlier instruction.
    pub producer: String,
    /// The earlier instruction.
    pub producing: String,
    /// Minimum number of cycles between both issues, for a use that is too early.
    pub cycles: Option<u8>,
    /// Minimum number of cycles that is safe.
    pub least: Option<u8>,
}

impl LintReport {
    /// Name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.lint/1";
}

impl KernelReport for LintReport {
    const SCHEMA_OF_SEVERAL: &'static str = "warpbound.lints/1";

    fn to_text(&self) -> String {
        let mut text = format!(
            "{}: {} instructions, {} results of fixed latency read soon, {} findings",
            self.kernel,
            self.instructions,
            self.dependences,
            self.findings.len()
        );
        if self.not_judged > 0 {
            let number = self.not_judged;
            let _ = write!(text, ", {number} uses not judged");
        }
        if !self.possible.is_empty() {
            let number = self.possible.len();
            let _ = write!(text, ", {number} more if both guards hold in a lane");
        }
        text.push('\n');
        let certain = self.findings.iter().map(|finding| (finding, ""));
        // Certain hazards come first, because only they fail the check.
        let possible = self.possible.iter().map(|finding| (finding, "possibly "));
        for (finding, how) in certain.chain(possible) {
            let FindingReport {
                address,
                instruction,
                hazard,
                register,
                producer,
                producing,
                ..
            } = finding;
            let _ = write!(
                text,
                "  {address}: {how}{hazard}: {register} of {producer}: {producing} -> {instruction}"
            );
            // Only a read that is too early has a distance.
            if let (Some(cycles), Some(least)) = (finding.cycles, finding.least) {
                let _ = write!(text, ", after {cycles} cycles of {least}");
            }
            if let Some(source) = &finding.source {
                let _ = write!(text, " ({source})");
            }
            text.push('\n');
        }
        text
    }
}
