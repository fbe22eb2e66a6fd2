//! mini-SIMT (`abstract-cta-2014`, section 4): an assembler driven by the rows of `isa/mini-simt/`.
//!
//! The language has variables instead of registers, and no machine code. For example, in a kernel whose first
//! variables are `n` and `i`, these are the registers `v0` and `v1` of [`REGISTERS`].

mod parse;
mod program;
mod table;

pub use program::{Instr, Program, Slot, SourceOperand};
pub use table::{FlowKind, Operation, Row, table};

use crate::RegisterFiles;

/// Register files of mini-SIMT.
pub const REGISTERS: RegisterFiles =
    RegisterFiles::compiled(include_str!("../../../isa/mini-simt/registers"));
