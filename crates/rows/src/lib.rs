//! Tables of results: one row for each kernel or launch, as JSON lines or in Parquet, so that results of many files,
//! launches and machines can be joined.
//!
//! A table is a list of columns ([`Column`]). Each has a name, a meaning, and the function that computes its cell
//! from a record. The rows of all shards of a query are together the rows of the whole query. For example, four
//! shards of a library give the same rows as one query, and `position` restores their order.
//!
//! # Concepts
//!
//! * columns of rows: `rows/src/tables.rs`, `column.rs`
//! * rows as JSON lines or Parquet: `rows/src/writer.rs`, `parquet_file.rs`; tests: `rows/tests/it/parquet_files.rs`,
//!   `cli/tests/it/rows.rs`

mod column;
mod parquet_file;
mod tables;
mod writer;

pub use column::{CellKind, Column, TableCell};
pub use tables::{AuditRecord, BoundRecord, ResultTable, RunOutcome, RunRecord};
pub use writer::{RowFormat, RowWriter};
