//! Encoding: words from their fields, from typed operands, and with other code targets.
//!
//! The rows of a table are read in both directions. [`InstrFields`] is a word taken apart into the values of
//! all fields that its row names; [`encode`] puts them together again. [`WordBuilder`] makes a word from an opcode,
//! modifiers and operands: it selects the row, computes the bits, and compares the decoded result with the request.

mod brackets;
mod builder;
mod error;
mod fields;
mod new_operand;
mod place;
mod search;
mod targets;
#[cfg(test)]
mod tests;

pub use builder::{BuiltWord, WordBuilder};
pub use error::{EncodeError, OperandMismatch};
pub(crate) use fields::NamedField;
pub use fields::{FieldRole, InstrFields, encode};
pub use new_operand::NewOperand;
pub use targets::{with_register_target_offset, with_target};
