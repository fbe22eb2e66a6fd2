//! Texts that a disassembler prints, taken apart: mnemonic, modifiers, and operands with their numbers, signs and
//! suffixes. For example, `FADD.FTZ R0, -|R1|` has the modifier `.FTZ` and two registers; the second is negated
//! and absolute.

use std::collections::BTreeMap;

/// Part of an operand that bits can change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Slot {
    /// Number of a register, or an integer.
    Number,
    /// Digits of a float.
    Float,
    /// A word that is none of the others.
    Word,
    /// `-` before the operand.
    Negated,
    /// `~` before it.
    Inverted,
    /// `!` before it.
    Not,
    /// Bars around it.
    Absolute,
    /// Text after it: `.H1`.
    Suffix,
    /// The text after it stands before the second bar.
    Inside,
    /// The number is printed as an error: `???255`.
    Bad,
    /// Number of a term in brackets.
    Term(Term),
    /// Text after a term.
    TermSuffix(Term),
}

/// Term of a sum in brackets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Term {
    /// Number of the pair of brackets.
    pub(super) group: u8,
    /// `R`, `G` (uniform register), `I` (offset) or `W` (a word).
    pub(super) kind: char,
    /// Number among the terms of this kind.
    pub(super) nth: u8,
}

impl Slot {
    /// Whether its values are numbers that fields encode.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Slot::Number) || matches!(self, Slot::Term(term) if term.kind != 'W')
    }
}

/// Value of a slot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Value {
    Number(i64),
    Text(String),
}

impl Value {
    /// Number, 0 for a text.
    pub(super) fn number(&self) -> i64 {
        match self {
            Value::Number(number) => *number,
            Value::Text(_) => 0,
        }
    }

    /// Text, empty for a number.
    pub(super) fn text(&self) -> &str {
        match self {
            Value::Number(_) => "",
            Value::Text(text) => text,
        }
    }
}

/// Slots of an operand that are present.
pub(super) type Slots = BTreeMap<Slot, Value>;

/// Kind of an operand: `R`, `G`, `P`, `L`, `B` (as rows call them), `I` (integer), `T` (code address), `F` (float), `W`
/// (word), or the text around the brackets, such as `desc[][]`. A blank before it replaces the comma.
pub(super) type Shape = String;

/// Operand as printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Operand {
    pub(super) shape: Shape,
    pub(super) slots: Slots,
}

/// Text as printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Printed {
    /// `FADD`.
    pub(super) mnemonic: String,
    /// Modifiers with their dots.
    pub(super) modifiers: Vec<String>,
    pub(super) operands: Vec<Operand>,
}

/// Properties of the printed language that differ between chips and words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Number of URZ.
    pub(super) uniform_zero: i64,
    /// Whether the last number is a code address that counts from the next instruction, which this number is.
    pub(super) next: Option<i64>,
}

impl Printed {
    /// Takes a text apart. A guard is left out.
    pub(super) fn parse(text: &str, style: Style) -> Printed {
        let text = match text.strip_prefix('@').and_then(|text| text.split_once(' ')) {
            Some((_, rest)) => rest,
            None => text,
        };
        let (head, rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut words = head.split('.');
        let mnemonic = words.next().unwrap_or_default().to_owned();
        let mut operands = Vec::new();
        for part in split_operands(rest) {
            // `R20 0x5f0`: a register, and an offset after a blank.
            match part.rsplit_once(' ') {
                Some((first, second)) if integer(second).is_some() && !first.contains('{') => {
                    operands.push(operand(first.trim(), style));
                    let Operand { shape, slots } = operand(second, style);
                    let shape = format!(" {shape}");
                    operands.push(Operand { shape, slots });
                }
                _ => operands.push(operand(part, style)),
            }
        }
        if let (Some(next), Some(last)) = (style.next, operands.last_mut())
            && let Some(Value::Number(number)) = last.slots.get_mut(&Slot::Number)
        {
            *number = number.wrapping_sub(next);
            last.shape = last.shape.replace('I', "T");
        }
        Printed {
            mnemonic,
            modifiers: words.map(|word| format!(".{word}")).collect(),
            operands,
        }
    }

    /// Shapes of the operands.
    pub(super) fn shapes(&self) -> Vec<Shape> {
        let shapes = self.operands.iter().map(|operand| operand.shape.clone());
        shapes.collect()
    }
}

/// Splits at commas outside brackets and braces.
fn split_operands(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default().trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn operand(text: &str, style: Style) -> Operand {
    let (mut slots, rest) = signs(text);
    if let Some(operand) = brackets(rest, slots.clone(), style) {
        return operand;
    }
    let end = rest.find(['.', '|']).unwrap_or(rest.len());
    let (name, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if let Some((shape, number, bad)) = register(name, style)
        && let Some(tail) = after(tail)
    {
        slots.insert(Slot::Number, Value::Number(number));
        slots.extend(tail);
        if bad {
            slots.insert(Slot::Bad, Value::Text("?".to_owned()));
        }
        return Operand {
            shape: shape.to_owned(),
            slots,
        };
    }
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let end = unsigned.find('.').unwrap_or(unsigned.len()) + (text.len() - unsigned.len());
    let (number, tail) = text.split_at_checked(end).unwrap_or((text, ""));
    if let Some(number) = integer(number) {
        return suffixed("I", Slot::Number, Value::Number(number), tail);
    }
    let digits = float_end(text);
    if let Some((number, tail)) = text.split_at_checked(digits)
        && digits > 0
        && (tail.is_empty() || tail.starts_with('.'))
    {
        return suffixed("F", Slot::Float, Value::Text(number.to_owned()), tail);
    }
    suffixed("W", Slot::Word, Value::Text(text.to_owned()), "")
}

fn suffixed(shape: &str, slot: Slot, value: Value, tail: &str) -> Operand {
    let mut slots = Slots::from([(slot, value)]);
    if !tail.is_empty() {
        slots.insert(Slot::Suffix, Value::Text(tail.to_owned()));
    }
    Operand {
        shape: shape.to_owned(),
        slots,
    }
}

/// Signs before an operand, and the rest.
fn signs(text: &str) -> (Slots, &str) {
    let mut slots = Slots::new();
    let mut rest = text;
    loop {
        let slot = match rest.chars().next() {
            Some('-') => Slot::Negated,
            Some('~') => Slot::Inverted,
            Some('!') => Slot::Not,
            Some('|') => Slot::Absolute,
            _ => return (slots, rest),
        };
        slots.insert(slot, Value::Text("1".to_owned()));
        rest = rest.get(1..).unwrap_or_default();
    }
}

/// Slots of what stands after a register or a bracket: `|`, `.H1`, `.H1|`.
fn after(tail: &str) -> Option<Slots> {
    let mut slots = Slots::new();
    let (inside, tail) = match tail.strip_suffix('|') {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, tail.trim_start_matches('|')),
    };
    if !tail.is_empty() {
        if !tail.starts_with('.') {
            return None;
        }
        slots.insert(Slot::Suffix, Value::Text(tail.to_owned()));
        if inside {
            slots.insert(Slot::Inside, Value::Text("1".to_owned()));
        }
    }
    Some(slots)
}

/// Kind and number of a register, and whether it is printed as an error.
fn register(name: &str, style: Style) -> Option<(&'static str, i64, bool)> {
    let numbered = |prefix: &str| -> Option<i64> {
        let digits = name.strip_prefix(prefix)?;
        let plain = digits.chars().all(|c| c.is_ascii_digit());
        digits.parse().ok().filter(|_| plain)
    };
    Some(match name {
        "RZ" => ("R", 255, false),
        "PT" => ("P", 7, false),
        "URZ" => ("G", style.uniform_zero, false),
        "UPT" => ("L", 7, false),
        "???255" => ("R", 255, true),
        "???7" => ("P", 7, true),
        _ => {
            let of = |kind, prefix| numbered(prefix).map(|number| (kind, number, false));
            let general = of("R", "R").or_else(|| of("P", "P"));
            let uniform = || of("G", "UR").or_else(|| of("L", "UP"));
            return general.or_else(uniform).or_else(|| of("B", "B"));
        }
    })
}

/// Integer in hexadecimal, with a sign.
fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let number = u64::from_str_radix(digits.strip_prefix("0x")?, 16).ok()? as i64;
    Some(if negative {
        number.wrapping_neg()
    } else {
        number
    })
}

/// End of the float at the start of a text; 0 if there is none.
fn float_end(text: &str) -> usize {
    let start = usize::from(text.starts_with(['+', '-']));
    let rest = text.get(start..).unwrap_or_default();
    for word in ["INF", "QNAN", "SNAN"] {
        if rest.starts_with(word) {
            return start + word.len();
        }
    }
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()
    };
    let mut end = start + digits(start);
    if end == start {
        return 0;
    }
    if text.get(end..end + 1) == Some(".") && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(text.get(end..end + 2), Some("e+" | "e-")) && digits(end + 2) > 0 {
        end += 2 + digits(end + 2);
    }
    end
}

/// Operand in brackets after its signs: `desc[UR4][R2.64+0x10]`.
fn brackets(text: &str, mut slots: Slots, style: Style) -> Option<Operand> {
    let start = text.find('[')?;
    let end = text.rfind(']')?;
    let name = text.get(..start)?;
    if !name.chars().all(|c| c.is_ascii_lowercase()) {
        return None;
    }
    let inner = text.get(start + 1..end)?;
    let mut shape = name.to_owned();
    let gap = inner.contains("] [");
    let groups = inner.split(if gap { "] [" } else { "][" });
    for (group, terms) in (0u8..).zip(groups) {
        if group > 0 && gap {
            shape.push(' ');
        }
        shape.push_str("[]");
        for text in terms.split('+').filter(|text| !text.is_empty()) {
            add_term(group, text, style, &mut slots);
        }
    }
    slots.extend(after(text.get(end + 1..)?)?);
    Some(Operand { shape, slots })
}

fn add_term(group: u8, text: &str, style: Style, slots: &mut Slots) {
    let end = text.find('.').unwrap_or(text.len());
    let (name, suffix) = text.split_at_checked(end).unwrap_or((text, ""));
    let (kind, value) = match (register(name, style), integer(text)) {
        (Some((kind, number, bad)), _) => {
            if bad {
                slots.insert(Slot::Bad, Value::Text("?".to_owned()));
            }
            (kind.chars().next().unwrap_or('R'), Value::Number(number))
        }
        (None, Some(number)) => ('I', Value::Number(number)),
        (None, None) => ('W', Value::Text(text.to_owned())),
    };
    let mut term = Term {
        group,
        kind,
        nth: 0,
    };
    while slots.contains_key(&Slot::Term(term)) {
        term.nth += 1;
    }
    if kind != 'W' && kind != 'I' && !suffix.is_empty() {
        slots.insert(Slot::TermSuffix(term), Value::Text(suffix.to_owned()));
    }
    slots.insert(Slot::Term(term), value);
}

#[cfg(test)]
mod tests {
    use super::{Printed, Slot, Style, Term, Value};

    const STYLE: Style = Style {
        uniform_zero: 63,
        next: None,
    };

    #[test]
    fn texts_are_taken_apart() {
        let text =
            "@!P0 FADD.FTZ.RM R3, -|R1.H1|, desc[UR4][R2.64+0x10], -1.5e-07, c[0x3] [0x8].U8, B4";
        let printed = Printed::parse(text, STYLE);
        assert_eq!(printed.mnemonic, "FADD");
        assert_eq!(printed.modifiers, [".FTZ", ".RM"]);
        assert_eq!(printed.shapes(), ["R", "R", "desc[][]", "F", "c[] []", "B"]);
        let [first, second, address, ..] = &printed.operands[..] else {
            panic!("operands");
        };
        assert_eq!(first.slots[&Slot::Number], Value::Number(3));
        assert!(second.slots.contains_key(&Slot::Negated));
        assert!(second.slots.contains_key(&Slot::Inside));
        let base = Term {
            group: 1,
            kind: 'R',
            nth: 0,
        };
        assert_eq!(address.slots[&Slot::Term(base)], Value::Number(2));
        assert_eq!(
            address.slots[&Slot::TermSuffix(base)],
            Value::Text(".64".to_owned())
        );
    }

    #[test]
    fn targets_count_from_the_next_instruction() {
        let style = Style {
            next: Some(16),
            ..STYLE
        };
        let printed = Printed::parse("BRA P0, -0x10", style);
        assert_eq!(printed.shapes(), ["P", "T"]);
        let printed = Printed::parse("BRX R2 -0x10", STYLE);
        assert_eq!(printed.shapes(), ["R", " I"]);
    }
}
