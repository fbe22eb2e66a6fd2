//! Assembly text of instructions, as LLVM's disassembler prints it.

use super::program::GcnInstr;
use crate::TargetStyle;

impl GcnInstr {
    /// Assembly text; `None` for a dword that is no instruction.
    pub fn text(&self, _style: TargetStyle<'_>) -> Option<String> {
        Some(self.opcode()?.name().to_owned())
    }
}
