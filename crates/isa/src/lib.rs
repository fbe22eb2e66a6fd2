//! Instruction sets: decoding, printing, reads and writes, control flow, all from tables.
//!
//! [`instr`] is the vocabulary every instruction set shares; [`nvidia`] holds Maxwell and Pascal,
//! driven by the rows of `isa/nvidia/`.

pub mod instr;
pub mod nvidia;

pub use instr::{
    Access, CcTest, Effects, Flow, Guard, Reg, Source, Space, Target as FlowTarget, Token,
};
pub use nvidia::{
    Arch, Control, FormId, Instr, Operand, Program, Role, TargetStyle, Timing, Value, View,
};
