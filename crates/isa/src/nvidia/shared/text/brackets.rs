//! Text of operands that only words of 128 bits have: uniform registers, barriers, and addresses in brackets.

use warpbound_base::Bits;

use super::TextWriter;
use crate::nvidia::shared::address::{Brackets, Term, TermKind};
use crate::nvidia::shared::operand::{Operand, OperandValue};
use crate::nvidia::shared::register_number;
use crate::nvidia::shared::template::{Item, ItemKind};

impl TextWriter<'_, '_> {
    /// Appends a register or predicate of the uniform datapath, or a barrier.
    pub(super) fn push_uniform_value(&mut self, item: &Item, operand: &Operand) {
        match operand.value {
            OperandValue::Uniform(reg) => {
                self.push_signs(operand);
                match reg {
                    Some(number) if item.needs_uniform_zero => self.push_error(number),
                    _ => self.push_uniform(reg),
                }
                self.push_modifiers(item, operand);
            }
            OperandValue::UniformPred { pred, negated } => {
                self.push(if negated { "!U" } else { "U" });
                self.push_pred(pred);
            }
            OperandValue::ConvergenceBarrier(number) => {
                self.push("B");
                self.line.push_decimal(number);
            }
            // The caller passes no other value.
            _ => {}
        }
    }

    fn push_uniform(&mut self, reg: Option<u8>) {
        match reg {
            Some(n) => {
                self.push("UR");
                self.line.push_decimal(n);
            }
            None => self.push("URZ"),
        }
    }

    /// Appends a number that is not allowed: `???5`.
    fn push_error(&mut self, number: u8) {
        self.push("???");
        self.line.push_decimal(number);
    }

    /// Appends what follows a register or an address of a 128-bit instruction: `|.reuse.H0_H0`.
    pub(super) fn push_modifiers(&mut self, item: &Item, operand: &Operand) {
        if item.inside {
            self.push(operand.select);
        }
        if operand.absolute {
            self.push("|");
        }
        if self.reuses && item.reuse.is_some_and(|bit| self.word.bit(bit)) {
            self.push(".reuse");
        }
        if !item.inside {
            self.push(operand.select);
        }
    }

    /// Appends an operand in brackets: `desc[UR4][R2.64+0x10]`.
    pub(super) fn push_brackets(&mut self, item: &Item, operand: &Operand) {
        let ItemKind::Brackets(brackets) = &item.kind else {
            return;
        };
        self.push_signs(operand);
        self.push(brackets.name);
        for (at, group) in brackets.groups.iter().enumerate() {
            if at > 0 && brackets.gap {
                self.push(" ");
            }
            self.push("[");
            let is_last = at + 1 == brackets.groups.len();
            self.push_terms(item, brackets, group, is_last);
            self.push("]");
        }
        self.push_modifiers(item, operand);
    }

    /// Appends the terms of a group. RZ without a suffix and the offset 0 are left out beside other terms.
    fn push_terms(&mut self, item: &Item, brackets: &Brackets, group: &[Term], is_last: bool) {
        let offset = |term: &Term| brackets.offset(term, group, self.names, self.word);
        let is_offset = |term: &Term| matches!(term.kind, TermKind::Signed | TermKind::Unsigned);
        let has_offset = group
            .iter()
            .any(|term| is_offset(term) && offset(term) != 0);
        let others = has_offset || group.iter().any(|term| term.kind == TermKind::Uniform);
        let has_register = group.iter().any(|term| term.kind == TermKind::Register);
        let mut separator = "";
        for term in group {
            let suffix = term.suffix_text(self.names, self.word);
            match term.kind {
                TermKind::Register => {
                    let reg = register_number::reg_number(&term.field, self.word);
                    let hidden = match item.shows_zero {
                        Some(shown) => !shown.holds(self.word),
                        None => suffix.is_empty(),
                    };
                    if reg.is_none() && hidden && others {
                        continue;
                    }
                    match reg {
                        None if item.no_zero.holds(self.word) => self.push("???255"),
                        _ => self.push_reg(reg),
                    }
                    self.push(suffix);
                }
                TermKind::Uniform => {
                    let number = brackets.uniform(term, self.dialect, self.names, self.word);
                    if number.is_none() && item.hides_uniform_zero && has_offset {
                        continue;
                    }
                    self.push(separator);
                    match number {
                        // Beside a general register, the attribute is about that one.
                        None if item.no_zero.holds(self.word) && !has_register => {
                            self.push("???255");
                        }
                        Some(number) if item.needs_uniform_zero && is_last => {
                            self.push_error(number);
                        }
                        _ => self.push_uniform(number),
                    }
                    self.push(suffix);
                }
                TermKind::Signed | TermKind::Unsigned => {
                    let offset = brackets.offset(term, group, self.names, self.word);
                    if offset == 0 && !separator.is_empty() {
                        continue;
                    }
                    self.push(separator);
                    self.push_hex(offset);
                }
            }
            separator = "+";
        }
    }
}
