//! Tables of results: one row for each kernel or launch, in JSON lines or Parquet, so that the results of many files,
//! launches and machines can be joined.
//!
//! A table is a list of columns ([`Column`]), each with a name, a meaning and the function that takes its cell from a
//! record. Rows of all shards of a query are those of the whole query.

mod column;
mod parquet_file;
mod tables;
mod writer;

pub use column::{CellKind, Column, TableCell};
pub use tables::{AuditRecord, BoundRecord, ResultTable, RunOutcome, RunRecord};
pub use writer::{RowFormat, RowWriter};
