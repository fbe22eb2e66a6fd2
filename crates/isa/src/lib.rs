//! Instruction sets: decoding, printing, reads and writes, control flow, all from tables.
//!
//! [`encoding`] finds the row of a table that matches a word of machine code; [`instr`] has the types that instruction
//! sets share; [`nvidia`] decodes Maxwell and Pascal by the rows of
//! `isa/nvidia/`, [`amd`] GCN3 by those of `isa/amd/`, [`mini`] parses the text of mini-SIMT by those of `isa/mini-simt/`. None gives instructions a
//! meaning: that is `ir`.

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
