//! Value lists of a table's `.names` file: spellings, register counts, timing classes. For example, a list with the
//! words `- .RM .RP .RZ` spells the value 2 of a rounding field as `.RP`.

use super::dialect::Dialect;
use super::line::Spelling;
use super::list_entry::{Entry, EntryKind};
use super::modifier::{Modifier, Modifiers};
use super::timing::Timing;
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

/// Lists of a file, whose first words the build script parses.
#[derive(Debug)]
pub(crate) struct ListFile {
    text: &'static str,
    /// Entries sorted by kind and name. Entries with the same name stay in the order of the file: the first one
    /// defines the list, later ones override values for some architectures.
    entries: &'static [Entry],
}

impl ListFile {
    /// Lists from the text of a file and its entries, as `read_entries` returns them.
    pub(crate) const fn new(text: &'static str, entries: &'static [Entry]) -> ListFile {
        ListFile { text, entries }
    }

    fn key(&self, entry: &Entry) -> (EntryKind, &'static str) {
        (entry.kind, entry.name.text(self.text))
    }

    /// Words of an entry, without comments.
    fn words(&self, entry: &Entry) -> impl Iterator<Item = &'static str> + use<> {
        let lines = entry.words.text(self.text).lines();
        let lines = lines.filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_ascii_whitespace)
    }

    /// Index of the first entry with a kind and name.
    fn find(&self, kind: EntryKind, name: &str) -> Option<usize> {
        // Overrides have the same key as their list and follow it, so this is the list.
        let at = self
            .entries
            .partition_point(|entry| self.key(entry) < (kind, name));
        let entry = self.entries.get(at)?;
        (self.key(entry) == (kind, name)).then_some(at)
    }

    /// Spelling list with a name.
    pub(crate) fn names_id(&self, name: &str) -> Option<NamesId> {
        self.find(EntryKind::Names, name).map(NamesId)
    }

    /// Register-count list with a name.
    pub(crate) fn count_id(&self, name: &str) -> Option<CountId> {
        self.find(EntryKind::Count, name).map(CountId)
    }

    /// Timing class with a name.
    pub(crate) fn timing_id(&self, name: &str) -> Option<TimingId> {
        self.find(EntryKind::Timing, name).map(TimingId)
    }
}

/// Values of one list on one architecture, parsed when one of them is first needed, because a short listing needs few
/// lists. Empty if a word cannot be parsed.
///
/// Apart from the table until then: there are lists by the thousand for each architecture, and every page of a table that
/// is written to takes longer than parsing a list.
#[derive(Debug)]
pub(crate) struct ListValues(OnceLock<Box<ParsedValues>>);

/// Values of a list as texts, modifiers, counts or a timing class.
#[derive(Debug, Default)]
struct ParsedValues {
    names: OnceLock<Vec<Option<Spelling>>>,
    modifiers: OnceLock<Vec<Modifiers>>,
    counts: OnceLock<Vec<u8>>,
    timing: OnceLock<Option<Timing>>,
}

impl ListValues {
    /// Values that are not parsed yet.
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "it fills statics and is never read"
    )]
    pub(crate) const EMPTY: ListValues = ListValues(OnceLock::new());
}

/// Lists of the file with the overrides of one architecture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    /// Index of the architecture in its table.
    arch: usize,
    lists: &'static ListFile,
    /// Values by the index of the list's first entry.
    values: &'static [ListValues],
}

impl Names {
    /// Number of the architecture: 90 for sm_90.
    pub(crate) fn sm(&self, dialect: &Dialect) -> u32 {
        dialect.archs.get(self.arch).copied().unwrap_or_default()
    }

    pub(crate) const fn new(
        arch: usize,
        lists: &'static ListFile,
        values: &'static [ListValues],
    ) -> Names {
        Names {
            arch,
            lists,
            values,
        }
    }

    /// Parses all lists; the error names the first that cannot be parsed.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (at, entry) in self.lists.entries.iter().enumerate() {
            let (kind, name) = self.lists.key(entry);
            // Later entries of a list are overrides, which are read with the first one.
            if self.lists.find(kind, name) != Some(at) {
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
        let lists = self.values.iter().filter_map(|list| list.0.get());
        let read = lists.filter(|list| list.names.get().is_some() || list.counts.get().is_some());
        read.count()
    }

    /// Entries of the list whose first entry is `at` that apply to the architecture.
    fn entries(&self, at: usize) -> impl Iterator<Item = &'static Entry> {
        let lists = self.lists;
        let key = lists.entries.get(at).map(|entry| lists.key(entry));
        // Entries of one list are neighbours, because they are sorted by name.
        let all = lists.entries.iter().skip(at);
        all.take_while(move |entry| Some(lists.key(entry)) == key)
            .filter(|entry| entry.archs.has(self.arch))
    }

    /// Values of a list: the words of its first entry, with the overrides `value=word` of later entries.
    fn list<T>(&self, at: usize, read: fn(&'static str) -> Option<T>) -> Option<Vec<T>> {
        let mut entries = self.entries(at);
        let mut values = self
            .lists
            .words(entries.next()?)
            .map(read)
            .collect::<Option<Vec<T>>>()?;
        for word in entries.flat_map(|entry| self.lists.words(entry)) {
            let (value, word) = word.split_once('=')?;
            // An override of a value that the list does not have is a fault in the file.
            *values.get_mut(value.parse::<usize>().ok()?)? = read(word)?;
        }
        Some(values)
    }

    fn values(&self, at: usize) -> Option<&ParsedValues> {
        Some(self.values.get(at)?.0.get_or_init(Box::default))
    }

    fn names(&self, id: NamesId) -> Option<&[Option<Spelling>]> {
        let read = || self.list(id.0, parse_spelling).unwrap_or_default();
        Some(self.values(id.0)?.names.get_or_init(read))
    }

    /// Spelling of `value`; `None` if the value is not an instruction.
    pub(crate) fn text(&self, id: NamesId, value: u64) -> Option<&'static str> {
        self.spelling(id, value).map(|spelling| spelling.text)
    }

    /// As [`Names::text`], prepared for printing.
    pub(crate) fn spelling(&self, id: NamesId, value: u64) -> Option<&Spelling> {
        let list = self.names(id)?;
        list.get(usize::try_from(value).ok()?)?.as_ref()
    }

    /// Modifiers that `value` stands for.
    pub(crate) fn modifiers(&self, id: NamesId, value: u64) -> &[Modifier] {
        let read = || {
            self.list(id.0, |word| Some(parse_modifiers(word)))
                .unwrap_or_default()
        };
        let list = self.values(id.0);
        let list = list.map(|list| list.modifiers.get_or_init(read));
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
        let values = self.values(id.0);
        let Some(list) = values.map(|list| list.counts.get_or_init(read)) else {
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
        let read = || {
            let entry = self.entries(id.0).last()?;
            let (_, name) = self.lists.key(entry);
            Timing::parse(name, &self.lists.words(entry).collect::<Vec<_>>())
        };
        self.values(id.0)?.timing.get_or_init(read).as_ref()
    }
}

/// Parses a spelling: `-` is empty text, `!` (`None`) is not an instruction.
fn parse_spelling(word: &'static str) -> Option<Option<Spelling>> {
    Some(match word {
        "-" => Some(Spelling::new("")),
        "!" => None,
        text => Some(Spelling::new(text)),
    })
}

/// Parses the modifiers of a spelling.
fn parse_modifiers(word: &'static str) -> Modifiers {
    let mut modifiers = Modifiers::new();
    if let Some(spelling) = parse_spelling(word).flatten() {
        Modifier::push_all(spelling.text, &mut modifiers);
    }
    modifiers
}

/// Parses a number of registers.
fn parse_count(word: &'static str) -> Option<u8> {
    word.parse().ok()
}
