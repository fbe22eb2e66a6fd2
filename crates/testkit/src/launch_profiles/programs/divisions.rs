//! Divisions as compilers make them: an approximate reciprocal, and corrections of the quotient, some of which are left out.

use warpbound_ir::float::convert::{IntegerType, IntegralRounding};
use warpbound_ir::float::special::SpecialFunction;
use warpbound_ir::float::{FloatOp, Flush, Format, Rounding};
use warpbound_ir::{BinaryOp, Cell, ControlEffect, ExecCondition, Expr, Meaning, Op};
use warpbound_isa::SpecialReg;

use super::{Builder, CONDITION, MAX_ROUNDS, ProfiledProgram, guard};

/// Registers of a division.
const RECIPROCAL: Cell = Cell::gpr(30);
const SCRATCH: Cell = Cell::gpr(31);
const QUOTIENT: Cell = Cell::gpr(32);
const REMAINDER: Cell = Cell::gpr(33);
const NUMERATOR: Cell = Cell::gpr(34);

impl ProfiledProgram {
    /// A random program with quotients that decide branches and loops. Some divisions lack a correction, so that the last bit
    /// of the reciprocal decides.
    pub fn random_with_divisions(seed: u64) -> ProfiledProgram {
        let mut builder = Builder::new(fastrand::Rng::with_seed(seed));
        builder.rejoins = true;
        builder.start();
        for _ in 0..builder.rng.u8(1..4) {
            builder.divide();
            let number = builder.number();
            let bits = Expr::binary(BinaryOp::And, Expr::Cell(QUOTIENT), Expr::Const(7));
            builder.assign(number, bits);
            let most = Expr::Const(MAX_ROUNDS - 1);
            let limit = Expr::binary(BinaryOp::MinU, Expr::Cell(number), most);
            builder.counted_loop(limit, |builder| builder.statements(1, true));
            builder.statements(1, true);
        }
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// The program with other results of reciprocals: by the lane one unit in the last place less, or more, or the same.
    #[must_use]
    pub fn with_other_reciprocals(&self) -> ProfiledProgram {
        self.changed(|op: &mut Op| {
            let Some(Meaning::Set(sets)) = &mut op.meaning else {
                return;
            };
            for (_, value) in sets {
                if matches!(
                    value,
                    Expr::Float(FloatOp::Special(SpecialFunction::Rcp), ..)
                ) {
                    let lane = || Expr::Special(SpecialReg::LaneId);
                    let bit = |shift| {
                        let bits = Expr::binary(BinaryOp::Shr, lane(), Expr::Const(shift));
                        Expr::binary(BinaryOp::And, bits, Expr::Const(1))
                    };
                    let distance = Expr::binary(BinaryOp::Sub, bit(0), bit(1));
                    *value = Expr::binary(BinaryOp::Add, value.clone(), distance);
                }
            }
        })
    }
}

impl Builder {
    /// Divides a number by another one.
    fn divide(&mut self) {
        let high = match self.rng.bool() {
            true => self.rng.u32(..),
            false => 0,
        };
        let number = Expr::Cell(self.number());
        self.assign(
            NUMERATOR,
            Expr::binary(BinaryOp::Xor, number, Expr::Const(high)),
        );
        let divisor = match self.rng.u8(0..3) {
            0 => Expr::Const(self.rng.u32(1..1 << 20)),
            _ => Expr::Cell(self.number()),
        };
        let of = |op, a: Cell, b: &Expr| Expr::binary(op, Expr::Cell(a), b.clone());
        let from_integer = FloatOp::FromInteger {
            from: IntegerType::U32,
            to: Format::Single,
            rounding: Rounding::Up,
            absolute: false,
            negate: false,
        };
        let to_integer = FloatOp::ToInteger {
            from: Format::Single,
            to: IntegerType::U32,
            integral: IntegralRounding::Trunc,
            flush: Flush::Ftz,
        };
        self.assign(RECIPROCAL, Expr::float(from_integer, [divisor.clone()]));
        let reciprocal = FloatOp::Special(SpecialFunction::Rcp);
        self.assign(
            RECIPROCAL,
            Expr::float(reciprocal, [Expr::Cell(RECIPROCAL)]),
        );
        self.assign(
            RECIPROCAL,
            of(BinaryOp::Add, RECIPROCAL, &Expr::Const(0x0fff_fffe)),
        );
        self.assign(
            RECIPROCAL,
            Expr::float(to_integer, [Expr::Cell(RECIPROCAL)]),
        );
        let product = of(BinaryOp::Mul, RECIPROCAL, &divisor);
        self.assign(
            SCRATCH,
            Expr::binary(BinaryOp::Sub, Expr::Const(0), product),
        );
        let error = of(BinaryOp::MulHighU, RECIPROCAL, &Expr::Cell(SCRATCH));
        self.assign(RECIPROCAL, of(BinaryOp::Add, RECIPROCAL, &error));
        self.assign(
            QUOTIENT,
            of(BinaryOp::MulHighU, RECIPROCAL, &Expr::Cell(NUMERATOR)),
        );
        let product = of(BinaryOp::Mul, QUOTIENT, &divisor);
        self.assign(REMAINDER, of(BinaryOp::Sub, NUMERATOR, &product));
        let corrections = match self.rng.u8(0..3) {
            0 => self.rng.u8(0..2),
            _ => 2,
        };
        for _ in 0..corrections {
            let is_large = Expr::binary(BinaryOp::LeU, divisor.clone(), Expr::Cell(REMAINDER));
            self.assign(CONDITION, is_large);
            let less = of(BinaryOp::Sub, REMAINDER, &divisor);
            self.data(Meaning::set(REMAINDER, less), guard(false));
            let more = of(BinaryOp::Add, QUOTIENT, &Expr::Const(1));
            self.data(Meaning::set(QUOTIENT, more), guard(false));
        }
    }
}
