//! Entries of a table's `.names` file. For example, `names round - .RM .RP .RZ` is an entry of kind `names` with the
//! name `round` and four words.

use crate::encoding::ArchSet;
use crate::encoding::span::{Lines, Span};

/// One entry: a line and the indented lines that continue it, including comments in between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: EntryKind,
    pub(crate) name: Span,
    pub(crate) archs: ArchSet,
    pub(crate) words: Span,
}

/// Kind of a list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum EntryKind {
    Names,
    Count,
    Timing,
}

impl Entry {
    /// Parses kind, name and architectures of an entry from the first line. `archs` has the numbers of all architectures.
    fn parse(text: &str, line: Span, archs: &[u32]) -> Option<Entry> {
        let (kind, rest) = line.word(text);
        let (name, words) = rest.word(text);
        let (name, set) = name.split(text, b'@');
        let archs = if set.is_blank(text) {
            Some(ArchSet::first(archs.len()))
        } else {
            ArchSet::parse(text, set, archs)
        };
        let kind = if kind.equals(text, "names") {
            EntryKind::Names
        } else if kind.equals(text, "count") {
            EntryKind::Count
        } else if kind.equals(text, "timing") {
            EntryKind::Timing
        } else {
            return None;
        };
        match archs {
            Some(archs) if !name.is_blank(text) => Some(Entry {
                kind,
                name,
                archs,
                words,
            }),
            _ => None,
        }
    }
}

/// Entries of the text of a file, sorted. The error names the line that cannot be read.
pub(crate) fn read_entries(text: &'static str, archs: &[u32]) -> Result<Vec<Entry>, String> {
    let mut lines = Lines::new(text);
    let mut entries: Vec<Entry> = Vec::new();
    while let Some(line) = lines.next() {
        match entries.last_mut() {
            Some(last) if line.begins_with(text, b' ') => last.words.end = line.end,
            _ => entries.push(
                Entry::parse(text, line, archs)
                    .ok_or_else(|| format!("cannot read the list `{}`", line.text(text)))?,
            ),
        }
    }
    // Stable, so that overrides stay after the list that they change.
    entries.sort_by_key(|entry| (entry.kind, entry.name.text(text)));
    Ok(entries)
}
