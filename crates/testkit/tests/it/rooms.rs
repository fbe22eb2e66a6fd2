//! The layout of the crates: one way to tell the family of GPUs, rooms for tasks that stay small, imports without large
//! circles.

use std::path::{Path, PathBuf};

use warpbound_testkit::imports::ImportGraph;

use crate::words::{has_word, is_product, sources};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Crates of tasks, which use the stages and each other in this order.
const ROOMS: [&str; 6] = ["query", "runs", "bounds", "audit", "measure", "builds"];

/// Maximum number of lines of the sources of a room.
const MOST_LINES: usize = 10_000;

/// Maximum number of files in a circle of imports.
const MOST_IN_CIRCLE: usize = 3;

/// Folders and files that are about one family of GPUs of NVIDIA, and may name it.
const OF_ONE_FAMILY: [&str; 5] = [
    "isa/src/nvidia",
    "ir/src/maxwell",
    "ir/src/volta",
    "timing/",
    "base/src/family.rs",
];

/// Number of other product files with a word that only one family of GPUs of NVIDIA has: this number may only fall.
const WITH_WORDS_OF_ONE_FAMILY: usize = 14;

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
        for circle in graph.circles() {
            if circle.len() > MOST_IN_CIRCLE {
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

/// Floors in the head of a `lib.rs`: a numbered list with the name of each floor and its modules.
fn floors(head: &str) -> Vec<Vec<String>> {
    let mut floors: Vec<Vec<String>> = Vec::new();
    let mut is_list = false;
    for line in head.lines().filter_map(|line| line.strip_prefix("//! ")) {
        if line.starts_with(&format!("{}. *", floors.len() + 1)) {
            floors.push(Vec::new());
            is_list = true;
        }
        let Some(floor) = floors.last_mut().filter(|_| is_list) else {
            continue;
        };
        // After the modules, sentences say what the floor is about.
        for part in line.split_inclusive('`').collect::<Vec<_>>().chunks(2) {
            if let [_, name] = part {
                floor.push(name.trim_end_matches('`').to_owned());
            }
        }
        is_list = line.ends_with(',');
    }
    floors
}

/// The files of `analyse` import their own floor and lower ones, so that it can be read from the lowest one on.
#[test]
fn analyses_import_no_higher_floor() {
    let folder = Path::new(ROOT).join("crates/analyse/src");
    let head = std::fs::read_to_string(folder.join("lib.rs")).expect("a source");
    let floors = floors(&head);
    assert_eq!(floors.len(), 5, "{floors:?}");
    let floor_of = |path: &str| {
        let module = path.split('/').next().unwrap_or_default();
        let floor = floors
            .iter()
            .position(|names| names.iter().any(|name| name == module));
        floor.unwrap_or_else(|| panic!("{module} is on no floor"))
    };
    let graph = ImportGraph::read(&folder).expect("its sources");
    let edges = graph.edges();
    assert!(edges.len() > 300, "{} imports", edges.len());
    let upwards: Vec<String> = edges
        .iter()
        .filter(|(from, to)| !from.is_empty() && !to.is_empty() && floor_of(from) < floor_of(to))
        .map(|(from, to)| format!("{from} imports {to}"))
        .collect();
    assert!(upwards.is_empty(), "{}", upwards.join("\n"));
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

/// Whether a line names the family of GPUs of NVIDIA with an activation stack, one of its architectures, or one of its
/// instructions that later GPUs lack. An arm of a match over families names all of them, so it does not count.
fn has_word_of_one_family(line: &str) -> bool {
    let line = line.to_lowercase();
    let is_arm = line
        .split_once("family::maxwell")
        .is_some_and(|(_, after)| after.contains("=>"));
    let line = match is_arm {
        true => line.replace("family::maxwell", ""),
        false => line,
    };
    let anywhere = ["maxwell", "pascal", "xmad"];
    let is_architecture = |name: &str| {
        let mut names = line.match_indices(name);
        names.any(|(at, _)| {
            let next = line
                .get(at + name.len()..)
                .and_then(|rest| rest.chars().next());
            next.is_some_and(|next| next.is_ascii_digit())
        })
    };
    anywhere.iter().any(|word| line.contains(word))
        || ["ssy", "pbk", "pcnt"]
            .iter()
            .any(|word| has_word(&line, word))
        || ["sm_5", "sm_6"].into_iter().any(is_architecture)
}

#[test]
fn words_of_one_family_are_recognised() {
    for line in [
        "/// Lanes of Maxwell GPUs.",
        "if family == Family::Maxwell {",
        "self.add(Opcode::Xmad, &[], &operands)",
        "// SSY pushes an entry.",
        "//! such as `sm_61`",
    ] {
        assert!(has_word_of_one_family(line), "{line}");
    }
    for line in [
        "Family::Maxwell | Family::MiniSimt => {}",
        "Some(family @ Family::Maxwell) => family.lanes(),",
        "/// An assyrian word, and `sm_90a`.",
    ] {
        assert!(!has_word_of_one_family(line), "{line}");
    }
}

/// A fact of one family of GPUs of NVIDIA stands in its own files or among the facts of families. Everywhere else the
/// code asks the family, so that another family of NVIDIA does not have to look for hidden assumptions.
#[test]
fn other_files_do_not_name_one_family_of_nvidia() {
    let root = Path::new(ROOT).join("crates");
    let mut found = Vec::new();
    for source in sources(false) {
        let own = source.path.strip_prefix(&root).unwrap_or(&source.path);
        let own = own.to_string_lossy();
        if !is_product(&source.path) || OF_ONE_FAMILY.iter().any(|path| own.starts_with(path)) {
            continue;
        }
        if source.text.lines().any(has_word_of_one_family) {
            found.push(own.into_owned());
        }
    }
    let count = found.len();
    assert!(
        count <= WITH_WORDS_OF_ONE_FAMILY,
        "{count} files, at most {WITH_WORDS_OF_ONE_FAMILY} are allowed:\n{}",
        found.join("\n")
    );
}
