//! `run` on machines for GPU kernels.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{CommandOutput, built_folder, run, scratch};

const MATMUL: &str = "matmul_int.sm_62.cubin";

/// Creates an empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // An earlier run may have left files.
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

/// Writes a launch of a product of 2 x 2 matrices into the folder.
fn product(folder: &Path, rest: &str) -> PathBuf {
    let matrix = "type = \"s32\"\nvalues = [1, 2, 3, 4]";
    let text = format!(
        "kernel = \"matmul_int\"\ngrid = [1]\nblock = [2, 2]\n{rest}\n[[param]]\n{matrix}\n[[param]]\n{matrix}\n\
         [[param]]\nname = \"product\"\ntype = \"s32\"\nshape = [2, 2]\noutput = \"end.npy\"\n\
         [[param]]\ntype = \"s32\"\nvalue = 2\n"
    );
    let path = folder.join("launch.toml");
    std::fs::write(&path, text).expect("a launch file");
    path
}

fn launched(cubin: &str, launch: &Path, rest: &[&str]) -> CommandOutput {
    let launch = launch.to_str().expect("a plain path");
    run(&[&["run", cubin, "--launch", launch], rest].concat())
}

fn json(cubin: &str, launch: &Path, rest: &[&str]) -> Value {
    let message = launched(cubin, launch, &[&["--format", "json"], rest].concat()).done();
    serde_json::from_str(&message).expect("JSON")
}

/// The keys of JSON are part of the interface.
#[test]
fn keys_of_the_report() {
    let launch = product(&folder("timed_keys"), "");
    let report = json(MATMUL, &launch, &[]);
    assert_eq!(report["schema"], "warpbound.timed/1");
    let keys: Vec<&str> = report
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "assumptions",
            "block",
            "caches",
            "checked_elements",
            "clock_khz",
            "constant_misses",
            "cycles",
            "divergences",
            "executed_thread_instructions",
            "file",
            "grid",
            "instruction_misses",
            "instructions",
            "interlock",
            "ipc",
            "ipc_active",
            "kernel",
            "lines",
            "machine",
            "machine_sms",
            "machine_title",
            "memory",
            "milliseconds",
            "notes",
            "occupancy",
            "pick",
            "scheduler",
            "schema",
            "set",
            "shared",
            "shared_atomic_transactions",
            "shared_read_transactions",
            "shared_write_transactions",
            "sms",
            "spread",
            "stalls",
            "thread_instructions",
            "warp_cycles",
            "warp_instructions",
        ]
    );
    let stalls = report["stalls"].as_object().expect("an object");
    let sum: u64 = stalls.values().filter_map(Value::as_u64).sum();
    assert_eq!(report["warp_cycles"], sum);
    let asked = json(MATMUL, &launch, &["--sensitivities"]);
    assert!(asked["sensitivities"].is_array());
}

/// The report contains the chosen options.
#[test]
fn choices() {
    let folder = folder("timed_choices");
    let launch = product(&folder, "");
    let message = |rest: &[&str]| {
        let report = json(MATMUL, &launch, rest);
        ["machine", "scheduler", "pick", "caches", "interlock"]
            .map(|key| report[key].as_str().unwrap_or_default().to_owned())
    };
    let [machine, scheduler, pick, caches, interlock] = message(&[]);
    assert_eq!(
        [machine.as_str(), &pick, &caches, &interlock],
        ["jetson-tx2", "typical", "cold", "control-words"]
    );
    assert!(["lrr", "gto", "oldest", "run-to-barrier"].contains(&scheduler.as_str()));
    let chosen = message(&[
        "--machine",
        "p100",
        "--scheduler",
        "run-to-barrier",
        "--pick",
        "seed=7",
        "--caches",
        "warm",
        "--interlock",
        "scoreboard",
    ]);
    assert_eq!(
        chosen,
        ["p100", "run-to-barrier", "seed=7", "warm", "scoreboard"]
    );
    // Options override the launch file.
    product(&folder, "caches = \"warm\"");
    assert_eq!(message(&[])[3], "warm");
    assert_eq!(message(&["--caches", "cold"])[3], "cold");
    product(&folder, "caches = \"lukewarm\"");
    let refused = launched(MATMUL, &launch, &[]).refusal();
    assert!(
        refused.contains("line 4: ") && refused.contains("lukewarm"),
        "{refused}"
    );
}

/// A parameter that the user sets is used, reported, and is neither an assumption nor a sensitivity.
#[test]
fn numbers_that_are_set() {
    let launch = product(&folder("timed_set"), "");
    let before = json(MATMUL, &launch, &[]);
    assert_eq!(before["set"], serde_json::json!([]));
    let set = ["--set", "launch.kernel=1094", "--set", "issue.wake=2"];
    let after = json(MATMUL, &launch, &[&set[..], &["--sensitivities"]].concat());
    let cycles = |report: &Value| report["cycles"].as_u64().unwrap_or_default();
    assert!(cycles(&after) >= cycles(&before) + 1000);
    let taken = |name: &str| {
        let all = before["assumptions"].as_array().expect("assumptions");
        let of = all.iter().find(|of| of["name"] == name);
        of.map(|of| of["value"].clone()).expect("an assumption")
    };
    assert_eq!(
        after["set"],
        serde_json::json!([
            { "name": "launch.kernel", "value": 1094, "instead_of": taken("launch.kernel") },
            { "name": "issue.wake", "value": 2, "instead_of": taken("issue.wake") },
        ])
    );
    for key in ["assumptions", "sensitivities"] {
        let rows = after[key].as_array().expect("rows");
        assert!(!rows.is_empty(), "{key}");
        assert!(
            rows.iter()
                .all(|row| row["name"] != "launch.kernel" && row["name"] != "issue.wake"),
            "{key}"
        );
    }
    let text = launched(MATMUL, &launch, &set).done();
    assert!(
        text.contains("\n  with launch.kernel 1094 instead of "),
        "{text}"
    );
    for (wrong, message) in [
        (&["sm.count=0"][..], "sm.count is 0, but must be at least 1"),
        (&["l2.line=96"], "l2.line is 96, but must be a power of two"),
        (
            &["l2.bytes=1000000"],
            "must be a multiple of l2.line x l2.ways x l2.slices",
        ),
        (
            &["clock.frequency=18446744073709551615"],
            "at most 1099511627776",
        ),
        (&["l2.hit=1", "l2.hit=2"], "--set l2.hit is given twice"),
    ] {
        let rest: Vec<&str> = wrong.iter().flat_map(|set| ["--set", set]).collect();
        let refused = launched(MATMUL, &launch, &rest).refusal();
        assert!(refused.contains(message), "{refused}");
    }
    // Values that are inconsistent one by one may be consistent together.
    let both = ["--set", "l2.bytes=98304", "--set", "l2.ways=12"];
    launched(MATMUL, &launch, &both[..2]).done();
    launched(MATMUL, &launch, &both[2..]).refusal();
    launched(MATMUL, &launch, &both).done();
}

/// The slow end is slower than the fast one, and the report names the searched values of sizes.
#[test]
fn ends() {
    let launch = product(&folder("timed_ends"), "");
    let cycles = |select: &str| {
        let report = json(MATMUL, &launch, &["--select", select]);
        assert_eq!(report["pick"], select);
        (report["cycles"].as_u64().expect("a number"), report)
    };
    let (slow, slowest) = cycles("slow");
    let (fast, fastest) = cycles("fast");
    for other in ["typical", "lo", "hi", "seed=1", "seed=2", "seed=3"] {
        let (other, report) = cycles(other);
        assert!(fast <= other && other <= slow, "{fast} {other} {slow}");
        assert!(report.get("tried").is_none());
    }
    for report in [&slowest, &fastest] {
        let numbers = report["tried"]["numbers"].as_array().expect("a list");
        let ahead = numbers.iter().find(|n| n["name"] == "instruction.ahead");
        let ahead = ahead.expect("the run fetches ahead");
        assert_eq!(ahead["others"], 8);
        assert_eq!(report["tried"]["left_out"], Value::Array(Vec::new()));
    }
    let text = launched(MATMUL, &launch, &["--select", "slow"]).done();
    assert!(
        text.contains("with the slow end of each number; of "),
        "{text}"
    );
    // A parameter that the user sets is not searched.
    let set = ["--select", "slow", "--set", "instruction.ahead=1"];
    let report = json(MATMUL, &launch, &set);
    let numbers = report["tried"]["numbers"].as_array().expect("a list");
    assert!(numbers.iter().all(|n| n["name"] != "instruction.ahead"));
    // The older name of the option.
    let both = ["--select", "--pick"].map(|option| json(MATMUL, &launch, &[option, "hi"]));
    assert_eq!(both[0], both[1]);
}

/// The name of a sum in older files stands for the part that machine files have.
#[test]
fn sums() {
    let launch = product(&folder("timed_sums"), "");
    let with = |set: &[&str]| {
        let rest: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        json(MATMUL, &launch, &rest)
    };
    let sum = with(&["dram.latency=600"]);
    assert_eq!(sum, with(&["dram.beyond_l2=384"]));
    assert_eq!(sum["set"][0]["name"], "dram.beyond_l2");
    // The other part has the value of the run, in any order of the options.
    let part = with(&["l2.hit=300", "dram.beyond_l2=300"]);
    for set in [
        ["l2.hit=300", "dram.latency=600"],
        ["dram.latency=600", "l2.hit=300"],
    ] {
        assert_eq!(with(&set)["cycles"], part["cycles"]);
    }
    for (set, message) in [
        (
            &["--set", "dram.latency=100"][..],
            "dram.latency is 100, but l2.hit, which is a part of it, is 216",
        ),
        (
            &["--set", "dram.latency=600", "--set", "dram.beyond_l2=1"],
            "--set dram.beyond_l2 is given twice",
        ),
    ] {
        let refused = launched(MATMUL, &launch, set).refusal();
        assert!(refused.contains(message), "{refused}");
    }
}

/// Every scheduler runs, and the report names it.
#[test]
fn schedulers() {
    let launch = product(&folder("timed_schedulers"), "");
    for name in [
        "lrr",
        "gto",
        "oldest",
        "run-to-barrier",
        "youngest",
        "contended-unit",
        "random:7",
    ] {
        let report = json(MATMUL, &launch, &["--scheduler", name]);
        assert_eq!(report["scheduler"], name);
    }
}

/// Code for another machine runs, and the report says so.
#[test]
fn machines() {
    let launch = product(&folder("timed_machines"), "");
    let is_said = |report: &Value| {
        let assumptions = report["assumptions"].as_array().expect("a list");
        assumptions.iter().any(|a| a["name"] == "machine")
    };
    for cubin in ["matmul_int.sm_61.cubin", MATMUL] {
        assert!(!is_said(&json(cubin, &launch, &[])), "{cubin}");
    }
    let other = json(MATMUL, &launch, &["--machine", "titan-x-maxwell"]);
    assert!(is_said(&other));
    let file = built_folder().join("../../machine/nvidia/jetson-tx2.toml");
    let text = std::fs::read_to_string(file).expect("it");
    let own = scratch(
        "timed_machine.toml",
        text.replacen("name = \"jetson-tx2\"", "name = \"mine\"", 1),
    );
    let report = json(MATMUL, &launch, &["--machine", &own]);
    assert_eq!(report["machine"], "mine");
    let message = launched(MATMUL, &launch, &["--machine", "paper-2014"]).refusal();
    assert!(
        message.starts_with("there is no machine \"paper-2014\"; there are jetson-tx2, "),
        "{message}"
    );
    let small = text.replacen(
        "threads = { value = [1024, 1024]",
        "threads = { value = [2, 2]",
        1,
    );
    let small = scratch("timed_small.toml", small);
    assert_eq!(
        launched(MATMUL, &launch, &["--machine", &small]).refusal(),
        format!(
            "{MATMUL}: kernel matmul_int: a block takes 4, but block.threads is 2 on machine jetson-tx2"
        )
    );
}

/// Additional files exist if the command succeeded, and only then.
#[test]
fn events_and_timelines() {
    let folder = folder("timed_files");
    let launch = product(&folder, "");
    let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
    let (events, timeline) = (path("events.jsonl"), path("timeline.json"));
    let both = ["--events", &events, "--timeline", &timeline];
    launched(MATMUL, &launch, &both).done();
    let text = std::fs::read_to_string(&events).expect("events");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines[0]["event"], "launched");
    let shown = std::fs::read(&timeline).expect("a timeline");
    let shown: Value = serde_json::from_slice(&shown).expect("JSON");
    assert_eq!(shown["otherData"]["time"], "1 us shown is 1 cycle");
    assert!(shown["traceEvents"].is_array());
    for name in ["events.jsonl", "timeline.json", "end.npy"] {
        std::fs::remove_file(folder.join(name)).expect("it was there");
    }
    let text = std::fs::read_to_string(&launch).expect("it");
    std::fs::write(
        &launch,
        text.replace(
            "value = 2",
            "value = 2\n[[param]]\ntype = \"s32\"\nvalue = 2",
        ),
    )
    .expect("a launch file");
    launched(MATMUL, &launch, &both).refusal();
    let left = std::fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(left, 1, "only the launch file");
    let nowhere = path("none/events.jsonl");
    product(&folder, "");
    assert_eq!(
        launched(MATMUL, &launch, &["--events", &nowhere]).refusal(),
        format!("{nowhere}: cannot be written: No such file or directory (os error 2)")
    );
}

/// The output is the same in every run and for any number of threads.
#[test]
fn repeated_runs_give_equal_output() {
    let folder = folder("timed_repeat");
    let launch = product(&folder, "");
    let events = folder.join("events.jsonl");
    let message = |threads: &str| {
        let events = events.to_str().expect("a plain path");
        let rest = ["--format", "json", "--sensitivities", "--events", events];
        let message = launched(
            MATMUL,
            &launch,
            &[&rest[..], &["--threads", threads]].concat(),
        );
        (message.done(), std::fs::read(events).expect("events"))
    };
    let first = message("1");
    for threads in ["1", "2", "5"] {
        assert!(message(threads) == first, "{threads} threads");
    }
}

/// An option that does not apply to a kernel of this kind is an error that names it.
#[test]
fn options_of_the_other_kind() {
    let launch = product(&folder("timed_options"), "");
    assert_eq!(
        launched(MATMUL, &launch, &["--trace"]).refusal(),
        format!(
            "{MATMUL}: --trace is for mini-SIMT, this is machine code of a GPU; --events writes the events of a GPU"
        )
    );
    let message = launched(MATMUL, &launch, &["--max-cycles", "5"]).refusal();
    assert!(
        message.contains("--max-cycles is for mini-SIMT"),
        "{message}"
    );
    let twice = ["--timeline", "none/t", "--events", "none/t"];
    let message = launched(MATMUL, &launch, &twice).refusal();
    assert!(message.contains("name the same file"), "{message}");
    let program = "../msimt/triangle_sum.msimt";
    let mini = built_folder().join("../msimt/triangle_sum.4x1.toml");
    for option in [
        &["--stats"][..],
        &["--max-instructions", "5"],
        &["--threads", "2"],
        &["--order", "taken-first"],
        &["--scheduler", "gto"],
        &["--select", "lo"],
        &["--set", "l2.hit=1"],
        &["--caches", "warm"],
        &["--interlock", "scoreboard"],
        &["--sensitivities"],
        &["--timeline", "none/t.json"],
        &["--events", "none/e.jsonl"],
    ] {
        assert_eq!(
            launched(program, &mini, option).refusal(),
            format!(
                "{program}: {} is for GPU kernels, this is mini-SIMT",
                option[0]
            )
        );
    }
}

#[test]
fn wrong_usage() {
    let launch = product(&folder("timed_usage"), "");
    for (rest, part) in [
        (&["--pick", "seed=x"][..], "\"x\" is not a whole number"),
        (
            &["--select", "mean"],
            "there are slow, typical, fast, lo, hi and seed=N",
        ),
        (&["--scheduler", "random"], "no scheduler \"random\""),
        (&["--scheduler", "random:x"], "\"x\" is not a whole number"),
        (&["--set", "l2.hit"], "expected NAME=VALUE"),
        (&["--set", "l2.hit=-1"], "\"-1\" is not a whole number"),
        (&["--set", "l2.hti=1"], "\"l2.hti\"; there are l2.bytes, "),
        (&["--set", "l3.latency=1"], "there are shared.latency, "),
        (&["--set", "speed=1"], "of the sections sm, "),
        (&["--set", "scheduler.policy=lrr"], "--scheduler chooses it"),
        (&["--functional", "--set", "l2.hit=1"], "--functional"),
        (&["--caches", "hot"], "'hot'"),
        (&["--functional", "--pick", "lo"], "--functional"),
        (&["--functional", "--timeline", "t.json"], "--functional"),
        (&["--functional", "--machine", "p100"], "--functional"),
    ] {
        let message = launched(MATMUL, &launch, rest).usage();
        assert!(message.contains(part), "{rest:?}: {message}");
    }
    let help = run(&["run", "--help"]).done();
    for option in [
        "--machine",
        "--scheduler",
        "--select",
        "--pick",
        "--set",
        "--caches",
        "--interlock",
        "--stats",
        "--sensitivities",
        "--timeline",
        "--events",
        "--threads",
        "--max-instructions",
        "--order",
    ] {
        assert!(help.contains(option), "{option}");
    }
}

/// One warp of a launch runs alone; the expected contents, which are those of all warps, are not compared.
#[test]
fn a_single_warp() {
    let cubin = "barrier_kinds.sm_62.cubin";
    // Four blocks of two warps.
    let launch = Path::new("../launches/barrier_kinds.barrier_reduce.0.toml");
    let all = json(cubin, launch, &[]);
    assert!(all.get("only_warp").is_none());
    let one = json(cubin, launch, &["--only-warp", "3.1"]);
    assert_eq!(one["only_warp"], serde_json::json!({"block": 3, "warp": 1}));
    assert_eq!(one["sms"].as_array().map(Vec::len), Some(1));
    let issued = |report: &Value| report["warp_instructions"].as_u64().expect("a number");
    assert!(issued(&one) < issued(&all));
    let text = launched(cubin, launch, &["--only-warp", "3.1"]).done();
    assert!(text.contains("only warp 1 of block 3 runs"), "{text}");
    for (warp, complaint) in [
        ("4.0", "there is no warp 4.0"),
        ("0.2", "there is no warp 0.2"),
        ("7", "expected BLOCK.WARP"),
        ("1.x", "expected BLOCK.WARP"),
        ("-1.0", "expected BLOCK.WARP"),
    ] {
        let argument = format!("--only-warp={warp}");
        let refused = launched(cubin, launch, &[&argument]);
        assert!(refused.stderr.contains(complaint), "{}", refused.stderr);
    }
}
