//! Values of operands placed into the fields of a row. For example, the immediate -1 in a signed field of 20 bits
//! sets all of them; 0x80000 does not fit there.

use super::super::dialect::Dialect;
use super::super::field::{Cond, Field};
use super::super::names::Names;
use super::super::operand::{OperandValue, relative_target};
use super::super::register_number::uniform_zero;
use super::super::template::{FloatFormat, Item, ItemKind};
use super::brackets;
use super::error::OperandMismatch;
use super::new_operand::{NewOperand, as_brackets};
use crate::RegisterKind;
use crate::instr::BranchTarget;
use warpbound_base::CodeAddr;

/// Word with some bits chosen. Bits 83:81 are control-slot bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartialWord {
    /// Bits that are chosen.
    known: u128,
    /// Values of the known bits; zero elsewhere.
    value: u128,
}

impl PartialWord {
    /// Word with the fixed bits of a row.
    pub(super) fn new(mask: u128, value: u128) -> PartialWord {
        PartialWord {
            known: mask,
            value: value & mask,
        }
    }

    /// Bits that are chosen.
    pub(super) fn known(self) -> u128 {
        self.known
    }

    /// Value; bits that are not chosen are zero.
    pub(super) fn value(self) -> u128 {
        self.value
    }

    /// Word with the bits of a mask chosen as well; `None` if one of them already has another value.
    pub(super) fn with(self, mask: u128, value: u128) -> Option<PartialWord> {
        if (self.value ^ value) & self.known & mask != 0 {
            return None;
        }
        Some(PartialWord {
            known: self.known | mask,
            value: self.value | value & mask,
        })
    }

    /// Word with a value in a field.
    pub(super) fn with_field(self, field: &Field, value: u64) -> Option<PartialWord> {
        self.with(field.bits(), field.place(value))
    }

    /// Whether a condition holds; `None` if that depends on bits that are not chosen.
    pub(super) fn holds(self, condition: &Cond) -> Option<bool> {
        match condition.required() {
            None => Some(false),
            Some(required) if (self.value ^ required) & self.known & condition.bits() != 0 => {
                Some(false)
            }
            Some(_) if condition.bits() & !self.known == 0 => Some(true),
            Some(_) => None,
        }
    }

    /// Word whose condition holds, or does not. To make a condition of several free bits false, the lowest one is
    /// chosen unless there are codes; rows name such bits by a modifier, which is chosen before.
    pub(super) fn with_condition(
        self,
        condition: &Cond,
        wanted: bool,
        codes: Option<u128>,
    ) -> Option<PartialWord> {
        match (self.holds(condition), wanted) {
            (Some(holds), wanted) => (holds == wanted).then_some(self),
            (None, true) => self.with(condition.bits(), condition.required()?),
            (None, false) => {
                let free = condition.bits() & !self.known;
                if let Some(codes) = codes.filter(|codes| !condition.holds(*codes)) {
                    return self.with(free, codes & free);
                }
                // One false bit makes the whole condition false.
                let lowest = free & free.wrapping_neg();
                self.with(lowest, !condition.required()? & lowest)
            }
        }
    }
}

/// Circumstances on which the bits of an operand depend, apart from its row.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) dialect: &'static Dialect,
    pub(super) names: &'a Names,
    /// Address of the instruction.
    pub(super) addr: Option<CodeAddr>,
    /// Bits of a word whose codes are taken where several ones mean the same.
    pub(super) codes: Option<u128>,
}

impl Context<'_> {
    /// Places the low bits of a field. The decoder ignores the bits above them, which follow the row or the codes.
    fn low_bits(
        &self,
        field: &Field,
        value: u64,
        read: u64,
        word: PartialWord,
    ) -> Option<PartialWord> {
        let placed = word.with(field.place(read), field.place(value))?;
        match self.codes {
            Some(codes) => placed.with(field.place(!read), codes),
            None => Some(placed),
        }
    }
}

/// Places an operand with its modifiers.
pub(super) fn operand(
    item: &Item,
    given: &NewOperand,
    word: PartialWord,
    context: &Context<'_>,
) -> Result<PartialWord, OperandMismatch> {
    let word = value(item, given, word, context)?;
    let conditions = [
        (&item.neg, given.negate),
        (&item.abs, given.absolute),
        (&item.inv, given.invert),
        (&item.cc, given.sets_cc),
    ];
    let changed = conditions
        .into_iter()
        .try_fold(word, |word, (condition, wanted)| {
            word.with_condition(condition, wanted, context.codes)
        });
    let reused = changed.and_then(|word| match (given.reuse, item.reuse) {
        (false, _) => Some(word),
        (true, None) => None,
        (true, Some(bit)) => word.with_field(&Field::of_bit(bit), 1),
    });
    reused.ok_or(OperandMismatch::Modifier)
}

/// Places the value of an operand.
fn value(
    item: &Item,
    given: &NewOperand,
    word: PartialWord,
    context: &Context<'_>,
) -> Result<PartialWord, OperandMismatch> {
    let clash = OperandMismatch::Modifier;
    match (&item.kind, given.value) {
        (ItemKind::Reg(field), OperandValue::Reg(number))
        | (ItemKind::RegPair(field), OperandValue::RegPair(number)) => {
            register(field, number, word, context)
        }
        (ItemKind::Pred(field), OperandValue::Pred { pred, negated })
        | (ItemKind::UniformPred(field), OperandValue::UniformPred { pred, negated }) => {
            let number = predicate(pred)?;
            // Some rows store the number inverted.
            let code = if item.flip { number ^ 7 } else { number };
            let word = word.with_field(field, code).ok_or(clash)?;
            let negated = word.with_condition(&item.not, negated, context.codes);
            negated.ok_or(clash)
        }
        (ItemKind::PredSet(file), OperandValue::AllPreds(kind)) if *file == kind => Ok(word),
        (ItemKind::PredSetOrCc(bit), OperandValue::AllPreds(RegisterKind::Predicate)) => {
            word.with_field(&Field::of_bit(*bit), 0).ok_or(clash)
        }
        (ItemKind::PredSetOrCc(bit), OperandValue::ConditionCode) => {
            word.with_field(&Field::of_bit(*bit), 1).ok_or(clash)
        }
        (ItemKind::CcTest(field), OperandValue::CcTest(test)) => {
            unsigned(field, test.0.into(), word)
        }
        (ItemKind::Unsigned(field), OperandValue::Int(number)) => {
            scaled(field, number, item.scale, word)
        }
        (ItemKind::Signed(field), OperandValue::Int(number)) => {
            let from = match (item.next, context.addr) {
                (false, _) => 0,
                (true, None) => return Err(OperandMismatch::NoAddress),
                (true, Some(addr)) => i64::from(addr.0) + i64::from(context.dialect.bytes()),
            };
            signed(field, number.wrapping_sub(from), item.scale, word)
        }
        (ItemKind::Mixed(field), OperandValue::Int(number)) => {
            mixed(item, field, number, word, context)
        }
        (ItemKind::Float(format, field), number) => float(item, *format, field, number, word),
        (ItemKind::Const { bank, offset }, OperandValue::Const { bank: b, offset: o }) => {
            let word = unsigned(bank, b.into(), word)?;
            // The field of an offset counts words.
            signed(offset, o.into(), 4, word)
        }
        (
            ItemKind::ConstIndexed { bank, base, offset },
            OperandValue::ConstIndexed {
                bank: b,
                base: r,
                offset: o,
            },
        ) => {
            let word = unsigned(bank, b.into(), word)?;
            signed(offset, o.into(), 1, register(base, r, word, context)?)
        }
        (
            ItemKind::Memory { base, offset } | ItemKind::Address { base, offset },
            OperandValue::Memory { base: r, offset: o },
        ) => {
            let word = register(base, r, word, context)?;
            memory(item, offset.as_ref(), r, o, word)
        }
        (kind, OperandValue::Target(target)) => code_target(kind, target, word, context),
        (ItemKind::RegTarget { base, offset }, OperandValue::RegTarget { base: r, offset: o }) => {
            signed(offset, o, 1, register(base, r, word, context)?)
        }
        _ => wide_value(item, given, word, context),
    }
}

/// Places the value of an operand that only words of 128 bits have.
fn wide_value(
    item: &Item,
    given: &NewOperand,
    word: PartialWord,
    context: &Context<'_>,
) -> Result<PartialWord, OperandMismatch> {
    match (&item.kind, given.value) {
        (ItemKind::Uniform(field), OperandValue::Uniform(number)) => {
            uniform(field, number, item.plus, word, context)
        }
        (ItemKind::ConvergenceBarrier(field), OperandValue::ConvergenceBarrier(number)) => {
            unsigned(field, number.into(), word)
        }
        (ItemKind::Brackets(brackets), value) => {
            let given = as_brackets(value).ok_or(OperandMismatch::Kind)?;
            brackets::place(brackets, &given, word, context)
        }
        _ => Err(OperandMismatch::Kind),
    }
}

/// Places a general register; `None` is RZ, number 255.
pub(super) fn register(
    field: &Field,
    number: Option<u8>,
    word: PartialWord,
    context: &Context<'_>,
) -> Result<PartialWord, OperandMismatch> {
    // Register 255 is RZ, which callers give as `None`.
    if number == Some(u8::MAX) {
        return Err(OperandMismatch::RegisterNumber);
    }
    let code = number.unwrap_or(u8::MAX).into();
    let placed = context.low_bits(field, code, 0xff, word);
    placed.ok_or(OperandMismatch::RegisterNumber)
}

/// Places a uniform register; `None` is URZ, whose number depends on the architecture.
pub(super) fn uniform(
    field: &Field,
    number: Option<u8>,
    plus: u8,
    word: PartialWord,
    context: &Context<'_>,
) -> Result<PartialWord, OperandMismatch> {
    let zero = u64::from(uniform_zero(context.dialect, context.names));
    // The field has the number before `plus` is added.
    let stored = number.map(|number| number.checked_sub(plus));
    let code = match stored {
        None => zero,
        Some(stored) => stored.ok_or(OperandMismatch::RegisterNumber)?.into(),
    };
    // The number of URZ is no other register.
    let is_register = number.is_none() || code < zero;
    let placed = context.low_bits(field, code, zero, word);
    // URZ is also the register below it with `plus` added; another operand may have placed that one in the field.
    let below = zero.saturating_sub(plus.into());
    let placed = match number {
        None => placed.or_else(|| context.low_bits(field, below, zero, word)),
        Some(_) => placed,
    };
    let placed = placed.filter(|_| is_register);
    placed.ok_or(OperandMismatch::RegisterNumber)
}

/// Number of a predicate; `None` is PT, number 7.
pub(super) fn predicate(pred: Option<u8>) -> Result<u64, OperandMismatch> {
    match pred {
        None => Ok(7),
        Some(number @ 0..=6) => Ok(number.into()),
        Some(_) => Err(OperandMismatch::RegisterNumber),
    }
}

/// Places a number that the field stores unchanged. A field of 64 bits takes the bits of any number.
fn unsigned(field: &Field, number: i64, word: PartialWord) -> Result<PartialWord, OperandMismatch> {
    let high = i64::try_from(u64::MAX >> (64 - field.width())).unwrap_or(i64::MAX);
    let range = OperandMismatch::Range { low: 0, high };
    if field.width() < 64 && !(0..=high).contains(&number) {
        return Err(range);
    }
    // A field may have bits that the row fixes or that a modifier has chosen.
    word.with_field(field, number as u64).ok_or(range)
}

/// Places a number without a sign, counted in units.
pub(super) fn scaled(
    field: &Field,
    number: i64,
    unit: u8,
    word: PartialWord,
) -> Result<PartialWord, OperandMismatch> {
    let unit = i64::from(unit.max(1));
    match number % unit {
        0 => unsigned(field, number / unit, word),
        _ => Err(OperandMismatch::Multiple { of: unit as u32 }),
    }
}

/// Places a number in two's complement, counted in units.
pub(super) fn signed(
    field: &Field,
    number: i64,
    unit: u8,
    word: PartialWord,
) -> Result<PartialWord, OperandMismatch> {
    let unit = i64::from(unit.max(1));
    let high = i64::MAX >> (64 - field.width());
    let range = OperandMismatch::Range {
        low: (-high - 1).saturating_mul(unit),
        high: high.saturating_mul(unit),
    };
    if number % unit != 0 {
        return Err(OperandMismatch::Multiple { of: unit as u32 });
    }
    let units = number / unit;
    if !(-high - 1..=high).contains(&units) {
        return Err(range);
    }
    // The mask drops the sign bits above the field.
    let code = units as u64 & u64::MAX >> (64 - field.width());
    word.with_field(field, code).ok_or(range)
}

/// Places a number that is signed or unsigned by another bit of the word.
fn mixed(
    item: &Item,
    field: &Field,
    number: i64,
    word: PartialWord,
    context: &Context<'_>,
) -> Result<PartialWord, OperandMismatch> {
    // If the bit is free, the sign of the number chooses it.
    let is_signed = word.holds(&item.signed).unwrap_or(number < 0);
    let word = word.with_condition(&item.signed, is_signed, context.codes);
    let word = word.ok_or(OperandMismatch::Modifier)?;
    match is_signed {
        true => signed(field, number, 1, word),
        false => unsigned(field, number, word),
    }
}

/// Places the high bits of a floating-point number.
fn float(
    item: &Item,
    format: Option<FloatFormat>,
    field: &Field,
    number: OperandValue,
    word: PartialWord,
) -> Result<PartialWord, OperandMismatch> {
    let (bits, width, given, code) = match number {
        OperandValue::Half(bits) => (u64::from(bits), 16, FloatFormat::Half, 1),
        OperandValue::Single(bits) => (u64::from(bits), 32, FloatFormat::Single, 2),
        OperandValue::Double(bits) => (bits, 64, FloatFormat::Double, 3),
        _ => return Err(OperandMismatch::Kind),
    };
    if format.is_some_and(|format| format != given) {
        return Err(OperandMismatch::Kind);
    }
    let word = match &item.format {
        None if format.is_none() && given != FloatFormat::Single => {
            return Err(OperandMismatch::Kind);
        }
        None => word,
        Some(field) => {
            // Every code other than 1 (half) and 3 (double) stands for a single.
            let singles = [code, 0].into_iter().take(match given {
                FloatFormat::Single => 2,
                _ => 1,
            });
            let mut placed = singles.filter_map(|code| word.with_field(field, code));
            placed.next().ok_or(OperandMismatch::Kind)?
        }
    };
    // A conversion takes the low 16 bits of its immediate; other forms have the top bits of the number.
    let is_raw = given == FloatFormat::Half && item.format.is_some();
    let dropped = match is_raw {
        true => 0,
        false => 64u32
            .saturating_sub(field.width())
            .min(width - field.width().min(width)),
    };
    let precision = OperandMismatch::Precision {
        bits: field.width(),
    };
    // Rounding would encode another number than the one that was given.
    if bits & !(u64::MAX << dropped) != 0 {
        return Err(precision);
    }
    word.with_field(field, bits >> dropped).ok_or(precision)
}

/// Places the offset of an address, which is unsigned with RZ.
fn memory(
    item: &Item,
    field: Option<&Field>,
    number: Option<u8>,
    offset: i64,
    word: PartialWord,
) -> Result<PartialWord, OperandMismatch> {
    match field {
        None if offset == 0 => Ok(word),
        None => Err(OperandMismatch::Range { low: 0, high: 0 }),
        Some(field) if number.is_some() => signed(field, offset, item.scale, word),
        Some(field) => scaled(field, offset, item.scale, word),
    }
}

/// Places a code target.
fn code_target(
    kind: &ItemKind,
    target: BranchTarget,
    word: PartialWord,
    context: &Context<'_>,
) -> Result<PartialWord, OperandMismatch> {
    let (dialect, addr) = (context.dialect, context.addr);
    match (kind, target) {
        (ItemKind::Relative(field), BranchTarget::Code(target)) => {
            let addr = addr.ok_or(OperandMismatch::NoAddress)?;
            let offset = relative_offset(dialect, addr, target);
            let of = dialect.target_unit.into();
            signed(
                field,
                offset.ok_or(OperandMismatch::Multiple { of })?,
                1,
                word,
            )
        }
        // Every offset that leaves the 32-bit code space decodes to this target, so the lowest one is tried unless
        // there are codes.
        (ItemKind::Relative(field), BranchTarget::Outside) => {
            let addr = addr.ok_or(OperandMismatch::NoAddress)?;
            let low = i64::MIN >> (64 - field.width());
            let offset = context.codes.map_or(low, |codes| field.signed(codes));
            match relative_target(dialect, addr, offset) {
                BranchTarget::Outside => signed(field, offset, 1, word),
                _ => Err(OperandMismatch::Kind),
            }
        }
        (ItemKind::Absolute(field), BranchTarget::Absolute(target)) => {
            let number = i64::try_from(target).unwrap_or(i64::MAX);
            unsigned(field, number, word)
        }
        (ItemKind::ConstTarget { bank, offset }, BranchTarget::Constant { bank: b, offset: o }) => {
            let word = unsigned(bank, b.into(), word)?;
            signed(offset, o.into(), 1, word)
        }
        _ => Err(OperandMismatch::Kind),
    }
}

/// Offset with which an instruction at `addr` reaches `target`, in the unit of its field; `None` if the distance is no
/// multiple of it. Relative targets count from the address after the instruction.
pub(super) fn relative_offset(dialect: &Dialect, addr: CodeAddr, target: CodeAddr) -> Option<i64> {
    let distance = i64::from(target.0) - i64::from(addr.0) - i64::from(dialect.bytes());
    let unit = i64::from(dialect.target_unit);
    (distance % unit == 0).then_some(distance / unit)
}
