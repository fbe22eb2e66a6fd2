//! `bound --launch`: the profile of a launch as its bound.

use serde_json::Value;

use crate::support::{CommandOutput, run};

const MATMUL: [&str; 4] = [
    "bound",
    "matmul_int.sm_61.cubin",
    "--launch",
    "../cuda/matmul_int.8x8.toml",
];

fn bound(arguments: &[&str]) -> CommandOutput {
    run(&[&MATMUL[..], arguments].concat())
}

fn json(message: &str) -> Value {
    serde_json::from_str(message).expect("JSON")
}

/// No bound of the loop is needed, and the audit's worst warp issues exactly the bound.
#[test]
fn a_launch_whose_loop_follows_from_its_parameters() {
    let message = json(&bound(&["--no-derive", "--format", "json"]).done());
    let kernel = &message["kernels"][0];
    let profile = &kernel["profile"];
    assert_eq!(kernel["status"], "bounded");
    assert_eq!(profile["exact"], true, "{profile}");
    assert_eq!(profile["decides"], true, "{profile}");
    assert_eq!(profile["bound"], kernel["bound"]);
    let audit = [
        &["audit"],
        &MATMUL[1..],
        &["--loop-default", "8", "--format", "json"],
    ];
    let audit = json(&run(&audit.concat()).done());
    assert_eq!(kernel["bound"], audit["worst_simulated"]);
    let text = bound(&["--no-derive"]).done();
    for part in [
        "a warp issues at most",
        "by execution of every warp of the launch",
        "issues exactly as many in every run",
        "parameters and constants of the launch file (launch)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("facts file"), "{text}");
}

/// Memory ends the loops of a graph search, unless the graph is given.
#[test]
fn contents_of_buffers_are_an_assumption() {
    let launch = [
        "bound",
        "bfs.sm_61.cubin",
        "--launch",
        "../launches/bfs.bfs_expand.1.toml",
    ];
    let text = run(&launch).without_bound();
    assert!(text.contains("the launch has no profile: warp "), "{text}");
    let given = run(&[&launch[..], &["--contents", "as-given"]].concat()).done();
    assert!(given.contains("(contents)"), "{given}");
    assert!(given.contains("unknown values decide"), "{given}");
}

#[test]
fn wrong_launches() {
    let other = run(&["bound", "bfs.sm_61.cubin", "--launch", MATMUL[3]]).refusal();
    assert!(other.contains("matmul_int"), "{other}");
    run(&[MATMUL[0], MATMUL[1], "--contents", "as-given"]).usage();
}

/// Facts that allow less than a warp issues in every run are false for the launch.
#[test]
fn an_exact_profile_above_the_static_bound_refutes_the_facts() {
    let refusal = bound(&["--no-derive", "--loop-default", "1"]).refusal();
    for part in [
        "false for this launch",
        "at most 46",
        "issues 116 in every run",
    ] {
        assert!(refusal.contains(part), "{part}: {refusal}");
    }
}

/// An audit compares every warp of the given launch with its profile.
#[test]
fn an_audit_compares_warps_with_their_profiles() {
    let audit = [&["audit"], &MATMUL[1..], &["--format", "json"]];
    let message = json(&run(&audit.concat()).done());
    assert_eq!(message["violations"], 0);
    assert_eq!(message["profiled"], message["warps"]);
    assert_ne!(message["profiled"], 0);
}
