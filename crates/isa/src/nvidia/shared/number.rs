//! Floating-point numbers as NVIDIA's disassembler prints them (releases 12.4 and 13.5). For example, the single 0.1
//! is printed as `0.10000000149011611938`.

use half::f16;

/// Formats an immediate in IEEE binary16. With `names_nans`, signalling NaNs have a name of their own.
pub(crate) fn format_half(bits: u16, names_nans: bool) -> String {
    let value = f16::from_bits(bits);
    if value.is_nan() {
        return format_special(nan(bits >> 9 & 1 == 1 || !names_nans), bits >> 15 == 1);
    }
    format_float(value.into())
}

/// Formats an immediate in IEEE binary32. With `names_nans`, signalling NaNs have a name of their own.
pub(crate) fn format_single(bits: u32, names_nans: bool) -> String {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return format_special(nan(bits >> 22 & 1 == 1 || !names_nans), bits >> 31 == 1);
    }
    format_float(value.into())
}

/// Formats an immediate in IEEE binary64. Release 12.4 names signalling NaNs of this format only.
pub(crate) fn format_double(bits: u64) -> String {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        return format_special(nan(bits >> 51 & 1 == 1), bits >> 63 == 1);
    }
    format_float(value)
}

fn nan(quiet: bool) -> &'static str {
    if quiet { "QNAN" } else { "SNAN" }
}

/// Formats a special value with its sign and the trailing blank that the disassembler prints.
fn format_special(word: &str, negative: bool) -> String {
    format!("{}{word} ", if negative { '-' } else { '+' })
}

/// Formats a float like C's `%.20g` below 10⁹, and like `%.20e` from there on.
fn format_float(value: f64) -> String {
    if value.is_infinite() {
        return format_special("INF", value < 0.0);
    }
    if value == 0.0 {
        return if value.is_sign_negative() {
            "-0.0 "
        } else {
            "0"
        }
        .to_string();
    }
    if value.abs() >= 1e9 {
        return pad_exponent(&format!("{value:.20e}"));
    }
    // `%g` decides by the exponent after rounding to 20 digits, so the rounded text gives it.
    let scientific = format!("{value:.19e}");
    // Rust always writes an exponent here, so the defaults are never used.
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // C's `%g` uses an exponent below 10⁻⁴.
    if exponent < -4 {
        let mantissa = strip_zeros(mantissa);
        return pad_exponent(&format!("{mantissa}e{exponent}"));
    }
    // Twenty significant digits, as in `%.20g`.
    // Numbers from 10⁹ on are printed above, so the exponent is at most 8.
    let decimals = usize::try_from(19 - exponent).unwrap_or(0);
    strip_zeros(&format!("{value:.decimals$}")).to_string()
}

fn strip_zeros(text: &str) -> &str {
    // Without a point, zeros at the end are digits of the integer part.
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// Rewrites Rust's exponent as C prints it: with a sign and at least two digits.
fn pad_exponent(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::{format_double, format_half, format_single};

    #[test]
    fn floats_as_the_disassembler_printed_them() {
        for (bits, text) in [
            (0x0000_0001, "1.4012984643248170709e-45"),
            (0x3f80_0000, "1"),
            (0x3dcc_cccd, "0.10000000149011611938"),
            (0x4b80_0000, "16777216"),
            (0x5015_02f9, "1.00000000000000000000e+10"),
            (0x4e6e_6b28, "1.00000000000000000000e+09"),
            (0x5a0e_1bca, "1.00000002725642240000e+16"),
            (0x33d6_bf95, "1.0000000116860974231e-07"),
            (0x3a83_126f, "0.0010000000474974513054"),
            (0x7f7f_ffff, "3.40282346638528859812e+38"),
            (0xbf80_0000, "-1"),
            (0x8000_0000, "-0.0 "),
            (0xff80_0001, "-QNAN "),
        ] {
            assert_eq!(format_single(bits, false), text);
        }
        assert_eq!(format_single(0xff80_0001, true), "-SNAN ");
        assert_eq!(format_single(0xffc0_0001, true), "-QNAN ");
        assert_eq!(format_half(0x7d00, true), "+SNAN ");
        assert_eq!(format_half(0x7f00, true), "+QNAN ");
        assert_eq!(format_half(0x7bff, true), "65504");
        assert_eq!(format_half(0x0001, true), "5.9604644775390625e-08");
        assert_eq!(format_half(0xfc00, true), "-INF ");
        assert_eq!(format_double(0x7ff0_0100_0000_0000), "+SNAN ");
        assert_eq!(format_double(0x3fb9_9000_0000_0000), "0.099853515625");
    }
}
