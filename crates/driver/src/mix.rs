//! Query: instruction mix of a kernel.

use warpbound_analyse::mix::InstructionMix;
use warpbound_base::Diagnostic;
use warpbound_load::Kernel;
use warpbound_report::mix::MixReport;

use crate::Session;

impl Session {
    /// Counts the operations of a kernel.
    ///
    /// # Errors
    ///
    /// See [`Session::prepare`].
    pub fn mix(&self, kernel: &Kernel) -> Result<MixReport, Diagnostic> {
        let mix = InstructionMix::count(&self.prepare(kernel)?.code);
        Ok(MixReport {
            kernel: kernel.demangled(),
            operations: mix.operations,
            control: mix.control,
            barriers: mix.barriers,
        })
    }
}
