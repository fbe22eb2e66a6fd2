//! Existence of the files that documents name.

use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Directories with documents.
const FOLDERS: [&str; 9] = [
    "",
    "docs",
    "docs/how-to",
    "docs/soundness",
    "kernels",
    "kernels/msimt",
    "machine",
    "isa/nvidia",
    "isa/mini-simt",
];

/// Extensions of file names.
const ENDINGS: [&str; 10] = [
    ".rs", ".toml", ".md", ".cu", ".py", ".cubin", ".msimt", ".forms", ".classes", ".names",
];

fn documents() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        let folder = Path::new(ROOT).join(folder);
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|ending| ending == "md") {
                all.push(path);
            }
        }
    }
    all.sort();
    assert!(all.len() > 8, "{all:?}");
    all
}

/// Returns the paths in code lines or between backticks that have a directory and no placeholder.
fn paths(text: &str) -> Vec<&str> {
    let mut pieces: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let blocks = text.lines().filter(|line| line.starts_with("    "));
    pieces.extend(blocks);
    let words = pieces.into_iter().flat_map(|piece| {
        piece.split(|c: char| !(c.is_ascii_alphanumeric() || "_-./*".contains(c)))
    });
    let is_path = |word: &&str| {
        let has_placeholder = word
            .split(['/', '.'])
            .any(|part| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase()));
        let is_document = word.ends_with(".md");
        word.contains('/')
            && !word.contains('*')
            && (!has_placeholder || is_document)
            && ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    words.filter(is_path).collect()
}

/// Returns the targets of links to files: `[text](target)`, and lines `[label]: target`.
fn links(text: &str) -> Vec<&str> {
    let inline = text.split("](").skip(1);
    let inline = inline.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let labelled = text.lines().filter(|line| line.starts_with('['));
    let labelled = labelled.filter_map(|line| line.split_once("]: ").map(|(_, target)| target));
    inline
        .chain(labelled)
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

/// The text without fenced blocks, which are outputs of commands and may name files of others.
fn without_outputs(text: &str) -> String {
    let parts = text.split("```");
    parts.step_by(2).collect()
}

#[test]
fn files_that_documents_name_exist() {
    let (mut seen, mut missing) = (0, Vec::new());
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("a document");
        let text = without_outputs(&text);
        let own = document.parent().expect("a folder");
        let mut roots = vec![own.to_path_buf(), PathBuf::from(ROOT)];
        if text.contains("Paths begin in `crates/`") {
            roots.push(Path::new(ROOT).join("crates"));
        }
        for path in paths(&text) {
            seen += 1;
            if !roots.iter().any(|root| root.join(path).exists()) {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
        for link in links(&text) {
            seen += 1;
            if !own.join(link).exists() {
                missing.push(format!("{}: link to {link}", document.display()));
            }
        }
    }
    assert!(seen > 80, "only {seen} names of files");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
