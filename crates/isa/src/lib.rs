//! Instruction sets: decoding, printing, reads and writes, control flow, all from tables.
//!
//! [`instr`] is the vocabulary that instruction sets share; [`nvidia`] holds Maxwell and Pascal, driven by the
//! rows of `isa/nvidia/`, [`mini`] the text of mini-SIMT, driven by those of `isa/mini-simt/`.

pub mod instr;
pub mod mini;
pub mod nvidia;
mod program;

pub use instr::{
    MemoryEffect, CcTest, Effects, InstrFlow, Guard, Reg, ValueSource, MemorySpace, BranchTarget as FlowTarget, StackToken,
};
pub use nvidia::{Arch, ControlWord, FormId, Instr, Operand, OperandRole, TargetStyle, Timing, OperandValue, View};
pub use program::Program;
