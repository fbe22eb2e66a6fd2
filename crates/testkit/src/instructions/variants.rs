//! Enumeration of encoding forms and of all their modifier choices.

use warpbound_isa::nvidia::{Form, OperandKind, SassProgram, Spelling, table};
use warpbound_isa::{Arch, FormId, Operand, View};

/// Maximum number of modifier choices of a form; of more, that number is taken, spread evenly.
pub const MOST_VARIANTS: u64 = 1 << 20;

/// Variants of an encoding form: its modifier choices, with the operands of the tests.
pub struct FormVariants {
    /// Row of the form in the table.
    pub id: FormId,
    /// Opcode without modifiers.
    pub mnemonic: &'static str,
    form: &'static Form,
}

/// Source of immediates.
pub type Immediates<'a> = &'a mut dyn FnMut() -> u64;

/// Returns the variants of all forms of an architecture that encode an instruction.
pub fn form_variants(arch: Arch) -> Vec<FormVariants> {
    let of_arch = table(arch)
        .forms()
        .filter(|(_, form)| form.is_instruction() && form.exists_on(arch));
    of_arch
        .map(|(id, form)| FormVariants {
            id,
            mnemonic: form.mnemonic(),
            form,
        })
        .collect()
}

impl FormVariants {
    /// Whether the form has an optional predicate output.
    fn has_optional(&self) -> bool {
        let operands = self.form.operand_bits();
        operands
            .iter()
            .any(|operand| operand.written && operand.optional)
    }

    /// Number of modifier choices; writing an optional predicate is one of them.
    pub fn count(&self) -> u64 {
        let bits = self.form.modifier_bits().count_ones() + u32::from(self.has_optional());
        1u64.checked_shl(bits)
            .unwrap_or(u64::MAX)
            .min(MOST_VARIANTS)
    }

    /// Returns the word of variant `number`, below [`FormVariants::count`]. Registers read are R1, R2 and so on, the
    /// register written is R4 (a group of registers starts at R4); predicates read are P1 and P2, predicates written P3
    /// and P4; the guard is PT.
    pub fn word(&self, number: u64, numbers: Immediates<'_>) -> u64 {
        let mut word = self.form.value as u64;
        if self.form.mask >> 16 & 15 == 0 {
            word |= 7 << 16;
        }
        let bits = self.form.modifier_bits();
        // Multiplication by an odd constant is a bijection; its high bits spread the variants of large forms.
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
                OperandKind::Register | OperandKind::Uniform => registers.next().unwrap_or(1),
                OperandKind::Predicate if operand.written && operand.optional && no_predicate => 7,
                OperandKind::Predicate if operand.written => written.next().unwrap_or(3),
                OperandKind::Predicate => read.next().unwrap_or(1),
                OperandKind::Bank => 3,
                OperandKind::Offset | OperandKind::Target => 8,
                OperandKind::Immediate => numbers(),
            };
            // The words of these forms have 64 bits.
            word = operand.put(word.into(), value) as u64;
        }
        word
    }

    /// Decodes a word; `None` unless it is an instruction of this form without invalid modifiers.
    pub fn view(&self, arch: Arch, word: u64) -> Option<SpelledView> {
        let program = decode_word(arch, word)?;
        let instr = program.instrs.first()?;
        let view = program
            .view(instr)
            .filter(|_| instr.form == Some(self.id))?;
        let spelling = program.spelling(instr)?;
        let invalid = |text: &str| text.contains("INVALID") || text.contains("???");
        let wrong = spelling.modifiers.iter().any(|text| invalid(text))
            || view.operands.iter().any(|operand| invalid(operand.select));
        (!wrong).then_some(SpelledView { view, spelling })
    }
}

/// Decoded instruction with its text: references read the text, as it is printed, and not the values that meanings
/// read.
#[derive(Clone)]
pub struct SpelledView {
    /// The instruction.
    pub view: View,
    /// Its opcode and modifiers as text.
    pub spelling: Spelling,
}

/// Decodes a program whose first instruction is the word; the control words are 0.
pub fn decode_word(arch: Arch, word: u64) -> Option<SassProgram> {
    let mut group = [0u8; 32];
    for (slot, byte) in group.iter_mut().skip(8).zip(word.to_le_bytes()) {
        *slot = byte;
    }
    SassProgram::decode(arch, &group).ok()
}

/// Returns the prefix and suffix modifiers of an operand: sign, absolute value, complement, selected part, `.CC`.
pub fn operand_modifiers(operand: &Operand) -> String {
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
