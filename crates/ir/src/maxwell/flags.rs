//! The condition code: four flags of the last result that asked for it.
//!
//! Where they stand in the cell is our own choice; no instruction with a meaning shows it.

use smallvec::smallvec;

use super::operands::{Operands, add, and, not, or, shl, shr};
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

/// The carry.
pub(super) fn carry() -> Expr {
    flag(CARRY)
}

/// The last result, and those before it of a chain, were 0.
pub(super) fn zero() -> Expr {
    flag(ZERO)
}

/// The flags of a result that is no sum: no carry and no overflow (assumption).
pub(super) fn flags_of(value: Expr) -> Expr {
    let is_zero = Expr::binary(BinaryOp::Eq, value.clone(), Expr::Const(0));
    let sign = shr(value, Expr::Const(31));
    or(
        shl(is_zero, Expr::Const(ZERO)),
        shl(sign, Expr::Const(SIGN)),
    )
}

/// The sum of two values and a carry of 0 or 1.
pub(super) struct Sum {
    a: Expr,
    b: Expr,
    carry: Expr,
    /// It goes on a chain of sums, so that it is 0 only when the lower words are.
    chained: bool,
}

impl Sum {
    /// The sum of two signed operands; `extended` adds the carry of the condition code (`.X`).
    pub(super) fn of(
        (a, minus_a): (Expr, bool),
        (b, minus_b): (Expr, bool),
        extended: bool,
    ) -> Option<Sum> {
        // A difference is the sum with all bits turned round and 1 carried in.
        let turned = |value: Expr, minus: bool| if minus { not(value) } else { value };
        let carry = match (extended, minus_a || minus_b) {
            _ if minus_a && minus_b => return None,
            (true, _) => carry(),
            (false, minus) => Expr::Const(minus.into()),
        };
        Some(Sum {
            a: turned(a, minus_a),
            b: turned(b, minus_b),
            carry,
            chained: extended,
        })
    }

    /// The sum and 1 (`.PO`).
    pub(super) fn plus_one(a: Expr, b: Expr) -> Sum {
        Sum {
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
