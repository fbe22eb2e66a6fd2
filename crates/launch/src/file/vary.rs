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
    /// Returns a range of numbers of a type.
    ///
    /// # Errors
    ///
    /// The type cannot represent a bound, or the range is empty.
    pub(super) fn new(element: ElementType, low: Number, high: Number) -> Result<Vary, String> {
        // Drawing a number checks both bounds.
        Fill::Random(0).bytes(element, 1, Some(low), Some(high))?;
        Ok(Vary { element, low, high })
    }

    /// Returns the minimum and the maximum of the range if the type is an integer type.
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
        // `new` has drawn from the same range, so this does not fail.
        bytes.unwrap_or_default()
    }
}
