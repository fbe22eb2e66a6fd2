//! Answers of a disassembler about single words, remembered and taken apart.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::ensure;

use super::printed::{Printed, Style};

/// Bytes of a word.
const WORD: i64 = 16;

/// Disassembler of one chip.
pub(super) trait Disassembler: Sync {
    /// Address at which each word was placed, and its text; `None` for a word that is rejected.
    fn lines(&self, words: &[u128]) -> anyhow::Result<Vec<(u32, Option<String>)>>;

    /// Says that a thread is divided into several, which ask instead of it.
    fn divided(&self, _threads: usize) {}

    /// Says that one of the threads has ended, or all: then the divided one asks again.
    fn ended(&self, _last: bool) {}
}

/// Text of a legal word.
#[derive(Debug)]
pub(super) struct Reading {
    /// Text at address 0, without the names of simple products.
    pub(super) text: String,
    /// The text taken apart.
    pub(super) printed: Printed,
}

/// Answers of the disassembler about words of one opcode.
pub(super) struct Answers<'a> {
    disassembler: &'a dyn Disassembler,
    uniform_zero: i64,
    /// Whether a text depends on the address, so that words are asked at two addresses.
    relative: bool,
    known: HashMap<u128, Option<Arc<Reading>>>,
    legal: Vec<(u128, Arc<Reading>)>,
    asked: usize,
}

impl<'a> Answers<'a> {
    /// Answers of a disassembler in whose texts URZ has a number.
    pub(super) fn new(disassembler: &'a dyn Disassembler, uniform_zero: i64) -> Answers<'a> {
        Answers {
            disassembler,
            uniform_zero,
            // The first words show whether one address is enough.
            relative: true,
            known: HashMap::new(),
            legal: Vec::new(),
            asked: 0,
        }
    }

    /// The same answers for another thread, as far as they are in a scope.
    pub(super) fn within(&self, mask: u128, value: u128) -> Answers<'a> {
        let legal = self.legal(mask, value);
        let known = legal
            .iter()
            .map(|(word, reading)| (*word, Some(reading.clone())));
        Answers {
            known: known.collect(),
            legal,
            asked: 0,
            ..*self
        }
    }

    /// Number of questions that were not answered from memory.
    pub(super) fn asked(&self) -> usize {
        self.asked
    }

    /// The disassembler.
    pub(super) fn disassembler(&self) -> &'a dyn Disassembler {
        self.disassembler
    }

    /// Asks the first words at two addresses, and later ones so only if a text depends on the address.
    pub(super) fn begin(&mut self, words: &[u128]) -> anyhow::Result<()> {
        self.relative = true;
        self.ask(words)?;
        let mut readings = self.legal.iter();
        self.relative = readings.any(|(_, reading)| is_relative(&reading.printed));
        Ok(())
    }

    /// Readings of words; `None` for those that are rejected.
    pub(super) fn ask(&mut self, words: &[u128]) -> anyhow::Result<Vec<Option<Arc<Reading>>>> {
        let mut new: Vec<u128> = Vec::new();
        for word in words {
            if !self.known.contains_key(word) {
                self.known.insert(*word, None);
                new.push(*word);
            }
        }
        if !new.is_empty() {
            self.fetch(&new)?;
        }
        let known = words.iter().map(|word| self.known.get(word));
        Ok(known.map(|reading| reading.cloned().flatten()).collect())
    }

    /// Texts of words that are not remembered.
    pub(super) fn plain(&self, words: &[u128]) -> anyhow::Result<Vec<Option<String>>> {
        let lines = self.disassembler.lines(words)?;
        Ok(lines.into_iter().map(|(_, text)| text).collect())
    }

    /// Reading of a word that was asked.
    pub(super) fn get(&self, word: u128) -> Option<&Arc<Reading>> {
        self.known.get(&word)?.as_ref()
    }

    /// Legal words with fixed bits, in the order of the questions.
    pub(super) fn legal(&self, mask: u128, value: u128) -> Vec<(u128, Arc<Reading>)> {
        let legal = self.legal.iter();
        let legal = legal.filter(|(word, _)| word & mask == value);
        legal.cloned().collect()
    }

    fn fetch(&mut self, words: &[u128]) -> anyhow::Result<()> {
        let mut placed = words.to_vec();
        if self.relative {
            placed.extend(words);
        }
        self.asked += 1;
        let lines = self.disassembler.lines(&placed)?;
        ensure!(lines.len() == placed.len(), "a line for each word");
        let (first, second) = lines.split_at(words.len());
        for (at, (word, (address, text))) in words.iter().zip(first).enumerate() {
            let Some(text) = text else { continue };
            let address = i64::from(*address);
            let other = second.get(at).and_then(|(other, text)| {
                Some(Elsewhere {
                    distance: i64::from(*other) - address,
                    text: text.as_deref()?,
                })
            });
            let reading = Arc::new(self.reading(text, address, other));
            self.known.insert(*word, Some(reading.clone()));
            self.legal.push((*word, reading));
        }
        Ok(())
    }

    /// Reading of a text at an address, with the text of the same word elsewhere.
    fn reading(&self, text: &str, address: i64, other: Option<Elsewhere<'_>>) -> Reading {
        let target = other.and_then(|other| {
            let (before, number) = last_number(text)?;
            let (_, moved) = last_number(other.text)?;
            (other.text != text && moved.wrapping_sub(number) == other.distance)
                .then(|| (before, number.wrapping_sub(address)))
        });
        let text = match target {
            Some((before, number)) => format!("{before}{}", hexadecimal(number)),
            None => text.to_owned(),
        };
        let text = without_product(&text);
        let style = Style {
            uniform_zero: self.uniform_zero,
            next: target.map(|_| WORD),
        };
        Reading {
            printed: Printed::parse(&text, style),
            text,
        }
    }
}

/// Text of a word at a second address.
#[derive(Clone, Copy)]
struct Elsewhere<'a> {
    distance: i64,
    text: &'a str,
}

fn is_relative(printed: &Printed) -> bool {
    let shape = printed.operands.last().map(|operand| operand.shape.trim());
    shape == Some("T")
}

/// Last number of a text in hexadecimal, and what is before it.
fn last_number(text: &str) -> Option<(&str, i64)> {
    let digits = text.rfind("0x")?;
    let negative = text.get(..digits)?.ends_with('-');
    let number = u64::from_str_radix(text.get(digits + 2..)?, 16).ok()? as i64;
    match negative {
        true => Some((text.get(..digits - 1)?, number.wrapping_neg())),
        false => Some((text.get(..digits)?, number)),
    }
}

fn hexadecimal(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{:#x}", number.unsigned_abs())
}

/// The text without the name of a simple product, which depends on whole operands: a row has a piece of its own for it.
pub(super) fn without_product(text: &str) -> String {
    let mut out = text.to_owned();
    if let Some(at) = text.find("IMAD.") {
        for name in [".MOV", ".SHL", ".IADD"] {
            let rest = text.get(at + 4..).unwrap_or_default();
            if let Some(tail) = rest.strip_prefix(name)
                && tail.starts_with(['.', ' '])
            {
                out = format!("{}{tail}", text.get(..at + 4).unwrap_or_default());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{last_number, without_product};

    #[test]
    fn numbers_at_the_end() {
        assert_eq!(last_number("BRA P0, -0x10"), Some(("BRA P0, ", -16)));
        assert_eq!(last_number("NOP"), None);
        assert_eq!(without_product("IMAD.MOV.U32 R1, RZ"), "IMAD.U32 R1, RZ");
        assert_eq!(without_product("IMAD.MOVE R1"), "IMAD.MOVE R1");
    }
}
