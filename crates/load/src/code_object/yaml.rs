//! Subset of YAML that code objects of version 2 use for metadata: maps and lists by indentation, lists and maps in
//! brackets, plain and quoted text. Anything else is refused, such as anchors (`&x`) and block text (`|`). For
//! example, `Args:` followed by `  - Size: 8` is a map with a list of one map.

use rmpv::Value;
use warpbound_base::Diagnostic;

use crate::elf::fault;

/// Maximum depth of nested lists and maps; compilers write five levels. The limit bounds the recursion of the reader.
const MAX_DEPTH: usize = 32;

/// A line without its indentation.
struct Line<'a> {
    /// Number of columns before the text.
    indent: usize,
    text: &'a str,
    /// Offset of the line in the file.
    offset: u64,
}

/// Reads a document; `offset` is its place in the file.
pub(super) fn parse(bytes: &[u8], offset: u64) -> Result<Value, Diagnostic> {
    let text =
        std::str::from_utf8(bytes.strip_suffix(b"\0").unwrap_or(bytes)).map_err(|error| {
            let at = offset + error.valid_up_to() as u64;
            fault(at, "the metadata is no UTF-8 text")
        })?;
    let mut lines = Vec::new();
    let mut at = offset;
    for line in text.split_inclusive('\n') {
        let body = line.trim_start_matches(' ');
        let trimmed = body.trim_end();
        let indent = line.len() - body.len();
        if trimmed == "..." {
            break;
        }
        if !(trimmed.is_empty() || trimmed == "---" || trimmed.starts_with('#')) {
            lines.push(Line {
                indent,
                text: trimmed,
                offset: at,
            });
        }
        at += line.len() as u64;
    }
    let mut reader = Reader { lines, next: 0 };
    let value = reader.block(0, 0)?;
    match reader.lines.get(reader.next) {
        None => Ok(value),
        Some(line) => Err(fault(
            line.offset,
            "the metadata has a line that belongs to nothing",
        )),
    }
}

/// Reader of lines.
struct Reader<'a> {
    lines: Vec<Line<'a>>,
    next: usize,
}

impl<'a> Reader<'a> {
    /// Reads the map or list that begins at the next line, which is indented by at least `indent` columns. Nil if
    /// there is none.
    fn block(&mut self, indent: usize, depth: usize) -> Result<Value, Diagnostic> {
        let Some(first) = self.lines.get(self.next) else {
            return Ok(Value::Nil);
        };
        if first.indent < indent {
            return Ok(Value::Nil);
        }
        // Each level is a call, so the depth must not depend on the file.
        if depth > MAX_DEPTH {
            return Err(fault(first.offset, "the metadata has too many levels"));
        }
        let column = first.indent;
        match is_item(first.text) {
            true => self.list(column, depth),
            false => self.map(column, depth),
        }
    }

    /// Reads the items of a list whose dashes are in a column.
    fn list(&mut self, column: usize, depth: usize) -> Result<Value, Diagnostic> {
        let mut items = Vec::new();
        while let Some(line) = self.lines.get_mut(self.next) {
            if line.indent != column || !is_item(line.text) {
                break;
            }
            let rest = line.text.get(1..).unwrap_or_default();
            let text = rest.trim_start_matches(' ');
            // The rest of the line is the first line of the item, in its own column.
            let inner = column + 1 + (rest.len() - text.len());
            if text.is_empty() {
                self.next += 1;
                items.push(self.block(column + 1, depth + 1)?);
            } else if is_item(text) || split_key(text).is_some() {
                // The line is read again as a line of the inner block, which needs no second parser for the text
                // after a dash.
                line.indent = inner;
                line.text = text;
                items.push(self.block(inner, depth + 1)?);
            } else {
                let item = inline(text, line.offset)?;
                self.next += 1;
                items.push(item);
            }
        }
        Ok(Value::Array(items))
    }

    /// Reads the entries of a map whose keys are in a column.
    fn map(&mut self, column: usize, depth: usize) -> Result<Value, Diagnostic> {
        let mut entries = Vec::new();
        while let Some(line) = self.lines.get(self.next) {
            if line.indent != column || is_item(line.text) {
                break;
            }
            let (key, text) = split_key(line.text)
                .ok_or_else(|| fault(line.offset, "the metadata has a line without a key"))?;
            let offset = line.offset;
            self.next += 1;
            let value = match text {
                "" => {
                    // A list may have its dashes in the column of the key.
                    let next = self.lines.get(self.next);
                    let is_list =
                        next.is_some_and(|next| next.indent == column && is_item(next.text));
                    let least = if is_list { column } else { column + 1 };
                    self.block(least, depth + 1)?
                }
                text => inline(text, offset)?,
            };
            entries.push((Value::from(key), value));
        }
        match entries.is_empty() {
            false => Ok(Value::Map(entries)),
            true => {
                let at = self.lines.get(self.next).map_or(0, |line| line.offset);
                Err(fault(at, "the metadata has a line that is no key"))
            }
        }
    }
}

/// Whether a line is an item of a list.
fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

/// Splits a line at its key; quoted keys are not supported.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let end = text.find(|c| !is_key(c))?;
    let (key, rest) = text.split_at(end);
    let value = rest.strip_prefix(':')?;
    let is_whole = value.is_empty() || value.starts_with(' ');
    (is_whole && !key.is_empty()).then_some((key, value.trim()))
}

/// Reads a value that is on one line.
fn inline(text: &str, offset: u64) -> Result<Value, Diagnostic> {
    let mut rest = text;
    let value = flow(&mut rest, 0).ok_or_else(|| {
        fault(
            offset,
            "the metadata has a value that is neither text nor a list or map in brackets",
        )
    })?;
    match rest.trim().is_empty() {
        true => Ok(value),
        false => Err(fault(offset, "the metadata has text after a value")),
    }
}

/// Reads a value. It extends to the end of the text or, in brackets, to the next comma or bracket.
fn flow(rest: &mut &str, depth: usize) -> Option<Value> {
    *rest = rest.trim_start();
    if depth > MAX_DEPTH {
        return None;
    }
    match rest.chars().next()? {
        '[' => {
            let mut items = Vec::new();
            flow_items(rest, ']', |rest| {
                items.push(flow(rest, depth + 1)?);
                Some(())
            })?;
            Some(Value::Array(items))
        }
        '{' => {
            let mut entries = Vec::new();
            flow_items(rest, '}', |rest| {
                let (key, value) = rest.split_once(':')?;
                *rest = value;
                entries.push((Value::from(key.trim()), flow(rest, depth + 1)?));
                Some(())
            })?;
            Some(Value::Map(entries))
        }
        '\'' => quoted(rest, '\''),
        '"' => quoted(rest, '"'),
        // Indicators of YAML whose meaning this reader does not implement: as plain text they would be misread.
        '&' | '*' | '!' | '|' | '>' | '%' | '@' | '`' => None,
        _ => {
            let end = match depth {
                // Outside brackets a comma is ordinary text.
                0 => rest.len(),
                _ => rest.find([',', ']', '}']).unwrap_or(rest.len()),
            };
            let (text, tail) = rest.split_at(end);
            *rest = tail;
            Some(plain(text.trim()))
        }
    }
}

/// Reads values up to a closing bracket, with commas between them.
fn flow_items(
    rest: &mut &str,
    close: char,
    mut item: impl FnMut(&mut &str) -> Option<()>,
) -> Option<()> {
    *rest = rest.get(1..)?.trim_start();
    loop {
        if let Some(tail) = rest.strip_prefix(close) {
            *rest = tail;
            return Some(());
        }
        item(rest)?;
        *rest = rest.trim_start();
        match rest.strip_prefix(',') {
            Some(tail) => *rest = tail.trim_start(),
            None if rest.starts_with(close) => {}
            None => return None,
        }
    }
}

/// Reads text in quotes. A quote inside is doubled in single quotes, and follows a backslash in double quotes.
fn quoted(rest: &mut &str, quote: char) -> Option<Value> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quote == '"' => text.push(chars.next()?.1),
            c if c == quote => match chars.peek() {
                Some((_, next)) if quote == '\'' && *next == quote => {
                    chars.next();
                    text.push(quote);
                }
                _ => {
                    *rest = rest.get(at + 1..).unwrap_or_default();
                    return Some(Value::from(text));
                }
            },
            c => text.push(c),
        }
    }
    None
}

/// A value without quotes: a number, a truth value, or text.
fn plain(text: &str) -> Value {
    match text {
        "true" => Value::from(true),
        "false" => Value::from(false),
        "" | "~" | "null" => Value::Nil,
        // A negative number stays text, and is refused where a size is expected.
        _ => match text.parse::<u64>() {
            Ok(number) => Value::from(number),
            Err(_) => Value::from(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn read(text: &str) -> Result<String, String> {
        let parsed = parse(text.as_bytes(), 0x100);
        parsed.map(|v| v.to_string()).map_err(|d| d.to_string())
    }

    #[test]
    fn maps_lists_and_text() {
        let text = "---\nVersion: [ 1, 0 ]\nKernels:\n  - Name:  add\n    Args:\n      - Size: 8\n        TypeName: 'it''s'\n      - Size: 4\n    Attrs: {}\n  - Name: \"a\\\"b\"\n...\n";
        assert_eq!(
            read(text).as_deref(),
            Ok(
                r#"{"Version": [1, 0], "Kernels": [{"Name": "add", "Args": [{"Size": 8, "TypeName": "it's"}, {"Size": 4}], "Attrs": {}}, {"Name": "a\"b"}]}"#
            )
        );
        // The dashes of a list in the column of its key, lists of lists, maps in brackets.
        let text = "A:\n- - 1\n  - 2\n- { B: 3, C: [ x ] }\nD:\n  E: true\n";
        assert_eq!(
            read(text).as_deref(),
            Ok(r#"{"A": [[1, 2], {"B": 3, "C": ["x"]}], "D": {"E": true}}"#)
        );
        assert_eq!(read("").as_deref(), Ok("nil"));
    }

    #[test]
    fn other_yaml_is_refused_with_its_place() {
        for (text, at) in [
            ("A: &x 1\n", "0x100"),
            ("A: 1\nB: *x\n", "0x105"),
            ("A: |\n  text\n", "0x100"),
            ("A: [ 1, 2\n", "0x100"),
            ("A: 'open\n", "0x100"),
            ("A: 1\n  B: 2\n", "0x105"),
            ("no key\n", "0x100"),
            ("A: [ 1 ] x\n", "0x100"),
        ] {
            let error = read(text).expect_err(text);
            assert!(
                error.contains(&format!("offset {at}: ")),
                "{text:?}: {error}"
            );
        }
        let deep = format!("A: {}", "[".repeat(100_000));
        assert!(read(&deep).is_err());
        let deep: String = (0..1000)
            .map(|n| format!("{}a:\n", " ".repeat(n)))
            .collect();
        assert!(read(&deep).is_err_and(|error| error.contains("too many levels")));
    }
}
