//! Tables of texts: all values of each group of bits are tried in two base words.
//!
//! For example, the bits 79:78 may replace nothing, `.RM`, `.RP` and `.RZ` between `.FTZ` and the end of the modifiers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::answers::{Answers, Reading};
use super::frame::Frame;
use super::influence::Scope;
use super::model::{Choice, Choices, Piece};
use super::partition::{Edit, Partition};
use super::printed::{Slot, Slots};
use super::word_bits::Bits;
use crate::disasm_compare::SplitMix;

/// Bits of a group whose values are all tried; of larger groups a part.
pub(super) const TRIED: usize = 11;

/// Values of a larger group that are tried.
const SOME: usize = 600;

/// Values of each of two groups that are tried together for the order of their texts.
const ORDER_VALUES: usize = 3;

/// Words and texts that the tables are made from.
pub(super) struct Tabulation<'t, 'a> {
    pub(super) answers: &'t mut Answers<'a>,
    pub(super) scope: Scope,
    pub(super) frame: &'t Frame,
    /// Legal words with all operands.
    pub(super) bases: &'t [u128],
    /// Slots that bits are known to choose, with one such bit.
    pub(super) slots: &'t BTreeMap<(usize, Slot), u8>,
}

/// Readings of a group's values in the base words, as far as they are legal.
type Tried = BTreeMap<u64, Vec<(usize, Arc<Reading>)>>;

/// Words of the modifiers that a group changes, as a range of the words of the base word.
struct Region {
    bits: Bits,
    start: usize,
    end: usize,
}

impl Tabulation<'_, '_> {
    /// Makes the tables; `None` if the texts of two groups overlap, which are then joined.
    pub(super) fn make(
        &mut self,
        partition: &mut Partition,
        random: &mut SplitMix,
    ) -> anyhow::Result<Option<Choices>> {
        let groups = partition.groups();
        let tried = self.try_values(&groups, random)?;
        let modifiers = self.modifiers(self.base()).unwrap_or_default();
        let mut choices = Choices::default();
        let mut regions = Vec::new();
        for (bits, tried) in groups.iter().zip(&tried) {
            let texts = self.modifiers_by_value(tried);
            if let Some((start, end)) = changed_range(&modifiers, &texts) {
                let tail = modifiers.len() - end;
                let texts = texts.iter().map(|(value, words)| {
                    let text = words.get(start..words.len() - tail).unwrap_or_default();
                    (*value, text.concat())
                });
                choices.modifier_texts.insert(bits.clone(), texts.collect());
                let bits = bits.clone();
                regions.push(Region { bits, start, end });
            }
            let legal = choices.legal.entry(bits.clone()).or_default();
            legal.extend(tried.keys());
        }
        regions.sort_by_key(|region| (region.start, region.end));
        for pair in regions.windows(2) {
            if let [first, second] = pair
                && (second.start < first.end
                    || first.start < first.end
                        && (first.start, first.end) == (second.start, second.end))
            {
                partition.join(first.bits.low(), second.bits.low());
                return Ok(None);
            }
        }
        self.order(&mut regions, &choices)?;
        choices.modifiers = pieces(&modifiers, &regions);
        self.tabulate_slots(partition, &groups, &tried, &mut choices);
        for (word, _) in self.answers.legal(self.scope.mask, self.scope.value) {
            for (bits, legal) in &mut choices.legal {
                legal.insert(bits.get(word));
            }
        }
        Ok(Some(choices))
    }

    fn base(&self) -> u128 {
        self.bases.first().copied().unwrap_or_default()
    }

    fn try_values(&mut self, groups: &[Bits], random: &mut SplitMix) -> anyhow::Result<Vec<Tried>> {
        let values: Vec<Vec<u64>> = groups
            .iter()
            .map(|bits| match bits.width() {
                ..=TRIED => (0..bits.values()).collect(),
                _ => (0..SOME).map(|_| random.next() & bits.ones()).collect(),
            })
            .collect();
        let bases: Vec<u128> = self.bases.iter().take(2).copied().collect();
        let mut words = Vec::new();
        for (bits, values) in groups.iter().zip(&values) {
            for value in values {
                words.extend(bases.iter().map(|base| bits.put(*base, *value)));
            }
        }
        self.answers.ask(&words)?;
        let mut tried = Vec::new();
        for (bits, values) in groups.iter().zip(&values) {
            let mut of_group = Tried::new();
            for value in values {
                for (at, base) in bases.iter().enumerate() {
                    if let Some(reading) = self.answers.get(bits.put(*base, *value)) {
                        let readings = of_group.entry(*value).or_default();
                        readings.push((at, reading.clone()));
                    }
                }
            }
            tried.push(of_group);
        }
        Ok(tried)
    }

    fn slots_of(&self, base: u128) -> Vec<Slots> {
        let reading = self.answers.get(base);
        let operands = reading.into_iter().flat_map(|r| &r.printed.operands);
        operands.map(|operand| operand.slots.clone()).collect()
    }

    /// Modifiers of a word whose operands fit the frame.
    fn modifiers(&self, word: u128) -> Option<Vec<String>> {
        let reading = self.answers.get(word)?;
        self.frame.align(&reading.printed, &[])?;
        Some(reading.printed.modifiers.clone())
    }

    fn modifiers_by_value(&self, tried: &Tried) -> BTreeMap<u64, Vec<String>> {
        let in_base = tried.iter().filter_map(|(value, readings)| {
            let (_, reading) = readings.iter().find(|(base, _)| *base == 0)?;
            self.frame.align(&reading.printed, &[])?;
            Some((*value, reading.printed.modifiers.clone()))
        });
        in_base.collect()
    }

    /// Orders groups whose texts stand at the same place by trying pairs of their values.
    fn order(&mut self, regions: &mut [Region], choices: &Choices) -> anyhow::Result<()> {
        let base = self.base();
        let shown = |bits: &Bits| -> Vec<(u64, String)> {
            let plain = bits.get(base);
            let texts = choices.modifier_texts.get(bits).into_iter().flatten();
            let texts = texts.filter(|(value, text)| **value != plain && !text.is_empty());
            let texts = texts.map(|(value, text)| (*value, text.clone()));
            texts.take(ORDER_VALUES).collect()
        };
        let mut pairs = Vec::new();
        for (at, first) in regions.iter().enumerate() {
            for (other, second) in regions.iter().enumerate().skip(at + 1) {
                if first.start > second.start || first.end < second.start {
                    continue;
                }
                for (a, left) in shown(&first.bits) {
                    for (b, right) in shown(&second.bits) {
                        let word = second.bits.put(first.bits.put(base, a), b);
                        pairs.push((at, other, word, left.clone(), right));
                    }
                }
            }
        }
        self.answers
            .ask(&pairs.iter().map(|pair| pair.2).collect::<Vec<_>>())?;
        // Bubble sort: only neighbours at the same place may change their order, and only if a word shows it.
        let mut order: Vec<usize> = (0..regions.len()).collect();
        let swapped = |first: usize, second: usize| {
            let mut pairs = pairs.iter();
            pairs.any(|(at, other, word, left, right)| {
                let (left, right) = match (*at == first, *other == first) {
                    (true, _) if *other == second => (left, right),
                    (_, true) if *at == second => (right, left),
                    _ => return false,
                };
                let text = self.modifiers(*word).unwrap_or_default().concat();
                text.contains(&format!("{right}{left}"))
                    && !text.contains(&format!("{left}{right}"))
            })
        };
        for _ in 0..order.len() {
            for at in 1..order.len() {
                if let (Some(&a), Some(&b)) = (order.get(at - 1), order.get(at))
                    && swapped(a, b)
                {
                    order.swap(at - 1, at);
                }
            }
        }
        let rank: BTreeMap<Bits, usize> = order
            .iter()
            .enumerate()
            .filter_map(|(rank, at)| Some((regions.get(*at)?.bits.clone(), rank)))
            .collect();
        regions.sort_by_key(|region| rank.get(&region.bits).copied());
        Ok(())
    }

    /// Tables of slots: those that are known to be chosen, and those that differ between the values of a group.
    fn tabulate_slots(
        &self,
        partition: &Partition,
        groups: &[Bits],
        tried: &[Tried],
        choices: &mut Choices,
    ) {
        let bases: Vec<Vec<Slots>> = self
            .bases
            .iter()
            .take(2)
            .map(|b| self.slots_of(*b))
            .collect();
        let mut chosen: BTreeMap<(usize, Slot), Bits> = BTreeMap::new();
        for (slot, bit) in self.slots {
            if let Some(bits) = partition.group_of(*bit) {
                chosen.insert(*slot, bits);
            }
        }
        for (bits, tried) in groups.iter().zip(tried) {
            for (base, reading) in tried.values().flatten() {
                let Some(before) = bases.get(*base) else {
                    continue;
                };
                let aligned = self.frame.align(&reading.printed, before);
                for (at, slots) in aligned.iter().flatten().enumerate() {
                    let (Some(slots), Some(before)) = (slots, before.get(at)) else {
                        continue;
                    };
                    for slot in differing(before, slots) {
                        chosen.entry((at, slot)).or_insert_with(|| bits.clone());
                    }
                }
            }
        }
        for ((at, slot), bits) in chosen {
            let Some((_, tried)) = groups.iter().zip(tried).find(|(group, _)| **group == bits)
            else {
                continue;
            };
            let mut texts = BTreeMap::new();
            for (value, readings) in tried {
                let text = readings.iter().find_map(|(base, reading)| {
                    let aligned = self.frame.align(&reading.printed, bases.get(*base)?)?;
                    let slots = aligned.get(at).copied().flatten()?;
                    Some(slots.get(&slot).cloned())
                });
                if let Some(text) = text {
                    texts.insert(*value, text);
                }
            }
            choices.slots.insert((at, slot), Choice { bits, texts });
        }
    }
}

/// Slots whose texts differ between two operands.
fn differing(before: &Slots, after: &Slots) -> BTreeSet<Slot> {
    let slots = before.keys().chain(after.keys()).copied();
    let texts = slots.filter(|slot| {
        !slot.is_number() && !matches!(slot, Slot::Float | Slot::Bad | Slot::Inside)
    });
    texts
        .filter(|slot| before.get(slot) != after.get(slot))
        .collect()
}

/// Range of the base word's modifiers outside which no value changes anything; `None` if none does.
fn changed_range(base: &[String], texts: &BTreeMap<u64, Vec<String>>) -> Option<(usize, usize)> {
    let changed = || texts.values().filter(|words| *words != base);
    let start = changed()
        .map(|words| Edit::between(base, words).start)
        .min()?;
    let tail = changed().map(|words| {
        let tails = base.iter().rev().zip(words.iter().rev());
        let same = tails.take_while(|(a, b)| a == b).count();
        same.min(base.len() - start)
            .min(words.len().saturating_sub(start))
    });
    Some((start, base.len() - tail.min()?))
}

/// Pieces of the modifiers: fixed words, and regions.
fn pieces(modifiers: &[String], regions: &[Region]) -> Vec<Piece> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    for region in regions {
        if let Some(fixed) = modifiers.get(at..region.start)
            && !fixed.is_empty()
        {
            pieces.push(Piece::Fixed(fixed.concat()));
        }
        pieces.push(Piece::Chosen(region.bits.clone()));
        at = at.max(region.end);
    }
    if let Some(fixed) = modifiers.get(at..)
        && !fixed.is_empty()
    {
        pieces.push(Piece::Fixed(fixed.concat()));
    }
    pieces
}
