//! A sample of the cycles that an H200 recorded, and faults that are planted in the machine.

use std::path::{Path, PathBuf};

use warpbound_machine::GpuModel;

use super::{Comparisons, MACHINE, Model, clocks, profiles, quantile, sorted};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/recorded/h200")
}

/// Model of the recorded GPU with changes to its machine file.
fn model(cubins: &str, changes: &[(&str, &str)]) -> Model {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join(format!("machine/nvidia/{MACHINE}.toml"));
    let mut text = std::fs::read_to_string(file).expect("a machine file");
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    Model {
        launches: root.join("kernels"),
        cubins: recorded().join(cubins),
        machine: GpuModel::parse("changed.toml", &text).expect("a machine"),
    }
}

fn table(name: &str) -> String {
    std::fs::read_to_string(recorded().join("time").join(name)).expect("a table")
}

fn clock_readings(changes: &[(&str, &str)]) -> Comparisons {
    clocks::compare(&model("time", changes), &table("clocks.csv")).expect("they are read")
}

/// Names of the microbenchmarks whose cycles are not within 3 %.
fn other_readings(changes: &[(&str, &str)]) -> Vec<String> {
    let found = clock_readings(changes);
    assert!(found.missing.is_empty(), "{:?}", found.missing);
    let is_other = |ratio: f64| (ratio - 1.0).abs() > 0.03;
    let other = found.all.iter().filter(|found| is_other(found.ratio()));
    let name = |name: &str| name.trim_start_matches("microbenchmarks.").to_owned();
    other.map(|found| name(&found.name)).collect()
}

/// Microbenchmarks whose cycles the model does not have (docs/timing-model.md): loads that follow additions to their word, and
/// shuffles by an index.
const KNOWN: [&str; 6] = [
    "global_atomics.1threads.apart0",
    "global_atomics.32threads.apart0",
    "global_atomics.32threads.apart1",
    "latency_shuffle",
    "shared_atomics.1threads.apart0",
    "shared_atomics.32threads.apart1",
];

fn sorted_names(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn microbenchmarks_take_the_recorded_cycles() {
    assert_eq!(sorted_names(other_readings(&[])), KNOWN);
}

#[test]
fn planted_latencies_are_found() {
    let changes = [
        (
            "latency = { value = [22, 22]",
            "latency = { value = [24, 24]",
            "chase_shared",
        ),
        (
            "l1_hit = { value = [28, 28]",
            "l1_hit = { value = [30, 30]",
            "chase_constant",
        ),
        (
            "xu = { value = [17, 17]",
            "xu = { value = [18, 18]",
            "latency_rsqrt",
        ),
        (
            "conflict = { value = [2, 2]",
            "conflict = { value = [3, 3]",
            "bank_conflict.stride32",
        ),
    ];
    for (from, to, name) in changes {
        let other = other_readings(&[(from, to)]);
        assert!(other.contains(&name.to_owned()), "{to}: {other:?}");
    }
}

/// Kernels that no number was fitted to.
#[test]
fn kernels_take_about_the_recorded_cycles() {
    let model = model("counts", &[]);
    let found = profiles::compare(&model, &table("profiles.csv"), Model::cycles).expect("a table");
    assert!(found.missing.is_empty(), "{:?}", found.missing);
    let errors = sorted(found.all.iter().map(|found| (found.ratio() - 1.0).abs()));
    assert_eq!(errors.len(), 40);
    assert!(quantile(&errors, 0.5) <= 0.10, "{}", found.summary());
    assert!(quantile(&errors, 0.9) <= 0.25, "{}", found.summary());
}

#[test]
fn no_record_is_above_its_bound() {
    let model = model("counts", &[]);
    let found = profiles::compare(&model, &table("profiles.csv"), Model::bound).expect("a table");
    assert!(found.all.len() >= 10, "{:?}", found.missing);
    let above: Vec<&str> = found
        .all
        .iter()
        .filter(|found| found.ratio() < 1.0)
        .map(|found| &*found.name)
        .collect();
    assert_eq!(above, Vec::<&str>::new());
}
