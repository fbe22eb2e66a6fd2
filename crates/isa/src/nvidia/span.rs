//! Parts of the data files, found by the compiler.
//!
//! All here is evaluated at compile time, where a part is a place in the file: slices would have to be relocated at
//! each start of the program. A fault in a file is an error of the build that shows the line.

/// A part of a file: where it begins and where it ends, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) const EMPTY: Span = Span { start: 0, end: 0 };

    /// The part of that file.
    pub(crate) const fn text(self, file: &'static str) -> &'static str {
        let (head, _) = file.split_at(self.end as usize);
        head.split_at(self.start as usize).1
    }

    const fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The byte at a place of the file, if it belongs to the part; a blank otherwise.
    const fn byte(self, file: &str, at: u32) -> u8 {
        if at < self.end {
            file.as_bytes()[at as usize]
        } else {
            b' '
        }
    }

    /// The part up to a byte and the part after it; the whole and an empty one where it does not occur.
    pub(crate) const fn split(self, file: &str, byte: u8) -> (Span, Span) {
        let mut at = self.start;
        while at < self.end && file.as_bytes()[at as usize] != byte {
            at += 1;
        }
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

    /// The first word and what follows it; words stand between blanks.
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

    /// True if the part is that text.
    pub(crate) const fn equals(self, file: &str, text: &str) -> bool {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() && self.byte(file, self.start + at as u32) == text[at] {
            at += 1;
        }
        at == text.len() && self.len() == text.len()
    }

    /// True if the part begins with that byte.
    pub(crate) const fn begins_with(self, file: &str, byte: u8) -> bool {
        self.len() > 0 && self.byte(file, self.start) == byte
    }

    /// True if the part has nothing but blanks.
    pub(crate) const fn is_blank(self, file: &str) -> bool {
        let (word, _) = self.word(file);
        word.len() == 0
    }

    /// The number that the digits are; `None` for anything else.
    pub(crate) const fn number(self, file: &str, radix: u32) -> Option<u64> {
        let mut number = 0u64;
        let mut at = self.start;
        if self.len() == 0 || self.len() > 16 {
            return None;
        }
        while at < self.end {
            let digit = match (file.as_bytes()[at as usize] as char).to_digit(radix) {
                Some(digit) => digit,
                None => return None,
            };
            number = number * radix as u64 + digit as u64;
            at += 1;
        }
        Some(number)
    }

    /// True if the part stands before the other in the order of bytes.
    pub(crate) const fn is_before(self, other: Span, file: &str) -> bool {
        let bytes = file.as_bytes();
        let mut at = 0;
        while at < self.len() && at < other.len() {
            let (a, b) = (
                bytes[self.start as usize + at],
                bytes[other.start as usize + at],
            );
            if a != b {
                return a < b;
            }
            at += 1;
        }
        self.len() < other.len()
    }
}

/// The lines of a file, one after the other.
pub(crate) struct Lines {
    file: &'static str,
    at: u32,
}

impl Lines {
    pub(crate) const fn new(file: &'static str) -> Lines {
        Lines { file, at: 0 }
    }

    /// The next line that is neither blank nor a comment.
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
