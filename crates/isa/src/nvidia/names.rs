//! Value lists of `maxwell.names`: spellings, register counts, timing classes. For example, a list with the words `-
//! .RM .RP .RZ` spells the value 2 of a rounding field as `.RP`.

use super::arch::{Arch, Archs};
use super::modifier::{Modifier, Modifiers};
use super::span::{Lines, Span};
use super::timing::Timing;
use std::sync::OnceLock;

static NAMES: &str = include_str!("../../../../isa/nvidia/maxwell.names");

/// Index of a spelling list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NamesId(usize);

/// Index of a register-count list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CountId(usize);

/// Index of a timing class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimingId(usize);

/// Entries sorted by kind and name at compile time. Entries with the same name stay in the order of the file: the
/// first one defines the list, later ones override values for some architectures.
static ENTRIES: [Entry; COUNT] = sorted();
const COUNT: usize = count();

/// One entry: a line and the indented lines that continue it, including comments in between.
#[derive(Clone, Copy)]
struct Entry {
    kind: EntryKind,
    name: Span,
    archs: Archs,
    words: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EntryKind {
    Names,
    Count,
    Timing,
}

impl Entry {
    /// Parses kind, name and architectures from the first line.
    const fn parse(line: Span) -> Option<Entry> {
        let (kind, rest) = line.word(NAMES);
        let (name, words) = rest.word(NAMES);
        let (name, archs) = name.split(NAMES, b'@');
        let archs = if archs.is_blank(NAMES) {
            Some(Archs::ALL)
        } else {
            Archs::parse(NAMES, archs)
        };
        let kind = if kind.equals(NAMES, "names") {
            EntryKind::Names
        } else if kind.equals(NAMES, "count") {
            EntryKind::Count
        } else if kind.equals(NAMES, "timing") {
            EntryKind::Timing
        } else {
            return None;
        };
        match archs {
            Some(archs) if !name.is_blank(NAMES) => Some(Entry {
                kind,
                name,
                archs,
                words,
            }),
            _ => None,
        }
    }

    /// Whether the entry sorts before `other` in [`ENTRIES`].
    const fn is_before(&self, other: &Entry) -> bool {
        let (a, b) = (self.kind as u8, other.kind as u8);
        a < b || a == b && self.name.is_before(other.name, NAMES)
    }

    fn key(&self) -> (EntryKind, &'static str) {
        (self.kind, self.name.text(NAMES))
    }

    /// Words of the entry, without comments.
    fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        let lines = self.words.text(NAMES).lines();
        let lines = lines.filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_ascii_whitespace)
    }
}

const fn count() -> usize {
    let mut lines = Lines::new(NAMES);
    let mut count = 0;
    while let Some(line) = lines.next() {
        count += !line.begins_with(NAMES, b' ') as usize;
    }
    count
}

const fn sorted() -> [Entry; COUNT] {
    let mut entries = [Entry {
        kind: EntryKind::Names,
        name: Span::EMPTY,
        archs: Archs::ALL,
        words: Span::EMPTY,
    }; COUNT];
    let mut lines = Lines::new(NAMES);
    let mut read = 0;
    while let Some(line) = lines.next() {
        if line.begins_with(NAMES, b' ') {
            // Continues the last entry: entries are in file order until they are sorted below. If the first line were
            // indented, the subtraction would fail the build.
            entries[read - 1].words.end = line.end;
            continue;
        }
        let entry = Entry::parse(line);
        assert!(entry.is_some(), "{}", line.text(NAMES));
        if let Some(entry) = entry {
            entries[read] = entry;
        }
        read += 1;
    }
    // Insertion sort: stable, and `const fn` has no `sort_by_key`.
    let mut at = 1;
    while at < COUNT {
        let mut to = at;
        while to > 0 && entries[to].is_before(&entries[to - 1]) {
            entries.swap(to, to - 1);
            to -= 1;
        }
        at += 1;
    }
    entries
}

/// Index of the first entry with a kind and name.
fn find(kind: EntryKind, name: &str) -> Option<usize> {
    // Overrides have the same key as their list and follow it, so this is the list.
    let at = ENTRIES.partition_point(|entry| entry.key() < (kind, name));
    let entry = ENTRIES.get(at)?;
    (entry.key() == (kind, name)).then_some(at)
}

/// Spelling list with a name.
pub(crate) fn names_id(name: &str) -> Option<NamesId> {
    find(EntryKind::Names, name).map(NamesId)
}

/// Register-count list with a name.
pub(crate) fn count_id(name: &str) -> Option<CountId> {
    find(EntryKind::Count, name).map(CountId)
}

/// Timing class with a name.
pub(crate) fn timing_id(name: &str) -> Option<TimingId> {
    find(EntryKind::Timing, name).map(TimingId)
}

/// Lists of the file with the overrides of one architecture. A list is parsed when one of its values is first needed,
/// because a short listing needs few of them.
#[derive(Debug)]
pub(crate) struct Names {
    arch: Arch,
    names: Lists<Option<&'static str>>,
    modifiers: Lists<Modifiers>,
    counts: Lists<u8>,
    timings: [OnceLock<Option<Timing>>; COUNT],
}

/// Values of lists by the index of their first entry; empty if a word cannot be parsed.
type Lists<T> = [OnceLock<Vec<T>>; COUNT];

impl Names {
    pub(crate) const fn new(arch: Arch) -> Names {
        Names {
            arch,
            names: [const { OnceLock::new() }; COUNT],
            modifiers: [const { OnceLock::new() }; COUNT],
            counts: [const { OnceLock::new() }; COUNT],
            timings: [const { OnceLock::new() }; COUNT],
        }
    }

    /// Parses all lists; the error names the first that cannot be parsed.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (at, entry) in ENTRIES.iter().enumerate() {
            let (kind, name) = entry.key();
            // Later entries of a list are overrides, which are read with the first one.
            if find(kind, name) != Some(at) {
                continue;
            }
            let reads = match kind {
                EntryKind::Names => self.list(at, parse_spelling).is_some(),
                EntryKind::Count => self.list(at, parse_count).is_some(),
                EntryKind::Timing => self.timing(TimingId(at)).is_some(),
            };
            if !reads {
                return Err(format!("names: cannot read `{name}`"));
            }
        }
        Ok(())
    }

    /// Number of lists parsed so far.
    #[cfg(test)]
    pub(crate) fn lists_read(&self) -> usize {
        let names = self.names.iter().filter(|list| list.get().is_some());
        let counts = self.counts.iter().filter(|list| list.get().is_some());
        names.count() + counts.count()
    }

    /// Entries of the list whose first entry is `at` that apply to the architecture.
    fn entries(&self, at: usize) -> impl Iterator<Item = &'static Entry> {
        let key = ENTRIES.get(at).map(Entry::key);
        // Entries of one list are neighbours, because they are sorted by name.
        let all = ENTRIES.iter().skip(at);
        all.take_while(move |entry| Some(entry.key()) == key)
            .filter(|entry| entry.archs.has(self.arch))
    }

    /// Values of a list: the words of its first entry, with the overrides `value=word` of later entries.
    fn list<T>(&self, at: usize, read: fn(&'static str) -> Option<T>) -> Option<Vec<T>> {
        let mut entries = self.entries(at);
        let mut values = entries
            .next()?
            .words()
            .map(read)
            .collect::<Option<Vec<T>>>()?;
        for word in entries.flat_map(Entry::words) {
            let (value, word) = word.split_once('=')?;
            // An override of a value that the list does not have is a fault in the file.
            *values.get_mut(value.parse::<usize>().ok()?)? = read(word)?;
        }
        Some(values)
    }

    fn names(&self, id: NamesId) -> Option<&[Option<&'static str>]> {
        let read = || self.list(id.0, parse_spelling).unwrap_or_default();
        Some(self.names.get(id.0)?.get_or_init(read))
    }

    /// Spelling of `value`; `None` if the value is not an instruction.
    pub(crate) fn text(&self, id: NamesId, value: u64) -> Option<&'static str> {
        let list = self.names(id)?;
        list.get(usize::try_from(value).ok()?).copied().flatten()
    }

    /// Modifiers that `value` stands for.
    pub(crate) fn modifiers(&self, id: NamesId, value: u64) -> &[Modifier] {
        let read = || {
            self.list(id.0, |word| Some(parse_modifiers(word)))
                .unwrap_or_default()
        };
        let list = self.modifiers.get(id.0).map(|list| list.get_or_init(read));
        let value = usize::try_from(value).ok();
        let found = list.and_then(|list| list.get(value?));
        found.map_or(&[], Modifiers::as_slice)
    }

    /// Whether the list has values that are not an instruction.
    pub(crate) fn has_invalid_values(&self, id: NamesId) -> bool {
        self.names(id)
            .is_none_or(|list| list.iter().any(Option::is_none))
    }

    /// Register count for `value`. A value outside the list gives the largest count, so that reads and writes never
    /// name too few registers.
    pub(crate) fn count(&self, id: CountId, value: u64) -> u8 {
        let read = || self.list(id.0, parse_count).unwrap_or_default();
        let Some(list) = self.counts.get(id.0).map(|list| list.get_or_init(read)) else {
            // The largest register group has 128 bits.
            return 4;
        };
        usize::try_from(value)
            .ok()
            .and_then(|v| list.get(v).copied())
            .unwrap_or_else(|| list.iter().copied().max().unwrap_or(4))
    }

    /// Timing class on this architecture.
    pub(crate) fn timing(&self, id: TimingId) -> Option<&Timing> {
        // The last entry that applies overrides those before it.
        let read = || Timing::parse(&self.entries(id.0).last()?.words().collect::<Vec<_>>());
        self.timings.get(id.0)?.get_or_init(read).as_ref()
    }
}

/// Parses a spelling: `-` is empty text, `!` (`None`) is not an instruction.
fn parse_spelling(word: &'static str) -> Option<Option<&'static str>> {
    Some(match word {
        "-" => Some(""),
        "!" => None,
        text => Some(text),
    })
}

/// Parses the modifiers of a spelling.
fn parse_modifiers(word: &'static str) -> Modifiers {
    let text = parse_spelling(word).flatten().unwrap_or_default();
    let mut modifiers = Modifiers::new();
    Modifier::push_all(text, &mut modifiers);
    modifiers
}

/// Parses a number of registers.
fn parse_count(word: &'static str) -> Option<u8> {
    word.parse().ok()
}
