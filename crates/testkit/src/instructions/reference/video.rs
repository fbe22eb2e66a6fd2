//! Reference of video instructions and IDP: arithmetic on bytes and halves, exact up to the final truncation.

use super::{InstrCase, InstrOutputs, bit_field, compare};

pub(super) fn outputs(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let sign = |index: usize| if case.is_negated(index) { -1 } else { 1 };
    match case.spelling.mnemonic {
        "VADD" => {
            let (a, b) = operands(case, true)?;
            finish(case, sign(0) * a + sign(1) * b, !case.has(".UD"))
        }
        "VABSDIFF" => {
            let (a, b) = operands(case, true)?;
            finish(case, (a - b).abs(), case.has(".SD"))
        }
        "VMNMX" => {
            let (a, b) = operands(case, true)?;
            let value = if case.has(".MX") { a.max(b) } else { a.min(b) };
            finish(case, value, !case.has(".UD"))
        }
        "VSHL" | "VSHR" => {
            let (a, b) = operands(case, false)?;
            let by = if case.has(".W") { b % 32 } else { b.min(32) };
            let value = match case.spelling.mnemonic {
                "VSHL" => a << by,
                _ => a >> by,
            };
            finish(case, value, !case.has(".UD"))
        }
        "VSET" | "VSETP" => {
            let (a, b) = operands(case, true)?;
            let truth = compare::holds(case.spelling.modifiers.first()?, a.cmp(&b))?;
            match case.spelling.mnemonic {
                "VSETP" => compare::pair(case, truth, case.predicate(2)),
                _ => finish(case, truth.into(), false),
            }
        }
        "VMAD" => multiply_and_add(case),
        "VABSDIFF4" => bytes(case),
        "IDP" => products(case),
        _ => None,
    }
}

/// Number of bits and signedness of the two operands, including the defaults that the text omits.
fn formats(case: &InstrCase<'_>, second_signed: bool) -> Option<[(u32, bool); 2]> {
    let of = |text: &&str| match *text {
        ".U8" => Some((8, false)),
        ".S8" => Some((8, true)),
        ".U16" => Some((16, false)),
        ".S16" => Some((16, true)),
        ".U32" => Some((32, false)),
        ".S32" => Some((32, true)),
        _ => None,
    };
    let spelled: Vec<(u32, bool)> = case.spelling.modifiers.iter().filter_map(of).collect();
    let bits = if case.immediate(1).is_some() { 16 } else { 32 };
    match spelled.as_slice() {
        [] => Some([(32, true), (bits, second_signed)]),
        [a, b] => Some([*a, *b]),
        _ => None,
    }
}

fn operands(case: &InstrCase<'_>, second_signed: bool) -> Option<(i128, i128)> {
    let [a, b] = formats(case, second_signed)?;
    Some((operand(case, 0, a), operand(case, 1, b)))
}

fn operand(case: &InstrCase<'_>, index: usize, (bits, sign): (u32, bool)) -> i128 {
    let from = match case.select(index) {
        ".B1" => 8,
        ".B2" | ".H1" => 16,
        ".B3" => 24,
        _ => 0,
    };
    bit_field(case.operand_bits(index), from, bits, sign)
}

fn clamped(value: i128, bits: u32, signed: bool) -> i128 {
    match signed {
        true => value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => value.clamp(0, (1 << bits) - 1),
    }
}

/// Saturates a value, combines it with the third operand and inserts it into the selected part of the result.
fn finish(case: &InstrCase<'_>, mut value: i128, signed: bool) -> Option<InstrOutputs> {
    let fields = [
        (".MRG_16H", 16, 16),
        (".MRG_16L", 0, 16),
        (".MRG_8B0", 0, 8),
        (".MRG_8B2", 16, 8),
    ];
    let field = fields.iter().find(|(text, ..)| case.has(text));
    let (from, bits) = field.map_or((0, 32), |&(_, from, bits)| (from, bits));
    if case.has(".SAT") {
        value = clamped(value, bits, signed);
    }
    let third = bit_field(case.operand_bits(2), 0, 32, signed);
    if case.has(".ACC") {
        value += third;
    } else if case.has(".MIN") {
        value = value.min(third);
    } else if case.has(".MAX") {
        value = value.max(third);
    }
    let inside = ((1i128 << bits) - 1) << from;
    case.write_register(third & !inside & 0xffff_ffff | value << from & inside)
}

fn multiply_and_add(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let [a, b] = formats(case, true)?;
    let signed = a.1 || b.1 || case.is_negated(0) || case.is_negated(2);
    let sign = |index: usize| if case.is_negated(index) { -1 } else { 1 };
    let product = sign(0) * operand(case, 0, a) * operand(case, 1, b);
    let third = sign(2) * bit_field(case.operand_bits(2), 0, 32, signed);
    let mut value = product + third + i128::from(case.has(".PO"));
    if case.has(".SHR_7") {
        value = value.div_euclid(1 << 7);
    }
    if case.has(".SHR_15") {
        value = value.div_euclid(1 << 15);
    }
    if case.has(".SAT") {
        value = clamped(value, 32, signed);
    }
    case.write_register(value)
}

fn bytes(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let [uu, us, su] = [".U8.U8", ".U8.S8", ".S8.U8"].map(|text| case.has(text));
    let distance = |index: u32| {
        let a = bit_field(case.operand_bits(0), 8 * index, 8, !uu && !us);
        let b = bit_field(case.operand_bits(1), 8 * index, 8, !uu && !su);
        (a - b).abs()
    };
    if case.has(".ACC") {
        return case
            .write_register((0..4).map(distance).sum::<i128>() + i128::from(case.operand_bits(2)));
    }
    case.write_register(
        (0..4)
            .map(|index| (distance(index) % 256) << (8 * index))
            .sum(),
    )
}

fn products(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let [a, b] = formats(case, true)?;
    let from = if case.has(".2A.HI") { 2 } else { 0 };
    let product = |n: u32| {
        let first = bit_field(case.operand_bits(0), n * a.0, a.0, a.1);
        first * bit_field(case.operand_bits(1), (from + n) * 8, 8, b.1)
    };
    case.write_register((0..32 / a.0).map(product).sum::<i128>() + i128::from(case.operand_bits(2)))
}
