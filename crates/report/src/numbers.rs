//! Numbers as text: cycles, durations, parts of a whole.

/// Formats cycles: `1 cycle`, `1234 cycles`.
pub(crate) fn cycles(n: u64) -> String {
    match n {
        1 => "1 cycle".to_owned(),
        n => format!("{} cycles", n),
    }
}

/// Formats a time with three to five significant digits. For example, 0.0041 ms is `4.100 us`.
pub(crate) fn duration(milliseconds: f64) -> String {
    let (number, unit) = match milliseconds {
        m if m < 1.0 => (m * 1000.0, "us"),
        m if m < 1000.0 => (m, "ms"),
        m => (m / 1000.0, "s"),
    };
    let digits = match number {
        n if n < 10.0 => 3,
        n if n < 100.0 => 2,
        _ => 1,
    };
    format!("{number:.digits$} {unit}")
}

/// Returns `part / all` in units of `1 / steps`, rounded to the nearest integer.
pub(crate) fn rounded_part(part: u64, all: u64, steps: u64) -> u64 {
    // In 128 bits, because cycles times steps may exceed 64.
    let all = u128::from(all.max(1));
    let rounded = (u128::from(part) * u128::from(steps) * 2 + all) / (2 * all);
    // A part is at most its whole, so the quotient fits.
    u64::try_from(rounded).unwrap_or(steps)
}

/// Formats `part / all` in percent.
pub(crate) fn share(part: u64, all: u64) -> String {
    let tenths = rounded_part(part, all, 1000);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Formats the hit rate; `-` without lookups.
pub(crate) fn hit_rate(hits: u64, lookups: u64) -> String {
    match lookups {
        0 => "-".to_owned(),
        lookups => share(hits, lookups),
    }
}

/// Formats `part` of `all` in percent, truncated to one decimal.
pub(crate) fn truncated_share(part: u128, all: u128) -> String {
    // Saturation makes a huge share too small, which only affects the display.
    let thousandths = part
        .saturating_mul(1000)
        .checked_div(all)
        .unwrap_or_default();
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}
