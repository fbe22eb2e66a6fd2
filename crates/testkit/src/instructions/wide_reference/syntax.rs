//! Text of an instruction, as NVIDIA's disassembler prints it: `@!P0 IADD3.X R5, P1, PT, R3, ~R7, RZ, P0, !PT`.

use warpbound_ir::Cell;

use super::without_datapath;

/// Register or predicate, general or uniform, that is not RZ or PT.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterName {
    pub(super) uniform: bool,
    pub(super) number: u8,
}

/// Kind of a source operand, without its signs.
#[derive(Clone, Copy, Debug)]
pub(super) enum SourceValue {
    /// `None` is RZ.
    Register(Option<RegisterName>),
    /// `None` is PT.
    Predicate(Option<RegisterName>),
    Number(i128),
    Constant {
        bank: u8,
        bases: [Option<RegisterName>; 2],
        offset: i64,
    },
    AllPredicates,
    /// The special register that is zero.
    SpecialZero,
    /// Operand that no integer instruction with a reference has.
    Other,
}

/// Source operand: `~R7`, `-c[0x0][0x160]`, `R1.B2`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceOperand<'a> {
    pub(super) value: SourceValue,
    pub(super) minus: bool,
    pub(super) complement: bool,
    pub(super) not: bool,
    pub(super) absolute: bool,
    /// Text after the dot, without `reuse`.
    pub(super) suffix: &'a str,
}

/// Instruction as its text states it.
#[derive(Clone, Debug)]
pub struct WideInstr<'a> {
    /// Opcode and modifiers, which the text writes without blanks: `IMAD.WIDE.U32`.
    pub spelling: &'a str,
    /// Opcode: `UIADD3`.
    pub mnemonic: &'a str,
    /// Guard and whether it is negated; `None` is PT.
    pub guard: (Option<Cell>, bool),
    /// Opcode without the letter of the uniform datapath.
    pub(super) base: &'a str,
    pub(super) modifiers: Vec<&'a str>,
    /// Register that is written, unless it is RZ.
    pub(super) register: Option<RegisterName>,
    /// Predicates that are written, in order; `None` for PT.
    pub(super) predicates: Vec<Option<RegisterName>>,
    pub(super) reads: Vec<SourceOperand<'a>>,
}

impl<'a> WideInstr<'a> {
    /// Parses the text; `None` if it is not an instruction.
    pub fn parse(text: &'a str) -> Option<WideInstr<'a>> {
        let (guard, rest) = match text.strip_prefix('@') {
            Some(rest) => {
                let (guard, rest) = rest.split_once(' ')?;
                let name = guard.trim_start_matches('!');
                let SourceValue::Predicate(name) = value_of(name) else {
                    return None;
                };
                let cell = name.map(RegisterName::predicate_cell);
                ((cell, guard.starts_with('!')), rest)
            }
            None => ((None, false), text),
        };
        let (spelling, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut words = spelling.split('.');
        let mnemonic = words.next()?;
        let all = operands.split(',').map(str::trim);
        let all = all.filter(|text| !text.is_empty()).map(operand);
        let mut instr = WideInstr {
            spelling,
            mnemonic,
            guard,
            base: without_datapath(mnemonic),
            modifiers: words.collect(),
            register: None,
            predicates: Vec::new(),
            reads: all.collect(),
        };
        let written = instr.written_operands();
        for operand in instr.reads.drain(..written) {
            match operand.value {
                SourceValue::Register(name) => instr.register = name,
                SourceValue::Predicate(name) => instr.predicates.push(name),
                _ => {}
            }
        }
        Some(instr)
    }

    /// Number of operands that are written, which are first: one register, and predicates on both sides of it.
    fn written_operands(&self) -> usize {
        match self.base {
            "ISETP" | "PLOP3" => return 2.min(self.reads.len()),
            "R2P" => return 1.min(self.reads.len()),
            _ => {}
        }
        let mut registers = 0;
        let sources = self.reads.iter().position(|operand| match operand.value {
            SourceValue::Register(_) => {
                registers += 1;
                registers > 1
            }
            SourceValue::Predicate(_) => false,
            _ => true,
        });
        sources.unwrap_or(self.reads.len())
    }

    /// Other reading of a sum of three with one predicate: up to sm_90 the text leaves PT out, so that the predicate can belong
    /// to either carry. `None` for all other instructions.
    pub fn with_hidden_carry(&self) -> Option<WideInstr<'a>> {
        let (true, &[only]) = (self.base == "IADD3", self.predicates.as_slice()) else {
            return None;
        };
        let mut other = self.clone();
        other.predicates = vec![None, only];
        Some(other)
    }

    /// Registers that the text names as sources, each with the next one, which belongs to numbers of 64 bits: whether they
    /// are uniform, and their numbers.
    pub fn registers_read(&self) -> impl Iterator<Item = (bool, u8)> + '_ {
        let named = self.reads.iter().flat_map(|operand| match operand.value {
            SourceValue::Register(name) => [name, None],
            SourceValue::Constant { bases, .. } => bases,
            _ => [None; 2],
        });
        let pairs = named.flatten().flat_map(|name| [name, name.after(1)]);
        pairs.map(|name| (name.uniform, name.number))
    }
}

fn operand(text: &str) -> SourceOperand<'_> {
    let mut result = SourceOperand {
        value: SourceValue::Other,
        minus: false,
        complement: false,
        not: false,
        absolute: false,
        suffix: "",
    };
    if let Some(value) = number(text) {
        result.value = SourceValue::Number(value);
        return result;
    }
    let mut rest = text;
    while let Some(sign) = rest.chars().next().filter(|sign| "-~!".contains(*sign)) {
        match sign {
            '-' => result.minus = true,
            '~' => result.complement = true,
            _ => result.not = true,
        }
        rest = &rest[1..];
    }
    if let Some(inner) = rest
        .strip_prefix('|')
        .and_then(|rest| rest.strip_suffix('|'))
    {
        result.absolute = true;
        rest = inner;
    }
    // Suffixes of a constant are after its brackets, and those inside are of registers.
    let end = rest.rfind(']').unwrap_or(0);
    if let Some(dot) = rest[end..].find('.') {
        let suffix = &rest[end + dot + 1..];
        result.suffix = suffix.strip_suffix("reuse").unwrap_or(suffix);
        result.suffix = result.suffix.trim_end_matches('.');
        rest = &rest[..end + dot];
    }
    result.value = value_of(rest);
    result
}

fn number(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let value = i128::from_str_radix(digits.strip_prefix("0x")?, 16).ok()?;
    Some(sign * value)
}

/// Operand without signs and suffixes.
fn value_of(text: &str) -> SourceValue {
    match text {
        "RZ" | "URZ" => return SourceValue::Register(None),
        "PT" | "UPT" => return SourceValue::Predicate(None),
        "PR" => return SourceValue::AllPredicates,
        "SRZ" => return SourceValue::SpecialZero,
        _ => {}
    }
    let (uniform, rest) = match text.strip_prefix('U') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let named = |prefix| {
        let number = rest.strip_prefix(prefix)?.parse().ok()?;
        Some(RegisterName { uniform, number })
    };
    if let Some(name) = named('R') {
        SourceValue::Register(Some(name))
    } else if let Some(name) = named('P') {
        SourceValue::Predicate(Some(name))
    } else {
        constant(text).unwrap_or(SourceValue::Other)
    }
}

/// Constant: `c[0x3][R2+UR4+-0x8]`.
fn constant(text: &str) -> Option<SourceValue> {
    let (bank, address) = text.strip_prefix("c[")?.split_once("][")?;
    let mut bases = [None; 2];
    let mut offset = 0;
    for term in address.strip_suffix(']')?.split('+') {
        match (number(term), value_of(term)) {
            (Some(value), _) => offset += i64::try_from(value).ok()?,
            (None, SourceValue::Register(name)) => {
                *bases.iter_mut().find(|base| base.is_none())? = name;
            }
            _ => return None,
        }
    }
    Some(SourceValue::Constant {
        bank: u8::try_from(number(bank)?).ok()?,
        bases,
        offset,
    })
}
