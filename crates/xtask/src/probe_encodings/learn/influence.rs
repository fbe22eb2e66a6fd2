//! Changes of the text by each bit of a word, seen by flipping the bits of a few legal words one at a time.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::Answers;
use super::frame::Frame;
use super::printed::{Slot, Slots, Value};

/// Bits that rows can have fields in: all but opcode, guard and control field.
pub(super) const FREE: std::ops::Range<u8> = 16..105;

/// A part of the text that bits change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Part {
    /// Modifiers after the mnemonic.
    Modifiers,
    /// Slot of an operand.
    Slot(usize, Slot),
}

/// Change of a number when a bit flips.
#[derive(Clone, Copy, Debug)]
struct Step {
    was_set: bool,
    from: i64,
    to: i64,
}

/// Changes of the text by the bits of the words of a row.
#[derive(Default, Debug)]
pub(super) struct Influence {
    /// Bits that change each part.
    pub(super) parts: BTreeMap<Part, BTreeSet<u8>>,
    /// Steps of numbers.
    steps: BTreeMap<(usize, Slot), BTreeMap<u8, Vec<Step>>>,
    /// Number of flips of each bit after which each operand was printed.
    shown: BTreeMap<(usize, u8), usize>,
    /// Bits that make each operand appear or disappear.
    pub(super) hiding: BTreeMap<usize, BTreeSet<u8>>,
    /// Number of base words that each bit makes illegal.
    pub(super) illegal: BTreeMap<u8, usize>,
    /// Number of base words whose frame each bit changes.
    pub(super) framing: BTreeMap<u8, usize>,
}

/// Bits with fixed values: the words of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Scope {
    pub(super) mask: u128,
    pub(super) value: u128,
}

impl Scope {
    /// The words that also have the values of some bits of a word.
    pub(super) fn with(self, bits: u128, word: u128) -> Scope {
        Scope {
            mask: self.mask | bits,
            value: self.value & !bits | word & bits,
        }
    }

    /// Bits that are not fixed.
    pub(super) fn free(self) -> Vec<u8> {
        FREE.filter(|bit| self.mask >> bit & 1 == 0).collect()
    }
}

impl Influence {
    /// Flips each free bit of the base words, which have all operands of the frame.
    pub(super) fn find(
        answers: &mut Answers<'_>,
        scope: Scope,
        frame: &Frame,
        bases: &[u128],
    ) -> anyhow::Result<Influence> {
        let free = scope.free();
        let flipped = bases
            .iter()
            .flat_map(|base| free.iter().map(move |bit| base ^ 1 << bit));
        answers.ask(&flipped.collect::<Vec<u128>>())?;
        let mut found = Influence::default();
        for base in bases {
            let Some(reading) = answers.get(*base).cloned() else {
                continue;
            };
            let operands = reading.printed.operands.iter();
            let before: Vec<Slots> = operands.map(|operand| operand.slots.clone()).collect();
            for &bit in &free {
                let Some(changed) = answers.get(base ^ 1 << bit) else {
                    *found.illegal.entry(bit).or_default() += 1;
                    continue;
                };
                let Some(after) = frame.align(&changed.printed, &before) else {
                    *found.framing.entry(bit).or_default() += 1;
                    continue;
                };
                if changed.printed.modifiers != reading.printed.modifiers {
                    found.parts.entry(Part::Modifiers).or_default().insert(bit);
                }
                for (at, (before, after)) in before.iter().zip(after).enumerate() {
                    match after {
                        None => {
                            found.hiding.entry(at).or_default().insert(bit);
                        }
                        Some(after) => {
                            *found.shown.entry((at, bit)).or_default() += 1;
                            found.compare(at, bit, base >> bit & 1 == 1, before, after);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// Records the slots of an operand that a bit changes.
    fn compare(&mut self, at: usize, bit: u8, was_set: bool, before: &Slots, after: &Slots) {
        let slots: BTreeSet<Slot> = before.keys().chain(after.keys()).copied().collect();
        for slot in slots {
            let (from, to) = (before.get(&slot), after.get(&slot));
            if from == to || matches!(slot, Slot::Inside | Slot::Bad) {
                continue;
            }
            let bits = self.parts.entry(Part::Slot(at, slot)).or_default();
            bits.insert(bit);
            if slot.is_number() {
                let steps = self.steps.entry((at, slot)).or_default();
                steps.entry(bit).or_default().push(Step {
                    was_set,
                    from: number(slot, from),
                    to: number(slot, to),
                });
            }
        }
    }

    /// Weight of each bit in the number of a slot: what setting the bit adds, most often. A bit that changes the number
    /// only in few of the words, for example because RZ makes an offset unsigned, is not part of it.
    pub(super) fn weights(&self, at: usize, slot: Slot) -> BTreeMap<u8, i64> {
        let steps = self.steps.get(&(at, slot));
        let usual = |(bit, steps): &(&u8, &Vec<Step>)| {
            let shown = self.shown.get(&(at, **bit)).copied().unwrap_or_default();
            steps.len() * 2 >= shown
        };
        let weights = steps
            .into_iter()
            .flatten()
            .filter(usual)
            .map(|(bit, steps)| {
                let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
                for step in steps {
                    let added = match step.was_set {
                        true => step.from.wrapping_sub(step.to),
                        false => step.to.wrapping_sub(step.from),
                    };
                    *counts.entry(added).or_default() += 1;
                }
                let best = counts.iter().max_by_key(|(_, count)| **count);
                (*bit, best.map_or(0, |(weight, _)| *weight))
            });
        weights.filter(|(_, weight)| *weight != 0).collect()
    }

    /// Slots with numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (usize, Slot)> {
        self.steps.keys().copied()
    }

    /// Bits that change any part, or whether an operand is printed.
    pub(super) fn seen(&self) -> BTreeSet<u8> {
        let parts = self.parts.values().chain(self.hiding.values());
        parts.flatten().copied().collect()
    }
}

/// Number of a slot. A register that is not printed in brackets is RZ, and an offset that is not printed 0.
fn number(slot: Slot, value: Option<&Value>) -> i64 {
    match (value, slot) {
        (Some(value), _) => value.number(),
        (None, Slot::Term(term)) if term.kind == 'R' => 255,
        (None, _) => 0,
    }
}
