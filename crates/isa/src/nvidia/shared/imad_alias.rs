//! Names that the disassembler gives to simple products: `IMAD.MOV`, `IMAD.SHL`, `IMAD.IADD`.
//!
//! For example, a product with RZ is 0, so `IMAD R0, RZ, RZ, R1` is printed as `IMAD.MOV R0, RZ, RZ, R1`.

use super::field::Field;
use warpbound_base::Bits;

/// Fields from which the name follows: `{?imad 74 31:24 39:32}`, or `{?imad 74 31:24 =63:32 71:64}` with an immediate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ImadAlias {
    /// Bit that excludes the names: the carry (`.X`).
    unless: u8,
    /// First factor, a register.
    factor: Field,
    second: Second,
}

/// Second factor.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Second {
    /// Constant.
    Other,
    /// Register.
    Register(Field),
    /// Immediate, with the register that is added.
    Immediate(Field, Field),
}

impl ImadAlias {
    /// Parses the words after `?imad`.
    pub(crate) fn parse(mut words: impl Iterator<Item = &'static str>) -> Option<ImadAlias> {
        let unless = words.next()?.parse().ok().filter(|&bit| bit < 128)?;
        let factor = Field::parse(words.next()?)?;
        let second = match words.next() {
            None => Second::Other,
            Some(text) => match text.strip_prefix('=') {
                Some(immediate) => {
                    Second::Immediate(Field::parse(immediate)?, Field::parse(words.next()?)?)
                }
                None => Second::Register(Field::parse(text)?),
            },
        };
        Some(ImadAlias {
            unless,
            factor,
            second,
        })
    }

    /// Name as a modifier; empty if the product has none.
    pub(crate) fn text(&self, word: u128) -> &'static str {
        /// Number of RZ.
        const ZERO: u64 = 255;
        if word.bit(self.unless) {
            return "";
        }
        let is_zero = |field: &Field| field.get(word) == ZERO;
        match &self.second {
            _ if is_zero(&self.factor) => ".MOV",
            Second::Register(field) if is_zero(field) => ".MOV",
            Second::Immediate(immediate, added) => match (immediate.get(word), is_zero(added)) {
                (0, _) | (1, true) => ".MOV",
                (1, false) => ".IADD",
                // The disassembler leaves out 0x10000.
                (0x1_0000, true) => "",
                (number, true) if number.is_power_of_two() && number < 1 << 31 => ".SHL",
                _ => "",
            },
            Second::Other | Second::Register(_) => "",
        }
    }
}
