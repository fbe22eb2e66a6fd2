//! mini-SIMT: text to instructions, driven by the rows of `isa/mini-simt/`.

mod parse;
mod program;
mod table;

pub use program::{Instr, Operand, Program, Slot};
pub use table::{FlowKind, Operation, Row, table};
