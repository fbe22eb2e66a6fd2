//! The file `maxwell.names`: spellings, register counts, timing classes.

use super::arch::Arch;
use super::timing::Timing;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Index of a spelling list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NamesId(usize);

/// Index of a register-count list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CountId(usize);

/// Index of a timing class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimingId(usize);

/// Everything the names file defines.
#[derive(Default, Debug)]
pub(crate) struct Names {
    names: Vec<List<Option<&'static str>>>,
    names_by: HashMap<&'static str, NamesId>,
    counts: Vec<List<u8>>,
    counts_by: HashMap<&'static str, CountId>,
    timings: Vec<Timing>,
    timings_by: HashMap<&'static str, TimingId>,
}

/// The values of a list, read when one is asked for: a short listing needs few of the lists.
#[derive(Debug)]
struct List<T> {
    words: &'static str,
    /// `value=word`: single values that the architecture has otherwise.
    changes: Vec<&'static str>,
    read: fn(&'static str) -> Option<T>,
    /// Empty where a word is not understood.
    values: OnceLock<Vec<T>>,
}

impl<T> List<T> {
    fn new(words: &'static str, read: fn(&'static str) -> Option<T>) -> List<T> {
        List {
            words,
            changes: Vec::new(),
            read,
            values: OnceLock::new(),
        }
    }

    fn values(&self) -> &[T] {
        self.values.get_or_init(|| self.parse().unwrap_or_default())
    }

    fn parse(&self) -> Option<Vec<T>> {
        let mut values = words(self.words)
            .map(self.read)
            .collect::<Option<Vec<T>>>()?;
        for word in self.changes.iter().copied().flat_map(words) {
            let (value, word) = word.split_once('=')?;
            *values.get_mut(value.parse::<usize>().ok()?)? = (self.read)(word)?;
        }
        Some(values)
    }

    fn check(&self) -> Result<(), String> {
        match self.parse() {
            Some(_) => Ok(()),
            None => Err(format!("names: cannot read `{}`", self.words)),
        }
    }
}

impl Names {
    /// Reads the file as it holds for one architecture, lists only as far as their names; the error names
    /// the line. Ids do not depend on the architecture.
    pub(crate) fn parse(text: &'static str, arch: Arch) -> Result<Names, String> {
        let mut out = Names::default();
        for line in logical_lines(text) {
            out.entry(line, arch)
                .ok_or_else(|| format!("names: cannot read `{line}`"))?;
        }
        Ok(out)
    }

    /// Reads all lists; the error names the first that is not understood.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.names.iter().try_for_each(List::check)?;
        self.counts.iter().try_for_each(List::check)
    }

    /// The number of lists read so far.
    #[cfg(test)]
    pub(crate) fn lists_read(&self) -> usize {
        let names = self.names.iter().filter(|list| list.values.get().is_some());
        let counts = self
            .counts
            .iter()
            .filter(|list| list.values.get().is_some());
        names.count() + counts.count()
    }

    fn entry(&mut self, line: &'static str, arch: Arch) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        let rest = rest.trim_ascii_start();
        let (name, values) = rest.split_once(' ').unwrap_or((rest, ""));
        let (name, meant) = match name.split_once('@') {
            Some((name, list)) => (name, list.split(',').any(|sm| sm.parse() == Ok(arch.sm()))),
            None => (name, true),
        };
        if !meant {
            return Some(());
        }
        match kind {
            "names" => match self.names_by.get(name) {
                Some(id) => self.names.get_mut(id.0)?.changes.push(values),
                None => {
                    self.names_by.insert(name, NamesId(self.names.len()));
                    self.names.push(List::new(values, spelling));
                }
            },
            "count" => match self.counts_by.get(name) {
                Some(id) => self.counts.get_mut(id.0)?.changes.push(values),
                None => {
                    self.counts_by.insert(name, CountId(self.counts.len()));
                    self.counts
                        .push(List::new(values, |word| word.parse().ok()));
                }
            },
            "timing" => {
                let words: Vec<&'static str> = words(values).collect();
                let timing = Timing::parse(&words)?;
                match self.timings_by.get(name) {
                    Some(id) => *self.timings.get_mut(id.0)? = timing,
                    None => {
                        self.timings_by.insert(name, TimingId(self.timings.len()));
                        self.timings.push(timing);
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// The spelling list of that name.
    pub(crate) fn names_id(&self, name: &str) -> Option<NamesId> {
        self.names_by.get(name).copied()
    }

    /// The register-count list of that name.
    pub(crate) fn count_id(&self, name: &str) -> Option<CountId> {
        self.counts_by.get(name).copied()
    }

    /// The spelling of `value`; `None` when the value is not an instruction.
    pub(crate) fn text(&self, id: NamesId, value: u64) -> Option<&'static str> {
        let list = self.names.get(id.0)?.values();
        list.get(usize::try_from(value).ok()?).copied().flatten()
    }

    /// Whether the list has values that are not an instruction.
    pub(crate) fn has_holes(&self, id: NamesId) -> bool {
        self.names
            .get(id.0)
            .is_none_or(|list| list.values().iter().any(Option::is_none))
    }

    /// The register count for `value`; the largest of the list when it is too short.
    pub(crate) fn count(&self, id: CountId, value: u64) -> u8 {
        let Some(list) = self.counts.get(id.0).map(List::values) else {
            return 4;
        };
        usize::try_from(value)
            .ok()
            .and_then(|v| list.get(v).copied())
            .unwrap_or_else(|| list.iter().copied().max().unwrap_or(4))
    }

    /// The timing class of that name.
    pub(crate) fn timing_id(&self, name: &str) -> Option<TimingId> {
        self.timings_by.get(name).copied()
    }

    /// The timing class as this architecture has it.
    pub(crate) fn timing(&self, id: TimingId) -> Option<&Timing> {
        self.timings.get(id.0)
    }
}

/// `-` is no text, `!` is not an instruction.
fn spelling(word: &'static str) -> Option<Option<&'static str>> {
    Some(match word {
        "-" => Some(""),
        "!" => None,
        text => Some(text),
    })
}

/// The words of an entry, comments left out.
fn words(text: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_ascii_whitespace)
}

/// The entries: a line and the indented ones that continue it, comments between them included.
fn logical_lines(text: &'static str) -> Vec<&'static str> {
    let mut entries = Vec::new();
    // Where the entry that is being read begins, and where its last line ends.
    let mut open: Option<(usize, usize)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        if line.trim_ascii().is_empty() || line.starts_with('#') {
            continue;
        }
        match &mut open {
            Some((_, end)) if line.starts_with(' ') => *end = offset,
            _ => {
                let (first, end) = open.replace((start, offset)).unwrap_or_default();
                entries.extend(text.get(first..end));
            }
        }
    }
    let (first, end) = open.unwrap_or_default();
    entries.extend(text.get(first..end));
    entries.retain(|entry| !entry.is_empty());
    entries
}
