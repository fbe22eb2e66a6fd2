//! Instruction mix of a kernel.

use serde::Serialize;

use crate::KernelReport;

/// Instruction mix of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct MixReport {
    /// Kernel.
    pub kernel: String,
    /// All operations.
    pub operations: usize,
    /// Operations with a control effect.
    pub control: usize,
    /// Barriers.
    pub barriers: usize,
}

impl KernelReport for MixReport {
    const SCHEMA_OF_SEVERAL: &'static str = "warpbound.mixes/1";

    fn to_text(&self) -> String {
        format!(
            "{}: {} operations, {} with a control effect, {} barriers\n",
            self.kernel, self.operations, self.control, self.barriers
        )
    }
}
