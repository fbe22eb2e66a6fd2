//! Sums, products, scaled addresses, minima, conversions.

use super::{Case, Outputs, part, signed};

pub(super) fn outputs(case: &Case<'_>) -> Option<Outputs> {
    match case.view.mnemonic {
        "IADD" | "IADD32I" => sum(case),
        "IADD3" => sum_of_three(case),
        "ISCADD" | "ISCADD32I" | "LEA" => scaled(case),
        "IMUL" | "IMUL32I" => case.plain(product(case)),
        "IMAD" | "IMAD32I" => multiply_and_add(case),
        "XMAD" => halves(case),
        "IMNMX" => extreme(case),
        "I2I" => resized(case),
        _ => None,
    }
}

/// Summands, as they are read and as they are meant, and what is carried in.
///
/// The carry is that of the sum of words of which those with a minus are turned round, with 1 carried in: no borrow.
fn total(case: &Case<'_>, summands: [(u32, bool); 2], more: i128, chained: bool) -> Outputs {
    let minus = summands.iter().any(|&(_, minus)| minus);
    let turned = |(value, minus): (u32, bool)| if minus { !value } else { value };
    let carried = match chained {
        true => case.carry().into(),
        false => i128::from(minus) + more,
    };
    let words = summands.map(turned);
    let unsigned = i128::from(words[0]) + i128::from(words[1]) + carried;
    let with_signs = signed(words[0], 32) + signed(words[1], 32) + carried;
    let value = unsigned as u32;
    let flags = [
        value == 0 && (!chained || case.zero()),
        signed(value, 32) < 0,
        unsigned >= 1 << 32,
        with_signs != signed(value, 32),
    ];
    case.with(unsigned, Some(flags))
}

fn sum(case: &Case<'_>) -> Option<Outputs> {
    let summands = [0, 1].map(|place| (case.bits(place), case.minus(place)));
    if case.has(".SAT") {
        let of = |(value, minus): (u32, bool)| {
            let value = signed(value, 32);
            if minus { -value } else { value }
        };
        let exact = of(summands[0]) + of(summands[1]);
        return case.plain(exact.clamp(i32::MIN.into(), i32::MAX.into()));
    }
    let more = case.has(".PO").into();
    Some(total(case, summands, more, case.has(".X")))
}

fn sum_of_three(case: &Case<'_>) -> Option<Outputs> {
    let read = |place: usize| {
        let mut value = i128::from(case.bits(place));
        if case.number(place).is_some() {
            value = signed(case.bits(place), 20);
        }
        match case.select(place) {
            ".H0" => value %= 1 << 16,
            ".H1" => value >>= 16,
            _ => {}
        }
        if case.minus(place) { -value } else { value }
    };
    let (a, b, c) = (read(0), read(1), read(2));
    if case.has(".RS") {
        // Words without sign.
        let of = |value: i128| i128::from(value as u32);
        return case.plain(((of(a) + of(b)) >> 16) + c);
    }
    if case.has(".LS") {
        return case.plain((a + b) * (1 << 16) + c);
    }
    let chained = case.has(".X");
    let below = i128::from(case.carry()) + i128::from(case.flag(3));
    if chained || case.sets_cc() {
        // Words without sign: what is carried is 0, 1 or 2, one of it in the carry and one in the overflow.
        // Less a number is more its bits turned round, and 1 in the lowest word.
        let minus = [0, 1, 2].map(|place| case.minus(place));
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
    case.plain(a + b + c)
}

fn scaled(case: &Case<'_>) -> Option<Outputs> {
    if case.has(".HI") {
        let pair = i128::from(case.bits(2)) << 32 | i128::from(case.bits(0));
        let shifted = (if case.minus(0) { -pair } else { pair }) << case.number(3)?;
        let high = (shifted >> 32) as u32;
        let summands = [(high, false), (case.bits(1), false)];
        let mut outputs = total(case, summands, 0, case.has(".X"));
        if let Some(&Some(predicate)) = case.written_predicates().first() {
            let carried = u64::from(case.has(".X") && case.carry());
            let sum = u64::from(high) + u64::from(case.bits(1)) + carried;
            outputs.push((predicate, (sum as u32 != 0).into()));
        }
        return Some(outputs);
    }
    let shifted = (u64::from(case.bits(0)) << case.number(2)?) as u32;
    let summands = [(shifted, case.minus(0)), (case.bits(1), case.minus(1))];
    Some(total(case, summands, case.has(".PO").into(), false))
}

/// The low word or the high one of the product.
fn product(case: &Case<'_>) -> i128 {
    let sign_a = !case.has(".U32.U32") && !case.has(".U32.S32");
    let sign_b = !case.has(".U32.U32") && !case.has(".S32.U32");
    let a = part(case.bits(0), 0, 32, sign_a);
    let b = part(case.bits(1), 0, 32, sign_b);
    if case.has(".HI") {
        (a * b) >> 32
    } else {
        a * b
    }
}

fn multiply_and_add(case: &Case<'_>) -> Option<Outputs> {
    let product = product(case);
    if case.has(".SAT") {
        let exact = product + signed(case.bits(2), 32);
        return case.plain(exact.clamp(i32::MIN.into(), i32::MAX.into()));
    }
    if case.minus(0) || case.minus(2) {
        let third = i128::from(case.bits(2));
        return case.plain(match case.minus(0) {
            true => third - product,
            false => product - third,
        });
    }
    let summands = [(product as u32, false), (case.bits(2), false)];
    Some(total(case, summands, 0, case.has(".X")))
}

fn halves(case: &Case<'_>) -> Option<Outputs> {
    let (a, b, c) = (case.bits(0), case.bits(1), case.bits(2));
    let sign_a = case.has(".S16.U16") || case.has(".S16.S16");
    let sign_b = case.has(".U16.S16") || case.has(".S16.S16");
    let half = |place: usize, sign| {
        let from = if case.select(place) == ".H1" { 16 } else { 0 };
        part(case.bits(place), from, 16, sign)
    };
    let shift = if case.has(".PSL") { 16 } else { 0 };
    let product = ((half(0, sign_a) * half(1, sign_b)) << shift) as u32;
    if case.has(".CSFU") {
        // What XMAD, XMAD.U16.S16, XMAD.S16.U16.CHI and IADD3.RS leave out of the high word of a product with signs.
        let wide = signed(a, 32) * signed(b, 32);
        let (low_a, low_b) = (part(a, 0, 16, false), part(b, 0, 16, false));
        let (high_a, high_b) = (part(a, 16, 16, true), part(b, 16, 16, true));
        let cross = (low_a * high_b) as u32;
        let other = (high_a * low_b + ((low_a * low_b) >> 16)) as u32;
        let upper = (u64::from(cross) + u64::from(other)) >> 16;
        return case.plain((wide >> 32) - i128::from(upper) + i128::from(c));
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
        return case.plain(sum & 0xffff | i128::from(b & 0xffff) << 16);
    }
    let summands = [(product, false), (third, false)];
    Some(total(case, summands, 0, case.has(".X")))
}

fn extreme(case: &Case<'_>) -> Option<Outputs> {
    let with_sign = !case.has(".U32");
    let [a, b] = [0, 1].map(|place| part(case.bits(place), 0, 32, with_sign));
    let smaller = case.predicate(2);
    let chosen = |first_is_less: bool| if first_is_less == smaller { a } else { b };
    if case.has(".XLO") {
        // Flags of the high words: sign where the first is smaller, zero where both are the same.
        let same = case.zero();
        return case.plain(chosen(if same { a < b } else { case.flag(1) }));
    }
    if case.has(".XHI") {
        return Some(case.with(chosen(a < b), Some([a == b, a < b, false, false])));
    }
    case.plain(chosen(a < b))
}

fn resized(case: &Case<'_>) -> Option<Outputs> {
    let format = |text: &str| Some((text.get(2..)?.parse::<u32>().ok()?, text.get(1..2)? == "S"));
    let (to_bits, to_sign) = format(case.view.modifiers.first()?)?;
    let (bits, sign) = format(case.view.modifiers.get(1)?)?;
    let from = match case.select(0) {
        ".B1" => 8,
        ".B2" | ".H1" => 16,
        ".B3" => 24,
        _ => 0,
    };
    let mut value = part(case.bits(0), from, bits, sign);
    if case.reads[0].absolute {
        // 32 bits without sign are taken as if they had one.
        value = match (bits, sign) {
            (32, false) => signed(value as u32, 32).abs(),
            _ => value.abs(),
        };
    }
    if case.minus(0) {
        value = -value;
    }
    if case.has(".SAT") {
        let (least, most) = match to_sign {
            true => (-(1i128 << (to_bits - 1)), (1i128 << (to_bits - 1)) - 1),
            false => (0, (1i128 << to_bits) - 1),
        };
        value = value.clamp(least, most);
    } else if to_bits < 32 {
        value = part(value as u32, 0, to_bits, to_sign);
    }
    Some(case.of_bits(value as u32, false))
}
