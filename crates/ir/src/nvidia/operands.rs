//! Operands of an instruction as expressions. For example, `-R1` is a negation as an integer operand, and a flipped
//! sign bit as a single.

use smallvec::{SmallVec, smallvec};
use warpbound_isa::nvidia::{BracketOperand, Part, REGISTERS};
use warpbound_isa::{Operand, OperandRole, OperandValue, Reg, RegisterKind, View};

use crate::{BinaryOp, Cell, Expr, Meaning, UnaryOp, WordHalf};

/// Operands of an instruction, read and written ones apart.
pub(crate) struct Operands<'v> {
    pub(crate) reads: SmallVec<[&'v Operand; 4]>,
    pub(crate) writes: SmallVec<[&'v Operand; 3]>,
}

impl<'v> Operands<'v> {
    pub(crate) fn new(view: &'v View) -> Operands<'v> {
        let with = |role| view.operands.iter().filter(move |o| o.role == role);
        Operands {
            // Operands that are written in part are in neither list, so functions that need them find no meaning.
            reads: with(OperandRole::Read).collect(),
            writes: with(OperandRole::Write).collect(),
        }
    }

    /// Source operand as an integer, with its sign.
    pub(crate) fn word(&self, index: usize) -> Option<Expr> {
        let operand = self.reads.get(index)?;
        let plain =
            unmodified(operand).filter(|_| operand.part == Part::Whole && !operand.invert)?;
        Some(match operand.negate {
            true => Expr::unary(UnaryOp::Neg, plain),
            false => plain,
        })
    }

    /// Source operand as a bit pattern, possibly inverted.
    pub(crate) fn bits(&self, index: usize) -> Option<Expr> {
        let operand = self.reads.get(index)?;
        let plain =
            unmodified(operand).filter(|_| operand.part == Part::Whole && !operand.negate)?;
        Some(match operand.invert {
            true => Expr::unary(UnaryOp::Not, plain),
            false => plain,
        })
    }

    /// Source operand without its sign, and whether it is negated.
    pub(crate) fn signed(&self, index: usize) -> Option<(Expr, bool)> {
        let operand = self.reads.get(index)?;
        let plain =
            unmodified(operand).filter(|_| operand.part == Part::Whole && !operand.invert)?;
        Some((plain, operand.negate))
    }

    /// Source operand as a whole, and its selected part.
    pub(crate) fn selected(&self, index: usize) -> Option<(Expr, Part)> {
        let operand = self.reads.get(index)?;
        Some((
            unmodified(operand).filter(|_| !operand.negate && !operand.invert)?,
            operand.part,
        ))
    }

    /// Source operand as a whole and its selected part. The caller must apply absolute value and negation.
    pub(crate) fn part_without_sign(&self, index: usize) -> Option<(Expr, Part)> {
        let operand = self.reads.get(index)?;
        let bare = Operand {
            absolute: false,
            ..**operand
        };
        Some((unmodified(&bare)?, operand.part))
    }

    /// Whether a source operand is negated.
    pub(crate) fn is_negated(&self, index: usize) -> bool {
        self.reads.get(index).is_some_and(|operand| operand.negate)
    }

    /// Source operand as a single, with absolute value and negation.
    pub(crate) fn single(&self, index: usize) -> Option<Expr> {
        let operand = self.reads.get(index)?;
        if operand.invert || operand.part != Part::Whole || operand.count > 1 {
            return None;
        }
        let value = match operand.value {
            OperandValue::Single(bits) => Expr::Const(bits),
            // Registers and constants hold the bits of a single.
            _ => word_of(operand, 0)?,
        };
        Some(with_sign(value, operand, SINGLE_SIGN))
    }

    /// Words of a source operand as a double, the low one first, with absolute value and negation.
    pub(crate) fn double(&self, index: usize) -> Option<[Expr; 2]> {
        let operand = self.reads.get(index)?;
        if operand.invert || operand.part != Part::Whole {
            return None;
        }
        let (low, high) = match operand.value {
            OperandValue::Double(bits) => {
                (Expr::Const(bits as u32), Expr::Const((bits >> 32) as u32))
            }
            _ => (word_of(operand, 0)?, word_of(operand, 1)?),
        };
        Some([low, with_sign(high, operand, SINGLE_SIGN)])
    }

    /// Words of a source operand as a 64-bit integer, the low one first, with its sign.
    pub(crate) fn long(&self, index: usize) -> Option<[Expr; 2]> {
        let operand = self.reads.get(index)?;
        let [low, high] = self.long_without_sign(index).filter(|_| !operand.invert)?;
        Some(match operand.negate {
            false => [low, high],
            // The high word of a negated number is the complement, and one more if the low word is 0.
            true => {
                let is_zero = Expr::binary(BinaryOp::Eq, low.clone(), Expr::Const(0));
                [Expr::unary(UnaryOp::Neg, low), add(not(high), is_zero)]
            }
        })
    }

    /// Words of a source operand as a 64-bit integer, the low one first. The caller must apply negation or inversion.
    pub(crate) fn long_without_sign(&self, index: usize) -> Option<[Expr; 2]> {
        let operand = self.reads.get(index)?;
        if operand.absolute || operand.part != Part::Whole {
            return None;
        }
        Some(match operand.value {
            OperandValue::Int(number) => {
                [number, number >> 32].map(|word| Expr::Const(word as u32))
            }
            _ => [word_of(operand, 0)?, word_of(operand, 1)?],
        })
    }

    /// Meaning that assigns the words of a 64-bit value to two registers; `None` if anything else is written.
    pub(crate) fn set_register_pair(&self, value: impl Fn(WordHalf) -> Expr) -> Option<Meaning> {
        let no_predicate = self.predicates().iter().all(Option::is_none);
        // A meaning assigns all that the operation writes, and the caller has no value for these.
        if !no_predicate || self.sets_cc() {
            return None;
        }
        let Some([low, high]) = self.register_pair()? else {
            // A result in RZ is discarded.
            return Some(Meaning::Set(SmallVec::new()));
        };
        Some(Meaning::Set(smallvec![
            (low, value(WordHalf::Low)),
            (high, value(WordHalf::High)),
        ]))
    }

    /// Two registers that are written, general or uniform; the inner `None` is RZ or URZ.
    pub(crate) fn register_pair(&self) -> Option<Option<[Cell; 2]>> {
        self.writes.iter().find_map(|operand| match operand.value {
            OperandValue::Reg(None) | OperandValue::Uniform(None) => Some(None),
            OperandValue::Reg(Some(n)) => Some(Some([Cell::gpr(n), register_after(n, 1)?])),
            OperandValue::Uniform(Some(n)) => {
                Some(Some([Cell::of(Reg::uniform(n)), uniform_after(n, 1)?]))
            }
            _ => None,
        })
    }

    /// Source operand that is an integer immediate.
    pub(crate) fn immediate(&self, index: usize) -> Option<u32> {
        match self.reads.get(index)?.value {
            OperandValue::Int(number) => Some(number as u32),
            _ => None,
        }
    }

    /// Source operand that is a predicate, as 0 or 1.
    pub(crate) fn predicate(&self, index: usize) -> Option<Expr> {
        predicate(self.reads.get(index)?)
    }

    /// Register that is written, general or uniform; the inner `None` is RZ or URZ.
    pub(crate) fn register(&self) -> Option<Option<Cell>> {
        let mut registers = self
            .writes
            .iter()
            .filter_map(|operand| match operand.value {
                OperandValue::Reg(register) => Some(register.map(Cell::gpr)),
                OperandValue::Uniform(register) => {
                    Some(register.map(|n| Cell::of(Reg::uniform(n))))
                }
                _ => None,
            });
        registers.next()
    }

    /// Register that is written, unless a predicate is written too; the inner `None` is RZ.
    pub(crate) fn only_register(&self) -> Option<Option<Cell>> {
        let no_predicate = self.predicates().iter().all(Option::is_none);
        self.register().filter(|_| no_predicate)
    }

    /// Predicates that are written, in the order of printing; `None` is PT.
    pub(crate) fn predicates(&self) -> SmallVec<[Option<Cell>; 2]> {
        self.writes
            .iter()
            .filter_map(|operand| match operand.value {
                OperandValue::Pred { pred, .. } => Some(pred.map(Cell::pred)),
                OperandValue::UniformPred { pred, .. } => {
                    Some(pred.map(|n| Cell::of(Reg::uniform_predicate(n))))
                }
                _ => None,
            })
            .collect()
    }

    /// Whether the condition code is written as well.
    pub(crate) fn sets_cc(&self) -> bool {
        self.writes.iter().any(|operand| operand.sets_cc)
    }

    /// Meaning that assigns a value to the register; `None` if anything else is written.
    pub(crate) fn set_register(&self, value: Expr) -> Option<Meaning> {
        let register = self.only_register().filter(|_| !self.sets_cc())?;
        Some(Meaning::Set(
            register.map(|cell| (cell, value)).into_iter().collect(),
        ))
    }
}

/// Sign bit of a single, and of the high word of a double.
pub(crate) const SINGLE_SIGN: u32 = 1 << 31;

/// Applies absolute value and negation of an operand to a value with this sign bit.
pub(crate) fn with_sign(value: Expr, operand: &Operand, sign: u32) -> Expr {
    let value = match operand.absolute {
        // The absolute value comes first, as in `-|R1|`.
        true => and(value, Expr::Const(!sign)),
        false => value,
    };
    match operand.negate {
        true => xor(value, Expr::Const(sign)),
        false => value,
    }
}

/// Register that is `offset` registers after another; `None` past the file, because RZ belongs to no group of
/// registers.
pub(crate) fn register_after(first: u8, offset: u8) -> Option<Cell> {
    let register = Reg::vector(first.checked_add(offset)?);
    REGISTERS.has(register).then(|| Cell::of(register))
}

/// Predicate of an operand, 0 or 1, with its negation.
pub(crate) fn predicate(operand: &Operand) -> Option<Expr> {
    let (cell, negated) = match operand.value {
        OperandValue::Pred { pred, negated } => (pred.map(Cell::pred), negated),
        OperandValue::UniformPred { pred, negated } => {
            (pred.map(|n| Cell::of(Reg::uniform_predicate(n))), negated)
        }
        _ => return None,
    };
    Some(match (cell, negated) {
        // PT is always true.
        (None, negated) => Expr::Const((!negated).into()),
        (Some(cell), false) => Expr::Cell(cell),
        (Some(cell), true) => Expr::binary(BinaryOp::Xor, Expr::Cell(cell), Expr::Const(1)),
    })
}

/// The uniform register `offset` places after `first`, if it exists.
pub(crate) fn uniform_after(first: u8, offset: u8) -> Option<Cell> {
    let register = Reg::uniform(first.checked_add(offset)?);
    let exists = u16::from(register.number) < RegisterKind::Uniform.capacity();
    exists.then(|| Cell::of(register))
}

/// Word `number` of an operand (0 is the low one), without its modifiers.
pub(crate) fn word_of(operand: &Operand, number: u8) -> Option<Expr> {
    Some(match operand.value {
        OperandValue::Reg(None) | OperandValue::Uniform(None) => Expr::Const(0),
        OperandValue::Reg(Some(n)) => Expr::Cell(register_after(n, number)?),
        OperandValue::Uniform(Some(n)) => Expr::Cell(uniform_after(n, number)?),
        OperandValue::Const { bank, offset } => {
            let offset = offset.checked_add(4 * i32::from(number))?;
            Expr::Constant(bank, Expr::Const(offset as u32).into())
        }
        OperandValue::Address(constant) => {
            let (bank, address) = constant_address(&constant)?;
            let at = match (address, 4 * u32::from(number)) {
                (address, 0) => address,
                (Expr::Const(address), more) => Expr::Const(address.wrapping_add(more)),
                (address, more) => add(address, Expr::Const(more)),
            };
            Expr::Constant(bank, at.into())
        }
        _ => return None,
    })
}

fn unmodified(operand: &Operand) -> Option<Expr> {
    // A group of registers is not one word; callers with groups read them word by word.
    if operand.absolute || operand.count > 1 {
        return None;
    }
    Some(match operand.value {
        OperandValue::Reg(None) => Expr::Const(0),
        OperandValue::Reg(Some(n)) => Expr::Cell(Cell::gpr(n)),
        OperandValue::Uniform(None) => Expr::Const(0),
        OperandValue::Uniform(Some(n)) => Expr::Cell(Cell::of(Reg::uniform(n))),
        OperandValue::Int(value) => Expr::Const(value as u32),
        OperandValue::Const { bank, offset } => {
            Expr::Constant(bank, Expr::Const(offset as u32).into())
        }
        OperandValue::Address(constant) => {
            let (bank, address) = constant_address(&constant)?;
            Expr::Constant(bank, address.into())
        }
        _ => return None,
    })
}

/// Bank and address of a constant, where the address may be in registers; `None` for any other operand in brackets.
pub(crate) fn constant_address(constant: &BracketOperand) -> Option<(u8, Expr)> {
    let bank = constant.bank.filter(|_| constant.space == "c")?;
    // The suffix of a register would change its value.
    if constant.descriptor.is_some() || !constant.suffix.is_empty() {
        return None;
    }
    let registers = [
        constant.base.flatten().map(Cell::gpr),
        constant
            .uniform
            .flatten()
            .map(|n| Cell::of(Reg::uniform(n))),
    ];
    let offset = Expr::Const(i32::try_from(constant.offset).ok()? as u32);
    let address = registers
        .into_iter()
        .flatten()
        .fold(offset, |sum, cell| match sum {
            Expr::Const(0) => Expr::Cell(cell),
            sum => add(Expr::Cell(cell), sum),
        });
    Some((bank, address))
}

pub(crate) fn add(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Add, a, b)
}

pub(crate) fn and(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::And, a, b)
}

pub(crate) fn or(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Or, a, b)
}

pub(crate) fn xor(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Xor, a, b)
}

pub(crate) fn shl(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Shl, a, b)
}

pub(crate) fn shr(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Shr, a, b)
}

pub(crate) fn not(a: Expr) -> Expr {
    Expr::unary(UnaryOp::Not, a)
}

/// Negates a truth value: 1 for 0 and 0 for 1.
pub(crate) fn logical_not(truth: Expr) -> Expr {
    Expr::binary(BinaryOp::Xor, truth, Expr::Const(1))
}

/// Extends the low 16 bits of a value with zeros or with their sign.
pub(crate) fn low_half(value: Expr, signed: bool) -> Expr {
    match signed {
        true => Expr::unary(UnaryOp::SignExtend16, value),
        false => and(value, Expr::Const(0xffff)),
    }
}
