//! `run` and `cta` on the programs of `kernels/msimt`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{CommandOutput, built_folder, run};

/// Launch files of the examples, without `.toml`.
fn launches() -> BTreeSet<String> {
    let folder = built_folder().join("../msimt");
    let entries = std::fs::read_dir(folder).expect("kernels/msimt");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect()
}

/// A command on the program of a launch.
fn launched(command: &str, launch: &str, rest: &[&str]) -> CommandOutput {
    let program = launch.split('.').next().unwrap_or_default();
    let (program, launch) = (
        format!("../msimt/{program}.msimt"),
        format!("../msimt/{launch}.toml"),
    );
    run(&[&[command, &program, "--launch", &launch], rest].concat())
}

fn parsed(message: &str) -> Value {
    serde_json::from_str(message).expect("JSON")
}

/// A row of the table in `kernels/msimt/README.md`.
struct Row {
    launch: String,
    threads: u64,
    width: u64,
    /// Simulated cycles; `None` if the run fails.
    cycles: Option<u64>,
}

fn table() -> Vec<Row> {
    let text = std::fs::read_to_string(built_folder().join("../msimt/README.md")).expect("it");
    let rows = text.lines().skip_while(|line| !line.contains("| cycles |"));
    let mut program = String::new();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, threads, _, cycles] = cells[..] else {
            panic!("not a row: {line}");
        };
        if !name.is_empty() {
            program = name.trim_matches('`').to_owned();
        }
        let number = |text: &str| text.trim().parse().expect("a number");
        let (threads, width) = threads.split_once('/').expect("threads / lanes");
        let (threads, width): (u64, u64) = (number(threads), number(width));
        // The one program that has several launches: they are named after threads and warps.
        let launch = match program.as_str() {
            "triangle_sum" => format!("triangle_sum.{threads}x{}", threads.div_ceil(width)),
            _ => program.clone(),
        };
        Row {
            launch,
            threads,
            width,
            cycles: (cycles != "fails").then(|| number(cycles)),
        }
    };
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(row).collect()
}

#[test]
fn examples_take_the_cycles_of_the_table() {
    let table = table();
    let named: BTreeSet<String> = table.iter().map(|row| row.launch.clone()).collect();
    assert_eq!(named, launches());
    for row in table {
        let message = launched("run", &row.launch, &["--format", "json"]);
        let Some(cycles) = row.cycles else {
            let refusal = message.refusal();
            assert!(refusal.contains("barrier"), "{refusal}");
            continue;
        };
        let report = parsed(&message.done());
        assert_eq!(report["cycles"], cycles, "{}", row.launch);
        assert_eq!(
            (&report["threads"], &report["warp_width"]),
            (&json!(row.threads), &json!(row.width)),
            "{}",
            row.launch
        );
        assert!(report["checked_words"].as_u64() > Some(0), "{}", row.launch);
        let (issued, stalled) = (report["issued"].as_u64(), report["stalled"].as_u64());
        assert_eq!(issued.zip(stalled).map(|(a, b)| a + b), Some(cycles));
        let trace = launched("run", &row.launch, &["--trace"]).done();
        assert_eq!(trace.lines().count() as u64, cycles, "{}", row.launch);
        let stalls = trace.lines().filter(|line| line.contains(": stall"));
        assert_eq!(Some(stalls.count() as u64), stalled, "{}", row.launch);
    }
}

/// Launches that must fail do, with the documented messages.
#[test]
fn launches_that_fail() {
    let mut found = 0;
    for launch in launches() {
        let path = built_folder().join(format!("../msimt/{launch}.toml"));
        let text = std::fs::read_to_string(path).expect("a launch");
        let word = text.lines().find_map(|line| line.strip_prefix("fails = "));
        if let Some(word) = word {
            found += 1;
            let refusal = launched("run", &launch, &[]).refusal();
            assert!(refusal.contains(word.trim_matches('"')), "{refusal}");
        }
    }
    assert_eq!(found, 1);
}

/// Figure 2 of the paper: the lines that it prints, at the cycles at which it prints them.
#[test]
fn trace_of_figure_2() {
    let trace = launched("run", "triangle_sum.4x1", &["--trace"]).done();
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines.len(), 91);
    for expected in [
        "00 l00: const 1111",
        "15 l15: load 1111",
        "25 l16: binop 1111",
        "33 l08: bz 1111",
        "34 l23: sync 1000",
        "35 l09: binop 0111",
        "86 l08: bz 0001",
        "87 l23: sync 0001",
        "88 l24: binop 1111",
        "89 l25: binop 1111",
        "90 l26: store 1111",
    ] {
        let cycle: usize = expected[..2].parse().expect("a cycle");
        assert_eq!(lines[cycle], expected);
    }
    // No issue while the only warp waits for its first load.
    assert_eq!(
        lines[16..25],
        [16, 17, 18, 19, 20, 21, 22, 23, 24].map(|c| format!("{c} l15: stall"))
    );
}

#[test]
fn the_trace_ends_at_the_fault() {
    let message = launched("run", "barrier_in_branch", &["--trace"]);
    assert_eq!(message.code, Some(3));
    assert_eq!(message.stdout.lines().count(), 6, "{}", message.stdout);
    assert!(message.stdout.starts_with("00 #0: "), "{}", message.stdout);
}

/// The paper estimates 804 cycles for 4 warps of 4 threads; its own simulator takes 860.
#[test]
fn abstract_simulation_of_triangle_sum() {
    let report = parsed(&launched("cta", "triangle_sum.16x4", &["--format", "json"]).done());
    assert_eq!(
        (&report["estimate"], &report["corrected"]),
        (&json!(804), &json!(812))
    );
    let sound = report["sound"].as_u64().expect("a bound");
    assert!((685..=860).contains(&sound), "{sound}");
    let steps: Vec<(u64, u64)> = report["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| {
            let count = step["count"].as_u64().unwrap_or(1);
            (count, step["cycles"].as_u64().expect("cycles"))
        })
        .collect();
    assert_eq!(
        steps,
        [(1, 28), (4, 70), (4, 55), (4, 40), (4, 25), (1, 16)]
    );
    assert_eq!(
        steps
            .iter()
            .map(|(count, cycles)| count * cycles)
            .sum::<u64>(),
        804
    );
}

/// No run takes longer than its bound.
#[test]
fn bounds_of_examples_hold() {
    let mut bounded = 0;
    for row in table() {
        let message = launched("cta", &row.launch, &["--format", "json"]);
        assert_eq!(message.stderr, "", "{}", row.launch);
        let report = parsed(&message.stdout);
        let sound = report["sound"].as_u64();
        assert_eq!(message.code, Some(if sound.is_some() { 0 } else { 2 }));
        assert_eq!(sound.is_none(), report["no_sound"].is_string());
        match (sound, row.cycles) {
            (Some(sound), Some(cycles)) => {
                bounded += 1;
                assert!(sound >= cycles, "{}: {sound} < {cycles}", row.launch);
                // And no bound is far from the simulated cycles.
                assert!(sound <= cycles * 5 / 4, "{}: {sound}, {cycles}", row.launch);
            }
            (Some(sound), None) => panic!("{} never ends, not after {sound}", row.launch),
            (None, _) => {}
        }
    }
    assert_eq!(bounded, 17);
}

/// A launch on another machine than it names, by name and by file.
#[test]
fn the_machine_can_be_chosen() {
    let cycles = |rest: &[&str]| {
        let rest = [&["--format", "json"], rest].concat();
        let report = parsed(&launched("run", "triangle_sum.16x4", &rest).done());
        (
            report["machine"].clone(),
            report["warps"].clone(),
            report["cycles"].clone(),
        )
    };
    let (machine, warps, _) = cycles(&["--machine", "wide-8"]);
    assert_eq!((machine, warps), (json!("wide-8"), json!(2)));
    let file = cycles(&["--machine", "../../machine/mini-simt/wide-8.toml"]);
    assert_eq!(file, cycles(&["--machine", "wide-8"]));
    assert_eq!(cycles(&[]), (json!("paper-2014"), json!(4), json!(688)));
}
