//! Crates use each other as the table in `ARCHITECTURE.md` says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::words::sources;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

type Edges = BTreeMap<String, BTreeSet<String>>;

fn allowed() -> Edges {
    let text = std::fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).expect("it exists");
    let section = text
        .split("## Allowed dependencies")
        .nth(1)
        .expect("the section exists");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let name = cells.next().unwrap_or_default().to_owned();
        let uses = cells
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned);
        (name, uses.collect())
    })
    .collect()
}

fn real() -> Edges {
    let mut edges = Edges::new();
    for entry in std::fs::read_dir(Path::new(ROOT).join("crates")).expect("it exists") {
        let dir = entry.expect("it can be listed").path();
        let manifest = std::fs::read_to_string(dir.join("Cargo.toml")).expect("a manifest");
        let mut in_dependencies = false;
        let mut uses = BTreeSet::new();
        for line in manifest.lines() {
            if line.starts_with('[') {
                in_dependencies = line == "[dependencies]" || line == "[build-dependencies]";
            } else if let (true, Some(rest)) = (in_dependencies, line.strip_prefix("warpbound-")) {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric())
                    .unwrap_or(rest.len());
                uses.insert(rest[..end].to_owned());
            }
        }
        let name = dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        edges.insert(name, uses);
    }
    edges
}

#[test]
fn crates_use_each_other_as_the_table_says() {
    assert_eq!(real(), allowed());
}

/// No other crate states that no run exceeds a number, so that none turns an observation into a bound.
#[test]
fn upper_bounds_are_stated_by_the_crate_of_bounds() {
    let (mut inside, mut outside) = (0, Vec::new());
    for source in sources(false) {
        let lines = source.text.lines().map(str::trim_start);
        let mut code = lines.filter(|line| !line.starts_with("//"));
        if code.any(|line| line.contains("UpperBound::proven")) {
            match source.path.to_string_lossy().contains("/ipet/src/") {
                true => inside += 1,
                false => outside.push(source.path),
            }
        }
    }
    assert!(inside > 1, "only {inside} sources");
    assert!(outside.is_empty(), "{outside:?}");
}

/// Packages with their features, as cargo builds them for `selection`.
fn built_packages(selection: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["tree", "--offline", "--prefix", "none", "--no-dedupe"])
        .args(["--format", "{p} {f}"])
        .args(selection)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// With other features of one library, each crate above it would be built again for the wheel.
#[test]
fn a_wheel_is_built_from_the_libraries_of_the_tests() {
    let tested = built_packages(&["--workspace"]);
    let of_wheel = built_packages(&["--package", "warpbound-python", "--edges", "normal,build"]);
    let others: Vec<&String> = of_wheel.difference(&tested).collect();
    assert!(
        others.is_empty(),
        "state these features in crates/python/Cargo.toml as the workspace has them: {others:?}"
    );
}
