//! Parsers of option values.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use warpbound_base::Named;
use warpbound_driver::{FactsFile, Parameter, ParameterSum};

/// Returns a parser with the limits that facts files have.
pub(crate) fn loop_default() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..=FactsFile::MAX_BOUND)
}

/// Returns a parser of the names of an enumeration.
pub(crate) fn named<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let names = T::ALL.iter().map(|(_, name)| *name);
    PossibleValuesParser::new(names)
        .try_map(|name| T::from_name(&name).ok_or_else(|| format!("there is no {name:?}")))
}

/// New value of a parameter, or of a sum of two parameters.
#[derive(Clone, Copy)]
pub(crate) enum Override {
    Number(Parameter, u64),
    /// Sum of a parameter and another one, which keeps its value.
    Sum(ParameterSum, u64),
}

impl Override {
    /// Returns the parameter whose value changes.
    pub(crate) fn parameter(self) -> Parameter {
        match self {
            Override::Number(parameter, _) => parameter,
            Override::Sum(sum, _) => sum.part(),
        }
    }
}

/// Parses `NAME=VALUE`.
pub(crate) fn parameter_override(text: &str) -> Result<Override, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("expected NAME=VALUE".to_owned());
    };
    if name == "scheduler.policy" {
        return Err("--scheduler chooses it".to_owned());
    }
    let number = |value: &str| {
        let number = value.parse();
        number.map_err(|_| format!("{value:?} is not a whole number of 64 bits"))
    };
    if let Some(sum) = ParameterSum::named(name) {
        return Ok(Override::Sum(sum, number(value)?));
    }
    let parameter = Parameter::named(name).map_err(|diagnostic| diagnostic.to_string())?;
    Ok(Override::Number(parameter, number(value)?))
}

/// Parses a positive time in seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| format!("{text:?} is not a number"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(format!("{text} is not a positive time")),
    }
}

/// Parses the size of a block, within the limits of CUDA for compute capability 5.0 and later: 1024 threads, 1024 in x
/// and y, 64 in z.
pub(crate) fn block(text: &str) -> Result<[u32; 3], String> {
    let mut block = [1u32; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("more than three numbers".to_owned());
    }
    for ((size, part), most) in block.iter_mut().zip(parts).zip([1024, 1024, 64]) {
        *size = part
            .trim()
            .parse()
            .map_err(|_| format!("{part:?} is not a whole number"))?;
        if *size == 0 || *size > most {
            return Err(format!("{size} is not between 1 and {most}"));
        }
    }
    if block.iter().map(|&d| u64::from(d)).product::<u64>() > 1024 {
        return Err("a block has at most 1024 threads".to_owned());
    }
    Ok(block)
}
