//! Tests of the tables.
#![allow(clippy::expect_used, reason = "tests")]
#![allow(clippy::panic, reason = "tests")]

mod parquet_files;
