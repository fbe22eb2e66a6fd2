//! Expressions of one word or two. Constants are folded at once: for example, `shl(constant(1), constant(4))` is the
//! constant 16, so that analyses see no operation there.

use crate::{BinaryOp, Expr, TernaryOp, UnaryOp};

/// 64-bit value: the low word and the high word.
pub(super) type WordPair = [Expr; 2];

/// All ones: the result of searches that find nothing.
pub(super) const NONE: Expr = Expr::Const(u32::MAX);

/// Makes a constant.
pub(super) fn constant(value: u32) -> Expr {
    Expr::Const(value)
}

/// Makes a unary operation.
pub(super) fn unary(op: UnaryOp, a: Expr) -> Expr {
    match a {
        Expr::Const(a) => Expr::Const(op.apply(a)),
        a => Expr::unary(op, a),
    }
}

/// Makes a binary operation.
pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    if let (Expr::Const(a), Expr::Const(b)) = (&a, &b)
        && let Some(value) = op.apply(*a, *b)
    {
        return Expr::Const(value);
    }
    Expr::binary(op, a, b)
}

/// Makes a ternary operation.
pub(super) fn ternary(op: TernaryOp, a: Expr, b: Expr, c: Expr) -> Expr {
    if let (Expr::Const(a), Expr::Const(b), Expr::Const(c)) = (&a, &b, &c) {
        return Expr::Const(op.apply(*a, *b, *c));
    }
    Expr::ternary(op, a, b, c)
}

/// Defines functions that make one binary operation.
macro_rules! binaries {
    ($($name:ident $op:ident,)+) => {
        $(
            pub(super) fn $name(a: Expr, b: Expr) -> Expr {
                binary(BinaryOp::$op, a, b)
            }
        )+
    };
}

binaries! {
    add Add, sub Sub, mul Mul, and And, or Or, xor Xor, mul_high_u MulHighU, mul_high_s MulHighS,
    eq Eq, ne Ne, lt_u LtU, le_u LeU, lt_s LtS, le_s LeS, min_u MinU, max_u MaxU, min_s MinS, max_s MaxS,
}

pub(super) fn shl(a: Expr, amount: Expr) -> Expr {
    shift(BinaryOp::Shl, a, amount)
}

pub(super) fn shr(a: Expr, amount: Expr) -> Expr {
    shift(BinaryOp::Shr, a, amount)
}

pub(super) fn sar(a: Expr, amount: Expr) -> Expr {
    shift(BinaryOp::Sar, a, amount)
}

fn shift(op: BinaryOp, a: Expr, amount: Expr) -> Expr {
    match amount {
        Expr::Const(0) => a,
        amount => binary(op, a, amount),
    }
}

pub(super) fn not(a: Expr) -> Expr {
    unary(UnaryOp::Not, a)
}

/// `a` and not `b`.
pub(super) fn and_not(a: Expr, b: Expr) -> Expr {
    and(a, not(b))
}

/// `a` or not `b`.
pub(super) fn or_not(a: Expr, b: Expr) -> Expr {
    or(a, not(b))
}

pub(super) fn nand(a: Expr, b: Expr) -> Expr {
    not(and(a, b))
}

pub(super) fn nor(a: Expr, b: Expr) -> Expr {
    not(or(a, b))
}

pub(super) fn xnor(a: Expr, b: Expr) -> Expr {
    not(xor(a, b))
}

/// `then` if the condition is not 0, else `other`.
pub(super) fn select(condition: Expr, then: Expr, other: Expr) -> Expr {
    match condition {
        Expr::Const(0) => other,
        Expr::Const(_) => then,
        condition => Expr::ternary(TernaryOp::Select, condition, then, other),
    }
}

/// Carry of the sum of three.
pub(super) fn carry(a: Expr, b: Expr, c: Expr) -> Expr {
    ternary(TernaryOp::Carry, a, b, c)
}

/// Borrow of `a - b - c`, where `c` is 0 or 1.
pub(super) fn borrow(a: Expr, b: Expr, c: Expr) -> Expr {
    // a - b - c = a + !b + (1 - c). The carry of this sum means that nothing was borrowed.
    xor(carry(a, not(b), xor(c, constant(1))), constant(1))
}

/// The lowest `count` bits of a word; `count` is below 32.
pub(super) fn low_bits(a: Expr, count: u32) -> Expr {
    and(a, constant((1u32 << count) - 1))
}

/// Field of a word, `count` bits from `first` on.
pub(super) fn field(a: Expr, first: u32, count: u32) -> Expr {
    low_bits(shr(a, constant(first)), count)
}

/// 64-bit left shift by less than 64.
pub(super) fn shl64([low, high]: WordPair, amount: Expr) -> WordPair {
    let shifted = ternary(TernaryOp::FunnelLeft, low.clone(), high, amount.clone());
    [shl(low, amount), shifted]
}

/// 64-bit logical right shift by less than 64.
pub(super) fn shr64([low, high]: WordPair, amount: Expr) -> WordPair {
    let shifted = ternary(TernaryOp::FunnelRight, low, high.clone(), amount.clone());
    [shifted, shr(high, amount)]
}

/// 64-bit arithmetic right shift. Amounts of 63 and more give the sign in all bits.
pub(super) fn sar64([low, high]: WordPair, amount: Expr) -> WordPair {
    // From 32 on, the low word comes from the high one alone, with copies of the sign above it.
    let is_short = lt_u(amount.clone(), constant(32));
    let short = ternary(TernaryOp::FunnelRight, low, high.clone(), amount.clone());
    let long = sar(high.clone(), sub(amount.clone(), constant(32)));
    [select(is_short, short, long), sar(high, amount)]
}

/// Word with `count` ones from bit 0 on; all ones from 32 on.
pub(super) fn ones(count: Expr) -> Expr {
    sub(shl(constant(1), count), constant(1))
}

/// Pair with `count` ones from bit 0 on; all ones from 64 on.
pub(super) fn ones64(count: Expr) -> WordPair {
    let above = sub(max_u(count.clone(), constant(32)), constant(32));
    [ones(count), ones(above)]
}

/// Number of the lowest one; all ones if there is none.
pub(super) fn lowest_one(a: Expr) -> Expr {
    // `a & -a` keeps only the lowest one.
    let lowest = and(a.clone(), unary(UnaryOp::Neg, a));
    unary(UnaryOp::HighestOne, lowest)
}

/// Number of the lowest one of 64 bits, or `none`.
pub(super) fn lowest_one64([low, high]: WordPair, none: Expr) -> Expr {
    let above = add(lowest_one(high.clone()), constant(32));
    select(low.clone(), lowest_one(low), select(high, above, none))
}

/// Number of zeros above the highest one; all ones if there is none.
pub(super) fn leading_zeros(a: Expr) -> Expr {
    let count = sub(constant(31), unary(UnaryOp::HighestOne, a.clone()));
    select(a, count, NONE)
}

/// Number of zeros above the highest one of 64 bits; all ones if there is none.
pub(super) fn leading_zeros64([low, high]: WordPair) -> Expr {
    let above = sub(constant(31), unary(UnaryOp::HighestOne, high.clone()));
    let below = sub(constant(63), unary(UnaryOp::HighestOne, low.clone()));
    select(high, above, select(low, below, NONE))
}

/// Number of bits above the highest bit that differs from the sign; all ones if there is none.
pub(super) fn leading_signs(a: Expr) -> Expr {
    // The operation gives all ones if there is none, and the difference is then 32.
    let count = sub(constant(31), unary(UnaryOp::HighestNonSign, a));
    select(eq(count.clone(), constant(32)), NONE, count)
}

/// Bit field: `width` bits of `a` from `offset` on, which is below 32. Widths of 32 and more take all bits above the
/// offset.
pub(super) fn bit_field(a: Expr, offset: Expr, width: Expr, signed: bool) -> Expr {
    let unused = sub(constant(32), min_u(width, constant(32)));
    let right = if signed { sar } else { shr };
    // A width of 0 shifts all bits out.
    let top = shl(right(a, offset), unused.clone());
    right(top, unused)
}

/// Whether two values of 64 bits are equal.
pub(super) fn eq64([a, above_a]: WordPair, [b, above_b]: WordPair) -> Expr {
    and(eq(a, b), eq(above_a, above_b))
}

/// Whether one value of 64 bits is less than another.
pub(super) fn lt64([a, above_a]: WordPair, [b, above_b]: WordPair, signed: bool) -> Expr {
    let less = if signed { lt_s } else { lt_u };
    let above = less(above_a.clone(), above_b.clone());
    or(above, and(eq(above_a, above_b), lt_u(a, b)))
}
