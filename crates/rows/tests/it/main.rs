//! Tests of the tables.

mod parquet_files;
