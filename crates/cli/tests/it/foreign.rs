//! Kernels as other compilers, options and linkers write them (`kernels/foreign`): each is listed, bounded and run.

use std::path::PathBuf;

use crate::support::{CommandOutput, run_in, scratch};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../kernels/foreign")
}

fn run(arguments: &[&str]) -> CommandOutput {
    run_in(&folder(), arguments, &[])
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let output = run(arguments);
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}", output.stderr))
}

/// Identifiers of the assumptions of the only bound.
fn assumptions(arguments: &[&str]) -> Vec<String> {
    let report = json(arguments);
    let all = report["kernels"][0]["assumptions"].as_array().cloned();
    let all = all.expect("a list");
    all.iter()
        .filter_map(|one| one["id"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_stack_of_unknown_size_is_an_assumption_and_no_allocation() {
    let launch = ["recursive_stack.cubin", "--launch", "recursive_stack.toml"];
    let ran = run(&[&["run"][..], &launch].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout
            .contains("32 elements of buffers are as the launch file expects"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("each thread has 1024 bytes"),
        "{}",
        ran.stdout
    );
    let audited = run(&[&["audit", "--loop-default", "40"][..], &launch].concat());
    assert_eq!(audited.code, Some(0), "{}", audited.stderr);
    let metrics = run(&[&["metrics"][..], &launch].concat());
    assert_eq!(metrics.code, Some(0), "{}", metrics.stderr);
    let found = assumptions(&[
        "bound",
        "recursive_stack.cubin",
        "--loop-default",
        "10",
        "--format",
        "json",
    ]);
    assert!(found.iter().any(|id| id == "stack-size"), "{found:?}");
    // A launch file that states the size assumes nothing.
    let text = std::fs::read_to_string(folder().join("recursive_stack.toml")).expect("a launch");
    let stated = scratch(
        "recursive_stack_stated.toml",
        format!("stack = 4096\n{text}").as_bytes(),
    );
    let ran = run(&["run", "recursive_stack.cubin", "--launch", &stated]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("bytes (state"), "{}", ran.stdout);
}

#[test]
fn a_trap_ends_the_launch() {
    let bound = run(&["bound", "trap.cubin", "--loop-default", "10"]);
    assert_eq!(bound.code, Some(0), "{}{}", bound.stdout, bound.stderr);
    let ran = run(&["run", "trap.cubin", "--launch", "trap.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let trapped = run(&["run", "trap.cubin", "--launch", "trap_taken.toml"]);
    assert_ne!(trapped.code, Some(0));
    for part in ["trap", "f1b.cu:3", "block (0, 0, 0)", "thread"] {
        assert!(trapped.stderr.contains(part), "{part}: {}", trapped.stderr);
    }
    for launch in ["trap.toml", "trap_taken.toml"] {
        let audited = run(&[
            "audit",
            "trap.cubin",
            "--launch",
            launch,
            "--loop-default",
            "10",
            "--format",
            "json",
        ]);
        let report: serde_json::Value = serde_json::from_str(&audited.stdout).expect("JSON");
        assert_eq!(report["violations"], 0, "{launch}: {}", audited.stdout);
        let is_trapped = launch == "trap_taken.toml";
        assert_eq!(report["faulted"] != 0, is_trapped, "{launch}");
    }
}

#[test]
fn functions_in_sections_of_their_own_belong_to_the_kernels_that_call_them() {
    let bound = json(&[
        "bound",
        "linked_functions.cubin",
        "--loop-default",
        "10",
        "--format",
        "json",
    ]);
    let kernel = &bound["kernels"][0];
    assert!(
        kernel["calls"].as_array().is_none_or(Vec::is_empty),
        "{kernel}"
    );
    assert!(
        kernel["loops"]
            .as_array()
            .is_some_and(|loops| !loops.is_empty()),
        "{kernel}"
    );
    let ran = run(&[
        "run",
        "linked_functions.cubin",
        "--launch",
        "linked_functions.toml",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let audited = run(&[
        "audit",
        "linked_functions.cubin",
        "--launch",
        "linked_functions.toml",
        "--loop-default",
        "10",
    ]);
    assert_eq!(
        audited.code,
        Some(0),
        "{}{}",
        audited.stdout,
        audited.stderr
    );
    // nvdisasm prints each section once, at its own addresses.
    let plain = run(&["disasm", "linked_functions.cubin", "--style", "nvdisasm"]);
    assert_eq!(
        plain.stdout.matches(".text.").count(),
        2,
        "{}",
        plain.stdout
    );
    assert_eq!(
        plain.stdout.matches("/*0008*/").count(),
        2,
        "{}",
        plain.stdout
    );
    let labelled = run(&["disasm", "linked_functions.cubin", "--kernel", "mix"]);
    assert!(
        labelled.stdout.contains("blend(float, float, int)"),
        "{}",
        labelled.stdout
    );
}

#[test]
fn an_image_that_is_not_linked_is_named_and_left_out() {
    let both = [
        "unlinked_copy.fatbin",
        "--loop-default",
        "10",
        "--format",
        "json",
    ];
    let bound = run(&[&["bound"][..], &both].concat());
    assert!(
        bound.stderr.contains("image 1 is not linked and left out"),
        "{}",
        bound.stderr
    );
    let report: serde_json::Value = serde_json::from_str(&bound.stdout).expect("JSON");
    assert_eq!(report["kernels"].as_array().map(Vec::len), Some(4));
    let list = run(&["list", "unlinked_copy.fatbin"]);
    assert!(
        list.stdout.contains("not linked: a copy of image 2"),
        "{}",
        list.stdout
    );
    let copies = run(&["list", "unlinked_copy.fatbin", "--image", "1"]);
    assert!(
        copies.stdout.contains("sm_61, not linked"),
        "{}",
        copies.stdout
    );
    // Registers of the functions that a kernel calls count.
    let linked = json(&[
        "list",
        "unlinked_copy.fatbin",
        "--image",
        "2",
        "--format",
        "json",
    ]);
    let contents = &linked["images"][0]["contents"];
    let kernels = contents["kernels"].as_array().cloned().expect("kernels");
    let dbl = kernels.iter().find(|kernel| kernel["name"] == "dbl");
    assert_eq!(dbl.map(|kernel| &kernel["registers"]), Some(&44.into()));
    assert_eq!(contents["warnings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn high_words_of_right_shifts_are_computed() {
    let ran = run(&["run", "shifts.cubin", "--launch", "shifts.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout
            .contains("32 elements of buffers are as the launch file expects"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_kernel_with_functions_elsewhere_gets_no_probes() {
    let refused = run(&[
        "instrument",
        "linked_functions.cubin",
        "--output",
        &scratch("linked_functions_probes.cubin", ""),
    ]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("a section of its own"),
        "{}",
        refused.stderr
    );
}
