//! Builder of words. For example, `WordBuilder::new(Arch::Sm61, Opcode::Mov)` with the operands `NewOperand::reg(1)`
//! and `NewOperand::reg(2)` builds `MOV R1, R2`.

use super::super::arch::Arch;
use super::super::control::ControlWord;
use super::super::field::Field;
use super::super::form::{Form, FormId};
use super::super::modifier::Modifier;
use super::super::opcode::{InstrClass, Opcode};
use super::super::operand::{self, OperandValue};
use super::error::{EncodeError, OperandMismatch};
use super::fields::InstrFields;
use super::new_operand::NewOperand;
use super::place::{self, PartialWord};
use super::search::{Request, Search, Shortfall, modifier_words};
use crate::instr::Guard;
use crate::nvidia::tables::table;
use warpbound_base::CodeAddr;

/// Builder of an instruction word, from opcode, guard, and modifiers and operands in order of
/// printing.
///
/// Operands that the text leaves out may be left out here too: PT or RZ if the row says `opt`, a condition-code test
/// that always holds, a mask of all lanes. Opcode, modifiers and kinds of operands select the row; if several rows
/// fit, the first one of the table is taken. The builder checks that the word decodes to the same opcode, guard,
/// modifiers and operands.
#[derive(Clone, PartialEq, Debug)]
pub struct WordBuilder {
    arch: Arch,
    opcode: Opcode,
    guard: Guard,
    /// Words of the modifiers without dots; `None` for a modifier that has no word.
    modifiers: Vec<Option<&'static str>>,
    operands: Vec<NewOperand>,
    addr: Option<CodeAddr>,
    is_aligned: bool,
    /// Control field of a word of 128 bits.
    control: ControlWord,
    codes: Option<Codes>,
}

/// Row and bits of a word whose codes are taken where several ones mean the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Codes {
    form: FormId,
    bits: u128,
}

/// Word with the bits of a control word that the row names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltWord {
    /// Row of the word.
    pub form: FormId,
    /// Word.
    pub word: u128,
    /// Bits 19:17 of the slot of a control word that is apart: operand reuse, or a modifier of textures.
    pub reuse: u8,
}

impl WordBuilder {
    /// Builder without guard, modifiers and operands.
    pub fn new(arch: Arch, opcode: Opcode) -> WordBuilder {
        WordBuilder {
            arch,
            opcode,
            guard: Guard::ALWAYS,
            modifiers: Vec::new(),
            operands: Vec::new(),
            addr: None,
            is_aligned: true,
            control: ControlWord::PLAIN,
            codes: None,
        }
    }

    /// Builder of the instruction in a word at an address, with its operands and modifiers; `None` if the word is no
    /// instruction. Register groups need not be aligned then. In words of 128 bits the control field is kept as well.
    pub fn of_word(arch: Arch, word: u128, reuse: u8, addr: CodeAddr) -> Option<WordBuilder> {
        let table = table(arch);
        let form = table.form(table.find(arch, word)?)?;
        let names = table.for_arch(arch).names();
        let bits = super::fields::with_slot(form.dialect, word, reuse);
        let view = operand::view(form, names, bits, addr);
        let words = modifier_words(form, names, bits);
        Some(WordBuilder {
            arch,
            opcode: view.opcode,
            guard: view.guard,
            modifiers: words.map(Some).collect(),
            operands: view.operands.into_iter().map(NewOperand::from).collect(),
            addr: Some(addr),
            // The word exists already, so it must be possible to build it again as it is.
            is_aligned: false,
            control: match form.dialect.control {
                Some(_) => ControlWord::of_field(word),
                None => ControlWord::PLAIN,
            },
            codes: None,
        })
    }

    /// Sets the guard predicate.
    pub fn guard(mut self, pred: u8, negated: bool) -> WordBuilder {
        self.guard = Guard::of_lanes(Some(pred), negated);
        self
    }

    /// Sets the guard as decoded.
    pub fn with_guard(mut self, guard: Guard) -> WordBuilder {
        self.guard = guard;
        self
    }

    /// Appends a modifier.
    pub fn modifier(mut self, modifier: Modifier) -> WordBuilder {
        self.modifiers.push(modifier.word());
        self
    }

    /// Appends modifiers.
    pub fn modifiers(mut self, modifiers: &[Modifier]) -> WordBuilder {
        let words = modifiers.iter().map(|modifier| modifier.word());
        self.modifiers.extend(words);
        self
    }

    /// Appends modifiers as they are printed: `.E.64.STRONG.GPU`, for words without a [`Modifier`] of their own.
    pub fn modifier_text(mut self, text: &'static str) -> WordBuilder {
        self.modifiers.extend(words_of(text).map(Some));
        self
    }

    /// Sets the control field of a word of 128 bits, [`ControlWord::PLAIN`] otherwise. Bits of its reuse and operands with
    /// reuse add up. No effect if control words are apart from instructions.
    pub fn control(mut self, control: ControlWord) -> WordBuilder {
        self.control = control;
        self
    }

    /// Takes the row of a word, and its codes where several ones mean the same: values of a list with the same text, bits
    /// that the decoder ignores, distances that leave the code space. Everything else follows from modifiers and
    /// operands as before.
    pub fn with_codes(mut self, fields: &InstrFields) -> WordBuilder {
        self.codes = Some(Codes {
            form: fields.form(),
            bits: fields.named_bits(),
        });
        self
    }

    /// Appends operands.
    pub fn operands(mut self, operands: &[NewOperand]) -> WordBuilder {
        self.operands.extend_from_slice(operands);
        self
    }

    /// Replaces the operand with an index; no effect if there is none.
    pub fn replace(mut self, index: usize, operand: NewOperand) -> WordBuilder {
        if let Some(old) = self.operands.get_mut(index) {
            *old = operand;
        }
        self
    }

    /// Sets the address of the instruction, to which targets are relative.
    pub fn at(mut self, addr: CodeAddr) -> WordBuilder {
        self.addr = Some(addr);
        self
    }

    /// Builds the word.
    ///
    /// # Errors
    ///
    /// Fails as [`WordBuilder::build_slot`], and if bits of the control slot would have to be set.
    pub fn build(&self) -> Result<u128, EncodeError> {
        let built = self.build_slot()?;
        match built.reuse {
            // A word alone cannot hold bits of the control slot.
            0 => Ok(built.word),
            bits => Err(EncodeError::ControlBits {
                opcode: self.opcode,
                bits,
            }),
        }
    }

    /// Builds the word with the bits of its control slot.
    ///
    /// # Errors
    ///
    /// Fails if no row has the modifiers and the operands; the error names the operand that fits no row or the number
    /// that is out of range.
    pub fn build_slot(&self) -> Result<BuiltWord, EncodeError> {
        let guard = place::predicate(self.guard.pred);
        let guard = guard.map_err(|_| EncodeError::GuardNumber {
            pred: self.guard.pred.unwrap_or_default(),
        })?;
        let Some(words) = self.modifiers.iter().copied().collect::<Option<Vec<_>>>() else {
            return Err(self.bad_modifiers());
        };
        let request = Request {
            arch: self.arch,
            addr: self.addr,
            words: &words,
            given: &self.operands,
            codes: self.codes.map(|codes| codes.bits),
        };
        let table = table(self.arch);
        let (mut has_row, mut has_guard, mut has_control) = (false, false, false);
        let mut shortfall = Shortfall::default();
        for (id, form) in table.forms_of(self.opcode) {
            // Rows marked `illegal` only exclude words of wider rows.
            if !form.is_instruction()
                || !form.exists_on(self.arch)
                || self.codes.is_some_and(|codes| codes.form != id)
            {
                continue;
            }
            has_row = true;
            let start = PartialWord::new(form.mask, form.value);
            let Some(guarded) = self.place_guard(form, guard, start) else {
                continue;
            };
            has_guard = true;
            let Some(start) = self.place_control(form, guarded) else {
                continue;
            };
            has_control = true;
            let names = table.for_arch(self.arch).names();
            let mut search = Search::new(id, form, names, request);
            if let Some(bits) = search.run(start, &mut shortfall) {
                return self.finish(id, bits);
            }
        }
        let opcode = self.opcode;
        // The error names the first obstacle: the row, the guard, the control word, then its parts.
        Err(match (has_row, has_guard, has_control) {
            (false, ..) => EncodeError::NoForm {
                opcode,
                arch: self.arch,
            },
            (true, false, _) => EncodeError::Unguarded { opcode },
            (true, true, false) => EncodeError::Control { opcode },
            (true, true, true) => self.explain(shortfall),
        })
    }

    /// Places the guard with a number; `None` if the row has no guard, or fixes another one.
    fn place_guard(&self, form: &Form, guard: u64, word: PartialWord) -> Option<PartialWord> {
        if form.effects.unguarded {
            return self.guard.is_always().then_some(word);
        }
        let negated = Field::of_bit(form.dialect.guard_not);
        let guarded = word.with_field(&Field::of_range(form.dialect.guard), guard);
        guarded.and_then(|word| word.with_field(&negated, self.guard.negated.into()))
    }

    /// Places the control field of a word of 128 bits; `None` if the row cannot have it.
    fn place_control(&self, form: &Form, word: PartialWord) -> Option<PartialWord> {
        let Some(range) = form.dialect.control else {
            return Some(word);
        };
        let field = Field::of_range(range);
        let bits = u64::from(self.control.field_bits());
        // Operands may set bits of the reuse as well, so those that are zero stay open.
        let chosen = field.place(bits | u64::from(ControlWord::EXCEPT_REUSE));
        let placed = word.with(chosen, field.place(bits))?;
        let hints = form.effects.hints;
        let is_legal = hints.is_none_or(|hints| hints.allow(placed.value()));
        is_legal.then_some(placed)
    }

    /// Checks the alignment of register groups, which the encoding does not demand but the hardware does.
    fn finish(&self, form: FormId, bits: u128) -> Result<BuiltWord, EncodeError> {
        let table = table(self.arch);
        let dialect = table.dialect();
        let built = BuiltWord {
            form,
            word: bits & dialect.word_mask(),
            reuse: super::fields::slot_of(dialect, bits),
        };
        // Texture vectors are as long as the dimension demands, while the table has the longest length.
        let is_vector = self.opcode.class() == InstrClass::TextureSurface;
        let Some(row) = table.form(form).filter(|_| self.is_aligned && !is_vector) else {
            return Ok(built);
        };
        let names = table.for_arch(self.arch).names();
        let view = operand::view(row, names, bits, self.addr.unwrap_or(CodeAddr(0)));
        for operand in &view.operands {
            let (OperandValue::Reg(Some(base))
            | OperandValue::Memory {
                base: Some(base), ..
            }) = operand.value
            else {
                continue;
            };
            // A group of three is aligned like a group of four.
            let unit = operand.count.next_power_of_two().clamp(1, 4);
            if base % unit == 0 {
                continue;
            }
            let given = |given: &NewOperand| given.is(operand);
            return Err(EncodeError::Operand {
                opcode: self.opcode,
                index: self.operands.iter().position(given).unwrap_or_default(),
                mismatch: OperandMismatch::Alignment { of: unit },
            });
        }
        Ok(built)
    }

    fn explain(&self, shortfall: Shortfall) -> EncodeError {
        let (opcode, given) = (self.opcode, self.operands.len());
        match shortfall {
            Shortfall::Modifiers => self.bad_modifiers(),
            Shortfall::Operand { index, mismatch } => EncodeError::Operand {
                opcode,
                index,
                mismatch,
            },
            Shortfall::Reuse { index } => EncodeError::Operand {
                opcode,
                index,
                mismatch: OperandMismatch::Modifier,
            },
            Shortfall::TooMany => EncodeError::TooManyOperands { opcode, given },
            Shortfall::TooFew => EncodeError::TooFewOperands { opcode, given },
            Shortfall::Together => EncodeError::Together { opcode },
        }
    }

    fn bad_modifiers(&self) -> EncodeError {
        let words = self.modifiers.iter().map(|word| word.unwrap_or("?"));
        EncodeError::Modifiers {
            opcode: self.opcode,
            modifiers: words.map(|word| format!(".{word}")).collect(),
        }
    }
}

/// Words of a modifier's text `.F32.FTZ`; none for a text without a leading dot.
pub(super) fn words_of(text: &'static str) -> impl Iterator<Item = &'static str> {
    // A literal can have the bracket of an address after its modifiers.
    let text = text.split('[').next().unwrap_or_default();
    let words = text.strip_prefix('.').map(|words| words.split('.'));
    words.into_iter().flatten()
}
