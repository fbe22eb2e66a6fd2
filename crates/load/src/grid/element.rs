//! Types of numbers in buffers and parameters.

use std::fmt;

use serde::Deserialize;

use super::half;
use super::number::Number;

/// The type of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Element {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
}

impl Element {
    /// All types.
    pub const ALL: [Element; 11] = [
        Element::U8,
        Element::S8,
        Element::U16,
        Element::S16,
        Element::U32,
        Element::S32,
        Element::U64,
        Element::S64,
        Element::F16,
        Element::F32,
        Element::F64,
    ];

    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Element::U8 | Element::S8 => 1,
            Element::U16 | Element::S16 | Element::F16 => 2,
            Element::U32 | Element::S32 | Element::F32 => 4,
            Element::U64 | Element::S64 | Element::F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::F32 | Element::F64)
    }

    /// As launch files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Element::U8 => "u8",
            Element::S8 => "s8",
            Element::U16 => "u16",
            Element::S16 => "s16",
            Element::U32 => "u32",
            Element::S32 => "s32",
            Element::U64 => "u64",
            Element::S64 => "s64",
            Element::F16 => "f16",
            Element::F32 => "f32",
            Element::F64 => "f64",
        }
    }

    /// The least and the most whole number of an integer type; `None` for floats.
    pub(super) fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Element::U8 => (0, u8::MAX.into()),
            Element::S8 => (i8::MIN.into(), i8::MAX.into()),
            Element::U16 => (0, u16::MAX.into()),
            Element::S16 => (i16::MIN.into(), i16::MAX.into()),
            Element::U32 => (0, u32::MAX.into()),
            Element::S32 => (i32::MIN.into(), i32::MAX.into()),
            Element::U64 => (0, u64::MAX.into()),
            Element::S64 => (i64::MIN.into(), i64::MAX.into()),
            Element::F16 | Element::F32 | Element::F64 => return None,
        })
    }

    /// Appends the bytes of a number, the lowest first. Floats are rounded to the nearest; `None` when the type cannot
    /// hold the number.
    pub(super) fn push(self, number: Number, bytes: &mut Vec<u8>) -> Option<()> {
        match (self.range(), number) {
            (Some((least, most)), Number::Integer(value)) => {
                let all = value.to_le_bytes();
                let own = all.get(..self.size())?;
                (least..=most).contains(&value).then(|| bytes.extend(own))
            }
            (Some(_), Number::Float(_)) => None,
            (None, _) => {
                let value = number.float();
                let infinite = match self {
                    Element::F16 => {
                        let rounded = half::of_f64(value);
                        bytes.extend(rounded.to_le_bytes());
                        half::to_f64(rounded).is_infinite()
                    }
                    Element::F32 => {
                        bytes.extend((value as f32).to_le_bytes());
                        (value as f32).is_infinite()
                    }
                    _ => {
                        bytes.extend(value.to_le_bytes());
                        value.is_infinite()
                    }
                };
                (infinite == value.is_infinite()).then_some(())
            }
        }
    }

    /// A float as one of 64 bits; `None` for integers and for another number of bytes.
    pub fn float(self, bytes: &[u8]) -> Option<f64> {
        match (self, bytes) {
            (Element::F16, &[a, b]) => Some(half::to_f64(u16::from_le_bytes([a, b]))),
            (Element::F32, &[a, b, c, d]) => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
            (Element::F64, &[a, b, c, d, e, f, g, h]) => {
                Some(f64::from_le_bytes([a, b, c, d, e, f, g, h]))
            }
            _ => None,
        }
    }

    /// A number spelled out; nothing when the bytes are too few.
    pub fn spell(self, bytes: &[u8]) -> String {
        let mut low = [0u8; 8];
        for (to, from) in low.iter_mut().zip(bytes) {
            *to = *from;
        }
        let word = u64::from_le_bytes(low);
        match self {
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => word.to_string(),
            Element::S8 => (word as i8).to_string(),
            Element::S16 => (word as i16).to_string(),
            Element::S32 => (word as i32).to_string(),
            Element::S64 => (word as i64).to_string(),
            Element::F16 => half::to_f64(word as u16).to_string(),
            Element::F32 => f32::from_bits(word as u32).to_string(),
            Element::F64 => f64::from_bits(word).to_string(),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
