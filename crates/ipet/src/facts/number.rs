//! Numbers of facts files, and anything that TOML allows in their place.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Mark of a missing number.
pub(super) const MISSING: &str = "?";

/// Largest number that a fact may state, 2^40: sums of costs and multiples of bounds stay far below the limits of the
/// integer program's coefficients, and typing errors are found.
pub(super) const MAX_NUMBER: u64 = 1 << 40;

/// Number of a facts file, or the mark of a missing one.
pub(super) enum FactNumber {
    Missing,
    Whole(u64),
    TooLarge(String),
    /// Value that is not a number, as text.
    Other(String),
}

impl FactNumber {
    /// Returns the number, `None` if it is missing; the error is a message with the key.
    pub(super) fn value(&self, key: &str) -> Result<Option<u64>, String> {
        match self {
            FactNumber::Missing => Ok(None),
            FactNumber::Whole(n) if *n <= MAX_NUMBER => Ok(Some(*n)),
            FactNumber::Whole(n) => Err(format!("`{key}` is {n}, over the limit of {MAX_NUMBER}")),
            FactNumber::TooLarge(n) => {
                Err(format!("`{key}` is {n}, over the limit of {MAX_NUMBER}"))
            }
            FactNumber::Other(text) => Err(format!(
                "`{key}` is {text}, not a whole number or \"{MISSING}\""
            )),
        }
    }
}

impl<'de> Deserialize<'de> for FactNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FactNumber, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// Visitor that accepts every TOML value, so that the message can name the key.
struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = FactNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number or \"{MISSING}\"")
    }

    fn visit_i64<E>(self, n: i64) -> Result<FactNumber, E> {
        Ok(u64::try_from(n).map_or_else(|_| FactNumber::Other(n.to_string()), FactNumber::Whole))
    }

    fn visit_u64<E>(self, n: u64) -> Result<FactNumber, E> {
        Ok(FactNumber::Whole(n))
    }

    fn visit_i128<E>(self, n: i128) -> Result<FactNumber, E> {
        Ok(match n < 0 {
            true => FactNumber::Other(n.to_string()),
            false => FactNumber::TooLarge(n.to_string()),
        })
    }

    fn visit_u128<E>(self, n: u128) -> Result<FactNumber, E> {
        Ok(FactNumber::TooLarge(n.to_string()))
    }

    fn visit_f64<E>(self, x: f64) -> Result<FactNumber, E> {
        Ok(FactNumber::Other(format!("{x:?}")))
    }

    fn visit_bool<E>(self, b: bool) -> Result<FactNumber, E> {
        Ok(FactNumber::Other(b.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<FactNumber, E> {
        Ok(match text == MISSING {
            true => FactNumber::Missing,
            false => FactNumber::Other(format!("{text:?}")),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FactNumber, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FactNumber::Other("a list".to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FactNumber, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(FactNumber::Other("a table or a date".to_owned()))
    }
}
