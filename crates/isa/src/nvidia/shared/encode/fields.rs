//! Words taken apart into the fields of their rows, and put together again. For example, `@P0 IADD R0, R1, R2` has a
//! guard 0, a negation 0 and operands 0, 1, 2 among its fields.

use smallvec::SmallVec;
use warpbound_base::{BitRange, Bits};

use super::super::arch::Arch;
use super::super::dialect::Dialect;
use super::super::field::{Cond, Field};
use super::super::form::{Form, FormId};
use super::super::lookup::FormTable;
use super::super::template::{Item, ItemKind, Piece, RegisterCount};
use crate::nvidia::tables::table;

/// Meaning of a field of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FieldRole {
    /// Number of the guard predicate.
    Guard,
    /// Negation of the guard.
    GuardNegated,
    /// Part of the control field of a word of 128 bits: stall code, scoreboards, waits, reuse.
    Control,
    /// Modifier, by its index among the pieces of the template.
    Modifier(u8),
    /// Value of an operand or of a part of it, by its index among the pieces of the template.
    Operand(u8),
    /// Bit or field that changes an operand: sign, complement, selected part, number of registers, reuse.
    OperandModifier(u8),
    /// Bits to which other columns of the row refer.
    Effect,
}

/// Field of a row with its meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NamedField {
    pub(crate) role: FieldRole,
    pub(crate) field: Field,
}

/// Instruction word taken apart: the row, the value of every field that the row names, and the remaining bits.
///
/// Fields of a row may share bits: a modifier and the signs that it stands for, or a register that is source and
/// destination. Their values always agree on these bits, because [`InstrFields::set`] changes all of them.
#[derive(Clone, Debug)]
pub struct InstrFields {
    table: &'static FormTable,
    form: FormId,
    /// Values of [`named_fields`], in their order.
    values: SmallVec<[u64; 24]>,
    /// Values of the bits that neither the mask of the row nor a field covers.
    unnamed: u128,
}

impl PartialEq for InstrFields {
    fn eq(&self, other: &InstrFields) -> bool {
        let table = std::ptr::eq(self.table, other.table);
        table && self.form == other.form && self.bits() == other.bits()
    }
}

impl Eq for InstrFields {}

impl InstrFields {
    /// Takes a word apart; `None` if it is no instruction of the architecture. The control-slot bits are zero.
    pub fn decode(arch: Arch, word: u128) -> Option<InstrFields> {
        InstrFields::decode_slot(arch, word, 0)
    }

    /// Takes a word apart, with bits 19:17 of its slot if control words are apart from instructions.
    pub fn decode_slot(arch: Arch, word: u128, reuse: u8) -> Option<InstrFields> {
        let table = table(arch);
        let form = table.find(arch, word)?;
        let row = table.form(form)?;
        let fields = row.named_fields();
        let bits = with_slot(row.dialect, word, reuse);
        Some(InstrFields {
            table,
            form,
            values: fields.iter().map(|named| named.field.get(bits)).collect(),
            unnamed: word & row.unnamed_bits(),
        })
    }

    /// Row of the word.
    pub fn form(&self) -> FormId {
        self.form
    }

    /// Role, number of bits and value of every field, in the order of the row.
    pub fn fields(&self) -> impl Iterator<Item = (FieldRole, u32, u64)> {
        let form = self.table.form(self.form);
        let fields = form.map_or(&[] as &[NamedField], Form::named_fields);
        fields
            .iter()
            .zip(&self.values)
            .map(|(named, value)| (named.role, named.field.width(), *value))
    }

    /// Bits that neither the mask of the row nor a field covers, as they are in the word.
    pub fn unnamed(&self) -> u128 {
        self.unnamed
    }

    /// Mask of the bits that neither the mask of the row nor a field covers.
    pub fn unnamed_mask(&self) -> u128 {
        self.table.form(self.form).map_or(0, Form::unnamed_bits)
    }

    /// Sets the field with an index in [`InstrFields::fields`], and the same bits of all fields that share them.
    /// Returns `false` and changes nothing if there is no such field, if the value is too large, or if it contradicts
    /// the row's fixed bits.
    pub fn set(&mut self, index: usize, value: u64) -> bool {
        let Some(form) = self.table.form(self.form) else {
            return false;
        };
        let fields = form.named_fields();
        let Some(named) = fields.get(index) else {
            return false;
        };
        let (bits, placed) = (named.field.bits(), named.field.place(value));
        let fixed = form.mask & bits;
        // `place` drops bits that do not fit, so a value that is too large comes back changed.
        if named.field.get(placed) != value || (placed ^ form.value) & fixed != 0 {
            return false;
        }
        for (named, old) in fields.iter().zip(&mut self.values) {
            // Fields may overlap, so the new bits are merged into each of them.
            *old = named.field.get(named.field.place(*old) & !bits | placed);
        }
        true
    }

    /// Values of bits 19:17 of the control slot; bits that the row does not name are zero.
    pub fn control_bits(&self) -> u8 {
        slot_of(self.table.dialect(), self.bits())
    }

    /// Word with the fixed bits of its row and the values of all fields; bits that no field names are zero.
    pub(super) fn named_bits(&self) -> u128 {
        self.bits() & !self.unnamed
    }

    /// Word and the bits of a control word that is apart, from the row's fixed bits, the field values and the unnamed
    /// bits.
    fn bits(&self) -> u128 {
        let Some(form) = self.table.form(self.form) else {
            return 0;
        };
        let fields = form.named_fields();
        // Bits that no field names are part of the word as well.
        let word = form.value | self.unnamed & form.unnamed_bits();
        put_fields(word, fields, &self.values)
    }
}

/// Puts the values of fields into a word.
pub(super) fn put_fields(word: u128, fields: &[NamedField], values: &[u64]) -> u128 {
    fields
        .iter()
        .zip(values)
        .fold(word, |word, (named, value)| {
            word & !named.field.bits() | named.field.place(*value)
        })
}

/// Puts a word together from its fields; the inverse of [`InstrFields::decode`].
pub fn encode(fields: &InstrFields) -> u128 {
    fields.bits() & fields.table.dialect().word_mask()
}

/// Word with bits 19:17 of its slot where rows have them, if control words are apart from instructions.
pub(super) fn with_slot(dialect: &Dialect, word: u128, reuse: u8) -> u128 {
    let slot = dialect
        .slot_bit
        .map_or(0, |bit| u128::from(reuse & 7) << bit);
    word | slot
}

/// Bits 19:17 of the slot, the inverse of [`with_slot`]; 0 without a control word that is apart.
pub(super) fn slot_of(dialect: &Dialect, bits: u128) -> u8 {
    dialect.slot_bit.map_or(0, |bit| (bits >> bit) as u8 & 7)
}

impl Form {
    /// Bits of the word that neither the mask nor a field covers.
    pub(crate) fn unnamed_bits(&self) -> u128 {
        let bits = |all, named: &NamedField| all | named.field.bits();
        let named = self.named_fields().iter().fold(0, bits);
        !(self.mask | named) & self.dialect.word_mask()
    }

    /// Bits of the fields that can be without meaning in a word: all but guard, control field and values of operands.
    pub(super) fn condition_bits(&self) -> u128 {
        let fields = self.named_fields().iter();
        let conditions = fields.filter(|named| match named.role {
            FieldRole::Modifier(_) | FieldRole::OperandModifier(_) | FieldRole::Effect => true,
            FieldRole::Guard
            | FieldRole::GuardNegated
            | FieldRole::Control
            | FieldRole::Operand(_) => false,
        });
        conditions.fold(0, |bits, named| bits | named.field.bits())
    }

    /// Fields of the row, one per place where the row names it; found when a word of the row is first taken apart.
    pub(crate) fn named_fields(&self) -> &[NamedField] {
        self.fields.get_or_init(|| find_fields(self))
    }
}

/// Fields of [`ControlWord`](crate::ControlWord) in a word of 128 bits.
const CONTROL_FIELDS: [BitRange; 5] = [
    BitRange { hi: 109, lo: 105 },
    BitRange { hi: 112, lo: 110 },
    BitRange { hi: 115, lo: 113 },
    BitRange { hi: 121, lo: 116 },
    BitRange { hi: 125, lo: 122 },
];

/// Collects the fields of a row.
pub(super) fn find_fields(form: &Form) -> Vec<NamedField> {
    let mut out = Vec::new();
    let mut push = |role, field: Field| {
        let named = NamedField { role, field };
        // Conditions of one operand may name a bit twice.
        if !out.contains(&named) {
            out.push(named);
        }
    };
    if !form.effects.unguarded {
        push(FieldRole::Guard, Field::of_range(form.dialect.guard));
        push(
            FieldRole::GuardNegated,
            Field::of_bit(form.dialect.guard_not),
        );
    }
    if form.dialect.control.is_some() {
        for range in CONTROL_FIELDS {
            push(FieldRole::Control, Field::of_range(range));
        }
    }
    for (at, piece) in (0u8..).zip(form.template.pieces()) {
        match piece {
            Piece::Literal(_) | Piece::ImadAlias(_) => {}
            Piece::Flag { bit, .. } => push(FieldRole::Modifier(at), Field::of_bit(*bit)),
            Piece::Name { field, hide, .. } => {
                push(FieldRole::Modifier(at), field.clone());
                each_bit(hide, |bit| push(FieldRole::Modifier(at), bit));
            }
            Piece::Item(item) => item_fields(item, |is_value, field| match is_value {
                true => push(FieldRole::Operand(at), field),
                false => push(FieldRole::OperandModifier(at), field),
            }),
        }
    }
    let ranges = [form.effects.zero_bits, form.effects.quad_mask];
    let timing = form.timing.iter().map(|(condition, _)| *condition);
    let timing = timing.flatten().map(|(range, _)| range);
    for range in ranges.into_iter().flatten().chain(timing) {
        push(FieldRole::Effect, Field::of_range(range));
    }
    for (_, field) in &form.effects.legal {
        push(FieldRole::Effect, field.clone());
    }
    for condition in form.effects.never.iter().chain(&form.effects.refused) {
        each_bit(condition, |bit| push(FieldRole::Effect, bit));
    }
    out
}

/// Passes each bit of a condition as a field.
fn each_bit(condition: &Cond, mut push: impl FnMut(Field)) {
    let bits = condition.bits();
    for bit in (0..u128::BITS as u8).filter(|bit| bits.bit(*bit)) {
        push(Field::of_bit(bit));
    }
}

/// Passes the fields of an operand, each with whether it is the value or changes the value.
fn item_fields(item: &Item, mut push: impl FnMut(bool, Field)) {
    match &item.kind {
        ItemKind::Reg(field)
        | ItemKind::RegPair(field)
        | ItemKind::Pred(field)
        | ItemKind::Uniform(field)
        | ItemKind::UniformPred(field)
        | ItemKind::ConvergenceBarrier(field)
        | ItemKind::CcTest(field)
        | ItemKind::Unsigned(field)
        | ItemKind::Signed(field)
        | ItemKind::Mixed(field)
        | ItemKind::Float(_, field)
        | ItemKind::Relative(field)
        | ItemKind::Absolute(field) => push(true, field.clone()),
        ItemKind::Brackets(brackets) => {
            for term in brackets.terms() {
                push(true, term.field.clone());
            }
            for (_, field) in brackets.lists() {
                push(false, field.clone());
            }
        }
        // The bit selects between all predicates and the condition code, so it is a value.
        ItemKind::PredSetOrCc(bit) => push(true, Field::of_bit(*bit)),
        ItemKind::PredSet(_) => {}
        ItemKind::Const { bank, offset } | ItemKind::ConstTarget { bank, offset } => {
            push(true, bank.clone());
            push(true, offset.clone());
        }
        ItemKind::ConstIndexed { bank, base, offset } => {
            push(true, bank.clone());
            push(true, base.clone());
            push(true, offset.clone());
        }
        ItemKind::Memory { base, offset } | ItemKind::Address { base, offset } => {
            push(true, base.clone());
            if let Some(offset) = offset {
                push(true, offset.clone());
            }
        }
        ItemKind::RegTarget { base, offset } => {
            push(true, base.clone());
            push(true, offset.clone());
        }
    }
    let conditions = [
        &item.neg,
        &item.abs,
        &item.inv,
        &item.not,
        &item.cc,
        &item.rmw,
        &item.wide,
        &item.signed,
        &item.gap,
    ];
    for condition in conditions {
        each_bit(condition, |bit| push(false, bit));
    }
    if let Some((_, field)) = &item.select {
        push(false, field.clone());
    }
    if let Some(field) = &item.format {
        push(false, field.clone());
    }
    if let RegisterCount::Listed(_, field) = &item.count {
        push(false, field.clone());
    }
    if let Some(bit) = item.reuse {
        push(false, Field::of_bit(bit));
    }
}
