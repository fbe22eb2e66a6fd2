//! Text spans of the data files, for parsing by the build script or the compiler.
//!
//! Spans are byte offsets and not slices, because tables of slices would have to be relocated at each start of the
//! program. A fault in a file is a build error that shows the line.

/// Part of a file, as byte offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// Text of the span in its file.
    pub(crate) const fn text(self, file: &'static str) -> &'static str {
        let (head, _) = file.split_at(self.end as usize);
        head.split_at(self.start as usize).1
    }

    /// Number of bytes.
    pub(crate) const fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Byte at an offset of the file if the span contains it, otherwise a blank.
    const fn byte(self, file: &str, at: u32) -> u8 {
        if at < self.end {
            file.as_bytes()[at as usize]
        } else {
            b' '
        }
    }

    /// Splits at the first occurrence of a byte, which belongs to neither part. Without one, returns the whole span
    /// and an empty one.
    pub(crate) const fn split(self, file: &str, byte: u8) -> (Span, Span) {
        // Once, because each call takes time when the compiler evaluates it.
        let bytes = file.as_bytes();
        let mut at = self.start;
        while at < self.end && bytes[at as usize] != byte {
            at += 1;
        }
        // The rest must not begin after its end, because lengths are unsigned.
        let after = if at < self.end { at + 1 } else { at };
        (
            Span {
                start: self.start,
                end: at,
            },
            Span {
                start: after,
                end: self.end,
            },
        )
    }

    /// Splits off the first word; words are separated by blanks.
    pub(crate) const fn word(self, file: &str) -> (Span, Span) {
        let mut start = self.start;
        while start < self.end && file.as_bytes()[start as usize] == b' ' {
            start += 1;
        }
        Span {
            start,
            end: self.end,
        }
        .split(file, b' ')
    }

    /// Whether the span's text is `text`.
    pub(crate) const fn equals(self, file: &str, text: &str) -> bool {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() && self.byte(file, self.start + at as u32) == text[at] {
            at += 1;
        }
        // `byte` gives blanks past the span, so a shorter span could otherwise equal a text that ends in blanks.
        at == text.len() && self.len() == text.len()
    }

    /// Whether the span begins with a byte.
    pub(crate) const fn begins_with(self, file: &str, byte: u8) -> bool {
        self.len() > 0 && self.byte(file, self.start) == byte
    }

    /// Whether the span has only blanks.
    pub(crate) const fn is_blank(self, file: &str) -> bool {
        let bytes = file.as_bytes();
        let mut at = self.start;
        while at < self.end && bytes[at as usize] == b' ' {
            at += 1;
        }
        at >= self.end
    }

    /// Parses an unsigned number of at most 32 digits, radix 16 or less; `None` for anything else.
    pub(crate) const fn number(self, file: &str, radix: u32) -> Option<u128> {
        let mut number = 0u128;
        let mut at = self.start;
        // 32 hexadecimal digits fill 128 bits, so the sum below cannot overflow in any radix up to 16.
        if self.len() == 0 || self.len() > 32 {
            return None;
        }
        let bytes = file.as_bytes();
        while at < self.end {
            // Not `char::to_digit`, because the compiler evaluates this for each digit of the files.
            let byte = bytes[at as usize];
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'z' => byte - b'a' + 10,
                b'A'..=b'Z' => byte - b'A' + 10,
                _ => return None,
            };
            if digit as u32 >= radix {
                return None;
            }
            number = number * radix as u128 + digit as u128;
            at += 1;
        }
        Some(number)
    }
}

/// Iterator over the lines of a file.
pub(crate) struct Lines {
    file: &'static str,
    at: u32,
}

impl Lines {
    pub(crate) const fn new(file: &'static str) -> Lines {
        Lines { file, at: 0 }
    }

    /// Returns the next line that is neither blank nor a comment.
    pub(crate) const fn next(&mut self) -> Option<Span> {
        while (self.at as usize) < self.file.len() {
            let rest = Span {
                start: self.at,
                end: self.file.len() as u32,
            };
            let (line, after) = rest.split(self.file, b'\n');
            self.at = after.start;
            if !line.is_blank(self.file) && !line.begins_with(self.file, b'#') {
                return Some(line);
            }
        }
        None
    }
}
