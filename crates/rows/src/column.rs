//! Columns of tables, and cells.
//!
//! For example, the column `bound` of the table of bounds has the kind [`CellKind::Integer`]. A kernel without a
//! bound has the cell [`TableCell::Absent`] there, which is null in JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// Value of a column in a row.
#[derive(Clone, PartialEq, Debug)]
pub enum TableCell {
    /// No value.
    Absent,
    /// Text.
    Text(String),
    /// Whole number.
    Integer(i64),
    /// Floating-point number.
    Real(f64),
}

impl TableCell {
    /// Returns the kind of the value, if there is one.
    pub fn kind(&self) -> Option<CellKind> {
        match self {
            TableCell::Absent => None,
            TableCell::Text(_) => Some(CellKind::Text),
            TableCell::Integer(_) => Some(CellKind::Integer),
            TableCell::Real(_) => Some(CellKind::Real),
        }
    }
}

impl Serialize for TableCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TableCell::Absent => serializer.serialize_none(),
            TableCell::Text(text) => serializer.serialize_str(text),
            TableCell::Integer(number) => serializer.serialize_i64(*number),
            TableCell::Real(number) => serializer.serialize_f64(*number),
        }
    }
}

/// Kind of the values in a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellKind {
    /// Text.
    Text,
    /// Signed whole numbers of 64 bits.
    Integer,
    /// Floating-point numbers of 64 bits.
    Real,
}

/// Column of a table whose records have type `R`.
pub struct Column<R> {
    /// Name in JSON and in Parquet.
    pub name: &'static str,
    value: ColumnValue<R>,
}

/// Function that computes the value of a column from a record.
enum ColumnValue<R> {
    Text(fn(&R) -> Option<String>),
    Integer(fn(&R) -> Option<i64>),
    Real(fn(&R) -> Option<f64>),
}

impl<R> Column<R> {
    pub(crate) fn text(name: &'static str, value: fn(&R) -> Option<String>) -> Column<R> {
        let value = ColumnValue::Text(value);
        Column { name, value }
    }

    pub(crate) fn integer(name: &'static str, value: fn(&R) -> Option<i64>) -> Column<R> {
        let value = ColumnValue::Integer(value);
        Column { name, value }
    }

    pub(crate) fn real(name: &'static str, value: fn(&R) -> Option<f64>) -> Column<R> {
        let value = ColumnValue::Real(value);
        Column { name, value }
    }

    /// Returns the kind of the values.
    pub fn kind(&self) -> CellKind {
        match self.value {
            ColumnValue::Text(_) => CellKind::Text,
            ColumnValue::Integer(_) => CellKind::Integer,
            ColumnValue::Real(_) => CellKind::Real,
        }
    }

    /// Returns the cell of a record.
    pub fn cell(&self, record: &R) -> TableCell {
        match self.value {
            ColumnValue::Text(value) => value(record).map_or(TableCell::Absent, TableCell::Text),
            ColumnValue::Integer(value) => {
                value(record).map_or(TableCell::Absent, TableCell::Integer)
            }
            ColumnValue::Real(value) => value(record).map_or(TableCell::Absent, TableCell::Real),
        }
    }
}

/// Row as a JSON object, with the columns in order.
pub(crate) struct JsonRow<'a> {
    pub(crate) columns: &'a [(&'static str, CellKind)],
    pub(crate) cells: &'a [TableCell],
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for ((name, _), cell) in self.columns.iter().zip(self.cells) {
            map.serialize_entry(name, cell)?;
        }
        map.end()
    }
}
