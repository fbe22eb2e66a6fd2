//! Flow facts: what a person states about a kernel because the analyses cannot find it.
//!
//! The file is TOML; [`spell_loop`] and the functions beside it write what [`FactsFile::parse`] reads:
//!
//! ```toml
//! [[kernel]]
//! name = "_Z8collatzPi"
//! code = "59c0ad20b1d6f0c7"
//! loops = [
//!     { id = "L1", at = "0x0128", bound = 10, source = "collatz.cu:12", depth = 1 },
//! ]
//! calls = [
//!     { name = "vprintf", instructions = 400 },
//! ]
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::{Spanned, Value};
use warpbound_base::{CodeAddr, Diagnostic};

/// What is written where a number is missing.
const MISSING: &str = "?";

/// The most warp instructions that a call outside the file may be said to cost, 2^40: sums of costs then
/// stay far from the limits of the integer program's coefficients.
const MOST_CALL_INSTRUCTIONS: u64 = 1 << 40;

/// A loop as a facts file may name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopName {
    /// Short name, unique in the kernel: `L1`.
    pub id: String,
    /// Address of the first instruction of its (first) header.
    pub at: CodeAddr,
}

/// A parsed facts file.
#[derive(Clone, Default, Debug)]
pub struct FactsFile {
    kernels: Vec<KernelFacts>,
}

/// The facts about one kernel.
#[derive(Clone, Debug)]
pub struct KernelFacts {
    /// Name of the kernel, mangled or demangled.
    pub name: String,
    /// Digest of the code that the facts are about.
    pub code: String,
    loops: Vec<LoopFact>,
    calls: BTreeMap<String, Option<u64>>,
    file: String,
    line: usize,
}

#[derive(Clone, Debug)]
struct LoopFact {
    id: Option<String>,
    at: CodeAddr,
    bound: Option<u64>,
    line: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    #[serde(default)]
    kernel: Vec<Spanned<KernelRow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelRow {
    name: String,
    code: String,
    #[serde(default)]
    loops: Vec<Spanned<LoopRow>>,
    #[serde(default)]
    calls: Vec<Spanned<CallRow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoopRow {
    id: Option<String>,
    at: String,
    bound: Value,
    #[serde(rename = "source")]
    _source: Option<String>,
    #[serde(rename = "depth")]
    _depth: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallRow {
    name: String,
    instructions: Value,
}

impl FactsFile {
    /// Reads the text of a facts file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// One line naming file and line, for text that is not TOML, misses a key, has one that is not
    /// known, has a number out of range, or states two things about the same loop, call or kernel.
    pub fn parse(file: &str, text: &str) -> Result<FactsFile, Diagnostic> {
        FactsFile::read(file, text).map_err(|d| d.in_file(file))
    }

    fn read(file: &str, text: &str) -> Result<FactsFile, Diagnostic> {
        let line_of = |span: Range<usize>| {
            let before = text.get(..span.start).unwrap_or(text);
            before.matches('\n').count() + 1
        };
        let rows: FileRow = toml::from_str(text).map_err(|error| {
            let what = error.message().lines().collect::<Vec<_>>().join(": ");
            let diagnostic = Diagnostic::new(what);
            match error.span() {
                Some(span) => at_line(diagnostic, line_of(span)),
                None => diagnostic,
            }
        })?;
        let mut kernels: Vec<KernelFacts> = Vec::new();
        for row in rows.kernel {
            let line = line_of(row.span());
            let kernel = KernelFacts::read(file, row.into_inner(), line, &line_of)?;
            if let Some(other) = kernels.iter().find(|k| k.name == kernel.name) {
                return Err(at_line(
                    Diagnostic::new(format!(
                        "second [[kernel]] for {}, the first is in line {}",
                        kernel.name, other.line
                    )),
                    line,
                ));
            }
            kernels.push(kernel);
        }
        Ok(FactsFile { kernels })
    }

    /// The kernels the file speaks about.
    pub fn kernels(&self) -> &[KernelFacts] {
        &self.kernels
    }
}

impl KernelFacts {
    fn read(
        file: &str,
        row: KernelRow,
        line: usize,
        line_of: &dyn Fn(Range<usize>) -> usize,
    ) -> Result<KernelFacts, Diagnostic> {
        let mut facts = KernelFacts {
            file: file.to_owned(),
            name: row.name,
            code: row.code,
            loops: Vec::new(),
            calls: BTreeMap::new(),
            line,
        };
        for row in row.loops {
            let line = line_of(row.span());
            let row = row.into_inner();
            let fail = |what: String| Err(at_line(Diagnostic::new(what), line));
            let Some(at) = address(&row.at) else {
                return fail(format!(
                    "`at` is {:?}, not an address like \"0x0128\"",
                    row.at
                ));
            };
            let bound = match number(&row.bound) {
                Some(Some(0)) => {
                    return fail(
                        "a loop bound counts header executions per entry, so it is at least 1"
                            .to_owned(),
                    );
                }
                Some(bound) => bound,
                None => {
                    return fail(format!(
                        "`bound` is {}, not a whole number or \"?\"",
                        row.bound
                    ));
                }
            };
            if let Some(other) = facts.loops.iter().find(|l| l.at == at) {
                if other.bound != bound {
                    return fail(format!(
                        "the loop at {at} has another bound in line {}",
                        other.line
                    ));
                }
                continue;
            }
            facts.loops.push(LoopFact {
                id: row.id,
                at,
                bound,
                line,
            });
        }
        for row in row.calls {
            let line = line_of(row.span());
            let row = row.into_inner();
            let fail = |what: String| Err(at_line(Diagnostic::new(what), line));
            let cost = match number(&row.instructions) {
                Some(Some(n)) if n > MOST_CALL_INSTRUCTIONS => {
                    return fail(format!("`instructions` is over {MOST_CALL_INSTRUCTIONS}"));
                }
                Some(cost) => cost,
                None => {
                    return fail(format!(
                        "`instructions` is {}, not a whole number or \"?\"",
                        row.instructions
                    ));
                }
            };
            if let Some(other) = facts.calls.insert(row.name.clone(), cost)
                && other != cost
            {
                return fail(format!("{} has two costs", row.name));
            }
        }
        Ok(facts)
    }

    /// The stated bound of each of `loops`.
    ///
    /// # Errors
    ///
    /// One line where the facts are stale (`digest` is that of the code at hand) or name a loop that the
    /// kernel does not have.
    pub fn bounds(&self, loops: &[LoopName], digest: &str) -> Result<Vec<Option<u64>>, Diagnostic> {
        let fail =
            |what: String, line| at_line(Diagnostic::new(what), line).in_file(self.file.as_str());
        if self.code != digest {
            let what = format!(
                "the facts are about other code: digest {} there, {digest} in the binary",
                self.code
            );
            return Err(fail(what, self.line)
                .hint("check each bound against the new code and take the new digest over"));
        }
        let mut bounds = vec![None; loops.len()];
        for fact in &self.loops {
            let index = loops.iter().position(|l| l.at == fact.at);
            let Some((known, bound)) = index.and_then(|i| loops.get(i).zip(bounds.get_mut(i)))
            else {
                let what = format!("the kernel has no loop at {}", fact.at);
                return Err(
                    fail(what, fact.line).hint("`warpbound facts` prints the loops that there are")
                );
            };
            if let Some(id) = fact.id.as_ref().filter(|id| **id != known.id) {
                let what = format!("the loop at {} is {}, not {id}", fact.at, known.id);
                return Err(fail(what, fact.line));
            }
            *bound = fact.bound;
        }
        Ok(bounds)
    }

    /// The stated cost of a call of a function outside the file, in warp instructions per call.
    pub fn call(&self, name: &str) -> Option<u64> {
        self.calls.get(name).copied().flatten()
    }

    /// Names of the functions outside the file that have a line.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        self.calls.keys().map(String::as_str)
    }

    /// Adds the place of these facts to a diagnostic.
    pub fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        at_line(diagnostic, self.line).in_file(self.file.as_str())
    }
}

fn at_line(diagnostic: Diagnostic, line: usize) -> Diagnostic {
    diagnostic.at(format!("line {line}"))
}

/// `Some(None)` for a number that is missing, `None` for what is no number.
fn number(value: &Value) -> Option<Option<u64>> {
    match value {
        Value::Integer(n) => u64::try_from(*n).ok().map(Some),
        Value::String(text) if text == MISSING => Some(None),
        _ => None,
    }
}

fn address(text: &str) -> Option<CodeAddr> {
    let digits = text.strip_prefix("0x")?;
    u32::from_str_radix(digits, 16).ok().map(CodeAddr)
}

/// The line of a facts file for one loop, without indentation.
pub fn spell_loop(name: &LoopName, bound: Option<u64>, source: Option<&str>, depth: u32) -> String {
    let source = source.map_or(String::new(), |s| format!(", source = {}", quoted(s)));
    format!(
        "{{ id = {}, at = \"{}\", bound = {}{source}, depth = {depth} }},",
        quoted(&name.id),
        name.at,
        spell_number(bound),
    )
}

/// The line of a facts file for one function outside the file, without indentation.
pub fn spell_call(name: &str, instructions: Option<u64>) -> String {
    format!(
        "{{ name = {}, instructions = {} }},",
        quoted(name),
        spell_number(instructions)
    )
}

/// The lines of a facts file for one kernel; `loops` and `calls` are spelled lines.
pub fn spell_kernel(name: &str, digest: &str, loops: &[String], calls: &[String]) -> String {
    let mut text = format!(
        "[[kernel]]\nname = {}\ncode = {}\n",
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

fn spell_number(number: Option<u64>) -> String {
    number.map_or_else(|| format!("\"{MISSING}\""), |n| n.to_string())
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
