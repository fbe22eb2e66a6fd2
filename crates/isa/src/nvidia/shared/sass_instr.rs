//! Instruction of a code section, as a table of either family decodes it. For example, the first instruction of
//! Maxwell's code has the address 8, because a control word comes before it.

use super::control::ControlWord;
use super::form::FormId;
use warpbound_base::CodeAddr;

/// Decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SassInstr {
    /// Address; never the address of a control word.
    pub addr: CodeAddr,
    /// Instruction word.
    pub word: u128,
    /// Scheduling decisions of the compiler.
    pub control: ControlWord,
    /// Encoding form; `None` for a word that is not an instruction of the architecture.
    pub form: Option<FormId>,
}
