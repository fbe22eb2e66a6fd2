//! `run` of code for GCN3 with time, and with waves that split.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{CommandOutput, run};

const LEVELS: &str = "split_levels.gfx803.co";
const LAUNCH: &str = "../launches/split_levels.split_levels.0.toml";

fn launched(rest: &[&str]) -> CommandOutput {
    run(&[&["run", LEVELS, "--launch", LAUNCH], rest].concat())
}

fn json(rest: &[&str]) -> Value {
    let text = launched(&[&["--format", "json"], rest].concat()).done();
    serde_json::from_str(&text).expect("JSON")
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Code for GCN3 has a machine of its own; reports use its terms, and the keys of all machines.
#[test]
fn a_run_of_waves() {
    let report = json(&[]);
    assert_eq!(report["schema"], "warpbound.timed/1");
    assert_eq!(report["machine"], "gem5-apu");
    assert_eq!(report["scheduler"], "oldest");
    assert!(number(&report["checked_elements"]) > 0);
    let stalls = report["stalls"].as_object().expect("an object");
    let sum: u64 = stalls.values().filter_map(Value::as_u64).sum();
    assert_eq!(report["warp_cycles"], sum);
    let waves = &report["waves"];
    assert!(waves.get("splitting").is_none());
    let units = waves["units"].as_array().expect("a list");
    let names: Vec<&str> = units
        .iter()
        .filter_map(|unit| unit["unit"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "vector ALU",
            "scalar ALU",
            "branch",
            "vector memory",
            "LDS unit",
            "scalar memory"
        ]
    );
    for unit in units {
        assert!(
            number(&unit["busy_cycles"]) <= number(&unit["offered_cycles"]),
            "{unit}"
        );
    }
    let lanes = &waves["lane_cycles"];
    assert!(0 < number(&lanes["used"]) && number(&lanes["used"]) <= number(&lanes["offered"]));
    let text = launched(&["--stats"]).done();
    for part in [
        "wave instructions",
        "compute unit",
        "wave cycles",
        "vector ALU",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["warp", "SM ", "an SM"] {
        let lines = text.lines().filter(|line| line.contains(part));
        assert_eq!(lines.collect::<Vec<_>>(), [""; 0], "{part}");
    }
}

/// Options of all machines.
#[test]
fn options_of_runs() {
    let typical = number(&json(&[])["cycles"]);
    let other = json(&[
        "--machine",
        "r9-nano",
        "--scheduler",
        "lrr",
        "--caches",
        "warm",
    ]);
    assert_eq!(
        (&other["machine"], &other["scheduler"], &other["caches"]),
        (
            &Value::from("r9-nano"),
            &Value::from("lrr"),
            &Value::from("warm")
        )
    );
    let slow = json(&["--set", "valu.cycles=16"]);
    assert!(number(&slow["cycles"]) > typical);
    assert_eq!(slow["set"][0]["name"], "valu.cycles");
    let all = json(&["--sensitivities"]);
    assert!(!all["sensitivities"].as_array().expect("a list").is_empty());
    // Two groups of two waves each.
    let instructions = |rest: &[&str]| {
        let larger = LAUNCH.replace(".0.toml", ".1.toml");
        let options = [
            &["run", LEVELS, "--launch", &larger, "--format", "json"],
            rest,
        ];
        let report: Value = serde_json::from_str(&run(&options.concat()).done()).expect("JSON");
        number(&report["warp_instructions"])
    };
    assert!(instructions(&["--only-warp", "0.0"]) < instructions(&[]));
    let [slow, fast] = ["slow", "fast"].map(|end| number(&json(&["--select", end])["cycles"]));
    assert!(
        fast <= typical && typical <= slow,
        "{fast} {typical} {slow}"
    );
}

/// Splitting changes the time, not the result.
#[test]
fn splits() {
    let none = json(&["--splits", "0"]);
    assert_eq!(none["cycles"], json(&[])["cycles"]);
    assert!(none["waves"].get("splitting").is_none());
    let apart = json(&["--splits", "3"]);
    let splitting = &apart["waves"]["splitting"];
    assert_eq!(splitting["splits"], 3);
    assert_eq!(splitting["marks"], "all");
    assert!(number(&splitting["taken"]) > 0);
    assert_eq!(number(&splitting["merges"]), 0);
    assert!(number(&splitting["refused"]["no_slot"]) > 0);
    assert_eq!(number(&splitting["most_live"]), 3);
    assert_eq!(apart["checked_elements"], none["checked_elements"]);
    let taken = |of: &Value| {
        let sites = of["sites"].as_array().expect("a list");
        sites.iter().map(|site| number(&site["taken"])).sum::<u64>()
    };
    assert_eq!(taken(splitting), number(&splitting["taken"]));
    let joined = json(&[
        "--splits",
        "7",
        "--merge",
        "join",
        "--pipelines",
        "serialised",
    ]);
    let splitting = &joined["waves"]["splitting"];
    assert_eq!(
        (&splitting["merge"], &splitting["pipelines"]),
        (&Value::from("join"), &Value::from("serialised"))
    );
    assert!(number(&splitting["merges"]) > 0);
    // No instruction of this kernel sets the bit of MODE.
    let marked = json(&["--splits", "3", "--marks", "mode"]);
    assert_eq!(number(&marked["waves"]["splitting"]["taken"]), 0);
    assert_eq!(marked["waves"]["splitting"]["marks"], "mode");
    let text = launched(&["--splits", "3", "--stats"]).done();
    for part in [
        "splitting: 3 reserve slots, parallel pipelines",
        "no slot",
        "splits at",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Splits have events, and rows and marks on the timeline.
#[test]
fn files_of_splits() {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wave_files");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
    let (events, timeline) = (path("events.jsonl"), path("timeline.json"));
    launched(&[
        "--splits",
        "1",
        "--merge",
        "join",
        "--events",
        &events,
        "--timeline",
        &timeline,
    ])
    .done();
    let text = std::fs::read_to_string(&events).expect("events");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for kind in ["split", "merge", "split_refused"] {
        let found = lines.iter().find(|line| line["event"] == kind);
        let found = found.unwrap_or_else(|| panic!("no {kind}"));
        assert!(found["address"].is_string(), "{found}");
    }
    let shown: Value =
        serde_json::from_slice(&std::fs::read(&timeline).expect("a timeline")).expect("JSON");
    let shown = shown["traceEvents"].as_array().expect("a list");
    let has = |name: &str| shown.iter().any(|event| event["name"] == name);
    for name in [
        "splits",
        "split begins",
        "merges",
        "split ends",
        "does not split",
    ] {
        assert!(has(name), "{name}");
    }
    let is_named = |name: &str| {
        shown
            .iter()
            .any(|event| event["ph"] == "M" && event["args"]["name"] == name)
    };
    for name in [
        "compute unit 0",
        "wave 0 (SIMD 0)",
        "wave 0, split 1 (SIMD 0)",
    ] {
        assert!(is_named(name), "{name}");
    }
}

/// Options that do not fit together are refused.
#[test]
fn refusals() {
    for (rest, part) in [
        (
            &["--machine", "gtx1080"][..],
            "machine gtx1080 is for sm_61, the code is for gfx803",
        ),
        (
            &["--scheduler", "gto"],
            "SIMDs of GCN3 have no scheduler gto",
        ),
        (
            &["--interlock", "scoreboard"],
            "--interlock is for NVIDIA GPUs",
        ),
        (&["--marks", "all"], "--marks needs --splits"),
        (&["--set", "sm.count=1"], "sm.count"),
    ] {
        let refused = launched(rest).refusal();
        assert!(refused.contains(part), "{rest:?}: {refused}");
    }
    let other = run(&[
        "run",
        "matmul_int.sm_61.cubin",
        "--launch",
        "../cuda/matmul_int.8x8.toml",
        "--machine",
        "gem5-apu",
    ]);
    let refused = other.refusal();
    assert!(
        refused.contains("machine gem5-apu is for gfx803, the code is for sm_61"),
        "{refused}"
    );
    let other = run(&[
        "run",
        "matmul_int.sm_61.cubin",
        "--launch",
        "../cuda/matmul_int.8x8.toml",
        "--splits",
        "1",
    ]);
    assert!(other.refusal().contains("--splits is for waves of GCN3"));
    let wrong = launched(&["--splits", "64"]).usage();
    assert!(wrong.contains("64 is not in 0..=63"), "{wrong}");
}

/// A launch set with time: cycles of each launch and of all.
#[test]
fn a_launch_set() {
    let set = |rest: &[&str]| -> Value {
        let command = [
            &[
                "run",
                "gaussian.gfx803.co",
                "--launch",
                "../sets/gaussian.toml",
                "--format",
                "json",
            ],
            rest,
        ]
        .concat();
        serde_json::from_str(&run(&command).done()).expect("JSON")
    };
    let report = set(&[]);
    assert_eq!(report["time"]["machine"], "gem5-apu");
    let launches = report["launches"].as_array().expect("a list");
    let sum: u64 = launches
        .iter()
        .map(|of| number(&of["cycles"]["total"]))
        .sum();
    assert_eq!(number(&report["time"]["cycles"]), sum);
    let split = set(&["--splits", "2", "--merge", "join"]);
    assert_eq!(split["checked_elements"], report["checked_elements"]);
}
