//! Enumerations whose values have names that options, files and reports share.

/// Enumeration whose values have fixed names in options, files and reports.
pub trait Named: Copy + PartialEq + 'static {
    /// All values with their names, in the order of help texts.
    const ALL: &'static [(Self, &'static str)];

    /// Returns the name of a value.
    fn name(self) -> &'static str {
        let entry = Self::ALL.iter().find(|(value, _)| *value == self);
        entry.map_or("?", |(_, name)| name)
    }

    /// Returns the value with a name.
    fn from_name(name: &str) -> Option<Self> {
        let entry = Self::ALL.iter().find(|(_, known)| *known == name);
        entry.map(|(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Side {
        Left,
        Right,
    }

    impl Named for Side {
        const ALL: &'static [(Side, &'static str)] =
            &[(Side::Left, "left"), (Side::Right, "right")];
    }

    #[test]
    fn names_are_parsed_as_they_are_printed() {
        for &(side, _) in Side::ALL {
            assert_eq!(Side::from_name(side.name()), Some(side));
        }
        assert_eq!(Side::from_name("up"), None);
    }
}
