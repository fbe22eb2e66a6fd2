//! `run --counts`, `audit --counts` and `metrics`.

use serde_json::Value;

use crate::support::{run, scratch};

const LAUNCH: &str = "../launches/lud_diagonal.lud_diagonal.0.toml";
const CUBIN: &str = "lud_diagonal.sm_61.cubin";

/// Counts of a run of `lud_diagonal`.
fn counts(name: &str) -> (String, String) {
    let path = scratch(name, "");
    run(&[
        "run",
        CUBIN,
        "--functional",
        "--launch",
        LAUNCH,
        "--counts",
        &path,
    ])
    .done();
    let text = std::fs::read_to_string(&path).expect("counts");
    (path, text)
}

#[test]
fn counts_of_a_run_pass() {
    let (path, _) = counts("counts_pass.csv");
    for sizes in [
        &["--launch", LAUNCH][..],
        &["--grid", "1", "--block", "16"],
        &[],
    ] {
        let arguments = [
            &["audit", CUBIN, "--counts", &path, "--format", "json"],
            sizes,
        ]
        .concat();
        let report: Value = serde_json::from_str(&run(&arguments).done()).expect("JSON");
        assert_eq!(report["schema"], "warpbound.counts-audit/1");
        assert_eq!(
            (&report["violations"], &report["warps"]),
            (&0.into(), &1.into())
        );
    }
}

#[test]
fn other_sizes_of_the_launch_are_violations() {
    let (path, _) = counts("counts_sizes.csv");
    let output = run(&[
        "audit", CUBIN, "--counts", &path, "--grid", "2", "--block", "16",
    ]);
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    assert!(output.stdout.contains("flow: "), "{}", output.stdout);
}

/// The file in the repository is made up: no GPU has written it.
#[test]
fn a_made_up_file_of_nsight_compute_is_read() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/lud_diagonal.nsight-made-up.csv"
    );
    let text = run(&["audit", CUBIN, "--counts", path]).done();
    assert!(
        text.contains("Nsight Compute") && text.contains("no violation"),
        "{text}"
    );
}

#[test]
fn files_that_are_no_counts_are_refused() {
    for (name, text, part) in [
        ("counts_empty.csv", "", "no head of a table"),
        (
            "counts_head.csv",
            "address,warps\n",
            "no counts after the head",
        ),
        (
            "counts_word.csv",
            "address,warps\n0x8,many\n",
            "no count: many",
        ),
        (
            "counts_mark.csv",
            "address,warps\n\"0x8,1\n",
            "a quotation mark is missing",
        ),
        (
            "counts_other.csv",
            "address,warps\n0x8,1\n",
            "another build",
        ),
        (
            "counts_far.csv",
            "offset,warp_count\n0x7,1\n",
            "no instruction of the kernel is at 0x0007",
        ),
        (
            "counts_absolute.csv",
            "offset,warp_count\n0x7f00000008,1\n",
            "where the code begins is unknown",
        ),
        (
            "counts_huge.csv",
            "address,warps\n0x8,99999999999999999999\n",
            "no count",
        ),
    ] {
        let path = scratch(name, text);
        let refusal = run(&["audit", CUBIN, "--counts", &path]).refusal();
        assert!(refusal.contains(part), "{name}: {refusal}");
    }
    let usage = run(&["audit", CUBIN]).usage();
    assert!(usage.contains("--launch"), "{usage}");
    let usage = run(&["audit", CUBIN, "--counts", "x", "--runs", "2"]).usage();
    assert!(usage.contains("--runs"), "{usage}");
}

#[test]
fn metrics_of_a_launch() {
    let drawing = scratch("metrics.svg", "");
    let arguments = [
        "metrics", CUBIN, "--launch", LAUNCH, "--format", "json", "--svg", &drawing,
    ];
    let report: Value = serde_json::from_str(&run(&arguments).done()).expect("JSON");
    let launch = &report["launches"][0];
    assert_eq!(launch["launched_lanes"], 16);
    let activity = |key: &str| launch["total"][key].as_f64().expect("a number");
    // Half of the lanes have a thread.
    let twice = 2.0 * activity("activity_factor");
    assert!((activity("activity_of_launched") - twice).abs() < 1e-12);
    let drawing = std::fs::read_to_string(drawing).expect("a drawing");
    assert!(drawing.starts_with("<svg") && drawing.contains("Memory intensity"));
    let text = run(&["metrics", CUBIN, "--launch", LAUNCH, "--stats"]).done();
    assert!(
        text.contains("activity factor") && text.contains("lud_diagonal.cu:"),
        "{text}"
    );
}

#[test]
fn hybrid_of_a_warp() {
    let text = run(&["hybrid", CUBIN, "--launch", LAUNCH]).done();
    assert!(
        text.contains("no bound") && text.contains("estimate "),
        "{text}"
    );
    let refusal = run(&["hybrid", CUBIN, "--launch", LAUNCH, "--contents", "2"]).refusal();
    assert!(
        refusal.contains("--contents is for waves of GCN3"),
        "{refusal}"
    );
}
