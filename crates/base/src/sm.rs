//! Compute architectures of NVIDIA's GPUs. For example, `sm_61` is Pascal. Other numbers than those supported are
//! parsed and printed, so that files for them can be listed.

use std::fmt;
use std::str::FromStr;

use crate::{Diagnostic, Family};

/// A compute architecture as ELF flags name it: `sm_61`, `sm_90a`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sm {
    /// The number, `61` for `sm_61`.
    pub number: u8,
    /// Whether the code uses architecture-specific accelerators (suffix `a`).
    pub accelerators: bool,
}

/// Number of the newest supported architecture.
const NEWEST_SUPPORTED: u8 = 62;

impl Sm {
    /// Name of an architecture whose kernels can be read, for advice to users.
    pub const EXAMPLE: &str = "sm_61";

    /// Family of the architecture; `None` if its kernels cannot be read.
    pub fn family(self) -> Option<Family> {
        match (self.number, self.accelerators) {
            // 64-bit instruction words, control words between them and an activation stack.
            (50 | 52 | 53 | 60 | 61 | 62, false) => Some(Family::Maxwell),
            _ => None,
        }
    }

    /// Refuses an unsupported architecture.
    ///
    /// # Errors
    ///
    /// A diagnostic with the names of the architecture and of the supported ones.
    pub fn check_supported(self) -> Result<(), Diagnostic> {
        if self.family().is_some() {
            Ok(())
        } else {
            let not = if self.number > NEWEST_SUPPORTED {
                "not supported yet"
            } else {
                "not supported"
            };
            Err(Diagnostic::new(format!(
                "{self} is {not} (sm_50 to sm_62 are)"
            )))
        }
    }

    /// Architecture whose code is used if a file has none for this one. Only sm_53 has one: sm_52, which has the same
    /// instructions.
    pub fn fallback(self) -> Option<Sm> {
        let sm_53 = Sm {
            number: 53,
            accelerators: false,
        };
        (self == sm_53).then_some(Sm { number: 52, ..self })
    }
}

impl FromStr for Sm {
    type Err = String;

    /// Reads `sm_61`, `61` or `sm_90a`.
    fn from_str(text: &str) -> Result<Sm, String> {
        let digits = text.strip_prefix("sm_").unwrap_or(text);
        let (digits, accelerators) = match digits.strip_suffix('a') {
            Some(digits) => (digits, true),
            None => (digits, false),
        };
        match digits.parse() {
            // `parse` alone would also accept a sign, as in `+61`.
            Ok(number) if digits.bytes().all(|b| b.is_ascii_digit()) => Ok(Sm {
                number,
                accelerators,
            }),
            _ => Err(format!("{text:?} is no architecture like sm_61")),
        }
    }
}

impl fmt::Display for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.accelerators { "a" } else { "" };
        write!(f, "sm_{}{suffix}", self.number)
    }
}
