//! Instruction sets: decoding, printing, reads and writes, control flow, all from tables.
//!
//! [`encoding`] finds the row of a table that matches a word of machine code; [`instr`] has the types that
//! instruction sets share. [`nvidia`] decodes Maxwell and Pascal with the rows of `isa/nvidia/`, [`amd`] decodes GCN3
//! with the rows of `isa/amd/`, and [`mini`] parses the text of mini-SIMT with the rows of `isa/mini-simt/`. None of
//! them gives instructions a meaning: that is the task of `ir`.

pub mod amd;
pub mod encoding;
pub mod instr;
pub mod mini;
pub mod nvidia;
mod program;
mod registers;
mod special;

pub use instr::{
    BranchTarget, CcTest, Effects, Guard, InstrFlow, MemoryEffect, MemorySpace, StackToken,
    ValueSource,
};
pub use nvidia::{
    Arch, ControlWord, FormId, Operand, OperandRole, OperandValue, SassInstr, TargetStyle, Timing,
    View,
};
pub use program::Program;
pub use registers::{Reg, RegisterFile, RegisterFiles, RegisterKind};
pub use special::{Axis, SpecialReg};
