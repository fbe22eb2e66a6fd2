//! Random words of the forms of `isa/nvidia/maxwell.forms`, with registers and constants that have values.

use super::machine::{BANK, BANK_WORDS, FIRST, PREDICATES, REGISTERS};
use super::reference::Random;

static FORMS: &str = include_str!("../../../../../isa/nvidia/maxwell.forms");
static NAMES: &str = include_str!("../../../../../isa/nvidia/maxwell.names");

/// Row of the table.
pub(crate) struct Form {
    pub(crate) value: u64,
    pub(crate) mask: u64,
    pub(crate) mnemonic: &'static str,
    /// Third column: the syntax.
    pub(crate) spelling: &'static str,
}

/// Returns the forms of sm_61 with these mnemonics.
pub(crate) fn forms(mnemonics: &[&str]) -> Vec<Form> {
    let rows = FORMS.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| {
        let columns: Vec<&str> = line.splitn(3, '|').map(str::trim).collect();
        let [head, does, spelling] = columns.as_slice() else {
            return None;
        };
        let (value, mask) = head.split_whitespace().next()?.split_once('/')?;
        let end = spelling.find(['{', ' ', '.']).unwrap_or(spelling.len());
        let mnemonic = &spelling[..end];
        (mnemonics.contains(&mnemonic) && *does != "illegal").then(|| Form {
            value: u64::from_str_radix(value, 16).expect("bits"),
            mask: u64::from_str_radix(mask, 16).expect("bits"),
            mnemonic,
            spelling,
        })
    })
    .collect()
}

impl Form {
    /// Returns the fields in braces, with name and bits only: `=R7:0`, `rnd 52:51`, `.SAT 50`.
    fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let parts = self.spelling.split('{').skip(1);
        parts.filter_map(|part| {
            let inside = part.split_once('}')?.0;
            let mut words = inside.split_whitespace();
            Some((words.next()?, inside))
        })
    }

    /// Returns the modifiers that the form may have, as text.
    pub(crate) fn modifiers(&self) -> Vec<String> {
        // The opcode ends at the first blank outside braces.
        let mut depth = 0;
        let end = self.spelling.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ' ' && depth == 0
        });
        let opcode = Form {
            spelling: &self.spelling[..end.unwrap_or(self.spelling.len())],
            ..*self
        };
        let mut all = Vec::new();
        for (name, inside) in opcode.fields() {
            // Fixed bits select one modifier.
            let bits = inside.split_whitespace().nth(1).unwrap_or_default();
            let is_fixed = |bit: &str| {
                bit.parse::<u32>()
                    .is_ok_and(|bit| self.mask >> bit & 1 == 1)
            };
            if bits.split(':').all(is_fixed) {
                continue;
            }
            match name.starts_with('.') {
                true => all.push(name.to_owned()),
                false => all.extend(names(name)),
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Draws a word of the form.
    pub(crate) fn word(&self, random: &mut Random) -> u64 {
        let bits = match random.below(4) {
            0 => random.bits() & random.bits() & random.bits(),
            1 => random.bits() & random.bits(),
            _ => random.bits(),
        };
        let mut word = self.value | bits & !self.mask;
        let mut put = |high: u32, low: u32, value: u64| {
            let ones = (1u64 << (high - low + 1)) - 1;
            word = word & !(ones << low) | (value & ones) << low;
        };
        for (name, inside) in self.fields() {
            let name = name.trim_start_matches('=');
            let bits = &name[1..];
            let (kind, fixed) = (&name[..1], bits.starts_with(|c: char| c.is_ascii_digit()));
            if !fixed {
                continue;
            }
            match kind {
                "R" | "Y" => {
                    let (high, low) = range(bits);
                    // Groups of up to four registers stay in range.
                    let step = if inside.contains(" x=") { 4 } else { 1 };
                    let places = REGISTERS as u64 / step;
                    let register = match random.below(12) {
                        0 => 255,
                        _ => u64::from(FIRST) + step * random.below(places),
                    };
                    put(high, low, register);
                }
                "P" => {
                    let (high, low) = range(bits);
                    let flip = if inside.contains(" flip") { 7 } else { 0 };
                    let predicate = match random.below(3) {
                        0 => 7,
                        _ => random.below(PREDICATES.into()),
                    };
                    put(high, low, predicate ^ flip);
                }
                "C" => {
                    // C38:34+33:20: bank and word.
                    put(38, 34, BANK.into());
                    put(33, 20, 2 * random.below(BANK_WORDS as u64 / 2 - 1));
                }
                _ => {}
            }
        }
        // Two equal halves.
        if self.spelling.contains("{H56+38:30}, {H29:20}") && random.below(4) == 0 {
            let (half, sign) = (random.bits(), random.bits());
            put(38, 30, half);
            put(28, 20, half);
            put(56, 56, sign);
            put(29, 29, sign);
        }
        // One of 64 kinds of checks is valid.
        if self.spelling.contains("{fchk 44:39}") && random.below(8) != 0 {
            put(44, 39, 0);
        }
        // The guard, mostly PT.
        let guard = match random.below(8) {
            0 => random.below(PREDICATES.into()) | random.below(2) << 3,
            _ => 7,
        };
        put(19, 16, guard);
        word
    }
}

fn range(bits: &str) -> (u32, u32) {
    let (high, low) = bits.split_once(':').expect("two bits");
    let number = |text: &str| text.parse().expect("a bit");
    (number(high), number(low))
}

/// Returns the names that `names NAME` lists, without empty ones.
fn names(name: &str) -> Vec<String> {
    let mut lines = NAMES.lines();
    let first = lines.by_ref().find_map(|line| {
        let rest = line.strip_prefix("names ")?;
        let (found, words) = rest.split_once(' ')?;
        (found == name).then_some(words)
    });
    let rest = lines.take_while(|line| line.starts_with(' '));
    first
        .into_iter()
        .chain(rest)
        .flat_map(str::split_whitespace)
        .filter(|word| !matches!(*word, "-" | "!"))
        .map(str::to_owned)
        .collect()
}
