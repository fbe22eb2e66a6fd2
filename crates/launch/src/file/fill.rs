//! Patterns for the initial contents of buffers.

use serde::Deserialize;

use super::element::ElementType;
use super::number::Number;

/// Pattern of a buffer's initial contents.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Fill {
    /// Zeros.
    Zeros,
    /// 0, 1, 2, ...
    Iota,
    /// Pseudorandom numbers of a generator with this seed.
    Random(u64),
}

/// Range of random numbers.
#[derive(Clone, Copy)]
enum Range {
    /// First integer, and the number of integers.
    Integer(i128, u128),
    /// Lower end, and the width of the range.
    Float(f64, f64),
}

impl Fill {
    /// Name in launch files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Fill::Zeros => "zeros",
            Fill::Iota => "iota",
            Fill::Random(_) => "random",
        }
    }

    /// Returns the bytes of `count` numbers. Random integers are from `low` to `high` inclusive (default 0 to 99),
    /// random floats from `low` to below `high` (default 0 to 1; rounding may give `high`).
    ///
    /// # Errors
    ///
    /// The type cannot represent a number, or the range is empty.
    pub(super) fn bytes(
        self,
        element: ElementType,
        count: usize,
        low: Option<Number>,
        high: Option<Number>,
    ) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::with_capacity(count.saturating_mul(element.size()));
        let mut put = |number: Number| {
            let done = element.encode(number, &mut bytes);
            done.ok_or_else(|| format!("{number} is no {element}"))
        };
        match self {
            Fill::Zeros => Ok(vec![0; count.saturating_mul(element.size())]),
            Fill::Iota => {
                (0..count).try_for_each(|number| put(Number::Integer(number as i128)))?;
                Ok(bytes)
            }
            Fill::Random(seed) => {
                let range = range(element, low, high)?;
                let mut state = seed;
                for _ in 0..count {
                    let word = next(&mut state);
                    put(match range {
                        Range::Integer(least, all) => {
                            Number::Integer(least + (u128::from(word) % all) as i128)
                        }
                        Range::Float(least, reach) => Number::Float(
                            least + reach * ((word >> 40) as f64 / (1u64 << 24) as f64),
                        ),
                    })?;
                }
                Ok(bytes)
            }
        }
    }
}

/// Returns the range of random numbers; checks that the type can represent its bounds.
fn range(element: ElementType, low: Option<Number>, high: Option<Number>) -> Result<Range, String> {
    for bound in [low, high].into_iter().flatten() {
        let fits = element.encode(bound, &mut Vec::new());
        if fits.is_none() || !bound.float().is_finite() {
            return Err(format!("{bound} is no bound of a random {element}"));
        }
    }
    if element.is_float() {
        let (low, high) = (
            low.map_or(0.0, Number::float),
            high.map_or(1.0, Number::float),
        );
        // The width may overflow although both ends are finite, as from -1e308 to 1e308.
        return match low <= high && (high - low).is_finite() {
            true => Ok(Range::Float(low, high - low)),
            false => Err(format!("nothing is between {low} and {high}")),
        };
    }
    // `encode` has refused float bounds of an integer type.
    let whole = |bound: Option<Number>, other| match bound {
        Some(Number::Integer(value)) => value,
        _ => other,
    };
    let (low, high) = (whole(low, 0), whole(high, 99));
    match u128::try_from(high - low) {
        Ok(reach) => Ok(Range::Integer(low, reach + 1)),
        Err(_) => Err(format!("nothing is between {low} and {high}")),
    }
}

/// Returns the next number of the splitmix64 generator.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
