//! JSON with its keys in order and its numbers as they are written, which no reader loses or rounds:
//! bounds have up to 128 bits.

/// Depth of lists and objects in each other from which on a text is taken for no JSON.
const DEEPEST: usize = 200;

/// A part of a JSON document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A number, `true`, `false` or `null`, as written.
    Plain(String),
    /// A string without its quotation marks, escapes resolved.
    Text(String),
    List(Vec<Value>),
    /// Keys in the order of the document.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value of a key of an object.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The elements of a list; none of anything else.
    pub(super) fn elements(&self) -> &[Value] {
        match self {
            Value::List(elements) => elements,
            _ => &[],
        }
    }
}

/// A document, or the documents of a file with one on each line; nothing where the text is neither.
pub(super) fn documents(text: &str) -> Option<Vec<Value>> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    if let Some(value) = document(text) {
        return Some(vec![value]);
    }
    text.lines().map(document).collect()
}

/// The value that the whole text is.
fn document(text: &str) -> Option<Value> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        text,
        at: 0,
    };
    let value = reader.value(0)?;
    reader.blanks();
    (reader.at == text.len()).then_some(value)
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Passes `byte` if it comes next, after blanks.
    fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        if self.takes(b'{') {
            return self.object(depth);
        }
        if self.takes(b'[') {
            return self.list(depth);
        }
        if self.takes(b'"') {
            return self.string().map(Value::Text);
        }
        let rest = self.text.get(self.at..)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let length = rest.find(|c| !plain(c)).unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| Value::Plain(rest[..length].to_owned()))
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut entries = Vec::new();
        if self.takes(b'}') {
            return Some(Value::Object(entries));
        }
        loop {
            let key = self.takes(b'"').then(|| self.string())??;
            if !self.takes(b':') {
                return None;
            }
            entries.push((key, self.value(depth + 1)?));
            if self.takes(b'}') {
                return Some(Value::Object(entries));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut elements = Vec::new();
        if self.takes(b']') {
            return Some(Value::List(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if self.takes(b']') {
                return Some(Value::List(elements));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    /// The rest of a string whose first quotation mark is passed.
    fn string(&mut self) -> Option<String> {
        let mut out = String::new();
        let mut characters = self.text.get(self.at..)?.char_indices();
        loop {
            let (at, c) = characters.next()?;
            match c {
                '"' => {
                    self.at += at + 1;
                    return Some(out);
                }
                '\\' => match characters.next()?.1 {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    'u' => out.push_str("\\u"), // the digits stay: nothing is renamed to or from them
                    other => out.push(other),
                },
                c => out.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_order_stay() {
        let text =
            r#"{ "b": 340282366920938463463374607431768211455, "a": [1.50, -0, "x\n\"y", null] }"#;
        let found = documents(text).unwrap();
        let Value::Object(entries) = &found[0] else {
            panic!("{found:?}")
        };
        assert_eq!(entries[0].0, "b");
        let digits = "340282366920938463463374607431768211455";
        assert_eq!(entries[0].1, Value::Plain(digits.to_owned()));
        let list = found[0].get("a").unwrap().elements();
        assert_eq!(list[0], Value::Plain("1.50".to_owned()));
        assert_eq!(list[2], Value::Text("x\n\"y".to_owned()));
    }

    #[test]
    fn lines_are_documents_and_other_texts_are_none() {
        assert_eq!(documents("{\"a\": 1}\n{\"a\": 2}\n").unwrap().len(), 2);
        for text in ["", "kernel 1", "{", "{\"a\" 1}", "[1,]", "{} x", "[\"open"] {
            assert_eq!(documents(text), None, "{text:?}");
        }
        assert_eq!(documents(&"[".repeat(100_000)), None);
    }
}
