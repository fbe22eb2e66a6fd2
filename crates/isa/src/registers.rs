//! Register files of instruction sets.
//!
//! Each instruction set states its files in a table. For example, `vector 255 R` gives NVIDIA's R0 to R254; R255 is
//! RZ, a constant and no register.

use std::fmt;

use crate::encoding::span::{Lines, Span};

/// Kind of a register file: the contents of a register, and whether a lane or the warp has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RegisterKind {
    /// A word for each lane: NVIDIA's R, AMD's VGPRs.
    Vector,
    /// A bit for each lane, which guards operations: NVIDIA's P.
    Predicate,
    /// Flags of each lane that arithmetic sets and branches test: NVIDIA's condition code.
    Flag,
    /// A word for all lanes that execute together: NVIDIA's UR. Groups of lanes that have diverged do not see each
    /// other's writes, so each lane has a copy, and a write gives all lanes that execute it the same value (SOUNDNESS 21).
    Uniform,
    /// A bit for all lanes that execute together: NVIDIA's UP. Each lane has a copy, as of [`RegisterKind::Uniform`].
    UniformPredicate,
    /// A bit for each lane of the warp, in two words of the scalar file ([`Reg::mask_words`]): AMD's VCC and EXEC. A
    /// branch asks whether any lane is set.
    Mask,
    /// A word for the whole warp: AMD's SGPRs and SCC.
    Scalar,
}

impl RegisterKind {
    /// All kinds.
    pub const ALL: [RegisterKind; 7] = [
        RegisterKind::Vector,
        RegisterKind::Predicate,
        RegisterKind::Flag,
        RegisterKind::Uniform,
        RegisterKind::UniformPredicate,
        RegisterKind::Mask,
        RegisterKind::Scalar,
    ];

    /// Maximum number of registers of a file of this kind, in any instruction set.
    pub const fn capacity(self) -> u16 {
        match self {
            RegisterKind::Vector | RegisterKind::Uniform => 256,
            RegisterKind::Predicate
            | RegisterKind::UniformPredicate
            | RegisterKind::Flag
            | RegisterKind::Mask => 8,
            // AMD's scalar operands have numbers below 128; SCC is 128 and MODE 129.
            RegisterKind::Scalar => 130,
        }
    }

    /// Whether each lane has a register of its own, or a copy. Registers of the other kinds belong to the warp: all lanes
    /// read the same value.
    pub const fn is_per_lane(self) -> bool {
        match self {
            RegisterKind::Vector
            | RegisterKind::Predicate
            | RegisterKind::Flag
            | RegisterKind::Uniform
            | RegisterKind::UniformPredicate => true,
            RegisterKind::Mask | RegisterKind::Scalar => false,
        }
    }

    /// Prefix of register names if no instruction set is known.
    const fn prefix(self) -> &'static str {
        match self {
            RegisterKind::Vector => "R",
            RegisterKind::Predicate => "P",
            RegisterKind::Flag => "CC",
            RegisterKind::Uniform => "UR",
            RegisterKind::UniformPredicate => "UP",
            RegisterKind::Mask => "M",
            RegisterKind::Scalar => "S",
        }
    }

    const fn parse(text: &str, word: Span) -> Option<RegisterKind> {
        let mut at = 0;
        while at < RegisterKind::ALL.len() {
            if word.equals(text, RegisterKind::ALL[at].name()) {
                return Some(RegisterKind::ALL[at]);
            }
            at += 1;
        }
        None
    }

    /// Name in the tables.
    const fn name(self) -> &'static str {
        match self {
            RegisterKind::Vector => "vector",
            RegisterKind::Predicate => "predicate",
            RegisterKind::Flag => "flag",
            RegisterKind::Uniform => "uniform",
            RegisterKind::UniformPredicate => "uniform_predicate",
            RegisterKind::Mask => "mask",
            RegisterKind::Scalar => "scalar",
        }
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

    /// Word of the warp. On AMD GPUs the numbers are the encodings of scalar operands: `s0`..`s101`, VCC 106 and 107,
    /// M0 124, EXEC 126 and 127. In addition, 128 is SCC and 129 MODE.
    pub const fn scalar(number: u8) -> Reg {
        Reg {
            kind: RegisterKind::Scalar,
            number,
        }
    }

    /// AMD's mask of the lanes for which the last comparison held.
    pub const VCC: Reg = Reg {
        kind: RegisterKind::Mask,
        number: 0,
    };

    /// AMD's mask of the active lanes.
    pub const EXEC: Reg = Reg {
        kind: RegisterKind::Mask,
        number: 1,
    };

    /// AMD's scalar condition code, which holds 0 or 1.
    pub const SCC: Reg = Reg::scalar(128);

    /// AMD's rounding, denormal and exception modes.
    pub const MODE: Reg = Reg::scalar(129);

    /// Words of the scalar file that make up a mask, lanes 0 to 31 first; `None` for other registers.
    pub const fn mask_words(self) -> Option<[Reg; 2]> {
        match (self.kind, self.number) {
            (RegisterKind::Mask, 0) => Some([Reg::scalar(106), Reg::scalar(107)]),
            (RegisterKind::Mask, 1) => Some([Reg::scalar(126), Reg::scalar(127)]),
            _ => None,
        }
    }

    /// Predicate register: `P0`..`P6` of NVIDIA.
    pub const fn predicate(number: u8) -> Reg {
        Reg {
            kind: RegisterKind::Predicate,
            number,
        }
    }

    /// Uniform register: `UR0`..`UR254` of NVIDIA.
    pub const fn uniform(number: u8) -> Reg {
        Reg {
            kind: RegisterKind::Uniform,
            number,
        }
    }

    /// Predicate of the uniform datapath: `UP0`..`UP6` of NVIDIA.
    pub const fn uniform_predicate(number: u8) -> Reg {
        Reg {
            kind: RegisterKind::UniformPredicate,
            number,
        }
    }
}

impl Reg {
    /// Register with a name as printed without an instruction set: `R0`, `P6`, `CC`, `M1`, `S103`.
    pub fn named(name: &str) -> Option<Reg> {
        let of_kind = |kind: RegisterKind| {
            let number = match (kind, name.strip_prefix(kind.prefix())?) {
                // The only flag register of an instruction set has no number.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterFile {
    /// Kind.
    pub kind: RegisterKind,
    /// Number of registers, at most [`RegisterKind::capacity`].
    pub count: u16,
    /// Prefix of the register names; the whole name if there is only one register.
    pub prefix: &'static str,
}

/// Register files of an instruction set, at most one of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterFiles {
    /// By [`RegisterKind`].
    files: [Option<RegisterFile>; RegisterKind::ALL.len()],
    /// Text of the file: its rows `name` are searched for registers with a name of their own.
    text: &'static str,
}

impl RegisterFiles {
    /// Parses rows `kind count prefix`, and `name kind number text` for registers with a name of their own; lines that
    /// start with `#` are comments.
    ///
    /// # Errors
    ///
    /// The first line that cannot be read, repeats a kind, or exceeds the capacity of its kind.
    pub const fn parse(text: &'static str) -> Result<RegisterFiles, &'static str> {
        let mut files = [None; RegisterKind::ALL.len()];
        let mut lines = Lines::new(text);
        while let Some(line) = lines.next() {
            if line.word(text).0.equals(text, "name") {
                // Names are read again on each lookup, so a bad row must be found now.
                if parse_name(text, line).is_none() {
                    return Err(line.text(text));
                }
                continue;
            }
            match parse_file(text, line) {
                // A second file of a kind would make registers ambiguous.
                Some(file) if files[file.kind as usize].is_none() => {
                    files[file.kind as usize] = Some(file);
                }
                _ => return Err(line.text(text)),
            }
        }
        Ok(RegisterFiles { files, text })
    }

    /// Parses a compiled-in file. A fault is a build error that shows the line.
    pub(crate) const fn compiled(text: &'static str) -> RegisterFiles {
        match RegisterFiles::parse(text) {
            Ok(files) => files,
            Err(line) => {
                // A line in an error is never empty, so this fails at compile time and shows it.
                assert!(line.is_empty(), "{}", line);
                RegisterFiles {
                    files: [None; RegisterKind::ALL.len()],
                    text,
                }
            }
        }
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &RegisterFile> {
        self.files.iter().flatten()
    }

    /// Number of registers of a kind.
    pub const fn count(&self, kind: RegisterKind) -> u16 {
        // Kinds are numbered in the order of `RegisterKind::ALL`, which is the order of the files.
        match self.files[kind as usize] {
            Some(file) => file.count,
            None => 0,
        }
    }

    /// Whether the instruction set has a register.
    pub const fn has(&self, register: Reg) -> bool {
        (register.number as u16) < self.count(register.kind)
    }

    /// Name of a register in this instruction set; `None` if it has no such register.
    pub fn name(&self, register: Reg) -> Option<String> {
        let file = self.iter().find(|file| file.kind == register.kind)?;
        // A register with a name of its own must not be printed by its number: `vcc_lo`, not `s106`.
        let mut own = self.own_names();
        self.has(register).then(
            || match (own.find(|(known, _)| *known == register), file.count) {
                (Some((_, name)), _) => name.to_owned(),
                // A file of one register, such as the condition code, has no number in its name.
                (None, 1) => file.prefix.to_owned(),
                (None, _) => format!("{}{}", file.prefix, register.number),
            },
        )
    }

    /// Registers with names of their own.
    fn own_names(&self) -> impl Iterator<Item = (Reg, &'static str)> {
        let text = self.text;
        let mut lines = Lines::new(text);
        std::iter::from_fn(move || lines.next()).filter_map(move |line| parse_name(text, line))
    }

    /// Register with a name.
    pub fn named(&self, name: &str) -> Option<Reg> {
        if let Some((register, _)) = self.own_names().find(|(_, known)| *known == name) {
            return self.has(register).then_some(register);
        }
        let number = |file: &RegisterFile| match name.strip_prefix(file.prefix)? {
            "" if file.count == 1 => Some(0),
            digits if file.count > 1 => digits.parse().ok(),
            _ => None,
        };
        let found = self.iter().find_map(|file| {
            Some(Reg {
                kind: file.kind,
                number: number(file)?,
            })
        });
        // Only as printed: no `R007`, and no `s106`, whose name is `vcc_lo`.
        found.filter(|&register| self.name(register).as_deref() == Some(name))
    }
}

const fn parse_file(text: &'static str, line: Span) -> Option<RegisterFile> {
    let (kind, rest) = line.word(text);
    let (count, rest) = rest.word(text);
    let (prefix, rest) = rest.word(text);
    let Some(kind) = RegisterKind::parse(text, kind) else {
        return None;
    };
    let count = match count.number(text, 10) {
        Some(count) if count >= 1 && count <= kind.capacity() as u128 => count as u16,
        _ => return None,
    };
    if prefix.len() == 0 || !rest.is_blank(text) {
        return None;
    }
    Some(RegisterFile {
        kind,
        count,
        prefix: prefix.text(text),
    })
}

/// Parses a row `name kind number text`; `None` for any other.
const fn parse_name(text: &'static str, line: Span) -> Option<(Reg, &'static str)> {
    let (word, rest) = line.word(text);
    let (kind, rest) = rest.word(text);
    let (number, rest) = rest.word(text);
    let (name, rest) = rest.word(text);
    let (Some(kind), Some(number)) = (RegisterKind::parse(text, kind), number.number(text, 10))
    else {
        return None;
    };
    if !word.equals(text, "name") || number >= kind.capacity() as u128 || !rest.is_blank(text) {
        return None;
    }
    let number = number as u8;
    Some((Reg { kind, number }, name.text(text)))
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
        let nvidia = crate::nvidia::REGISTERS;
        assert_eq!(nvidia.name(Reg::CC).as_deref(), Some("CC"));
        assert!(nvidia.has(Reg::vector(254)) && !nvidia.has(Reg::vector(255)));
        assert!(nvidia.has(Reg::predicate(6)) && !nvidia.has(Reg::predicate(7)));
        let amd = crate::amd::REGISTERS;
        for (name, number) in [
            ("s101", 101),
            ("vcc_lo", 106),
            ("exec_hi", 127),
            ("scc", 128),
        ] {
            let kind = RegisterKind::Scalar;
            assert_eq!(amd.named(name), Some(Reg { kind, number }), "{name}");
            assert_eq!(amd.name(Reg { kind, number }).as_deref(), Some(name));
        }
        assert_eq!(amd.named("s106"), None);
        let mini = crate::mini::REGISTERS;
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
