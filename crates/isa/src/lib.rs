//! Instruction sets: decoding, printing, reads and writes, control flow, all from tables.
//!
//! [`encoding`] finds the row of a table that matches a word of machine code; [`instr`] has the types that
//! instruction sets share. [`nvidia`] decodes NVIDIA's machine code with the rows of `isa/nvidia/`, [`amd`] decodes GCN3
//! with the rows of `isa/amd/`, and [`mini`] parses the text of mini-SIMT with the rows of `isa/mini-simt/`. None of
//! them gives instructions a meaning: that is the task of `ir`.
//!
//! # Concepts
//!
//! * rows that match words of 32, 64 or 128 bits: `isa/src/encoding/row.rs`, `table.rs`, `description.rs`
//! * division of code into instructions: `isa/src/encoding/layout.rs`, `span.rs`
//! * tables that are compiled in: `isa/build.rs`, `isa/src/compiled.rs`, `isa/src/nvidia/descriptions.rs`
//! * types that instruction sets share: `isa/src/instr.rs`, `program.rs`
//! * decoding of NVIDIA's machine code: `isa/src/nvidia/shared/lookup.rs`, `form.rs`, `operand.rs`
//! * layout of words and table of a family: `isa/src/nvidia/maxwell.rs`, `volta.rs`; rows
//!   `isa/nvidia/maxwell.forms`, `isa/nvidia/volta.forms`
//! * opcodes and modifiers as values: `isa/src/nvidia/shared/opcode.rs`, `modifier.rs`; names `isa/nvidia/maxwell.names`
//! * control words: `isa/src/nvidia/shared/control.rs`
//! * special registers: `isa/src/special.rs`
//! * register files of an instruction set: `isa/src/registers.rs`; `isa/nvidia/maxwell.registers`,
//!   `isa/amd/gfx803.registers`
//! * unit and latency class of an instruction: `isa/src/nvidia/shared/timing.rs`, columns of `isa/nvidia/maxwell.names`; GCN3:
//!   `isa/src/amd/class.rs`, `isa/amd/gfx803.classes`
//! * encoding from typed operands: `isa/src/nvidia/shared/encode/builder.rs`, `fields.rs`; other code
//!   targets: `targets.rs`; check `cargo xtask encode-check`
//! * decoding, printing and encoding of GCN3: `isa/src/amd/form.rs`, `text.rs`, `encode.rs`; rows
//!   `isa/amd/gfx803.forms`; compared with LLVM: `xtask/src/disasm_compare/gcn3.rs`
//! * text of mini-SIMT: `isa/src/mini/parse.rs`; rows `isa/mini-simt`

pub mod amd;
mod compiled;
pub mod encoding;
pub mod instr;
pub mod mini;
pub mod nvidia;
mod program;
mod registers;
mod special;

pub use instr::{
    BranchTarget, CcTest, Effects, FurtherCondition, Guard, InstrFlow, MemoryEffect, MemorySpace,
    StackToken, ValueSource,
};
pub use nvidia::{
    Arch, ControlWord, FormId, Operand, OperandRole, OperandValue, SassInstr, TargetStyle, Timing,
    View,
};
pub use program::Program;
pub use registers::{Reg, RegisterFile, RegisterFiles, RegisterKind};
pub use special::{Axis, SpecialReg};
