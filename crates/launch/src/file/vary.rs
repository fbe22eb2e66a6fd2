//! Parameters that vary among similar launches.

use super::element::ElementType;
use super::fill::Fill;
use super::number::Number;

/// Inclusive range of a parameter in similar launches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Vary {
    element: ElementType,
    low: Number,
    high: Number,
}

impl Vary {
    /// Returns a range of a type.
    ///
    /// # Errors
    ///
    /// If the type cannot represent a bound, or if the range is empty.
    pub(super) fn new(element: ElementType, low: Number, high: Number) -> Result<Vary, String> {
        Fill::Random(0).bytes(element, 1, Some(low), Some(high))?;
        Ok(Vary { element, low, high })
    }

    /// Returns the least and the greatest number of the range, if the type is one of integers.
    pub fn integers(&self) -> Option<(i128, i128)> {
        match (self.low, self.high) {
            (Number::Integer(low), Number::Integer(high)) if !self.element.is_float() => {
                Some((low, high))
            }
            _ => None,
        }
    }

    /// Returns the bytes of a pseudorandom number of the range, determined by the seed.
    pub fn bytes(&self, seed: u64) -> Vec<u8> {
        let bytes = Fill::Random(seed).bytes(self.element, 1, Some(self.low), Some(self.high));
        bytes.unwrap_or_default()
    }
}
