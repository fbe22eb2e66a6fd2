//! `predict`: counts without a run, and computation trees.

use serde_json::Value;

use crate::support::run;

const NBODY: [&str; 4] = [
    "predict",
    "nbody.sm_61.cubin",
    "--launch",
    "../launches/nbody.nbody_advance.1.toml",
];

const LUD: [&str; 4] = [
    "predict",
    "lud_diagonal.sm_61.cubin",
    "--launch",
    "../launches/lud_diagonal.lud_diagonal.0.toml",
];

fn json(message: &str) -> Value {
    serde_json::from_str(message).expect("JSON")
}

/// The warp instructions are those of a functional run.
#[test]
fn all_counts_of_a_kernel_whose_branches_follow_from_the_launch() {
    let text = run(&NBODY).done();
    assert!(text.contains("activity factor 100.00 %"), "{text}");
    let report = json(&run(&[&NBODY[..], &["--format", "json"]].concat()).done());
    assert_eq!(report["schema"], "warpbound.predict/1");
    assert_eq!(report["lost"], Value::Null);
    let functional = [&["run"], &NBODY[1..], &["--functional", "--format", "json"]];
    let functional = json(&run(&functional.concat()).done());
    assert_eq!(report["issued"], functional["warp_instructions"]);
}

#[test]
fn unknown_counts_name_the_branch_and_the_loads() {
    let text = run(&LUD).done();
    assert!(text.contains("unknown because of"), "{text}");
    let report = json(&run(&[&LUD[..], &["--format", "json"]].concat()).done());
    assert_eq!(report["issued"], Value::Null);
    let reasons = report["reasons"].as_array().expect("reasons");
    let names_loads = |reason: &Value| {
        let origins = reason["origins"].as_array().expect("origins");
        let loads = reason["loads"].as_array().expect("loads");
        origins.iter().any(|origin| origin == "data") && !loads.is_empty()
    };
    assert!(reasons.iter().all(names_loads), "{reasons:?}");
}

#[test]
fn computation_trees_mark_what_is_tainted() {
    let tree = run(&["predict", "early_exit.sm_61.cubin", "--tree"]).done();
    assert!(tree.contains("tainted"), "{tree}");
    assert!(tree.contains("tid.x"), "{tree}");
    let dot = [
        "predict",
        "early_exit.sm_61.cubin",
        "--tree",
        "--format",
        "dot",
    ];
    let dot = run(&dot).done();
    assert!(dot.starts_with("digraph"), "{dot}");
}

#[test]
fn what_predictions_do_not_cover_is_refused() {
    let drawn = run(&[&NBODY[..], &["--format", "dot"]].concat());
    assert!(drawn.usage().contains("--tree"));
    let missing = run(&["predict", "nbody.sm_61.cubin"]);
    missing.usage();
}

/// A register that is packed with unknown bits decides the last block of `path_finder`: its known half is enough.
#[test]
fn predicates_packed_beside_unknown_bits_are_known() {
    for name in ["path_finder.path_finder", "hotspot.hotspot"] {
        let source = name.split('.').next().expect("a source");
        let cubin = format!("{source}.sm_61.cubin");
        let launch = format!("../launches/{name}.0.toml");
        let report =
            json(&run(&["predict", &cubin, "--launch", &launch, "--format", "json"]).done());
        assert_eq!(report["reasons"], Value::Array(Vec::new()), "{name}");
        assert!(report["issued"].is_u64(), "{name}");
    }
}

#[test]
fn recursion_by_loaded_data_leaves_the_other_blocks_known() {
    let launch = "../launches/recursion.recursion.0.toml";
    let recursion = ["predict", "recursion.sm_61.cubin", "--launch", launch];
    let report = json(&run(&[&recursion[..], &["--format", "json"]].concat()).done());
    assert_eq!(report["lost"], Value::Null);
    let blocks = report["blocks"].as_array().expect("blocks");
    assert!(blocks.iter().any(|block| block["issues"].is_u64()));
}

#[test]
fn ranges_limit_what_is_unknown() {
    let ranged = [&LUD[..], &["--ranges"]].concat();
    let text = run(&ranged).done();
    assert!(!text.contains('?'), "{text}");
    assert!(text.contains("activity factor"), "{text}");
    let report = json(&run(&[&ranged[..], &["--format", "json"]].concat()).done());
    let [least, most] = [0, 1].map(|at| report["ranges"]["activity_factor"][at].as_f64());
    // The run has 25.8 %.
    assert!(
        least < Some(0.259) && most > Some(0.257),
        "{least:?} {most:?}"
    );
}

#[test]
fn rule_of_the_paper_stands_beside_ours() {
    let launch = "../launches/nearest_neighbour.nearest_distances.1.toml";
    let cubin = "nearest_neighbour.sm_61.cubin";
    let text = run(&["predict", cubin, "--launch", launch, "--rule", "paper"]).done();
    assert!(text.contains("one thread, times the threads"), "{text}");
    assert!(text.contains(" measured, "), "{text}");
}

/// Predictions do not cover GCN3, and say so; the tree needs no launch.
#[test]
fn code_objects_have_trees_and_no_predictions() {
    let object = "reduction.gfx803.co";
    let launch = "../launches/reduction.reduction_tree.0.toml";
    let refused = run(&["predict", object, "--launch", launch]).refusal();
    assert!(
        refused.contains("predictions do not cover GCN3"),
        "{refused}"
    );
    let tree = run(&["predict", object, "--tree"]).done();
    assert!(tree.contains("s_cbranch"), "{tree}");
    assert!(tree.contains("tainted"), "{tree}");
}

/// The launch is checked against the prediction; names of parameters are those of the launch file.
#[test]
fn closed_forms_have_the_values_that_are_predicted() {
    let text = run(&["predict", "nbody.sm_61.cubin", "--formula"]).done();
    assert!(text.contains("n2 = max(0, ceil((p3 - 64)/64))"), "{text}");
    assert!(text.contains("[1 <= p3]*(n2 + 1)"), "{text}");
    let text = run(&[&NBODY[..], &["--formula"]].concat()).done();
    assert!(text.contains("(count - 64)/64"), "{text}");
    let json_text = run(&[&NBODY[..], &["--formula", "--format", "json"]].concat()).done();
    let report = json(&json_text);
    assert_eq!(report["schema"], "warpbound.count-formulas/1");
    let blocks = report["blocks"].as_array().expect("blocks");
    for block in blocks {
        let value = &block["value"];
        assert_eq!(value["lanes"], value["predicted_lanes"], "{block}");
        assert_eq!(value["issues"], value["predicted_issues"], "{block}");
    }
    let refusal = run(&["predict", "nbody_tiles.gfx803.co", "--formula"]).refusal();
    assert!(refusal.contains("GCN3"), "{refusal}");
}
