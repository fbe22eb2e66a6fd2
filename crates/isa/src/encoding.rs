//! Tables of machine encodings: rows that match words of 32, 64 or 128 bits, and the division of code into
//! instructions. One table may have rows of several widths.
//!
//! A table is a text file with one row per line. The build script parses the part of a row before its first bar and
//! builds the decoding index: at run time both would take a good part of the time of a short listing, and the compiler
//! would take minutes. The format of a row is in `isa/nvidia/README.md`.

mod description;
mod layout;
mod row;
pub(crate) mod span;
mod table;

pub(crate) use layout::GROUP;

pub use description::{ParsedTable, TableDescription};
pub use layout::{CodeLayout, EncodedInstr, WordWidth};
pub use row::{ArchSet, LiteralCondition, RowHead};
pub use table::{EncodingTable, EncodingWord, RowPattern};
