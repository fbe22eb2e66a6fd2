//! Writer of rows.

use std::io::{self, Write};

use serde_json::{Map, Value};

use crate::column::{CellKind, JsonRow, TableCell};
use crate::parquet_file::ParquetFile;
use crate::tables::ResultTable;

/// Format of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowFormat {
    /// A JSON object on each line.
    JsonLines,
    /// A Parquet file.
    Parquet,
}

/// Writer of the rows of a table. Rows of a Parquet file are in memory until there are enough for a row group.
pub struct RowWriter<W: Write + Send> {
    table: ResultTable,
    out: RowOutput<W>,
}

enum RowOutput<W: Write + Send> {
    JsonLines(W),
    Parquet(ParquetFile<W>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Creates a table without rows.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn new(out: W, format: RowFormat, table: ResultTable) -> io::Result<RowWriter<W>> {
        let out = match format {
            RowFormat::JsonLines => RowOutput::JsonLines(out),
            RowFormat::Parquet => {
                RowOutput::Parquet(ParquetFile::new(out, table.name(), &table.columns())?)
            }
        };
        Ok(RowWriter { table, out })
    }

    /// Writes a row: a cell for each column of the table.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn row(&mut self, cells: Vec<TableCell>) -> io::Result<()> {
        match &mut self.out {
            RowOutput::JsonLines(out) => {
                writeln!(out, "{}", self.table.json_line(&cells))
            }
            RowOutput::Parquet(file) => file.row(cells),
        }
    }

    /// Writes the row that a JSON line states.
    ///
    /// # Errors
    ///
    /// The line is no row of this table, or the output cannot be written.
    pub fn json_line(&mut self, line: &str) -> io::Result<()> {
        let cells = self.table.parse_line(line);
        self.row(cells.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?)
    }

    /// Completes the table and returns the output.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
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
    /// Returns a row as a JSON object on one line, without line break.
    pub fn json_line(self, cells: &[TableCell]) -> String {
        let columns = &self.columns();
        let row = JsonRow { columns, cells };
        // Keys are strings and cells are plain, so that nothing can fail to be written.
        serde_json::to_string(&row).unwrap_or_default()
    }

    /// Parses a row.
    ///
    /// # Errors
    ///
    /// The line is no JSON object with exactly the columns of this table.
    pub fn parse_line(self, line: &str) -> Result<Vec<TableCell>, String> {
        let object: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| error.to_string())?;
        let columns = self.columns();
        if object.len() != columns.len() {
            let (found, all) = (object.len(), columns.len());
            return Err(format!("a row has {found} columns, not {all}"));
        }
        let cell = |&(name, kind): &(&'static str, CellKind)| {
            let value = object
                .get(name)
                .ok_or_else(|| format!("a row has no {name}"))?;
            let cell = match (value, kind) {
                (Value::Null, _) => Some(TableCell::Absent),
                (Value::String(text), CellKind::Text) => Some(TableCell::Text(text.clone())),
                (value, CellKind::Integer) => value.as_i64().map(TableCell::Integer),
                (value, CellKind::Real) => value.as_f64().map(TableCell::Real),
                (_, CellKind::Text) => None,
            };
            cell.ok_or_else(|| format!("{name} of a row is {value}"))
        };
        columns.iter().map(cell).collect()
    }
}
