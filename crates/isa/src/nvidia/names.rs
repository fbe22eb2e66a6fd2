//! The file `maxwell.names`: spellings, register counts, timing classes.

use super::arch::Arch;
use super::timing::Timing;
use std::collections::HashMap;

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
    names: Vec<Vec<Option<&'static str>>>,
    names_by: HashMap<&'static str, NamesId>,
    counts: Vec<Vec<u8>>,
    counts_by: HashMap<&'static str, CountId>,
    timings: Vec<Timing>,
    timings_by: HashMap<&'static str, TimingId>,
}

impl Names {
    /// Reads the file as it holds for one architecture; the error names the line. Ids do not
    /// depend on the architecture.
    pub(crate) fn parse(text: &'static str, arch: Arch) -> Result<Names, String> {
        let mut out = Names::default();
        for line in logical_lines(text) {
            let words: Vec<&'static str> = line
                .iter()
                .flat_map(|l| l.split_ascii_whitespace())
                .collect();
            out.entry(&words, arch)
                .ok_or_else(|| format!("names: cannot read `{}`", words.join(" ")))?;
        }
        Ok(out)
    }

    fn entry(&mut self, words: &[&'static str], arch: Arch) -> Option<()> {
        let (kind, rest) = words.split_first()?;
        let (name, values) = rest.split_first()?;
        let (name, meant) = match name.split_once('@') {
            Some((name, list)) => (name, list.split(',').any(|sm| sm == arch.sm().to_string())),
            None => (*name, true),
        };
        if !meant {
            return Some(());
        }
        match *kind {
            "names" => match self.names_by.get(name) {
                Some(id) => replace(self.names.get_mut(id.0)?, values, spelling)?,
                None => {
                    self.names_by.insert(name, NamesId(self.names.len()));
                    self.names.push(list(values, spelling)?);
                }
            },
            "count" => match self.counts_by.get(name) {
                Some(id) => replace(self.counts.get_mut(id.0)?, values, |v| v.parse().ok())?,
                None => {
                    self.counts_by.insert(name, CountId(self.counts.len()));
                    self.counts.push(list(values, |v| v.parse().ok())?);
                }
            },
            "timing" => {
                let timing = Timing::parse(values)?;
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
        let list = self.names.get(id.0)?;
        list.get(usize::try_from(value).ok()?).copied().flatten()
    }

    /// Whether the list has values that are not an instruction.
    pub(crate) fn has_holes(&self, id: NamesId) -> bool {
        self.names
            .get(id.0)
            .is_none_or(|l| l.iter().any(Option::is_none))
    }

    /// The register count for `value`; the largest of the list when it is too short.
    pub(crate) fn count(&self, id: CountId, value: u64) -> u8 {
        let Some(list) = self.counts.get(id.0) else {
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

fn list<T>(words: &[&'static str], read: impl Fn(&'static str) -> Option<T>) -> Option<Vec<T>> {
    words.iter().map(|word| read(word)).collect()
}

/// `value=word`: single values of a list that an architecture has otherwise.
fn replace<T>(
    list: &mut [T],
    words: &[&'static str],
    read: impl Fn(&'static str) -> Option<T>,
) -> Option<()> {
    for word in words {
        let (value, word) = word.split_once('=')?;
        *list.get_mut(value.parse::<usize>().ok()?)? = read(word)?;
    }
    Some(())
}

/// Lines with comments removed; an indented line continues the one before.
fn logical_lines(text: &'static str) -> Vec<Vec<&'static str>> {
    let mut lines: Vec<Vec<&'static str>> = Vec::new();
    for line in text.lines() {
        if line.trim_ascii().is_empty() || line.starts_with('#') {
            continue;
        }
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => last.push(line),
            _ => lines.push(vec![line]),
        }
    }
    lines
}
