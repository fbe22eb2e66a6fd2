//! Every way in which the words of an encoding form can be modified.

use warpbound_isa::nvidia::{Form, OperandKind, Program, table};
use warpbound_isa::{Arch, FormId, Operand, View};

/// Of a form with more choices of modifiers only so many, spread evenly, are looked at.
pub const MOST_VARIANTS: u64 = 1 << 20;

/// An encoding form with the operands that tests give it.
pub struct Shape {
    /// The row.
    pub id: FormId,
    /// The opcode without modifiers.
    pub mnemonic: &'static str,
    form: &'static Form,
}

/// Where immediates come from.
pub type Numbers<'a> = &'a mut dyn FnMut() -> u64;

/// All forms of an architecture that stand for an instruction.
pub fn shapes(arch: Arch) -> Vec<Shape> {
    let of_arch = table()
        .forms()
        .filter(|(_, form)| form.is_instruction() && form.exists_on(arch));
    of_arch
        .map(|(id, form)| Shape {
            id,
            mnemonic: form.mnemonic(),
            form,
        })
        .collect()
}

impl Shape {
    /// A predicate may be written, or none.
    fn has_optional(&self) -> bool {
        let operands = self.form.operand_bits();
        operands
            .iter()
            .any(|operand| operand.written && operand.optional)
    }

    /// Choices of modifiers; whether a predicate is written that need not be is one of them.
    pub fn count(&self) -> u64 {
        let bits = self.form.modifier_bits().count_ones() + u32::from(self.has_optional());
        1u64.checked_shl(bits)
            .unwrap_or(u64::MAX)
            .min(MOST_VARIANTS)
    }

    /// The word with the modifiers of a number below [`Shape::count`]. Registers that are read are R1, R2 and so on, the one
    /// that is written R4 (a group of registers from R4 on); predicates P1 and P2, those written P3 and P4; the guard PT.
    pub fn word(&self, number: u64, numbers: Numbers<'_>) -> u64 {
        let mut word = self.form.value;
        if self.form.mask >> 16 & 15 == 0 {
            word |= 7 << 16;
        }
        let bits = self.form.modifier_bits();
        // An odd factor takes each number to another one, and spreads those of large forms.
        let all = bits.count_ones() + u32::from(self.has_optional());
        let mut rest = match all > MOST_VARIANTS.trailing_zeros() {
            true => number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - all),
            false => number,
        };
        for at in 0..64 {
            if bits >> at & 1 == 1 {
                word = word & !(1 << at) | (rest & 1) << at;
                rest >>= 1;
            }
        }
        let no_predicate = rest & 1 == 0;
        let mut registers = 1..;
        let (mut read, mut written) = (1.., 3..);
        for operand in self.form.operand_bits() {
            let value = match operand.kind {
                OperandKind::Register if operand.written => 4,
                OperandKind::Register => registers.next().unwrap_or(1),
                OperandKind::Predicate if operand.written && operand.optional && no_predicate => 7,
                OperandKind::Predicate if operand.written => written.next().unwrap_or(3),
                OperandKind::Predicate => read.next().unwrap_or(1),
                OperandKind::Bank => 3,
                OperandKind::Offset | OperandKind::Target => 8,
                OperandKind::Immediate => numbers(),
            };
            word = operand.put(word, value);
        }
        word
    }

    /// The instruction of a word, when the word is one of this form and spells nothing invalid.
    pub fn view(&self, arch: Arch, word: u64) -> Option<View> {
        let program = decoded(arch, word)?;
        let instr = program.instrs.first()?;
        let view = program
            .view(instr)
            .filter(|_| instr.form == Some(self.id))?;
        let invalid = |text: &str| text.contains("INVALID") || text.contains("???");
        let wrong = view.modifiers.iter().any(|text| invalid(text))
            || view.operands.iter().any(|operand| invalid(operand.select));
        (!wrong).then_some(view)
    }
}

/// A program whose first instruction is the word.
pub fn decoded(arch: Arch, word: u64) -> Option<Program> {
    let mut group = [0u8; 32];
    for (place, byte) in group.iter_mut().skip(8).zip(word.to_le_bytes()) {
        *place = byte;
    }
    Program::decode(arch, &group).ok()
}

/// What stands before an operand and behind it.
pub fn signs(operand: &Operand) -> String {
    let mut out = String::new();
    for (text, holds) in [
        ("-", operand.negate),
        ("|x|", operand.absolute),
        ("~", operand.invert),
        (operand.select, true),
        (".CC", operand.sets_cc),
    ] {
        if holds {
            out.push_str(text);
        }
    }
    out
}
