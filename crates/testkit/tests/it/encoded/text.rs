//! Parser of the disassembly of an instruction, independent of the encoding.

/// Base of an operand, without signs and suffixes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Base {
    /// A general register; `None` is RZ.
    Register(Option<u8>),
    /// A predicate; `None` is PT.
    Predicate(Option<u8>),
    /// `c[bank][offset]`, offset in bytes.
    Constant(u8, u32),
    /// `c[bank][register+offset]`.
    Indexed(u8, Option<u8>, i64),
    /// `[register+offset]`.
    Memory(Option<u8>, i64),
    /// A number as text.
    Number(String),
}

/// An operand.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Operand {
    pub(crate) minus: bool,
    pub(crate) bars: bool,
    pub(crate) not: bool,
    pub(crate) base: Base,
    /// Suffixes without `.reuse`, `.NEG` and `.ABS`: `H0_H0`, `CC`, `B1`.
    pub(crate) suffixes: Vec<String>,
}

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Instruction {
    /// Predicate of the guard, and whether it is negated.
    pub(crate) guard: Option<(u8, bool)>,
    pub(crate) mnemonic: String,
    /// Modifiers without their dots.
    pub(crate) modifiers: Vec<String>,
    pub(crate) operands: Vec<Operand>,
}

impl Instruction {
    pub(crate) fn parse(text: &str) -> Instruction {
        let (guard, rest) = match text.strip_prefix('@') {
            None => (None, text),
            Some(rest) => {
                let (guard, rest) = rest.split_once(' ').expect("an opcode");
                let name = guard.trim_start_matches('!');
                let number = name[1..].parse().expect("a numbered predicate");
                (Some((number, name != guard)), rest)
            }
        };
        let (opcode, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut parts = opcode.split('.');
        let mnemonic = parts.next().unwrap_or_default().to_owned();
        Instruction {
            guard,
            mnemonic,
            modifiers: parts.map(str::to_owned).collect(),
            operands: operands.split(", ").map(Operand::parse).collect(),
        }
    }

    pub(crate) fn has(&self, modifier: &str) -> bool {
        self.modifiers.iter().any(|m| m == modifier)
    }
}

impl Operand {
    fn parse(text: &str) -> Operand {
        // Some constants have a blank before the bracket of the offset.
        let text = text.trim().replace(" [", "[");
        let text = text.as_str();
        // The minus of a number is part of it.
        let (minus, text) = strip(text, '-', |rest| rest.starts_with(['R', '|', 'c']));
        let (not, text) = strip(text, '!', |_| true);
        let (bars, text) = match text.strip_prefix('|') {
            Some(rest) => (true, rest.replacen('|', "", 1)),
            None => (false, text.to_owned()),
        };
        let mut operand = Operand {
            minus,
            bars,
            not,
            base: Base::Number(String::new()),
            suffixes: Vec::new(),
        };
        // Suffixes begin with a capital letter, fractions of numbers do not.
        let mut parts = text.split('.');
        let mut base = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match part {
                "reuse" => {}
                "NEG" => operand.minus = true,
                "ABS" => operand.bars = true,
                _ if part.starts_with(char::is_uppercase) => operand.suffixes.push(part.to_owned()),
                _ => base = format!("{base}.{part}"),
            }
        }
        operand.base = Base::parse(base.trim());
        operand
    }

    pub(crate) fn is(&self, suffix: &str) -> bool {
        self.suffixes.iter().any(|s| s == suffix)
    }
}

fn strip(text: &str, sign: char, when: impl Fn(&str) -> bool) -> (bool, &str) {
    match text.strip_prefix(sign) {
        Some(rest) if when(rest) => (true, rest),
        _ => (false, text),
    }
}

impl Base {
    fn parse(text: &str) -> Base {
        if let Some(rest) = text.strip_prefix("c[") {
            let (bank, rest) = rest.split_once("][").expect("two brackets");
            let inside = rest.trim_end_matches(']');
            let bank = number(bank) as u8;
            return match address(inside) {
                (None, offset) if !inside.starts_with('R') => Base::Constant(bank, offset as u32),
                (register, offset) => Base::Indexed(bank, register, offset),
            };
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (register, offset) = address(rest.trim_end_matches(']'));
            return Base::Memory(register, offset);
        }
        match text.as_bytes() {
            // The disassembler prints `???255` where RZ is invalid.
            [b'R', b'Z'] | b"???255" => Base::Register(None),
            [b'P', b'T'] => Base::Predicate(None),
            [b'R', b'0'..=b'9', ..] => Base::Register(text[1..].parse().ok()),
            [b'P', b'0'..=b'9'] => Base::Predicate(text[1..].parse().ok()),
            _ => Base::Number(text.to_owned()),
        }
    }
}

/// Parses an address: `R4+0x10`, `R4+-0x10`, `R4`, `RZ`, `0x10`.
fn address(text: &str) -> (Option<u8>, i64) {
    let register = |text: &str| text.strip_prefix('R').and_then(|n| n.parse().ok());
    match text.split_once('+') {
        Some((base, offset)) => (register(base), number(offset)),
        None if text.starts_with('R') => (register(text), 0),
        None => (None, number(text)),
    }
}

/// Parses a number: `0x1f`, `-0x1f`, `31`.
pub(crate) fn number(text: &str) -> i64 {
    let (minus, digits) = strip(text, '-', |_| true);
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let value = value.unwrap_or_else(|_| unreachable!("no number: {text}")) as i64;
    if minus { value.wrapping_neg() } else { value }
}

#[test]
fn texts() {
    let parsed =
        Instruction::parse("@!P1 HADD2.FTZ.SAT R8.CC, -|R9.H0_H0|.reuse, c[0x3][0x10].NEG");
    assert_eq!(parsed.guard, Some((1, true)));
    assert_eq!(parsed.modifiers, ["FTZ", "SAT"]);
    assert!(parsed.operands[0].is("CC"));
    assert!(parsed.operands[1].minus && parsed.operands[1].bars && parsed.operands[1].is("H0_H0"));
    assert_eq!(parsed.operands[2].base, Base::Constant(3, 16));
    assert!(parsed.operands[2].minus);
    let parsed = Instruction::parse("FADD R8, R9, -3.68833352570482196480e+19.ABS");
    assert_eq!(
        parsed.operands[2].base,
        Base::Number("-3.68833352570482196480e+19".to_owned())
    );
    assert!(parsed.operands[2].bars && !parsed.operands[2].minus);
    let parsed = Instruction::parse("FADD R8, R9, -INF .NEG");
    assert_eq!(parsed.operands[2].base, Base::Number("-INF".to_owned()));
    assert!(parsed.operands[2].minus);
}
