//! Floats of 16 bits (IEEE 754 binary16): 5 bits of exponent, 10 of fraction.

/// Exponent of the least normal number, which all smaller numbers share.
const LEAST: i32 = -14;

/// From here on the nearest number is infinite.
const TOO_LARGE: f64 = 65520.0;

/// The nearest number, ties to even.
pub(super) fn of_f64(value: f64) -> u16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    let size = value.abs();
    if value.is_nan() {
        return sign | 0x7e00;
    }
    if size >= TOO_LARGE {
        return sign | 0x7c00;
    }
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(LEAST);
    // Scaling by a power of two is exact, so this is the only rounding.
    let units = (size * 2f64.powi(10 - exponent)).round_ties_even() as u16;
    // A normal number brings its leading one, which counts the exponent up; so does a carry.
    sign | (((exponent - LEAST) as u16) << 10).wrapping_add(units)
}

/// The same number.
pub(super) fn to_f64(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        0 => fraction * 2f64.powi(LEAST - 10),
        _ => (fraction + 1024.0) * 2f64.powi(LEAST - 11 + exponent),
    };
    match bits >> 15 {
        0 => size,
        _ => -size,
    }
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
            assert_eq!(to_f64(bits), value);
            assert_eq!(of_f64(value), bits);
        }
        assert_eq!(of_f64(-0.0), 0x8000);
        assert!(to_f64(0x7e01).is_nan() && to_f64(of_f64(f64::NAN)).is_nan());
    }

    /// Of the numbers between two neighbours each takes the nearer one, the middle the even one.
    #[test]
    fn the_nearest() {
        for low in 0..0x7bff_u16 {
            let (below, above) = (to_f64(low), to_f64(low + 1));
            assert!(below < above, "{low:x}");
            assert_eq!(of_f64(below), low);
            let middle = (below + above) / 2.0;
            assert_eq!(of_f64(middle), low + (low & 1), "{low:x}");
            assert_eq!(of_f64(middle.next_down()), low, "{low:x}");
            assert_eq!(of_f64(-middle.next_up()), 0x8000 | (low + 1), "{low:x}");
        }
        assert_eq!(of_f64(TOO_LARGE.next_down()), 0x7bff);
        assert_eq!(of_f64(TOO_LARGE), 0x7c00);
        assert_eq!(of_f64(f64::MIN_POSITIVE), 0);
    }
}
