//! Sets of words between two integers.

use crate::launch_ranges::WordRange;

const SIGNED: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);
const UNSIGNED: (i64, i64) = (0, u32::MAX as i64);

/// Reading of a word as a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Reading {
    /// Two's complement.
    Signed,
    /// Natural number.
    Unsigned,
}

impl Reading {
    /// Limits of the numbers that words have.
    pub(crate) fn limits(self) -> (i64, i64) {
        match self {
            Reading::Signed => SIGNED,
            Reading::Unsigned => UNSIGNED,
        }
    }
}

/// Set of the words that are congruent modulo 2³² to a number between two limits; -2³¹ ≤ `least` ≤ `most` < 2³². For
/// example, the limits -1 and 1 give the words 0xffffffff, 0 and 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Span {
    least: i64,
    most: i64,
}

impl Span {
    /// All words.
    pub(crate) const ANY: Span = Span {
        least: UNSIGNED.0,
        most: UNSIGNED.1,
    };

    /// One word.
    pub(crate) fn one(word: u32) -> Span {
        Span::between(word.into(), word.into())
    }

    /// Words between two numbers; all words if none of their multiples of 2³² is in range.
    pub(crate) fn of_numbers(least: i128, most: i128) -> Span {
        let window = 1i128 << 32;
        // Numbers further apart are congruent to all words.
        let is_close = most
            .checked_sub(least)
            .is_some_and(|width| width < 2 * window);
        let Some(above) = least.checked_sub(SIGNED.0.into()).filter(|_| is_close) else {
            return Span::ANY;
        };
        // The multiple that brings the lower limit to the least number that a span may have.
        let down = above.div_euclid(window) * window;
        let (least, most) = (least - down, most - down);
        match i64::try_from(most) {
            Ok(high) if high <= UNSIGNED.1 && least <= most => {
                // A number below 2³² is in reach of both readings where it is natural.
                Span {
                    least: least as i64,
                    most: high,
                }
            }
            _ => Span::ANY,
        }
        .normal()
    }

    /// Words between two numbers in range.
    pub(crate) fn between(least: i64, most: i64) -> Span {
        Span::of_numbers(least.into(), most.into())
    }

    /// The span of a range that the user states.
    pub(crate) fn of_range(range: WordRange) -> Span {
        Span::of_numbers(range.least.into(), range.most.into())
    }

    /// Whether all words are in it.
    pub(crate) fn is_any(self) -> bool {
        self.most - self.least >= UNSIGNED.1
    }

    /// The limits as numbers read in one way.
    pub(crate) fn as_numbers(self, reading: Reading) -> (i64, i64) {
        let (low, high) = reading.limits();
        for shift in [0, 1i64 << 32, -(1i64 << 32)] {
            let moved = (self.least + shift, self.most + shift);
            if moved.0 >= low && moved.1 <= high {
                return moved;
            }
        }
        (low, high)
    }

    /// A span that contains both.
    pub(crate) fn join(self, other: Span) -> Span {
        let hull = |reading| {
            let (a, b) = (self.as_numbers(reading), other.as_numbers(reading));
            Span {
                least: a.0.min(b.0),
                most: a.1.max(b.1),
            }
        };
        let (signed, unsigned) = (hull(Reading::Signed), hull(Reading::Unsigned));
        match signed.width() < unsigned.width() {
            true => signed,
            false => unsigned,
        }
        .normal()
    }

    /// A span that contains the words in both; either of them if the common words do not form a span. `None` if there
    /// is no such word.
    pub(crate) fn meet(self, other: Span) -> Option<Span> {
        let cut = |reading| {
            let (a, b) = (self.as_numbers(reading), other.as_numbers(reading));
            (a.0.max(b.0), a.1.min(b.1))
        };
        let mut best = match self.width() <= other.width() {
            true => self,
            false => other,
        };
        for reading in [Reading::Signed, Reading::Unsigned] {
            let (least, most) = cut(reading);
            // A word in both spans would be a number within both limits in either reading.
            if least > most {
                return None;
            }
            if most - least < best.width() {
                best = Span { least, most };
            }
        }
        Some(best.normal())
    }

    /// Difference of its limits.
    pub(crate) fn width(self) -> i64 {
        self.most - self.least
    }

    /// The same words by natural numbers if possible, so that equal spans compare equal.
    fn normal(self) -> Span {
        let (least, most) = self.as_numbers(Reading::Unsigned);
        match most - least == self.width() {
            true => Span { least, most },
            false => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_of_small_and_large_words() {
        let negative = Span::between(-3, -1);
        assert_eq!(negative.as_numbers(Reading::Signed), (-3, -1));
        assert_eq!(
            negative.as_numbers(Reading::Unsigned),
            ((1 << 32) - 3, (1 << 32) - 1)
        );
        let around_zero = Span::between(-1, 1);
        assert_eq!(around_zero.as_numbers(Reading::Signed), (-1, 1));
        assert_eq!(around_zero.as_numbers(Reading::Unsigned), UNSIGNED);
        let around_middle = Span::between(i64::from(i32::MAX), i64::from(i32::MAX) + 1);
        assert_eq!(around_middle.as_numbers(Reading::Signed), SIGNED);
        assert_eq!(
            Span::of_numbers(1 << 32, (1 << 32) + 5),
            Span::between(0, 5)
        );
        assert!(Span::of_numbers(0, 1 << 32).is_any());
    }

    #[test]
    fn joins_and_meets_contain_their_words() {
        let samples = [-5i64, -1, 0, 1, 7, (1 << 31) - 1, 1 << 31, (1 << 32) - 1];
        let contains = |span: Span, word: u32| {
            let (low, high) = span.as_numbers(Reading::Unsigned);
            let (slow, shigh) = span.as_numbers(Reading::Signed);
            (low..=high).contains(&i64::from(word))
                && (slow..=shigh).contains(&i64::from(word as i32))
        };
        let mut spans = vec![Span::ANY];
        for &a in &samples {
            for &b in samples.iter().filter(|&&b| b >= a) {
                spans.push(Span::between(a, b));
            }
        }
        for &a in &spans {
            for &b in &spans {
                for word in samples.map(|n| n as u32) {
                    let both = contains(a, word) && contains(b, word);
                    let any = contains(a, word) || contains(b, word);
                    assert!(!any || contains(a.join(b), word), "{a:?} {b:?} {word}");
                    let meet = a.meet(b).is_some_and(|span| contains(span, word));
                    assert!(!both || meet, "{a:?} {b:?} {word}");
                }
            }
        }
    }
}
