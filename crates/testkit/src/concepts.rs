//! Concepts of the code and the files that define them: the lists in the heads of the crates, and the page
//! `docs/concepts.md` made from them.
//!
//! The head of a crate, in `src/lib.rs` or `src/main.rs`, has a section `# Concepts` with a list. Each item has the
//! form `concept: place`. The place names files and folders between backticks, with paths that begin in `crates/` or at
//! the top of the repository. A file name without a folder stands for a file next to the path before it. For example,
//! `` `graph/src/scc.rs`, `dominators.rs` `` names two files of one folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Start of the page, before the rows of its table.
const BEGINNING: &str = "\
# Concepts

Each row names a concept of the code and the files that define it. The rows come from the heads of the crates (section
*Concepts*), and `cargo xtask concepts` writes this page. Paths begin in `crates/`, or at the top of the repository. A
file name without a folder stands for a file next to the path before it.

| crate | concept | where |
|---|---|---|
";

/// Extensions of files that places may name without a folder.
const ENDINGS: [&str; 4] = ["rs", "toml", "md", "py"];

/// Concept and the files that define it.
pub struct Concept {
    /// Crate whose head lists the concept.
    pub in_crate: String,
    /// Name of the concept.
    pub name: String,
    /// Text with the names of files between backticks.
    pub place: String,
}

impl Concept {
    /// Reads an item of a list.
    ///
    /// # Errors
    ///
    /// No colon divides the item into concept and place.
    fn parse(in_crate: &str, item: &str) -> io::Result<Concept> {
        let parts = item.split_once(": ");
        let (name, place) = parts.ok_or_else(|| {
            io::Error::other(format!("crate {in_crate}: concept without a place: {item}"))
        })?;
        Ok(Concept {
            in_crate: in_crate.to_owned(),
            name: name.to_owned(),
            place: place.to_owned(),
        })
    }

    /// Returns the paths that the place names: whether each exists in the repository at `root`.
    pub fn paths(&self, root: &Path) -> Vec<(String, bool)> {
        let mut folder = PathBuf::new();
        let mut found = Vec::new();
        for name in self.place.split('`').skip(1).step_by(2) {
            if name.contains('/') && !name.contains(' ') {
                let tops = [root.join("crates"), root.to_owned()];
                let path = tops.iter().map(|top| top.join(name));
                let path = path.into_iter().find(|path| path.exists());
                found.push((name.to_owned(), path.is_some()));
                folder = path.unwrap_or_default();
                if folder.is_file() {
                    folder.pop();
                }
            } else if ENDINGS.iter().any(|ending| is_file_name(name, ending)) {
                found.push((name.to_owned(), folder.join(name).is_file()));
            }
        }
        found
    }
}

/// Whether `name` is a file name with the extension.
fn is_file_name(name: &str, extension: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|found| found == extension)
}

/// Returns the concepts of all crates of the repository at `root`, sorted by crate and name.
///
/// # Errors
///
/// A head cannot be read, or an item of its list has no place.
pub fn concepts(root: &Path) -> io::Result<Vec<Concept>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let folder = entry?.path();
        let in_crate = folder.file_name().unwrap_or_default().to_string_lossy();
        let heads = [folder.join("src/lib.rs"), folder.join("src/main.rs")];
        for head in heads.iter().filter(|head| head.is_file()) {
            for item in items(&fs::read_to_string(head)?) {
                all.push(Concept::parse(&in_crate, &item)?);
            }
        }
    }
    all.sort_by_key(|concept| (concept.in_crate.clone(), concept.name.to_lowercase()));
    Ok(all)
}

/// Returns the items of the list of concepts in a source, each in one line.
fn items(source: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut inside = false;
    for line in source.lines().filter_map(|line| line.strip_prefix("//!")) {
        let line = line.trim_start();
        if line.starts_with('#') {
            inside = line == "# Concepts";
        } else if let (true, Some(item)) = (inside, line.strip_prefix("* ")) {
            items.push(item.to_owned());
        } else if let (true, false, Some(last)) = (inside, line.is_empty(), items.last_mut()) {
            last.push(' ');
            last.push_str(line);
        }
    }
    items
}

/// Returns the page `docs/concepts.md`.
pub fn page(concepts: &[Concept]) -> String {
    let mut page = BEGINNING.to_owned();
    for concept in concepts {
        let Concept {
            in_crate,
            name,
            place,
        } = concept;
        writeln!(page, "| {in_crate} | {name} | {place} |").expect("a string takes all text");
    }
    page
}
