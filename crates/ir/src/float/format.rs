//! Binary floating-point formats. For example, a half has 10 bits of fraction, and its smallest normal number is
//! 2^-14.

/// Binary floating-point format of IEEE 754.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// binary16, `.F16`.
    Half,
    /// binary32, `.F32`.
    Single,
    /// binary64, `.F64`.
    Double,
}

impl Format {
    /// Total width in bits.
    pub const fn width(self) -> u32 {
        match self {
            Format::Half => 16,
            Format::Single => 32,
            Format::Double => 64,
        }
    }

    /// Width of the fraction in bits, without the hidden bit.
    pub(super) const fn fraction(self) -> u32 {
        match self {
            Format::Half => 10,
            Format::Single => 23,
            Format::Double => 52,
        }
    }

    /// Exponent of the smallest normal number.
    pub(super) const fn lowest(self) -> i32 {
        match self {
            Format::Half => -14,
            Format::Single => -126,
            Format::Double => -1022,
        }
    }

    /// Sign bit.
    pub(super) const fn sign(self) -> u64 {
        1 << (self.width() - 1)
    }

    /// +Inf.
    pub(super) const fn infinity(self) -> u64 {
        self.sign() - (1 << self.fraction())
    }

    /// NaN of results, see the documentation of the parent module.
    pub(super) const fn nan(self) -> u64 {
        match self {
            Format::Half => 0x7fff,
            Format::Single => 0x7fff_ffff,
            Format::Double => 0xfff8_0000_0000_0000,
        }
    }

    /// 1.
    pub(super) const fn one(self) -> u64 {
        ((-self.lowest() + 1) as u64) << self.fraction()
    }

    /// Whether the pattern is a NaN.
    #[inline]
    pub(super) const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// Flushes a subnormal number to a zero of the same sign.
    #[inline]
    pub(super) const fn flushed(self, bits: u64) -> u64 {
        if bits & self.infinity() == 0 {
            bits & self.sign()
        } else {
            bits
        }
    }

    /// Clamps to [0, 1] for `.SAT`: NaNs and negative numbers become +0, larger numbers 1.
    #[inline]
    pub(super) const fn saturated(self, bits: u64) -> u64 {
        if bits & self.sign() != 0 || self.is_nan(bits) {
            0
        } else if bits > self.one() {
            self.one()
        } else {
            bits
        }
    }
}
