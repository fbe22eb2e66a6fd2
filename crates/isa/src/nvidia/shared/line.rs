//! Buffer that collects the text of listings.
//!
//! An instruction is some 25 pieces of text with one to six bytes each. In a buffer of fixed size a short piece is one
//! store of fixed length, where a string would check its capacity and call a copy function for each of them.

/// Bytes that are collected before they are appended to the output.
const CAPACITY: usize = 1024;

/// Text of at most 15 bytes that is copied as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortText {
    /// The text, bytes without a meaning, and the length in the last byte.
    bytes: [u8; BYTES],
}

/// Bytes of a short text and its length.
const BYTES: usize = 16;

impl ShortText {
    /// No text.
    pub(crate) const EMPTY: ShortText = ShortText { bytes: [0; BYTES] };

    /// Text of the same bytes; `None` if there are more than 15.
    pub(crate) const fn new(text: &str) -> Option<ShortText> {
        let text = text.as_bytes();
        if text.len() >= BYTES {
            return None;
        }
        let mut bytes = [0; BYTES];
        let mut at = 0;
        while at < text.len() {
            bytes[at] = text[at];
            at += 1;
        }
        bytes[BYTES - 1] = text.len() as u8;
        Some(ShortText { bytes })
    }

    /// Text of a constant; a build error if it has more than 15 bytes.
    pub(crate) const fn of(text: &str) -> ShortText {
        let short = ShortText::new(text);
        assert!(short.is_some(), "longer than 15 bytes");
        match short {
            Some(short) => short,
            None => ShortText::EMPTY,
        }
    }

    const fn decimal(number: u8) -> ShortText {
        let digits = [number / 100, number / 10 % 10, number % 10];
        let length = match number {
            0..10 => 1,
            10..100 => 2,
            100.. => 3,
        };
        let mut bytes = [0; BYTES];
        let mut at = 0;
        while at < length {
            bytes[at] = b'0' + digits[3 - length + at];
            at += 1;
        }
        bytes[BYTES - 1] = length as u8;
        ShortText { bytes }
    }

    /// Decimal number, from a table.
    #[inline]
    pub(crate) fn of_number(number: u8) -> &'static ShortText {
        &DECIMALS[usize::from(number)]
    }

    #[inline]
    fn length(&self) -> usize {
        self.bytes[BYTES - 1].into()
    }
}

/// Text of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spelling {
    pub(crate) text: &'static str,
    /// The same text, unless it is too long.
    short: Option<ShortText>,
}

impl Spelling {
    /// Spelling with a text.
    pub(crate) const fn new(text: &'static str) -> Spelling {
        Spelling {
            text,
            short: ShortText::new(text),
        }
    }
}

/// Decimal numbers, because registers are most of the text.
static DECIMALS: [ShortText; 256] = {
    let mut decimals = [ShortText::EMPTY; 256];
    let mut number = 0;
    while number < decimals.len() {
        decimals[number] = ShortText::decimal(number as u8);
        number += 1;
    }
    decimals
};

/// Text that is appended to a string piece by piece.
pub(crate) struct Line<'a> {
    out: &'a mut String,
    /// Collected text, in the first `length` bytes.
    bytes: [u8; CAPACITY],
    length: usize,
}

impl<'a> Line<'a> {
    /// Appends to a string. The text is complete after [`Line::flush`].
    pub(crate) fn new(out: &'a mut String) -> Line<'a> {
        Line {
            out,
            bytes: [0; CAPACITY],
            length: 0,
        }
    }

    /// Moves the collected text to the string.
    pub(crate) fn flush(&mut self) {
        let collected = self.bytes.get(..self.length).unwrap_or_default();
        // Only whole texts are collected.
        self.out
            .push_str(str::from_utf8(collected).unwrap_or_default());
        self.length = 0;
    }

    /// Appends a text.
    // Inlined, because most texts are constants.
    #[inline(always)]
    pub(crate) fn push(&mut self, text: &str) {
        // The length of a constant is known, so this is one comparison and one store.
        let end = self.length + text.len();
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(text.as_bytes());
            self.length = end;
        } else {
            // The text may be longer than the buffer.
            self.flush();
            self.out.push_str(text);
        }
    }

    /// Appends a short text.
    #[inline]
    pub(crate) fn push_short(&mut self, text: &ShortText) {
        if self.length > CAPACITY - BYTES {
            self.flush();
        }
        // Bytes after the text are overwritten by the next one.
        let rest = self.bytes.get_mut(self.length..);
        if let Some(place) = rest.and_then(|rest| rest.first_chunk_mut()) {
            *place = text.bytes;
            self.length += text.length();
        }
    }

    /// Appends the text of a list.
    #[inline]
    pub(crate) fn push_spelling(&mut self, spelling: &Spelling) {
        match &spelling.short {
            Some(text) => self.push_short(text),
            None => self.push(spelling.text),
        }
    }

    /// Appends a character of ASCII.
    #[inline]
    pub(crate) fn push_byte(&mut self, byte: u8) {
        debug_assert!(byte.is_ascii());
        if self.length == CAPACITY {
            self.flush();
        }
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// Appends a decimal number.
    #[inline]
    pub(crate) fn push_decimal(&mut self, number: u8) {
        self.push_short(ShortText::of_number(number));
    }

    /// Appends a signed hexadecimal number: `0x10`, `-0x8`.
    pub(crate) fn push_hex(&mut self, number: i64) {
        self.push_short(if number < 0 {
            const { &ShortText::of("-0x") }
        } else {
            const { &ShortText::of("0x") }
        });
        // Negating the smallest number would overflow.
        self.push_hex_digits(number.unsigned_abs(), 1);
    }

    /// Appends hexadecimal digits: `least`, of at most 16, or more.
    pub(crate) fn push_hex_digits(&mut self, number: u64, least: u32) {
        let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(least);
        // Addresses and most immediates have one half only.
        let (high, low) = ((number >> 32) as u32, number as u32);
        if let Some(more) = digits.checked_sub(8).filter(|&more| more > 0) {
            self.push_word(high, more.min(8));
        }
        self.push_word(low, digits.min(8));
    }

    /// Appends the last hexadecimal digits of a number, at most 8 of them.
    fn push_word(&mut self, number: u32, digits: u32) {
        // Each byte receives one digit.
        let mut spread = u64::from(number);
        spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
        spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
        spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        // A digit above 9 carries into bit 4 when 6 is added, and is a letter.
        let letters = (spread + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
        let ascii = spread + 0x3030_3030_3030_3030 + letters * u64::from(b'a' - b'9' - 1);
        // The first digit is in the highest byte; the digits that are left out would be before it.
        let bytes = (ascii << (u64::BITS - 8 * digits)).to_be_bytes();
        let mut text = ShortText::EMPTY;
        text.bytes[..bytes.len()].copy_from_slice(&bytes);
        text.bytes[BYTES - 1] = digits as u8;
        self.push_short(&text);
    }

    /// Takes blanks at the end away.
    pub(crate) fn trim_blanks(&mut self) {
        while let Some(last) = self.length.checked_sub(1) {
            if self.bytes.get(last) != Some(&b' ') {
                return;
            }
            self.length = last;
        }
        self.out.truncate(self.out.trim_end_matches(' ').len());
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, Line};

    fn text(write: impl FnOnce(&mut Line<'_>)) -> String {
        let mut out = String::new();
        let mut line = Line::new(&mut out);
        write(&mut line);
        line.flush();
        out
    }

    #[test]
    fn integers() {
        for n in [
            0,
            1,
            9,
            10,
            15,
            16,
            0xfedc_ba98_7654_3210_u64 >> 1,
            i64::MAX as u64,
        ] {
            assert_eq!(text(|line| line.push_hex(n as i64)), format!("{n:#x}"));
        }
        assert_eq!(text(|line| line.push_hex(-0x8000_0000)), "-0x80000000");
        assert_eq!(text(|line| line.push_hex(i64::MIN)), "-0x8000000000000000");
        assert_eq!(text(|line| line.push_hex_digits(0x18, 4)), "0018");
        for n in 0..=255 {
            assert_eq!(text(|line| line.push_decimal(n)), n.to_string());
        }
    }

    /// Texts of all lengths, some longer than the buffer, arrive in their order.
    #[test]
    fn texts_longer_than_the_buffer() {
        let pieces: Vec<String> = (0..CAPACITY + 20).map(|n| "ab".repeat(n / 16)).collect();
        let collected = text(|line| {
            for piece in &pieces {
                line.push(piece);
                line.push_decimal(7);
            }
        });
        let expected: String = pieces.iter().map(|piece| format!("{piece}7")).collect();
        assert_eq!(collected, expected);
    }

    #[test]
    fn blanks_at_the_end() {
        let long = "a".repeat(CAPACITY + 1) + "  ";
        assert_eq!(
            text(|line| {
                line.push(&long);
                line.trim_blanks();
            }),
            long.trim_end()
        );
        assert_eq!(
            text(|line| {
                line.push("+INF ");
                line.trim_blanks();
                line.push(" ;");
            }),
            "+INF ;"
        );
    }
}
