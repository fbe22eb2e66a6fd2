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
