//! Sums with carries in predicates, products, scaled sums, minima and maxima. For example, `IMAD.WIDE R2, R4, 0x4, R6` is
//! the 64-bit address R7:R6 + 4 * R4.

use smallvec::SmallVec;
use warpbound_isa::nvidia::{Modifier, Modifier as M};

use super::logic::set_pair;
use crate::maxwell::number::extract_part;
use crate::nvidia::operands::{Operands, add, and, low_half, not, or, shl, shr};
use crate::{BinaryOp, Cell, Expr, Meaning, TernaryOp, UnaryOp};

/// Summands of a sum, to find its carries. A number that is subtracted is its complement and 1.
#[derive(Default)]
struct Summands {
    words: SmallVec<[Expr; 3]>,
    /// Numbers of 0 or 1.
    bits: SmallVec<[Expr; 3]>,
}

impl Summands {
    fn add(&mut self, word: Expr) {
        if word != Expr::Const(0) {
            self.words.push(word);
        }
    }

    fn add_signed(&mut self, word: Expr, negated: bool) {
        match negated {
            false => self.add(word),
            true => {
                self.words.push(not(word));
                self.bits.push(Expr::Const(1));
            }
        }
    }

    fn add_bit(&mut self, bit: Expr) {
        if bit != Expr::Const(0) {
            self.bits.push(bit);
        }
    }

    /// Returns the sum without its carries.
    fn sum(&self) -> Expr {
        let mut all = self.words.iter().chain(&self.bits).cloned();
        let first = all.next().unwrap_or(Expr::Const(0));
        all.fold(first, add)
    }

    /// Returns whether the sum reaches 2^32, and whether it reaches 2^33 (Mesa's compiler for this family, which tests it on
    /// GPUs).
    fn carries(&self) -> [Expr; 2] {
        let all: SmallVec<[Expr; 6]> = self.words.iter().chain(&self.bits).cloned().collect();
        let of = |index: usize| all.get(index).cloned().unwrap_or(Expr::Const(0));
        let mut carries = Expr::ternary(TernaryOp::Carry, of(0), of(1), of(2));
        let mut sum = add(add(of(0), of(1)), of(2));
        // Two words and one bit are less than 2^33.
        if self.words.len() <= 2 && all.len() <= 3 {
            return [carries, Expr::Const(0)];
        }
        for pair in all.get(3..).unwrap_or_default().chunks(2) {
            let [a, b] = [pair.first(), pair.get(1)].map(|summand| summand.cloned());
            let (a, b) = (a.unwrap_or(Expr::Const(0)), b.unwrap_or(Expr::Const(0)));
            let more = Expr::ternary(TernaryOp::Carry, sum.clone(), a.clone(), b.clone());
            carries = add(carries, more);
            sum = add(add(sum, a), b);
        }
        [1, 2].map(|least| Expr::binary(BinaryOp::LeU, Expr::Const(least), carries.clone()))
    }

    /// Assigns `value` to the register, and the carries of the summands to the predicates.
    fn assign(&self, value: Expr, operands: &Operands<'_>) -> Option<Meaning> {
        let mut writes: SmallVec<[(Cell, Expr); 2]> = SmallVec::new();
        writes.extend(operands.register()?.map(|cell| (cell, value)));
        let predicates = operands.predicates();
        if predicates.iter().any(Option::is_some) {
            let carried = predicates.into_iter().zip(self.carries());
            writes.extend(carried.filter_map(|(cell, carry)| Some((cell?, carry))));
        }
        Some(Meaning::Set(writes))
    }
}

/// Fails unless all predicates from an operand on are false: without `.X` nothing is carried in.
fn nothing_carried_in(operands: &Operands<'_>, first: usize) -> Option<()> {
    let are_false = (first..operands.reads.len())
        .all(|index| operands.predicate(index) == Some(Expr::Const(0)));
    are_false.then_some(())
}

/// IADD3 and IADD: the sum of `count` operands. With `.X`, carries are added, and operands may be complemented.
pub(super) fn sum(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
    count: usize,
) -> Option<Meaning> {
    let mut summands = Summands::default();
    match modifiers {
        [] => {
            let mut value = None;
            for index in 0..count {
                // The sum is built from negated words, which analyses of values read more precisely than complements. Only
                // the carries need the summands one by one.
                let (word, negated) = operands.signed(index)?;
                summands.add_signed(word, negated);
                let word = operands.word(index)?;
                value = Some(match value {
                    None => word,
                    Some(sum) => add(sum, word),
                });
            }
            nothing_carried_in(operands, count)?;
            summands.assign(value?, operands)
        }
        [M::X] => {
            for index in 0..count {
                summands.add(operands.bits(index)?);
            }
            // Carries of the lower words follow the summands.
            for index in count..operands.reads.len() {
                summands.add_bit(operands.predicate(index)?);
            }
            summands.assign(summands.sum(), operands)
        }
        [M::B64] if operands.predicates().iter().all(Option::is_none) => {
            nothing_carried_in(operands, count)?;
            let mut sum = operands.long(0)?;
            for index in 1..count {
                sum = long_sum(sum, operands.long(index)?, Expr::Const(0));
            }
            let [low, high] = sum;
            set_pair(operands, low, high)
        }
        [M::B64, carried @ ..] if count == 2 => long_sum_with_carries(carried, operands),
        [M::U8x4] => {
            let [(a, false), (b, negated)] = [operands.signed(0)?, operands.signed(1)?] else {
                return None;
            };
            // Bytes are negated one by one, so that the whole word has no sign.
            let op = match negated {
                false => BinaryOp::Add,
                true => BinaryOp::Sub,
            };
            operands.set_register(by_bytes(&a, &b, |a, b| Expr::binary(op, a, b)))
        }
        _ => None,
    }
}

/// IADD with `.64` and a carry. Compilers add and subtract numbers of 128 bits with a pair of them: the second one has `.X`
/// and the complement of what the first one negates, so that a negated number is its complement and 1.
fn long_sum_with_carries(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let negated = [0, 1].map(|index| operands.is_negated(index));
    let bit = match (modifiers, negated) {
        ([], [false, false]) => nothing_carried_in(operands, 2).map(|()| Expr::Const(0))?,
        ([], [true, false] | [false, true]) => {
            nothing_carried_in(operands, 2).map(|()| Expr::Const(1))?
        }
        ([M::X], [false, false]) => operands.predicate(2)?,
        // Two numbers that are subtracted have no place for two ones.
        _ => return None,
    };
    let number = |index: usize| {
        let words = operands.long_without_sign(index)?;
        let operand = operands.reads.get(index)?;
        Some(match operand.negate || operand.invert {
            true => words.map(not),
            false => words,
        })
    };
    let [a, b] = [number(0)?, number(1)?];
    let carry_out = carry_of(&a, &b, &bit);
    let [low, high] = long_sum(a, b, bit);
    let mut writes: SmallVec<[(Cell, Expr); 2]> = SmallVec::new();
    if let Some([first, second]) = operands.register_pair()? {
        writes.extend([(first, low), (second, high)]);
    }
    let predicate = operands.predicates().first().copied().flatten();
    writes.extend(predicate.map(|cell| (cell, carry_out)));
    Some(Meaning::Set(writes))
}

/// Sum of two 64-bit numbers and a bit.
fn long_sum([a, a_high]: [Expr; 2], [b, b_high]: [Expr; 2], bit: Expr) -> [Expr; 2] {
    // A product without a sum is added to RZ, and a simpler expression is found faster by analyses.
    if [&b, &b_high, &bit] == [&Expr::Const(0); 3] {
        return [a, a_high];
    }
    let carry = Expr::ternary(TernaryOp::Carry, a.clone(), b.clone(), bit.clone());
    let low = add(a, b);
    let low = match bit {
        Expr::Const(0) => low,
        bit => add(low, bit),
    };
    [low, add(add(a_high, b_high), carry)]
}

/// Carry out of the sum of two 64-bit numbers and a bit.
fn carry_of([a, a_high]: &[Expr; 2], [b, b_high]: &[Expr; 2], bit: &Expr) -> Expr {
    let low = Expr::ternary(TernaryOp::Carry, a.clone(), b.clone(), bit.clone());
    Expr::ternary(TernaryOp::Carry, a_high.clone(), b_high.clone(), low)
}

/// Applies an operation to the bytes of two words, each a number below 256, and keeps the low byte of each result.
fn by_bytes(a: &Expr, b: &Expr, of: impl Fn(Expr, Expr) -> Expr) -> Expr {
    let byte = |word: &Expr, at: u32| and(shr(word.clone(), Expr::Const(at)), Expr::Const(0xff));
    let result = |at: u32| {
        let value = and(of(byte(a, at), byte(b, at)), Expr::Const(0xff));
        shl(value, Expr::Const(at))
    };
    [8, 16, 24].map(result).into_iter().fold(result(0), or)
}

/// IMAD: a product and a sum. The disassembler prints simple ones with the modifiers MOV, IADD and SHL.
pub(super) fn product_and_sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let rest = match modifiers {
        [M::Mov | M::Iadd | M::Shl, rest @ ..] => rest,
        rest => rest,
    };
    let [a, b] = [operands.word(0)?, operands.word(1)?];
    // The low word of a product does not depend on signs.
    let low = || match (&a, &b) {
        // Compilers move and add with products by 0 and 1.
        (Expr::Const(0), _) | (_, Expr::Const(0)) => Expr::Const(0),
        (Expr::Const(1), other) | (other, Expr::Const(1)) => other.clone(),
        _ => Expr::binary(BinaryOp::Mul, a.clone(), b.clone()),
    };
    match rest {
        [] | [M::U32] => {
            nothing_carried_in(operands, 3)?;
            operands.set_register(add(low(), operands.word(2)?))
        }
        // Compilers add a carry with a product by 1.
        [M::X] => {
            let sum = add(low(), operands.bits(2)?);
            operands.set_register(match operands.predicate(3)? {
                Expr::Const(0) => sum,
                carry => add(sum, carry),
            })
        }
        [M::Wide | M::Hi, sign @ ..] => {
            let op = match sign {
                [] => BinaryOp::MulHighS,
                [M::U32] | [M::U32, M::X] => BinaryOp::MulHighU,
                _ => return None,
            };
            let carry_in = match (rest, sign) {
                // Compilers multiply numbers of 64 bits with it, for which the carry of the products of two words is one of
                // bit 0 of the product of the next ones. They use neither `.HI.X` nor a signed `.WIDE.X`.
                ([M::Wide, ..], [M::U32, M::X]) => operands.predicate(3)?,
                (_, [.., M::X]) => return None,
                _ => nothing_carried_in(operands, 3).map(|()| Expr::Const(0))?,
            };
            // A negated word has no product of 64 bits here: the number -2^31 is its own negation.
            let [(a, false), (b, false)] = [operands.signed(0)?, operands.signed(1)?] else {
                return None;
            };
            let product = [low(), Expr::binary(op, a, b)];
            let added = operands.long(2)?;
            let predicate = operands.predicates().first().copied().flatten();
            // No document says whether the carry belongs to a difference or to a sum with a negated number.
            if predicate.is_some() && operands.is_negated(2) {
                return None;
            }
            let carried = carry_of(&product, &added, &carry_in);
            let [low, high] = long_sum(product, added, carry_in);
            // `.HI` has the high word of the same sum.
            let mut writes: SmallVec<[(Cell, Expr); 2]> = SmallVec::new();
            match rest {
                [M::Wide, ..] => {
                    if let Some([first, second]) = operands.register_pair()? {
                        writes.extend([(first, low), (second, high)]);
                    }
                }
                _ => writes.extend(operands.register()?.map(|cell| (cell, high))),
            }
            writes.extend(predicate.map(|cell| (cell, carried)));
            Some(Meaning::Set(writes))
        }
        _ => None,
    }
}

/// LEA: a shifted operand and another. With `.HI`, the first operand and the third one, or with `.SX32` its sign, are a
/// number of 64 bits, and the high word of the shifted number is added.
pub(super) fn scaled_sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let shift = operands.immediate(3)?;
    let (a, negated) = operands.signed(0)?;
    // A negated number of 64 bits is not modelled.
    if negated && !modifiers.is_empty() {
        return None;
    }
    // `.HI` and `.X` are of the pair that adds a scaled index to an address of 64 bits: LEA for the low word, LEA.HI.X for
    // the high one.
    let (takes_high, rest) = match modifiers {
        [M::Hi, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (carried, rest) = match rest {
        [M::X, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    // Shifts of a word by 32 and more give 0, or its sign.
    let above = Expr::Const(32u32.checked_sub(shift)?);
    let shifted = match (takes_high, rest) {
        (false, []) => shl(a, Expr::Const(shift)),
        (true, [M::Sx32]) => Expr::binary(BinaryOp::Sar, a, above),
        (true, []) => match operands.word(2)? {
            Expr::Const(0) => shr(a, above),
            high => Expr::ternary(TernaryOp::FunnelLeft, a, high, Expr::Const(shift)),
        },
        _ => return None,
    };
    let mut summands = Summands::default();
    // Compilers add the carry to the complement of the high word of the shifted number, so that the number is negated after
    // it is shifted, as its complement and 1.
    summands.add_signed(shifted.clone(), negated);
    let shifted = match negated {
        false => shifted,
        true => shl(operands.word(0)?, Expr::Const(shift)),
    };
    if carried {
        summands.add(operands.bits(1)?);
        summands.add_bit(operands.predicate(4)?);
        return summands.assign(summands.sum(), operands);
    }
    nothing_carried_in(operands, 4)?;
    let (b, negated) = operands.signed(1)?;
    summands.add_signed(b, negated);
    summands.assign(add(shifted, operands.word(1)?), operands)
}

/// IABS.
pub(super) fn absolute(operands: &Operands<'_>) -> Option<Meaning> {
    let value = operands.word(0)?;
    // The smallest number is its own negation, as on the hardware.
    let negative = Expr::unary(UnaryOp::Neg, value.clone());
    operands.set_register(Expr::binary(BinaryOp::MaxS, value, negative))
}

/// Minimum or maximum that a type has.
fn min_max_ops(modifiers: &[Modifier]) -> Option<[BinaryOp; 2]> {
    match modifiers {
        [] | [M::S32] => Some([BinaryOp::MinS, BinaryOp::MaxS]),
        [M::U32] => Some([BinaryOp::MinU, BinaryOp::MaxU]),
        _ => None,
    }
}

/// The first value if a predicate holds, else the second.
pub(super) fn either(choice: Expr, smaller: Expr, larger: Expr) -> Expr {
    match choice {
        Expr::Const(0) => larger,
        Expr::Const(_) => smaller,
        choice => Expr::ternary(TernaryOp::Select, choice, smaller, larger),
    }
}

/// IMNMX and VIMNMX: the minimum if the predicate holds, else the maximum, of words, of parts of words (PTX manual, `min`
/// with `.u16x2` and `.s16x2`) or of pairs of words.
pub(super) fn min_max(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let choice = operands.predicate(2)?;
    if let [M::Relu] = modifiers {
        // `.relu` of signed numbers: negative results become 0 (PTX manual, `min`).
        let of = |op| Some(Expr::binary(op, operands.word(0)?, operands.word(1)?));
        let result = either(choice, of(BinaryOp::MinS)?, of(BinaryOp::MaxS)?);
        return operands.set_register(Expr::binary(BinaryOp::MaxS, result, Expr::Const(0)));
    }
    if let [M::U8x4] = modifiers {
        let [a, b] = [operands.word(0)?, operands.word(1)?];
        let of = |op| by_bytes(&a, &b, |a, b| Expr::binary(op, a, b));
        return operands.set_register(either(choice, of(BinaryOp::MinU), of(BinaryOp::MaxU)));
    }
    if let [M::U16x2 | M::S16x2] = modifiers {
        let [a, b] = [operands.word(0)?, operands.word(1)?];
        let signed = modifiers == [M::S16x2];
        let of = |op| {
            let half = |at: u32| {
                let part = |word: &Expr| low_half(shr(word.clone(), Expr::Const(at)), signed);
                and(Expr::binary(op, part(&a), part(&b)), Expr::Const(0xffff))
            };
            or(half(0), shl(half(16), Expr::Const(16)))
        };
        let [smaller, larger] = match signed {
            false => [BinaryOp::MinU, BinaryOp::MaxU],
            true => [BinaryOp::MinS, BinaryOp::MaxS],
        };
        return operands.set_register(either(choice, of(smaller), of(larger)));
    }
    if let [M::U64 | M::S64] = modifiers {
        // No document says what the second predicate does.
        nothing_carried_in(operands, 3)?;
        let [a, b] = [operands.long(0)?, operands.long(1)?];
        let less = long_less(&a, &b, modifiers == [M::S64]);
        let first = either(
            choice,
            less.clone(),
            crate::nvidia::operands::logical_not(less),
        );
        let of = |a: &Expr, b: &Expr| {
            Expr::ternary(TernaryOp::Select, first.clone(), a.clone(), b.clone())
        };
        return set_pair(operands, of(&a[0], &b[0]), of(&a[1], &b[1]));
    }
    let [smaller, larger] = min_max_ops(modifiers)?;
    let of = |op| Some(Expr::binary(op, operands.word(0)?, operands.word(1)?));
    operands.set_register(either(choice, of(smaller)?, of(larger)?))
}

/// 1 if a 64-bit number is less than another.
pub(super) fn long_less([a, a_high]: &[Expr; 2], [b, b_high]: &[Expr; 2], signed: bool) -> Expr {
    let of = |op, a: &Expr, b: &Expr| Expr::binary(op, a.clone(), b.clone());
    let less = match signed {
        true => BinaryOp::LtS,
        false => BinaryOp::LtU,
    };
    let equal = of(BinaryOp::Eq, a_high, b_high);
    or(
        of(less, a_high, b_high),
        and(equal, of(BinaryOp::LtU, a, b)),
    )
}

/// VIMNMX3: minimum or maximum of three words.
pub(super) fn min_max_of_three(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [smaller, larger] = min_max_ops(modifiers)?;
    let [a, b, c] = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
    let of = |op| Expr::binary(op, Expr::binary(op, a.clone(), b.clone()), c.clone());
    operands.set_register(either(operands.predicate(3)?, of(smaller), of(larger)))
}

/// VIADDMNMX: the minimum of a sum and a word if the predicate holds, else the maximum. Compilers subtract the first case
/// of a switch with it, so that the sum wraps around.
pub(super) fn sum_min_max(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [smaller, larger] = min_max_ops(modifiers)?;
    let sum = add(operands.word(0)?, operands.word(1)?);
    let of = |op| Some(Expr::binary(op, sum.clone(), operands.word(2)?));
    operands.set_register(either(operands.predicate(3)?, of(smaller)?, of(larger)?))
}

/// VABSDIFF: the distance of two words, plus a third one (PTX manual, `sad`).
pub(super) fn difference_and_sum(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let [smaller, larger] = min_max_ops(modifiers)?;
    let of = |op| Some(Expr::binary(op, operands.word(0)?, operands.word(1)?));
    let distance = Expr::binary(BinaryOp::Sub, of(larger)?, of(smaller)?);
    operands.set_register(add(distance, operands.word(2)?))
}

/// VABSDIFF4: the distances of the bytes of two words; with `.ACC` their sum, plus a third word.
pub(super) fn differences_of_bytes(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let (signed, rest) = match modifiers {
        [M::U8, rest @ ..] => (false, rest),
        rest => (true, rest),
    };
    let accumulated = match rest {
        [] => false,
        [M::Acc] => true,
        _ => return None,
    };
    let [a, b, third] = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
    if !accumulated && third != Expr::Const(0) {
        return None;
    }
    let mut result = third;
    for at in [0, 8, 16, 24] {
        let part = |word: &Expr| extract_part(word.clone(), at, 8, signed);
        let distance = part(&a).minus(&part(&b))?.magnitude()?.low();
        result = match accumulated {
            true => add(result, distance),
            false => or(
                result,
                shl(and(distance, Expr::Const(0xff)), Expr::Const(at)),
            ),
        };
    }
    operands.set_register(result)
}
