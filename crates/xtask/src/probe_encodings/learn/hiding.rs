//! Operands that are left out of the text: rules that hold for all words seen.
//!
//! For example, an optional predicate is not printed if it is PT, and a carry only with `.X`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::answers::Reading;
use super::model::{Hiding, HidingKind, RowModel};
use super::printed::Slot;
use super::word_bits::Bits;

/// A word, whether the operand is hidden in it, and whether it has its special value.
struct Sample {
    word: u128,
    hidden: bool,
    special: bool,
}

/// Finds the rules for all operands of a model from words of its row, and which operands are printed with a suffix
/// inside bars. Returns the operands for which no rule fits.
pub(super) fn find(model: &mut RowModel, legal: &[(u128, Arc<Reading>)]) -> BTreeSet<usize> {
    let frame = model.frame.clone();
    let aligned: Vec<_> = legal
        .iter()
        .filter_map(|(word, reading)| {
            let aligned = frame.align(&reading.printed, &model.expected(*word))?;
            for (at, slots) in aligned.iter().enumerate() {
                if slots.is_some_and(|slots| slots.contains_key(&Slot::Inside)) {
                    model.inside.insert(at);
                }
            }
            Some((
                *word,
                aligned.iter().map(Option::is_none).collect::<Vec<bool>>(),
            ))
        })
        .collect();
    let mut unruly = BTreeSet::new();
    model.hidden.clear();
    model.omitted.clear();
    for at in 0..frame.shapes.len() {
        let hidden = |flags: &[bool]| flags.get(at).copied().unwrap_or_default();
        if !aligned.iter().any(|(_, flags)| hidden(flags)) {
            continue;
        }
        let field = model.fields.numbers.get(&(at, Slot::Number));
        if frame
            .shapes
            .get(at)
            .is_some_and(|shape| shape.trim() == "I")
            && let Some(field) = field
        {
            let hidden = aligned.iter().filter(|(_, flags)| hidden(flags));
            let values: BTreeSet<u64> = hidden.map(|(word, _)| field.bits.get(*word)).collect();
            if let (Some(value), 1) = (values.first(), values.len()) {
                model.omitted.insert(at, *value);
            }
        }
        let samples: Vec<Sample> = aligned
            .iter()
            .map(|(word, flags)| Sample {
                word: *word,
                hidden: hidden(flags),
                special: is_special(model, at, *word),
            })
            .collect();
        match rule(model, &samples) {
            Some(rule) => {
                model.hidden.insert(at, rule);
            }
            None => {
                unruly.insert(at);
            }
        }
    }
    unruly
}

/// Whether an operand has the value with which rows can hide it.
fn is_special(model: &RowModel, at: usize, word: u128) -> bool {
    let Some(field) = model.fields.numbers.get(&(at, Slot::Number)) else {
        return false;
    };
    if let Some(omitted) = model.omitted.get(&at) {
        return field.bits.get(word) == *omitted;
    }
    let shape = model.frame.shapes.get(at).map_or("", |shape| shape.trim());
    let number = field.number(word);
    let negated = model
        .choices
        .slots
        .get(&(at, Slot::Not))
        .is_some_and(|choice| {
            let text = choice.texts.get(&choice.bits.get(word));
            text.is_some_and(Option::is_some)
        });
    match shape {
        "R" => number == 255,
        "P" | "L" => number == 7 && !negated,
        "G" => number == i64::try_from(field.bits.ones()).unwrap_or(-1),
        _ => number == 0,
    }
}

/// The simplest rule that explains all samples.
fn rule(model: &RowModel, samples: &[Sample]) -> Option<Hiding> {
    let none = Bits::new(Vec::new());
    if let Some(rule) = fitting(HidingKind::Special, &none, samples) {
        return Some(rule);
    }
    let single = |bit: &u8| Bits::new(vec![*bit]);
    let singles: Vec<Bits> = model.scope.free().iter().map(single).collect();
    let chosen: Vec<Bits> = model.choices.legal.keys().cloned().collect();
    let flags: Vec<u8> = chosen
        .iter()
        .flat_map(|bits| bits.positions())
        .copied()
        .collect();
    let pairs: Vec<Bits> = flags
        .iter()
        .flat_map(|a| {
            flags
                .iter()
                .filter(move |b| a < b)
                .map(|b| Bits::new(vec![*a, *b]))
        })
        .collect();
    let kinds = [HidingKind::Both, HidingKind::Chosen, HidingKind::Either];
    for candidates in [&singles, &chosen, &pairs] {
        for kind in kinds {
            let mut rules = candidates
                .iter()
                .filter_map(|bits| fitting(kind, bits, samples));
            if let Some(rule) = rules.next() {
                return Some(rule);
            }
        }
    }
    None
}

/// The rule of a kind on some bits, if it explains all samples.
fn fitting(kind: HidingKind, bits: &Bits, samples: &[Sample]) -> Option<Hiding> {
    // Whether a sample must be hidden, or must not, by the bits alone; `None` if they do not decide it.
    let demands = |sample: &Sample| match (kind, sample.special) {
        (HidingKind::Special, special) => (sample.hidden == special).then_some(None),
        (HidingKind::Both, true) | (HidingKind::Chosen, _) | (HidingKind::Either, false) => {
            Some(Some(sample.hidden))
        }
        (HidingKind::Both, false) => (!sample.hidden).then_some(None),
        (HidingKind::Either, true) => sample.hidden.then_some(None),
    };
    let mut by_value: BTreeMap<u64, bool> = BTreeMap::new();
    for sample in samples {
        if let Some(hidden) = demands(sample)? {
            let known = by_value.entry(bits.get(sample.word)).or_insert(hidden);
            if *known != hidden {
                return None;
            }
        }
    }
    let values = by_value.iter().filter(|(_, hidden)| **hidden);
    let values: BTreeSet<u64> = values.map(|(value, _)| *value).collect();
    // A rule that no sample needs is a simpler rule.
    (kind == HidingKind::Special || !values.is_empty()).then(|| Hiding {
        kind,
        bits: bits.clone(),
        values,
    })
}
