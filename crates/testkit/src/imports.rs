//! Imports between the files of a crate, and the circles that they form.
//!
//! A file is a node, a `use` of an item of another file of the crate an edge. Re-exports (`pub use`) are followed to the
//! file that defines the item and are no edges themselves. For example, `use super::rows::Row` in `tables/text.rs` is an
//! edge to `tables/rows.rs`. Paths without a `use`, and methods, are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Module as the segments of its path in the crate; the root has none.
type Module = Vec<String>;

/// Item that a file imports: the module that the path begins in, and the rest of the path.
type ImportedPath = (Module, Vec<String>);

/// Imports between the files of one crate.
#[derive(Debug, Default)]
pub struct ImportGraph {
    imports: BTreeMap<Module, Vec<ImportedPath>>,
    /// Items that a module re-exports, by name.
    exports: BTreeMap<Module, BTreeMap<String, ImportedPath>>,
}

impl ImportGraph {
    /// Reads the sources of a crate from its folder `src`.
    ///
    /// # Errors
    ///
    /// A file or folder cannot be read.
    pub fn read(folder: &Path) -> std::io::Result<ImportGraph> {
        let mut texts = BTreeMap::new();
        collect(folder, &Vec::new(), &mut texts)?;
        let mut graph = ImportGraph::default();
        for module in texts.keys() {
            graph.imports.insert(module.clone(), Vec::new());
        }
        for (module, text) in &texts {
            for (is_public, path) in use_paths(text) {
                let Some(found) = graph.base(module, &path) else {
                    continue;
                };
                if is_public {
                    let name = path.last().cloned().unwrap_or_default();
                    let own = graph.exports.entry(module.clone()).or_default();
                    own.insert(name, found);
                } else if let Some(all) = graph.imports.get_mut(module) {
                    all.push(found);
                }
            }
        }
        Ok(graph)
    }

    /// Returns the module where a path of this crate begins, and the rest of the path; `None` for other crates.
    fn base(&self, module: &Module, path: &[String]) -> Option<ImportedPath> {
        let mut base = module.clone();
        let mut rest = path;
        match rest.first().map(String::as_str) {
            Some("crate") => {
                base.clear();
                rest = rest.get(1..)?;
            }
            Some("self") => rest = rest.get(1..)?,
            Some("super") => {
                while rest.first().is_some_and(|first| first == "super") {
                    base.pop();
                    rest = rest.get(1..)?;
                }
            }
            Some(first) => {
                let mut child = base.clone();
                child.push(first.to_owned());
                self.imports.get(&child)?;
            }
            None => return None,
        }
        Some((base, rest.to_vec()))
    }

    /// Returns the module that defines the item of a path.
    fn resolve(&self, (base, rest): &ImportedPath, depth: usize) -> Module {
        let mut module = base.clone();
        for name in rest {
            let mut child = module.clone();
            child.push(name.clone());
            if self.imports.contains_key(&child) {
                module = child;
                continue;
            }
            let export = self.exports.get(&module).and_then(|all| all.get(name));
            return match export {
                // Re-exports of re-exports end after a few steps.
                Some(path) if depth < 8 => self.resolve(path, depth + 1),
                _ => module,
            };
        }
        module
    }

    /// Returns the modules that a module imports.
    fn imported_by(&self, module: &Module) -> BTreeSet<Module> {
        let paths = self.imports.get(module).into_iter().flatten();
        let targets = paths.map(|path| self.resolve(path, 0));
        targets
            .filter(|target| target != module && self.imports.contains_key(target))
            .collect()
    }

    /// Returns all imports, each as the paths of the importing and of the imported module; the root has an empty path.
    pub fn edges(&self) -> Vec<(String, String)> {
        let of_module = |module: &Module| {
            let from = module.join("/");
            let targets = self.imported_by(module).into_iter();
            targets
                .map(move |to| (from.clone(), to.join("/")))
                .collect::<Vec<_>>()
        };
        self.imports.keys().flat_map(of_module).collect()
    }

    /// Returns the circles of imports of more than one file, as the paths of their modules; the largest first.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let nodes: Vec<&Module> = self.imports.keys().collect();
        let number: BTreeMap<&Module, usize> = nodes.iter().copied().zip(0..).collect();
        let edges: Vec<BTreeSet<usize>> = nodes
            .iter()
            .map(|module| {
                let targets = self.imported_by(module);
                targets
                    .iter()
                    .filter_map(|target| number.get(target).copied())
                    .collect()
            })
            .collect();
        let reach: Vec<BTreeSet<usize>> =
            (0..nodes.len()).map(|from| reached(&edges, from)).collect();
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for from in 0..nodes.len() {
            let both = |&to: &usize| {
                let back = reach.get(to).is_some_and(|all| all.contains(&from));
                back && reach.get(from).is_some_and(|all| all.contains(&to))
            };
            let circle: Vec<usize> = (0..nodes.len()).filter(both).collect();
            if circle.len() > 1 && seen.insert(circle.clone()) {
                let names = circle.iter().filter_map(|&node| nodes.get(node));
                circles.push(
                    names
                        .map(|module| module.join("/"))
                        .collect::<Vec<String>>(),
                );
            }
        }
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }
}

/// Nodes that can be reached from a node over at least one edge.
fn reached(edges: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for &to in edges.get(node).into_iter().flatten() {
            if found.insert(to) {
                open.push(to);
            }
        }
    }
    found
}

/// Collects the texts of the modules in a folder, without comments and without the tests at the end of a file.
fn collect(
    folder: &Path,
    module: &Module,
    texts: &mut BTreeMap<Module, String>,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut own = module.clone();
        if !(module.is_empty() && (stem == "lib" || stem == "main")) {
            own.push(stem.into_owned());
        }
        if path.is_dir() {
            collect(&path, &own, texts)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path)?;
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            texts.insert(own, lines.collect::<Vec<&str>>().join("\n"));
        }
    }
    Ok(())
}

/// Returns the paths of the `use` items of a text, and whether each is a re-export.
fn use_paths(text: &str) -> Vec<(bool, Vec<String>)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((before, tree)) = line.split_once("use ") else {
            continue;
        };
        let before = before.trim();
        if !(before.is_empty() || before.starts_with("pub")) {
            continue;
        }
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(line) = lines.next() else { break };
            tree.push_str(line.trim());
        }
        let tree = tree.split(';').next().unwrap_or_default();
        let mut paths = Vec::new();
        expand(&[], tree, &mut paths);
        found.extend(paths.into_iter().map(|path| (!before.is_empty(), path)));
    }
    found
}

/// Expands a tree of a `use` item to its paths.
fn expand(prefix: &[String], tree: &str, paths: &mut Vec<Vec<String>>) {
    let (head, inner) = match tree.split_once('{') {
        Some((head, rest)) => (head, rest.rsplit_once('}').map(|(inner, _)| inner)),
        None => (tree, None),
    };
    let head = head.split(" as ").next().unwrap_or_default();
    let names = head
        .split("::")
        .map(str::trim)
        .filter(|name| !name.is_empty() && *name != "self");
    let is_first = prefix.is_empty() && head.trim_start().starts_with("self");
    let mut path = prefix.to_vec();
    path.extend(is_first.then(|| "self".to_owned()));
    path.extend(names.map(str::to_owned));
    let Some(inner) = inner else {
        paths.push(path);
        return;
    };
    let (mut depth, mut begin) = (0usize, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let part = inner.get(begin..at).unwrap_or_default();
                if !part.trim().is_empty() {
                    expand(&path, part.trim(), paths);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
}
