//! Sums, products, minima and differences, as exact numbers that are cut to the width of the result.

use super::{WideCase, WideOutputs, low_bits, part};

/// IADD3, IADD and VIADD. The predicates say whether the exact sum reaches 2^32, and whether it reaches 2^33.
pub(super) fn sum(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["X", "64", "U8x4"])?;
    let count = if case.instr.base == "IADD3" { 3 } else { 2 };
    if case.has("U8x4") {
        let (a, b) = (case.bare(0, 32)?, case.bare(1, 32)?);
        let sign = |index| case.operand(index).is_some_and(|operand| operand.minus);
        let [a_minus, b_minus] = [sign(0), sign(1)];
        let with = |value: i128, minus: bool| if minus { -value } else { value };
        let of = |a, b| with(a, a_minus) + with(b, b_minus);
        return case.write_only(of_bytes(a, b, of), 32);
    }
    let bits = if case.has("64") { 64 } else { 32 };
    let mut exact = 0;
    for index in 0..count {
        exact += case.summand(index, bits)?;
    }
    for index in count..case.instr.reads.len() {
        let carried = case.predicate(index)?;
        // Without `.X` nothing is carried in, and the text has no such predicate.
        case.has("X").then_some(())?;
        exact += i128::from(carried);
    }
    let mut out = case.write(exact, bits);
    case.write_predicates(&[exact >= 1 << bits, exact >= 2 << bits], &mut out);
    Some(out)
}

/// Applies an operation to the four unsigned bytes of two words, and keeps the low byte of each result.
fn of_bytes(a: i128, b: i128, of: impl Fn(i128, i128) -> i128) -> i128 {
    let result = |at: u32| low_bits(of(part(a, at, 8, false), part(b, at, 8, false)), 8) << at;
    [0, 8, 16, 24].map(result).into_iter().sum()
}

/// IMAD. The modifiers MOV, SHL and IADD only say for what a compiler uses it. With `.WIDE` and `.HI` the third operand has
/// 64 bits, and the predicate says whether the sum of the two patterns of 64 bits reaches 2^64.
pub(super) fn product_and_sum(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["X", "WIDE", "HI", "U32", "MOV", "SHL", "IADD"])?;
    let signed = !case.has("U32");
    let factor = |index| {
        // A factor is negated after it has become a number, for which 32 bits may be too few.
        let bare = part(case.bare(index, 32)?, 0, 32, signed);
        let operand = case.operand(index)?;
        (!operand.complement).then_some(if operand.minus { -bare } else { bare })
    };
    let product = factor(0)? * factor(1)?;
    let carried = match case.has("X") {
        true => i128::from(case.predicate(3)?),
        false => 0,
    };
    let (wide, high) = (case.has("WIDE"), case.has("HI"));
    if !wide && !high {
        return case.write_only(product + case.summand(2, 32)? + carried, 32);
    }
    let exact = low_bits(product, 64) + case.summand(2, 64)? + carried;
    let mut out = match wide {
        true => case.write(exact, 64),
        false => case.write(exact >> 32, 32),
    };
    case.write_predicates(&[exact >= 1 << 64], &mut out);
    Some(out)
}

/// LEA. With `.HI`, the high word of a shifted number of 64 bits is added: its high word is the third operand, or with
/// `.SX32` the sign of the first.
pub(super) fn scaled_sum(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["HI", "X", "SX32"])?;
    let (high, extends) = (case.has("HI"), case.has("SX32"));
    let place = if high && !extends { 3 } else { 2 };
    let shift = case.immediate(place)?;
    let bare = case.bare(0, 32)?;
    let number = match (high, extends) {
        (true, false) => bare + (case.bare(2, 32)? << 32),
        (true, true) => part(bare, 0, 32, true),
        (false, _) => bare,
    };
    let operand = case.operand(0)?;
    if operand.complement {
        return None;
    }
    let shifted = number << shift >> if high { 32 } else { 0 };
    // The number is negated after it is shifted, as its complement and 1.
    let summand = match operand.minus {
        false => low_bits(shifted, 32),
        true if high || case.has("X") => return None,
        true => (1 << 32) - low_bits(shifted, 32),
    };
    let carried = match case.has("X") {
        true => i128::from(case.predicate(place + 1)?),
        false => 0,
    };
    let exact = summand + case.summand(1, 32)? + carried;
    let mut out = case.write(exact, 32);
    case.write_predicates(&[exact >= 1 << 32], &mut out);
    Some(out)
}

/// IABS.
pub(super) fn absolute(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&[])?;
    case.write_only(case.number(0, 32, true)?.abs(), 32)
}

/// The smaller of two numbers, or the larger one.
fn extreme(smaller: bool, a: i128, b: i128) -> i128 {
    match (a < b) == smaller {
        true => a,
        false => b,
    }
}

/// IMNMX and VIMNMX: the minimum if the predicate holds, else the maximum.
pub(super) fn min_max(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["U32", "S32", "U64", "S64", "U8x4", "U16x2", "S16x2", "RELU"])?;
    let smaller = case.predicate(2)?;
    if case.has("RELU") {
        case.knows_only(&["S32", "RELU"])?;
        let (a, b) = (case.number(0, 32, true)?, case.number(1, 32, true)?);
        return case.write_only(extreme(smaller, a, b).max(0), 32);
    }
    if case.has("U8x4") {
        let (a, b) = (case.value(0, 32)?, case.value(1, 32)?);
        return case.write_only(of_bytes(a, b, |a, b| extreme(smaller, a, b)), 32);
    }
    if case.has("U16x2") || case.has("S16x2") {
        let (a, b) = (case.value(0, 32)?, case.value(1, 32)?);
        let signed = case.has("S16x2");
        let of = |at: u32| extreme(smaller, part(a, at, 16, signed), part(b, at, 16, signed));
        return case.write_only((of(16) << 16) + low_bits(of(0), 16), 32);
    }
    let bits = if case.has("U64") || case.has("S64") {
        64
    } else {
        32
    };
    let signed = !case.has("U32") && !case.has("U64");
    let of = |index| case.number(index, bits, signed);
    case.write_only(extreme(smaller, of(0)?, of(1)?), bits)
}

/// VIMNMX3, and VIADDMNMX, whose first two operands are added modulo 2^32.
pub(super) fn min_max_of_three(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["U32", "S32"])?;
    let signed = !case.has("U32");
    let smaller = case.predicate(3)?;
    let of = |index| case.number(index, 32, signed);
    let first = match case.instr.base {
        "VIADDMNMX" => part(of(0)? + of(1)?, 0, 32, signed),
        _ => extreme(smaller, of(0)?, of(1)?),
    };
    case.write_only(extreme(smaller, first, of(2)?), 32)
}

/// VABSDIFF (PTX manual, `sad`).
pub(super) fn difference_and_sum(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["U32"])?;
    let of = |index| case.number(index, 32, !case.has("U32"));
    case.write_only((of(0)? - of(1)?).abs() + of(2)?, 32)
}

/// VABSDIFF4: distances of bytes, side by side or with `.ACC` as a sum.
pub(super) fn differences_of_bytes(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["U8", "ACC"])?;
    let signed = !case.has("U8");
    let (a, b, third) = (case.value(0, 32)?, case.value(1, 32)?, case.value(2, 32)?);
    let distance = |at| (part(a, at, 8, signed) - part(b, at, 8, signed)).abs();
    let places = [0, 8, 16, 24];
    let result: i128 = match case.has("ACC") {
        true => third + places.map(distance).into_iter().sum::<i128>(),
        // No document says what a third operand does, and the meaning requires 0.
        false if third != 0 => return None,
        false => places.map(|at| distance(at) << at).into_iter().sum(),
    };
    case.write_only(result, 32)
}

/// IDP (PTX manual, `dp4a` and `dp2a`): products of four bytes, or of two halves and two bytes, and a sum.
pub(super) fn dot_product(case: &WideCase<'_>) -> Option<WideOutputs> {
    let (count, first, formats) = match case.instr.modifiers.as_slice() {
        ["4A", formats @ ..] => (4, 0, formats),
        ["2A", "LO", formats @ ..] => (2, 0, formats),
        ["2A", "HI", formats @ ..] => (2, 16, formats),
        _ => return None,
    };
    let bits = 32 / count;
    let format = |text: &str, bits: u32| {
        let (signed, rest) = match text.strip_prefix('S') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('U')?),
        };
        (rest.parse() == Ok(bits)).then_some(signed)
    };
    let &[a_format, b_format] = formats else {
        return None;
    };
    let (a_signed, b_signed) = (format(a_format, bits)?, format(b_format, 8)?);
    let (a, b) = (case.value(0, 32)?, case.value(1, 32)?);
    let products =
        (0..count).map(|n| part(a, n * bits, bits, a_signed) * part(b, first + 8 * n, 8, b_signed));
    case.write_only(case.value(2, 32)? + products.sum::<i128>(), 32)
}
