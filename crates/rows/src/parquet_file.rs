//! Parquet files of rows.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::column::{CellKind, TableCell};

/// Rows of a row group. They stay in memory until the group is written.
const GROUP_ROWS: usize = 16_384;

/// Parquet file under construction.
pub(crate) struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    kinds: Vec<CellKind>,
    /// Rows of the group that is not yet written.
    rows: Vec<Vec<TableCell>>,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Begins a file. Every column is optional, so a row may lack any value.
    pub(crate) fn new(
        out: W,
        table: &str,
        columns: &[(&'static str, CellKind)],
    ) -> io::Result<ParquetFile<W>> {
        let fields = columns.iter().map(|&(name, kind)| {
            let (physical, logical) = match kind {
                CellKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
                CellKind::Integer => (PhysicalType::INT64, None),
                CellKind::Real => (PhysicalType::DOUBLE, None),
            };
            let field = Type::primitive_type_builder(name, physical);
            // Any cell may be absent.
            let field = field.with_repetition(Repetition::OPTIONAL);
            field.with_logical_type(logical).build().map(Arc::new)
        });
        let fields = fields.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder(table).with_fields(fields).build();
        let properties = WriterProperties::builder()
            // Without this, the file would name the version of the writer's library.
            .set_created_by("warpbound".to_owned())
            .build();
        let schema = Arc::new(schema.map_err(failed)?);
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties));
        Ok(ParquetFile {
            writer: writer.map_err(failed)?,
            kinds: columns.iter().map(|(_, kind)| *kind).collect(),
            rows: Vec::new(),
        })
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<TableCell>) -> io::Result<()> {
        // The writer of a column takes one type, so a cell of another kind would be lost as an absent one.
        let fits = |(kind, cell): (&CellKind, &TableCell)| cell.kind().is_none_or(|of| of == *kind);
        if cells.len() != self.kinds.len() || !self.kinds.iter().zip(&cells).all(fits) {
            let message = "the cells of a row do not suit the columns";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        self.rows.push(cells);
        // Columns of a group are written one after the other, so its rows must all be there.
        match self.rows.len() < GROUP_ROWS {
            true => Ok(()),
            false => self.write_group(),
        }
    }

    fn write_group(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        // A row group without rows is useless, and `finish` comes here even after a full group.
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for (index, kind) in self.kinds.iter().enumerate() {
            let cells = rows.iter().filter_map(|row| row.get(index));
            let Some(column) = group.next_column().map_err(failed)? else {
                break;
            };
            write_column(column, *kind, cells).map_err(failed)?;
        }
        group.close().map(drop).map_err(failed)
    }

    /// Writes the remaining rows and the description of the file.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.write_group()?;
        self.writer.into_inner().map_err(failed)
    }
}

/// Writes the cells of a column, which have its kind or are absent.
fn write_column<'a>(
    mut column: SerializedColumnWriter<'_>,
    kind: CellKind,
    cells: impl Iterator<Item = &'a TableCell>,
) -> Result<(), ParquetError> {
    let (mut texts, mut integers, mut reals) = (Vec::new(), Vec::new(), Vec::new());
    // Definition levels: 1 for a value and 0 for an absent one. Absent values are not stored.
    let mut levels = Vec::new();
    for cell in cells {
        let is_there = match (cell, kind) {
            (TableCell::Text(text), CellKind::Text) => {
                texts.push(ByteArray::from(text.as_str()));
                true
            }
            (TableCell::Integer(number), CellKind::Integer) => {
                integers.push(*number);
                true
            }
            (TableCell::Real(number), CellKind::Real) => {
                reals.push(*number);
                true
            }
            _ => false,
        };
        levels.push(i16::from(is_there));
    }
    match kind {
        CellKind::Text => {
            let typed = column.typed::<ByteArrayType>();
            typed.write_batch(&texts, Some(&levels), None)?;
        }
        CellKind::Integer => {
            let typed = column.typed::<Int64Type>();
            typed.write_batch(&integers, Some(&levels), None)?;
        }
        CellKind::Real => {
            let typed = column.typed::<DoubleType>();
            typed.write_batch(&reals, Some(&levels), None)?;
        }
    }
    column.close()
}

fn failed(error: ParquetError) -> io::Error {
    // An error of the output arrives wrapped. Unwrapped it keeps its kind, for example a broken pipe.
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}
