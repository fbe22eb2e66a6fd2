//! Products of matrices, their moves, and copies to shared memory. For example, `HMMA.16816.F32 R4, R8, R12, R4` multiplies 16
//! rows by 8 columns of 16 halves and adds singles.

use smallvec::SmallVec;
use warpbound_isa::nvidia::{Arch, Modifier, Modifier as M, Part};
use warpbound_isa::{Operand, OperandValue, View};

use super::memory::{access_address, is_order};
use crate::nvidia::operands::{Operands, predicate, register_after};
use crate::{
    Cell, ElementFormat, Expr, MatrixAccess, MatrixProduct, MatrixRegisters, MatrixTranspose,
    Meaning, MemoryCopy, SumFormat, SumRule,
};

/// Shapes by their names: rows, depth. All have 8 columns.
const SHAPES: &[(Modifier, u8, u16)] = &[
    (M::Shape1684, 16, 4),
    (M::Shape1688, 16, 8),
    (M::Shape16816, 16, 16),
    (M::Shape16832, 16, 32),
    (M::Shape16864, 16, 64),
    (M::Shape168128, 16, 128),
    (M::Shape168256, 16, 256),
    (M::Shape8816, 8, 16),
    (M::Shape8832, 8, 32),
    (M::Shape88128, 8, 128),
    (M::Shape884, 8, 4),
    (M::Shape8x8x4, 8, 4),
    (M::Shape16x8x4, 16, 4),
    (M::Shape16x8x8, 16, 8),
    (M::Shape16x8x16, 16, 16),
];

/// Rows and depth of a shape, and the modifiers after it.
fn shape(modifiers: &[Modifier]) -> Option<(u8, u16, &[Modifier])> {
    let (first, rest) = modifiers.split_first()?;
    let (_, rows, depth) = SHAPES.iter().find(|(name, ..)| name == first)?;
    Some((*rows, *depth, rest))
}

/// HMMA: floating-point elements of 16 bits, or tf32.
pub(super) fn half_product(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
    arch: Arch,
) -> Option<Meaning> {
    let (rows, depth, rest) = shape(modifiers)?;
    let (sums, rest) = match rest {
        [M::F32, rest @ ..] => (SumFormat::F32, rest),
        [M::F16, rest @ ..] => (SumFormat::F16, rest),
        _ => return None,
    };
    let format = match rest {
        [] => ElementFormat::F16,
        [M::Bf16] => ElementFormat::Bf16,
        [M::Tf32] => ElementFormat::Tf32,
        _ => return None,
    };
    // Without a rule the results are unknown, and the instruction ends a run.
    let rule = SumRule::of_unit(arch, format)?;
    product(operands, rows, depth, [format; 2], sums, rule)
}

/// QMMA: floating-point elements of 8 bits.
pub(super) fn byte_product(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
    arch: Arch,
) -> Option<Meaning> {
    let (rows, depth, rest) = shape(modifiers)?;
    let [sums, factors @ ..] = rest else {
        return None;
    };
    let sums = match sums {
        M::F32 => SumFormat::F32,
        M::F16 => SumFormat::F16,
        _ => return None,
    };
    let format = |modifier: &Modifier| match modifier {
        M::E4m3 => Some(ElementFormat::E4m3),
        M::E5m2 => Some(ElementFormat::E5m2),
        _ => None,
    };
    let [a, b] = factors else { return None };
    let factors = [format(a)?, format(b)?];
    // Both formats of 8 bits go through the same adders.
    let rule = SumRule::of_unit(arch, factors[0])?;
    product(operands, rows, depth, factors, sums, rule)
}

/// IMMA: integers.
pub(super) fn integer_product(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (rows, depth, rest) = shape(modifiers)?;
    let (factors, rule) = match rest {
        [a, b] => ([a, b], SumRule::Wrapping),
        [a, b, M::Sat] => ([a, b], SumRule::Saturating),
        _ => return None,
    };
    let format = |modifier: &Modifier| match modifier {
        M::S8 => Some(ElementFormat::S8),
        M::U8 => Some(ElementFormat::U8),
        M::S4 => Some(ElementFormat::S4),
        M::U4 => Some(ElementFormat::U4),
        _ => None,
    };
    let factors = [format(factors[0])?, format(factors[1])?];
    product(operands, rows, depth, factors, SumFormat::S32, rule)
}

/// BMMA: single bits.
pub(super) fn bit_product(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (rows, depth, rest) = shape(modifiers)?;
    let rule = match rest {
        [M::And, M::Popc] => SumRule::CountCommon,
        [M::Xor, M::Popc] => SumRule::CountDifferent,
        _ => return None,
    };
    let factors = [ElementFormat::Bit; 2];
    product(operands, rows, depth, factors, SumFormat::S32, rule)
}

/// DMMA: doubles, rounded to nearest.
pub(super) fn double_product(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    // Other modes of rounding have a modifier.
    let (rows, depth, []) = shape(modifiers)? else {
        return None;
    };
    let factors = [ElementFormat::F64; 2];
    product(
        operands,
        rows,
        depth,
        factors,
        SumFormat::F64,
        SumRule::Fused,
    )
}

fn product(
    operands: &Operands<'_>,
    rows: u8,
    depth: u16,
    factors: [ElementFormat; 2],
    sums: SumFormat,
    rule: SumRule,
) -> Option<Meaning> {
    let [a, b, c, rest @ ..] = operands.reads.as_slice() else {
        return None;
    };
    let [d] = operands.writes.as_slice() else {
        return None;
    };
    // Further operands select the elements of sparse factors.
    let is_modified = |operand: &&&Operand| operand.negate || operand.absolute || operand.invert;
    // `.ROW` and `.COL` are the only orders that compilers write, and stand for those without a suffix.
    let is_usual = matches!(a.part, Part::Whole | Part::ByRows)
        && matches!(b.part, Part::Whole | Part::ByColumns)
        && c.part == Part::Whole;
    let is_sparse = rest.iter().any(|operand| operand.shown);
    if is_sparse || !is_usual || [a, b, c].iter().any(is_modified) {
        return None;
    }
    // The numbers of words follow from shape and formats, so these come first.
    let mut product = MatrixProduct::without_words(rows, depth, factors, sums, rule);
    let [a_words, b_words, sum_words] = product.fragments().map(|of| of.word_count());
    product.a = values(a, a_words)?;
    product.b = values(b, b_words)?;
    product.c = values(c, sum_words)?;
    product.dests = dests(d, sum_words)?;
    // Of elements of different widths, for example, no layout is known.
    if !product.is_consistent() {
        return None;
    }
    Some(Meaning::MatrixProduct(Box::new(product)))
}

/// Registers from the one of an operand on; RZ stands for all of them.
fn registers(operand: &Operand, count: usize) -> Option<Vec<Option<Cell>>> {
    let OperandValue::Reg(first) = operand.value else {
        return None;
    };
    // Tables give some operands more registers than the shape has, because the disassembler marks them so.
    let numbers = 0..u8::try_from(count).ok()?;
    numbers
        .map(|number| match first {
            None => Some(None),
            Some(first) => register_after(first, number).map(Some),
        })
        .collect()
}

fn values<T: FromIterator<Expr>>(operand: &Operand, count: usize) -> Option<T> {
    let registers = registers(operand, count)?.into_iter();
    let value = |register: Option<Cell>| register.map_or(Expr::Const(0), Expr::Cell);
    Some(registers.map(value).collect())
}

fn dests<T: FromIterator<Option<Cell>>>(operand: &Operand, count: usize) -> Option<T> {
    Some(registers(operand, count)?.into_iter().collect())
}

/// MOVM.16.MT88.
pub(super) fn transposition(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [M::B16, M::Mt88] = modifiers else {
        return None;
    };
    Some(Meaning::MatrixTranspose(Box::new(MatrixTranspose {
        value: operands.word(0)?,
        dest: operands.only_register()?,
    })))
}

/// LDSM and STSM of matrices of 8 by 8 elements of 16 bits.
pub(super) fn access(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
    loads: bool,
) -> Option<Meaning> {
    // Elements of other widths are unpacked in a layout that PTX has for them alone.
    let [M::B16, layout, number @ ..] = modifiers else {
        return None;
    };
    let transposes = match layout {
        M::M88 => false,
        M::Mt88 => true,
        _ => return None,
    };
    let count = match number {
        [] => 1,
        [M::N2] => 2,
        [M::N4] => 4,
        _ => return None,
    };
    let [at, rest @ ..] = operands.reads.as_slice() else {
        return None;
    };
    // The number of registers follows from the modifier, not from the table.
    let registers = match (loads, rest, operands.writes.as_slice()) {
        (true, [], [to]) => MatrixRegisters::Load(dests::<SmallVec<_>>(to, count)?),
        (false, [from], []) => MatrixRegisters::Store(values::<SmallVec<_>>(from, count)?),
        _ => return None,
    };
    Some(Meaning::MatrixAccess(Box::new(MatrixAccess {
        transposes,
        address: access_address(at, false)?,
        registers,
    })))
}

/// LDGSTS: a copy from global to shared memory. Lanes whose predicate fails write zeros (compilers' code for the operand
/// `ignore-src` of `cp.async`). With `.ZFILL` the low bits of the address count bytes that are padding (compilers' code
/// for a `src-size`).
pub(super) fn copy(view: &View) -> Option<Meaning> {
    let (mut bytes, mut pads, mut is_long) = (4, false, false);
    for &modifier in &view.modifiers {
        match modifier {
            M::E => is_long = true,
            M::B64 => bytes = 8,
            M::B128 => bytes = 16,
            M::Zfill => pads = true,
            // Which cache keeps the data does not change it.
            M::Bypass => {}
            modifier if is_order(modifier) => {}
            _ => return None,
        }
    }
    // Each form has three operands; what one more would mean is unknown.
    let [to, from, condition] = view.operands.as_slice() else {
        return None;
    };
    // The disassembler marks the predicate as written, too. Compilers use it in the next copies as it was, and compute it again for
    // anything else, so it keeps its value here and is unknown to analyses.
    let reads = predicate(condition)?;
    Some(Meaning::MemoryCopy(Box::new(MemoryCopy {
        bytes,
        to: access_address(to, false)?,
        from: access_address(from, is_long)?,
        reads,
        pads,
    })))
}
