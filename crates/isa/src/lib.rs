//! Instruction sets: decoding, printing, reads and writes, control flow, all from tables.
//!
//! [`instr`] is the vocabulary that instruction sets share; [`nvidia`] holds Maxwell and Pascal, driven by the
//! rows of `isa/nvidia/`, [`mini`] the text of mini-SIMT, driven by those of `isa/mini-simt/`.

pub mod instr;
pub mod mini;
pub mod nvidia;
mod program;

pub use instr::{
    Access, CcTest, Effects, Flow, Guard, Reg, Source, Space, Target as FlowTarget, Token,
};
pub use nvidia::{Arch, Control, FormId, Instr, Operand, Role, TargetStyle, Timing, Value, View};
pub use program::Program;
