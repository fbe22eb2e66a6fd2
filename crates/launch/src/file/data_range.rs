//! Ranges of the integers in a buffer.

use super::element::ElementType;
use super::number::Number;

/// Range of the integers that a kernel loads from a buffer (`data-ranges` in SOUNDNESS 2). For example, a range of 0
/// to 99 states that indices in the buffer stay within a table of 100 elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataRange {
    /// Minimum number.
    pub least: i64,
    /// Maximum number, at least `least`.
    pub most: i64,
}

impl DataRange {
    /// Returns a range of numbers of a type. All initial contents have to lie in it.
    ///
    /// # Errors
    ///
    /// The type is not an integer type of at most 32 bits, the range is empty or exceeds the type, or a number of the
    /// contents lies outside.
    pub(super) fn new(
        element: ElementType,
        [low, high]: [Number; 2],
        contents: &[u8],
    ) -> Result<DataRange, String> {
        // Derived bounds follow words of 32 bits (SOUNDNESS 5.12).
        let limits = element.range().filter(|_| element.size() <= 4);
        let Some((least, most)) = limits else {
            return Err(format!(
                "range is for integers of at most 32 bits, not for {element}"
            ));
        };
        let (Number::Integer(low), Number::Integer(high)) = (low, high) else {
            return Err(format!("{low} to {high} is no range of integers"));
        };
        if low > high {
            return Err(format!("nothing is between {low} and {high}"));
        }
        let outside = |number: i128| !(least..=most).contains(&number);
        if let Some(number) = [low, high].into_iter().find(|&number| outside(number)) {
            return Err(format!("{number} is no {element}"));
        }
        let mut numbers = contents.chunks_exact(element.size()).enumerate();
        let other = numbers.find_map(|(index, bytes)| {
            let number = element.integer(bytes)?;
            (!(low..=high).contains(&number)).then_some((index, number))
        });
        if let Some((index, number)) = other {
            return Err(format!(
                "number {index} of the contents is {number}, which is not between {low} and {high}"
            ));
        }
        let narrow = |number: i128| i64::try_from(number).ok();
        let range = narrow(low).zip(narrow(high));
        let (least, most) = range.ok_or_else(|| format!("{low} to {high} is too wide"))?;
        Ok(DataRange { least, most })
    }
}
