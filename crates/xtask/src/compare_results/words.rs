//! Renamed words: pairs of a word or phrase in the output of an earlier build and the one that replaces it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;

/// A list of renamed words and phrases.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// By first character; longer ones first, so that a phrase is found before a word in it.
    rules: BTreeMap<char, Vec<Rule>>,
}

#[derive(Debug)]
struct Rule {
    old: String,
    /// The words of the old phrase: any white space may stand between them, as where a line is broken.
    parts: Vec<String>,
    new: String,
}

/// A text with its words renamed.
pub(super) struct Renamed {
    pub(super) text: String,
    /// Replacements made.
    pub(super) count: usize,
}

/// The old words of a list that some text had.
pub(super) type Used = BTreeSet<String>;

impl Words {
    /// Reads lines `old => new`. `name` is the file's, for messages.
    pub(super) fn parse(name: &str, text: &str) -> anyhow::Result<Words> {
        let mut words = Words::default();
        for (index, line) in text.lines().enumerate() {
            let (line, number) = (line.trim(), index + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let sides = line.split_once(" ==> ").or_else(|| line.split_once(" => "));
            let Some((old, new)) = sides else {
                bail!(
                    "{name}: line {number}: {line:?} is no `old => new`; comments begin with `#`"
                );
            };
            let (old, new) = (old.trim(), new.trim());
            let Some(first) = old.chars().next().filter(|_| !new.is_empty()) else {
                bail!("{name}: line {number}: a word is missing beside `=>`; write both");
            };
            let rules = words.rules.entry(first).or_default();
            if rules.iter().any(|rule| rule.old == old) {
                bail!("{name}: line {number}: {old:?} has a line already; leave one of them");
            }
            rules.push(Rule {
                old: old.to_owned(),
                parts: old.split_whitespace().map(str::to_owned).collect(),
                new: new.to_owned(),
            });
        }
        for rules in words.rules.values_mut() {
            rules.sort_by(|a, b| (b.old.len(), &a.old).cmp(&(a.old.len(), &b.old)));
        }
        Ok(words)
    }

    /// Replaces old words by new ones in one pass; replacements are not replaced again.
    pub(super) fn rename(&self, text: &str, used: &mut Used) -> Renamed {
        let mut out = Renamed {
            text: String::with_capacity(text.len()),
            count: 0,
        };
        let (mut at, mut previous) = (0, None);
        while let Some(c) = text[at..].chars().next() {
            let rules = self.rules.get(&c).map_or(&[][..], Vec::as_slice);
            let found = rules
                .iter()
                .find_map(|rule| Some((rule, rule.match_at(&text[at..], previous)?)));
            match found {
                Some((rule, found)) => {
                    used.insert(rule.old.clone());
                    out.text.push_str(&found.filled(&rule.new));
                    out.count += 1;
                    at += found.length;
                    previous = text[..at].chars().next_back();
                }
                None => {
                    out.text.push(c);
                    at += c.len_utf8();
                    previous = Some(c);
                }
            }
        }
        out
    }

    /// The old words that are not among `used`.
    pub(super) fn others(&self, used: &Used) -> Vec<&str> {
        let all = self.rules.values().flatten().map(|rule| rule.old.as_str());
        let mut others: Vec<&str> = all.filter(|old| !used.contains(*old)).collect();
        others.sort_unstable();
        others
    }
}

/// Part of a phrase that stands for any run of characters other than white space, which the new phrase has as well.
const ANY: &str = "{}";

/// Beginning of a text that is an old phrase.
struct Match<'t> {
    length: usize,
    /// Texts in the places of [`ANY`].
    any: Vec<&'t str>,
}

impl Match<'_> {
    /// The new phrase with these texts in it.
    fn filled(&self, new: &str) -> String {
        let mut any = self.any.iter();
        let mut parts = new.split(ANY);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str(any.next().unwrap_or(&ANY));
            out.push_str(part);
        }
        out
    }
}

impl Rule {
    /// Matches the phrase at the beginning of a text if it is whole: no letter, digit or `_` precedes or
    /// follows it. `previous` is the character before the text.
    fn match_at<'t>(&self, text: &'t str, previous: Option<char>) -> Option<Match<'t>> {
        if self.old.starts_with(is_word) && previous.is_some_and(is_word) {
            return None;
        }
        let mut rest = text;
        let mut any = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                let trimmed = rest.trim_start();
                if trimmed.len() == rest.len() {
                    return None;
                }
                rest = trimmed;
            }
            match part.split_once(ANY) {
                None => rest = rest.strip_prefix(part.as_str())?,
                Some((before, after)) => {
                    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                    let (token, others) = rest.split_at(end);
                    any.push(token.strip_prefix(before)?.strip_suffix(after)?);
                    rest = others;
                }
            }
        }
        let cut = self.old.ends_with(is_word) && rest.starts_with(is_word);
        let length = text.len() - rest.len();
        (!cut).then_some(Match { length, any })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(list: &str, text: &str) -> String {
        let words = Words::parse("words", list).unwrap();
        words.rename(text, &mut Used::new()).text
    }

    #[test]
    fn whole_words_only_and_once() {
        let list = "pick => selection\nselection => pick\n--pick => --select\n";
        assert_eq!(
            renamed(list, "pick picks _pick pick."),
            "selection picks _pick selection."
        );
        assert_eq!(renamed(list, "selection, --pick lo"), "pick, --select lo");
    }

    #[test]
    fn phrases_go_over_line_breaks_and_before_their_words() {
        let list = "a => b\nunit busy => busy unit\nunit => part\n";
        assert_eq!(renamed(list, "unit\n      busy, unit"), "busy unit, part");
        assert_eq!(renamed(list, "unitbusy \u{e4}a"), "unitbusy \u{e4}a");
    }

    #[test]
    fn a_placeholder_stands_for_one_word() {
        let list = "data decide {} loops => {} loops depend on data\na => b ==> c => d\n";
        let text = "data decide 12 loops, data decide many more loops, a => b";
        let expected = "12 loops depend on data, data decide many more loops, c => d";
        assert_eq!(renamed(list, text), expected);
    }

    #[test]
    fn lists_are_refused_by_line() {
        for (list, line) in [("# x\na b\n", 2), ("a =>  \n", 1), ("a => b\n\na => c", 3)] {
            let error = Words::parse("words", list).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}")), "{error}");
        }
    }

    #[test]
    fn words_that_nothing_has_are_known() {
        let words = Words::parse("words", "a => b\nc => d").unwrap();
        let mut used = Used::new();
        words.rename("c", &mut used);
        assert_eq!(words.others(&used), ["a"]);
    }
}
