//! Concepts of the heads of the crates: the page `docs/concepts.md` is made from them, and their files exist.

use std::path::Path;

use warpbound_testkit::concepts::{Concept, concepts, page};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn all() -> Vec<Concept> {
    let all = concepts(Path::new(ROOT)).expect("heads with concepts");
    assert!(all.len() > 150, "only {} concepts", all.len());
    all
}

#[test]
fn the_page_has_the_concepts_of_the_heads() {
    let file = Path::new(ROOT).join("docs/concepts.md");
    let written = std::fs::read_to_string(file).expect("the page");
    let wanted = page(&all());
    assert_eq!(
        written, wanted,
        "`cargo xtask concepts` writes the page again"
    );
}

#[test]
fn files_of_concepts_exist() {
    let mut wrong = Vec::new();
    for concept in all() {
        let paths = concept.paths(Path::new(ROOT));
        if paths.is_empty() {
            wrong.push(format!("{}: no file", concept.name));
        }
        let missing = paths.iter().filter(|(_, exists)| !exists);
        wrong.extend(missing.map(|(path, _)| format!("{}: {path}", concept.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn concepts_of_a_crate_have_different_names() {
    let all = all();
    for pair in all.windows(2) {
        if let [one, next] = pair {
            let is_twice = one.in_crate == next.in_crate && one.name == next.name;
            assert!(!is_twice, "{}: {}", one.in_crate, one.name);
        }
    }
}
