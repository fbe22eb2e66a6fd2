//! Flow facts: what a person states about a kernel because the analyses cannot find it.
//!
//! The file is TOML; [`LoopLine`] and the functions beside it write what [`FactsFile::parse`] reads:
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
//! calls = [
//!     { name = "vprintf", instructions = 400 },
//! ]
//! ```

mod number;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use serde::Deserialize;
use toml::{Spanned, Value};
use warpbound_base::{CodeAddr, Diagnostic};

use crate::never::{Never, address};

use number::{MISSING, MAX_NUMBER, FactNumber};

/// The status of facts that runs showed.
const OBSERVED: &str = "observed";

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
    /// The name of the person who answers for numbers that runs showed, where one is given.
    pub signed_off_by: Option<String>,
    loops: Vec<LoopFact>,
    calls: Vec<CallFact>,
    never: Vec<(Never, usize)>,
    file: String,
    line: usize,
}

/// Statements about a loop.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoopNumbers {
    /// The most header executions of a thread for each entry of the loop.
    pub bound: Option<u64>,
    /// The most header executions of a thread in its whole run.
    pub total: Option<u64>,
}

impl LoopNumbers {
    /// The most header executions for each entry that follow: no entry has more than the whole run.
    pub fn per_entry(self) -> Option<u64> {
        self.bound.into_iter().chain(self.total).min()
    }
}

/// Numbers that were read, and their line.
#[derive(Clone, Copy)]
struct StatedNumbers {
    numbers: LoopNumbers,
    line: usize,
}

/// What the lines read so far state about the loops at one address: enough to find the first line that
/// contradicts a new one.
#[derive(Default)]
struct StatementsAt {
    /// The first line, and the first that states another bound than that.
    first: Option<StatedNumbers>,
    other: Option<StatedNumbers>,
    /// The first line that names no loop; it speaks about all of them.
    unnamed: Option<StatedNumbers>,
    /// The first line that names a loop.
    named: BTreeMap<String, StatedNumbers>,
}

impl StatementsAt {
    /// The first line that states another bound for the loop `id`, or for any loop where that is `None`.
    fn contradiction(&self, id: Option<&String>, numbers: LoopNumbers) -> Option<StatedNumbers> {
        let (one, two) = match id {
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

#[derive(Clone, Debug)]
struct LoopFact {
    id: Option<String>,
    at: CodeAddr,
    numbers: LoopNumbers,
    line: usize,
}

/// What a facts file says about a function outside the file.
#[derive(Clone, Debug)]
pub struct CallFact {
    /// Its symbol.
    pub name: String,
    /// The most warp instructions that one call issues; `None` where the number is missing.
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
    /// The largest bound of a loop that can be stated.
    pub const MAX_BOUND: u64 = MAX_NUMBER;

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
        // Facts about a library are some hundred thousand lines: none is counted or compared twice.
        let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line_of = |span: Range<usize>| breaks.partition_point(|&at| at < span.start) + 1;
        let rows: FileRow = toml::from_str(text).map_err(|error| {
            let what = error.message().lines().collect::<Vec<_>>().join(": ");
            let diagnostic = Diagnostic::new(what.replace(char::is_control, "\u{fffd}"));
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
            match lines.entry((kernel.name.clone(), kernel.code.clone())) {
                Entry::Vacant(place) => place.insert(line),
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

    /// The kernels the file speaks about.
    pub fn kernels(&self) -> &[KernelFacts] {
        &self.kernels
    }

    /// The facts about the code of a digest that has one of these names.
    pub fn find(&self, names: [&str; 2], digest: &str) -> Option<&KernelFacts> {
        let mut kernels = self.kernels.iter();
        kernels.find(|k| k.code == digest && names.contains(&k.name.as_str()))
    }
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
            calls: Vec::new(),
            never: Vec::new(),
            line,
        };
        let mut places = BTreeMap::<CodeAddr, StatementsAt>::new();
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
            if let Some(id) = &row.id {
                reject_control_characters("id", id).map_err(|d| at_line(d, line))?;
            }
            if row.bound.is_none() && row.total.is_none() {
                return fail("missing field `bound`, or `total`".to_owned());
            }
            let number = |number: Option<FactNumber>, key| match number {
                None => Ok(None),
                Some(number) => number.value(key),
            };
            let numbers = match (number(row.bound, "bound"), number(row.total, "total")) {
                (Ok(bound), Ok(total)) => LoopNumbers { bound, total },
                (Err(what), _) | (_, Err(what)) => return fail(what),
            };
            if numbers.bound == Some(0) {
                return fail(
                    "a loop bound counts header executions per entry, so it is at least 1"
                        .to_owned(),
                );
            }
            if numbers.total == Some(0) {
                return fail(
                    "a total of 0 is a loop that nobody enters, which `never` states".to_owned(),
                );
            }
            let here = places.entry(at).or_default();
            if let Some(other) = here.contradiction(row.id.as_ref(), numbers) {
                let key = match other.numbers.bound != numbers.bound {
                    true => "bound",
                    false => "total",
                };
                return fail(format!(
                    "the loop at {at} has another {key} in line {}",
                    other.line
                ));
            }
            here.add(row.id.as_ref(), StatedNumbers { numbers, line });
            facts.loops.push(LoopFact {
                id: row.id,
                at,
                numbers,
                line,
            });
        }
        for row in row.never {
            let line = line_of(row.span());
            let text = row.into_inner();
            let never = Never::parse(&text).ok_or_else(|| {
                let what = format!(
                    "`never` has {text:?}, not an address like \"0x0128\" or a step like \"0x0128 -> 0x0150\""
                );
                at_line(Diagnostic::new(what), line)
            })?;
            facts.never.push((never, line));
        }
        let mut stated = BTreeMap::<String, (Option<u64>, usize)>::new();
        for row in row.calls {
            let line = line_of(row.span());
            let row = row.into_inner();
            let fail = |what: String| Err(at_line(Diagnostic::new(what), line));
            reject_control_characters("name", &row.name).map_err(|d| at_line(d, line))?;
            let instructions = match row.instructions.value("instructions") {
                Ok(instructions) => instructions,
                Err(what) => return fail(what),
            };
            let this = (instructions, line);
            let (first, first_line) = *stated.entry(row.name.clone()).or_insert(this);
            if first != instructions {
                return fail(format!(
                    "{} has another cost in line {first_line}",
                    row.name
                ));
            }
            facts.calls.push(CallFact {
                name: row.name,
                instructions,
                line,
            });
        }
        Ok(facts)
    }

    /// The bound of each of `loops` that follows from what is stated, see [`LoopNumbers::per_entry`].
    ///
    /// # Errors
    ///
    /// See [`KernelFacts::numbers`].
    pub fn bounds(&self, loops: &[LoopName]) -> Result<Vec<Option<u64>>, Diagnostic> {
        let numbers = self.numbers(loops)?;
        Ok(numbers.into_iter().map(LoopNumbers::per_entry).collect())
    }

    /// The statements about each of `loops`.
    ///
    /// # Errors
    ///
    /// One line where they name a loop that the kernel does not have.
    pub fn numbers(&self, loops: &[LoopName]) -> Result<Vec<LoopNumbers>, Diagnostic> {
        let fail =
            |what: String, line| at_line(Diagnostic::new(what), line).in_file(self.file.as_str());
        let mut bounds = vec![LoopNumbers::default(); loops.len()];
        for fact in &self.loops {
            let here = || loops.iter().filter(|l| l.at == fact.at);
            let names = || {
                here()
                    .map(|l| l.id.as_str())
                    .collect::<Vec<_>>()
                    .join(" and ")
            };
            let wanted = |l: &LoopName| match &fact.id {
                Some(id) => l.at == fact.at && l.id == *id,
                None => l.at == fact.at,
            };
            let what = match (here().count(), &fact.id) {
                (0, _) => {
                    let what = format!("the kernel has no loop at {}", fact.at);
                    return Err(fail(what, fact.line)
                        .hint("`warpbound facts` prints the loops that there are"));
                }
                // Loops may share an address where one has more headers.
                (2.., None) => Some(format!(
                    "at {} are the loops {}, `id` must say which is meant",
                    fact.at,
                    names()
                )),
                (_, Some(id)) if !here().any(wanted) => {
                    Some(format!("the loop at {} is {}, not {id}", fact.at, names()))
                }
                _ => None,
            };
            if let Some(what) = what {
                return Err(fail(what, fact.line));
            }
            let Some(bound) = loops
                .iter()
                .position(wanted)
                .and_then(|i| bounds.get_mut(i))
            else {
                continue;
            };
            *bound = fact.numbers;
        }
        Ok(bounds)
    }

    /// Blocks and steps that no thread executes.
    pub fn never(&self) -> impl Iterator<Item = Never> + '_ {
        self.never.iter().map(|&(never, _)| never)
    }

    /// Adds the place of the statement of a number among [`KernelFacts::never`] to a diagnostic.
    pub fn locate_never(&self, number: usize, diagnostic: Diagnostic) -> Diagnostic {
        let line = self.never.get(number).map_or(self.line, |&(_, line)| line);
        at_line(diagnostic, line).in_file(self.file.as_str())
    }

    /// The stated cost of a call of a function outside the file, in warp instructions per call.
    pub fn call(&self, name: &str) -> Option<u64> {
        self.calls.iter().find(|c| c.name == name)?.instructions
    }

    /// The lines about functions outside the file.
    pub fn calls(&self) -> &[CallFact] {
        &self.calls
    }

    /// Adds the place of these facts to a diagnostic.
    pub fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        at_line(diagnostic, self.line).in_file(self.file.as_str())
    }

    /// Adds the place of one of their lines to a diagnostic.
    pub fn locate_call(&self, call: &CallFact, diagnostic: Diagnostic) -> Diagnostic {
        at_line(diagnostic, call.line).in_file(self.file.as_str())
    }
}

/// Why facts with a status are refused: what runs showed holds for these runs, and a bound for all.
fn status_error(status: &str) -> Diagnostic {
    match status == OBSERVED {
        true => Diagnostic::new("the facts are observed in runs, which states nothing of others").hint(
            "check that each number holds for every input, then replace this line by signed_off_by = \"YOUR NAME\"",
        ),
        false => Diagnostic::new(format!("`status` is {status:?}, which is not known"))
            .hint(format!("the only status is {OBSERVED:?}")),
    }
}

fn at_line(diagnostic: Diagnostic, line: usize) -> Diagnostic {
    diagnostic.at(format!("line {line}"))
}

/// Refuses text that would break a line of a message.
fn reject_control_characters(key: &str, text: &str) -> Result<(), Diagnostic> {
    match text.contains(char::is_control) {
        true => Err(Diagnostic::new(format!(
            "`{key}` is {text:?}, which has a control character"
        ))),
        false => Ok(()),
    }
}

/// What a facts file says of a loop beside its bound.
#[derive(Clone, Debug)]
pub struct LoopLine<'a> {
    /// Its names.
    pub name: &'a LoopName,
    /// Source line of the header.
    pub source: Option<String>,
    /// Nesting depth, 1 is outermost.
    pub depth: u32,
    /// Addresses of all headers, where there are several: the bound counts the executions of them all.
    pub headers: &'a [CodeAddr],
    /// The recursive function whose calls make up this loop: the bound counts the calls.
    pub recursion: Option<String>,
}

impl LoopLine<'_> {
    /// The line, without indentation, with a place for the bound.
    pub fn format_line(&self) -> String {
        self.format_line_with(LoopNumbers::default())
    }

    /// The same with numbers.
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

/// The line of a facts file for one function outside the file, without indentation.
pub fn format_call(name: &str) -> String {
    let name = quoted(name);
    format!("{{ name = {name}, instructions = \"{MISSING}\" }},")
}

/// The lines of a facts file for one kernel; `loops` and `calls` are spelled lines.
pub fn format_kernel(name: &str, digest: &str, loops: &[String], calls: &[String]) -> String {
    format_facts(name, digest, "", loops, calls)
}

/// The same for numbers that runs showed: a facts file is refused as long as they are marked as such.
pub fn format_observed(name: &str, digest: &str, loops: &[String], calls: &[String]) -> String {
    let status = format!("status = {}\n", quoted(OBSERVED));
    format_facts(name, digest, &status, loops, calls)
}

fn format_facts(name: &str, digest: &str, status: &str, loops: &[String], calls: &[String]) -> String {
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
