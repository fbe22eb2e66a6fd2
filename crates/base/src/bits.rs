/// Inclusive bit range `hi:lo` of an instruction word, in the notation of hardware manuals. For example, the field
/// 7:4 of `0xab` is `0xa`; as a two's complement number it is -6.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct BitRange {
    /// Highest bit, inclusive.
    pub hi: u8,
    /// Lowest bit, inclusive.
    pub lo: u8,
}

impl BitRange {
    /// Number of bits, at least 1 for a well-formed range.
    #[inline]
    pub fn width(self) -> u32 {
        u32::from(self.hi.saturating_sub(self.lo)) + 1
    }
}

/// Access to bit fields of a word of up to 128 bits.
pub trait Bits {
    /// Returns the unsigned value of the bits `range`; bits outside the word read as 0.
    fn field(self, range: BitRange) -> u64;
    /// Returns the value of the bits `range` as a two's complement number.
    fn signed_field(self, range: BitRange) -> i64;
    /// Returns bit `index`; `false` outside the word.
    fn bit(self, index: u8) -> bool;
}

impl Bits for u128 {
    #[inline]
    fn field(self, range: BitRange) -> u64 {
        let width = range.width().min(64);
        // A shift by 128 or more would be an overflow; the bits outside the word read as 0.
        let shifted = self.checked_shr(u32::from(range.lo)).unwrap_or(0) as u64;
        // The mask of 64 ones cannot be computed as below, since `1 << 64` overflows.
        if width == 64 {
            shifted
        } else {
            shifted & ((1u64 << width) - 1)
        }
    }

    #[inline]
    fn signed_field(self, range: BitRange) -> i64 {
        let width = range.width().min(64);
        let shift = 64 - width;
        // The sign bit of the field becomes bit 63, so the arithmetic shift back extends it.
        ((self.field(range) << shift) as i64) >> shift
    }

    #[inline]
    fn bit(self, index: u8) -> bool {
        self.checked_shr(u32::from(index)).unwrap_or(0) & 1 == 1
    }
}
