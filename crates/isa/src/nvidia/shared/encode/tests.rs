//! Fields of all rows: which share bits, and that a wrong field shows.

use std::collections::BTreeSet;

use super::super::arch::Arch;
use super::super::field::Field;
use super::super::form::Form;
use super::fields::{FieldRole, NamedField, find_fields, put_fields};
use crate::nvidia::tables::table;

/// Random numbers (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Pairs of fields that share bits: the same bits twice, one inside the other, or one of a few rows.
#[test]
fn overlapping_fields_are_equal_or_nested_or_listed() {
    let mut others = BTreeSet::new();
    let (mut equal, mut nested) = (0, 0);
    for (_, form) in table(Arch::Sm61).forms() {
        let fields = form.named_fields();
        for (at, a) in fields.iter().enumerate() {
            for b in fields.iter().skip(at + 1) {
                let (a, b) = (a.field.bits(), b.field.bits());
                match a & b {
                    0 => {}
                    _ if a == b => equal += 1,
                    common if common == a || common == b => nested += 1,
                    common => {
                        others.insert((form.mnemonic(), common as u64));
                    }
                }
            }
        }
    }
    // IDP: the mode and the signs share bit 48. Conversions: the formats of source and destination, the selected
    // part of the source and the condition of the timing class share the bits of the sizes.
    let sizes = ["F2F", "I2F", "I2I"].map(|name| (name, 0b11 << 10));
    let mut expected = BTreeSet::from(sizes);
    expected.extend([("F2I", 0b11 << 8), ("IDP", 1 << 48)]);
    assert_eq!(others, expected);
    assert!(equal > 20 && nested > 50, "{equal} equal, {nested} nested");
}

/// A field of the encoder that is shifted by a bit against the decoder's changes words of its row.
#[test]
fn a_shifted_field_of_the_encoder_is_found() {
    for (arch, least) in [(Arch::Sm61, 1000), (Arch::Sm90, 5000)] {
        let mut state = 7;
        let (mut shifted, mut unnoticed) = (0, Vec::new());
        for (_, form) in table(arch)
            .forms()
            .filter(|(_, form)| form.is_instruction())
        {
            for at in 0..find_fields(form).len() {
                let Some(is_found) = shifted_field_is_found(form, at, &mut state) else {
                    continue;
                };
                shifted += 1;
                if !is_found {
                    unnoticed.push(format!("{} field {at}", form.mnemonic()));
                }
            }
        }
        assert!(shifted > least, "{shifted} fields");
        assert!(unnoticed.is_empty(), "{unnoticed:?}");
    }
}

/// Whether random words show that a field with the value of an operand is one bit too high; `None` for other fields.
fn shifted_field_is_found(form: &Form, at: usize, state: &mut u64) -> Option<bool> {
    let in_word = form.dialect.word_mask();
    let fields = find_fields(form);
    let named = fields.get(at)?;
    let bits = named.field.bits();
    let is_value = matches!(named.role, FieldRole::Operand(_));
    let is_highest = bits >> (form.dialect.word_bits - 1) != 0;
    if !is_value || is_highest || bits & 1 != 0 && named.field.width() < 2 {
        return None;
    }
    let mut faulty = fields.clone();
    *faulty.get_mut(at)? = NamedField {
        role: named.role,
        field: Field::contiguous_above(&named.field)?,
    };
    Some((0..40).any(|_| {
        let random = u128::from(next(state)) << 64 | u128::from(next(state));
        let word = form.value | random & in_word & !form.mask;
        let values: Vec<u64> = fields.iter().map(|f| f.field.get(word)).collect();
        let base = form.value | word & form.unnamed_bits();
        let right = put_fields(base, &fields, &values) & in_word;
        assert_eq!(right, word);
        let wrong = put_fields(base, &faulty, &values);
        // Of a field that the row names twice, the other one may restore the bits.
        let mut read = faulty.iter().zip(&values);
        wrong & in_word != word || read.any(|(f, value)| f.field.get(wrong) != *value)
    }))
}

/// A field that is shifted in the table, for both directions, leaves a bit without a name that compilers set.
#[test]
fn a_shifted_field_of_the_table_leaves_bits_without_a_name() {
    // IADD R9, R0, R9: the destination in bits 8:1.
    let word: u128 = 0x5c10_0000_0097_0009;
    let id = table(Arch::Sm61).find(Arch::Sm61, word).expect("IADD");
    let form = table(Arch::Sm61).form(id).expect("a row");
    assert_eq!(word & form.unnamed_bits(), 0);
    let fields = find_fields(form).into_iter().map(|named| match named.role {
        FieldRole::Operand(_) if named.field.low_bit() == 0 => {
            Field::contiguous_above(&named.field).unwrap_or(named.field)
        }
        _ => named.field,
    });
    let named = fields.fold(0, |bits, field| bits | field.bits());
    assert_eq!(word & !(form.mask | named), 1);
}
