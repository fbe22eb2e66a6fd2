//! Rows of bounds, audits and runs: those of shards are those of the whole, and their values are those of the reports.

use serde_json::Value;
use warpbound_rows::ResultTable;

use crate::support::{CommandOutput, run};

const MATMUL: &str = "matmul_int.sm_61.cubin";
const LAUNCH: &str = "../cuda/matmul_int.8x8.toml";

/// Runs the command with words that are separated by spaces.
fn words(line: &str) -> CommandOutput {
    run(&line.split(' ').collect::<Vec<_>>())
}

/// Rows of a command, each as text and as JSON.
fn rows(line: &str) -> Vec<(String, Value)> {
    let output = words(&format!("{line} --format jsonl"));
    assert!(matches!(output.code, Some(0 | 2)), "{}", output.stderr);
    let lines = output.stdout.lines();
    lines.map(|line| (line.to_owned(), json(line))).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Asserts that the rows of the shards of a query are those of the query.
#[track_caller]
fn assert_shards(line: &str, count: usize) {
    let text = |rows: Vec<(String, Value)>| -> Vec<String> {
        let mut lines: Vec<String> = rows.into_iter().map(|(text, _)| text).collect();
        lines.sort();
        lines
    };
    let mut parts = Vec::new();
    for number in 1..=count {
        parts.extend(rows(&format!("{line} --shard {number}/{count}")));
    }
    let whole = rows(line);
    assert!(whole.len() > 1);
    assert_eq!(text(parts), text(whole));
}

#[test]
fn rows_of_shards_are_those_of_the_whole() {
    assert_shards("bound texture_kinds.sm_61.cubin --loop-default 3", 2);
    // More shards than kernels: some are empty.
    assert_shards("bound nested_loops.gfx803.co --cost cycles", 9);
    assert_shards(
        &format!("run {MATMUL} --launch {LAUNCH} --launch {LAUNCH} --functional"),
        2,
    );
    assert_shards(
        &format!("audit {MATMUL} --launch {LAUNCH} --launch {LAUNCH}"),
        2,
    );
}

#[test]
fn a_row_has_the_values_of_the_report() {
    let line = "bound nested_loops.gfx803.co --loop-default 4 --cost cycles";
    let document = json(&words(&format!("{line} --format json")).stdout);
    let kernels = document["kernels"].as_array().expect("a list");
    let rows = rows(line);
    assert_eq!(rows.len(), kernels.len());
    for (position, ((_, row), kernel)) in rows.iter().zip(kernels).enumerate() {
        assert_eq!(row["position"], position);
        for key in [
            "symbol", "isa", "code", "status", "bound", "reason", "lanes",
        ] {
            assert_eq!(row[key], kernel[key], "{key}");
        }
        assert_eq!(row["kernel"], kernel["name"]);
        assert_eq!(row["worst_path"], kernel["worst_path_value"]);
        assert_eq!(row["cycles"], kernel["cycles"]["bound"]);
        assert_eq!(row["cycles_reason"], kernel["cycles"]["reason"]);
        let loops = kernel["loops"].as_array().expect("a list");
        assert_eq!(row["loops"], loops.len());
        let derived = loops.iter().filter(|found| found["origin"] == "derived");
        assert_eq!(row["loops_derived"], derived.count());
    }
}

#[test]
fn rows_of_runs_and_audits_have_the_values_of_the_reports() {
    let line = format!("run {MATMUL} --launch {LAUNCH} --set l2.hit=300");
    let document = json(&words(&format!("{line} --format json")).done());
    let (_, row) = rows(&line).remove(0);
    for key in [
        "cycles",
        "machine",
        "ipc",
        "warp_instructions",
        "milliseconds",
        "warp_cycles",
    ] {
        assert_eq!(row[key], document[key], "{key}");
    }
    assert_eq!(row["set"], "l2.hit=300");
    assert_eq!(row["memory"], document["stalls"]["memory"]);
    assert_eq!(row["occupancy"], document["occupancy"]["achieved"]);

    let line = format!("audit {MATMUL} --launch {LAUNCH} --runs 2 --loop-default 20");
    let document = json(&words(&format!("{line} --format json")).done());
    let (_, row) = rows(&line).remove(0);
    for key in [
        "runs",
        "violations",
        "worst_simulated",
        "bound",
        "ratio",
        "warps",
        "profiled",
    ] {
        assert_eq!(row[key], document[key], "{key}");
    }
    assert_eq!(
        (&row["status"], &row["grid"]),
        (&Value::from("holds"), &Value::from("1,1,1"))
    );
}

#[test]
fn a_launch_that_cannot_be_run_has_a_row() {
    for command in ["run", "audit"] {
        let launches = format!("--launch {LAUNCH} --launch none.toml");
        let output = words(&format!("{command} {MATMUL} {launches} --format jsonl"));
        assert_eq!(output.code, Some(3));
        assert!(
            output.stderr.contains("none.toml: cannot be read"),
            "{}",
            output.stderr
        );
        let rows: Vec<Value> = output.stdout.lines().map(json).collect();
        assert_eq!(rows.len(), 2);
        assert_ne!(rows[0]["status"], "failed");
        assert_eq!(rows[1]["status"], "failed");
        assert_eq!(rows[1]["launch"], "none.toml");
        assert!(
            rows[1]["reason"]
                .as_str()
                .is_some_and(|why| why.contains("cannot be read"))
        );
        assert_eq!(rows[1]["bound"], Value::Null);
    }
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    for (line, message) in [
        (
            format!("bound {MATMUL} --format parquet"),
            "--format parquet needs --output",
        ),
        (
            format!("run {MATMUL} --launch a --launch b"),
            "several launches are for --format jsonl",
        ),
        (
            format!("audit {MATMUL} --launch a --launch b"),
            "several launches are for --format jsonl",
        ),
        (
            format!("run {MATMUL} --launch {LAUNCH} --shard 1/2"),
            "--shard is for --format jsonl",
        ),
        (
            format!("bound {MATMUL} --shard 3/2"),
            "expected NUMBER/COUNT",
        ),
        (
            format!("run {MATMUL} --launch {LAUNCH} --stats --format jsonl"),
            "--stats is for --format text",
        ),
    ] {
        let usage = words(&line).usage();
        assert!(usage.contains(message), "{line}: {usage}");
    }
    let none = words(&format!(
        "bound {MATMUL} --kernel none --format jsonl --shard 1/2"
    ));
    assert!(none.refusal().contains("there is no kernel"));
}

#[test]
fn a_parquet_file_appears_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.parquet");
    let name = path.to_str().expect("text");
    words(&format!(
        "bound {MATMUL} --loop-default 3 --format parquet --output {name}"
    ))
    .done();
    let contents = std::fs::read(&path).expect("a file");
    assert!(contents.starts_with(b"PAR1") && contents.ends_with(b"PAR1"));
}

/// The documentation has a line for each column.
#[test]
fn all_columns_are_documented() {
    let usage = include_str!("../../../../docs/usage.md");
    let section = usage.split("\n## Rows\n").nth(1).expect("a section");
    let section = section.split("\n## ").next().unwrap_or_default();
    for (table, command) in [
        (ResultTable::Bounds, "bound"),
        (ResultTable::Audits, "audit"),
        (ResultTable::Runs, "run"),
    ] {
        let lines = section.lines().filter(|line| line.starts_with("| `"));
        let of_command = lines.filter(|line| {
            let commands = line.split('|').nth(2).unwrap_or_default();
            commands.contains("all") || commands.contains(&format!("`{command}`"))
        });
        let names: String = of_command
            .filter_map(|line| line.split('|').nth(1))
            .collect();
        for (column, _) in table.columns() {
            assert!(
                names.contains(&format!("`{column}`")),
                "{column} of {command}"
            );
        }
    }
}
