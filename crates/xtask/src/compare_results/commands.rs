//! The command lines on which two builds are compared.

mod errors;
mod launches;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::execute::{CommandLine, FOLDER, Program, STANDARD_OUTPUT};
use super::json::documents;
use crate::repository::{Repository, files_with_extension};

/// Distance of the command lines in a sample: one in this number.
const SAMPLE: usize = 23;

/// Formats of graphs.
const GRAPH_FORMATS: [&str; 4] = ["text", "dot", "json", "svg"];

/// Options of analyses: less precise domains, and sizes of blocks.
const VARIANTS: [&str; 9] = [
    "--stack acyclic",
    "--groups off",
    "--agreement active",
    "--agreement off",
    "--divergence-order taken-first",
    "--divergence-order fall-through-first",
    "--block 32,4",
    "--block 64",
    "--block 8,8,2 --stack acyclic --groups off --agreement off",
];

/// List of command lines under construction.
pub(super) struct Plan {
    lines: Vec<CommandLine>,
}

impl Plan {
    /// Adds a command line. `words` are its arguments, which contain no blanks, separated by blanks.
    fn add(&mut self, group: &'static str, words: &str) {
        self.add_with(group, words, &[]);
    }

    /// Adds a command line with files in its folder, and returns it, so that the caller can give it standard input.
    fn add_with(
        &mut self,
        group: &'static str,
        words: &str,
        given: &[(&'static str, Vec<u8>)],
    ) -> &mut CommandLine {
        self.lines.push(CommandLine {
            group,
            arguments: words.split_whitespace().map(str::to_owned).collect(),
            given: given.to_vec(),
            standard_input: Vec::new(),
        });
        let last = self.lines.len() - 1;
        &mut self.lines[last]
    }
}

/// A file with kernels.
struct Code {
    /// Path from the top directory.
    path: String,
    /// Mangled names of the kernels in it that can be read.
    kernels: Vec<String>,
}

/// Command lines of a full comparison, in a fixed order, none twice. Names of kernels and templates of facts files are
/// read from the output of `before`.
pub(super) fn all(repository: &Repository, before: &Program) -> anyhow::Result<Vec<CommandLine>> {
    let mut plan = Plan { lines: Vec::new() };
    let root = repository.root();
    let mut cubins = paths(root, &repository.built_kernels(), "cubin")?;
    cubins.extend(paths(root, &repository.expressions(), "cubin")?);
    let programs = paths(root, &root.join("kernels/msimt"), "msimt")?;
    let launches = launches::find(repository, &cubins)?;
    if cubins.is_empty() || programs.is_empty() || launches.is_empty() {
        bail!(
            "kernels/ has no cubins, no mini-SIMT programs or no launches: is this a whole checkout?"
        );
    }
    for (index, path) in cubins.iter().enumerate() {
        let code = Code {
            kernels: kernels(before, path)?,
            path: path.clone(),
        };
        looks(&mut plan, &code, index);
        bounds(&mut plan, &code, index);
        with_facts(&mut plan, before, &code)?;
    }
    for (index, path) in programs.iter().enumerate() {
        let code = Code {
            kernels: kernels(before, path)?,
            path: path.clone(),
        };
        looks(&mut plan, &code, index);
        bounds(&mut plan, &code, index);
        with_facts(&mut plan, before, &code)?;
    }
    containers(&mut plan, repository)?;
    for (index, launch) in launches.iter().enumerate() {
        launches::grid(&mut plan, launch, index);
    }
    launches::mini(&mut plan, repository)?;
    errors::add(&mut plan, repository)?;
    let mut known = BTreeSet::new();
    plan.lines.retain(|line| known.insert(line.digest()));
    Ok(plan.lines)
}

/// Sample of the command lines: one in `SAMPLE` of each group, beginning with the first.
pub(super) fn sample(lines: Vec<CommandLine>) -> Vec<CommandLine> {
    let mut counts = std::collections::BTreeMap::new();
    let mut kept = lines;
    kept.retain(|line| {
        let count: &mut usize = counts.entry(line.group).or_default();
        *count += 1;
        (*count - 1).is_multiple_of(SAMPLE)
    });
    kept
}

/// Files of a folder as they are named from the top directory.
fn paths(root: &Path, folder: &Path, extension: &str) -> anyhow::Result<Vec<String>> {
    let files = files_with_extension(folder, extension)?;
    files.iter().map(|path| relative(root, path)).collect()
}

fn relative(root: &Path, path: &Path) -> anyhow::Result<String> {
    let below = path.strip_prefix(root).unwrap_or(path);
    let text = below
        .to_str()
        .with_context(|| format!("the name of {} is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}

/// The part of a file's name before the first dot.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name)
}

/// The kernels of a file.
fn kernels(before: &Program, path: &str) -> anyhow::Result<Vec<String>> {
    let text = standard_output(before, &["list", path, "--format", "json"])?;
    let Some(list) = documents(&text).and_then(|all| all.into_iter().next()) else {
        bail!("the earlier build lists no kernels of {path}: it wrote {text:?}");
    };
    let images = list.get("images").map(|images| images.elements());
    let mut names = Vec::new();
    for image in images.unwrap_or_default() {
        let kernels = image.get("contents").and_then(|c| c.get("kernels"));
        for kernel in kernels
            .map(|kernels| kernels.elements())
            .unwrap_or_default()
        {
            if let Some(super::json::Value::Text(symbol)) = kernel.get("symbol") {
                names.push(symbol.clone());
            }
        }
    }
    Ok(names)
}

fn standard_output(before: &Program, arguments: &[&str]) -> anyhow::Result<String> {
    let line = CommandLine {
        arguments: arguments.iter().map(|a| (*a).to_owned()).collect(),
        ..CommandLine::default()
    };
    let (output, _) = before.output(&line)?;
    let bytes = output.parts.get(STANDARD_OUTPUT).map(Vec::as_slice);
    Ok(String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned())
}

/// Adds the commands that show code: for the file and for each of its kernels.
fn looks(plan: &mut Plan, code: &Code, index: usize) {
    let path = &code.path;
    for format in ["text", "json"] {
        plan.add("list", &format!("list {path} --format {format}"));
        plan.add(
            "divergence",
            &format!("divergence {path} --format {format}"),
        );
    }
    for style in ["columns", "nvdisasm"] {
        plan.add("disasm", &format!("disasm {path} --style {style}"));
    }
    plan.add("facts", &format!("facts {path}"));
    let variant = VARIANTS[index % VARIANTS.len()];
    plan.add(
        "divergence variants",
        &format!("divergence {path} --format json {variant}"),
    );
    for (number, kernel) in code.kernels.iter().enumerate() {
        for format in GRAPH_FORMATS {
            for level in ["warp", "thread"] {
                let words =
                    format!("cfg {path} --kernel {kernel} --level {level} --format {format}");
                plan.add("cfg", &words);
            }
        }
        let variant = VARIANTS[(index + number) % VARIANTS.len()];
        plan.add(
            "cfg variants",
            &format!("cfg {path} --kernel {kernel} {variant}"),
        );
        plan.add(
            "disasm of a kernel",
            &format!("disasm {path} --kernel {kernel}"),
        );
    }
    let output = format!("--output {FOLDER}/result");
    match index % 5 {
        0 => plan.add("written", &format!("list {path} --format json {output}")),
        1 => plan.add("written", &format!("disasm {path} {output}")),
        2 => plan.add("written", &format!("facts {path} {output}")),
        3 => plan.add("written", &format!("divergence {path} {output}")),
        _ => plan.add(
            "written",
            &format!("bound {path} --loop-default 3 {output}"),
        ),
    }
}

/// Adds bounds of the kernels of a file.
fn bounds(plan: &mut Plan, code: &Code, index: usize) {
    let path = &code.path;
    for format in ["text", "json"] {
        let words = format!("bound {path} --loop-default 10 --format {format}");
        plan.add("bound", &words);
    }
    plan.add("bound without facts", &format!("bound {path}"));
    let others = [
        "--flow paper",
        "--explain",
        "--call-default 100",
        "--cost unit --jobs 1",
    ];
    for turn in 0..3 {
        let variant = VARIANTS[(index + turn * 2) % VARIANTS.len()];
        let format = ["text", "json"][turn % 2];
        let words = format!("bound {path} --loop-default 10 --format {format} {variant}");
        plan.add("bound variants", &words);
    }
    let other = others[index % others.len()];
    plan.add(
        "bound options",
        &format!("bound {path} --loop-default 7 {other}"),
    );
}

/// Adds bounds from facts files: the template of `warpbound facts` with numbers in the place of each `"?"`.
fn with_facts(plan: &mut Plan, before: &Program, code: &Code) -> anyhow::Result<()> {
    let path = &code.path;
    let template = standard_output(before, &["facts", path])?;
    let at = template.find("[[kernel]]").unwrap_or(template.len());
    let (head, kernels) = template.split_at(at);
    if !kernels.contains("\"?\"") {
        return Ok(());
    }
    let filled = format!("{head}{}", kernels.replace("\"?\"", "12"));
    let total = format!(
        "{head}{}",
        kernels.replace("bound = \"?\"", "bound = 9, total = 50")
    );
    for (facts, format) in [(filled, "text"), (total, "json")] {
        let given = [("kernel.facts", facts.into_bytes())];
        let words = format!("bound {path} --facts {FOLDER}/kernel.facts --format {format}");
        plan.add_with("bound with facts", &words, &given);
    }
    Ok(())
}

/// Adds files with cubins inside, and code that is refused.
fn containers(plan: &mut Plan, repository: &Repository) -> anyhow::Result<()> {
    let root = repository.root();
    let folder = root.join("crates/load/tests/data");
    let mut files = paths(root, &folder, "cubin")?;
    for extension in ["fatbin", "a", "o", "so"] {
        files.extend(paths(root, &folder.join("containers"), extension)?);
    }
    for path in &files {
        for format in ["text", "json"] {
            plan.add("containers", &format!("list {path} --format {format}"));
            plan.add(
                "containers",
                &format!("divergence {path} --format {format}"),
            );
            let words = format!("bound {path} --loop-default 4 --format {format}");
            plan.add("containers", &words);
        }
        plan.add("containers", &format!("disasm {path}"));
        plan.add("containers", &format!("facts {path}"));
        plan.add(
            "containers",
            &format!("extract {path} --output {FOLDER}/images"),
        );
        plan.add(
            "containers",
            &format!("extract {path} --output {FOLDER}/one.cubin"),
        );
        plan.add("containers", &format!("extract {path}"));
        for choice in ["--image 2", "--sm sm_61", "--sm sm_53", "--kernel if_*"] {
            plan.add("containers", &format!("list {path} {choice}"));
            plan.add(
                "containers",
                &format!("bound {path} {choice} --loop-default 4"),
            );
        }
    }
    Ok(())
}

/// The contents of a file of the checkout.
fn contents(root: &Path, path: &str) -> anyhow::Result<Vec<u8>> {
    let path: PathBuf = root.join(path);
    std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_first_of_each_group() {
        let mut plan = Plan { lines: Vec::new() };
        for index in 0..40 {
            plan.add("a", &format!("list {index}"));
        }
        plan.add("b", "list x");
        let kept: Vec<String> = sample(plan.lines).iter().map(CommandLine::show).collect();
        let expected = ["list 0", "list 23", "list x"];
        assert_eq!(kept, expected.map(|line| format!("warpbound {line}")));
    }
}
