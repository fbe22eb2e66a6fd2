//! Writing of facts files: templates with missing numbers, and observations.

use toml::Value;
use warpbound_base::CodeAddr;

use super::number::MISSING;
use super::{LoopName, LoopNumbers, OBSERVED};

/// Line of a facts file for a loop: everything but its numbers.
#[derive(Clone, Debug)]
pub struct LoopLine<'a> {
    /// Name of the loop.
    pub name: &'a LoopName,
    /// Source line of the header.
    pub source: Option<String>,
    /// Nesting depth; 1 is outermost.
    pub depth: u32,
    /// Addresses of all headers, if there are several; the bound counts the executions of all of them.
    pub headers: &'a [CodeAddr],
    /// Recursive function whose calls form this loop; the bound counts the calls.
    pub recursion: Option<String>,
}

impl LoopLine<'_> {
    /// Formats the line, without indentation, with the mark of a missing bound.
    pub fn format_line(&self) -> String {
        self.format_line_with(LoopNumbers::default())
    }

    /// Formats the line, without indentation, with these numbers.
    pub fn format_line_with(&self, numbers: LoopNumbers) -> String {
        let bound = match numbers.bound {
            Some(bound) => bound.to_string(),
            None => format!("\"{MISSING}\""),
        };
        let mut line = format!(
            "{{ id = {}, at = \"{}\", bound = {bound}",
            quoted(&self.name.id),
            self.name.at
        );
        if let Some(total) = numbers.total {
            line.push_str(&format!(", total = {total}"));
        }
        if self.headers.len() > 1 {
            let headers: Vec<String> = self.headers.iter().map(|at| format!("\"{at}\"")).collect();
            line.push_str(&format!(", headers = [{}]", headers.join(", ")));
        }
        if let Some(function) = &self.recursion {
            line.push_str(&format!(", recursion = {}", quoted(function)));
        }
        if let Some(source) = &self.source {
            line.push_str(&format!(", source = {}", quoted(source)));
        }
        line.push_str(&format!(", depth = {} }},", self.depth));
        line
    }
}

/// Formats the line of a facts file for one function outside the file, without indentation.
pub fn format_call(name: &str) -> String {
    let name = quoted(name);
    format!("{{ name = {name}, instructions = \"{MISSING}\" }},")
}

/// Formats the facts of one kernel; `loops` and `calls` are formatted lines.
pub fn format_kernel(name: &str, digest: &str, loops: &[String], calls: &[String]) -> String {
    format_facts(name, digest, "", loops, calls)
}

/// Formats facts observed in runs: a facts file with this status is refused until a person vouches for the numbers.
pub fn format_observed(name: &str, digest: &str, loops: &[String], calls: &[String]) -> String {
    let status = format!("status = {}\n", quoted(OBSERVED));
    format_facts(name, digest, &status, loops, calls)
}

fn format_facts(
    name: &str,
    digest: &str,
    status: &str,
    loops: &[String],
    calls: &[String],
) -> String {
    let mut text = format!(
        "[[kernel]]\nname = {}\ncode = {}\n{status}",
        quoted(name),
        quoted(digest)
    );
    for (key, lines) in [("loops", loops), ("calls", calls)] {
        if lines.is_empty() {
            continue;
        }
        text.push_str(&format!("{key} = [\n"));
        for line in lines {
            text.push_str(&format!("    {line}\n"));
        }
        text.push_str("]\n");
    }
    text
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
