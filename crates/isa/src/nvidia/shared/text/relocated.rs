//! Text of the operand that a relocation changes, with the name of the symbol in place of the field.

use super::TextWriter;
use crate::instr::BranchTarget;
use crate::nvidia::shared::operand::{Operand, OperandValue};
use crate::nvidia::shared::template::{Item, ItemKind};

impl<'a> TextWriter<'a, '_> {
    /// Takes the text of the relocated operand if `item` is that operand.
    pub(super) fn take_relocated(&mut self, item: &Item) -> Option<&'a str> {
        let relocated = self.relocated?;
        let field = match &item.kind {
            ItemKind::Unsigned(field)
            | ItemKind::Signed(field)
            | ItemKind::Mixed(field)
            | ItemKind::Float(_, field)
            | ItemKind::Relative(field)
            | ItemKind::Absolute(field)
            | ItemKind::Const { offset: field, .. }
            | ItemKind::ConstTarget { offset: field, .. }
            | ItemKind::ConstIndexed { offset: field, .. }
            | ItemKind::RegTarget { offset: field, .. } => field,
            ItemKind::Memory { offset, .. } | ItemKind::Address { offset, .. } => {
                offset.as_ref()?
            }
            ItemKind::Reg(_)
            | ItemKind::Uniform(_)
            | ItemKind::UniformPred(_)
            | ItemKind::ConvergenceBarrier(_)
            | ItemKind::Brackets(_)
            | ItemKind::RegPair(_)
            | ItemKind::Pred(_)
            | ItemKind::PredSet(_)
            | ItemKind::PredSetOrCc(_)
            | ItemKind::CcTest(_) => {
                return None;
            }
        };
        if relocated.low_bit != Some(field.low_bit()) {
            return None;
        }
        // Otherwise `finish` would print it a second time.
        self.relocated = None;
        Some(&relocated.text)
    }

    /// Appends an operand with the text of its relocated part.
    pub(super) fn push_relocated(&mut self, item: &Item, operand: &Operand, text: &str) {
        match operand.value {
            OperandValue::Const { .. } => {
                self.push_signs(operand);
                self.push("c[");
                self.push(text);
                self.push("]");
                self.push(operand.select);
                if operand.absolute {
                    self.push("|");
                }
            }
            OperandValue::ConstIndexed { .. }
            | OperandValue::Target(BranchTarget::Constant { .. }) => {
                self.push("c[");
                self.push(text);
                self.push("]");
            }
            OperandValue::Memory { base, .. } => {
                let brackets = matches!(item.kind, ItemKind::Memory { .. });
                if brackets {
                    self.push("[");
                }
                if base.is_some() {
                    self.push_reg(base);
                    self.push("+");
                }
                self.push(text);
                if brackets {
                    self.push("]");
                }
            }
            OperandValue::RegTarget { base, .. } => {
                self.push_reg(base);
                self.push(" ");
                self.push(text);
            }
            _ => self.push_immediate(operand, text),
        }
    }
}
