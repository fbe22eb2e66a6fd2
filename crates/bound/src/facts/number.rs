//! Numbers of facts files, and what stands there instead.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The mark of a missing number.
pub(super) const MISSING: &str = "?";

/// The largest number that a fact may state, 2^40: sums of costs and multiples of bounds then stay far from
/// the limits of the integer program's coefficients, and a slip of the keyboard is found.
pub(super) const MOST: u64 = 1 << 40;

/// A number of a facts file, or the mark of a missing one.
pub(super) enum Number {
    Missing,
    Whole(u64),
    TooLarge(String),
    /// Something else, spelled.
    Other(String),
}

impl Number {
    /// The number, `None` where it is missing.
    pub(super) fn value(self, key: &str) -> Result<Option<u64>, String> {
        match self {
            Number::Missing => Ok(None),
            Number::Whole(n) if n <= MOST => Ok(Some(n)),
            Number::Whole(n) => Err(format!("`{key}` is {n}, over the limit of {MOST}")),
            Number::TooLarge(n) => Err(format!("`{key}` is {n}, over the limit of {MOST}")),
            Number::Other(what) => Err(format!(
                "`{key}` is {what}, not a whole number or \"{MISSING}\""
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// Takes everything that TOML can hold, so that the message names the key.
struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number or \"{MISSING}\"")
    }

    fn visit_i64<E>(self, n: i64) -> Result<Number, E> {
        Ok(u64::try_from(n).map_or_else(|_| Number::Other(n.to_string()), Number::Whole))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Number, E> {
        Ok(Number::Whole(n))
    }

    fn visit_i128<E>(self, n: i128) -> Result<Number, E> {
        Ok(match n < 0 {
            true => Number::Other(n.to_string()),
            false => Number::TooLarge(n.to_string()),
        })
    }

    fn visit_u128<E>(self, n: u128) -> Result<Number, E> {
        Ok(Number::TooLarge(n.to_string()))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Number, E> {
        Ok(Number::Other(format!("{x:?}")))
    }

    fn visit_bool<E>(self, b: bool) -> Result<Number, E> {
        Ok(Number::Other(b.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Number, E> {
        Ok(match text == MISSING {
            true => Number::Missing,
            false => Number::Other(format!("{text:?}")),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Number, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Number::Other("a list".to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Number::Other("a table or a date".to_owned()))
    }
}
