//! Facts about memory accesses: what they do to bounds in cycles, and how audits contradict them.

use serde_json::Value;

use crate::support::{run, scratch};

/// A sparse matrix by vector, whose column numbers decide addresses.
const FILE: &str = "../practice/csr_spmv_warp.sm_61.cubin";
const LAUNCH: &str = "../practice/csr_spmv_warp.toml";

/// Returns the path of the observations of an audit, signed.
fn signed(name: &str) -> String {
    let path = scratch(&format!("access.{name}.toml"), "");
    let audit = ["audit", FILE, "--launch", LAUNCH, "--runs", "3"];
    run(&[&audit[..], &["--write-facts", &path]].concat()).done();
    let seen = std::fs::read_to_string(&path).expect("the facts");
    assert!(seen.contains("sectors = "), "{seen}");
    let facts = seen.replace("status = \"observed\"", "signed_off_by = \"A test\"");
    scratch(&format!("access.{name}.signed.toml"), facts)
}

/// Returns the bound of the grid in cycles, and the assumptions.
fn bound(options: &[&str]) -> (u64, Vec<String>) {
    let cycles = [
        "--cost",
        "cycles",
        "--machine",
        "gtx1080",
        "--launch",
        LAUNCH,
    ];
    let all = [&["bound", FILE, "--format", "json"], &cycles[..], options].concat();
    let report: Value = serde_json::from_str(&run(&all).done()).expect("JSON");
    let cycles = &report["kernels"][0]["cycles"];
    let assumptions = cycles["assumptions"].as_array().expect("a list").iter();
    let ids = assumptions.map(|own| own["id"].as_str().expect("an id").to_owned());
    (cycles["bound"].as_u64().expect("a bound"), ids.collect())
}

#[test]
fn facts_about_accesses_lower_a_bound_and_are_assumed() {
    let facts = signed("lower");
    let (without, assumed) = bound(&[]);
    assert!(!assumed.contains(&"access-facts".to_owned()));
    let (with, assumed) = bound(&["--facts", &facts]);
    assert!(assumed.contains(&"access-facts".to_owned()));
    // The column numbers that are seen lie close together.
    assert!(with < without * 3 / 4, "{with} of {without}");
}

#[test]
fn audits_contradict_broken_facts_about_accesses() {
    let path = signed("broken");
    let audit = ["audit", FILE, "--launch", LAUNCH, "--runs", "3", "--facts"];
    let good = run(&[&audit[..], &[&path]].concat()).done();
    assert!(good.contains("no violation"), "{good}");
    let facts = std::fs::read_to_string(&path).expect("the facts");
    let largest = (4..=32).rev().map(|n| format!("sectors = {n},"));
    let largest = largest.into_iter().find(|text| facts.contains(text));
    let broken = facts.replacen(&largest.expect("a number"), "sectors = 3,", 1);
    let path = scratch("access.broken.less.toml", broken);
    let report = run(&[&audit[..], &[&path]].concat());
    assert_eq!(report.code, Some(1), "{}", report.stderr);
    let message = "fact of at most 3 sectors broken: an execution has";
    assert!(report.stdout.contains(message), "{}", report.stdout);
}

/// Each line of the template has the keys that its memory has, and the costs fall.
#[test]
fn the_template_lists_the_accesses_whose_addresses_are_not_known() {
    let facts = run(&["facts", FILE, "--accesses", "--launch", LAUNCH]).done();
    assert!(
        facts.contains("# global memory, up to 32 sectors in 32 lines, executed 3 times\n"),
        "{facts}"
    );
    let path = scratch("access.template.toml", &facts);
    // Missing numbers state nothing.
    assert_eq!(bound(&[]).0, bound(&["--facts", &path]).0);
    let without = run(&["facts", FILE, "--launch", LAUNCH]).done();
    assert!(!without.contains("sectors = "), "{without}");
}

/// The gap breakdown names the accesses that facts are worth most for.
#[test]
fn gaps_name_the_accesses_behind_the_gap() {
    let options = ["--launch", LAUNCH, "--machine", "gtx1080", "--runs", "2"];
    let text = run(&[&["gap", FILE], &options[..]].concat()).done();
    assert!(text.contains("access, bound / run"), "{text}");
    assert!(text.contains("(csr_spmv_warp.cu:23)"), "{text}");
    assert!(
        text.contains("facts about these accesses lower the bound"),
        "{text}"
    );
}

/// Numbers that a run of the launch as given has shown, stated as facts, give bounds that runs with these contents do not
/// exceed: what follows from stated numbers is no less than what a run needs.
#[test]
fn bounds_by_observed_facts_hold_for_the_observed_contents() {
    let mut lowered = 0;
    for name in [
        "csr_spmv_warp",
        "byte_histogram",
        "crc32_packets",
        "knn_tiled",
        "ray_spheres",
    ] {
        let file = format!("../practice/{name}.sm_61.cubin");
        let launch = format!("../practice/{name}.toml");
        let seen = scratch(&format!("access.seen.{name}.toml"), "");
        let audit = ["audit", &file, "--launch", &launch, "--write-facts", &seen];
        run(&audit).done();
        let facts = std::fs::read_to_string(&seen).expect("the facts");
        lowered += usize::from(facts.contains("sectors = ") || facts.contains("conflicts = "));
        let facts = facts.replace("status = \"observed\"", "signed_off_by = \"A test\"");
        let facts = scratch(&format!("access.signed.{name}.toml"), facts);
        let options = [
            "--machine",
            "gtx1080",
            "--contents",
            "1",
            "--runs",
            "6",
            "--format",
            "json",
        ];
        let gap = ["gap", &file, "--launch", &launch, "--facts", &facts];
        let report = run(&[&gap[..], &options[..]].concat()).done();
        let report: Value = serde_json::from_str(&report).expect("JSON");
        let number = |key: &str| report[key].as_u64().expect("a number");
        assert!(
            number("worst_simulated") <= number("bound"),
            "{name}: {report}"
        );
    }
    assert_eq!(lowered, 5);
}
