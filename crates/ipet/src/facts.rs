//! Flow facts: statements of the user about a kernel that the analyses cannot derive.
//!
//! The file is TOML; [`LoopLine`], [`format_call`] and [`KernelLines`] write it, [`FactsFile::parse`] reads it:
//!
//! ```toml
//! [[kernel]]
//! name = "_Z8collatzPi"
//! code = "59c0ad20b1d6f0c7"
//! loops = [
//!     { id = "L1", at = "0x0128", bound = 10, source = "collatz.cu:12", depth = 1 },
//!     { id = "L2", at = "0x0150", bound = 19, total = 190, source = "collatz.cu:14", depth = 2 },
//! ]
//! never = ["0x0200", "0x01a8 -> 0x0220"]
//! accesses = [
//!     { at = "0x0130", sectors = 4, lines = 1, source = "collatz.cu:13" },
//! ]
//! calls = [
//!     { name = "vprintf", instructions = 400 },
//! ]
//! ```

mod access;
mod number;
mod write;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::{CodeAddr, Diagnostic};

use crate::never::{Never, address};

use access::AccessRow;
use number::{FactNumber, MAX_NUMBER};

pub use access::{AccessFact, AccessNumbersFact, StatedSpace};
pub use write::{AccessLine, KernelLines, LoopLine, format_call, format_call_with};

/// Name of a loop in a facts file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopName {
    /// Short name, unique in the kernel: `L1`.
    pub id: String,
    /// Address of the first instruction of its header; of the first header, if it has several.
    pub at: CodeAddr,
}

/// Parsed facts file.
#[derive(Clone, Default, Debug)]
pub struct FactsFile {
    kernels: Vec<KernelFacts>,
}

/// Facts about one kernel.
#[derive(Clone, Debug)]
pub struct KernelFacts {
    /// Name of the kernel, mangled or demangled.
    pub name: String,
    /// Digest of the code that the facts apply to.
    pub code: String,
    /// Name of the person who vouches for numbers that were observed in runs, if given.
    pub signed_off_by: Option<String>,
    loops: Vec<LoopFact>,
    accesses: Vec<AccessFact>,
    calls: Vec<CallFact>,
    never: Vec<(Never, usize)>,
    file: String,
    line: usize,
}

/// Stated numbers of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoopNumbers {
    /// Maximum header executions of a thread for each entry of the loop.
    pub bound: Option<u64>,
    /// Maximum header executions of a thread in its whole run.
    pub total: Option<u64>,
}

impl LoopNumbers {
    /// Maximum header executions for each entry that the numbers imply: no entry has more than the whole run. For
    /// example, a loop with `bound = 19` and `total = 12` has at most 12 header executions per entry.
    pub fn per_entry(self) -> Option<u64> {
        self.bound.into_iter().chain(self.total).min()
    }
}

/// Numbers of a fact, and their line.
#[derive(Clone, Copy)]
struct StatedNumbers {
    numbers: LoopNumbers,
    line: usize,
}

/// Facts read so far about the loops at one address: enough to find the first line that contradicts a new one in
/// logarithmic time.
#[derive(Default)]
struct StatementsAt {
    /// First line, and the first line with numbers different from it.
    first: Option<StatedNumbers>,
    other: Option<StatedNumbers>,
    /// First line without an `id`, which applies to all loops at the address.
    unnamed: Option<StatedNumbers>,
    /// First line of each `id`.
    named: BTreeMap<String, StatedNumbers>,
}

impl StatementsAt {
    /// First line with different numbers for the loop `id`, or for any loop if `id` is `None`.
    fn contradiction(&self, id: Option<&String>, numbers: LoopNumbers) -> Option<StatedNumbers> {
        let (one, two) = match id {
            // A line without an `id` applies to all loops at the address, so it must agree with every earlier line.
            None => (self.first, self.other),
            Some(id) => (self.unnamed, self.named.get(id).copied()),
        };
        [one, two]
            .into_iter()
            .flatten()
            .filter(|stated| stated.numbers != numbers)
            .min_by_key(|stated| stated.line)
    }

    fn add(&mut self, id: Option<&String>, new: StatedNumbers) {
        let first = self.first.get_or_insert(new);
        if first.numbers != new.numbers {
            self.other.get_or_insert(new);
        }
        match id {
            None => {
                self.unnamed.get_or_insert(new);
            }
            Some(id) => {
                if !self.named.contains_key(id) {
                    self.named.insert(id.clone(), new);
                }
            }
        }
    }
}

/// Fact about a loop.
#[derive(Clone, Debug)]
pub struct LoopFact {
    /// Short name of the loop, if stated.
    pub id: Option<String>,
    /// Address of the loop, see [`LoopName::at`].
    pub at: CodeAddr,
    /// Stated numbers.
    pub numbers: LoopNumbers,
    /// Fingerprint of the loop in the build that the fact was stated about.
    pub identity: FactIdentity,
    line: usize,
}

/// Fingerprint of a loop or access in a facts file. A fact is carried over to another build only if `decides` is
/// equal there (SOUNDNESS 5.15).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FactIdentity {
    /// Digest of the code that decides how often the loop is entered and its header runs, or which addresses the access
    /// has; `None` if it is not known.
    pub decides: Option<String>,
    /// Digest of the loop's own instructions, or of the access as an instruction.
    pub body: Option<String>,
}

/// Fact about a function outside the file.
#[derive(Clone, Debug)]
pub struct CallFact {
    /// Symbol of the function.
    pub name: String,
    /// Maximum number of warp instructions that one call issues; `None` if the number is missing.
    pub instructions: Option<u64>,
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
    status: Option<Spanned<String>>,
    signed_off_by: Option<String>,
    #[serde(default)]
    loops: Vec<Spanned<LoopRow>>,
    #[serde(default)]
    accesses: Vec<Spanned<AccessRow>>,
    #[serde(default)]
    never: Vec<Spanned<String>>,
    #[serde(default)]
    calls: Vec<Spanned<CallRow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoopRow {
    id: Option<String>,
    at: String,
    bound: Option<FactNumber>,
    total: Option<FactNumber>,
    decides: Option<String>,
    body: Option<String>,
    #[serde(rename = "source")]
    _source: Option<String>,
    #[serde(rename = "depth")]
    _depth: Option<u32>,
    #[serde(rename = "headers")]
    _headers: Option<Vec<String>>,
    #[serde(rename = "recursion")]
    _recursion: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallRow {
    name: String,
    instructions: FactNumber,
}

impl FactsFile {
    /// Largest bound of a loop that can be stated.
    pub const MAX_BOUND: u64 = MAX_NUMBER;

    /// Status of facts that were observed in runs.
    pub const OBSERVED: &str = "observed";

    /// Status of facts that a person vouched for when the kernel had other code.
    pub const UNREVIEWED: &str = "unreviewed";

    /// Whether there are no facts.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// Parses the text of a facts file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// Names file and line, for text that is not TOML, lacks a key, has an unknown key or a number out of range, or
    /// contradicts itself about a loop, call or kernel.
    pub fn parse(file: &str, text: &str) -> Result<FactsFile, Diagnostic> {
        FactsFile::read(file, text).map_err(|d| d.in_file(file))
    }

    fn read(file: &str, text: &str) -> Result<FactsFile, Diagnostic> {
        // A library has hundreds of thousands of lines of facts, so reading is linear: line breaks are collected once.
        let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line_of = |span: Range<usize>| breaks.partition_point(|&at| at < span.start) + 1;
        let rows: FileRow = toml::from_str(text).map_err(|error| {
            let message = error.message().lines().collect::<Vec<_>>().join(": ");
            let diagnostic = Diagnostic::new(message.replace(char::is_control, "\u{fffd}"));
            match error.span() {
                Some(span) => at_line(diagnostic, line_of(span)),
                None => diagnostic,
            }
        })?;
        let mut kernels: Vec<KernelFacts> = Vec::new();
        let mut lines = BTreeMap::new();
        for row in rows.kernel {
            let line = line_of(row.span());
            let kernel = KernelFacts::read(file, row.into_inner(), line, &line_of)?;
            // One file may have facts about several builds of a kernel, so the name alone need not be unique.
            match lines.entry((kernel.name.clone(), kernel.code.clone())) {
                Entry::Vacant(vacant) => vacant.insert(line),
                Entry::Occupied(other) => {
                    return Err(at_line(
                        Diagnostic::new(format!(
                            "second [[kernel]] for {}, the first is in line {}",
                            kernel.name,
                            other.get()
                        )),
                        line,
                    ));
                }
            };
            kernels.push(kernel);
        }
        Ok(FactsFile { kernels })
    }

    /// Facts of all kernels in the file, to complete their fingerprints.
    pub fn kernels_mut(&mut self) -> &mut [KernelFacts] {
        &mut self.kernels
    }

    /// Facts of all kernels in the file.
    pub fn kernels(&self) -> &[KernelFacts] {
        &self.kernels
    }

    /// Facts about the kernel with one of these names and this code digest.
    pub fn find(&self, names: [&str; 2], digest: &str) -> Option<&KernelFacts> {
        // The name alone does not suffice: facts hold for the code that they were stated about.
        let mut kernels = self.kernels.iter();
        kernels.find(|k| k.code == digest && names.contains(&k.name.as_str()))
    }
}

impl LoopFact {
    /// Reads the fact of a line of `loops`; `stated` are the facts read before, by address.
    fn read(
        row: LoopRow,
        line: usize,
        stated: &mut BTreeMap<CodeAddr, StatementsAt>,
    ) -> Result<LoopFact, Diagnostic> {
        let at = read_address(&row.at)?;
        if let Some(id) = &row.id {
            reject_control_characters("id", id)?;
        }
        let numbers = row.numbers()?;
        let here = stated.entry(at).or_default();
        if let Some(other) = here.contradiction(row.id.as_ref(), numbers) {
            let key = match other.numbers.bound != numbers.bound {
                true => "bound",
                false => "total",
            };
            return Err(Diagnostic::new(format!(
                "the loop at {at} has another {key} in line {}",
                other.line
            )));
        }
        here.add(row.id.as_ref(), StatedNumbers { numbers, line });
        Ok(LoopFact {
            id: row.id,
            at,
            numbers,
            identity: FactIdentity {
                decides: row.decides,
                body: row.body,
            },
            line,
        })
    }
}

impl LoopRow {
    /// Numbers of the line, checked for their range.
    fn numbers(&self) -> Result<LoopNumbers, Diagnostic> {
        if self.bound.is_none() && self.total.is_none() {
            return Err(Diagnostic::new("missing field `bound`, or `total`"));
        }
        let number = |number: &Option<FactNumber>, key| match number {
            None => Ok(None),
            Some(number) => number.value(key).map_err(Diagnostic::new),
        };
        let numbers = LoopNumbers {
            bound: number(&self.bound, "bound")?,
            total: number(&self.total, "total")?,
        };
        // The entry itself executes the header, so a loop that is entered has at least one execution.
        if numbers.bound == Some(0) {
            return Err(Diagnostic::new(
                "a loop bound counts header executions per entry, so it is at least 1",
            ));
        }
        if numbers.total == Some(0) {
            return Err(Diagnostic::new(
                "a total of 0 is a loop that no thread enters, which `never` states",
            ));
        }
        Ok(numbers)
    }
}

impl CallFact {
    /// Reads the fact of a line of `calls`; `stated` are the costs read before, with their lines.
    fn read(
        row: CallRow,
        line: usize,
        stated: &mut BTreeMap<String, (Option<u64>, usize)>,
    ) -> Result<CallFact, Diagnostic> {
        reject_control_characters("name", &row.name)?;
        let instructions = row
            .instructions
            .value("instructions")
            .map_err(Diagnostic::new)?;
        let this = (instructions, line);
        let (first, first_line) = *stated.entry(row.name.clone()).or_insert(this);
        if first != instructions {
            return Err(Diagnostic::new(format!(
                "{} has another cost in line {first_line}",
                row.name
            )));
        }
        Ok(CallFact {
            name: row.name,
            instructions,
            line,
        })
    }
}

/// Reads the fact of a line of `never`.
fn read_never(text: &str) -> Result<Never, Diagnostic> {
    Never::parse(text).ok_or_else(|| {
        Diagnostic::new(format!(
            "`never` has {text:?}, not an address like \"0x0128\" or a step like \"0x0128 -> 0x0150\""
        ))
    })
}

impl KernelFacts {
    fn read(
        file: &str,
        row: KernelRow,
        line: usize,
        line_of: &dyn Fn(Range<usize>) -> usize,
    ) -> Result<KernelFacts, Diagnostic> {
        for (key, text) in [("name", &row.name), ("code", &row.code)] {
            reject_control_characters(key, text).map_err(|d| at_line(d, line))?;
        }
        if let Some(name) = &row.signed_off_by {
            reject_control_characters("signed_off_by", name).map_err(|d| at_line(d, line))?;
        }
        if let Some(status) = row.status {
            let line = line_of(status.span());
            return Err(at_line(status_error(status.get_ref()), line));
        }
        let mut facts = KernelFacts {
            file: file.to_owned(),
            name: row.name,
            code: row.code,
            signed_off_by: row.signed_off_by,
            loops: Vec::new(),
            accesses: Vec::new(),
            calls: Vec::new(),
            never: Vec::new(),
            line,
        };
        let mut stated_loops = BTreeMap::new();
        for row in row.loops {
            let line = line_of(row.span());
            let read = LoopFact::read(row.into_inner(), line, &mut stated_loops);
            facts.loops.push(read.map_err(|d| at_line(d, line))?);
        }
        let mut stated_accesses = BTreeMap::new();
        for row in row.accesses {
            let line = line_of(row.span());
            let read = AccessFact::read(row.into_inner(), line, &mut stated_accesses);
            facts.accesses.push(read.map_err(|d| at_line(d, line))?);
        }
        for row in row.never {
            let line = line_of(row.span());
            let never = read_never(&row.into_inner()).map_err(|d| at_line(d, line))?;
            facts.never.push((never, line));
        }
        let mut stated_calls = BTreeMap::new();
        for row in row.calls {
            let line = line_of(row.span());
            let read = CallFact::read(row.into_inner(), line, &mut stated_calls);
            facts.calls.push(read.map_err(|d| at_line(d, line))?);
        }
        Ok(facts)
    }

    /// Bound of each of `loops` that the facts imply, see [`LoopNumbers::per_entry`].
    ///
    /// # Errors
    ///
    /// See [`KernelFacts::numbers`].
    pub fn bounds(&self, loops: &[LoopName]) -> Result<Vec<Option<u64>>, Diagnostic> {
        let numbers = self.numbers(loops)?;
        Ok(numbers.into_iter().map(LoopNumbers::per_entry).collect())
    }

    /// Stated numbers of each of `loops`.
    ///
    /// # Errors
    ///
    /// Names the line of a fact about a loop that the kernel does not have, or that does not identify one loop.
    pub fn numbers(&self, loops: &[LoopName]) -> Result<Vec<LoopNumbers>, Diagnostic> {
        let fail = |message: String, line| {
            at_line(Diagnostic::new(message), line).in_file(self.file.as_str())
        };
        let mut bounds = vec![LoopNumbers::default(); loops.len()];
        for fact in &self.loops {
            let here = || loops.iter().filter(|l| l.at == fact.at);
            let names = || {
                here()
                    .map(|l| l.id.as_str())
                    .collect::<Vec<_>>()
                    .join(" and ")
            };
            let is_named = |l: &LoopName| match &fact.id {
                Some(id) => l.at == fact.at && l.id == *id,
                None => l.at == fact.at,
            };
            let message = match (here().count(), &fact.id) {
                (0, _) => {
                    let message = format!("the kernel has no loop at {}", fact.at);
                    return Err(fail(message, fact.line)
                        .hint("`warpbound facts` prints the loops that there are"));
                }
                // Loops may share an address if one of them has several headers.
                (2.., None) => Some(format!(
                    "at {} are the loops {}, `id` must say which is meant",
                    fact.at,
                    names()
                )),
                (_, Some(id)) if !here().any(is_named) => {
                    Some(format!("the loop at {} is {}, not {id}", fact.at, names()))
                }
                _ => None,
            };
            if let Some(message) = message {
                return Err(fail(message, fact.line));
            }
            // Always found: the checks above return unless the fact names a loop.
            let Some(bound) = loops
                .iter()
                .position(is_named)
                .and_then(|i| bounds.get_mut(i))
            else {
                continue;
            };
            *bound = fact.numbers;
        }
        Ok(bounds)
    }

    /// Facts about loops.
    pub fn loops(&self) -> &[LoopFact] {
        &self.loops
    }

    /// Facts about loops, to complete their fingerprints.
    pub fn loops_mut(&mut self) -> &mut [LoopFact] {
        &mut self.loops
    }

    /// Facts about accesses.
    pub fn accesses(&self) -> &[AccessFact] {
        &self.accesses
    }

    /// Facts about accesses, to complete their fingerprints.
    pub fn accesses_mut(&mut self) -> &mut [AccessFact] {
        &mut self.accesses
    }

    /// Adds the location of the fact about an access to a diagnostic.
    pub fn locate_access(&self, fact: &AccessFact, diagnostic: Diagnostic) -> Diagnostic {
        at_line(diagnostic, fact.line).in_file(self.file.as_str())
    }

    /// Blocks and steps that no thread executes.
    pub fn never(&self) -> impl Iterator<Item = Never> + '_ {
        self.never.iter().map(|&(never, _)| never)
    }

    /// Adds the location of fact `number` of [`KernelFacts::never`] to a diagnostic.
    pub fn locate_never(&self, number: usize, diagnostic: Diagnostic) -> Diagnostic {
        let line = self.never.get(number).map_or(self.line, |&(_, line)| line);
        at_line(diagnostic, line).in_file(self.file.as_str())
    }

    /// Adds the location of the fact about a loop to a diagnostic.
    pub fn locate_loop(&self, name: &LoopName, diagnostic: Diagnostic) -> Diagnostic {
        let is_named = |fact: &&LoopFact| {
            fact.at == name.at && fact.id.as_ref().is_none_or(|id| *id == name.id)
        };
        let fact = self.loops.iter().find(is_named);
        at_line(diagnostic, fact.map_or(self.line, |fact| fact.line)).in_file(self.file.as_str())
    }

    /// Stated cost of a function outside the file, in warp instructions per call.
    pub fn call(&self, name: &str) -> Option<u64> {
        self.calls.iter().find(|c| c.name == name)?.instructions
    }

    /// Facts about functions outside the file.
    pub fn calls(&self) -> &[CallFact] {
        &self.calls
    }

    /// Adds the location of these facts to a diagnostic.
    pub fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        at_line(diagnostic, self.line).in_file(self.file.as_str())
    }

    /// Adds the location of a call fact to a diagnostic.
    pub fn locate_call(&self, call: &CallFact, diagnostic: Diagnostic) -> Diagnostic {
        at_line(diagnostic, call.line).in_file(self.file.as_str())
    }
}

/// Error of facts with a status: observed numbers hold for the runs that were observed, but a bound must hold for all
/// runs.
fn status_error(status: &str) -> Diagnostic {
    match status {
        FactsFile::OBSERVED => Diagnostic::new("the facts are observed in runs, which proves nothing about others").hint(
            "check that each number holds for every input, then replace this line by signed_off_by = \"YOUR NAME\"",
        ),
        FactsFile::UNREVIEWED => Diagnostic::new("the facts were signed off for other code of the kernel").hint(
            "check that each number holds for this code, then replace this line by signed_off_by = \"YOUR NAME\"",
        ),
        _ => Diagnostic::new(format!("`status` is {status:?}, which is not known"))
            .hint(format!("a status is {:?} or {:?}", FactsFile::OBSERVED, FactsFile::UNREVIEWED)),
    }
}

fn at_line(diagnostic: Diagnostic, line: usize) -> Diagnostic {
    diagnostic.at(format!("line {line}"))
}

/// Reads the address of a line.
fn read_address(text: &str) -> Result<CodeAddr, Diagnostic> {
    address(text)
        .ok_or_else(|| Diagnostic::new(format!("`at` is {text:?}, not an address like \"0x0128\"")))
}

/// Rejects text that would break a line of a message.
fn reject_control_characters(key: &str, text: &str) -> Result<(), Diagnostic> {
    match text.contains(char::is_control) {
        true => Err(Diagnostic::new(format!(
            "`{key}` is {text:?}, which has a control character"
        ))),
        false => Ok(()),
    }
}
