//! What a buffer holds at the end.

use super::element::ElementType;

/// What a buffer holds at the end.
#[derive(Clone, PartialEq, Debug)]
pub struct Expected {
    /// The numbers, as many as the buffer has.
    pub bytes: Vec<u8>,
    /// By how much of an expected number a float may differ from it.
    pub relative: f64,
    /// By how much a float may differ in any case.
    pub absolute: f64,
}

impl ElementType {
    /// Whether a number is the expected one, or near enough for a float. With a tolerance NaN is near NaN, and zero near
    /// minus zero; no float is near an infinite one but itself.
    pub fn matches(self, found: &[u8], expected: &[u8], near: &Expected) -> bool {
        if found == expected {
            return true;
        }
        let (Some(found), Some(expected)) = (self.to_f64(found), self.to_f64(expected)) else {
            return false;
        };
        if near.relative == 0.0 && near.absolute == 0.0 {
            return false;
        }
        let may = near.absolute.max(near.relative * expected.abs());
        found.is_nan() && expected.is_nan()
            || expected.is_finite() && (found - expected).abs() <= may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_floats() {
        let matches = |found: f32, expected: f32, relative: f64, absolute: f64| {
            let near = Expected {
                bytes: Vec::new(),
                relative,
                absolute,
            };
            ElementType::F32.matches(&found.to_le_bytes(), &expected.to_le_bytes(), &near)
        };
        assert!(matches(1.0, 1.0, 0.0, 0.0));
        assert!(!matches(1.0, 1.0f32.next_up(), 0.0, 0.0));
        assert!(matches(100.0, 101.0, 0.01, 0.0) && !matches(100.0, 102.0, 0.01, 0.0));
        assert!(matches(0.5, 0.75, 0.0, 0.25) && !matches(0.5, 0.8, 0.0, 0.25));
        assert!(!matches(0.0, -0.0, 0.0, 0.0) && matches(0.0, -0.0, 0.1, 0.0));
        assert!(!matches(f32::NAN, -f32::NAN, 0.0, 0.0) && matches(f32::NAN, -f32::NAN, 0.1, 0.0));
        assert!(!matches(f32::NAN, 1.0, 9.0, 9.0) && !matches(1.0, f32::NAN, 9.0, 9.0));
        assert!(!matches(f32::MAX, f32::INFINITY, 1.0, f64::MAX));
        assert!(matches(f32::INFINITY, f32::INFINITY, 1.0, 1.0));
    }

    #[test]
    fn integers_are_equal_or_not() {
        let near = Expected {
            bytes: Vec::new(),
            relative: 1.0,
            absolute: 9.0,
        };
        assert!(ElementType::S16.matches(&[1, 0], &[1, 0], &near));
        assert!(!ElementType::S16.matches(&[1, 0], &[2, 0], &near));
    }
}
