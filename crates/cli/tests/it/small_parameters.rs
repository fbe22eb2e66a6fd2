//! Ranges of parameters of 1 and 2 bytes, which share words of the constant bank.

use serde_json::Value;

use crate::support::{run, scratch};

const FILE: &str = "../plain/small_params.sm_61.cubin";
const LAUNCH: &str = "../plain/small_params.toml";

/// Returns the bound in instructions of a launch with ranges of parameters; `None` if there is none.
fn bound(params: &[&str]) -> Option<u64> {
    let mut options = vec!["bound", FILE, "--launch", LAUNCH, "--format", "json"];
    params
        .iter()
        .for_each(|param| options.extend(["--param", param]));
    let report: Value = serde_json::from_str(&run(&options).stdout).expect("JSON");
    report["kernels"][0]["bound"].as_u64()
}

/// Returns the most instructions of a warp in a run with these values of `taps`, `width`, `first` and `step`.
fn worst_of_run(values: [i64; 4]) -> u64 {
    let text = std::fs::read_to_string("../../kernels/plain/small_params.toml").expect("a launch");
    let mut values = values.into_iter();
    let mut wanted = false;
    let lines = text.lines().map(|line| {
        wanted |= ["taps", "width", "first", "step"]
            .iter()
            .any(|name| line == format!("name = \"{name}\""));
        match wanted && line.starts_with("value = ") {
            true => {
                wanted = false;
                format!("value = {}\n", values.next().expect("a value"))
            }
            false => format!("{line}\n"),
        }
    });
    let launch = scratch("small_parameters.toml", lines.collect::<String>());
    let report = run(&["audit", FILE, "--launch", &launch, "--format", "json"]);
    // The run counts; not every launch has a bound of its own.
    assert!(matches!(report.code, Some(0 | 2)), "{}", report.stderr);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    report["worst_simulated"].as_u64().expect("a run")
}

#[test]
fn ranges_of_small_parameters_bound_loops() {
    let ranges = ["taps=1..20", "width=1..60", "first=0..10", "step=1..5"];
    let bound_of_ranges = bound(&ranges).expect("a bound");
    let mut worst = 0;
    for values in [[1, 1, 0, 1], [20, 60, 0, 1], [20, 60, 10, 5], [7, 33, 3, 2]] {
        let issued = worst_of_run(values);
        assert!(
            issued <= bound_of_ranges,
            "{values:?}: {issued} of {bound_of_ranges}"
        );
        worst = worst.max(issued);
    }
    assert!(bound_of_ranges < 3 * worst, "{bound_of_ranges} of {worst}");
}

#[test]
fn what_is_not_stated_keeps_its_value() {
    // The numbers beside a range have the values of the file.
    let steps = "step=2..3";
    let few = bound(&[steps]).expect("a bound");
    let more = bound(&[steps, "taps=9..40"]).expect("a bound");
    assert!(few < more && more < 4 * few, "{few}, {more}");
    // A step of 0 never ends.
    assert_eq!(bound(&["step=0..5"]), None);
    // Numbers of both signs are any of their width.
    assert_eq!(bound(&["step=-1..5"]), None);
    let message = run(&["bound", FILE, "--launch", LAUNCH, "--param", "taps=0..256"]).refusal();
    assert!(
        message.contains("0..256 is not in the range of its type"),
        "{message}"
    );
}

#[test]
fn padding_beside_the_last_parameter_leaves_the_others_known() {
    // The launch file has 9, 60, 3 and 2; no parameter defines the byte after them.
    assert_eq!(bound(&[]), Some(worst_of_run([9, 60, 3, 2])));
}
