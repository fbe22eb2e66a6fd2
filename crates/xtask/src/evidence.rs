//! `evidence`: writes `docs/evidence.md`, the measured tables, from the output of the commands that measure them.
//!
//! The document is a list of contents and a section for each row of `evidence/sections.toml`. A section has a title,
//! a sentence about what is measured, the command, and the lines that the command printed, without the lines that its
//! row leaves out. Sections that are not measured again keep their output.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask evidence [--all | --only WORDS | --list]

Measures the sections of docs/evidence.md again and writes them, each with its command and what that printed. Without
options it leaves out the campaigns and what needs downloads (`cargo xtask oracle --libraries`), which keep the output of
the last time.

  --all          everything; takes hours
  --only WORDS   sections with these words in their titles
  --list         print the titles and their commands, measure nothing
";

/// The document, and the rows that it is made of.
const DOCUMENT: &str = "docs/evidence.md";
const SECTIONS: &str = include_str!("evidence/sections.toml");

/// First lines of the document.
const HEAD: &str = "\
# Evidence

Measured figures, each with the command that measured it and the command's own output. `cargo xtask evidence` writes this
page; `crates/xtask/src/evidence/sections.toml` says for each section which lines of the output are left out. Sections
marked *campaign* are measured again only with `--all`. An output that ends in *(transcribed)* was copied by hand.

Times are those of one core of a common server processor while little else ran. They vary by a tenth from run to run; all
other figures do not vary at all.
";

#[derive(Deserialize)]
struct Sections {
    section: Vec<Section>,
}

/// A section of the document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    /// The measured quantity, in one or two sentences.
    about: String,
    /// The command line, for a POSIX shell.
    command: String,
    /// Whether it takes more than some minutes or needs downloads.
    #[serde(default)]
    campaign: bool,
    /// Heading in the list of contents, before this section; empty for the heading of the section before.
    #[serde(default)]
    group: String,
    /// Patterns of the lines to keep; empty: all lines. A pattern is the beginning of a line without leading spaces,
    /// or, after a `*`, a text anywhere in it.
    #[serde(default)]
    keep: Vec<String>,
    /// Patterns of lines to leave out.
    #[serde(default)]
    drop: Vec<String>,
    /// Patterns of listings: of consecutive lines that match the same pattern, the first is kept, and a line gives the
    /// number of the others. For example, `*.cubin` shortens a list of kernels with their files.
    #[serde(default)]
    listings: Vec<String>,
    /// Whether tables of benchmarks keep names, fastest samples and medians only.
    #[serde(default)]
    medians: bool,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let sections: Sections = toml::from_str(SECTIONS).context("evidence/sections.toml")?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_measured: Box<dyn Fn(&Section) -> bool> = match words.as_slice() {
        [] => Box::new(|section| !section.campaign),
        ["--all"] => Box::new(|_| true),
        ["--only", title] => {
            let title = (*title).to_owned();
            Box::new(move |section| section.title.contains(&title))
        }
        ["--list"] => {
            for section in &sections.section {
                let mark = if section.campaign { " (campaign)" } else { "" };
                println!("{}{mark}\n    {}", section.title, section.command);
            }
            return Ok(());
        }
        _ => bail!("`cargo xtask evidence --help` lists the options"),
    };
    let path = repository.root().join(DOCUMENT);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut text = HEAD.to_owned();
    text += &contents(&sections.section);
    for section in &sections.section {
        let output = match is_measured(section) {
            true => {
                eprintln!("{}: {}", section.title, section.command);
                section.measure(repository)?
            }
            false => recorded(&before, &section.title).unwrap_or_default(),
        };
        section.write(&output, &mut text);
    }
    std::fs::write(&path, text).with_context(|| path.display().to_string())
}

impl Section {
    /// Runs the command; the lines of its standard output that are kept.
    fn measure(&self, repository: &Repository) -> anyhow::Result<String> {
        let output = Command::new("sh")
            .args(["-c", &self.command])
            .current_dir(repository.root())
            .output()
            .with_context(|| self.command.clone())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{} failed:\n{said}", self.command);
        }
        let shown = self.shown(&String::from_utf8_lossy(&output.stdout));
        if shown.trim().is_empty() {
            bail!("{} printed nothing that is kept", self.command);
        }
        Ok(shown)
    }

    /// Returns printed text as the document shows it.
    fn shown(&self, printed: &str) -> String {
        // The test harness writes a dot for each test, perhaps before a line of its output.
        let lines = printed.lines().map(|line| match self.is_test() {
            true => line.trim_start_matches('.'),
            false => line,
        });
        let lines = lines.map(str::trim_end).filter(|line| {
            (self.keep.is_empty() || matches_any(line, &self.keep))
                && !matches_any(line, &self.drop)
        });
        let kept: Vec<&str> = lines.collect();
        let mut shown: Vec<String> = Vec::new();
        let mut rest = kept.as_slice();
        while let Some((line, after)) = rest.split_first() {
            // Where lines are left out, the blank lines around them would follow each other.
            if !line.is_empty() || shown.last().is_some_and(|last| !last.is_empty()) {
                shown.push(match self.medians {
                    true => fastest_and_median(line),
                    false => (*line).to_owned(),
                });
            }
            let listing = self.listings.iter().find(|pattern| matches(line, pattern));
            let more = listing.map_or(0, |pattern| {
                after
                    .iter()
                    .take_while(|line| matches(line, pattern))
                    .count()
            });
            if more > 0 {
                let (indentation, _) = line.split_at(line.len() - line.trim_start().len());
                shown.push(format!("{indentation}… {more} more"));
            }
            rest = after.get(more..).unwrap_or_default();
        }
        shown.join("\n")
    }

    fn is_test(&self) -> bool {
        self.command.starts_with("cargo test")
    }

    fn marked_title(&self) -> String {
        let mark = if self.campaign { " (campaign)" } else { "" };
        format!("{}{mark}", self.title)
    }

    fn write(&self, output: &str, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n{}\n\n{}\n\n    {}\n",
            heading(&self.marked_title()),
            self.about.trim(),
            self.command
        );
        let _ = writeln!(text, "\n```text\n{}\n```", output.trim_matches('\n'));
    }
}

/// Returns whether a line matches a pattern of [`Section::keep`].
fn matches(line: &str, pattern: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(text) => line.contains(text),
        None => line.trim_start().starts_with(pattern),
    }
}

fn matches_any(line: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| matches(line, pattern))
}

/// Returns a row of a table of benchmarks with its name, its fastest sample and its median, and any other line as it
/// is.
///
/// A row is a name in a tree and the fastest sample, then, each after a `│`, the slowest sample, the median, the
/// mean, and the numbers of samples and iterations.
fn fastest_and_median(line: &str) -> String {
    let columns: Vec<&str> = line.rsplitn(6, '│').collect();
    let &[_, _, _, median, _, name] = columns.as_slice() else {
        return line.to_owned();
    };
    // A group has a name, and no samples.
    match median.trim() {
        "" => name.trim_end().to_owned(),
        median => format!("{name}│ {median}"),
    }
}

/// Returns the list of contents: a link to each section.
fn contents(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        if !section.group.is_empty() {
            let _ = write!(text, "\n**{}**\n\n", section.group);
        }
        let title = section.marked_title();
        let _ = writeln!(text, "* [{}](#{})", section.title, anchor(&title));
    }
    text
}

/// Returns the anchor of a heading in rendered Markdown: lower-case words with hyphens between them.
fn anchor(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    let hyphenated = kept.map(|c| if c == ' ' { '-' } else { c });
    hyphenated.flat_map(char::to_lowercase).collect()
}

fn heading(title: &str) -> String {
    format!("## {title}")
}

/// The output of a section as the document has it.
fn recorded(document: &str, title: &str) -> Option<String> {
    let heading = heading(title);
    let section = document
        .split("\n## ")
        .skip(1)
        .find(|section| format!("## {section}").starts_with(&heading))?;
    let output = section.split("```text\n").nth(1)?;
    output.split("\n```").next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> Section {
        Section {
            title: "A title".to_owned(),
            about: "Something.".to_owned(),
            command: "true".to_owned(),
            campaign: true,
            group: String::new(),
            keep: Vec::new(),
            drop: Vec::new(),
            listings: Vec::new(),
            medians: false,
        }
    }

    #[test]
    fn sections_keep_their_output() {
        let section = section();
        let mut text = HEAD.to_owned();
        section.write("1\n2", &mut text);
        assert_eq!(recorded(&text, "A title").as_deref(), Some("1\n2"));
        assert_eq!(recorded(&text, "Another"), None);
    }

    #[test]
    fn outputs_are_shortened() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let section = Section {
            drop: words(&["running", "*: holds"]),
            listings: words(&["*.cubin"]),
            medians: true,
            ..section()
        };
        let printed = "\
running 2 tests

X1: holds

3 kernels:
  a.cubin first
  b.cubin second
  c.cubin third
runs           fastest  │ slowest  │ median   │ mean     │ samples │ iters
├─ functional           │          │          │          │         │
│  ├─ sort     8.2 ms   │ 8.5 ms   │ 8.3 ms   │ 8.4 ms   │ 20      │ 20
│  │           26 item/s│ 25 item/s│ 25 item/s│ 26 item/s│         │
";
        let shown = "\
3 kernels:
  a.cubin first
  … 2 more
runs           fastest  │ median
├─ functional
│  ├─ sort     8.2 ms   │ 8.3 ms
│  │           26 item/s│ 25 item/s";
        assert_eq!(section.shown(printed), shown);
    }

    #[test]
    fn contents_lead_to_headings() {
        let mut first = section();
        first.group = "Bounds".to_owned();
        first.title = "Own kernels: derived_loop bounds".to_owned();
        let expected = "\n**Bounds**\n\n\
            * [Own kernels: derived_loop bounds](#own-kernels-derived_loop-bounds-campaign)\n\
            * [A title](#a-title-campaign)\n";
        assert_eq!(contents(&[first, section()]), expected);
    }

    /// All rows can be read, and the document has a section for each.
    #[test]
    fn the_document_has_all_sections() {
        let sections: Sections = toml::from_str(SECTIONS).expect("the rows");
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let text = std::fs::read_to_string(format!("{root}{DOCUMENT}")).expect("the document");
        for section in sections.section {
            let found = recorded(&text, &section.title);
            assert!(
                found.is_some_and(|output| !output.is_empty()),
                "{}",
                section.title
            );
        }
    }
}
