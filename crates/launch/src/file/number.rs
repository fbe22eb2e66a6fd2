//! Numbers in launch files.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// A number of a file: a TOML number, or a string for numbers that TOML cannot represent. For example,
/// `"0xffffffffffffffff"` exceeds TOML's integers, which have 64 bits and a sign.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    /// An integer.
    Integer(i128),
    /// A float, possibly infinite or NaN.
    Float(f64),
}

impl Number {
    /// Converts to a float; an integer of more than 53 bits is rounded.
    pub(super) fn float(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// Parses a number written as a string: decimal or hexadecimal integer, `nan`, `inf`.
    fn from_text(text: &str) -> Option<Number> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let whole = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => digits.parse::<u64>().ok(),
        };
        match (whole, digits) {
            // The integer parsers would accept a second sign.
            _ if digits.contains(['+', '-']) => None,
            (Some(value), _) => Some(Number::Integer(sign * i128::from(value))),
            (None, "nan") => Some(Number::Float(f64::NAN.copysign(sign as f64))),
            (None, "inf") => Some(Number::Float(f64::INFINITY * sign as f64)),
            _ => None,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(value) => write!(f, "{value}"),
            Number::Float(value) => write!(f, "{value:?}"),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"nan\", \"inf\", \"-inf\" or a whole number as a string")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number::Integer(value.into()))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number::Integer(value.into()))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Float(value))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                let wrong = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
                Number::from_text(text).ok_or_else(wrong)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Numbers in the launch file, or in a separate file.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Numbers {
    /// In the launch file.
    List(Vec<Number>),
    /// In an NPY file of this name.
    File(String),
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Numbers, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Numbers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of numbers or the name of a file")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Numbers, E> {
                Ok(Numbers::File(name.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Numbers, A::Error> {
                let mut list = Vec::new();
                while let Some(number) = items.next_element()? {
                    list.push(number);
                }
                Ok(Numbers::List(list))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
