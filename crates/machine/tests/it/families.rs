//! Families of machines: each file has exactly the parameters of its family.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use warpbound_base::Family;
use warpbound_machine::{GpuModel, Parameter, Selection};

const GTX1080: &str = include_str!("../../../../machine/nvidia/gtx1080.toml");
const H200: &str = include_str!("../../../../machine/nvidia/h200.toml");
const GEM5: &str = include_str!("../../../../machine/amd/gem5-apu.toml");
const NANO: &str = include_str!("../../../../machine/amd/r9-nano.toml");

/// Returns the `section.key` of each line of a machine file with a range.
fn stated(text: &str) -> Vec<String> {
    let mut section = "";
    let mut keys = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((key, _)) = line.split_once(" = { value = [") {
            keys.push(format!("{section}.{key}"));
        }
    }
    keys
}

/// Compares the text of the files with the rows, without the parser of machine files.
#[test]
fn each_file_has_exactly_the_rows_of_its_family() {
    for (text, family, rows) in [
        (GTX1080, Family::Maxwell, 122),
        (H200, Family::Volta, 121),
        (GEM5, Family::Gcn3, 102),
        (NANO, Family::Gcn3, 102),
    ] {
        let keys = stated(text);
        let names: BTreeSet<&str> = Parameter::of_family(family).map(Parameter::name).collect();
        assert_eq!(keys.len(), rows);
        assert_eq!(
            keys.iter().map(String::as_str).collect::<BTreeSet<_>>(),
            names
        );
    }
    // 122 of Maxwell and Pascal; the 102 of GCN3, without those it shares with NVIDIA's; and those only of later GPUs.
    let is_nvidia =
        |parameter: &Parameter| parameter.is_of(Family::Maxwell) || parameter.is_of(Family::Volta);
    let all = Parameter::ALL;
    let of_gcn3 = |parameter: &&Parameter| parameter.is_of(Family::Gcn3);
    let shared = all.iter().filter(of_gcn3).filter(|p| is_nvidia(p)).count();
    let later = all
        .iter()
        .filter(|p| p.is_of(Family::Volta) && !p.is_of(Family::Maxwell));
    assert_eq!(all.len() + shared, 122 + later.count() + 102);
}

#[test]
fn rows_of_the_other_family_are_refused() {
    let count = "[cu]\ncount = { value = [4, 4], source = \"a test\" }\n";
    let text = format!("{GTX1080}\n{count}");
    let error = GpuModel::parse("m.toml", &text).unwrap_err().to_string();
    assert!(
        error.contains("cu.count is not known of NVIDIA GPUs"),
        "{error}"
    );
    let text = format!("{GEM5}\n[sm]\ncount = {{ value = [4, 4], source = \"a test\" }}\n");
    let error = GpuModel::parse("m.toml", &text).unwrap_err().to_string();
    assert!(
        error.contains("sm.count is not known of GCN3 GPUs"),
        "{error}"
    );
    let text = format!("{GEM5}\n[sm]\n");
    let error = GpuModel::parse("m.toml", &text).unwrap_err().to_string();
    assert!(error.contains("sm is not known"), "{error}");
    for (from, to, said) in [
        ("\"gfx803\"", "\"gfx803\", \"sm_61\"", "of different kinds"),
        (
            "\"gfx803\"]",
            "\"sm_61\"]\nlike = \"r9-nano\"",
            "like: r9-nano is one of the GCN3 GPUs",
        ),
        ("\"gfx803\"", "\"sm_61\"", "sm.count is missing"),
    ] {
        let text = GEM5.replacen(from, to, 1);
        let error = GpuModel::parse("m.toml", &text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn each_row_is_required() {
    for parameter in Parameter::of_family(Family::Gcn3) {
        let (section, key) = parameter.name().split_once('.').unwrap();
        let mut inside = false;
        let is_kept = |line: &&str| {
            if line.starts_with('[') {
                inside = *line == format!("[{section}]");
            }
            !(inside && line.starts_with(&format!("{key} = ")))
        };
        let lines: Vec<&str> = NANO.lines().filter(is_kept).collect();
        let error = GpuModel::parse("m.toml", &lines.join("\n"))
            .unwrap_err()
            .to_string();
        let begin = format!("m.toml: {} is missing; it is: ", parameter.name());
        assert!(error.starts_with(&begin), "{error}");
    }
}

/// A value of a parameter that a machine does not have is refused, and a machine has 0 for it.
#[test]
fn values_of_the_other_family_are_refused() {
    for name in GpuModel::names() {
        let model = GpuModel::built_in(name).unwrap();
        for selection in [Selection::Slow, Selection::Seed(3)] {
            let config = model.select(selection);
            assert_eq!(config.family(), model.family());
            for &parameter in Parameter::ALL {
                if parameter.is_of(model.family()) {
                    continue;
                }
                assert_eq!(
                    (config[parameter], model.range(parameter).stated()),
                    (0, [0; 3])
                );
                let other = config.clone().with(parameter, 1);
                let error = other.check().unwrap_err().to_string();
                let said = format!("{} is not a number of {}", parameter.name(), model.family());
                assert_eq!(error, said);
            }
        }
    }
}

#[test]
fn values_that_describe_no_compute_unit_are_refused() {
    use Parameter as P;
    let config = GpuModel::built_in("gem5-apu")
        .unwrap()
        .select(Selection::Typical);
    for (parameter, value, said) in [
        (P::LdsBankShift, 1, "must be 0 or 2"),
        (P::SplitRegisters, 2, "must be 0 or 1"),
        (P::CuCount, 0, "must be at least 1"),
        (P::CuCount, 257, "must be 1 to 256"),
        (P::SimdVgprStep, 0, "must be at least 1"),
        (P::IssueKinds, 0, "must be at least 1"),
        (P::LdsBanks, 24, "must be a power of two"),
        (P::L1RequestThreads, 128, "must be 4 to 64"),
        (
            P::ScalarWays,
            5,
            "multiple of scalar.line x scalar.ways, which is 320",
        ),
    ] {
        let error = config
            .clone()
            .with(parameter, value)
            .check()
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{error}");
    }
}
