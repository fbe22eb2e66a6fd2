//! `evidence`: writes `docs/evidence.md`, the measured tables, from the output of the commands that measure them.
//!
//! The document is a list of sections, one for each row of `evidence/sections.toml`. A section has a title, a sentence
//! about what is measured, the command, and the command's output as it was printed. Sections that are not measured again
//! keep the output that they have.

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
page; sections marked *campaign* are measured again only with `--all`. Times are those of one core of a common server
processor while little else ran; they vary by a tenth from run to run, all other figures not at all.
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
    /// Beginnings of the lines to keep, without leading spaces; empty: all lines.
    #[serde(default)]
    keep: Vec<String>,
    /// Beginnings of lines to leave out.
    #[serde(default)]
    drop: Vec<String>,
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
        let text = String::from_utf8_lossy(&output.stdout);
        let begins = |line: &str, with: &[String]| {
            with.iter()
                .any(|start| line.trim_start().starts_with(start.as_str()))
        };
        let is_kept = |line: &&str| {
            let line = line.trim_end();
            (self.keep.is_empty() || begins(line, &self.keep)) && !begins(line, &self.drop)
        };
        // The test harness writes a dot for each test, perhaps before a line of its output.
        let lines = text.lines().map(|line| match self.is_test() {
            true => line.trim_start_matches('.'),
            false => line,
        });
        let lines: Vec<&str> = lines.filter(is_kept).collect();
        if lines.iter().all(|line| line.trim().is_empty()) {
            bail!("{} printed nothing that is kept", self.command);
        }
        Ok(lines.join("\n"))
    }

    fn is_test(&self) -> bool {
        self.command.starts_with("cargo test")
    }

    fn write(&self, output: &str, text: &mut String) {
        let mark = if self.campaign { " (campaign)" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n{}{mark}\n\n{}\n\n    {}\n",
            heading(&self.title),
            self.about.trim(),
            self.command
        );
        let _ = writeln!(text, "\n```text\n{}\n```", output.trim_matches('\n'));
    }
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

    #[test]
    fn sections_keep_their_output() {
        let section = Section {
            title: "A title".to_owned(),
            about: "Something.".to_owned(),
            command: "true".to_owned(),
            campaign: true,
            keep: Vec::new(),
            drop: Vec::new(),
        };
        let mut text = HEAD.to_owned();
        section.write("1\n2", &mut text);
        assert_eq!(recorded(&text, "A title").as_deref(), Some("1\n2"));
        assert_eq!(recorded(&text, "Another"), None);
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
