//! Packed half-precision arithmetic: HADD2, HMUL2, HFMA2, HSET2, HSETP2.
//!
//! A result is a pair of halves, or with `.F32` one half as a single: compilers emit `HADD2.F32` for `add.f16`
//! followed by `cvt.f32.f16`. It is not known which half of the pair that is, so the instruction has a meaning only
//! if both are the same. Results that are merged into one half of a register (`.MRG_H0`, `.MRG_H1`) have no meaning
//! yet. For example, `HADD2 R0, R1, R2.H0_H0` adds the low half of R2 to both halves of R1.
//!
//! From Ampere on, the pairs may be of bfloat16 (`.BF16_V2`). The PTX ISA defines their operations without flushing and
//! clamping, so these modifiers leave such an instruction without a meaning.

use warpbound_isa::nvidia::{Modifier, Modifier as M, Part};
use warpbound_isa::{Operand, OperandValue};

use super::compare::{combine_predicates, mask, set_predicates};
use super::modifier_reader::ModifierReader;
use crate::float::{Comparison, FloatOp, Flush};
use crate::nvidia::operands::{Operands, SINGLE_SIGN, and, or, shl, shr, with_sign, word_of};
use crate::{Expr, Meaning};

/// HADD2.
pub(crate) fn sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    ADD.meaning(2, modifiers, operands)
}

/// HMUL2.
pub(crate) fn product(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    MUL.meaning(2, modifiers, operands)
}

/// HFMA2.
pub(crate) fn fma(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    FMA.meaning(3, modifiers, operands)
}

/// One component of an operand: a half in the low bits of a word, or a single.
#[derive(Clone, PartialEq, Eq)]
enum Component {
    Half(Expr),
    Single(Expr),
}

impl Component {
    fn widened(&self, flush: Flush) -> Expr {
        match self {
            Component::Half(half) => Expr::float(FloatOp::WidenHalf(flush), [half.clone()]),
            Component::Single(single) => single.clone(),
        }
    }
}

/// Components of an operand for the low and the high half of the result.
struct HalfPair {
    low: Component,
    high: Component,
}

/// Operation on halves, its variant on singles with a half result, and the one on numbers of bfloat16.
struct Arithmetic {
    halves: fn(Flush) -> FloatOp,
    singles: fn(Flush) -> FloatOp,
    bfloats: FloatOp,
}

const ADD: Arithmetic = Arithmetic {
    halves: FloatOp::AddHalf,
    singles: FloatOp::AddSinglesToHalf,
    bfloats: FloatOp::AddBfloat,
};
const MUL: Arithmetic = Arithmetic {
    halves: FloatOp::MulHalf,
    singles: FloatOp::MulSinglesToHalf,
    bfloats: FloatOp::MulBfloat,
};
const FMA: Arithmetic = Arithmetic {
    halves: FloatOp::FmaHalf,
    singles: FloatOp::FmaSinglesToHalf,
    bfloats: FloatOp::FmaBfloat,
};

impl Arithmetic {
    /// Applies the operation to the halves of the first `count` operands.
    fn meaning(
        &self,
        count: usize,
        modifiers: &[Modifier],
        operands: &Operands<'_>,
    ) -> Option<Meaning> {
        let mut modifiers = ModifierReader::of(modifiers);
        if modifiers.take(M::Bf16V2) {
            modifiers.finish()?;
            return self.of_bfloats(count, operands);
        }
        let to_single = modifiers.take(M::F32);
        let flush = modifiers.flush();
        let saturates = modifiers.take(M::Sat);
        modifiers.finish()?;
        let (pairs, _) = pairs(operands, count)?;
        let of = |lane: fn(&HalfPair) -> &Component| {
            let numbers: Vec<&Component> = pairs.iter().map(lane).collect();
            let value = self.of(&numbers, flush);
            match saturates {
                true => Expr::float(FloatOp::SaturateHalf, [value]),
                false => value,
            }
        };
        let (low, high) = (of(|pair| &pair.low), of(|pair| &pair.high));
        if to_single {
            let is_half =
                |pair: &HalfPair| pair.low == pair.high && matches!(pair.low, Component::Half(_));
            let widen = FloatOp::WidenHalf(Flush::Keep);
            return pairs
                .iter()
                .all(is_half)
                .then(|| operands.set_register(Expr::float(widen, [low])))
                .flatten();
        }
        operands.set_register(or(low, shl(high, Expr::Const(16))))
    }

    /// Applies the operation to the two numbers of bfloat16 in each of the first `count` operands.
    fn of_bfloats(&self, count: usize, operands: &Operands<'_>) -> Option<Meaning> {
        let (pairs, _) = pairs(operands, count)?;
        let of = |lane: fn(&HalfPair) -> &Component| {
            let numbers: Vec<&Component> = pairs.iter().map(lane).collect();
            Some(Expr::float(self.bfloats, all_halves(&numbers)?))
        };
        let (low, high) = (of(|pair| &pair.low)?, of(|pair| &pair.high)?);
        operands.set_register(or(low, shl(high, Expr::Const(16))))
    }

    fn of(&self, numbers: &[&Component], flush: Flush) -> Expr {
        match all_halves(numbers) {
            Some(halves) => Expr::float((self.halves)(flush), halves),
            None => {
                // One single turns the operation into one on singles; halves are widened without loss.
                let wide: Vec<Expr> = numbers.iter().map(|n| n.widened(flush)).collect();
                Expr::float((self.singles)(flush), wide)
            }
        }
    }
}

fn all_halves(numbers: &[&Component]) -> Option<Vec<Expr>> {
    let halves = numbers.iter().map(|number| match number {
        Component::Half(half) => Some(half.clone()),
        Component::Single(_) => None,
    });
    halves.collect()
}

/// HSET2: one mask per half.
pub(crate) fn set(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let yes = match modifiers.take(M::Bf) {
        // 1.0 as a half.
        true => 0x3c00,
        false => 0xffff,
    };
    let halves = HalfComparison::of(&mut modifiers, operands)?;
    // The result of `.H_AND` in a register is not known.
    if halves.both {
        return None;
    }
    let low = mask(halves.combined(halves.low.clone())?, yes);
    let high = mask(halves.combined(halves.high.clone())?, yes);
    operands.set_register(or(low, shl(high, Expr::Const(16))))
}

/// HSETP2: one predicate per half, or with `.H_AND` one predicate for both.
pub(crate) fn set_predicate_pair(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let halves = HalfComparison::of(&mut modifiers, operands)?;
    let predicates = operands.predicates();
    if halves.both {
        // Unknown: the value of the second predicate.
        let first_only = predicates.get(1).is_none_or(Option::is_none);
        let truth = and(halves.low, halves.high);
        return first_only
            .then(|| set_predicates(truth, halves.combine, halves.third, operands))
            .flatten();
    }
    let truths = [
        halves.combined(halves.low.clone())?,
        halves.combined(halves.high.clone())?,
    ];
    Some(Meaning::Set(
        predicates
            .into_iter()
            .zip(truths)
            .filter_map(|(cell, truth)| Some((cell?, truth)))
            .collect(),
    ))
}

/// Comparison of both halves, to be combined with a predicate.
struct HalfComparison {
    low: Expr,
    high: Expr,
    /// `.H_AND`: the comparison must hold for both halves.
    both: bool,
    combine: Modifier,
    third: Expr,
}

impl HalfComparison {
    fn of(modifiers: &mut ModifierReader<'_>, operands: &Operands<'_>) -> Option<HalfComparison> {
        let comparison = modifiers.comparison()?;
        let both = modifiers.take(M::HAnd);
        let flush = modifiers.flush();
        let combine = modifiers.next()?;
        modifiers.finish()?;
        let (pairs, next) = pairs(operands, 2)?;
        let truth = |lane: fn(&HalfPair) -> &Component| {
            let numbers: Vec<&Component> = pairs.iter().map(lane).collect();
            comparison_result(comparison, &numbers, flush)
        };
        Some(HalfComparison {
            low: truth(|pair| &pair.low),
            high: truth(|pair| &pair.high),
            both,
            combine,
            third: operands.predicate(next)?,
        })
    }

    fn combined(&self, truth: Expr) -> Option<Expr> {
        combine_predicates(self.combine, truth, self.third.clone())
    }
}

fn comparison_result(comparison: Comparison, numbers: &[&Component], flush: Flush) -> Expr {
    match all_halves(numbers) {
        Some(halves) => Expr::float(FloatOp::CompareHalf(comparison, flush), halves),
        None => {
            // Halves are flushed when they are widened, so the comparison itself keeps subnormals.
            let wide: Vec<Expr> = numbers.iter().map(|n| n.widened(flush)).collect();
            Expr::float(FloatOp::CompareSingle(comparison, Flush::Keep), wide)
        }
    }
}

/// First `count` operands, and the index of the operand after them. An immediate takes two operands, the high half
/// first.
fn pairs(operands: &Operands<'_>, count: usize) -> Option<(Vec<HalfPair>, usize)> {
    let mut index = 0;
    let mut pairs = Vec::with_capacity(count);
    for _ in 0..count {
        let operand = operands.reads.get(index)?;
        index += 1;
        let Some(high) = half_immediate(operand) else {
            pairs.push(pair(operand)?);
            continue;
        };
        let low = half_immediate(operands.reads.get(index)?)?;
        index += 1;
        let half = |bits: u16| Component::Half(Expr::Const(bits.into()));
        pairs.push(HalfPair {
            low: half(low),
            high: half(high),
        });
    }
    Some((pairs, index))
}

/// Immediate of 16 bits. One of bfloat16 is the high half of a single.
fn half_immediate(operand: &Operand) -> Option<u16> {
    match operand.value {
        OperandValue::Half(bits) => Some(bits),
        OperandValue::Single(bits) if bits & 0xffff == 0 => Some((bits >> 16) as u16),
        _ => None,
    }
}

fn pair(operand: &Operand) -> Option<HalfPair> {
    const SIGN: u32 = 1 << 15;
    let word = word_of(operand, 0)?;
    // A constant operand is a single (experiment: for the half 0x2e33 the compiler stores 0x3dc66000).
    if matches!(operand.value, OperandValue::Const { .. }) && operand.part == Part::Whole {
        let single = Component::Single(with_sign(word, operand, SINGLE_SIGN));
        return Some(HalfPair {
            low: single.clone(),
            high: single,
        });
    }
    let low = || Component::Half(with_sign(word.clone(), operand, SIGN));
    let high = || {
        let half = shr(word.clone(), Expr::Const(16));
        Component::Half(with_sign(half, operand, SIGN))
    };
    let (low, high) = match operand.part {
        // RZ is a pair of zeros.
        Part::Whole if operand.value == OperandValue::Reg(None) => (low(), low()),
        Part::Whole => (low(), high()),
        Part::LowTwice => (low(), low()),
        Part::HighTwice => (high(), high()),
        Part::Single => {
            let single = Component::Single(with_sign(word, operand, SINGLE_SIGN));
            (single.clone(), single)
        }
        _ => return None,
    };
    Some(HalfPair { low, high })
}
