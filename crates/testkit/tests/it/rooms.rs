//! The layout of the crates: one way to tell the family of GPUs, rooms for tasks that stay small, imports without large
//! circles.

use std::path::{Path, PathBuf};

use warpbound_testkit::imports::ImportGraph;

use crate::words::{is_product, sources};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Crates of tasks, which use the stages and each other in this order.
const ROOMS: [&str; 6] = ["query", "runs", "bounds", "audit", "measure", "builds"];

/// Maximum number of lines of the sources of a room.
const MOST_LINES: usize = 10_000;

/// Maximum number of files in a circle of imports.
const MOST_IN_CIRCLE: usize = 3;

/// Crates with a larger circle, and its number of files: these numbers may only fall.
const LARGER_CIRCLES: [(&str, usize); 6] = [
    ("analyse", 12),
    ("cycles", 6),
    ("isa", 5),
    ("launch", 4),
    ("load", 4),
    ("report", 5),
];

fn crates() -> Vec<(String, PathBuf)> {
    let folder = Path::new(ROOT).join("crates");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Tests and maintenance commands are not the product.
        if path.join("src").is_dir() && name != "testkit" && name != "xtask" {
            all.push((name.clone().into_owned(), path.join("src")));
        }
    }
    all.sort();
    assert!(all.len() > 20, "{all:?}");
    all
}

fn lines(folder: &Path) -> usize {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sum += lines(&path);
        } else {
            let text = std::fs::read_to_string(&path).expect("a source");
            sum += text.lines().count();
        }
    }
    sum
}

#[test]
fn rooms_of_tasks_stay_small() {
    let large: Vec<String> = ROOMS
        .iter()
        .map(|room| {
            (
                room,
                lines(&Path::new(ROOT).join("crates").join(room).join("src")),
            )
        })
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(room, lines)| format!("{room} has {lines} lines, at most {MOST_LINES} are allowed"))
        .collect();
    assert!(large.is_empty(), "{}", large.join("\n"));
}

#[test]
fn circles_of_imports_stay_small() {
    let mut large = Vec::new();
    for (name, folder) in crates() {
        let graph = ImportGraph::read(&folder).expect("its sources");
        let known = LARGER_CIRCLES.iter().find(|(known, _)| *known == name);
        let most = known.map_or(MOST_IN_CIRCLE, |(_, most)| *most);
        for circle in graph.circles() {
            if circle.len() > most {
                large.push(format!(
                    "{name}: {} files: {}",
                    circle.len(),
                    circle.join(", ")
                ));
            }
        }
    }
    assert!(large.is_empty(), "{}", large.join("\n"));
}

/// A decision that takes nothing from a variant of an instruction set asks only for the family, which [`Family`] says.
///
/// [`Family`]: warpbound_base::Family
#[test]
fn only_the_family_says_what_a_family_is() {
    let variants = [
        "Program::Nvidia(_)",
        "Program::Amd(_)",
        "Program::Mini(_)",
        "Isa::Sm(_)",
        "Isa::Gfx(_)",
    ];
    let other_ways = [
        "warp_width == 64",
        "starts_with(\"gfx\")",
        "wave_facts.is_empty()",
        "MachineFamily",
    ];
    // Where the name of an instruction set is read.
    let own = "base/src/isa.rs";
    let mut found = Vec::new();
    for source in sources(false) {
        if !is_product(&source.path) || source.path.ends_with(own) {
            continue;
        }
        for (number, line) in (1..).zip(source.text.lines()) {
            let is_decision = line.contains("if let ") || line.contains("matches!(");
            let asks = is_decision && variants.iter().any(|variant| line.contains(variant));
            let is_comment = line.trim_start().starts_with("//");
            if !is_comment && (asks || other_ways.iter().any(|way| line.contains(way))) {
                found.push(format!(
                    "{}:{number}: {}",
                    source.path.display(),
                    line.trim()
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
