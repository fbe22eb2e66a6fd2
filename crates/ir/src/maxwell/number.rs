//! Integers of up to 64 bits as expressions with a value range: exact intermediate results of instructions that
//! truncate or clamp them to 32 bits. For example, the sum of two signed words has the range -2^32 to 2^32 - 2, so it
//! needs a high word; the sum of two bytes does not.
//!
//! The range determines whether a number needs a high word, and whether comparisons are signed or unsigned.

use std::ops::RangeInclusive;

use crate::nvidia::operands::{add, and, or, shl, shr};
use crate::{BinaryOp, Expr, TernaryOp, UnaryOp};

/// Range of signed 32-bit numbers.
pub(crate) const SIGNED: RangeInclusive<i128> = i32::MIN as i128..=i32::MAX as i128;
/// Range of unsigned 32-bit numbers.
pub(crate) const UNSIGNED: RangeInclusive<i128> = 0..=u32::MAX as i128;

/// Integer of up to 64 bits with its range. It is in two's complement, or unsigned if the range has no negative
/// number.
#[derive(Clone)]
pub(crate) struct RangedInt {
    low: Expr,
    /// High word. `None` if it follows from the low word, because the range fits into 32 bits.
    high: Option<Expr>,
    least: i128,
    most: i128,
}

fn sub(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Sub, a, b)
}

fn sar(a: Expr, by: u32) -> Expr {
    Expr::binary(BinaryOp::Sar, a, Expr::Const(by))
}

fn select(choice: Expr, yes: Expr, no: Expr) -> Expr {
    Expr::ternary(TernaryOp::Select, choice, yes, no)
}

impl RangedInt {
    /// Makes a signed or unsigned number from a word.
    pub(crate) fn word(value: Expr, signed: bool) -> RangedInt {
        let (least, most) = match value {
            Expr::Const(n) if signed => ((n as i32).into(), (n as i32).into()),
            Expr::Const(n) => (n.into(), n.into()),
            _ if signed => SIGNED.into_inner(),
            _ => UNSIGNED.into_inner(),
        };
        RangedInt {
            low: value,
            high: None,
            least,
            most,
        }
    }

    /// Makes a number from a word that is already extended from `bits` bits.
    pub(crate) fn narrow(value: Expr, bits: u32, signed: bool) -> RangedInt {
        let (least, most) = match signed {
            true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            false => (0, (1 << bits) - 1),
        };
        RangedInt {
            low: value,
            high: None,
            least,
            most,
        }
    }

    /// Whether every value lies in the range.
    pub(crate) fn fits(&self, range: &RangeInclusive<i128>) -> bool {
        self.least >= *range.start() && self.most <= *range.end()
    }

    fn high(&self) -> Expr {
        match &self.high {
            Some(high) => high.clone(),
            // The range decides between zero and sign extension.
            None if self.least >= 0 => Expr::Const(0),
            None => sar(self.low.clone(), 31),
        }
    }

    /// Makes a number with the given range; `None` if 64 bits do not hold the range.
    fn of(low: Expr, high: impl FnOnce() -> Expr, least: i128, most: i128) -> Option<RangedInt> {
        let mut number = RangedInt {
            low,
            high: None,
            least,
            most,
        };
        if !number.fits(&SIGNED) && !number.fits(&UNSIGNED) {
            let signed = i64::MIN.into()..=i64::MAX.into();
            if !number.fits(&signed) && !number.fits(&(0..=u64::MAX.into())) {
                return None;
            }
            number.high = Some(high());
        }
        Some(number)
    }

    /// Low word.
    pub(crate) fn low(&self) -> Expr {
        self.low.clone()
    }

    pub(crate) fn plus(&self, other: &RangedInt) -> Option<RangedInt> {
        let carry = || Expr::ternary(TernaryOp::Carry, self.low(), other.low(), Expr::Const(0));
        RangedInt::of(
            add(self.low(), other.low()),
            || add(add(self.high(), other.high()), carry()),
            self.least + other.least,
            self.most + other.most,
        )
    }

    pub(crate) fn minus(&self, other: &RangedInt) -> Option<RangedInt> {
        let borrow = || Expr::binary(BinaryOp::LtU, self.low(), other.low());
        RangedInt::of(
            sub(self.low(), other.low()),
            || sub(sub(self.high(), other.high()), borrow()),
            self.least - other.most,
            self.most - other.least,
        )
    }

    pub(crate) fn times(&self, other: &RangedInt) -> Option<RangedInt> {
        let (a, b) = (self, other);
        let corners = [
            a.least * b.least,
            a.least * b.most,
            a.most * b.least,
            a.most * b.most,
        ];
        let high = || {
            if a.fits(&SIGNED) && b.fits(&SIGNED) {
                return Expr::binary(BinaryOp::MulHighS, a.low(), b.low());
            }
            // The signed product is the unsigned one, minus 2^32 times the other factor for each negative factor.
            let whole = Expr::binary(BinaryOp::MulHighU, a.low(), b.low());
            let fixed = |high: Expr, sign: &RangedInt, other: &RangedInt| match sign.least < 0 {
                true => sub(high, and(sar(sign.low(), 31), other.low())),
                false => high,
            };
            fixed(fixed(whole, a, b), b, a)
        };
        // The product would have more than 64 bits.
        if self.high.is_some() || other.high.is_some() {
            return None;
        }
        RangedInt::of(
            Expr::binary(BinaryOp::Mul, a.low(), b.low()),
            high,
            *corners.iter().min()?,
            *corners.iter().max()?,
        )
    }

    pub(crate) fn negated(&self) -> Option<RangedInt> {
        RangedInt::word(Expr::Const(0), true).minus(self)
    }

    /// Shifts right by 1 to 31.
    pub(crate) fn shifted_right(&self, by: u32) -> Option<RangedInt> {
        let high = self.high();
        let low = or(
            shr(self.low(), Expr::Const(by)),
            shl(high.clone(), Expr::Const(32 - by)),
        );
        let rest = || match self.least < 0 {
            true => sar(high, by),
            false => shr(high, Expr::Const(by)),
        };
        RangedInt::of(low, rest, self.least >> by, self.most >> by)
    }

    /// 1 if the number is less than the other, else 0.
    pub(crate) fn less(&self, other: &RangedInt) -> Expr {
        let (a, b) = (self, other);
        if a.fits(&SIGNED) && b.fits(&SIGNED) {
            return Expr::binary(BinaryOp::LtS, a.low(), b.low());
        }
        if a.fits(&UNSIGNED) && b.fits(&UNSIGNED) {
            return Expr::binary(BinaryOp::LtU, a.low(), b.low());
        }
        let op = match a.least < 0 || b.least < 0 {
            true => BinaryOp::LtS,
            false => BinaryOp::LtU,
        };
        let above = Expr::binary(op, a.high(), b.high());
        let same = Expr::binary(BinaryOp::Eq, a.high(), b.high());
        let below = Expr::binary(BinaryOp::LtU, a.low(), b.low());
        or(above, and(same, below))
    }

    /// 1 if both are equal, else 0.
    pub(crate) fn equals(&self, other: &RangedInt) -> Expr {
        let low = Expr::binary(BinaryOp::Eq, self.low(), other.low());
        // Equal low words mean equal numbers only if one range of 32 bits contains both.
        let both = |range| self.fits(range) && other.fits(range);
        if both(&SIGNED) || both(&UNSIGNED) {
            return low;
        }
        and(low, Expr::binary(BinaryOp::Eq, self.high(), other.high()))
    }

    /// Selects one of two numbers by a truth value; the result has the given range.
    fn choose(
        choice: Expr,
        yes: &RangedInt,
        no: &RangedInt,
        least: i128,
        most: i128,
    ) -> Option<RangedInt> {
        let again = choice.clone();
        RangedInt::of(
            select(choice, yes.low(), no.low()),
            || select(again, yes.high(), no.high()),
            least,
            most,
        )
    }

    pub(crate) fn smaller(&self, other: &RangedInt) -> Option<RangedInt> {
        // The ranges decide, so no comparison is needed.
        if self.most <= other.least {
            return Some(self.clone());
        }
        if other.most <= self.least {
            return Some(other.clone());
        }
        // Interval arithmetic of the minimum: both ends are minima of the ends.
        let (least, most) = (self.least.min(other.least), self.most.min(other.most));
        RangedInt::choose(self.less(other), self, other, least, most)
    }

    pub(crate) fn larger(&self, other: &RangedInt) -> Option<RangedInt> {
        if self.most <= other.least {
            return Some(other.clone());
        }
        if other.most <= self.least {
            return Some(self.clone());
        }
        let (least, most) = (self.least.max(other.least), self.most.max(other.most));
        RangedInt::choose(self.less(other), other, self, least, most)
    }

    /// Clamps to a range of at most 32 bits.
    pub(crate) fn clamped(&self, range: &RangeInclusive<i128>) -> Option<RangedInt> {
        let bound = |n: i128| RangedInt::word(Expr::Const(n as u32), n < 0);
        self.larger(&bound(*range.start()))?
            .smaller(&bound(*range.end()))
    }

    /// Absolute value.
    pub(crate) fn magnitude(&self) -> Option<RangedInt> {
        if self.least >= 0 {
            return Some(self.clone());
        }
        if self.high.is_none() && self.fits(&SIGNED) {
            return Some(RangedInt {
                low: Expr::unary(UnaryOp::AbsS, self.low()),
                high: None,
                least: 0,
                // The magnitude of the smallest number fits as an unsigned word.
                most: self.most.max(-self.least),
            });
        }
        // A negative number is inverted and incremented.
        let sign = sar(self.high(), 31);
        let low = Expr::binary(BinaryOp::Xor, self.low(), sign.clone());
        let high = Expr::binary(BinaryOp::Xor, self.high(), sign.clone());
        let one = and(sign, Expr::Const(1));
        let carry = Expr::ternary(TernaryOp::Carry, low.clone(), one.clone(), Expr::Const(0));
        let most = self.most.max(-self.least);
        RangedInt::of(add(low, one), || add(high, carry), 0, most)
    }
}

/// Extracts `bits` bits of a word from bit `from` on, extended with their sign or with zeros.
pub(crate) fn extract_part(value: Expr, from: u32, bits: u32, signed: bool) -> RangedInt {
    let moved = match from {
        0 => value,
        from => shr(value, Expr::Const(from)),
    };
    if bits == 32 {
        return RangedInt::word(moved, signed);
    }
    let extended = match (signed, bits) {
        (false, bits) => and(moved, Expr::Const((1 << bits) - 1)),
        (true, 8) => Expr::unary(UnaryOp::SignExtend8, moved),
        (true, _) => Expr::unary(UnaryOp::SignExtend16, moved),
    };
    RangedInt::narrow(extended, bits, signed)
}
