//! Register files of instruction sets.

use std::fmt;

/// Kind of a register file: what a register holds, and for whom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RegisterKind {
    /// A word for each lane: NVIDIA's R, AMD's VGPRs.
    Vector,
    /// A bit for each lane, which guards operations: NVIDIA's P.
    Predicate,
    /// Flags of each lane that arithmetic sets and branches test: NVIDIA's condition code.
    Flag,
    /// A bit for each lane of the warp in one register that operations read and write as a whole: AMD's EXEC and VCC.
    Mask,
    /// A word for the whole warp: AMD's SGPRs and SCC, NVIDIA's uniform registers.
    Scalar,
}

impl RegisterKind {
    /// All kinds.
    pub const ALL: [RegisterKind; 5] = [
        RegisterKind::Vector,
        RegisterKind::Predicate,
        RegisterKind::Flag,
        RegisterKind::Mask,
        RegisterKind::Scalar,
    ];

    /// Most registers that a file of this kind may have in any instruction set.
    pub const fn capacity(self) -> u16 {
        match self {
            RegisterKind::Vector => 256,
            RegisterKind::Predicate | RegisterKind::Flag | RegisterKind::Mask => 8,
            RegisterKind::Scalar => 104,
        }
    }

    /// Whether each lane has a register of its own. Registers of the other kinds belong to the warp: all lanes read the
    /// same value.
    pub const fn is_per_lane(self) -> bool {
        match self {
            RegisterKind::Vector | RegisterKind::Predicate | RegisterKind::Flag => true,
            RegisterKind::Mask | RegisterKind::Scalar => false,
        }
    }

    /// Prefix of the names of registers where no instruction set is at hand.
    const fn prefix(self) -> &'static str {
        match self {
            RegisterKind::Vector => "R",
            RegisterKind::Predicate => "P",
            RegisterKind::Flag => "CC",
            RegisterKind::Mask => "M",
            RegisterKind::Scalar => "S",
        }
    }

    fn parse(word: &str) -> Option<RegisterKind> {
        Some(match word {
            "vector" => RegisterKind::Vector,
            "predicate" => RegisterKind::Predicate,
            "flag" => RegisterKind::Flag,
            "mask" => RegisterKind::Mask,
            "scalar" => RegisterKind::Scalar,
            _ => return None,
        })
    }
}

/// Register, by its file and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg {
    /// Kind of its file.
    pub kind: RegisterKind,
    /// Number in the file.
    pub number: u8,
}

impl Reg {
    /// The condition code (carry, overflow, sign, zero) as one register.
    pub const CC: Reg = Reg {
        kind: RegisterKind::Flag,
        number: 0,
    };

    /// Vector register: `R0`..`R254` of NVIDIA.
    pub const fn vector(number: u8) -> Reg {
        Reg {
            kind: RegisterKind::Vector,
            number,
        }
    }

    /// Predicate register: `P0`..`P6` of NVIDIA.
    pub const fn predicate(number: u8) -> Reg {
        Reg {
            kind: RegisterKind::Predicate,
            number,
        }
    }
}

impl Reg {
    /// Register with a name as it is printed where no instruction set is at hand: `R0`, `P6`, `CC`, `M1`, `S103`.
    pub fn named(name: &str) -> Option<Reg> {
        let of_kind = |kind: RegisterKind| {
            let number = match (kind, name.strip_prefix(kind.prefix())?) {
                (RegisterKind::Flag, "") => 0,
                (_, digits) => digits.parse().ok()?,
            };
            Some(Reg { kind, number })
        };
        let found = RegisterKind::ALL.into_iter().find_map(of_kind)?;
        // Only as printed: no `R007`, no sign.
        let is_valid = u16::from(found.number) < found.kind.capacity() && found.to_string() == name;
        is_valid.then_some(found)
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.number) {
            (RegisterKind::Flag, 0) => f.write_str(self.kind.prefix()),
            (kind, number) => write!(f, "{}{number}", kind.prefix()),
        }
    }
}

impl fmt::Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Register file of an instruction set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterFile {
    /// Kind.
    pub kind: RegisterKind,
    /// Number of registers, at most [`RegisterKind::capacity`].
    pub count: u16,
    /// Prefix of their names; the name itself if there is one register.
    pub prefix: String,
}

/// Register files of Maxwell and Pascal.
///
/// # Errors
///
/// A fault in the compiled-in file, which a test excludes.
pub(crate) fn nvidia() -> Result<RegisterFiles, String> {
    RegisterFiles::parse(include_str!("../../../isa/nvidia/maxwell.registers"))
}

/// Register files of mini-SIMT.
///
/// # Errors
///
/// A fault in the compiled-in file, which a test excludes.
pub(crate) fn mini() -> Result<RegisterFiles, String> {
    RegisterFiles::parse(include_str!("../../../isa/mini-simt/registers"))
}

/// Register files of an instruction set, at most one of each kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegisterFiles {
    files: Vec<RegisterFile>,
}

impl RegisterFiles {
    /// Parses rows `kind count prefix`; lines that start with `#` are comments.
    ///
    /// # Errors
    ///
    /// The first line that cannot be read, names a kind again or has more registers than its kind may have.
    pub fn parse(text: &str) -> Result<RegisterFiles, String> {
        let mut files: Vec<RegisterFile> = Vec::new();
        for line in text.lines() {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let file = parse_file(line).filter(|file| files.iter().all(|f| f.kind != file.kind));
            files.push(file.ok_or_else(|| format!("cannot read the register file `{line}`"))?);
        }
        Ok(RegisterFiles { files })
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &RegisterFile> {
        self.files.iter()
    }

    /// File of a kind; `None` if the instruction set has none.
    pub fn file(&self, kind: RegisterKind) -> Option<&RegisterFile> {
        self.files.iter().find(|file| file.kind == kind)
    }

    /// Whether the instruction set has a register.
    pub fn has(&self, register: Reg) -> bool {
        self.file(register.kind)
            .is_some_and(|file| u16::from(register.number) < file.count)
    }

    /// Name of a register in this instruction set; `None` if it has no such register.
    pub fn name(&self, register: Reg) -> Option<String> {
        let file = self.file(register.kind).filter(|_| self.has(register))?;
        Some(match file.count {
            1 => file.prefix.clone(),
            _ => format!("{}{}", file.prefix, register.number),
        })
    }

    /// Register with a name.
    pub fn named(&self, name: &str) -> Option<Reg> {
        let number = |file: &RegisterFile| match name.strip_prefix(&file.prefix)? {
            "" if file.count == 1 => Some(0),
            digits if file.count > 1 => digits.parse().ok(),
            _ => None,
        };
        let found = self.files.iter().find_map(|file| {
            Some(Reg {
                kind: file.kind,
                number: number(file)?,
            })
        });
        // Only as printed: no `R007`.
        found.filter(|&register| self.name(register).as_deref() == Some(name))
    }
}

fn parse_file(line: &str) -> Option<RegisterFile> {
    let mut words = line.split_whitespace();
    let kind = RegisterKind::parse(words.next()?)?;
    let count = words.next()?.parse().ok()?;
    let prefix = words.next()?.to_owned();
    let is_complete = words.next().is_none();
    (is_complete && (1..=kind.capacity()).contains(&count)).then_some(RegisterFile {
        kind,
        count,
        prefix,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GCN: &str = "vector 256 v\nscalar 104 s\nmask 2 m\n";

    #[test]
    fn names_are_read_as_they_are_printed() {
        let files = RegisterFiles::parse(GCN).expect("three files");
        for file in files.iter() {
            for number in 0..file.count {
                let register = Reg {
                    kind: file.kind,
                    number: number as u8,
                };
                let name = files.name(register).expect("a register");
                assert_eq!(files.named(&name), Some(register), "{name}");
            }
        }
        for name in ["", "v", "v256", "s104", "v07", "P0", "m2", "v-1"] {
            assert_eq!(files.named(name), None, "{name}");
        }
    }

    #[test]
    fn names_without_an_instruction_set() {
        for kind in RegisterKind::ALL {
            for number in 0..kind.capacity() {
                let number = number as u8;
                let register = Reg { kind, number };
                assert_eq!(Reg::named(&register.to_string()), Some(register));
            }
        }
        for name in ["", "R", "R256", "P8", "R07", "R+7", "CC0", "X1"] {
            assert_eq!(Reg::named(name), None, "{name}");
        }
    }

    #[test]
    fn files_of_the_instruction_sets() {
        let nvidia = nvidia().expect("well formed");
        assert_eq!(nvidia.name(Reg::CC).as_deref(), Some("CC"));
        assert!(nvidia.has(Reg::vector(254)) && !nvidia.has(Reg::vector(255)));
        assert!(nvidia.has(Reg::predicate(6)) && !nvidia.has(Reg::predicate(7)));
        let mini = mini().expect("well formed");
        assert_eq!(mini.name(Reg::vector(3)).as_deref(), Some("v3"));
        assert_eq!(mini.name(Reg::CC), None);
    }

    #[test]
    fn faults_are_found() {
        for text in [
            "vector 257 R",
            "vector R",
            "row 3 R",
            "mask 2 m 3",
            "mask 0 m",
            "mask 1 a\nmask 1 b",
        ] {
            assert!(RegisterFiles::parse(text).is_err(), "{text}");
        }
    }
}
