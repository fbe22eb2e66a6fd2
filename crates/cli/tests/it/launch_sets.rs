//! Launch sets: `run` and `audit` of the launches of a program.

use serde_json::Value;

use crate::support::{CommandOutput, run, scratch};

const BFS: [&str; 3] = ["bfs.sm_61.cubin", "--launch", "../sets/bfs.toml"];
const GAUSSIAN: [&str; 3] = ["gaussian.sm_61.cubin", "--launch", "../sets/gaussian.toml"];

fn command(name: &str, set: [&str; 3], rest: &[&str]) -> CommandOutput {
    run(&[&[name], &set[..], rest].concat())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn run_reports_each_launch() {
    let text = command("run", BFS, &["--functional"]).done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "launch set ../sets/bfs.toml  (bfs.sm_61.cubin)");
    assert_eq!(lines[1], "  levels: 18 rounds of at most 96");
    assert_eq!(
        lines[3],
        "  385 elements of buffers are as the launch file expects"
    );
    assert!(lines[6].starts_with("  bfs_expand ") && lines[7].starts_with("  bfs_advance "));
    assert_eq!(
        text,
        command("run", BFS, &["--functional", "--threads", "3"]).done()
    );
    let report = json(&command("run", GAUSSIAN, &["--functional", "--format", "json"]).done());
    assert_eq!(report["schema"], "warpbound.launch-set/1");
    assert_eq!(report["launches"][1]["kernel"], "gaussian_update");
    assert_eq!(report["launches"][1]["executions"], 11);
    assert_eq!(report["repetitions"][0]["rounds"], 11);
    assert_eq!(report["checked_elements"], 300);
    assert_eq!(report["time"], Value::Null);
}

#[test]
fn runs_with_time_add_up_cycles() {
    let report = json(&command("run", GAUSSIAN, &["--format", "json"]).done());
    let of = |number: usize| report["launches"][number]["cycles"]["total"].as_u64();
    let all = of(0).zip(of(1)).map(|(one, other)| one + other);
    assert_eq!(report["time"]["cycles"].as_u64(), all);
    assert_eq!(report["time"]["machine"], "gtx1080");
    let text = command("run", GAUSSIAN, &["--machine", "p100"]).done();
    assert!(text.contains(" cycles on p100, "), "{text}");
}

#[test]
fn audit_reports_each_launch_and_each_kernel() {
    let report = command("audit", BFS, &["--loop-default", "4", "--format", "json"]).done();
    let report = json(&report);
    assert_eq!(report["schema"], "warpbound.audit-set/1");
    assert_eq!(report["violations"], 0);
    assert_eq!(report["launches"][0]["executions"], 18);
    assert_eq!(report["launches"][0]["bound"], 126);
    assert_eq!(report["kernels"][0]["schema"], "warpbound.audit/1");
    assert_eq!(report["kernels"][0]["runs"], 18);
    assert_eq!(report["unexpected"], Value::Null);
    let broken = command("audit", BFS, &["--loop-default", "3"]);
    assert_eq!(broken.code, Some(1), "{}", broken.stdout);
    let without = command("audit", BFS, &[]).without_bound();
    assert!(
        without.contains("no bound: 1 loop has no bound"),
        "{without}"
    );
}

/// A set of one launch of `prefix_scan`.
fn scans(name: &str, rest: &str, expect: &str) -> String {
    scratch(
        name,
        format!(
            "[[launch]]\nkernel = \"prefix_scan\"\ngrid = [1]\nblock = [2]\n{rest}\n\
             param = [{{ buffer = \"n\" }}, {{ buffer = \"n\" }}, {{ type = \"s32\", value = 4 }}]\n\
             [[buffer]]\nname = \"n\"\ntype = \"s32\"\nvalues = [1, 1, 1, 1]\noutput = \"{name}.npy\"\nexpect = {expect}\n"
        ),
    )
}

#[test]
fn results_of_sets() {
    let set = |launch: &str, name: &str, rest: &[&str]| {
        command(name, ["prefix_scan.sm_61.cubin", "--launch", launch], rest)
    };
    let right = scans("right_set.toml", "repeat = 2", "[0, 0, 1, 3]");
    set(&right, "run", &["--functional"]).done();
    let output = std::fs::read(format!("{right}.npy")).expect("it is written");
    assert!(output.ends_with(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0]));
    let wrong = scans("wrong_set.toml", "repeat = 3", "[0, 0, 1, 3]");
    let message = format!("{wrong}: n[2] is 0 at the end, not 1, and 1 more of 4 elements differ");
    assert_eq!(set(&wrong, "run", &["--functional"]).refusal(), message);
    assert_eq!(set(&wrong, "run", &[]).refusal(), message);
    let audit = set(&wrong, "audit", &["--loop-default", "9"]);
    assert_eq!(audit.code, Some(1));
    assert!(
        audit
            .stdout
            .contains(&format!("  unexpected result: {message}\n")),
        "{}",
        audit.stdout
    );
}

#[test]
fn refusals() {
    let is_one = |rest: &[&str]| command("run", GAUSSIAN, rest).refusal();
    for option in [
        &["--stats"][..],
        &["--sensitivities"],
        &["--only-warp", "0.0"],
    ] {
        assert_eq!(
            is_one(option),
            format!(
                "../sets/gaussian.toml: {} is for one launch, this is a launch set",
                option[0]
            )
        );
    }
    assert_eq!(
        is_one(&["--kernel", "gaussian_update"]),
        "../sets/gaussian.toml: --kernel is for one launch: a launch set names its kernels"
    );
    let hints = [
        ("bound", "a launch set is bounded with --cost cycles"),
        ("gap", "run, audit and bound --cost cycles take launch sets"),
    ];
    for (name, hint) in hints {
        assert_eq!(
            command(name, GAUSSIAN, &[]).refusal(),
            format!("../sets/gaussian.toml: this is a launch set, not one launch; {hint}")
        );
    }
    let facts = scratch("set.facts", "");
    assert_eq!(
        command("audit", GAUSSIAN, &["--write-facts", &facts]).refusal(),
        "../sets/gaussian.toml: --write-facts is for one launch, this is a launch set"
    );
}
