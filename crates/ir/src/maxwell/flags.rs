//! The condition code: four flags of the last result that asked for it.
//!
//! They stand in the cell as P2R shows them (public translators of shaders agree on that).

use smallvec::{SmallVec, smallvec};
use warpbound_isa::CcTest;

use super::operands::{Operands, add, and, logical_not, not, or, shl, shr};
use crate::{BinaryOp, Cell, Expr, Meaning, TernaryOp};

const ZERO: u32 = 0;
const SIGN: u32 = 1;
const CARRY: u32 = 2;
const OVERFLOW: u32 = 3;

/// A flag of the condition code: 0 or 1.
fn flag(place: u32) -> Expr {
    and(
        shr(Expr::Cell(Cell::CC), Expr::Const(place)),
        Expr::Const(1),
    )
}

/// The sign.
pub(super) fn sign() -> Expr {
    flag(SIGN)
}

/// The overflow.
pub(super) fn overflow() -> Expr {
    flag(OVERFLOW)
}

/// The bits of the condition code for 0, 1 or 2 carries: one in the carry, one in the overflow.
pub(super) fn carry_count_flags(count: Expr) -> Expr {
    let second = shr(count.clone(), Expr::Const(1));
    let first = or(and(count, Expr::Const(1)), second.clone());
    or(
        shl(first, Expr::Const(CARRY)),
        shl(second, Expr::Const(OVERFLOW)),
    )
}

/// The condition code that says how two words stand to each other, for [`sign`] and [`zero`].
pub(super) fn order_flags(less: Expr, equal: Expr) -> Expr {
    or(shl(equal, Expr::Const(ZERO)), shl(less, Expr::Const(SIGN)))
}

/// Whether a test of the condition code holds, 1 or 0: what `@P BRA.LT` asks beside its guard.
///
/// `None` for the tests that ask for state of graphics pipelines. The flags of a float's comparison say with sign and
/// zero at once that there is no order. Source: two public translators of shaders, which agree on every test.
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

/// The names of the tests, by number.
const TESTS: [&str; 32] = [
    ".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".NUM", ".NAN", ".LTU", ".EQU", ".LEU", ".GTU",
    ".NEU", ".GEU", ".T", ".OFF", ".LO", ".SFF", ".LS", ".HI", ".SFT", ".HS", ".OFT", ".CSM_TA",
    ".CSM_TR", ".CSM_MX", ".FCSM_TA", ".FCSM_TR", ".FCSM_MX", ".RLE", ".RGT",
];

/// A test by its modifier.
pub(super) fn cc_test_named(name: &str) -> Option<Expr> {
    let number = TESTS.iter().position(|&test| test == name)?;
    cc_test(CcTest(u8::try_from(number).ok()?))
}

/// The register gets a value; where it is asked for, the condition code says whether it is 0 and its sign, without carry
/// and overflow. In a chain it is 0 only when the words before it were.
pub(super) fn set_with_flags(value: Expr, chained: bool, operands: &Operands<'_>) -> Option<Meaning> {
    let register = operands.only_register()?;
    let mut writes: SmallVec<[(Cell, Expr); 2]> = smallvec![];
    writes.extend(register.map(|cell| (cell, value.clone())));
    writes.extend(flags_write(value, chained, operands));
    Some(Meaning::Set(writes))
}

/// What the condition code gets, if it gets anything.
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
            true => and(flags, or(Expr::Const(!1), zero())),
            false => flags,
        },
    ))
}

/// The carry.
pub(super) fn carry() -> Expr {
    flag(CARRY)
}

/// The last result, and those before it of a chain, were 0.
pub(super) fn zero() -> Expr {
    flag(ZERO)
}

/// The flags of a result that is no sum: no carry and no overflow (source: a public translator of shaders).
pub(super) fn result_flags(value: Expr) -> Expr {
    let is_zero = Expr::binary(BinaryOp::Eq, value.clone(), Expr::Const(0));
    let sign = shr(value, Expr::Const(31));
    or(
        shl(is_zero, Expr::Const(ZERO)),
        shl(sign, Expr::Const(SIGN)),
    )
}

/// The sum of two values and a carry of 0 or 1.
pub(super) struct CarrySum {
    a: Expr,
    b: Expr,
    carry: Expr,
    /// It goes on a chain of sums, so that it is 0 only when the lower words are.
    chained: bool,
}

impl CarrySum {
    /// The sum of two signed operands; `extended` adds the carry of the condition code (`.X`).
    pub(super) fn of(
        (a, minus_a): (Expr, bool),
        (b, minus_b): (Expr, bool),
        extended: bool,
    ) -> Option<CarrySum> {
        // A difference is the sum with all bits turned round and 1 carried in.
        let turned = |value: Expr, minus: bool| if minus { not(value) } else { value };
        let carry = match (extended, minus_a || minus_b) {
            _ if minus_a && minus_b => return None,
            (true, _) => carry(),
            (false, minus) => Expr::Const(minus.into()),
        };
        Some(CarrySum {
            a: turned(a, minus_a),
            b: turned(b, minus_b),
            carry,
            chained: extended,
        })
    }

    /// The sum and 1 (`.PO`).
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

    /// The carry out: 0 or 1.
    pub(super) fn carry_out(&self) -> Expr {
        let [a, b, carry] = [&self.a, &self.b, &self.carry].map(Expr::clone);
        Expr::ternary(TernaryOp::Carry, a, b, carry)
    }

    /// The sign and the overflow of the sum, as 0 or 1 each.
    pub(super) fn sign_and_overflow(&self) -> (Expr, Expr) {
        let top = |value: Expr| shr(value, Expr::Const(31));
        let differs = |a: &Expr| Expr::binary(BinaryOp::Xor, a.clone(), self.value());
        let overflow = and(differs(&self.a), differs(&self.b));
        (top(self.value()), top(overflow))
    }

    /// Whether the sum is 0, with the lower words of a chain.
    pub(super) fn is_zero(&self) -> Expr {
        let own = Expr::binary(BinaryOp::Eq, self.value(), Expr::Const(0));
        if self.chained { and(own, zero()) } else { own }
    }

    /// The register gets the sum, the condition code its flags where that is asked for.
    pub(super) fn result(&self, operands: &Operands<'_>) -> Option<Meaning> {
        let register = operands.only_register()?;
        let mut writes = smallvec![];
        writes.extend(register.map(|cell| (cell, self.value())));
        if operands.sets_cc() {
            let (sign, overflow) = self.sign_and_overflow();
            let at = |flag: Expr, place| shl(flag, Expr::Const(place));
            let flags = or(
                or(at(self.is_zero(), ZERO), at(sign, SIGN)),
                or(at(self.carry_out(), CARRY), at(overflow, OVERFLOW)),
            );
            writes.push((Cell::CC, flags));
        }
        Some(Meaning::Set(writes))
    }
}
