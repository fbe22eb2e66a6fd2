//! Lists of names: the lists of the table's file, and new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::spell::List;

/// Columns of a line of the file.
const COLUMNS: usize = 118;

/// Lists of a `.names` file as an architecture has them.
pub(super) struct KnownLists {
    /// Words of each list by architecture number.
    lists: BTreeMap<String, BTreeMap<u32, List>>,
    /// Names in the order of the file, as earlier ones are more general.
    order: Vec<String>,
}

/// Lists for rows of several chips, with their names.
pub(super) struct NamedLists<'k> {
    known: &'k KnownLists,
    /// New lists: the name, and the texts on each chip.
    new: Vec<(String, BTreeMap<u32, List>)>,
}

impl KnownLists {
    /// Reads the lists of a file for some architectures.
    pub(super) fn read(text: &str, archs: &[u32]) -> KnownLists {
        let mut known = KnownLists {
            lists: BTreeMap::new(),
            order: Vec::new(),
        };
        for entry in entries(text) {
            let mut words = entry.split_ascii_whitespace().skip(1);
            let (name, of) = match words
                .next()
                .map(|name| name.split_once('@').unwrap_or((name, "")))
            {
                Some(name) => name,
                None => continue,
            };
            let words: Vec<&str> = words.collect();
            let lists = known.lists.entry(name.to_owned()).or_insert_with(|| {
                known.order.push(name.to_owned());
                let list: List = words.iter().map(|word| spelling(word)).collect();
                archs.iter().map(|arch| (*arch, list.clone())).collect()
            });
            let changed = lists.iter_mut().filter(|(arch, _)| names_arch(of, **arch));
            for list in changed.map(|(_, list)| list) {
                change(list, &words);
            }
        }
        known
    }

    /// The first list that has exactly these texts on all these architectures.
    fn find(&self, wanted: &BTreeMap<u32, List>) -> Option<&str> {
        let same = |name: &&String| {
            let lists = self.lists.get(*name);
            lists.is_some_and(|lists| {
                wanted
                    .iter()
                    .all(|(arch, list)| lists.get(arch) == Some(list))
            })
        };
        self.order.iter().find(same).map(String::as_str)
    }
}

impl<'k> NamedLists<'k> {
    /// No new lists yet.
    pub(super) fn new(known: &'k KnownLists) -> NamedLists<'k> {
        NamedLists {
            known,
            new: Vec::new(),
        }
    }

    /// Name of a list that has these texts on these chips: one of the file, or a new one named after the mnemonic and
    /// its first text.
    pub(super) fn name(&mut self, mnemonic: &str, wanted: &BTreeMap<u32, List>) -> String {
        if let Some(name) = self.known.find(wanted) {
            return name.to_owned();
        }
        for (name, lists) in &mut self.new {
            let agrees = wanted
                .iter()
                .all(|(arch, list)| lists.get(arch).is_none_or(|own| own == list));
            let shares = wanted
                .values()
                .any(|list| lists.values().any(|own| own == list));
            if agrees && shares {
                lists.extend(wanted.iter().map(|(arch, list)| (*arch, list.clone())));
                return name.clone();
            }
        }
        let texts = wanted.values().flatten().flatten();
        let mut texts = texts.filter(|text| !text.is_empty() && !text.contains("INVALID"));
        let first: String = texts
            .next()
            .map(String::as_str)
            .unwrap_or_default()
            .to_lowercase();
        let first: String = first
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(14)
            .collect();
        let stem = format!("{}.{first}", mnemonic.to_lowercase().trim_matches('_'));
        let stem = stem.trim_end_matches('.').to_owned();
        let taken = |name: &String| {
            self.known.lists.contains_key(name) || self.new.iter().any(|(new, _)| new == name)
        };
        let numbered = (2..).map(|number| format!("{stem}{number}"));
        let mut names = std::iter::once(stem.clone()).chain(numbered);
        let name = names.find(|name| !taken(name)).unwrap_or(stem);
        self.new.push((name.clone(), wanted.clone()));
        name
    }

    /// Lines of the new lists. The most frequent texts are the list; texts of other chips are changes of it.
    pub(super) fn lines(&self) -> String {
        let mut out = String::new();
        for (name, lists) in &self.new {
            let mut counts: BTreeMap<&List, usize> = BTreeMap::new();
            for list in lists.values() {
                *counts.entry(list).or_default() += 1;
            }
            let Some((common, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else {
                continue;
            };
            out.push_str(&line(name, common));
            let others: BTreeSet<&List> = lists.values().filter(|list| *list != common).collect();
            for other in others {
                let chips = lists.iter().filter(|(_, list)| *list == other);
                let chips: Vec<String> = chips.map(|(chip, _)| chip.to_string()).collect();
                let pairs = (0..).zip(other.iter().zip(common));
                let changed = pairs.filter(|(_, (own, common))| own != common);
                let changed =
                    changed.map(|(value, (own, _)): (usize, _)| format!("{value}={}", word(own)));
                let head = format!("names {name}@{}", chips.join(","));
                out.push_str(&wrapped(head, changed));
            }
        }
        out
    }
}

/// Line of a list in a `.names` file.
pub(super) fn line(name: &str, list: &List) -> String {
    wrapped(format!("names {name}"), list.iter().map(word))
}

fn wrapped(head: String, words: impl Iterator<Item = String>) -> String {
    let (mut out, mut line) = (String::new(), head);
    for word in words {
        if line.len() + word.len() > COLUMNS {
            let _ = writeln!(out, "{line}");
            line = "   ".to_owned();
        }
        let _ = write!(line, " {word}");
    }
    let _ = writeln!(out, "{line}");
    out
}

fn word(text: &Option<String>) -> String {
    match text.as_deref() {
        None => "!".to_owned(),
        Some("") => "-".to_owned(),
        Some(text) => text.to_owned(),
    }
}

fn spelling(word: &str) -> Option<String> {
    match word {
        "!" => None,
        "-" => Some(String::new()),
        text => Some(text.to_owned()),
    }
}

/// Applies the words `value=text` of an entry for some chips.
fn change(list: &mut List, words: &[&str]) {
    for (value, text) in words.iter().filter_map(|word| word.split_once('=')) {
        let place = value.parse().ok().and_then(|at: usize| list.get_mut(at));
        if let Some(place) = place {
            *place = spelling(text);
        }
    }
}

/// Entries `names …` of a file, with their continuations.
fn entries(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match (line.starts_with(' '), entries.last_mut()) {
            (true, Some(entry)) => entry.push_str(line),
            _ => entries.push(line.to_owned()),
        }
    }
    entries.retain(|entry| entry.starts_with("names "));
    entries
}

/// Whether a column of architectures, which may be `90+` or a list, names one.
fn names_arch(column: &str, arch: u32) -> bool {
    match column.strip_suffix('+') {
        Some(first) => first.parse().is_ok_and(|first: u32| arch >= first),
        None => column.split(',').any(|one| one.parse() == Ok(arch)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{KnownLists, NamedLists};

    #[test]
    fn lists_are_found_and_named() {
        let known = KnownLists::read(
            "names rnd - .RM .RP\n    .RZ\nnames rnd@90+ 3=!\n",
            &[80, 90],
        );
        let list = |last: Option<&str>| {
            let texts = [Some(""), Some(".RM"), Some(".RP"), last];
            texts.map(|text| text.map(str::to_owned)).to_vec()
        };
        let mut named = NamedLists::new(&known);
        let wanted = BTreeMap::from([(80, list(Some(".RZ"))), (90, list(None))]);
        assert_eq!(named.name("FADD", &wanted), "rnd");
        let wanted = BTreeMap::from([(80, list(Some(".RZ"))), (90, list(Some(".RZ")))]);
        assert_eq!(named.name("FADD", &wanted), "fadd.rm");
        assert_eq!(named.lines(), "names fadd.rm - .RM .RP .RZ\n");
    }
}
