//! Divisions as compilers make them: an approximate reciprocal, and corrections of the quotient. Some corrections are
//! left out.

use warpbound_ir::float::convert::{IntegerType, IntegralRounding};
use warpbound_ir::float::special::SpecialFunction;
use warpbound_ir::float::{FloatOp, Flush, Format, Rounding};
use warpbound_ir::{BinaryOp, Cell, ControlEffect, ExecCondition, Expr, Meaning, Op};
use warpbound_isa::SpecialReg;
use warpbound_isa::instr::StackToken;

use super::{Builder, CONDITION, MAX_ROUNDS, ProfiledProgram, guard};

/// Registers of a division.
const RECIPROCAL: Cell = Cell::gpr(30);
const SCRATCH: Cell = Cell::gpr(31);
const QUOTIENT: Cell = Cell::gpr(32);
const REMAINDER: Cell = Cell::gpr(33);
const NUMERATOR: Cell = Cell::gpr(34);

impl ProfiledProgram {
    /// A random program with quotients that decide branches and loops. Some divisions lack a correction, so that the
    /// last bit of the reciprocal decides.
    pub fn random_with_divisions(seed: u64) -> ProfiledProgram {
        let mut builder = Builder::new(fastrand::Rng::with_seed(seed));
        builder.rejoins = true;
        builder.start();
        for _ in 0..builder.rng.u8(1..4) {
            let in_some_lanes = builder.rng.bool();
            match in_some_lanes {
                true => builder.divide_in_some_lanes(),
                false => builder.divide(),
            }
            let number = builder.number();
            // In lanes that have not divided, the register of the reciprocal holds what it did.
            let word = match in_some_lanes && builder.rng.bool() {
                true => Expr::binary(BinaryOp::Shr, Expr::Cell(RECIPROCAL), Expr::Const(28)),
                false => Expr::Cell(QUOTIENT),
            };
            builder.assign(number, Expr::binary(BinaryOp::And, word, Expr::Const(7)));
            let most = Expr::Const(MAX_ROUNDS - 1);
            let limit = Expr::binary(BinaryOp::MinU, Expr::Cell(number), most);
            builder.counted_loop(limit, |builder| builder.statements(1, true));
            builder.statements(1, true);
        }
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// The program with other results of reciprocals: by the lane one unit in the last place less, or more, or the
    /// same.
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
    /// Adds the error of a reciprocal, which the product with the divisor shows.
    fn improve_reciprocal(&mut self, divisor: &Expr) {
        let product = Expr::binary(BinaryOp::Mul, Expr::Cell(RECIPROCAL), divisor.clone());
        let error = Expr::binary(BinaryOp::Sub, Expr::Const(0), product);
        self.assign(SCRATCH, error);
        let (reciprocal, error) = (Expr::Cell(RECIPROCAL), Expr::Cell(SCRATCH));
        let error = Expr::binary(BinaryOp::MulHighU, reciprocal.clone(), error);
        self.assign(RECIPROCAL, Expr::binary(BinaryOp::Add, reciprocal, error));
    }

    /// Divides in the lanes on one side of a branch.
    fn divide_in_some_lanes(&mut self) {
        for cell in [RECIPROCAL, QUOTIENT] {
            let word = self.rng.u32(..);
            self.assign(cell, Expr::Const(word));
        }
        let join = self.push(StackToken::Sync);
        self.random_compare();
        let condition = guard(self.rng.bool());
        self.pop(StackToken::Sync, condition);
        self.divide();
        self.pop(StackToken::Sync, ExecCondition::ALWAYS);
        self.lands_here(join);
    }

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
        // Without this step the last bit decides more than the corrections below change.
        if self.rng.u8(0..4) > 0 {
            self.improve_reciprocal(&divisor);
        }
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
