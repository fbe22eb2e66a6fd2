//! Comparison of buffers with their expected final contents.

use super::element::ElementType;

/// Expected final contents of a buffer.
#[derive(Clone, PartialEq, Debug)]
pub struct Expected {
    /// Expected bytes, as many as the buffer has.
    pub bytes: Vec<u8>,
    /// Relative tolerance of floats, as a fraction of the expected number.
    pub relative: f64,
    /// Absolute tolerance of floats.
    pub absolute: f64,
}

impl ElementType {
    /// Whether a number equals the expected one or, if it is a float, lies within the larger of the two tolerances.
    /// With a tolerance, any two NaNs match, and so do the two zeros; an infinity matches only itself. For example,
    /// with a relative tolerance of 0.01, 100 matches an expected 101 and does not match 102.
    pub fn matches(self, found: &[u8], expected: &[u8], tolerance: &Expected) -> bool {
        // Identical bytes match without a tolerance even if the number is a NaN or an infinity.
        if found == expected {
            return true;
        }
        // Integers have no tolerance.
        let (Some(found), Some(expected)) = (self.to_f64(found), self.to_f64(expected)) else {
            return false;
        };
        if tolerance.relative == 0.0 && tolerance.absolute == 0.0 {
            return false;
        }
        let limit = tolerance.absolute.max(tolerance.relative * expected.abs());
        found.is_nan() && expected.is_nan()
            // An infinite expectation would make the relative limit infinite, so that every number matched.
            || expected.is_finite() && (found - expected).abs() <= limit
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
        // The two zeros differ in their bits.
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
