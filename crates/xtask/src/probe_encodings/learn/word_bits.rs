//! Bits of a word that are read together. For example, the bits 36, 37, 38 and 48 are the field `48+38:36`.

use std::fmt;

/// Positions of bits, least significant first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Bits(Vec<u8>);

impl Bits {
    /// Bits from positions, least significant first.
    pub(super) fn new(positions: Vec<u8>) -> Bits {
        Bits(positions)
    }

    /// Number of bits.
    pub(super) fn width(&self) -> usize {
        self.0.len()
    }

    /// Positions, least significant first.
    pub(super) fn positions(&self) -> &[u8] {
        &self.0
    }

    /// Lowest position.
    pub(super) fn low(&self) -> u8 {
        self.0.first().copied().unwrap_or_default()
    }

    /// All bits as a mask.
    pub(super) fn mask(&self) -> u128 {
        self.0.iter().fold(0, |mask, bit| mask | 1 << bit)
    }

    /// Value of the bits in a word.
    pub(super) fn get(&self, word: u128) -> u64 {
        let bits = self.0.iter().enumerate();
        bits.fold(0, |value, (at, bit)| {
            value | ((word >> bit & 1) as u64) << at
        })
    }

    /// The word with the bits set to a value.
    pub(super) fn put(&self, word: u128, value: u64) -> u128 {
        let bits = self.0.iter().enumerate();
        bits.fold(word & !self.mask(), |word, (at, bit)| {
            word | u128::from(value >> at & 1) << bit
        })
    }

    /// Value with all bits set.
    pub(super) fn ones(&self) -> u64 {
        u64::MAX >> 64usize.saturating_sub(self.width()).min(63)
    }

    /// Number of values, for fields of few bits.
    pub(super) fn values(&self) -> u64 {
        1 << self.width().min(63)
    }
}

impl fmt::Display for Bits {
    /// Ranges as rows spell them, most significant first: `48+38:36`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for &bit in self.0.iter().rev() {
            match ranges.last_mut() {
                Some((_, low)) if *low == bit + 1 => *low = bit,
                _ => ranges.push((bit, bit)),
            }
        }
        for (at, (high, low)) in ranges.iter().enumerate() {
            let plus = if at > 0 { "+" } else { "" };
            match high == low {
                true => write!(f, "{plus}{high}")?,
                false => write!(f, "{plus}{high}:{low}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn fields_are_scattered() {
        let bits = Bits::new(vec![36, 37, 38, 48]);
        assert_eq!(bits.to_string(), "48+38:36");
        assert_eq!(bits.get(1 << 48 | 1 << 36), 0b1001);
        assert_eq!(bits.put(1 << 37, 0b1001), 1 << 48 | 1 << 36);
    }
}
