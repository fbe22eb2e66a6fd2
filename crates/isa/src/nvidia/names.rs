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

/// Everything the names file defines.
#[derive(Default, Debug)]
pub(crate) struct Names {
    names: Vec<Vec<Option<&'static str>>>,
    names_by: HashMap<&'static str, NamesId>,
    counts: Vec<Vec<u8>>,
    counts_by: HashMap<&'static str, CountId>,
    timings: HashMap<&'static str, [Option<Timing>; 4]>,
}

impl Names {
    /// Reads the file; the error names the line.
    pub(crate) fn parse(text: &'static str) -> Result<Names, String> {
        let mut out = Names::default();
        for line in logical_lines(text) {
            let words: Vec<&'static str> = line.iter().flat_map(|l| l.split_whitespace()).collect();
            out.entry(&words)
                .ok_or_else(|| format!("names: cannot read `{}`", words.join(" ")))?;
        }
        Ok(out)
    }

    fn entry(&mut self, words: &[&'static str]) -> Option<()> {
        let (kind, rest) = words.split_first()?;
        let (name, values) = rest.split_first()?;
        match *kind {
            "names" => {
                let list = values
                    .iter()
                    .map(|v| match *v {
                        "-" => Some(""),
                        "!" => None,
                        text => Some(text),
                    })
                    .collect();
                self.names_by.insert(name, NamesId(self.names.len()));
                self.names.push(list);
            }
            "count" => {
                let list: Option<Vec<u8>> = values.iter().map(|v| v.parse().ok()).collect();
                self.counts_by.insert(name, CountId(self.counts.len()));
                self.counts.push(list?);
            }
            "timing" => {
                let timing = Timing::parse(values)?;
                let (name, archs) = match name.split_once('@') {
                    Some((name, list)) => (name, Some(list)),
                    None => (*name, None),
                };
                let slots = self.timings.entry(name).or_default();
                for arch in Arch::ALL {
                    let meant = match archs {
                        Some(list) => list.split(',').any(|sm| sm == arch.sm().to_string()),
                        None => true,
                    };
                    if meant {
                        *slots.get_mut(arch.index())? = Some(timing.clone());
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

    /// Number of values a list spells.
    pub(crate) fn len(&self, id: NamesId) -> usize {
        self.names.get(id.0).map_or(0, Vec::len)
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

    /// Number of values a count list covers.
    pub(crate) fn count_len(&self, id: CountId) -> usize {
        self.counts.get(id.0).map_or(0, Vec::len)
    }

    /// The timing classes of that name, by architecture.
    pub(crate) fn timing(&self, name: &str) -> Option<[Option<Timing>; 4]> {
        self.timings.get(name).cloned()
    }
}

/// Lines with comments removed; an indented line continues the one before.
fn logical_lines(text: &'static str) -> Vec<Vec<&'static str>> {
    let mut lines: Vec<Vec<&'static str>> = Vec::new();
    for line in text.lines() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => last.push(line),
            _ => lines.push(vec![line]),
        }
    }
    lines
}
