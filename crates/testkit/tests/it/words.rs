//! Names and comments keep to the field's words: type names are unique, doc comments begin with a noun or a verb, and
//! words that the glossary replaces do not return.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Modules whose items are always written with the module's name, as in `mini::Program`, so that their types may have
/// names that others have.
const QUALIFIED: [&str; 1] = ["mini"];

/// First words that make a doc comment a question or a subordinate clause instead of a statement.
const BAD_BEGINNINGS: [&str; 5] = ["What", "Who", "How", "It", "When"];

/// Words that plain technical English has better ones for: `after` or `beyond`, `by default`, a number, `no warp`.
const BAD_WORDS: [&str; 4] = ["behind", "told", "so many", "nobody"];

/// Lines that may have one of [`BAD_WORDS`]: end of the path, text of the line.
const ALLOWED: [(&str, &str); 2] = [
    ("testkit/tests/it/words.rs", "BAD_WORDS"),
    ("xtask/renamed_words.txt", " => "),
];

pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Sources of all crates; `tests` and `benches` only where asked for.
pub(crate) fn sources(with_tests: bool) -> Vec<Source> {
    let mut all = Vec::new();
    let mut folders = vec![Path::new(ROOT).join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_test = name == "tests" || name == "benches" || name == "tests.rs";
            if path.is_dir() {
                if name != "target" && (with_tests || !is_test) {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") && (with_tests || !is_test) {
                let text = std::fs::read_to_string(&path).expect("a source");
                all.push(Source { path, text });
            }
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(all.len() > 300, "only {} sources", all.len());
    all
}

/// Whether a source is part of the product, and not of its tests or maintenance commands.
pub(crate) fn is_product(path: &Path) -> bool {
    let own = path
        .strip_prefix(Path::new(ROOT).join("crates"))
        .unwrap_or(path);
    !own.starts_with("testkit") && !own.starts_with("xtask")
}

/// Whether `text` has `word` with no letter before or after it.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text
            .get(at + word.len()..)
            .and_then(|after| after.chars().next());
        !is_letter(before) && !is_letter(after)
    })
}

/// The name of a public type that a line defines.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let name = ["struct ", "enum ", "trait ", "type ", "union "]
        .iter()
        .find_map(|kind| rest.strip_prefix(kind))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    name.get(..end.unwrap_or(name.len()))
}

/// Whether a source belongs to one of the [`QUALIFIED`] modules.
fn is_qualified(path: &Path) -> bool {
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts.into_iter().any(|part| {
        let module = part.strip_suffix(".rs").unwrap_or(&part);
        QUALIFIED.contains(&module)
    })
}

#[test]
fn public_type_names_are_unique() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources(false) {
        if is_qualified(&source.path) {
            continue;
        }
        for line in source.text.lines() {
            // An associated type is no type of the crate.
            if let Some(name) = public_type(line).filter(|_| !line.starts_with("    ")) {
                let place = source.path.display().to_string();
                places.entry(name.to_owned()).or_default().push(place);
            }
        }
    }
    assert!(places.len() > 300, "only {} types", places.len());
    let twice: Vec<String> = places
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(twice.is_empty(), "{}", twice.join("\n"));
}

/// Items of the [`QUALIFIED`] modules are not imported by their bare names, but in the module itself.
#[test]
fn qualified_modules_are_written_with_their_names() {
    let mut bare = Vec::new();
    for source in sources(true) {
        if is_qualified(&source.path) {
            continue;
        }
        let text = source.text.replace('\n', " ");
        for import in text.split("use ").skip(1) {
            let import = import.split(';').next().unwrap_or_default();
            for module in QUALIFIED {
                let needle = format!("{module}::");
                let named = import.split(&needle).nth(1).unwrap_or_default();
                let names = named.trim_start_matches('{').split([',', '}', ' ']);
                let types = names.filter(|name| DUPLICATES.contains(name));
                bare.extend(
                    types.map(|name| format!("{}: {module}::{name}", source.path.display())),
                );
            }
        }
    }
    assert!(bare.is_empty(), "{}", bare.join("\n"));
}

/// Names of the [`QUALIFIED`] modules that other types have as well.
const DUPLICATES: [&str; 9] = [
    "Fault",
    "FaultKind",
    "Findings",
    "Instr",
    "Latency",
    "LaunchFile",
    "Program",
    "Row",
    "Table",
];

/// Doc comments as (line number, first line).
fn doc_comments(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or(line.strip_prefix("//!"));
        if let (Some(comment), false) = (comment, inside) {
            found.push((number, comment.trim_start()));
        }
        inside = comment.is_some();
    }
    found
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let (mut seen, mut bad) = (0, Vec::new());
    for source in sources(true) {
        for (number, line) in doc_comments(&source.text) {
            seen += 1;
            let first = line.split(|c: char| !c.is_alphabetic()).next();
            if first.is_some_and(|first| BAD_BEGINNINGS.contains(&first)) {
                bad.push(format!("{}:{number}: {line}", source.path.display()));
            }
        }
    }
    assert!(seen > 3000, "only {seen} doc comments");
    assert!(
        bad.is_empty(),
        "{} of {seen}:\n{}",
        bad.len(),
        bad.join("\n")
    );
}

/// Documents and data files whose comments and texts people read.
fn documents() -> Vec<Source> {
    let mut all = Vec::new();
    let mut folders = vec![PathBuf::from(ROOT)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let skipped = ["target", "crates", "oracle", "built", "data", ".git"];
            if path.is_dir() && !skipped.contains(&&*name) {
                folders.push(path);
            } else if [".md", ".toml", ".forms", ".registers", ".names", ".tsv"]
                .iter()
                .any(|ending| name.ends_with(ending))
            {
                let text = std::fs::read_to_string(&path).expect("a document");
                all.push(Source { path, text });
            }
        }
    }
    assert!(all.len() > 100, "only {} documents", all.len());
    all
}

#[test]
fn words_that_the_glossary_replaces_do_not_return() {
    let mut bad = Vec::new();
    for source in sources(true).into_iter().chain(documents()) {
        for (number, line) in (1..).zip(source.text.lines()) {
            let lower = line.to_lowercase();
            for word in BAD_WORDS.iter().filter(|word| has_word(&lower, word)) {
                let is_allowed = ALLOWED
                    .iter()
                    .any(|(path, part)| source.path.ends_with(path) && line.contains(part));
                if !is_allowed {
                    bad.push(format!(
                        "{}:{number}: {word}: {line}",
                        source.path.display()
                    ));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}:\n{}", bad.len(), bad.join("\n"));
}

/// Phrases of comments, and how many lines of comments of the product may have them.
const RARE_PHRASES: [(&str, usize); 3] = [
    ("that of", 25),
    ("those of", 25),
    // Most of them are in help texts of options.
    ("in which", 10),
];

/// Beginnings of doc comments that better words exist for: `Maximum number of`, `Upper bound on`.
const RARE_BEGINNINGS: [&str; 3] = ["Most", "Least", "Fewest"];

/// Comments of the product, without tests: text of the line, and whether it documents an item.
fn product_comments() -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for source in sources(false) {
        if !is_product(&source.path) {
            continue;
        }
        for line in source.text.lines().map(str::trim_start) {
            let Some(comment) = line.strip_prefix("//") else {
                continue;
            };
            let is_doc = comment.starts_with('/') || comment.starts_with('!');
            let text = comment.trim_start_matches(['/', '!']).trim().to_owned();
            all.push((text, is_doc));
        }
    }
    assert!(all.len() > 10_000, "only {} lines of comments", all.len());
    all
}

#[test]
fn comments_have_few_heavy_phrases() {
    let comments = product_comments();
    for (phrase, most) in RARE_PHRASES {
        let with = comments.iter().filter(|(text, _)| has_word(text, phrase));
        let lines: Vec<&str> = with.map(|(text, _)| text.as_str()).collect();
        assert!(lines.len() <= most, "{phrase:?}: {}", lines.join("\n"));
    }
    let begins = |text: &str| {
        let mut words = RARE_BEGINNINGS.iter();
        words.any(|word| {
            text.strip_prefix(word)
                .is_some_and(|rest| rest.starts_with(' '))
        })
    };
    let mut begun = Vec::new();
    let mut is_inside = false;
    for (text, is_doc) in &comments {
        // The first line of a comment only.
        if *is_doc && !is_inside && begins(text) {
            begun.push(text.as_str());
        }
        is_inside = *is_doc && !text.is_empty() && !text.ends_with('.');
    }
    assert!(begun.len() <= 20, "{}", begun.join("\n"));
}

#[test]
fn comments_say_why_and_give_examples() {
    let comments = product_comments();
    let is_example = |text: &str| text.to_lowercase().contains("for example");
    let examples = comments.iter().filter(|(text, _)| is_example(text)).count();
    assert!(examples >= 100, "only {examples} examples");
    let reasons = comments.iter().filter(|(_, is_doc)| !is_doc).count();
    let code: usize = sources(false)
        .iter()
        .filter(|source| is_product(&source.path))
        .map(|source| {
            let lines = source.text.lines().map(str::trim);
            lines
                .filter(|line| !line.is_empty() && !line.starts_with("//"))
                .count()
        })
        .sum();
    // Comments inside of functions say why: at least 3 for 100 lines of code.
    assert!(
        reasons * 100 >= code * 3,
        "{reasons} lines of comments, {code} of code"
    );
}

/// Whether a line has a parameter that is taken apart: `(numbers, caches): (&MachineNumbers, CacheState)`.
fn has_tuple_parameter(line: &str) -> bool {
    let is_binding = line.contains("let ") || line.contains('|');
    let mut ends = line
        .match_indices("): (")
        .chain(line.match_indices("): &("));
    !is_binding
        && ends.any(|(end, _)| {
            let before = line.get(..end).unwrap_or_default();
            let names = before.rsplit_once('(').map_or("", |(_, names)| names);
            let is_name =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_, ".contains(c);
            names.contains(", ") && names.chars().all(is_name)
        })
}

#[test]
fn parameters_have_names() {
    assert!(has_tuple_parameter(
        "    (numbers, caches): (&Numbers, CacheState),"
    ));
    assert!(!has_tuple_parameter(
        "    let (one, other): (Vec<u8>, Vec<u8>) = parts;"
    ));
    let mut found = Vec::new();
    for source in sources(false) {
        if !is_product(&source.path) {
            continue;
        }
        let lines = source.text.lines().filter(|line| has_tuple_parameter(line));
        found.extend(lines.map(|line| format!("{}: {}", source.path.display(), line.trim())));
    }
    assert!(found.len() <= 10, "{}", found.join("\n"));
}
