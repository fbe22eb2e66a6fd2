//! Writer of rows in either format.

use std::io::{self, Write};

use crate::column::{JsonRow, TableCell};
use crate::parquet_file::ParquetFile;
use crate::tables::ResultTable;

/// Format of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowFormat {
    /// One JSON object per line.
    JsonLines,
    /// A Parquet file.
    Parquet,
}

/// Writer of the rows of a table. Rows of a Parquet file stay in memory until they fill a row group.
pub struct RowWriter<W: Write + Send> {
    table: ResultTable,
    out: RowOutput<W>,
}

enum RowOutput<W: Write + Send> {
    JsonLines(W),
    Parquet(Box<ParquetFile<W>>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Creates a table without rows.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn new(out: W, format: RowFormat, table: ResultTable) -> io::Result<RowWriter<W>> {
        let out = match format {
            RowFormat::JsonLines => RowOutput::JsonLines(out),
            RowFormat::Parquet => {
                let file = ParquetFile::new(out, table.name(), &table.columns())?;
                RowOutput::Parquet(Box::new(file))
            }
        };
        Ok(RowWriter { table, out })
    }

    /// Writes a row, which has a cell for each column of the table.
    ///
    /// # Errors
    ///
    /// If the output cannot be written, or if the cells do not fit the columns.
    pub fn row(&mut self, cells: Vec<TableCell>) -> io::Result<()> {
        match &mut self.out {
            RowOutput::JsonLines(out) => {
                writeln!(out, "{}", self.table.json_line(&cells))
            }
            RowOutput::Parquet(file) => file.row(cells),
        }
    }

    /// Completes the table and returns the output.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn finish(self) -> io::Result<W> {
        match self.out {
            RowOutput::JsonLines(mut out) => {
                out.flush()?;
                Ok(out)
            }
            RowOutput::Parquet(file) => file.finish(),
        }
    }
}

impl ResultTable {
    /// Returns a row as a JSON object on one line, without a line break.
    pub fn json_line(self, cells: &[TableCell]) -> String {
        let columns = &self.columns();
        let row = JsonRow { columns, cells };
        // Cannot fail, because keys are strings and cells are plain values.
        serde_json::to_string(&row).unwrap_or_default()
    }
}
