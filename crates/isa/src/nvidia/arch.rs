use super::span::Span;
use std::fmt;

/// Instruction-set architecture: chips with the same encoding and timing classes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Arch {
    /// First Maxwell: sm_50.
    Sm50,
    /// Second Maxwell: sm_52 and sm_53, which share one encoding.
    Sm52,
    /// GP100: sm_60.
    Sm60,
    /// Other Pascal: sm_61 and sm_62, which share one encoding.
    Sm61,
}

impl Arch {
    /// Every architecture, oldest first.
    pub const ALL: [Arch; 4] = [Arch::Sm50, Arch::Sm52, Arch::Sm60, Arch::Sm61];

    /// Architecture of an SM number as recorded in binaries (`61` for sm_61); `None` for any
    /// number outside Maxwell and Pascal.
    pub fn from_sm(sm: u32) -> Option<Arch> {
        match sm {
            50 => Some(Arch::Sm50),
            52 | 53 => Some(Arch::Sm52),
            60 => Some(Arch::Sm60),
            61 | 62 => Some(Arch::Sm61),
            _ => None,
        }
    }

    /// SM number that names the architecture (the lower one where two chips share it).
    pub const fn sm(self) -> u32 {
        match self {
            Arch::Sm50 => 50,
            Arch::Sm52 => 52,
            Arch::Sm60 => 60,
            Arch::Sm61 => 61,
        }
    }

    pub(crate) const fn index(self) -> usize {
        match self {
            Arch::Sm50 => 0,
            Arch::Sm52 => 1,
            Arch::Sm60 => 2,
            Arch::Sm61 => 3,
        }
    }
}

/// Set of architectures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Archs(u8);

impl Archs {
    /// Every architecture.
    pub(crate) const ALL: Archs = Archs(0b1111);

    /// Whether the set contains the architecture.
    pub(crate) const fn has(self, arch: Arch) -> bool {
        self.0 >> arch.index() & 1 == 1
    }

    /// Parses `all`, `52+` (from sm_52 on) or a list `50,52`; `None` for anything else.
    pub(crate) const fn parse(file: &str, text: Span) -> Option<Archs> {
        if text.equals(file, "all") {
            return Some(Archs::ALL);
        }
        let (first, plus) = text.split(file, b'+');
        let is_open = plus.start > first.end;
        let mut set = 0;
        let mut rest = first;
        while !rest.is_blank(file) {
            let (sm, after) = rest.split(file, b',');
            let Some(sm) = sm.number(file, 10) else {
                return None;
            };
            let mut at = 0;
            let mut is_known = false;
            while at < Arch::ALL.len() {
                let arch = Arch::ALL[at];
                is_known |= arch.sm() as u64 == sm;
                if arch.sm() as u64 == sm || is_open && arch.sm() as u64 > sm {
                    set |= 1 << arch.index();
                }
                at += 1;
            }
            if !is_known {
                return None;
            }
            rest = after;
        }
        if set == 0 { None } else { Some(Archs(set)) }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.sm())
    }
}

#[cfg(test)]
mod tests {
    use super::Arch;

    #[test]
    fn chips_that_share_an_encoding_share_the_architecture() {
        assert_eq!(Arch::from_sm(53), Some(Arch::Sm52));
        assert_eq!(Arch::from_sm(62), Some(Arch::Sm61));
        assert_eq!(Arch::from_sm(70), None);
        assert_eq!(Arch::from_sm(51), None);
    }
}
