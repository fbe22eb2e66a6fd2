//! A sample of what an H200 did, and faults that are planted in it.

use std::path::{Path, PathBuf};

use super::{counts, logs, results, special, text};
use crate::repository::Repository;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../kernels/recorded/h200")
        .join(name)
}

fn contradictions_of_counts(change: impl Fn(&str) -> String) -> Vec<String> {
    let csv = text(&folder("counts/counts.csv")).expect("a table");
    counts::run(&change(&csv), &folder("counts")).expect("it is read")
}

fn contradictions_of_logs(change: impl Fn(&str) -> String) -> Vec<String> {
    let tsv = text(&folder("logs/logs.tsv")).expect("a table");
    logs::run(&change(&tsv), &folder("logs")).expect("it is read")
}

fn differing_results(change: impl Fn(&str) -> String) -> Vec<String> {
    let lines = text(&folder("results/results.jsonl")).expect("lines");
    let repository = Repository::find().expect("the repository");
    results::run(&repository, &change(&lines), &folder("results")).expect("they are read")
}

#[test]
fn recorded_results_are_computed_in_each_bit() {
    assert_eq!(differing_results(str::to_owned), Vec::<String>::new());
}

#[test]
fn recorded_values_of_special_functions_are_computed() {
    let differ = special::run(&folder("special")).expect("they are read");
    assert_eq!(differ, Vec::<String>::new());
}

/// A result in one buffer of one launch, and the result of one operand of one function.
#[test]
fn planted_results_are_found() {
    let digest = "\"sha256\": \"";
    let change = |lines: &str| {
        let at = lines.find(digest).expect("a digest") + digest.len();
        let other = if lines[at..].starts_with('0') {
            "1"
        } else {
            "0"
        };
        format!("{}{other}{}", &lines[..at], &lines[at + 1..])
    };
    let found = differing_results(change);
    assert_eq!(found.len(), 1, "{found:?}");

    let copies = tempfile::tempdir().expect("a folder");
    let mut bytes = std::fs::read(folder("special/rsq.bin")).expect("pairs");
    bytes[4] ^= 1;
    std::fs::write(copies.path().join("rsq.bin"), bytes).expect("it is written");
    let found = special::run(copies.path()).expect("they are read");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("rsq of 0x"), "{found:?}");
}

#[test]
fn recorded_counts_contradict_no_claim() {
    assert_eq!(
        contradictions_of_counts(str::to_owned),
        Vec::<String>::new()
    );
}

#[test]
fn recorded_logs_contradict_no_claim() {
    assert_eq!(contradictions_of_logs(str::to_owned), Vec::<String>::new());
}

/// Changes the lines that a condition chooses.
fn with_lines(
    table: &str,
    is_chosen: impl Fn(usize, &str) -> bool,
    change: impl Fn(&str) -> String,
) -> String {
    let lines = table.lines().enumerate();
    let lines = lines.map(|(number, line)| match is_chosen(number, line) {
        true => change(line),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A group that a stack keeps whole, in two parts.
#[test]
fn planted_groups_that_ran_apart_are_found() {
    let split_first_event = |line: &str| {
        let (head, events) = line.rsplit_once('\t').expect("events");
        let (point, rest) = events.split_once(":ffffffff:0 ").expect("all lanes begin");
        format!("{head}\t{point}:ffff:0 {point}:ffff0000:0 {rest}")
    };
    let found = contradictions_of_logs(|tsv| {
        with_lines(
            tsv,
            |_, line| line.starts_with("p0388\t0\t"),
            split_first_event,
        )
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("run together with a stack"), "{found:?}");
}

/// A point that more groups pass than have lanes there, so that no counts of steps exist.
#[test]
fn planted_executions_of_a_block_are_found() {
    let double_warps = |line: &str| {
        let mut columns: Vec<&str> = line.rsplitn(4, ',').collect();
        columns[2] = "7";
        columns.reverse();
        columns.join(",")
    };
    let launch = |_: usize, line: &str| line.contains("continue_loop.continue_loop.1,0,");
    let found = contradictions_of_counts(|csv| with_lines(csv, launch, double_warps));
    assert!(!found.is_empty());
}

/// A lane that leaves a block in its middle.
#[test]
fn planted_lanes_that_vanish_are_found() {
    let one_lane_less = |line: &str| {
        let mut columns: Vec<&str> = line.rsplitn(3, ',').collect();
        columns[0] = "5";
        columns[1] = "5";
        columns.reverse();
        columns.join(",")
    };
    let launch = |_: usize, line: &str| line.contains("continue_loop.continue_loop.1,16,");
    let found = contradictions_of_counts(|csv| with_lines(csv, launch, one_lane_less));
    assert!(found.iter().any(|what| what.contains("block")), "{found:?}");
}
