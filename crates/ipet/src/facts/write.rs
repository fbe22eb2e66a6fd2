//! Writing of facts files: templates with missing numbers, and observations.

use toml::Value;
use warpbound_base::{CodeAddr, Named as _};

use super::number::MISSING;
use super::{FactIdentity, LoopName, LoopNumbers, StatedSpace};

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
    pub identity: FactIdentity,
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
        line.push_str(&self.identity.keys());
        line.push_str(" },");
        line
    }
}

/// Line of a facts file for an access.
#[derive(Clone, Debug)]
pub struct AccessLine {
    /// Address of the instruction.
    pub at: CodeAddr,
    /// Source line.
    pub source: Option<String>,
    /// Keys of the numbers that may be stated, each with its number if it is stated.
    pub numbers: Vec<(&'static str, Option<u64>)>,
    /// Memory space that is stated.
    pub space: Option<StatedSpace>,
    /// Fingerprint, by which the fact is found again after a rebuild.
    pub identity: FactIdentity,
}

impl AccessLine {
    /// Formats the line, without indentation, with marks of missing numbers.
    pub fn format_line(&self) -> String {
        let mut line = format!("{{ at = \"{}\"", self.at);
        for (key, number) in &self.numbers {
            line.push_str(&match number {
                Some(number) => format!(", {key} = {number}"),
                None => format!(", {key} = \"{MISSING}\""),
            });
        }
        if let Some(space) = self.space {
            line.push_str(&format!(", space = {}", quoted(space.name())));
        }
        if let Some(source) = &self.source {
            line.push_str(&format!(", source = {}", quoted(source)));
        }
        line.push_str(&self.identity.keys());
        line.push_str(" },");
        line
    }
}

impl FactIdentity {
    /// Formats the keys of the fingerprint with a comma before each.
    fn keys(&self) -> String {
        let FactIdentity { decides, body } = self;
        let keys = [("decides", decides), ("body", body)];
        let present = keys
            .into_iter()
            .filter_map(|(key, digest)| Some((key, digest.as_ref()?)));
        present
            .map(|(key, digest)| format!(", {key} = {}", quoted(digest)))
            .collect()
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
    /// Formatted lines of accesses.
    pub accesses: &'a [String],
    /// Formatted lines of functions outside the file.
    pub calls: &'a [String],
    /// Blocks and steps that no thread executes.
    pub never: &'a [String],
    /// Status, with which the facts are refused: [`FactsFile::UNREVIEWED`](super::FactsFile::UNREVIEWED) or
    /// [`FactsFile::OBSERVED`](super::FactsFile::OBSERVED).
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
            accesses: &[],
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
            ("accesses", self.accesses),
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
    // Names come from binaries and may contain quotes, which TOML has to escape.
    Value::String(text.to_owned()).to_string()
}
