//! Values of operands as their text says them, and what an instruction leaves behind.

use super::machine::{BANK, BANK_WORDS, State};
use super::text::{Base, Instruction, Operand, number};

/// What an instruction finds.
pub(crate) struct Before<'a> {
    pub(crate) instruction: &'a Instruction,
    pub(crate) state: &'a State,
    pub(crate) bank: &'a [u32; BANK_WORDS],
    /// The number of the thread.
    pub(crate) thread: u32,
}

/// What is known of a register that holds about something.
#[derive(Clone, Debug)]
pub(crate) enum Near {
    /// A single that differs from a number by so much at most.
    Number(f64, f64),
    /// A pattern that differs from another one by so many units at most.
    Word(u32, u32),
}

impl Near {
    pub(crate) fn holds(&self, word: u32) -> bool {
        match *self {
            Near::Number(value, absolute) => {
                (f64::from(f32::from_bits(word)) - value).abs() <= absolute
            }
            Near::Word(expected, units) => word.abs_diff(expected) <= units,
        }
    }
}

/// What an instruction leaves behind.
#[derive(Clone, Debug)]
pub(crate) struct After {
    pub(crate) state: State,
    /// A register of which only this is known; the state says nothing of it.
    pub(crate) near: Option<(u8, Near)>,
}

impl From<State> for After {
    fn from(state: State) -> After {
        After { state, near: None }
    }
}

pub(crate) const SINGLE_NAN: u32 = 0x7fff_ffff;

impl<'a> Before<'a> {
    pub(crate) fn operand(&self, place: usize) -> &'a Operand {
        let operands = &self.instruction.operands;
        operands
            .get(place)
            .unwrap_or_else(|| unreachable!("no operand {place}: {:?}", self.instruction))
    }

    /// A word of a register or constant, the `nth`, without signs.
    pub(crate) fn word(&self, operand: &Operand, nth: u8) -> u32 {
        match operand.base {
            Base::Register(None) => 0,
            Base::Register(Some(n)) => self.state.register(Some(n + nth)),
            Base::Constant(BANK, offset) => self.bank[offset as usize / 4 + usize::from(nth)],
            _ => unreachable!("no word: {operand:?}"),
        }
    }

    pub(crate) fn single(&self, place: usize) -> u32 {
        let operand = self.operand(place);
        let bits = match &operand.base {
            Base::Number(text) => single_of(text),
            _ => self.word(operand, 0),
        };
        signed(bits, operand, 1 << 31)
    }

    pub(crate) fn double(&self, place: usize) -> u64 {
        let operand = self.operand(place);
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

    pub(crate) fn truth(&self, place: usize) -> bool {
        let operand = self.operand(place);
        match operand.base {
            Base::Predicate(n) => self.state.predicate(n) != operand.not,
            _ => unreachable!("no predicate: {operand:?}"),
        }
    }

    /// The first operand, a register, gets a word.
    pub(crate) fn sets(&self, value: u32) -> After {
        self.sets_words(&[value])
    }

    pub(crate) fn sets_double(&self, value: u64) -> After {
        self.sets_words(&[value as u32, (value >> 32) as u32])
    }

    fn sets_words(&self, values: &[u32]) -> After {
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

    /// The first operand gets about something.
    pub(crate) fn comes_near(&self, near: Near) -> After {
        let near = match self.operand(0).base {
            Base::Register(register) => register.map(|register| (register, near)),
            _ => unreachable!("no register: {:?}", self.instruction),
        };
        After {
            state: self.state.clone(),
            near,
        }
    }

    /// The first two operands, predicates, get truths; `None` where both are the same one.
    pub(crate) fn sets_predicates(&self, values: [bool; 2]) -> Option<After> {
        let mut state = self.state.clone();
        let mut seen = None;
        for (place, value) in values.into_iter().enumerate() {
            let Base::Predicate(number) = self.operand(place).base else {
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

/// The number is a NaN: its text does not say which.
pub(crate) fn is_spelled_nan(operand: &Operand) -> bool {
    matches!(&operand.base, Base::Number(text) if text.ends_with("NAN"))
}

pub(crate) fn single_of(text: &str) -> u32 {
    match text {
        "+INF" => f32::INFINITY.to_bits(),
        "-INF" => f32::NEG_INFINITY.to_bits(),
        "+QNAN" => SINGLE_NAN,
        "-QNAN" => SINGLE_NAN | 1 << 31,
        // Twenty digits are more than enough.
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

/// The integer that a number spells.
pub(crate) fn integer_of(operand: &Operand) -> Option<i64> {
    match &operand.base {
        Base::Number(text) => Some(number(text)),
        _ => None,
    }
}

/// What AND, OR and XOR make of two truths.
pub(crate) fn combine(instruction: &Instruction, a: bool, b: bool) -> bool {
    match instruction.modifiers.last().map(String::as_str) {
        Some("AND") => a && b,
        Some("OR") => a || b,
        Some("XOR") => a != b,
        other => unreachable!("{other:?}"),
    }
}

/// Whether a comparison holds, by its name; `None` stands for numbers that have no order.
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

/// The comparison among the modifiers.
pub(crate) fn comparison(instruction: &Instruction) -> Option<&str> {
    const NAMES: [&str; 16] = [
        "F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU",
        "GEU", "T",
    ];
    let found = instruction.modifiers.iter().map(String::as_str);
    found.clone().find(|m| NAMES.contains(m))
}
