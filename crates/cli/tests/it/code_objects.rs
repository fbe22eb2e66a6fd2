//! Commands on code objects with long branches, calls, floats in LDS, and images (`data/gcn3/README.md`).

use serde_json::Value;

use crate::support::{run, run_in};

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gcn3")
}

fn at(arguments: &str) -> crate::support::CommandOutput {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    run_in(&folder(), &arguments, &[])
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&at(arguments).done()).expect("JSON")
}

/// Branches and calls by s_setpc_b64 and s_swappc_b64 with an address that the code computes, also before a loop.
#[test]
fn long_branches_and_hoisted_calls_are_followed() {
    let text = at("bound long_branches.co --loop-default 10").done();
    assert!(text.contains("2 kernels, 2 bounded"), "{text}");
    // The loop with the call has four rounds, that of the callee seven.
    let text = at("bound long_branches.co --kernel calls").done();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|row| row.split_whitespace().collect())
        .collect();
    for row in [
        ["L1", "0x022c", "7", "derived"],
        ["L2", "0x0360", "4", "derived"],
    ] {
        assert!(rows.iter().any(|found| **found == row), "{text}");
    }
}

/// All kernels of the file are in one section; `calls` is 38 instructions, the function that it calls 14.
#[test]
fn a_kernel_with_calls_has_its_own_functions() {
    let list = json("list unrolled_calls.co --format json");
    let kernels = &list["images"][0]["contents"]["kernels"];
    let kernels = kernels.as_array().expect("kernels");
    let sizes = kernels.iter().map(|kernel| {
        let name = kernel["name"].as_str().expect("a name");
        (name, kernel["instructions"].as_u64().expect("a number"))
    });
    assert!(sizes.eq([("loops", 893), ("calls", 52)]), "{list}");
    let text = at("disasm unrolled_calls.co --kernel calls").done();
    assert!(text.contains("calls:") && text.contains("leaf:"), "{text}");
    assert!(!text.contains("loops:"), "{text}");
    let instructions = text.lines().filter(|line| line.starts_with("   ")).count();
    assert_eq!(instructions, 52);
}

/// The sum of 0 to 63 by ds_add_f32, in any order; the clock needs time.
#[test]
fn floats_in_lds_and_the_clock_run() {
    let launch = "lds_floats.co --launch lds_floats.toml";
    for time in ["--functional", ""] {
        let text = at(&format!("run {launch} {time}")).done();
        let equal = "1 element of buffers are as the launch file expects";
        assert!(text.contains(equal), "{text}");
    }
    let ticks = "run lds_floats.co --launch ticks.toml";
    let refused = at(&format!("{ticks} --functional")).refusal();
    assert!(refused.contains("s_memtime"), "{refused}");
    assert!(refused.contains("need a run with time"), "{refused}");
    at(ticks).done();
}

/// An atomic operation on an image writes its status to the register that holds the limit of the loop.
#[test]
fn status_of_image_atomics_is_written() {
    let text = at("bound image_status.co").without_bound();
    assert!(text.contains("no bound"), "{text}");
}

/// One line for all kernels of a file, and exit code 3.
#[test]
fn commands_for_other_gpus_refuse_files_in_one_line() {
    for (command, expected) in [
        (
            "lint unrolled_calls.co",
            "unrolled_calls.co: this is code for gfx803, and only code of NVIDIA's GPUs has control words",
        ),
        (
            "lint unrolled_calls.co --format json",
            "unrolled_calls.co: this is code for gfx803, and only code of NVIDIA's GPUs has control words",
        ),
        (
            "disasm unrolled_calls.co --style nvdisasm",
            "unrolled_calls.co: this is code for gfx803, and nvdisasm has a syntax for code of NVIDIA's GPUs only",
        ),
    ] {
        let refused = at(command).refusal();
        assert!(refused.starts_with(expected), "{command}: {refused}");
    }
    let own = run(&["lint", "nbody.sm_61.cubin"]);
    assert_eq!(own.code, Some(0));
}

/// Each report of sites names the assumption that they rest on.
#[test]
fn sites_rest_on_an_assumption() {
    let splits =
        |rest: &[&str]| run(&[&["splits", "split_levels.gfx803.co"], rest].concat()).done();
    let text = splits(&[]);
    assert!(text.contains("(race-free-lanes)"), "{text}");
    let report: Value = serde_json::from_str(&splits(&["--format", "json"])).expect("JSON");
    assert_eq!(report["assumptions"][0]["id"], "race-free-lanes");
}
