//! Rounding to binary16 (IEEE 754): 5 bits of exponent, 10 of fraction.
//!
//! `half::f16::from_f64` rounds twice, first to binary32, on processors with instructions for it; here the result is
//! the nearest number.

use ::half::f16;

/// Exponent of the smallest normal number, which all subnormal numbers share.
const LEAST_EXPONENT: i32 = -14;

/// Threshold from which numbers round to infinity: half a step above the largest finite number, 65504.
const INFINITE_FROM: f64 = 65520.0;

/// Returns the nearest number, ties to even.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the exponent and the fraction fit their fields"
)]
pub(super) fn nearest(value: f64) -> f16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    let size = value.abs();
    if value.is_nan() {
        return f16::from_bits(sign | 0x7e00);
    }
    if size >= INFINITE_FROM {
        return f16::from_bits(sign | 0x7c00);
    }
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(LEAST_EXPONENT);
    // Scaling by a power of two is exact, so this is the only rounding.
    let units = (size * 2f64.powi(10 - exponent)).round_ties_even() as u16;
    // The leading one of a normal number adds 1 to the exponent, as does a carry.
    let biased = ((exponent - LEAST_EXPONENT) as u16) << 10;
    f16::from_bits(sign | biased.wrapping_add(units))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x0001, 1.0 / 16_777_216.0),
            (0x0400, 1.0 / 16_384.0),
            (0x3555, 0.333_251_953_125),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x7c00, f64::INFINITY),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(f16::from_bits(bits).to_f64(), value);
            assert_eq!(nearest(value).to_bits(), bits);
        }
        assert_eq!(nearest(-0.0).to_bits(), 0x8000);
        assert!(f16::from_bits(0x7e01).to_f64().is_nan());
        assert_eq!(nearest(f64::NAN).to_bits() & 0x7fff, 0x7e00);
    }

    /// Each number between two neighbours is rounded to the nearer one, the middle to the even one.
    #[test]
    fn numbers_between_neighbours_are_rounded_to_the_nearer_one() {
        for low in 0..0x7bff_u16 {
            let below = f16::from_bits(low).to_f64();
            let above = f16::from_bits(low + 1).to_f64();
            assert!(below < above, "{low:x}");
            assert_eq!(nearest(below).to_bits(), low);
            let middle = (below + above) / 2.0;
            assert_eq!(nearest(middle).to_bits(), low + (low & 1), "{low:x}");
            assert_eq!(nearest(middle.next_down()).to_bits(), low, "{low:x}");
            let negative = nearest(-middle.next_up()).to_bits();
            assert_eq!(negative, 0x8000 | (low + 1), "{low:x}");
        }
        assert_eq!(nearest(INFINITE_FROM.next_down()).to_bits(), 0x7bff);
        assert_eq!(nearest(INFINITE_FROM).to_bits(), 0x7c00);
        assert_eq!(nearest(f64::MIN_POSITIVE).to_bits(), 0);
    }
}
