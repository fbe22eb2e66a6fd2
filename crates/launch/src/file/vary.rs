//! Numbers of a launch that other launches like it may have otherwise.

use super::element::ElementType;
use super::fill::Fill;
use super::number::Number;

/// Between which numbers, themselves included, a parameter may lie in other launches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Vary {
    element: ElementType,
    low: Number,
    high: Number,
}

impl Vary {
    /// Bounds of a type.
    ///
    /// # Errors
    ///
    /// For numbers that the type cannot hold, and where nothing is between them.
    pub(super) fn new(element: ElementType, low: Number, high: Number) -> Result<Vary, String> {
        Fill::Random(0).bytes(element, 1, Some(low), Some(high))?;
        Ok(Vary { element, low, high })
    }

    /// The bytes of a number between the bounds; same seed, same number.
    pub fn bytes(&self, seed: u64) -> Vec<u8> {
        let bytes = Fill::Random(seed).bytes(self.element, 1, Some(self.low), Some(self.high));
        bytes.unwrap_or_default()
    }
}
