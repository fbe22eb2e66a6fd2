//! Numbers and floats of operands as fields of a word. For example, a register whose number grows by 1, 2, 4 … with the
//! bits 16, 17, 18 … is in the field `23:16`.

use std::collections::{BTreeMap, BTreeSet};

use super::influence::{Influence, Part, Scope};
use super::printed::{Shape, Slot};
use super::word_bits::Bits;

/// Field with the number of a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NumberField {
    pub(super) bits: Bits,
    /// Number that the lowest bit adds.
    pub(super) unit: i64,
    /// Whether the highest bit is a sign.
    pub(super) signed: bool,
    /// The number is stored inverted.
    pub(super) flipped: bool,
}

impl NumberField {
    /// Number of a word.
    pub(super) fn number(&self, word: u128) -> i64 {
        let value = self.bits.get(word);
        if self.flipped {
            return (value ^ self.bits.ones()) as i64;
        }
        let sign = 1u64 << (self.bits.width().clamp(1, 64) - 1);
        let value = match self.signed && value & sign != 0 {
            true => (value | !self.bits.ones()) as i64,
            false => value as i64,
        };
        value.wrapping_mul(self.unit)
    }
}

/// Fields of all numbers and floats of a row.
#[derive(Clone, Default, Debug)]
pub(super) struct Fields {
    pub(super) numbers: BTreeMap<(usize, Slot), NumberField>,
    /// Fields of floats, and their formats: the letters of rows.
    pub(super) floats: BTreeMap<usize, Bits>,
}

/// Fields, or a bit on which the words have to be divided first.
pub(super) enum Found {
    Fields(Fields),
    Divide(u8),
}

impl Fields {
    /// Finds the fields by the weights of the bits.
    pub(super) fn find(influence: &Influence, shapes: &[Shape]) -> Found {
        let mut fields = Fields::default();
        for (at, slot) in influence.numbers() {
            let mut weights = influence.weights(at, slot);
            let shape = shapes.get(at).map_or("", |shape| shape.trim());
            if matches!(shape, "P" | "L") {
                add_hiding_bits(&mut weights, influence.hiding.get(&at));
            }
            if let Some(field) = number_field(&weights, shape) {
                fields.numbers.insert((at, slot), field);
            }
        }
        for (part, bits) in &influence.parts {
            let Part::Slot(at, Slot::Float) = part else {
                continue;
            };
            match float_field(bits) {
                Ok(bits) => {
                    fields.floats.insert(*at, bits);
                }
                Err(bit) => return Found::Divide(bit),
            }
        }
        Found::Fields(fields)
    }

    /// Bits of all fields.
    pub(super) fn mask(&self) -> u128 {
        let numbers = self.numbers.values().map(|field| field.bits.mask());
        let floats = self.floats.values().map(Bits::mask);
        numbers.chain(floats).fold(0, |all, bits| all | bits)
    }

    /// Takes over registers of a wider row whose number is fixed in a narrower one.
    pub(super) fn inherit(&mut self, wider: &Fields, scope: Scope, shapes: &[Shape]) {
        for ((at, slot), field) in &wider.numbers {
            let fixed = field.bits.mask() & !scope.mask == 0;
            let brackets = shapes.get(*at).is_some_and(|shape| shape.contains('['));
            let register = matches!(slot, Slot::Term(term) if term.kind == 'R');
            if fixed && brackets && register {
                self.numbers.entry((*at, *slot)).or_insert(field.clone());
            }
        }
    }
}

/// A predicate may be hidden when it becomes PT: such bits belong to its field of three bits.
fn add_hiding_bits(weights: &mut BTreeMap<u8, i64>, hiding: Option<&BTreeSet<u8>>) {
    let Some((&bit, &weight)) = weights.iter().next() else {
        return;
    };
    let place = weight.unsigned_abs().trailing_zeros() as u8;
    let Some(low) = bit.checked_sub(place) else {
        return;
    };
    for (at, bit) in (0..3).zip(low..) {
        if hiding.is_some_and(|hiding| hiding.contains(&bit)) {
            weights.entry(bit).or_insert(weight.signum() << at);
        }
    }
}

/// Field whose bits have weights that double.
fn number_field(weights: &BTreeMap<u8, i64>, shape: &str) -> Option<NumberField> {
    let mut order: Vec<(u8, i64)> = weights
        .iter()
        .map(|(bit, weight)| (*bit, *weight))
        .collect();
    order.sort_by_key(|(_, weight)| weight.unsigned_abs());
    let unit = i64::try_from(order.first()?.1.unsigned_abs()).ok()?;
    let doubling = |(at, (bit, weight)): (usize, &(u8, i64))| {
        let expected = unit.unsigned_abs().checked_shl(u32::try_from(at).ok()?)?;
        (weight.unsigned_abs() == expected).then_some(*bit)
    };
    // Bits whose weight does not fit change the number in another way, and are left to the check of the row.
    let fitting = order.iter().enumerate().map_while(doubling);
    let bits: Vec<u8> = fitting.collect();
    let negative = |at: usize| order.get(at).is_some_and(|(_, weight)| *weight < 0);
    let flipped = matches!(shape, "P" | "L") && (0..bits.len()).all(negative);
    Some(NumberField {
        signed: !flipped && negative(bits.len() - 1),
        flipped,
        unit,
        bits: Bits::new(bits),
    })
}

/// The longest run of bits, completed to the width of a format. `Err`: a bit outside the run, which changes the float
/// in another way.
fn float_field(bits: &BTreeSet<u8>) -> Result<Bits, u8> {
    let mut runs: Vec<Vec<u8>> = Vec::new();
    for &bit in bits {
        match runs.last_mut() {
            Some(run) if run.last().is_some_and(|last| last + 1 == bit) => run.push(bit),
            _ => runs.push(vec![bit]),
        }
    }
    runs.sort_by_key(Vec::len);
    let mut longest = runs.pop().unwrap_or_default();
    let mut outside = runs.into_iter().flatten().next();
    if matches!(longest.len(), 17 | 33) {
        outside = longest.pop();
    }
    if let Some(bit) = outside {
        return Err(bit);
    }
    let last = longest.last().copied().unwrap_or_default();
    let widths = [16, 32, 64];
    let width = widths
        .into_iter()
        .find(|width| longest.len() <= usize::from(*width));
    let first = (last + 1).saturating_sub(width.unwrap_or(64));
    Ok(Bits::new((first..=last).collect()))
}
