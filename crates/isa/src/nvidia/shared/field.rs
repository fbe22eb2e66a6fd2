//! Fields and conditions: the bits of a word to which a template refers. For example, `48+38:36` is a field of four
//! bits in two ranges, and `52&!51` holds for words with bit 52 set and bit 51 clear.

use warpbound_base::BitRange;

/// Highest bit that a row may refer to: words are kept in 128 bits, together with the bits of control words that
/// change their text (`slot_bit` of the dialect).
pub(super) const LAST_BIT: u8 = 127;

/// Bit field scattered over one or more ranges, most significant first: `48+38:36`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    /// The most significant range; most fields have only this one.
    first: Part,
    more: Vec<Part>,
    width: u32,
}

/// Range of a field, as shift and mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    lo: u8,
    width: u8,
    mask: u64,
}

impl Part {
    fn parse(text: &str) -> Option<Part> {
        // A single number is a field of one bit.
        let (hi, lo) = split(text, b':').unwrap_or((text, text));
        let (hi, lo): (u8, u8) = (hi.parse().ok()?, lo.parse().ok()?);
        // `get` relies on `lo` being at most `LAST_BIT`, and on values of at most 64 bits.
        if hi < lo || hi > LAST_BIT || hi - lo > 63 {
            return None;
        }
        let width = hi - lo + 1;
        Some(Part {
            lo,
            width,
            mask: u64::MAX >> (64 - width),
        })
    }

    /// Value of the range. `lo` is at most [`LAST_BIT`], so `& 127` changes nothing but spares the overflow check.
    fn get(self, word: u128) -> u64 {
        (word >> (self.lo & 127)) as u64 & self.mask
    }
}

impl Field {
    pub(crate) fn parse(text: &str) -> Option<Field> {
        let mut parts = text.split('+').map(Part::parse);
        let first = parts.next()??;
        let more = parts.collect::<Option<Vec<Part>>>()?;
        let width = more
            .iter()
            .chain([&first])
            .map(|part| u32::from(part.width))
            .sum();
        // Values are 64-bit integers.
        (width <= 64).then_some(Field { first, more, width })
    }

    /// Unsigned value.
    pub(crate) fn get(&self, word: u128) -> u64 {
        self.more.iter().fold(self.first.get(word), |value, part| {
            // `& 63` spares the overflow check; a range of 64 bits is alone in its field.
            value << (part.width & 63) | part.get(word)
        })
    }

    /// Value as a two's complement number.
    pub(crate) fn signed(&self, word: u128) -> i64 {
        // The width is 1 to 64, so the shift is in range.
        let shift = 64 - self.width;
        ((self.get(word) << shift) as i64) >> shift
    }

    /// Mask of the field's bits.
    pub(crate) fn bits(&self) -> u128 {
        let of = |part: &Part| u128::from(part.mask) << part.lo;
        self.more
            .iter()
            .fold(of(&self.first), |bits, part| bits | of(part))
    }

    /// Returns `word` with the field set to `value`.
    pub(crate) fn put(&self, word: u128, value: u64) -> u128 {
        word & !self.bits() | self.place(value)
    }

    /// Low bits of `value` at the positions of the field's bits; the inverse of [`Field::get`].
    pub(crate) fn place(&self, value: u64) -> u128 {
        // From the least significant range upwards, the reverse of `get`.
        let mut rest = value;
        let mut placed = 0;
        for part in self.more.iter().rev().chain([&self.first]) {
            placed |= u128::from(rest & part.mask) << part.lo;
            rest = rest.checked_shr(part.width.into()).unwrap_or(0);
        }
        placed
    }

    /// Field of a single bit.
    pub(crate) fn of_bit(bit: u8) -> Field {
        Field::of_range(BitRange { hi: bit, lo: bit })
    }

    /// Field of a range of bits.
    pub(crate) fn of_range(range: BitRange) -> Field {
        let width = range.hi.saturating_sub(range.lo) + 1;
        let first = Part {
            lo: range.lo,
            width,
            mask: u64::MAX >> 64u8.saturating_sub(width),
        };
        Field {
            first,
            more: Vec::new(),
            width: width.into(),
        }
    }

    /// Field of one range, one bit higher; `None` for a field of several ranges.
    #[cfg(test)]
    pub(crate) fn contiguous_above(&self) -> Option<Field> {
        let lo = self.first.lo;
        self.more.is_empty().then(|| {
            Field::of_range(BitRange {
                hi: lo + self.first.width,
                lo: lo + 1,
            })
        })
    }

    /// Range of a field of this width that is not scattered; `None` for other fields.
    pub(crate) fn range(&self, width: u32) -> Option<BitRange> {
        let lo = self.first.lo;
        (self.more.is_empty() && self.width == width).then(|| BitRange {
            hi: lo + self.first.width - 1,
            lo,
        })
    }

    /// Number of bits, 1 to 64.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Lowest bit of the least significant range. It identifies the operand slot of a register field.
    pub(crate) fn low_bit(&self) -> u8 {
        self.more.last().unwrap_or(&self.first).lo
    }
}

/// Conjunction of bits: `52&!51`. The default never holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cond {
    mask: u128,
    value: u128,
}

impl Default for Cond {
    fn default() -> Cond {
        // `word & mask` is always 0, so it never equals the value.
        Cond { mask: 0, value: 1 }
    }
}

impl Cond {
    /// Always holds.
    pub(super) const ALWAYS: Cond = Cond { mask: 0, value: 0 };

    pub(crate) fn parse(text: &str) -> Option<Cond> {
        let (mut mask, mut value) = (0, 0);
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (bit, on) = match part.strip_prefix('!') {
                Some(bit) => (bit, 0),
                None => (part, 1),
            };
            let bit: u8 = bit.parse().ok().filter(|&bit| bit <= LAST_BIT)?;
            mask |= 1 << bit;
            value |= on << bit;
        }
        Some(Cond { mask, value })
    }

    /// Bits that the condition depends on, if it is false when all of them are clear.
    pub(crate) fn set_bits(self) -> Option<u128> {
        match (self.mask, self.value) {
            // A condition without set bits holds if all bits are clear.
            (_, 0) => None,
            (mask, _) => Some(mask),
        }
    }

    /// Bits that the condition depends on.
    pub(crate) fn bits(&self) -> u128 {
        self.mask
    }

    /// Values of these bits for which the condition holds; `None` if it never holds.
    pub(crate) fn required(&self) -> Option<u128> {
        (self.value & !self.mask == 0).then_some(self.value)
    }

    /// Whether the condition holds.
    pub(crate) fn holds(&self, word: u128) -> bool {
        word & self.mask == self.value
    }
}

/// Splits at the first occurrence of a byte. Parsing a row spends most of its time here, and the texts are so short
/// that a plain loop is faster than `split_once`.
pub(super) fn split(text: &str, byte: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|b| b == byte)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}
