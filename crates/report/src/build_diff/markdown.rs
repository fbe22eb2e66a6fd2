//! Comparison of two builds as Markdown, for summaries of continuous integration and for comments on pull requests.

use crate::build_diff::text::{kernel_lines, place_text, values};
use crate::build_diff::{BuildDiffReport, FigureChange, KernelDiff, NamedKernel};

/// Maximum number of kernels with details, because comments on pull requests are limited in length.
const DETAILED: usize = 40;

/// Maximum number of rows in a table.
const ROWS: usize = 200;

impl BuildDiffReport {
    /// Returns the comparison as Markdown: a table of the figures that differ, and the details of each kernel folded.
    pub fn markdown(&self) -> String {
        let mut out = format!("### {} → {}\n\n", code(&self.old), code(&self.new));
        for line in self.summary_lines() {
            out.push_str(&format!("{}\n\n", escaped(&line)));
        }
        if !self.kernels.is_empty() {
            out.push_str("| kernel | arch | figure | old | new | difference | where |\n");
            out.push_str("|---|---|---|--:|--:|--:|---|\n");
        }
        let rows = self.kernels.iter().flat_map(rows);
        let rows: Vec<String> = rows.collect();
        rows.iter().take(ROWS).for_each(|row| out.push_str(row));
        // `checked_sub` gives 0 for exactly this many rows, which leaves nothing out.
        if let Some(more) = rows.len().checked_sub(ROWS).filter(|&more| more > 0) {
            out.push_str(&format!("\nand {more} more rows\n"));
        }
        for kernel in self.kernels.iter().take(DETAILED) {
            let name = html(&kernel.kernel.name);
            let isa = &kernel.kernel.isa;
            out.push_str(&format!(
                "\n<details><summary><code>{name}</code> {isa}</summary>\n\n```text\n"
            ));
            for line in kernel_lines(kernel) {
                // Three backticks would end the code block.
                out.push_str(&line.replace("```", "'''"));
                out.push('\n');
            }
            out.push_str("```\n\n</details>\n");
        }
        names(&mut out, "Only in the old build", &self.removed);
        names(&mut out, "Only in the new build", &self.added);
        let not_compared = self.not_compared();
        if !not_compared.is_empty() {
            out.push_str("\nNot compared:\n\n");
        }
        for line in &not_compared {
            out.push_str(&format!("- {}\n", escaped(line)));
        }
        out
    }
}

/// Returns the rows of a kernel.
fn rows(kernel: &KernelDiff) -> Vec<String> {
    let name = code(&kernel.kernel.name);
    let isa = &kernel.kernel.isa;
    let row = |change: &FigureChange| {
        let value = |value: Option<u128>| value.map_or("none".to_owned(), |n| n.to_string());
        let (old, new) = (value(change.old), value(change.new));
        let place = change.place.as_ref().map(place_text);
        let place = place.map_or(String::new(), |text| escaped(&text));
        let (figure, by) = (change.figure, change.difference());
        // If both numbers are equal, their notes differ, so the notes are shown.
        let by = match by.is_empty() || change.old == change.new {
            true => escaped(&values(change)),
            false => by,
        };
        format!("| {name} | {isa} | {figure} | {old} | {new} | {by} | {place} |\n")
    };
    match kernel.figures.is_empty() {
        // Without a row the kernel would be missing in the table, although its details differ.
        true => vec![format!("| {name} | {isa} | details below | | | | |\n")],
        false => kernel.figures.iter().map(row).collect(),
    }
}

/// Appends a list of names.
fn names(out: &mut String, title: &str, kernels: &[NamedKernel]) {
    if kernels.is_empty() {
        return;
    }
    out.push_str(&format!("\n{title}:\n\n"));
    for kernel in kernels.iter().take(DETAILED) {
        out.push_str(&format!("- {} {}\n", code(&kernel.name), kernel.isa));
    }
    if let Some(more) = kernels.len().checked_sub(DETAILED).filter(|&more| more > 0) {
        out.push_str(&format!("- and {more} more\n"));
    }
}

/// Returns a name as code. A bar would end the cell of a table.
fn code(name: &str) -> String {
    // A backslash does not escape a backtick inside code.
    format!("`{}`", one_line(name).replace('`', "'").replace('|', "\\|"))
}

/// Returns text without marks of Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        // These characters can begin markup, or end the cell of a table.
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns text for HTML.
fn html(text: &str) -> String {
    let text = one_line(text).replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns text with control characters replaced, because a line end would break a row of a table.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}
