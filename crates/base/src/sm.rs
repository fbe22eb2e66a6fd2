//! Compute architectures of NVIDIA's GPUs. For example, `sm_61` is Pascal. Other numbers than those of the table are
//! parsed and printed, so that files for them can be listed.

use std::fmt;
use std::str::FromStr;

use crate::family::only_decoded;
use crate::{Diagnostic, Family, Named};

/// A compute architecture as files name it: `sm_61`, `sm_90a`, `sm_100f`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sm {
    /// The number, `61` for `sm_61`.
    pub number: u8,
    /// Other GPUs on which the code may run.
    pub reach: SmReach,
}

/// GPUs on which the code of an architecture may run, from the suffix of its name (CUDA programming guide, "feature
/// set compiler targets").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum SmReach {
    /// Later GPUs of the generation, too: the code uses features that all of them have.
    #[default]
    Generation,
    /// Related GPUs: the code uses features that a part of the generation has (suffix `f`).
    Related,
    /// No other GPU: the code uses accelerators that only this one has (suffix `a`).
    Alone,
}

/// Suffixes of names.
impl Named for SmReach {
    const ALL: &'static [(SmReach, &'static str)] = &[
        (SmReach::Generation, ""),
        (SmReach::Related, "f"),
        (SmReach::Alone, "a"),
    ];
}

/// Facts of an architecture that readers of its files need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmFacts {
    /// The number, `61` for `sm_61`.
    pub number: u8,
    /// Name of the GPUs' generation.
    pub generation: &'static str,
    /// Family of the machines; `None` if their instructions cannot be decoded.
    pub family: Option<Family>,
    /// Whether kernels are analysed, as far as the family's instructions allow. Otherwise they are listed and disassembled.
    pub is_analysed: bool,
    /// Size of an instruction in bytes.
    pub instruction_bytes: u32,
    /// Alignment of code sections in bytes.
    pub code_alignment: u32,
    /// Whether bits 31:24 of a code section's `sh_info` state registers. Otherwise only an attribute does.
    pub has_registers_in_section: bool,
    /// Bytes at the start of each section of static shared memory that belong to the system.
    pub reserved_shared: u32,
    /// Number of another architecture with the same instructions, whose code is used if a file has none for this one.
    pub same_code: Option<u8>,
}

impl SmFacts {
    /// Maxwell and Pascal: words of 64 bits with a control word before three of them.
    const fn of_groups(number: u8, generation: &'static str) -> SmFacts {
        SmFacts {
            number,
            generation,
            family: Some(Family::Maxwell),
            is_analysed: true,
            instruction_bytes: 8,
            code_alignment: 32,
            has_registers_in_section: true,
            reserved_shared: 0,
            same_code: None,
        }
    }

    /// Volta to Ada: words of 128 bits.
    const fn of_words(number: u8, generation: &'static str) -> SmFacts {
        SmFacts {
            number,
            generation,
            family: Some(Family::Volta),
            is_analysed: true,
            instruction_bytes: 16,
            code_alignment: 128,
            has_registers_in_section: true,
            reserved_shared: 0,
            same_code: None,
        }
    }

    /// Hopper and later: words of 128 bits, and 1 KiB of the shared memory of a block is the system's.
    const fn of_clusters(number: u8, generation: &'static str) -> SmFacts {
        SmFacts {
            has_registers_in_section: false,
            reserved_shared: 0x400,
            ..SmFacts::of_words(number, generation)
        }
    }

    /// The row of an architecture whose instructions no table has.
    const fn without_table(self) -> SmFacts {
        SmFacts {
            family: None,
            ..self.only_decoded()
        }
    }

    /// The row of an architecture whose instructions are decoded, but were not checked for anything else.
    const fn only_decoded(self) -> SmFacts {
        SmFacts {
            is_analysed: false,
            ..self
        }
    }

    /// Whether kernels are analysed.
    fn has_analyses(&self) -> bool {
        let of_family = |family: Family| family.facts().is_analysed;
        self.is_analysed && self.family.is_some_and(of_family)
    }

    /// The row with code of another architecture.
    const fn with_code_of(self, number: u8) -> SmFacts {
        SmFacts {
            same_code: Some(number),
            ..self
        }
    }
}

/// The architectures whose files can be read, by number (experiments with NVRTC 12.9 and 13.5, `cuobjdump`).
const ARCHITECTURES: [SmFacts; 22] = [
    SmFacts::of_groups(50, "Maxwell"),
    SmFacts::of_groups(52, "Maxwell"),
    SmFacts::of_groups(53, "Maxwell").with_code_of(52),
    SmFacts::of_groups(60, "Pascal"),
    SmFacts::of_groups(61, "Pascal"),
    SmFacts::of_groups(62, "Pascal"),
    SmFacts::of_words(70, "Volta").only_decoded(),
    SmFacts::of_words(72, "Volta").only_decoded(),
    SmFacts::of_words(75, "Turing"),
    SmFacts::of_words(80, "Ampere"),
    SmFacts::of_words(86, "Ampere"),
    SmFacts::of_words(87, "Ampere"),
    SmFacts::of_words(88, "Ampere"),
    SmFacts::of_words(89, "Ada"),
    SmFacts::of_clusters(90, "Hopper"),
    SmFacts::of_clusters(100, "Blackwell"),
    // CUDA 13 has another number for sm_101.
    SmFacts::of_clusters(101, "Blackwell").with_code_of(110),
    SmFacts::of_clusters(103, "Blackwell"),
    SmFacts::of_clusters(107, "Blackwell").without_table(),
    SmFacts::of_clusters(110, "Blackwell").with_code_of(101),
    SmFacts::of_clusters(120, "Blackwell"),
    SmFacts::of_clusters(121, "Blackwell").with_code_of(120),
];

/// First generation whose GPUs have names with suffixes.
const FIRST_WITH_SUFFIX: u8 = 90;

impl Sm {
    /// Name of an architecture whose kernels can be read, for advice to users.
    pub const EXAMPLE: &str = "sm_61";

    /// The architecture with this number whose code runs on later GPUs of its generation.
    pub const fn of(number: u8) -> Sm {
        Sm {
            number,
            reach: SmReach::Generation,
        }
    }

    /// Whether names of the generation may have a suffix.
    pub const fn may_have_suffix(self) -> bool {
        self.number >= FIRST_WITH_SUFFIX
    }

    /// Facts of the architecture; `None` if not even the containers of its code can be read.
    pub fn facts(self) -> Option<&'static SmFacts> {
        let has_name = self.reach == SmReach::Generation || self.may_have_suffix();
        ARCHITECTURES
            .iter()
            .find(|facts| facts.number == self.number && has_name)
    }

    /// Family of the architecture; `None` if its instructions cannot be decoded.
    pub fn family(self) -> Option<Family> {
        self.facts()?.family
    }

    /// Whether kernels of the architecture are analysed.
    pub fn is_supported(self) -> bool {
        self.facts().is_some_and(SmFacts::has_analyses)
    }

    /// Refuses an architecture whose kernels are not analysed.
    ///
    /// # Errors
    ///
    /// A diagnostic with the names of the architecture and of the supported ones.
    pub fn check_supported(self) -> Result<(), Diagnostic> {
        if self.is_supported() {
            return Ok(());
        }
        // Rows are sorted, so neighbours that are analysed are a range.
        let ranges = ARCHITECTURES.chunk_by(|a, b| a.has_analyses() == b.has_analyses());
        let ranges = ranges.filter_map(|rows| match rows {
            [first, .., last] if first.has_analyses() => {
                Some((Sm::of(first.number), Sm::of(last.number)))
            }
            [only] if only.has_analyses() => Some((Sm::of(only.number), Sm::of(only.number))),
            _ => None,
        });
        let supported: Vec<(Sm, Sm)> = ranges.collect();
        let Some((_, last)) = supported.last() else {
            return Ok(());
        };
        let names: Vec<String> = supported
            .iter()
            .map(|(first, last)| format!("{first} to {last}"))
            .collect();
        let found = match self.family() {
            Some(_) => only_decoded(self),
            None if self.facts().is_some() => {
                format!("{self} is not supported yet, only `list` and `extract` read its files")
            }
            None if self.number > last.number => format!("{self} is not supported yet"),
            None => format!("{self} is not supported"),
        };
        let names = names.join(", ");
        Err(Diagnostic::new(format!("{found} ({names} are)")))
    }

    /// Architecture whose code is used if a file has none for this one, because both have the same instructions: sm_52
    /// for sm_53, sm_120 for sm_121, and sm_101 and sm_110, which are two names of one, for each other.
    pub fn fallback(self) -> Option<Sm> {
        let number = self.facts()?.same_code?;
        Some(Sm { number, ..self })
    }
}

impl FromStr for Sm {
    type Err = String;

    /// Reads `sm_61`, `61`, `sm_90a` or `sm_100f`.
    fn from_str(text: &str) -> Result<Sm, String> {
        let name = text.strip_prefix("sm_").unwrap_or(text);
        let end = name.find(|c: char| !c.is_ascii_digit());
        let (digits, suffix) = name.split_at(end.unwrap_or(name.len()));
        match (digits.parse(), SmReach::from_name(suffix)) {
            (Ok(number), Some(reach)) => Ok(Sm { number, reach }),
            _ => Err(format!("{text:?} is no architecture like sm_61")),
        }
    }
}

impl fmt::Display for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, self.reach.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [
            "sm_50", "sm_61", "sm_87", "sm_90a", "sm_100f", "sm_121", "sm_250",
        ] {
            let sm: Sm = name.parse().expect("a name");
            assert_eq!(sm.to_string(), name);
        }
        for name in [
            "sm_", "a", "sm_90b", "sm_90aa", "sm_+61", "sm_256", "sm_9a0",
        ] {
            assert!(name.parse::<Sm>().is_err(), "{name}");
        }
    }

    #[test]
    fn rows_are_sorted_and_the_same_code_has_one_size() {
        assert!(ARCHITECTURES.is_sorted_by_key(|facts| facts.number));
        for facts in ARCHITECTURES {
            let sm = Sm::of(facts.number);
            assert_eq!(sm.facts(), Some(&facts));
            if let Some(same) = sm.fallback() {
                let same = same.facts().expect("it has a row");
                assert_eq!(same.instruction_bytes, facts.instruction_bytes);
                assert_eq!(same.family, facts.family);
            }
        }
        assert_eq!(Sm::of(63).facts(), None);
        let suffixed = Sm {
            number: 61,
            reach: SmReach::Alone,
        };
        assert_eq!(suffixed.facts(), None);
    }
}
