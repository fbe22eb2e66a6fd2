//! Values of operands by their text, and the state after an instruction.

use super::machine::{BANK, BANK_WORDS, State};
use super::text::{Base, Instruction, Operand, number};

/// State before an instruction.
pub(crate) struct InitialState<'a> {
    pub(crate) instruction: &'a Instruction,
    pub(crate) state: &'a State,
    pub(crate) bank: &'a [u32; BANK_WORDS],
    /// Index of the thread.
    pub(crate) thread: u32,
}

/// Expected value of a register with a tolerance.
#[derive(Clone, Debug)]
pub(crate) enum Tolerance {
    /// Single, with a maximum difference from a number.
    Number(f64, f64),
    /// Bits, with a maximum difference from a pattern in units.
    Word(u32, u32),
}

impl Tolerance {
    pub(crate) fn holds(&self, word: u32) -> bool {
        match *self {
            Tolerance::Number(value, absolute) => {
                (f64::from(f32::from_bits(word)) - value).abs() <= absolute
            }
            Tolerance::Word(expected, units) => word.abs_diff(expected) <= units,
        }
    }
}

/// State after an instruction.
#[derive(Clone, Debug)]
pub(crate) struct FinalState {
    pub(crate) state: State,
    /// Register with a tolerance, which replaces its value in `state`.
    pub(crate) tolerance: Option<(u8, Tolerance)>,
}

impl From<State> for FinalState {
    fn from(state: State) -> FinalState {
        FinalState {
            state,
            tolerance: None,
        }
    }
}

pub(crate) const SINGLE_NAN: u32 = 0x7fff_ffff;

impl<'a> InitialState<'a> {
    pub(crate) fn operand(&self, index: usize) -> &'a Operand {
        let operands = &self.instruction.operands;
        operands
            .get(index)
            .unwrap_or_else(|| unreachable!("no operand {index}: {:?}", self.instruction))
    }

    /// Returns the `nth` word of a register or constant, without signs.
    pub(crate) fn word(&self, operand: &Operand, nth: u8) -> u32 {
        match operand.base {
            Base::Register(None) => 0,
            Base::Register(Some(n)) => self.state.register(Some(n + nth)),
            Base::Constant(BANK, offset) => self.bank[offset as usize / 4 + usize::from(nth)],
            _ => unreachable!("no word: {operand:?}"),
        }
    }

    pub(crate) fn single(&self, index: usize) -> u32 {
        let operand = self.operand(index);
        let bits = match &operand.base {
            Base::Number(text) => single_of(text),
            _ => self.word(operand, 0),
        };
        signed(bits, operand, 1 << 31)
    }

    pub(crate) fn double(&self, index: usize) -> u64 {
        let operand = self.operand(index);
        let bits = match &operand.base {
            Base::Number(text) => double_of(text),
            _ => {
                let [low, high] = [0, 1].map(|nth| u64::from(self.word(operand, nth)));
                high << 32 | low
            }
        };
        let sign = 1 << 63;
        let bits = if operand.bars { bits & !sign } else { bits };
        if operand.minus { bits ^ sign } else { bits }
    }

    pub(crate) fn truth(&self, index: usize) -> bool {
        let operand = self.operand(index);
        match operand.base {
            Base::Predicate(n) => self.state.predicate(n) != operand.not,
            _ => unreachable!("no predicate: {operand:?}"),
        }
    }

    /// Writes a word to the first operand, a register.
    pub(crate) fn set_register(&self, value: u32) -> FinalState {
        self.sets_words(&[value])
    }

    pub(crate) fn sets_double(&self, value: u64) -> FinalState {
        self.sets_words(&[value as u32, (value >> 32) as u32])
    }

    fn sets_words(&self, values: &[u32]) -> FinalState {
        let mut state = self.state.clone();
        match self.operand(0).base {
            Base::Register(None) => {}
            Base::Register(Some(first)) => {
                for (n, value) in (first..).zip(values) {
                    state.set(Some(n), *value);
                }
            }
            _ => unreachable!("no register: {:?}", self.instruction),
        }
        state.into()
    }

    /// Writes a value with a tolerance to the first operand.
    pub(crate) fn set_register_within(&self, tolerance: Tolerance) -> FinalState {
        let tolerance = match self.operand(0).base {
            Base::Register(register) => register.map(|register| (register, tolerance)),
            _ => unreachable!("no register: {:?}", self.instruction),
        };
        FinalState {
            state: self.state.clone(),
            tolerance,
        }
    }

    /// Writes truth values to the first two operands, predicates; `None` if both are the same one.
    pub(crate) fn set_predicates(&self, values: [bool; 2]) -> Option<FinalState> {
        let mut state = self.state.clone();
        let mut seen = None;
        for (index, value) in values.into_iter().enumerate() {
            let Base::Predicate(number) = self.operand(index).base else {
                unreachable!("no predicate: {:?}", self.instruction);
            };
            if number.is_some() && number == seen {
                return None;
            }
            seen = number;
            state.set_predicate(number, value);
        }
        Some(state.into())
    }
}

pub(crate) fn signed(bits: u32, operand: &Operand, sign: u32) -> u32 {
    let bits = if operand.bars { bits & !sign } else { bits };
    if operand.minus { bits ^ sign } else { bits }
}

/// Whether a number is a NaN, whose text does not determine its bits.
pub(crate) fn is_spelled_nan(operand: &Operand) -> bool {
    matches!(&operand.base, Base::Number(text) if text.ends_with("NAN"))
}

pub(crate) fn single_of(text: &str) -> u32 {
    match text {
        "+INF" => f32::INFINITY.to_bits(),
        "-INF" => f32::NEG_INFINITY.to_bits(),
        "+QNAN" => SINGLE_NAN,
        "-QNAN" => SINGLE_NAN | 1 << 31,
        // Twenty digits determine a single.
        _ => text.parse::<f32>().expect("a number").to_bits(),
    }
}

pub(crate) fn double_of(text: &str) -> u64 {
    match text {
        "+INF" => f64::INFINITY.to_bits(),
        "-INF" => f64::NEG_INFINITY.to_bits(),
        _ => text.parse::<f64>().expect("a number").to_bits(),
    }
}

/// Returns the integer value of a number.
pub(crate) fn integer_of(operand: &Operand) -> Option<i64> {
    match &operand.base {
        Base::Number(text) => Some(number(text)),
        _ => None,
    }
}

/// Combines two truth values by AND, OR or XOR.
pub(crate) fn combine(instruction: &Instruction, a: bool, b: bool) -> bool {
    match instruction.modifiers.last().map(String::as_str) {
        Some("AND") => a && b,
        Some("OR") => a || b,
        Some("XOR") => a != b,
        other => unreachable!("{other:?}"),
    }
}

/// Whether a comparison holds, by name; `None` is the order of unordered numbers.
pub(crate) fn holds(name: &str, order: Option<std::cmp::Ordering>) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let Some(order) = order else {
        return matches!(
            name,
            "NAN" | "LTU" | "EQU" | "LEU" | "GTU" | "NEU" | "GEU" | "T"
        );
    };
    match name {
        "F" | "NAN" => false,
        "T" | "NUM" => true,
        "LT" | "LTU" => order == Less,
        "EQ" | "EQU" => order == Equal,
        "LE" | "LEU" => order != Greater,
        "GT" | "GTU" => order == Greater,
        "NE" | "NEU" => order != Equal,
        "GE" | "GEU" => order != Less,
        _ => unreachable!("no comparison: {name}"),
    }
}

/// Returns the comparison among the modifiers.
pub(crate) fn comparison(instruction: &Instruction) -> Option<&str> {
    const NAMES: [&str; 16] = [
        "F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU",
        "GEU", "T",
    ];
    let found = instruction.modifiers.iter().map(String::as_str);
    found.clone().find(|m| NAMES.contains(m))
}
