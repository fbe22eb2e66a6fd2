//! Writing of facts files: templates with missing numbers, and observations.

use toml::Value;
use warpbound_base::CodeAddr;

use super::number::MISSING;
use super::{LoopIdentity, LoopName, LoopNumbers, OBSERVED};

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
    /// Fingerprint, by which the fact is found again after a rebuild.
    pub identity: LoopIdentity,
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
        line.push_str(&format!(", depth = {}", self.depth));
        let LoopIdentity { decides, body } = &self.identity;
        for (key, digest) in [("decides", decides), ("body", body)] {
            if let Some(digest) = digest {
                line.push_str(&format!(", {key} = {}", quoted(digest)));
            }
        }
        line.push_str(" },");
        line
    }
}

/// Formats the line of a facts file for one function outside the file, without indentation.
pub fn format_call(name: &str) -> String {
    format_call_with(name, None)
}

/// Formats the line of a function outside the file with its cost in warp instructions.
pub fn format_call_with(name: &str, instructions: Option<u64>) -> String {
    let name = quoted(name);
    let number = match instructions {
        Some(number) => number.to_string(),
        None => format!("\"{MISSING}\""),
    };
    format!("{{ name = {name}, instructions = {number} }},")
}

/// Formats the facts of one kernel; `loops` and `calls` are formatted lines.
pub fn format_kernel(name: &str, digest: &str, loops: &[String], calls: &[String]) -> String {
    KernelLines {
        loops,
        calls,
        ..KernelLines::new(name, digest)
    }
    .format()
}

/// Formats facts observed in runs: a facts file with this status is refused until a person vouches for the numbers.
pub fn format_observed(name: &str, digest: &str, loops: &[String], calls: &[String]) -> String {
    KernelLines {
        status: Some(OBSERVED),
        loops,
        calls,
        ..KernelLines::new(name, digest)
    }
    .format()
}

/// Lines of a facts file for one kernel.
#[derive(Clone, Debug)]
pub struct KernelLines<'a> {
    /// Name of the kernel.
    pub name: &'a str,
    /// Digest of its code.
    pub digest: &'a str,
    /// Name of the person who vouches for numbers that were observed.
    pub signed_off_by: Option<&'a str>,
    /// Formatted lines of loops.
    pub loops: &'a [String],
    /// Formatted lines of functions outside the file.
    pub calls: &'a [String],
    /// Blocks and steps that no thread executes.
    pub never: &'a [String],
    /// Status, with which the facts are refused: [`FactsFile::UNREVIEWED`](super::FactsFile::UNREVIEWED) or observed.
    pub status: Option<&'a str>,
}

impl<'a> KernelLines<'a> {
    /// Lines of a kernel without facts.
    pub fn new(name: &'a str, digest: &'a str) -> KernelLines<'a> {
        KernelLines {
            name,
            digest,
            signed_off_by: None,
            loops: &[],
            calls: &[],
            never: &[],
            status: None,
        }
    }

    /// Formats the lines.
    pub fn format(&self) -> String {
        let (name, digest) = (quoted(self.name), quoted(self.digest));
        let mut text = format!("[[kernel]]\nname = {name}\ncode = {digest}\n");
        for (key, value) in [
            ("status", self.status),
            ("signed_off_by", self.signed_off_by),
        ] {
            if let Some(value) = value {
                text.push_str(&format!("{key} = {}\n", quoted(value)));
            }
        }
        let never: Vec<String> = self.never.iter().map(|never| quoted(never) + ",").collect();
        for (key, lines) in [
            ("loops", self.loops),
            ("never", &never),
            ("calls", self.calls),
        ] {
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
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
