//! Parquet files have the rows of the JSON lines: they are read by the reader of the same crate, and lines are parsed
//! by a parser of JSON.

use bytes::Bytes;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use warpbound_rows::{CellKind, ResultTable, RowFormat, RowWriter, TableCell};

const TABLES: [ResultTable; 3] = [ResultTable::Bounds, ResultTable::Audits, ResultTable::Runs];

/// Rows with values, without them, and with each of the extremes.
fn rows(table: ResultTable, count: i64) -> Vec<Vec<TableCell>> {
    let cell = |row: i64, column: usize, kind: CellKind| match (row + column as i64) % 4 {
        0 => TableCell::Absent,
        n => match kind {
            CellKind::Text => TableCell::Text(format!("line\n\"{row}\" é {n}")),
            CellKind::Integer if n == 1 => TableCell::Integer(i64::MAX),
            CellKind::Integer => TableCell::Integer(row * 1_000_003),
            CellKind::Real => TableCell::Real(0.25 * row as f64),
        },
    };
    let columns = table.columns();
    let row = |row| {
        columns
            .iter()
            .enumerate()
            .map(move |(n, c)| cell(row, n, c.1))
    };
    (0..count).map(|n| row(n).collect()).collect()
}

fn write(table: ResultTable, format: RowFormat, rows: &[Vec<TableCell>]) -> Vec<u8> {
    let mut writer = RowWriter::new(Vec::new(), format, table).expect("a vector takes all");
    for row in rows {
        writer.row(row.clone()).expect("a vector takes all");
    }
    writer.finish().expect("a vector takes all")
}

fn json(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Str(text) => Value::from(text.as_str()),
        Field::Long(number) => Value::from(*number),
        Field::Double(number) => Value::from(*number),
        other => panic!("{other:?} is no cell"),
    }
}

/// Rows of a Parquet file as JSON values.
fn read(file: Vec<u8>) -> Vec<Vec<(String, Value)>> {
    let reader = SerializedFileReader::new(Bytes::from(file)).expect("a file");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| {
        let row = row.expect("a row");
        let column = |(name, field): (&String, &Field)| (name.clone(), json(field));
        row.get_column_iter().map(column).collect()
    })
    .collect()
}

#[test]
fn a_parquet_file_has_the_rows_of_the_json_lines() {
    for table in TABLES {
        for count in [0, 1, 5, 20_000] {
            let rows = rows(table, count);
            let lines = write(table, RowFormat::JsonLines, &rows);
            let lines = String::from_utf8(lines).expect("text");
            let found = read(write(table, RowFormat::Parquet, &rows));
            assert_eq!(found.len(), rows.len());
            assert_eq!(lines.lines().count(), rows.len());
            for (line, found) in lines.lines().zip(&found) {
                let stated: Value = serde_json::from_str(line).expect("JSON");
                let object = stated.as_object().expect("an object");
                assert_eq!(object.len(), found.len());
                for (name, value) in found {
                    assert_eq!(&stated[name], value, "{name}");
                }
            }
        }
    }
}

#[test]
fn a_row_of_another_table_is_refused() {
    let row = rows(ResultTable::Runs, 2).remove(1);
    let mut file =
        RowWriter::new(Vec::new(), RowFormat::Parquet, ResultTable::Runs).expect("a vector");
    assert!(file.row(row.clone()).is_ok());
    for wrong in [Vec::new(), row.iter().rev().cloned().collect()] {
        assert!(file.row(wrong).is_err());
    }
}

#[test]
fn columns_have_distinct_names() {
    for table in TABLES {
        let mut names: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.columns().len());
    }
}
