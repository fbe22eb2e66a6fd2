//! Comparison of the outputs of two builds: of all text, with renamed words, and of all numbers, without them.

use std::collections::{BTreeMap, BTreeSet};

use super::json::{Value, documents};
use super::words::{Used, Words};

/// Characters of a line that a difference shows.
const SHOWN: usize = 160;

/// Output of one command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Output {
    /// The exit code; `None` if a signal ended the program.
    pub(super) code: Option<i32>,
    /// Bytes by name: `standard output`, `standard error`, and paths of the files that were written.
    pub(super) parts: BTreeMap<String, Vec<u8>>,
}

/// The result of one comparison.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Compared {
    /// All bytes are the same.
    pub(super) equal: bool,
    /// White space differs in addition to renamed words, or some old words stayed.
    pub(super) layout: bool,
    /// Differences that no renamed word explains.
    pub(super) differences: Vec<String>,
    /// Differences of the sequences of numbers.
    pub(super) number_differences: Vec<String>,
    /// Numbers of the earlier output.
    pub(super) numbers: usize,
    /// Keys of JSON that only the later output has, with the lists that they are in as `[]`.
    pub(super) extra: BTreeMap<String, usize>,
}

/// Compares an earlier output with a later one. Old words that the earlier one contains are added to `used`.
pub(super) fn compare(before: &Output, after: &Output, words: &Words, used: &mut Used) -> Compared {
    let mut compared = Compared {
        equal: before == after,
        ..Compared::default()
    };
    if before.code != after.code {
        let code = |code: Option<i32>| code.map_or("a signal".to_owned(), |code| code.to_string());
        let difference = format!("exit code: {} -> {}", code(before.code), code(after.code));
        compared.differences.push(difference);
    }
    for name in after.parts.keys() {
        if !before.parts.contains_key(name) {
            compared
                .differences
                .push(format!("{name} is written only after"));
        }
    }
    for (name, old) in &before.parts {
        match after.parts.get(name) {
            None => compared
                .differences
                .push(format!("{name} is written only before")),
            Some(new) => compared.part(name, old, new, words, used),
        }
    }
    compared
}

impl Compared {
    /// Compares one stream or file in both ways.
    fn part(&mut self, name: &str, old: &[u8], new: &[u8], words: &Words, used: &mut Used) {
        let texts = (std::str::from_utf8(old), std::str::from_utf8(new));
        let (Ok(old), Ok(new)) = texts else {
            if old != new {
                self.differences
                    .push(format!("{name}: {}", differing_bytes(old, new)));
            }
            return;
        };
        if old == new {
            self.numbers += digits(old).count();
            return;
        }
        // A drawing is as wide as its words: what is left of it is its elements and texts.
        let drawings = (drawing(old), drawing(new));
        let (old, new) = match &drawings {
            (Some(old), Some(new)) => {
                self.layout = true;
                (old.as_str(), new.as_str())
            }
            _ => (old, new),
        };
        let parsed = documents(old).and_then(|old| Some((old, documents(new)?)));
        let extra: usize = self.extra.values().sum();
        let mut difference = match &parsed {
            Some((old_values, new_values)) => {
                let mut check = JsonCheck {
                    words,
                    used,
                    extra: &mut self.extra,
                };
                check.documents(old_values, new_values)
            }
            None => texts_differ(old, new, words, used, &mut self.layout),
        };
        let lines = (old.lines().count(), new.lines().count());
        if difference.is_none()
            && parsed.is_some()
            && lines.0 != lines.1
            && extra == self.extra.values().sum::<usize>()
        {
            difference = Some(format!("the same in {} lines -> {}", lines.0, lines.1));
        }
        if let Some(difference) = difference {
            self.differences.push(format!("{name}: {difference}"));
        }
        let (before, after) = match &parsed {
            Some((old, new)) => numbers_of_documents(old, new),
            None => (digits(old).collect(), digits(new).collect()),
        };
        self.numbers += before.len();
        if let Some(difference) = sequences_differ(&before, &after) {
            self.number_differences
                .push(format!("{name}: {difference}"));
        }
    }
}

/// The names of the elements of an SVG drawing and their texts, a line each, without attributes; `None` if the text
/// is not an SVG drawing.
fn drawing(text: &str) -> Option<String> {
    if !text.starts_with("<svg") {
        return None;
    }
    let mut out = String::new();
    for element in text.split('<').skip(1) {
        let (tag, content) = element.split_once('>')?;
        let name = tag.split(char::is_whitespace).next().unwrap_or_default();
        out.push_str(name.trim_end_matches('/'));
        out.push(' ');
        out.push_str(content.trim());
        out.push('\n');
    }
    Some(out)
}

/// The first difference of two texts after the words of the earlier one are renamed. A block of lines with a renamed
/// word (up to the next blank line) may have other white space: columns are wider, lines broken elsewhere. `layout`
/// becomes true if one has, or if only some of its lines have their words renamed.
fn texts_differ(
    old: &str,
    new: &str,
    words: &Words,
    used: &mut Used,
    layout: &mut bool,
) -> Option<String> {
    let (old_blocks, new_blocks) = (blocks(old), blocks(new));
    for ((old_at, old_lines), (new_at, new_lines)) in old_blocks.iter().zip(&new_blocks) {
        if old_lines == new_lines {
            continue;
        }
        let renamed = words.rename(&old_lines.join("\n"), used);
        let renamed_lines: Vec<&str> = renamed.text.split('\n').collect();
        if renamed_lines == *new_lines {
            continue;
        }
        if renamed.count > 0 && same_tokens(old_lines, &renamed.text, new_lines) {
            *layout = true;
            continue;
        }
        return Some(first_line(
            (old_at + 1, &renamed_lines),
            (new_at + 1, new_lines),
        ));
    }
    let (old_count, new_count) = (old_blocks.len(), new_blocks.len());
    if old_count != new_count {
        return Some(format!(
            "{old_count} blocks of lines -> {new_count}, the first ones are the same"
        ));
    }
    (old.ends_with('\n') != new.ends_with('\n')).then(|| "the last line's end differs".to_owned())
}

/// True if the words of two blocks are the same. Lines that did not change need not have their words renamed.
fn same_tokens(old: &[&str], renamed: &str, new: &[&str]) -> bool {
    let renamed_lines: Vec<&str> = renamed.split('\n').collect();
    if renamed_lines.len() == new.len() && old.len() == new.len() {
        let lines = old.iter().zip(&renamed_lines).zip(new);
        let same = |a: &str, b: &str| a.split_whitespace().eq(b.split_whitespace());
        let mut lines = lines.into_iter();
        if lines.all(|((old, renamed), new)| same(old, new) || same(renamed, new)) {
            return true;
        }
    }
    // Lines may be broken elsewhere.
    let all = new.join("\n");
    renamed.split_whitespace().eq(all.split_whitespace())
}

/// Blocks of lines between blank ones, each with the number of lines before it; blank lines are blocks too.
fn blocks(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut blocks: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        match (open && !line.is_empty(), blocks.last_mut()) {
            (true, Some((_, lines))) => lines.push(line),
            _ => blocks.push((at, vec![line])),
        }
        open = !line.is_empty();
    }
    blocks
}

/// The first lines that differ of two blocks, each given with the number of its first line.
fn first_line(old: (usize, &[&str]), new: (usize, &[&str])) -> String {
    let equal = old.1.iter().zip(new.1).take_while(|(a, b)| a == b).count();
    let show = |(first, lines): (usize, &[&str])| match lines.get(equal) {
        Some(line) => format!("line {}: {}", first + equal, shortened(line)),
        None => "no line".to_owned(),
    };
    format!("{}\n      after {}", show(old), show(new))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn differing_bytes(old: &[u8], new: &[u8]) -> String {
    let equal = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let sizes = format!("{} bytes -> {}", old.len(), new.len());
    format!("byte {equal} is the first that differs; {sizes}")
}

/// Comparison of JSON: each key and value of the earlier document is in the later one.
struct JsonCheck<'a> {
    words: &'a Words,
    used: &'a mut Used,
    extra: &'a mut BTreeMap<String, usize>,
}

impl JsonCheck<'_> {
    /// The first difference, with its place.
    fn documents(&mut self, old: &[Value], new: &[Value]) -> Option<String> {
        if old.len() != new.len() {
            return Some(format!("{} documents -> {}", old.len(), new.len()));
        }
        let single = old.len() == 1;
        old.iter().zip(new).enumerate().find_map(|(index, (a, b))| {
            let place = match single {
                true => String::new(),
                false => format!("line {}: ", index + 1),
            };
            let difference = self.values(a, b, &mut Vec::new())?;
            Some(format!("{place}{difference}"))
        })
    }

    /// The first difference of two values. `path` are the keys and indices that lead to them.
    fn values(&mut self, old: &Value, new: &Value, path: &mut Vec<String>) -> Option<String> {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => self.objects(old, new, path),
            (Value::List(old), Value::List(new)) => {
                for (index, (a, b)) in old.iter().zip(new).enumerate() {
                    path.push(format!("[{index}]"));
                    let difference = self.values(a, b, path);
                    path.pop();
                    if difference.is_some() {
                        return difference;
                    }
                }
                let lengths = format!("{} elements -> {}", old.len(), new.len());
                (old.len() != new.len()).then(|| format!("{}: {lengths}", place(path)))
            }
            (Value::Text(a), Value::Text(b)) if a != b => {
                let renamed = self.words.rename(a, self.used).text;
                (renamed != *b).then(|| {
                    let (a, b) = (shortened(&renamed), shortened(b));
                    format!("{}: {a:?}\n      after {b:?}", place(path))
                })
            }
            _ if old == new => None,
            _ => Some(format!(
                "{}: {}\n      after {}",
                place(path),
                kind(old),
                kind(new)
            )),
        }
    }

    fn objects(
        &mut self,
        old: &[(String, Value)],
        new: &[(String, Value)],
        path: &mut Vec<String>,
    ) -> Option<String> {
        let known: BTreeSet<&str> = old.iter().map(|(key, _)| key.as_str()).collect();
        let mut kept = 0;
        for (key, _) in new {
            if known.contains(key.as_str()) {
                kept += 1;
                continue;
            }
            path.push(key.clone());
            let steps = path.iter().filter(|step| !step.starts_with('['));
            let steps: Vec<&str> = steps.map(String::as_str).collect();
            *self.extra.entry(steps.join(".")).or_default() += 1;
            path.pop();
        }
        for (key, value) in old {
            let Some((_, other)) = new.iter().find(|(other, _)| other == key) else {
                return Some(format!("{}: the key {key:?} is missing after", place(path)));
            };
            path.push(key.clone());
            let difference = self.values(value, other, path);
            path.pop();
            if difference.is_some() {
                return difference;
            }
        }
        let more = kept > old.len();
        more.then(|| format!("{}: a key is there twice", place(path)))
    }
}

fn place(path: &[String]) -> String {
    match path.is_empty() {
        true => "the document".to_owned(),
        false => path.join(".").replace(".[", "["),
    }
}

fn kind(value: &Value) -> String {
    match value {
        Value::Plain(text) => shortened(text),
        Value::Text(text) => format!("{:?}", shortened(text)),
        Value::List(elements) => format!("a list of {}", elements.len()),
        Value::Object(entries) => format!("an object of {} keys", entries.len()),
    }
}

/// The runs of digits of a text.
fn digits(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_ascii_digit());
    parts.filter(|part| !part.is_empty())
}

/// The numbers of two documents, without the numbers of keys that only the later one has.
fn numbers_of_documents<'a>(old: &'a [Value], new: &'a [Value]) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for value in old {
        numbers(value, None, &mut before);
    }
    for (index, value) in new.iter().enumerate() {
        numbers(value, old.get(index), &mut after);
    }
    (before, after)
}

/// The runs of digits in keys and values. The runs of an object are in the order of its keys, as JSON objects have no
/// order. Keys that `like`, the value at the same place of the earlier document, lacks are ignored.
fn numbers<'a>(value: &'a Value, like: Option<&Value>, out: &mut Vec<&'a str>) {
    match value {
        Value::Plain(text) | Value::Text(text) => out.extend(digits(text)),
        Value::List(elements) => {
            let others = like.map(Value::elements);
            for (index, element) in elements.iter().enumerate() {
                numbers(element, others.and_then(|others| others.get(index)), out);
            }
        }
        Value::Object(entries) => {
            let mut entries: Vec<&(String, Value)> = entries.iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            for (key, value) in entries {
                let other = like.and_then(|like| like.get(key));
                if matches!(like, Some(Value::Object(_))) && other.is_none() {
                    continue;
                }
                out.extend(digits(key));
                numbers(value, other, out);
            }
        }
    }
}

/// The first place at which two sequences of numbers differ.
fn sequences_differ(before: &[&str], after: &[&str]) -> Option<String> {
    if before == after {
        return None;
    }
    let equal = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let show = |numbers: &[&str]| {
        let text = numbers.get(equal).copied().unwrap_or("no more numbers");
        shortened(text)
    };
    let (old, new) = (show(before), show(after));
    Some(format!("number {}: {old} -> {new}", equal + 1))
}

#[cfg(test)]
mod tests;
