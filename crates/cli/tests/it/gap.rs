//! `gap`: bounds in cycles beside the worst simulated run.

use serde_json::Value;

use crate::support::{CommandOutput, run, scratch};

const MATMUL: [&str; 8] = [
    "gap",
    "matmul_int.sm_61.cubin",
    "--launch",
    "../cuda/matmul_int.8x8.toml",
    "--seeds",
    "1",
    "--contents",
    "1",
];

fn gap(arguments: &[&str]) -> CommandOutput {
    run(&[&MATMUL[..], arguments].concat())
}

fn json(output: &str) -> Value {
    serde_json::from_str(output).expect("JSON")
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}

#[test]
fn parts_of_the_gap_add_up_and_no_chain_inverts() {
    for caches in ["any", "warm", "cold"] {
        let arguments = ["--caches", caches, "--warp", "0.1", "--format", "json"];
        let report = json(&gap(&arguments).done());
        assert_eq!(report["schema"], "warpbound.sandwich/1");
        assert_eq!(report["caches"], caches);
        let chain = report["chain"].as_array().expect("an array");
        let names: Vec<&str> = chain.iter().filter_map(|e| e["name"].as_str()).collect();
        let expected = [
            "bound",
            "loops",
            "paths",
            "addresses",
            "hits and misses",
            "machine numbers",
        ];
        assert_eq!(names[..6], expected);
        assert_eq!(names.last(), Some(&"worst simulated"));
        let values: Vec<i64> = chain.iter().map(|e| number(&e["value"])).collect();
        assert!(values.is_sorted_by(|a, b| a >= b), "{names:?} {values:?}");
        let shares = report["shares"].as_array().expect("an array");
        let telescoped: i64 = shares
            .iter()
            .map(|share| number(&share["telescoped"]))
            .sum();
        let gap = number(&report["bound"]) - number(&report["worst_simulated"]);
        assert_eq!(telescoped, gap);
        assert!(number(&report["runs"]) >= 10);
        let overhead = number(&report["launch_overhead"]);
        assert!(overhead > 0 && overhead < number(&report["worst_simulated"]));
    }
}

/// Values of the chain of a launch. They never rise, and end with the composition and the run.
fn values_of_chain(report: &Value) -> Vec<i64> {
    assert_eq!(report["scope"], "grid");
    let chain = report["chain"].as_array().expect("an array");
    let names: Vec<&str> = chain.iter().filter_map(|e| e["name"].as_str()).collect();
    assert_eq!(names[6..], ["composition", "worst simulated"]);
    let values: Vec<i64> = chain.iter().map(|e| number(&e["value"])).collect();
    assert!(values.is_sorted_by(|a, b| a >= b), "{names:?} {values:?}");
    values
}

/// Of a launch of several warps the whole is simulated, unless one warp is asked for.
#[test]
fn launches_of_several_warps_end_with_their_composition() {
    let of_launch = ["--caches", "warm", "--runs", "4", "--format", "json"];
    let report = json(&gap(&of_launch).done());
    let values = values_of_chain(&report);
    let terms = report["composition"].as_array().expect("an array");
    let sum: i64 = terms.iter().map(|term| number(&term["cycles"])).sum();
    assert_eq!(sum, values[6]);
    for resource in report["resources"].as_array().expect("an array") {
        let (without, cycles) = (number(&resource["without"]), number(&resource["cycles"]));
        assert_eq!(without + cycles, values[6], "{resource}");
    }
    let alone = [&of_launch[..], &["--scope", "warp"]].concat();
    let report = json(&gap(&alone).done());
    assert_eq!(report["scope"], "warp");
    let text = gap(&of_launch[..4]).done();
    assert!(text.contains("the launch takes at most"), "{text}");
    assert!(text.contains("composition without"), "{text}");
    gap(&["--scope", "grid", "--warp", "0.0"]).refusal();
}

/// Of code with convergence barriers, whose groups of lanes may run in any order.
#[test]
fn launches_of_code_with_convergence_barriers_have_a_chain() {
    let arguments = [
        "gap",
        "../wide/hotspot.sm_90.cubin",
        "--launch",
        "../launches/hotspot.hotspot.1.toml",
        "--runs",
        "4",
        "--format",
        "json",
    ];
    let report = json(&run(&arguments).done());
    values_of_chain(&report);
}

#[test]
fn text_and_drawing_are_of_the_same_chain() {
    let svg = scratch("matmul_gap.svg", "");
    let text = gap(&["--caches", "warm", "--svg", &svg]).done();
    assert!(text.starts_with("kernel matmul"), "{text}");
    assert!(text.contains("machine numbers"), "{text}");
    assert!(!text.contains("error"), "{text}");
    let drawing = std::fs::read_to_string(svg).expect("the drawing");
    assert!(drawing.starts_with("<svg"), "{drawing}");
}

#[test]
fn without_a_bound_the_chain_begins_with_observed_loops() {
    // The bounds of the loops are elements of a buffer.
    let launch = scratch(
        "gap_nested.toml",
        "kernel = \"nested_divergent\"\ngrid = [1]\nblock = [32]\n\
         [[param]]\ntype = \"s32\"\nshape = [100]\nfill = \"iota\"\n\
         [[param]]\ntype = \"s32\"\nshape = [100]\n\
         [[param]]\ntype = \"s32\"\nvalue = 9\n",
    );
    let arguments = ["gap", "nested_loops.sm_61.cubin", "--launch", &launch];
    let text = run(&arguments).without_bound();
    assert!(
        text.contains("without observations there is no bound"),
        "{text}"
    );
    let with_default = [&arguments[..], &["--loop-default", "100"]].concat();
    assert!(run(&with_default).done().contains("bound"));
}

#[test]
fn refusals() {
    let text = run(&[
        "gap",
        "../msimt/triangle_sum.msimt",
        "--launch",
        "../msimt/triangle_sum.16x4.toml",
    ]);
    assert!(text.refusal().contains("mini-SIMT"));
    let same = gap(&["--output", "a.svg", "--svg", "a.svg"]);
    assert!(same.refusal().contains("name the same file"));
    let missing = gap(&["--warp", "7.0"]);
    assert!(missing.refusal().contains("7.0"), "no such block");
    gap(&["--caches", "hot"]).usage();
}

/// A parameter that may vary has its stated value in all runs: the bound is for this value, and the loop of the kernel
/// runs as often as `n` says.
#[test]
fn parameters_that_vary_keep_the_value_of_the_bound() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../kernels/cuda/matmul_int.8x8.toml"
    );
    let text = std::fs::read_to_string(path).expect("a launch");
    let mut lines: Vec<&str> = text.lines().collect();
    // The results in the file are for 8 columns.
    lines.retain(|line| !line.starts_with("expect"));
    let text = lines.join("\n");
    let text = text.replace("value = 8", "value = 2\nvary = [32, 32]");
    let text = text.replace("shape = [8, 8]", "shape = [32, 32]");
    let launch = scratch("gap.varies.toml", text);
    for scope in ["warp", "grid"] {
        let given = ["gap", "matmul_int.sm_61.cubin", "--launch", &launch];
        let extent = ["--seeds", "1", "--contents", "3", "--runs", "12"];
        let form = ["--scope", scope, "--format", "json"];
        let report = json(&run(&[&given[..], &extent, &form].concat()).done());
        let (bound, run) = (&report["bound"], &report["worst_simulated"]);
        assert!(number(run) <= number(bound), "{scope}: {run} > {bound}");
    }
}
