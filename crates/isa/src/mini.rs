//! mini-SIMT (`abstract-cta-2014`, section 4): an assembler driven by the rows of `isa/mini-simt/`.

mod parse;
mod program;
mod table;

pub use program::{Instr, Program, Slot, SourceOperand};
pub use table::{FlowKind, Operation, Row, table};

use crate::RegisterFiles;

/// Register files of mini-SIMT.
pub const REGISTERS: RegisterFiles =
    RegisterFiles::compiled(include_str!("../../../isa/mini-simt/registers"));
