//! Knowledge of the learner about a row: fields, texts that bits choose, operands that are left out, and values that are
//! no instruction.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::Fields;
use super::frame::Frame;
use super::influence::Scope;
use super::printed::{Slot, Slots, Value};
use super::word_bits::Bits;

/// Piece of the modifiers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// The same for all words.
    Fixed(String),
    /// Chosen by bits.
    Chosen(Bits),
}

/// Texts of a slot by the value of the bits that choose it; `None` where the slot is absent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Choice {
    pub(super) bits: Bits,
    pub(super) texts: BTreeMap<u64, Option<Value>>,
}

/// Tables of the texts that bits choose.
#[derive(Clone, Default, Debug)]
pub(super) struct Choices {
    pub(super) modifiers: Vec<Piece>,
    /// Texts of each chosen piece of the modifiers.
    pub(super) modifier_texts: BTreeMap<Bits, BTreeMap<u64, String>>,
    pub(super) slots: BTreeMap<(usize, Slot), Choice>,
    /// Values of each group of bits that are seen in legal words.
    pub(super) legal: BTreeMap<Bits, BTreeSet<u64>>,
}

/// Groups of bits with combinations of values that are not an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Conflict {
    pub(super) groups: Vec<Bits>,
    pub(super) illegal: BTreeSet<Vec<u64>>,
}

/// Condition under which an operand is not printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hiding {
    /// Number and bits that decide.
    pub(super) kind: HidingKind,
    /// Bits, and their values that hide it.
    pub(super) bits: Bits,
    pub(super) values: BTreeSet<u64>,
}

/// The special value of an operand is RZ, PT, or one value of an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HidingKind {
    /// Hidden if it has its special value.
    Special,
    /// If it has its special value and the bits say so.
    Both,
    /// If the bits say so.
    Chosen,
    /// If one of them holds.
    Either,
}

/// Everything about one row.
#[derive(Clone, Debug)]
pub(super) struct RowModel {
    pub(super) scope: Scope,
    pub(super) frame: Frame,
    /// A legal word with all operands.
    pub(super) base: u128,
    /// Slots of the base word.
    pub(super) constant: Vec<Slots>,
    pub(super) fields: Fields,
    pub(super) choices: Choices,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) hidden: BTreeMap<usize, Hiding>,
    /// Raw values of integers that are not printed.
    pub(super) omitted: BTreeMap<usize, u64>,
    /// Operands whose suffix stands inside the bars.
    pub(super) inside: BTreeSet<usize>,
    /// Operands whose RZ is printed as an error.
    pub(super) bad: BTreeSet<usize>,
    /// Format of each float: a letter of rows.
    pub(super) formats: BTreeMap<usize, char>,
    /// Use of the control field and the guard, as effects.
    pub(super) effects: Vec<String>,
    /// Reuse bits of operands.
    pub(super) reuse: BTreeMap<usize, u8>,
}

/// Unit of change: bits that have one meaning.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Unit {
    pub(super) kind: UnitKind,
    pub(super) bits: Bits,
}

/// Meaning of a unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum UnitKind {
    /// Chooses texts or legality.
    Choice,
    /// A number or a float.
    Field,
    /// Nothing that was seen.
    Ignored,
}

impl RowModel {
    /// Units of all free bits.
    pub(super) fn units(&self) -> Vec<Unit> {
        let unit = |kind| {
            move |bits: &Bits| Unit {
                kind,
                bits: bits.clone(),
            }
        };
        let numbers = self.fields.numbers.values().map(|field| &field.bits);
        let fields: BTreeSet<&Bits> = numbers.chain(self.fields.floats.values()).collect();
        let fields = fields
            .into_iter()
            .filter(|bits| bits.mask() & !self.scope.mask != 0);
        let mut units: Vec<Unit> = self
            .choices
            .legal
            .keys()
            .map(unit(UnitKind::Choice))
            .collect();
        units.extend(fields.map(unit(UnitKind::Field)));
        let used = units.iter().fold(0, |used, unit| used | unit.bits.mask());
        let free = self.scope.free().into_iter();
        let ignored = free.filter(|bit| used >> bit & 1 == 0);
        let ignored: Vec<Bits> = ignored.map(|bit| Bits::new(vec![bit])).collect();
        units.extend(ignored.iter().map(unit(UnitKind::Ignored)));
        units
    }

    /// Slots that a word should have, without those that are the same for all words.
    pub(super) fn expected(&self, word: u128) -> Vec<Slots> {
        let mut slots = vec![Slots::new(); self.frame.shapes.len()];
        for ((at, slot), field) in &self.fields.numbers {
            if let Some(slots) = slots.get_mut(*at) {
                slots.insert(*slot, Value::Number(field.number(word)));
            }
        }
        for ((at, slot), choice) in &self.choices.slots {
            if let (Some(slots), Some(Some(text))) =
                (slots.get_mut(*at), choice.texts.get(&choice.bits.get(word)))
            {
                slots.insert(*slot, text.clone());
            }
        }
        slots
    }
}
