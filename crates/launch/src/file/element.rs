//! Element types of buffers and parameters.

use std::fmt;

use serde::Deserialize;

use super::half::nearest;
use super::number::Number;
use ::half::f16;

/// Type of a number in a buffer or parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum ElementType {
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

impl ElementType {
    /// All types.
    pub const ALL: [ElementType; 11] = [
        ElementType::U8,
        ElementType::S8,
        ElementType::U16,
        ElementType::S16,
        ElementType::U32,
        ElementType::S32,
        ElementType::U64,
        ElementType::S64,
        ElementType::F16,
        ElementType::F32,
        ElementType::F64,
    ];

    /// Size of a number in bytes.
    pub fn size(self) -> usize {
        match self {
            ElementType::U8 | ElementType::S8 => 1,
            ElementType::U16 | ElementType::S16 | ElementType::F16 => 2,
            ElementType::U32 | ElementType::S32 | ElementType::F32 => 4,
            ElementType::U64 | ElementType::S64 | ElementType::F64 => 8,
        }
    }

    /// Whether this is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, ElementType::F16 | ElementType::F32 | ElementType::F64)
    }

    /// Name in launch files.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::U8 => "u8",
            ElementType::S8 => "s8",
            ElementType::U16 => "u16",
            ElementType::S16 => "s16",
            ElementType::U32 => "u32",
            ElementType::S32 => "s32",
            ElementType::U64 => "u64",
            ElementType::S64 => "s64",
            ElementType::F16 => "f16",
            ElementType::F32 => "f32",
            ElementType::F64 => "f64",
        }
    }

    /// Returns the integer that little-endian bytes represent; `None` for floats. For example, the bytes 0xfe, 0xff
    /// are -2 as `s16` and 65534 as `u16`.
    pub fn integer(self, bytes: &[u8]) -> Option<i128> {
        let (least, most) = self.range()?;
        let value = bytes
            .iter()
            .rev()
            .fold(0i128, |value, &byte| value << 8 | i128::from(byte));
        let all = most - least + 1;
        // Two's complement: words above the maximum of a signed type are negative numbers.
        Some(if value > most { value - all } else { value })
    }

    /// Minimum and maximum value of an integer type; `None` for floats.
    pub fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            ElementType::U8 => (0, u8::MAX.into()),
            ElementType::S8 => (i8::MIN.into(), i8::MAX.into()),
            ElementType::U16 => (0, u16::MAX.into()),
            ElementType::S16 => (i16::MIN.into(), i16::MAX.into()),
            ElementType::U32 => (0, u32::MAX.into()),
            ElementType::S32 => (i32::MIN.into(), i32::MAX.into()),
            ElementType::U64 => (0, u64::MAX.into()),
            ElementType::S64 => (i64::MIN.into(), i64::MAX.into()),
            ElementType::F16 | ElementType::F32 | ElementType::F64 => return None,
        })
    }

    /// Appends the little-endian bytes of a number. Floats are rounded to nearest; `None` if the type cannot represent
    /// the number: overflow, or a float for an integer type.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "rounds to the type on purpose"
    )]
    pub(super) fn encode(self, number: Number, bytes: &mut Vec<u8>) -> Option<()> {
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
                    ElementType::F16 => {
                        let rounded = nearest(value);
                        bytes.extend(rounded.to_le_bytes());
                        rounded.is_infinite()
                    }
                    ElementType::F32 => {
                        bytes.extend((value as f32).to_le_bytes());
                        (value as f32).is_infinite()
                    }
                    _ => {
                        bytes.extend(value.to_le_bytes());
                        value.is_infinite()
                    }
                };
                // A finite number that rounds to infinity overflows the type.
                (infinite == value.is_infinite()).then_some(())
            }
        }
    }

    /// Converts the bytes of a float to `f64`; `None` for integers and for another number of bytes.
    pub fn to_f64(self, bytes: &[u8]) -> Option<f64> {
        match (self, bytes) {
            (ElementType::F16, &[a, b]) => {
                Some(f16::from_bits(u16::from_le_bytes([a, b])).to_f64())
            }
            (ElementType::F32, &[a, b, c, d]) => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
            (ElementType::F64, &[a, b, c, d, e, f, g, h]) => {
                Some(f64::from_le_bytes([a, b, c, d, e, f, g, h]))
            }
            _ => None,
        }
    }

    /// Formats a number; missing bytes are 0.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "takes the low bytes on purpose"
    )]
    pub fn format_value(self, bytes: &[u8]) -> String {
        let mut low = [0u8; 8];
        for (to, from) in low.iter_mut().zip(bytes) {
            *to = *from;
        }
        let word = u64::from_le_bytes(low);
        match self {
            ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => {
                word.to_string()
            }
            ElementType::S8 => (word as i8).to_string(),
            ElementType::S16 => (word as i16).to_string(),
            ElementType::S32 => (word as i32).to_string(),
            ElementType::S64 => (word as i64).to_string(),
            ElementType::F16 => f16::from_bits(word as u16).to_f64().to_string(),
            ElementType::F32 => f32::from_bits(word as u32).to_string(),
            ElementType::F64 => f64::from_bits(word).to_string(),
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
