//! Text of one operand: registers, predicates, numbers, constants, addresses and targets, with signs and suffixes.

use warpbound_base::Bits;

use super::{TargetStyle, TextWriter};
use crate::RegisterKind;
use crate::instr::{BranchTarget, CcTest};
use crate::nvidia::shared::number;
use crate::nvidia::shared::operand::{Operand, OperandValue};
use crate::nvidia::shared::template::{Item, ItemKind};

impl TextWriter<'_, '_> {
    pub(super) fn push_operand(&mut self, item: &Item, operand: &Operand) {
        self.push_value(item, operand);
        self.push(item.suffix);
    }

    fn push_value(&mut self, item: &Item, operand: &Operand) {
        if let Some(text) = self.take_relocated(item) {
            return self.push_relocated(item, operand, text);
        }
        match operand.value {
            OperandValue::Reg(None) if item.no_zero.holds(self.word) => self.push("???255"),
            OperandValue::Reg(reg) => self.push_register(item, operand, reg),
            OperandValue::Uniform(_)
            | OperandValue::UniformPred { .. }
            | OperandValue::ConvergenceBarrier(_) => self.push_uniform_value(item, operand),
            OperandValue::Address(_) => self.push_brackets(item, operand),
            OperandValue::RegPair(first) => self.push_register_pair(first, operand.count),
            OperandValue::Pred { pred: None, .. } if item.no_zero.holds(self.word) => {
                self.push("???7")
            }
            OperandValue::Pred { pred, negated } => {
                if negated {
                    self.push("!");
                }
                self.push_pred(pred);
            }
            OperandValue::AllPreds(RegisterKind::UniformPredicate) => self.push("UPR"),
            OperandValue::AllPreds(_) => self.push("PR"),
            OperandValue::ConditionCode => self.push("CC"),
            OperandValue::CcTest(test) => self.push_cc_test(test),
            // The disassembler prints the negated number here, not `.NEG`.
            OperandValue::Int(n) if matches!(item.kind, ItemKind::Mixed(_)) && operand.negate => {
                self.push_hex(-n);
            }
            OperandValue::Int(n) => {
                match item.kind {
                    // An unsigned field of 64 bits.
                    ItemKind::Unsigned(_) if n < 0 => {
                        self.push("0x");
                        self.line.push_hex_digits(n as u64, 1);
                    }
                    _ => self.push_hex(n),
                }
                self.push_suffixes(operand);
            }
            OperandValue::Half(bits) => {
                self.push_immediate(operand, &number::format_half(bits, self.names_nans()))
            }
            OperandValue::Single(bits) => {
                self.push_immediate(operand, &number::format_single(bits, self.names_nans()))
            }
            OperandValue::Double(bits) => {
                self.push_immediate(operand, &number::format_double(bits))
            }
            OperandValue::Const { bank, offset } => {
                self.push_constant(item, operand, bank, offset);
            }
            OperandValue::ConstIndexed { bank, base, offset } => {
                self.push_bank(bank);
                self.push("[");
                match base {
                    None if item.bare => self.push_hex(offset.into()),
                    _ => self.push_address(base, offset.into()),
                }
                self.push("]");
            }
            OperandValue::Memory { base, offset } => {
                let brackets = matches!(item.kind, ItemKind::Memory { .. });
                if brackets {
                    self.push("[");
                }
                self.push_address(base, offset);
                if brackets {
                    self.push("]");
                }
            }
            OperandValue::Target(target) => self.push_target(item, target),
            OperandValue::RegTarget { base, offset } => {
                self.push_reg(base);
                if offset != 0 {
                    self.push(" ");
                    self.push_hex(offset);
                }
            }
            OperandValue::Word { text, .. } => self.push(text),
        }
    }

    /// Whether quiet and signalling NaNs of all formats are printed differently.
    fn names_nans(&self) -> bool {
        self.names.sm(self.dialect) >= self.dialect.names_nans_from
    }

    /// Appends the first registers of two consecutive groups of `count` registers each.
    fn push_register_pair(&mut self, first: Option<u8>, count: u8) {
        let second = first.map(|r| u16::from(r) + u16::from(count));
        match (first, second) {
            // A second group that would begin at RZ is printed as an error.
            (Some(_), Some(second)) if second < 255 => {
                self.push_reg(first);
                self.push(", ");
                self.push_reg(u8::try_from(second).ok());
            }
            (Some(_), _) => {
                self.push_reg(first);
                self.push(", ???255");
            }
            _ => self.push("???255, ???255"),
        }
    }

    /// Appends a constant with its modifiers: `-c[0x3][0x10].H1`.
    fn push_constant(&mut self, item: &Item, operand: &Operand, bank: u8, offset: i32) {
        self.push_signs(operand);
        self.push_bank(bank);
        if item.gap.holds(self.word) {
            self.push(" ");
        }
        self.push("[");
        self.push_hex(offset.into());
        self.push("]");
        self.push(operand.select);
        if operand.absolute {
            self.push("|");
        }
    }

    fn push_register(&mut self, item: &Item, operand: &Operand, reg: Option<u8>) {
        if self.dialect.word_bits > 64 {
            self.push_signs(operand);
            self.push_reg(reg);
            return self.push_modifiers(item, operand);
        }
        self.push_signs(operand);
        self.push_reg(reg);
        self.push(operand.select);
        if operand.absolute {
            self.push("|");
        }
        if operand.sets_cc {
            self.push(".CC");
        }
        if self.reuses && item.reuse.is_some_and(|bit| self.word.bit(bit)) {
            self.push(".reuse");
        }
    }

    pub(super) fn push_signs(&mut self, operand: &Operand) {
        if operand.negate {
            self.push("-");
        }
        if operand.invert {
            self.push("~");
        }
        if operand.absolute {
            self.push("|");
        }
    }

    pub(super) fn push_immediate(&mut self, operand: &Operand, text: &str) {
        self.push(text);
        self.push_suffixes(operand);
    }

    fn push_suffixes(&mut self, operand: &Operand) {
        for (set, suffix) in [
            (operand.negate, ".NEG"),
            (operand.absolute, ".ABS"),
            (operand.invert, ".INV"),
        ] {
            if set {
                self.push(suffix);
            }
        }
        self.push(operand.select);
    }

    pub(super) fn push_reg(&mut self, reg: Option<u8>) {
        match reg {
            Some(n) => {
                self.push("R");
                self.line.push_decimal(n);
            }
            None => self.push("RZ"),
        }
    }

    pub(super) fn push_pred(&mut self, pred: Option<u8>) {
        match pred {
            Some(n) => {
                self.push("P");
                self.line.push_decimal(n);
            }
            None => self.push("PT"),
        }
    }

    fn push_cc_test(&mut self, test: CcTest) {
        let list = self.dialect.lists.names_id("cctest");
        let name = list.and_then(|id| self.names.text(id, test.0.into()));
        self.push("CC");
        self.push(name.unwrap_or("?"));
    }

    /// Appends an address: `R4+0x10`, `R4`, `0x10`, `RZ`.
    fn push_address(&mut self, base: Option<u8>, offset: i64) {
        match (base, offset) {
            (Some(_), 0) | (None, 0) => self.push_reg(base),
            (Some(_), _) => {
                self.push_reg(base);
                self.push("+");
                self.push_hex(offset);
            }
            // RZ adds nothing, so only the offset is printed.
            (None, _) => self.push_hex(offset),
        }
    }

    fn push_target(&mut self, item: &Item, target: BranchTarget) {
        match target {
            BranchTarget::Code(addr) => {
                let label = match self.style {
                    TargetStyle::Hex => None,
                    TargetStyle::Labels(lookup) => lookup(addr),
                };
                match label {
                    Some(label) => self.push(&label),
                    None => self.push_hex(addr.0.into()),
                }
            }
            BranchTarget::Absolute(addr) => self.push_hex(addr as i64),
            BranchTarget::Constant { bank, offset } => {
                self.push_bank(bank);
                self.push("[");
                self.push_hex(offset.into());
                self.push("]");
            }
            BranchTarget::Outside => {
                if let ItemKind::Relative(field) = &item.kind {
                    let unit = i64::from(self.dialect.target_unit);
                    let distance = field.signed(self.word).wrapping_mul(unit);
                    let next = i64::from(self.instr.addr.0) + i64::from(self.dialect.bytes());
                    self.push_hex(next.wrapping_add(distance));
                }
            }
        }
    }
}
