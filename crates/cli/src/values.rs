//! Parsers of option values.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use warpbound_base::Named;
use warpbound_query::FactsFile;
use warpbound_query::{NumberRange, StatedParam};
use warpbound_runs::Override;
use warpbound_runs::SingleWarp;

/// Returns a parser with the same limits as in facts files.
pub(crate) fn loop_default() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..=FactsFile::MAX_BOUND)
}

/// Returns a parser for the names of an enumeration.
pub(crate) fn named<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let names = T::ALL.iter().map(|(_, name)| *name);
    PossibleValuesParser::new(names)
        .try_map(|name| T::from_name(&name).ok_or_else(|| format!("there is no {name:?}")))
}

/// Parses `NAME=VALUE`.
pub(crate) fn parameter_override(text: &str) -> Result<Override, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("expected NAME=VALUE".to_owned());
    };
    // The policy is a choice, not a number.
    if name == "scheduler.policy" {
        return Err("--scheduler chooses it".to_owned());
    }
    let number = value.parse();
    let number = number.map_err(|_| format!("{value:?} is not a whole number of 64 bits"));
    Override::named(name, number?).map_err(|diagnostic| diagnostic.to_string())
}

/// Parses `BLOCK.WARP`.
pub(crate) fn single_warp(text: &str) -> Result<SingleWarp, String> {
    let numbers = text.split_once('.').and_then(|(block, warp)| {
        Some(SingleWarp {
            block: block.parse().ok()?,
            warp: warp.parse().ok()?,
        })
    });
    numbers.ok_or_else(|| "expected BLOCK.WARP, as in 3.1".to_owned())
}

/// Parses a positive time in seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| format!("{text:?} is not a number"))?;
    // Fails for negative numbers, NaN and infinity.
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(format!("{text} is not a positive time")),
    }
}

/// Parses the size of a block or grid in x, y and z. Each is a number or a range, and absent axes are 1. For example,
/// `16,1..8` is 16 threads in x, 1 to 8 in y, and 1 in z.
pub(crate) fn size(text: &str) -> Result<[NumberRange; 3], String> {
    let mut size = [NumberRange::one(1u32); 3];
    // Prose writes `16x16` and `16*16`. A hexadecimal number also contains an x, as in `0x10`.
    let sizes: Vec<&str> = text.split(['x', 'X', '*']).map(str::trim).collect();
    let is_number = |part: &&str| part.parse::<u32>().is_ok_and(|n| n > 0);
    if sizes.len() > 1 && sizes.iter().all(is_number) {
        let instead = sizes.join(",");
        return Err(format!("sizes are separated by commas: {instead}"));
    }
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("more than three numbers".to_owned());
    }
    for (axis, part) in size.iter_mut().zip(parts) {
        *axis = range(part)?;
    }
    Ok(size)
}

/// Parses `NAME=VALUE` or `NAME=LO..HI`.
pub(crate) fn param(text: &str) -> Result<StatedParam, String> {
    match text.split_once('=') {
        Some((name, numbers)) if !name.is_empty() => Ok(StatedParam {
            name: name.to_owned(),
            range: range(numbers)?,
        }),
        _ => Err("expected NAME=VALUE or NAME=LO..HI".to_owned()),
    }
}

/// Parses a clock frequency with its unit, or two with `..` between them. The unit of the second one may stand for
/// both. Returns kHz. For example, `850..1300MHz` is (850000, 1300000).
pub(crate) fn clock(text: &str) -> Result<(u64, u64), String> {
    let wrong =
        || format!("{text:?} is no frequency with its unit, as 850MHz, 850..1300MHz or 1.3GHz");
    let units = [("kHz", 1.0), ("MHz", 1e3), ("GHz", 1e6)];
    let with_unit = |text: &str| {
        let found = units
            .into_iter()
            .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?.trim().to_owned(), scale)));
        found.ok_or_else(wrong)
    };
    let kilohertz = |number: &str, scale: f64| {
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let kilohertz = (number * scale).round();
        // The first comparison also refuses NaN, the second one infinity and numbers that a cast would cut off.
        match number > 0.0 && kilohertz < 1e12 {
            true => Ok(kilohertz as u64),
            false => Err(wrong()),
        }
    };
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let (most, scale) = with_unit(most.trim())?;
    let least = match with_unit(least.trim()) {
        Ok((least, scale)) => kilohertz(&least, scale)?,
        Err(_) => kilohertz(least, scale)?,
    };
    match (least, kilohertz(&most, scale)?) {
        (least, most) if least > most => Err(format!("the range {text} is empty")),
        range => Ok(range),
    }
}

/// Parses a whole number, or two with `..` between them.
fn range(text: &str) -> Result<NumberRange, String> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    Ok(NumberRange {
        least: integer(least.trim())?,
        most: integer(most.trim())?,
    })
}

/// Parses a whole number, decimal or hexadecimal, with or without a sign.
fn integer(text: &str) -> Result<i128, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    // 64 bits on either side of 0: parameters may be signed or unsigned.
    match magnitude {
        // The standard parsers accept a sign of their own, so a second one is refused here.
        Ok(magnitude) if !digits.contains('+') => Ok(sign * i128::from(magnitude)),
        _ => Err(format!("{text:?} is not a whole number of 64 bits")),
    }
}

#[cfg(test)]
mod tests {
    use super::{clock, size};

    #[test]
    fn clocks_have_units() {
        assert_eq!(clock("850MHz"), Ok((850_000, 850_000)));
        assert_eq!(clock("854.25 MHz"), Ok((854_250, 854_250)));
        assert_eq!(clock("850..1300MHz"), Ok((850_000, 1_300_000)));
        assert_eq!(clock("850MHz..1.3GHz"), Ok((850_000, 1_300_000)));
        assert_eq!(clock("1300000kHz"), Ok((1_300_000, 1_300_000)));
        for wrong in [
            "1300",
            "1300..",
            "MHz",
            "-1MHz",
            "NaNMHz",
            "infGHz",
            "1300..850MHz",
            "0MHz",
        ] {
            assert!(clock(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_commas() {
        for text in ["16x16", "16*16", "16 x 16"] {
            let message = size(text).expect_err("no commas");
            assert!(message.ends_with(": 16,16"), "{message}");
        }
        assert_eq!(size("0x10").map(|size| size[0].most), Ok(16));
    }
}
