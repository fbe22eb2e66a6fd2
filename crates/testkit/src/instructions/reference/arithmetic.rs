//! Reference of additions, multiplications, scaled addresses, minima and maxima, and integer conversions.

use super::{InstrCase, InstrOutputs, bit_field, sign_extend};

pub(super) fn outputs(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    match case.spelling.mnemonic {
        "IADD" | "IADD32I" => sum(case),
        "IADD3" => sum_of_three(case),
        "ISCADD" | "ISCADD32I" | "LEA" => scaled(case),
        "IMUL" | "IMUL32I" => case.write_register(product(case)),
        "IMAD" | "IMAD32I" => multiply_and_add(case),
        "XMAD" => multiply_halves(case),
        "IMNMX" => extreme(case),
        "I2I" => convert_integer(case),
        _ => None,
    }
}

/// Adds two summands, each with its negation, and a carry-in.
///
/// A negated word is complemented and 1 is carried in, so that the carry flag of a subtraction means "no borrow".
fn add_with_carry(
    case: &InstrCase<'_>,
    summands: [(u32, bool); 2],
    more: i128,
    chained: bool,
) -> InstrOutputs {
    let minus = summands.iter().any(|&(_, minus)| minus);
    let turned = |(value, minus): (u32, bool)| if minus { !value } else { value };
    let carried = match chained {
        true => case.carry().into(),
        false => i128::from(minus) + more,
    };
    let words = summands.map(turned);
    let unsigned = i128::from(words[0]) + i128::from(words[1]) + carried;
    let with_signs = sign_extend(words[0], 32) + sign_extend(words[1], 32) + carried;
    let value = unsigned as u32;
    let flags = [
        value == 0 && (!chained || case.zero()),
        sign_extend(value, 32) < 0,
        unsigned >= 1 << 32,
        with_signs != sign_extend(value, 32),
    ];
    case.with(unsigned, Some(flags))
}

fn sum(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let summands = [0, 1].map(|index| (case.operand_bits(index), case.is_negated(index)));
    if case.has(".SAT") {
        let of = |(value, minus): (u32, bool)| {
            let value = sign_extend(value, 32);
            if minus { -value } else { value }
        };
        let exact = of(summands[0]) + of(summands[1]);
        return case.write_register(exact.clamp(i32::MIN.into(), i32::MAX.into()));
    }
    let more = case.has(".PO").into();
    Some(add_with_carry(case, summands, more, case.has(".X")))
}

fn sum_of_three(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let read = |index: usize| {
        let mut value = i128::from(case.operand_bits(index));
        if case.immediate(index).is_some() {
            value = sign_extend(case.operand_bits(index), 20);
        }
        match case.select(index) {
            ".H0" => value %= 1 << 16,
            ".H1" => value >>= 16,
            _ => {}
        }
        if case.is_negated(index) {
            -value
        } else {
            value
        }
    };
    let (a, b, c) = (read(0), read(1), read(2));
    if case.has(".RS") {
        // Unsigned words.
        let of = |value: i128| i128::from(value as u32);
        return case.write_register(((of(a) + of(b)) >> 16) + c);
    }
    if case.has(".LS") {
        return case.write_register((a + b) * (1 << 16) + c);
    }
    let chained = case.has(".X");
    let below = i128::from(case.carry()) + i128::from(case.flag(3));
    if chained || case.sets_cc() {
        // Unsigned words: the carry out is 0, 1 or 2, one unit each in the carry and the overflow flag. A negated word
        // is complemented, with 1 carried into the lowest word.
        let minus = [0, 1, 2].map(|index| case.is_negated(index));
        let count = minus.iter().filter(|minus| **minus).count() as i128;
        let mut words = [a, b, c].map(|value| i128::from(value as u32));
        for (word, minus) in words.iter_mut().zip(minus) {
            if minus {
                *word = i128::from(!(word.wrapping_neg() as u32));
            }
        }
        let sum = words.iter().sum::<i128>() + if chained { below } else { count };
        let value = sum as u32;
        let is_zero = value == 0 && (!chained || case.zero());
        let carries = sum >> 32;
        let flags = [is_zero, value >> 31 == 1, carries > 0, carries > 1];
        return Some(case.with(sum, Some(flags)));
    }
    case.write_register(a + b + c)
}

fn scaled(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    if case.has(".HI") {
        let pair = i128::from(case.operand_bits(2)) << 32 | i128::from(case.operand_bits(0));
        let shifted = (if case.is_negated(0) { -pair } else { pair }) << case.immediate(3)?;
        let high = (shifted >> 32) as u32;
        let summands = [(high, false), (case.operand_bits(1), false)];
        let mut outputs = add_with_carry(case, summands, 0, case.has(".X"));
        if let Some(&Some(predicate)) = case.written_predicates().first() {
            let carried = u64::from(case.has(".X") && case.carry());
            let sum = u64::from(high) + u64::from(case.operand_bits(1)) + carried;
            outputs.push((predicate, (sum as u32 != 0).into()));
        }
        return Some(outputs);
    }
    let shifted = (u64::from(case.operand_bits(0)) << case.immediate(2)?) as u32;
    let summands = [
        (shifted, case.is_negated(0)),
        (case.operand_bits(1), case.is_negated(1)),
    ];
    Some(add_with_carry(
        case,
        summands,
        case.has(".PO").into(),
        false,
    ))
}

/// Returns the product, or its high word with `.HI`.
fn product(case: &InstrCase<'_>) -> i128 {
    let sign_a = !case.has(".U32.U32") && !case.has(".U32.S32");
    let sign_b = !case.has(".U32.U32") && !case.has(".S32.U32");
    let a = bit_field(case.operand_bits(0), 0, 32, sign_a);
    let b = bit_field(case.operand_bits(1), 0, 32, sign_b);
    if case.has(".HI") {
        (a * b) >> 32
    } else {
        a * b
    }
}

fn multiply_and_add(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let product = product(case);
    if case.has(".SAT") {
        let exact = product + sign_extend(case.operand_bits(2), 32);
        return case.write_register(exact.clamp(i32::MIN.into(), i32::MAX.into()));
    }
    if case.is_negated(0) || case.is_negated(2) {
        let third = i128::from(case.operand_bits(2));
        return case.write_register(match case.is_negated(0) {
            true => third - product,
            false => product - third,
        });
    }
    let summands = [(product as u32, false), (case.operand_bits(2), false)];
    Some(add_with_carry(case, summands, 0, case.has(".X")))
}

fn multiply_halves(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let (a, b, c) = (
        case.operand_bits(0),
        case.operand_bits(1),
        case.operand_bits(2),
    );
    let sign_a = case.has(".S16.U16") || case.has(".S16.S16");
    let sign_b = case.has(".U16.S16") || case.has(".S16.S16");
    let half = |index: usize, sign| {
        let from = if case.select(index) == ".H1" { 16 } else { 0 };
        bit_field(case.operand_bits(index), from, 16, sign)
    };
    let shift = if case.has(".PSL") { 16 } else { 0 };
    let product = ((half(0, sign_a) * half(1, sign_b)) << shift) as u32;
    if case.has(".CSFU") {
        // The part of the high word of a signed product that XMAD, XMAD.U16.S16, XMAD.S16.U16.CHI and IADD3.RS do not
        // compute.
        let wide = sign_extend(a, 32) * sign_extend(b, 32);
        let (low_a, low_b) = (bit_field(a, 0, 16, false), bit_field(b, 0, 16, false));
        let (high_a, high_b) = (bit_field(a, 16, 16, true), bit_field(b, 16, 16, true));
        let cross = (low_a * high_b) as u32;
        let other = (high_a * low_b + ((low_a * low_b) >> 16)) as u32;
        let upper = (u64::from(cross) + u64::from(other)) >> 16;
        return case.write_register((wide >> 32) - i128::from(upper) + i128::from(c));
    }
    let third = if case.has(".CLO") {
        c & 0xffff
    } else if case.has(".CHI") {
        c >> 16
    } else if case.has(".CBCC") {
        c.wrapping_add(b << 16)
    } else {
        c
    };
    if case.has(".MRG") {
        let sum = i128::from(product) + i128::from(third);
        let sum = sum + i128::from(case.has(".X") && case.carry());
        return case.write_register(sum & 0xffff | i128::from(b & 0xffff) << 16);
    }
    let summands = [(product, false), (third, false)];
    Some(add_with_carry(case, summands, 0, case.has(".X")))
}

fn extreme(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let with_sign = !case.has(".U32");
    let [a, b] = [0, 1].map(|index| bit_field(case.operand_bits(index), 0, 32, with_sign));
    let smaller = case.predicate(2);
    let chosen = |first_is_less: bool| if first_is_less == smaller { a } else { b };
    if case.has(".XLO") {
        // Flags of the high words: sign if the first is less, zero if both are equal.
        let same = case.zero();
        return case.write_register(chosen(if same { a < b } else { case.flag(1) }));
    }
    if case.has(".XHI") {
        return Some(case.with(chosen(a < b), Some([a == b, a < b, false, false])));
    }
    case.write_register(chosen(a < b))
}

fn convert_integer(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let format = |text: &str| Some((text.get(2..)?.parse::<u32>().ok()?, text.get(1..2)? == "S"));
    let (to_bits, to_sign) = format(case.spelling.modifiers.first()?)?;
    let (bits, sign) = format(case.spelling.modifiers.get(1)?)?;
    let from = match case.select(0) {
        ".B1" => 8,
        ".B2" | ".H1" => 16,
        ".B3" => 24,
        _ => 0,
    };
    let mut value = bit_field(case.operand_bits(0), from, bits, sign);
    if case.reads[0].absolute {
        // The absolute value of an unsigned 32-bit operand is the absolute value of its signed reading.
        value = match (bits, sign) {
            (32, false) => sign_extend(value as u32, 32).abs(),
            _ => value.abs(),
        };
    }
    if case.is_negated(0) {
        value = -value;
    }
    if case.has(".SAT") {
        let (least, most) = match to_sign {
            true => (-(1i128 << (to_bits - 1)), (1i128 << (to_bits - 1)) - 1),
            false => (0, (1i128 << to_bits) - 1),
        };
        value = value.clamp(least, most);
    } else if to_bits < 32 {
        value = bit_field(value as u32, 0, to_bits, to_sign);
    }
    Some(case.write_bits(value as u32, false))
}
