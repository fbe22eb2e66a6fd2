//! Control transfers: target, register and conditions from the operands of an instruction.
//!
//! For example, `BRA P1, 0x80` jumps to 0x80 where P1 holds, and `BRX R4 -0x90` to the sum of R4 and an address.

use super::dialect::Dialect;
use super::form::{FlowKind, RowEffects};
use super::operand::{Operand, OperandRole, OperandValue};
use crate::Reg;
use crate::instr::{BranchTarget, Effects, FurtherCondition, Guard, InstrFlow};
use warpbound_base::{Bits, CodeAddr};

/// Operands of an instruction, as far as its control transfer has to know them.
#[derive(Default)]
pub(crate) struct Transfer {
    /// Code address: a target, or an address in a register with an offset.
    target: Option<OperandValue>,
    /// First register that is read, which has the address or the value of a barrier.
    source: Option<Option<Reg>>,
    /// First register that is written.
    destination: Option<Reg>,
    /// Number, which is an absolute address or an offset.
    number: Option<i64>,
    /// Convergence barriers, in order.
    barriers: [Option<u8>; 2],
    /// Predicates that decide together with the guard.
    predicates: [Option<Guard>; 2],
}

impl Transfer {
    /// Takes what an operand says about the control transfer. Returns whether it is a condition of it, and not an
    /// operand that is read.
    pub(crate) fn add(&mut self, operand: &Operand) -> bool {
        let is_read = operand.role == OperandRole::Read;
        match operand.value {
            OperandValue::Target(_) | OperandValue::RegTarget { .. } => {
                self.target = Some(operand.value);
            }
            OperandValue::Reg(register) if is_read => {
                self.source.get_or_insert(register.map(Reg::vector));
            }
            OperandValue::Uniform(register) if is_read => {
                self.source.get_or_insert(register.map(Reg::uniform));
            }
            OperandValue::Reg(register) => self.destination = register.map(Reg::vector),
            OperandValue::Int(number) => self.number = Some(number),
            OperandValue::ConvergenceBarrier(barrier) => {
                let free = self.barriers.iter_mut().find(|known| known.is_none());
                if let Some(free) = free {
                    *free = Some(barrier);
                }
            }
            OperandValue::Pred { pred, negated } if is_read => {
                self.add_predicate(Guard::of_lanes(pred, negated));
                return true;
            }
            OperandValue::UniformPred { pred, negated } if is_read => {
                self.add_predicate(Guard {
                    pred,
                    negated,
                    uniform: true,
                });
                return true;
            }
            _ => {}
        }
        false
    }

    fn add_predicate(&mut self, predicate: Guard) {
        let free = self.predicates.iter_mut().find(|known| known.is_none());
        if let (Some(free), false) = (free, predicate.is_always()) {
            *free = Some(predicate);
        }
    }

    /// Sets guard and further condition of the effects; returns whether they can state all conditions.
    ///
    /// A predicate operand takes the place of a guard that always holds, so that analyses see the usual form of a branch.
    pub(crate) fn set_conditions(
        &self,
        declared: &RowEffects,
        word: u128,
        out: &mut Effects,
    ) -> bool {
        let mut predicates = self.predicates.iter().flatten().copied();
        if let Some(never) = predicates.clone().find(|predicate| predicate.is_never()) {
            out.guard = never;
            return true;
        }
        if out.guard.is_always() {
            out.guard = predicates.next().unwrap_or(Guard::ALWAYS);
        }
        let mut further = Vec::new();
        further.extend(predicates.map(FurtherCondition::Predicate));
        if declared
            .of_group
            .is_some_and(|condition| condition.holds(word))
        {
            further.push(FurtherCondition::Group);
        }
        out.further = further.first().copied().unwrap_or_default();
        further.len() <= 1
    }

    /// Control flow of an instruction of a kind at an address.
    pub(crate) fn flow(
        &self,
        kind: FlowKind,
        word: u128,
        addr: CodeAddr,
        dialect: &Dialect,
    ) -> InstrFlow {
        let direct = match (self.target, self.number) {
            (Some(OperandValue::Target(target)), _) => target,
            (None, Some(address)) => BranchTarget::Absolute(address as u64),
            // A row without a target operand ignores this value.
            _ => BranchTarget::Outside,
        };
        let barrier =
            |make: fn(u8) -> InstrFlow| self.barriers[0].map_or(InstrFlow::Unsupported, make);
        match kind {
            FlowKind::Next => InstrFlow::Next,
            FlowKind::Branch => InstrFlow::Branch(direct),
            FlowKind::BranchOrFree(bit) => match word.bit(bit) {
                true => InstrFlow::FreeBranch(direct),
                false => InstrFlow::Branch(direct),
            },
            FlowKind::BranchRegister => self.through_register(true, addr, dialect),
            FlowKind::JumpRegister => self.through_register(false, addr, dialect),
            FlowKind::Call => InstrFlow::Call(direct),
            FlowKind::Push(token) => InstrFlow::Push(token, direct),
            FlowKind::Pop(token) => InstrFlow::Pop(token),
            FlowKind::LinkedCall => InstrFlow::LinkedCall(direct),
            FlowKind::LinkedIndirect => {
                match self.through_register(self.is_relative(), addr, dialect) {
                    InstrFlow::Indirect {
                        base,
                        anchor,
                        relative,
                    } => InstrFlow::LinkedIndirect {
                        base,
                        anchor,
                        relative,
                    },
                    other => other,
                }
            }
            FlowKind::Return => match self.through_register(self.is_relative(), addr, dialect) {
                InstrFlow::Indirect {
                    base,
                    anchor,
                    relative,
                } => InstrFlow::Return {
                    base,
                    anchor,
                    relative,
                },
                other => other,
            },
            FlowKind::OpenBarrier => match self.barriers[0] {
                Some(barrier) => InstrFlow::OpenBarrier(barrier, direct),
                None => InstrFlow::Unsupported,
            },
            FlowKind::JoinBarrier => barrier(InstrFlow::JoinBarrier),
            FlowKind::BreakBarrier => barrier(InstrFlow::BreakBarrier),
            FlowKind::SaveBarrier(clears) => match (word.bit(clears), self.barriers[0]) {
                (true, Some(barrier)) => InstrFlow::SaveBarrier(barrier, self.destination),
                // Without clearing, the barrier is only read.
                (false, _) | (true, None) => InstrFlow::Next,
            },
            FlowKind::WriteBarrier => match self.barriers {
                [Some(barrier), cleared] => InstrFlow::WriteBarrier {
                    barrier,
                    source: self.source.flatten(),
                    cleared,
                },
                [None, _] => InstrFlow::Unsupported,
            },
            FlowKind::Release => InstrFlow::Release,
            FlowKind::Collective(bit) => match word.bit(bit) {
                true => InstrFlow::Collective(direct),
                false => InstrFlow::Release,
            },
            FlowKind::Exit => InstrFlow::Exit,
            FlowKind::Unsupported => InstrFlow::Unsupported,
        }
    }

    /// Whether an address in a register counts from another: `CALL.REL R6 0x40` has a relative target beside the register,
    /// and `CALL.ABS R6 0x40` a number.
    fn is_relative(&self) -> bool {
        matches!(self.target, Some(OperandValue::Target(_)))
    }

    /// Jump to an address in a register.
    fn through_register(&self, relative: bool, addr: CodeAddr, dialect: &Dialect) -> InstrFlow {
        let (base, offset) = match (self.target, self.source) {
            (Some(OperandValue::RegTarget { base, offset }), _) => (base.map(Reg::vector), offset),
            (_, Some(base)) => (base, self.number.unwrap_or_default()),
            // Without the operand the target is unknown.
            _ => return InstrFlow::Unsupported,
        };
        let anchor = match (relative, self.target) {
            (true, Some(OperandValue::Target(BranchTarget::Code(target)))) => i64::from(target.0),
            (true, Some(OperandValue::Target(_))) => return InstrFlow::Unsupported,
            // Relative targets count from the address after the instruction.
            (true, _) => i64::from(addr.0)
                .saturating_add(dialect.bytes().into())
                .saturating_add(offset),
            (false, _) => offset,
        };
        InstrFlow::Indirect {
            base,
            anchor,
            relative,
        }
    }
}
