//! Condition code: four flags of the last instruction with `.CC`. For example, `IADD R0.CC, R2, R4` and `IADD.X R1,
//! R3, R5` add 64-bit numbers: the first sets the carry flag, the second adds it.
//!
//! The cell holds them in the order that P2R reads (public shader translators agree on it).

use smallvec::{SmallVec, smallvec};
use warpbound_isa::CcTest;
use warpbound_isa::nvidia::{Modifier, Modifier as M};

use super::modifier_reader::COMPARISONS;
use crate::nvidia::operands::{Operands, add, and, logical_not, not, or, shl, shr};
use crate::{BinaryOp, Cell, ExecCondition, Expr, FurtherTest, Meaning, TernaryOp};

const ZERO: u32 = 0;
const SIGN: u32 = 1;
const CARRY: u32 = 2;
const OVERFLOW: u32 = 3;

/// Flag of the condition code, 0 or 1.
fn flag(bit: u32) -> Expr {
    and(shr(Expr::Cell(Cell::CC), Expr::Const(bit)), Expr::Const(1))
}

/// Sign flag.
pub(super) fn sign() -> Expr {
    flag(SIGN)
}

/// Overflow flag.
pub(super) fn overflow() -> Expr {
    flag(OVERFLOW)
}

/// Flags that encode a carry of 0, 1 or 2: carry is set from 1 on, overflow only for 2.
pub(super) fn carry_count_flags(count: Expr) -> Expr {
    let second = shr(count.clone(), Expr::Const(1));
    let first = or(and(count, Expr::Const(1)), second.clone());
    or(
        shl(first, Expr::Const(CARRY)),
        shl(second, Expr::Const(OVERFLOW)),
    )
}

/// Flags that encode the order of two words: sign for less, zero for equal.
pub(super) fn order_flags(less: Expr, equal: Expr) -> Expr {
    or(shl(equal, Expr::Const(ZERO)), shl(less, Expr::Const(SIGN)))
}

/// Truth of a condition-code test, 0 or 1, as in `@P BRA.LT`.
///
/// `None` for the tests of graphics-pipeline state. In the flags of a float comparison, sign and zero together encode
/// unordered. Source: two public shader translators, which agree on every test.
pub fn cc_test(test: CcTest) -> Option<Expr> {
    let xor = |a, b| Expr::binary(BinaryOp::Xor, a, b);
    let above_zero = || logical_not(zero());
    Some(match test.0 {
        0 => Expr::Const(0),
        1 => xor(and(sign(), above_zero()), overflow()),
        2 => and(logical_not(sign()), zero()),
        3 => xor(sign(), or(zero(), overflow())),
        4 => and(logical_not(xor(sign(), overflow())), above_zero()),
        5 => above_zero(),
        6 => logical_not(xor(sign(), overflow())),
        7 => logical_not(and(sign(), zero())),
        8 => and(sign(), zero()),
        9 => xor(sign(), overflow()),
        10 => zero(),
        11 => or(xor(sign(), overflow()), zero()),
        12 => xor(logical_not(sign()), or(zero(), overflow())),
        13 => or(sign(), above_zero()),
        14 => xor(or(logical_not(sign()), zero()), overflow()),
        15 => Expr::Const(1),
        16 => logical_not(overflow()),
        17 => logical_not(carry()),
        18 => logical_not(sign()),
        19 => or(zero(), logical_not(carry())),
        20 => and(carry(), above_zero()),
        21 => sign(),
        22 => carry(),
        23 => overflow(),
        30 => or(sign(), zero()),
        31 => and(logical_not(sign()), above_zero()),
        _ => return None,
    })
}

/// Truth of all parts of a condition except the guard, 0 or 1; `None` if it is not known.
pub fn further_test(condition: ExecCondition) -> Option<Expr> {
    let code = cc_test(condition.cc_test)?;
    match (condition.tests_cc(), condition.further) {
        (_, None) => Some(code),
        (false, Some(FurtherTest::Predicate { cell, negated })) => Some(match negated {
            true => logical_not(Expr::Cell(cell)),
            false => Expr::Cell(cell),
        }),
        // No code has two such tests.
        (true, Some(FurtherTest::Predicate { .. })) | (_, Some(FurtherTest::Group)) => None,
    }
}

/// Modifiers of the tests that follow the comparisons, by number.
const OTHER_TESTS: [Modifier; 16] = [
    M::Off,
    M::Lo,
    M::Sff,
    M::Ls,
    M::Hi,
    M::Sft,
    M::Hs,
    M::Oft,
    M::CsmTa,
    M::CsmTr,
    M::CsmMx,
    M::FcsmTa,
    M::FcsmTr,
    M::FcsmMx,
    M::Rle,
    M::Rgt,
];

/// Truth of the condition-code test with this modifier.
pub(super) fn cc_test_named(name: Modifier) -> Option<Expr> {
    let mut tests = COMPARISONS.iter().chain(&OTHER_TESTS);
    let number = tests.position(|&test| test == name)?;
    cc_test(CcTest(u8::try_from(number).ok()?))
}

/// Assigns a value to the register and, with `.CC`, its zero and sign flags to the condition code, with carry and
/// overflow cleared. In a chain, the zero flag also requires that the lower words were 0.
pub(super) fn set_with_flags(
    value: Expr,
    chained: bool,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let register = operands.only_register()?;
    let mut writes: SmallVec<[(Cell, Expr); 2]> = smallvec![];
    writes.extend(register.map(|cell| (cell, value.clone())));
    writes.extend(flags_write(value, chained, operands));
    Some(Meaning::Set(writes))
}

/// Write of the condition code by a bitwise result, if the instruction has `.CC`.
pub(super) fn flags_write(
    value: Expr,
    chained: bool,
    operands: &Operands<'_>,
) -> Option<(Cell, Expr)> {
    if !operands.sets_cc() {
        return None;
    }
    let flags = result_flags(value);
    Some((
        Cell::CC,
        match chained {
            // All bits other than the zero flag pass; that one only if the lower words were 0.
            true => and(flags, or(Expr::Const(!1), zero())),
            false => flags,
        },
    ))
}

/// Carry flag.
pub(super) fn carry() -> Expr {
    flag(CARRY)
}

/// Zero flag: the last result, and the lower words of its chain, were 0.
pub(super) fn zero() -> Expr {
    flag(ZERO)
}

/// Flags of a result that is not a sum: carry and overflow are clear (source: a public shader translator).
pub(super) fn result_flags(value: Expr) -> Expr {
    let is_zero = Expr::binary(BinaryOp::Eq, value.clone(), Expr::Const(0));
    let sign = shr(value, Expr::Const(31));
    or(
        shl(is_zero, Expr::Const(ZERO)),
        shl(sign, Expr::Const(SIGN)),
    )
}

/// Sum of two values and a carry in of 0 or 1.
pub(super) struct CarrySum {
    a: Expr,
    b: Expr,
    carry: Expr,
    /// Whether the sum continues a chain. Its zero flag then requires that the lower words were 0.
    chained: bool,
}

impl CarrySum {
    /// Makes the sum of two operands with signs; `extended` adds the carry flag (`.X`).
    pub(super) fn of(
        a: Expr,
        minus_a: bool,
        b: Expr,
        minus_b: bool,
        extended: bool,
    ) -> Option<CarrySum> {
        // A difference is the sum with the complement and a carry in of 1.
        let invert_if = |value: Expr, minus: bool| if minus { not(value) } else { value };
        let carry = match (extended, minus_a || minus_b) {
            // Two complements would need a carry in of 2.
            _ if minus_a && minus_b => return None,
            // The carry of the lower words already contains the 1 of a difference.
            (true, _) => carry(),
            (false, minus) => Expr::Const(minus.into()),
        };
        Some(CarrySum {
            a: invert_if(a, minus_a),
            b: invert_if(b, minus_b),
            carry,
            chained: extended,
        })
    }

    /// Makes the sum plus 1 (`.PO`).
    pub(super) fn plus_one(a: Expr, b: Expr) -> CarrySum {
        CarrySum {
            a,
            b,
            carry: Expr::Const(1),
            chained: false,
        }
    }

    pub(super) fn value(&self) -> Expr {
        let sum = add(self.a.clone(), self.b.clone());
        match self.carry {
            Expr::Const(0) => sum,
            _ => add(sum, self.carry.clone()),
        }
    }

    /// Carry out, 0 or 1.
    pub(super) fn carry_out(&self) -> Expr {
        let [a, b, carry] = [&self.a, &self.b, &self.carry].map(Expr::clone);
        Expr::ternary(TernaryOp::Carry, a, b, carry)
    }

    /// Sign and overflow of the sum, each 0 or 1.
    pub(super) fn sign_and_overflow(&self) -> (Expr, Expr) {
        let top = |value: Expr| shr(value, Expr::Const(31));
        let differs = |a: &Expr| Expr::binary(BinaryOp::Xor, a.clone(), self.value());
        // A sum overflows exactly if its sign differs from the signs of both addends.
        let overflow = and(differs(&self.a), differs(&self.b));
        (top(self.value()), top(overflow))
    }

    /// Zero flag of the sum, including the lower words of a chain.
    pub(super) fn is_zero(&self) -> Expr {
        let own = Expr::binary(BinaryOp::Eq, self.value(), Expr::Const(0));
        if self.chained { and(own, zero()) } else { own }
    }

    /// Assigns the sum to the register and, with `.CC`, its flags to the condition code.
    pub(super) fn result(&self, operands: &Operands<'_>) -> Option<Meaning> {
        let register = operands.only_register()?;
        let mut writes = smallvec![];
        writes.extend(register.map(|cell| (cell, self.value())));
        if operands.sets_cc() {
            let (sign, overflow) = self.sign_and_overflow();
            let at = |flag: Expr, bit| shl(flag, Expr::Const(bit));
            let flags = or(
                or(at(self.is_zero(), ZERO), at(sign, SIGN)),
                or(at(self.carry_out(), CARRY), at(overflow, OVERFLOW)),
            );
            writes.push((Cell::CC, flags));
        }
        Some(Meaning::Set(writes))
    }
}
